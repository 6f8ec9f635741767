"""Memory: what a run takes is said and limited, and what is large is taken in parts, without another result."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import run_topicx
from topicx import datasets
from topicx.cli import main
from topicx.corpus import corpus as corpora
from topicx.corpus.corpus import Corpus
from topicx.engines.memory_limits import free_memory, parse_size, told_size
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.estimate import estimate, theta_rows
from topicx.model import Model
from topicx.run import Run
from topicx.sampling import schedule
from topicx.sampling.run_options import Options


@pytest.fixture(scope="module")
def zipf() -> Corpus:
    return datasets.make("zipf", 3, documents=300, tokens=60, words=500, topics=5)


@pytest.mark.parametrize("text, size", [("800M", 8e8), ("12G", 12e9), ("1.5 GB", 1.5e9), ("7k", 7e3), ("64", 64)])
def test_sizes_are_read(text: str, size: float) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "-3G", "0", "12X", "1e9", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a size"):
        parse_size(text)


def test_sizes_are_told() -> None:
    assert [told_size(size) for size in (5_000, 6_800_000, 1_234_000_000, 345e9)] == [
        "5 kB", "6.8 MB", "1.2 GB", "345 GB"]  # fmt: skip
    assert free_memory() > 10**8


@pytest.mark.parametrize("sampler", ["sparse", "dense", "light", "warp", "partial", "tree", "vb"])
def test_a_run_that_may_not_take_its_memory_is_refused_before_it_begins(zipf: Corpus, sampler: str) -> None:
    options = Options(topics=7, iterations=1, sampler=sampler)
    needed = Run.start(zipf, options, Threads(1)).chain.memory
    assert 4 * zipf.n_tokens < needed < 200 * zipf.n_tokens
    assert Run.start(zipf, options, Threads(1, memory=needed)).chain.memory == needed
    with pytest.raises(InputError, match=f"{sampler} about .* and it may take .*scvb0 --stream"):
        Run.start(zipf, options, Threads(1, memory=needed - 1))


def test_what_would_do_is_named(zipf: Corpus) -> None:
    options = Options(topics=400, iterations=1, sampler="partial")
    sparse = Run.start(zipf, Options(topics=400, iterations=1, sampler="sparse"), Threads(1)).chain.memory
    with pytest.raises(InputError, match=r"the sampler sparse or ([0-9]+) topics at most or scvb0") as caught:
        Run.start(zipf, options, Threads(1, memory=sparse))
    most = int(str(caught.value).split(" topics at most")[0].split()[-1])
    for sampler, topics, does in (("sparse", 400, True), ("partial", most, True), ("partial", most + 1, False)):
        options = Options(topics=topics, iterations=1, sampler=sampler)
        with contextlib.nullcontext() if does else pytest.raises(InputError, match=f"{most} topics at most"):
            Run.start(zipf, options, Threads(1, memory=sparse))


@pytest.mark.skipif(sys.platform != "linux", reason="limits are asked of Linux")
def test_a_limit_of_the_address_space_is_known(zipf: Corpus, tmp_path: Path) -> None:
    zipf.save(tmp_path / "z.corpus")
    program = (
        "import resource; from topicx.corpus.corpus import Corpus\n"
        "from topicx.engines.memory_limits import free_memory\n"
        "from topicx.engines.threads import Threads; from topicx.run import Run\n"
        "from topicx.sampling.run_options import Options\n"
        "corpus, options = Corpus.load('z.corpus'), Options(topics=60000, iterations=1, sampler='cvb0')\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 500_000_000, -1)); assert free_memory() <= 500_000_000\n"
        "Run.start(corpus, options, Threads(1))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "InputError: " in done.stderr and "and it may take 4" in done.stderr, done.stderr


def test_the_command_line_says_and_limits_it(zipf: Corpus, tmp_path: Path) -> None:
    zipf.save(tmp_path / "z.corpus")
    arguments = ("train", "z.corpus", "-k", "5", "--iterations", "2", "-o", "z.model", "--memory")
    done = run_topicx(*arguments, "2G", cwd=tmp_path)
    assert done.returncode == 0 and "it takes about" in done.stderr and "B of memory" in done.stderr
    refused = run_topicx(*arguments, "10k", cwd=tmp_path)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and "10 kB" in refused.stderr
    wrong = run_topicx(*arguments, "lots", cwd=tmp_path)
    assert wrong.returncode == 2 and "'lots' is not a size" in wrong.stderr
    streamed = run_topicx(*arguments, "2G", "--sampler", "scvb0", "--stream", cwd=tmp_path)
    assert streamed.returncode == 2 and "--memory" in streamed.stderr


def test_the_estimates_at_the_end_are_counted(zipf: Corpus, tmp_path: Path) -> None:
    """A run that could not estimate φ after its sweeps does not begin; the counts alone need less."""
    large = datasets.make("zipf", 3, documents=20_000, tokens=100, words=500, topics=5)
    large.save(tmp_path / "z.corpus")
    options = Options(topics=5, iterations=1, sampler="sparse", start="random")
    sweeps = Run.start(large, options, Threads(1)).chain.memory
    room = str(sweeps + 75_000_000)
    arguments = ("train", "z.corpus", "-k", "5", "--iterations", "1", "-o", "z.model", "--memory", room)
    refused = run_topicx(*arguments, "--start", "random", cwd=tmp_path)
    assert refused.returncode == 2 and "--estimator cgs, which keeps the counts, would do" in refused.stderr
    assert not (tmp_path / "z.model").exists()
    assert run_topicx(*arguments, "--start", "random", "--estimator", "cgs", cwd=tmp_path).returncode == 0


def test_an_average_of_dense_models_needs_room_for_few(zipf: Corpus) -> None:
    """They are added as they are made; sparse ones are all kept until the end."""

    def needed(phi: str, samples: int) -> int:
        run = Run.start(zipf, Options(topics=9, iterations=1000, samples=samples, lag=1), Threads(1))
        run.check_memory(theta="cgs", phi=phi, documents=False)
        return run.chain.memory

    entries = 10 * zipf.n_words * 9
    assert needed("cgsp", 90) == needed("cgsp", 4) == needed("cgsp", 1) + 3 * entries
    assert needed("cgs", 90) == needed("cgs", 1) + 89 * entries


@pytest.mark.parametrize("failure", [MemoryError("Unable to allocate 115. MiB"), OSError(28, "No space left")])
def test_a_run_whose_estimate_fails_is_saved(
    failure: Exception, zipf: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    zipf.save("z.corpus")
    common = ["-k", "5", "--iterations", "6"]
    with pytest.raises(SystemExit):
        main(["train", "z.corpus", *common, "-o", "whole.model"])

    def fails(*_: object, **__: object) -> None:
        raise failure

    with monkeypatch.context() as broken, pytest.raises(SystemExit) as stop:
        broken.setattr("topicx.run.estimate", fails)
        main(["train", "z.corpus", *common, "-o", "z.model"])
    said = capfd.readouterr().err
    assert stop.value.code == 1 and "the run is saved" in said and not Path("z.model").exists()
    going_on = next(line for line in said.splitlines() if "train --resume" in line).split()
    assert ("--estimator" in going_on) == isinstance(failure, MemoryError)
    with pytest.raises(SystemExit) as stop:
        main([*going_on[1:6]])
    assert stop.value.code == 0
    found, expected = Model.load("z.model"), Model.load("whole.model")
    assert found == expected and not Path("z.model.checkpoint").exists()


@pytest.mark.parametrize("sampler", ["sparse", "warp", "partial", "cvb0", "scvb0"])
def test_a_mapped_corpus_gives_the_same_model(
    zipf: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampler: str
) -> None:
    zipf.save(tmp_path / "z.corpus")
    options = Options(topics=6, iterations=4, sampler=sampler, alpha=[0.1] * 6)
    plain = Run.start(Corpus.load(tmp_path / "z.corpus"), options, Threads(1)).train().result()
    monkeypatch.setattr(corpora, "MAP_FROM", 1)
    monkeypatch.setattr(schedule, "_PIECE", 700)
    mapped = Corpus.load(tmp_path / "z.corpus")
    assert not mapped.words.flags.writeable and mapped == zipf
    found = Run.start(mapped, options, Threads(2)).train().result()
    assert found.model == plain.model and found.state == plain.state


def test_theta_in_parts_is_the_same(zipf: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.start(zipf, Options(topics=6, iterations=3, alpha=[0.2, 0.1, 0.3, 0.1, 0.5, 0.9]), Threads(1)).train()
    state = run.result().state
    whole = np.concatenate([rows for _, rows in theta_rows(state, threads=1)])
    kept: list[np.ndarray] = []
    monkeypatch.setattr(sys.modules["topicx.estimate.estimators"], "PART", 1_000)
    rows = list(theta_rows(state, threads=2))
    assert [begin for begin, _ in rows] == np.cumsum([0, *[len(batch) for _, batch in rows]])[:-1].tolist()
    assert len(rows) > 5 and np.array_equal(np.concatenate([batch for _, batch in rows]), whole)
    counts = run.chain.method.word_topics()
    model = estimate(state, theta="cgsp", phi="cgs", documents=lambda at, batch: kept.append(batch), word_rows=counts)
    assert np.array_equal(np.concatenate(kept), whole)
    assert model == estimate(state, theta="cgsp", phi="cgs")
