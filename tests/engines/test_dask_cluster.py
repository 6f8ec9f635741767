"""Training on a Dask cluster: worker processes of this machine, which are also killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import lda_corpus, run_topicx
from tests.places import ROOT
from tests.sampling.test_ring import corpus_for, options_for, same
from topicx.chain_series import ChainSeries
from topicx.engines.places import Spread
from topicx.engines.threads import Threads
from topicx.errors import InputError, TopicxError
from topicx.run import Result, Run
from topicx.sampling.run_options import Options

distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("cluster")]
from topicx.engines import dask_cluster  # noqa: E402

WORKERS = 3


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    import dask

    with dask.config.set(dask_cluster.SETTINGS):
        with distributed.LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None,
            memory_limit=0, silence_logs=50,
        ) as found:  # fmt: skip
            yield found


class Fewer(dask_cluster.DaskPlaces):
    """Some of the workers."""

    most = WORKERS

    def _refresh(self) -> None:
        super()._refresh()
        del self._addresses[self.most :]


@pytest.fixture
def engines(cluster: Any, tmp_path: Path) -> Iterator[Any]:
    made: list[Any] = []

    def make(workers: int = WORKERS) -> Spread:
        client = distributed.Client(cluster, set_as_default=False)
        client.wait_for_workers(WORKERS, timeout=60)
        kind = type("Some", (Fewer,), {"most": workers})
        engine = Spread(kind(client, tmp_path / "shared"), 1)
        made.append((engine, client))
        return engine

    yield make
    for engine, client in made:
        engine.close()
        client.close()
    assert not list((tmp_path / "shared").iterdir())  # scratch files go with the run


def settings(sampler: str, **more: Any) -> Options:
    learnt = {"optimize_interval": 3, "optimize_burn_in": 1}
    return options_for(sampler, **{"partitions": "3x2", "iterations": 6, "trace_interval": 3} | learnt | more)


@cache
def expected(sampler: str, iterations: int = 6) -> Result:
    options = settings(sampler, iterations=iterations)
    return Run.start(corpus_for(sampler), options, Threads(1)).train().result(examples=2)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("sampler", ["sparse", "dense", "alias", "tree", "labeled"])
def test_the_bits_do_not_depend_on_the_workers(sampler: str, workers: int, engines: Any) -> None:
    engine = engines(workers)
    assert engine.places.number == workers
    same(Run.start(corpus_for(sampler), settings(sampler), engine).train().result(examples=2), expected(sampler))


def test_chains_one_after_another_have_tasks_of_their_own(engines: Any) -> None:
    def scores(engine: Any) -> list[float]:
        series = ChainSeries(Run.start(corpus_for("sparse"), settings("sparse"), engine), chains=2)
        series.train()
        return series.scores

    assert scores(engines(2)) == scores(Threads(1))


def test_a_run_goes_on_with_other_workers_and_with_none(engines: Any, tmp_path: Path) -> None:
    run = Run.start(corpus_for("sparse"), settings("sparse", iterations=4), engines(3)).train()
    run.chain.save(tmp_path / "checkpoint")
    for engine in (engines(1), Threads(1)):
        same(Run.resume(tmp_path / "checkpoint", engine, 6).train().result(examples=2), expected("sparse"))


def pids(cluster: Any) -> list[int]:
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid]


@pytest.mark.parametrize("when", ["before", "within", "after", "all"])
def test_killed_workers_change_nothing(when: str, engines: Any, cluster: Any) -> None:
    engine = engines()
    run = Run.start(corpus_for("sparse"), settings("sparse", iterations=12), engine)

    def kill(number: int = 1) -> None:
        for pid in pids(cluster)[:number]:
            os.kill(pid, signal.SIGKILL)

    if when == "before":
        kill()

    def callback(event: Any) -> None:
        if event.step.sweep == 5 and when == "within":
            threading.Timer(0.05, kill).start()
        elif event.step.sweep == 5 and when in ("after", "all"):
            kill(WORKERS if when == "all" else 1)

    same(run.train([callback]).result(examples=2), expected("sparse", 12))


def test_a_scheduler_that_goes_away_ends_the_run_with_a_line(tmp_path: Path) -> None:
    small = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None,
                                     memory_limit=0, silence_logs=50)  # fmt: skip
    client = distributed.Client(small, set_as_default=False, timeout=5)
    engine = Spread(dask_cluster.DaskPlaces(client, tmp_path), 1)
    run = Run.start(corpus_for("sparse"), settings("sparse", partitions=2), engine)

    def callback(event: Any) -> None:
        if event.step.sweep == 2:
            small.close()

    with pytest.raises(TopicxError, match=r"^cluster: "):
        run.train([callback])
    client.close()
    engine.close()


def test_the_scheduler_forgets_what_is_done(engines: Any) -> None:
    engine = engines(2)
    client = engine.places.client
    held = []

    def callback(event: Any) -> None:
        held.append(client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))

    Run.start(lda_corpus(30, 10, 20), settings("sparse", iterations=40, partitions="2x1", trace_interval=40),
              engine).train([callback])  # fmt: skip
    sweep = 4 * 4 + 4
    assert max(held) < 52 * sweep + 60
    assert min(held[20:]) < 15 * sweep  # tasks before the last that were kept in files are gone


def test_pieces_of_work_come_in_order(engines: Any) -> None:
    engine = engines(3)
    found = engine.places.stream(pow, ((number, 2) for number in range(40)))
    assert list(found) == [number**2 for number in range(40)]


@pytest.mark.parametrize("spec, message", [
    ("local:0", "local:0"), ("local:x", "local:x"), ("nowhere", "is not local:N"), ("slurm", "slurm"),
])  # fmt: skip
def test_what_is_no_cluster_is_refused(spec: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        dask_cluster.connect(spec, tmp_path)


@pytest.mark.parametrize("text", ['{"text": "a"}', "[]", '{"address": 3}', "not json", "[" * 100_000, "\xe9"])
def test_a_file_that_no_scheduler_wrote(text: str, tmp_path: Path) -> None:
    path = tmp_path / "docs.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=r"docs\.json: is no file that a scheduler wrote"):
        dask_cluster.connect(str(path), tmp_path)
    path.write_text('{"address": "tcp://"}')
    with pytest.raises(TopicxError, match="no scheduler answers at"):
        dask_cluster.connect(str(path), tmp_path)


def test_a_scheduler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT", 0.5)
    with pytest.raises(TopicxError, match=r"no scheduler answers at tcp://127\.0\.0\.1:9"):
        dask_cluster.connect("tcp://127.0.0.1:9", tmp_path)


def test_a_folder_that_is_not_shared_is_told(engines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "_probe", lambda folder, number: "No such file or directory")
    with pytest.raises(InputError, match=r"does not share the folder .*--shared"):
        engines()


def test_several_workers_need_a_schedule_of_two_levels(engines: Any) -> None:
    with pytest.raises(InputError, match=r"partitions: on 3 workers .* 3x1"):
        Run.start(lda_corpus(30, 10, 20), settings("sparse", partitions=2), engines())


def test_the_command_line(tmp_path: Path) -> None:
    lda_corpus(90, 25, 60).save(tmp_path / "texts.corpus")
    call = ["train", str(tmp_path / "texts.corpus"), "-k", "5", "--iterations", "5", "--partitions", "2x1"]
    run_topicx(*call, "-o", str(tmp_path / "a.model"))
    told = run_topicx(*call, "-o", str(tmp_path / "b.model"), "--cluster", "local:2").stderr
    assert "2 workers of" in told and "a sweep takes about" in told
    from topicx.model import Model

    assert Model.load(tmp_path / "a.model") == Model.load(tmp_path / "b.model")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.model", "b.model", "texts.corpus"]


def test_topics_of_new_documents_by_the_command_line(tmp_path: Path) -> None:
    """The same bytes, whoever reads the corpus file."""
    lda_corpus(90, 25, 60).save(tmp_path / "old.corpus")
    lda_corpus(3000, 25, 70, seed=1).save(tmp_path / "new.corpus")
    run_topicx("train", "old.corpus", "-k", "5", "--iterations", "5", "-o", "old.model", "-q", cwd=tmp_path)
    for output in ("theta.parquet", "theta/"):
        found = []
        for number, more in enumerate(((), ("--cluster", "local:2"))):
            name = f"{number}.{output}"
            done = run_topicx("infer", "old.model", "new.corpus", "-o", name, *more, "-q", cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            files = sorted((tmp_path / name).iterdir()) if name.endswith("/") else [tmp_path / name]
            found.append([path.read_bytes() for path in files])
        assert found[0] == found[1]
    assert len(list(tmp_path.iterdir())) == 7  # nothing else is left


def test_inference_beside_threads_is_measured(tmp_path: Path) -> None:
    """benchmarks/cluster/infer_beside_threads.py --quick."""
    script = ROOT / "benchmarks" / "cluster" / "infer_beside_threads.py"
    call = [sys.executable, str(script), "--quick", "--out", str(tmp_path)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert "3,000 documents, the same bytes" in done.stdout


def test_an_interrupt_leaves_a_checkpoint_for_any_engine(tmp_path: Path) -> None:
    """Ctrl-C in a terminal: the signal comes to the run and to all its workers."""
    lda_corpus(90, 25, 60).save(tmp_path / "texts.corpus")
    call = [sys.executable, "-m", "topicx", "train", "texts.corpus", "-k", "5", "--partitions", "2x1", "--log", "json"]
    begun = subprocess.Popen([*call, "--iterations", "100000", "-o", "a.model", "--cluster", "local:2"], cwd=tmp_path,
                             stderr=subprocess.PIPE, text=True, start_new_session=True)  # fmt: skip
    assert begun.stderr is not None
    told = []
    for line in begun.stderr:
        told.append(json.loads(line))
        if told[-1]["event"] == "sweep" and told[-1]["sweep"] == 10:
            os.killpg(begun.pid, signal.SIGINT)
    assert begun.wait(60) == 130
    stopped = next(event for event in told if event["event"] == "stopped")
    done = stopped["sweep"]
    more = ("--iterations", done + 5)
    again = run_topicx("train", "--resume", "a.model.checkpoint", "-o", "b.model", *more, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    whole = run_topicx(*call[3:], *more, "-o", "c.model", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    from topicx.model import Model

    assert Model.load(tmp_path / "b.model") == Model.load(tmp_path / "c.model")
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
