"""Several chains as one object: what is run, kept, averaged and resumed; and the signals that end it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.models.test_labeled import tagged
from tests.models.test_medlda import corpus as classes
from topicx import MedLDA
from topicx.chain_series import ChainListener, ChainSeries
from topicx.cli import main
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.model import Model
from topicx.run import Result, Run
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.stop_signals import HANGUP, Stopper

MEDLDA = Options(
    topics=3, iterations=6, seed=2, alpha_sum=6.4, model="medlda", own={"strategy": "one-vs-all", "lambda_": 20.0}
)


def prior_options(**more: object) -> Options:
    return Options(iterations=6, model="prior", seed=1, alpha_sum=50.0, beta=0.1, **more)  # type: ignore[arg-type]


def test_every_chain_is_the_run_that_its_number_alone_gives() -> None:
    with Threads(1) as engine:
        series = ChainSeries(Run.start(tagged(), prior_options(), engine), 3, "all")
        kept = series.train()
        alone = [Run.start(tagged(), prior_options(chain=chain), engine).train().result() for chain in range(3)]
    assert [one.model.meta["options"]["chain"] for one in kept] == [0, 1, 2]
    assert [one.model for one in kept] == [one.model for one in alone]
    assert len(set(series.scores)) == 3


def test_an_average_is_that_of_the_models() -> None:
    with Threads(1) as engine:
        each = ChainSeries(Run.start(tagged(), prior_options(), engine), 3, "all").train()
        (mean,) = ChainSeries(Run.start(tagged(), prior_options(), engine), 3, "average").train()
    assert mean.model.meta["chains"] == 3
    counts = np.mean([one.model.counts().toarray() for one in each], axis=0)
    np.testing.assert_allclose(mean.model.counts().toarray(), counts, atol=1e-6)


def test_every_class_has_chains_of_its_own() -> None:
    """Also where the first chain has another number than 0."""
    parts: list[int] = []

    class Listener(ChainListener):
        def begin_chain(self, series: ChainSeries) -> None:
            parts.append(series.run.chain.state.meta["part"])

    corpus = classes(60)
    with Threads(1) as engine:
        series = ChainSeries(Run.start(corpus, MEDLDA, engine), 2, "average")
        (found,) = series.train(Listener())
    assert series.parts == 3 and series.total == 6 and parts == [0, 1, 2] * 2
    assert "part" not in found.model.meta
    eta = found.model.side["eta"][:-1].reshape(6, 3, 3)
    assert [np.flatnonzero(np.abs(block).sum(axis=0)).tolist() for block in eta] == [[0], [1], [2]] * 2
    given = {"iterations": 6, "seed": 2, "alpha_sum": 6.4, "strategy": "one-vs-all", "lambda_": 20.0}
    later = MedLDA(3, chain=5, **given).fit(corpus)
    eta = later.model.side["eta"][:-1].reshape(3, 3, 3)
    assert sorted(np.flatnonzero(np.abs(block).sum(axis=0)).tolist() for block in eta) == [[0], [1], [2]]


def test_a_resumed_chain_knows_its_class(tmp_path: Path) -> None:
    path = str(tmp_path / "checkpoint")
    with Threads(1) as engine:
        run = Run.start(classes(60), MEDLDA, engine).next(1)
        with pytest.raises(Interrupted):
            run.train((), Checkpoints(path), lambda: True)
        again = Run.resume(path, engine)
        assert again.chain.state.meta["part"] == 1
        assert again.next(2).chain.state.meta["part"] == 2
        whole = Run.start(classes(60), MEDLDA, engine).next(1).train().result()
        assert again.train().result().model == whole.model
        again.chain.state.meta["part"] = 3
        again.chain.save(path)
        with pytest.raises(InputError, match="part 3 of a model of 3 classes"):
            Run.resume(path, engine)


def test_the_command_line_averages_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tagged().save(tmp_path / "c")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Model, "load", lambda path: pytest.fail("a model is read"))
    with pytest.raises(SystemExit) as ended:
        main(["train", "c", "--model", "prior", "--iterations", "6", "--chains", "3", "-o", "m", "-q"])
    assert ended.value.code == 0
    monkeypatch.undo()
    with Threads(1) as engine:
        (mean,) = ChainSeries(Run.start(tagged(), prior_options(), engine), 3, "average").train()
    assert np.array_equal(Model.load(tmp_path / "m").values, mean.model.values)


def test_a_listener_ends_a_series_and_keeps_what_it_likes() -> None:
    kept: list[Result] = []

    class Listener(ChainListener):
        def train_chain(self, series: ChainSeries) -> bool:
            series.run.train()
            return len(series.scores) < 1

        def keep_result(self, series: ChainSeries, result: Result) -> None:
            kept.append(result)

    with Threads(1) as engine:
        series = ChainSeries(Run.start(tagged(), prior_options(), engine), 5, "all")
        assert series.train(Listener()) == []
    assert len(kept) == len(series.scores) == 2
    with Threads(1) as engine, pytest.raises(InputError, match="keep must be one of best, all, average"):
        ChainSeries(Run.start(tagged(), prior_options(), engine), 5, "some")


# -- signals -----------------------------------------------------------------------------------------------------------


def test_the_first_signal_asks_and_the_second_stops_at_once() -> None:
    told: list[bool] = []
    before = signal.getsignal(signal.SIGTERM)
    with Stopper((signal.SIGTERM,), lambda: told.append(True)) as stopper:
        assert not stopper.asked
        signal.raise_signal(signal.SIGTERM)
        assert stopper.asked and stopper.interrupted and told == [True]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_end_that_a_program_asks_for_is_no_signal() -> None:
    with Stopper((signal.SIGTERM,)) as stopper:
        stopper.asked = True
        signal.raise_signal(signal.SIGTERM)  # the first one
        assert stopper.interrupted


def handlers_inside(make: Callable[[], Stopper]) -> object:
    with make():
        return signal.getsignal(signal.SIGINT)


def test_handlers_of_the_program_stay_where_it_is_asked_for() -> None:
    def own(number: int, frame: object) -> None: ...

    before = signal.signal(signal.SIGINT, own)
    try:
        assert handlers_inside(lambda: Stopper((signal.SIGINT,), yielding=True)) is own
        assert handlers_inside(lambda: Stopper((signal.SIGINT,))) is not own
        signal.signal(signal.SIGINT, signal.default_int_handler)
        assert handlers_inside(lambda: Stopper((signal.SIGINT,), yielding=True)) is not signal.default_int_handler
        found: list[object] = []
        thread = threading.Thread(
            target=lambda: found.append(handlers_inside(lambda: Stopper((signal.SIGINT,), yielding=True)))
        )
        thread.start()
        thread.join()
        assert found == [signal.default_int_handler]
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(HANGUP is None, reason="there are no hang-ups here")
def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    assert HANGUP is not None
    before = signal.signal(HANGUP, signal.SIG_IGN)
    try:
        with Stopper() as stopper:
            signal.raise_signal(HANGUP)
            assert not stopper.asked
    finally:
        signal.signal(HANGUP, before)
