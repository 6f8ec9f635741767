"""Training over places that share files alone: the same bits as in one process. (Here the places are this process;
`tests/engines/test_dask_cluster.py` has real ones.)"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import lda_corpus
from topicx.corpus.corpus import Corpus
from topicx.engines.places import OnePlace, Spread
from topicx.engines.threads import Engine, Threads
from topicx.errors import InputError
from topicx.files import stored_arrays
from topicx.run import Result, Run
from topicx.sampling import sampler_registry, starts
from topicx.sampling.run_options import Options
from topicx.sampling.sampler_registry import TRAVELS

TRAVELLERS = [name for name, entry in sampler_registry.ENTRIES.items() if TRAVELS in entry.capabilities]
LABELS = [["a"], ["b", "c"], ["c"], [], ["a", "c"]]


def corpus_for(sampler: str) -> Corpus:
    corpus = lda_corpus(90, 25, 60)
    if sampler != "labeled":
        return corpus
    return corpus.with_labels(LABELS[d % len(LABELS)] for d in range(corpus.n_documents))


def options_for(sampler: str, **more: Any) -> Options:
    model = {"model": "labeled"} if sampler == "labeled" else {"topics": 7}
    return Options(**model | {"sampler": sampler, "iterations": 12, "trace_interval": 3, "partitions": "2x2"} | more)


def spread(folder: Path, **more: Any) -> Spread:
    folder.mkdir(exist_ok=True)
    return Spread(OnePlace(folder, 2, **more), 1)


def same(a: Result, b: Result) -> None:
    assert np.array_equal(a.state.z, b.state.z)
    assert np.array_equal(a.state.alpha, b.state.alpha) and np.array_equal(a.state.beta, b.state.beta)
    assert a.model == b.model
    for name, values in a.model.trace.items():
        np.testing.assert_array_equal(values, b.model.trace[name], err_msg=name)


def trained(engine: Engine, corpus: Corpus, options: Options) -> Result:
    return Run.start(corpus, options, engine).train().result(examples=3)


@pytest.mark.parametrize("partitions", ["2x2", "3x1", 3])
@pytest.mark.parametrize("sampler", TRAVELLERS)
def test_the_bits_are_those_of_one_process(sampler: str, partitions: int | str, tmp_path: Path) -> None:
    corpus = corpus_for(sampler)
    options = options_for(sampler, partitions=partitions, optimize_interval=4, optimize_burn_in=2)
    engine = spread(tmp_path)
    same(trained(Threads(2), corpus, options), trained(engine, corpus, options))
    assert isinstance(engine.places, OnePlace) and engine.places.tasks > 12


STARTS: dict[str, dict[str, Any]] = {
    "by itself": {"iterations": "auto", "start": "growing"},
    "growing": {"start": "growing", "iterations": 3}, "soft": {"start": "soft"},
    "progressive": {"start": "progressive"},
    "modes": {"icm": 3}, "samples": {"samples": 3, "lag": 2}, "own alpha": {"alpha": [0.1 * k + 0.1 for k in range(7)]},
    "more topics than fit in a row": {"topics": 300}, "larger than it is": {"partitions": "4x30", "iterations": 4},
}  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("sampler", ["sparse", "alias"])
def test_all_that_a_run_may_do(name: str, sampler: str, tmp_path: Path) -> None:
    options = options_for(sampler, **STARTS[name])
    corpus = lda_corpus(90, 25, 60)
    same(trained(Threads(1), corpus, options), trained(spread(tmp_path), corpus, options))


def test_a_share_of_the_tokens_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "LONG", 10)  # tokens of a long document
    monkeypatch.setattr(starts, "SHORT", 0)
    monkeypatch.setattr(starts, "MOST_THIN", 5)
    options, corpus = options_for("sparse", iterations="auto", start="soft"), lda_corpus(90, 25, 60)
    assert Run.start(corpus, options, spread(tmp_path)).chain.thin == (starts.LONG_SHARE, 5)
    same(trained(Threads(1), corpus, options), trained(spread(tmp_path), corpus, options))


def test_a_part_of_the_documents_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "SHORT", 0)
    monkeypatch.setattr(starts, "PART_LENGTH", 10)
    monkeypatch.setattr(starts, "THIN_DENSE", 1e9)  # no share of the tokens
    options, corpus = options_for("sparse", iterations="auto", start="soft"), lda_corpus(90, 25, 60)
    assert Run.start(corpus, options, spread(tmp_path)).chain.part == (starts.PART, starts.PART_HOT)
    same(trained(Threads(1), corpus, options), trained(spread(tmp_path), corpus, options))


def test_passes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "SCANT_TOPICS", 2)
    options, corpus = options_for("sparse", iterations="auto", start="soft"), lda_corpus(90, 25, 60)
    assert Run.start(corpus, options, spread(tmp_path)).chain.part == (starts.AT_A_TIME, 0)
    same(trained(Threads(1), corpus, options), trained(spread(tmp_path), corpus, options))


def test_seed_words_and_groups(tmp_path: Path) -> None:
    from topicx.models.definition import Priors

    corpus = lda_corpus(90, 25, 60)
    words = list(corpus.vocabulary)
    priors = Priors({0: words[:3], 4: words[5:6]}, None, {words[2]: 0.5})
    found = [
        Run.start(corpus, options_for("sparse", optimize_interval=3, optimize_burn_in=1), engine, priors)
        .train()
        .result()
        for engine in (Threads(1), spread(tmp_path))
    ]
    same(*found)


def test_a_mapped_corpus_is_read_where_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = lda_corpus(90, 25, 60)
    corpus.save(tmp_path / "texts.corpus")
    monkeypatch.setattr("topicx.corpus.corpus.MAP_FROM", 1)
    options, engine = options_for("sparse"), spread(tmp_path / "scratch")
    same(trained(Threads(1), corpus, options), trained(engine, Corpus.load(tmp_path / "texts.corpus"), options))
    assert not list((tmp_path / "scratch").glob("*/words"))
    assert list((tmp_path / "scratch").glob("*/rank"))


def test_a_checkpoint_goes_from_one_engine_to_another(tmp_path: Path) -> None:
    corpus = corpus_for("sparse")
    for sampler in ("sparse", "labeled"):
        corpus, short = corpus_for(sampler), options_for(sampler, iterations=7, optimize_interval=2, optimize_burn_in=1)
        whole = options_for(sampler, optimize_interval=2, optimize_burn_in=1)
        want = trained(Threads(1), corpus, whole)
        kept = []
        for name, engine in (("here", Threads(1)), ("there", spread(tmp_path / "a"))):
            run = Run.start(corpus, short, engine).train()
            run.chain.save(tmp_path / name)
            kept.append(name)
        for name in kept:
            for engine in (Threads(1), spread(tmp_path / "b", number=3)):
                same(Run.resume(tmp_path / name, engine, 12).train().result(examples=3), want)


def test_long_arrays_are_gathered_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicx.sampling.ring.ring.IN_MEMORY", 100)
    corpus, options = corpus_for("sparse"), options_for("sparse", samples=2, lag=3)
    same(trained(spread(tmp_path), corpus, options), trained(Threads(1), corpus, options))
    assert len(list(tmp_path.glob("*/*.all.z"))) == 1


def test_old_scratch_files_go(tmp_path: Path) -> None:
    engine = spread(tmp_path)
    run = Run.start(lda_corpus(90, 25, 60), options_for("sparse", iterations=30), engine)
    run.train()
    run.chain.method.sync()
    kept = {path.name for path in tmp_path.glob("*/*.shard.*")}
    assert len({name.split(".")[0] for name in kept}) == 1 and len(kept) == 2


@pytest.mark.parametrize("options, message", [
    ({"sampler": "light"}, "sampler light is not for the model lda: it does not run on a cluster"),
    ({"sampler": "cvb0", "partitions": 2}, "cvb0 is not for the model lda: it does not run on a cluster"),
    ({"sampler": "sparse", "paths": 2}, "paths: on a cluster"),
    ({"sampler": "auto", "model": "hdp"}, "training of the model hdp is not spread"),
    ({"sampler": "auto", "model": "mixture"}, "training of the model mixture is not spread"),
])  # fmt: skip
def test_what_is_not_spread_is_refused_by_name(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        Run.start(lda_corpus(30, 10, 20), options_for(**options), spread(tmp_path))


def test_damaged_scratch_files_are_told(tmp_path: Path) -> None:
    kept = stored_arrays.StoredArray.write(tmp_path / "a", np.arange(100))
    assert np.array_equal(kept.read(), np.arange(100)) and np.array_equal(kept.read(3, 9), np.arange(3, 9))
    data = bytearray((tmp_path / "a").read_bytes())
    data[17] ^= 1
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(Exception, match="is damaged"):
        kept.read()
    (tmp_path / "a").write_bytes(data[:90])
    with pytest.raises(Exception, match="cut short"):
        kept.read(0, 50)
    (tmp_path / "a").unlink()
    with pytest.raises(Exception, match="cannot be read"):
        kept.read()


def test_a_block_travels_without_its_room(tmp_path: Path) -> None:
    run = Run.start(lda_corpus(90, 25, 60), options_for("sparse", topics=300), spread(tmp_path))
    run.chain.begin()
    run.chain.advance(1)
    block = run.chain.method._blocks[0]  # type: ignore[attr-defined]
    data = pickle.dumps(block, protocol=5)
    assert len(data) < sys.getsizeof(block) / 2
    again = pickle.loads(data)
    for one, other in zip(block.arrays().values(), again.arrays().values(), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(block.row_start, again.row_start)
