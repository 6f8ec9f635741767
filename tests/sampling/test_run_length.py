"""Runs that end by themselves: when, that they are the same however they are interrupted, and what is averaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import lda_corpus
from topicx.datasets import make
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.estimate import estimate
from topicx.estimate.averaging import average_models
from topicx.models.definition import Priors
from topicx.run import Run
from topicx.sampling.chain import Chain
from topicx.sampling.run_length import (
    AFTER_LOOK,
    AUTO_LAG,
    ENOUGH,
    LONG_LOOKS,
    LOOKS,
    LOOKS_FROM_RANDOM,
    MANY_LAG,
    MANY_LOOKS,
    MOST_SWEEPS,
    RunLength,
)
from topicx.sampling.run_options import AUTO_SAMPLES, OF_AUTO, USUAL, Options
from topicx.sampling.starts import SOFT_TOPICS
from topicx.sampling.sweep_loop import Checkpoints, Interrupted

CORPUS = make("zipf", 3, documents=300, tokens=60, words=400, topics=12)


def run_of(threads: int = 1, **options: Any) -> Run:
    return Run.start(CORPUS, Options(**{"topics": 12, "seed": 3} | options), Threads(threads))


# -- the rule --------------------------------------------------------------------------------------------------------


def after(likelihoods: list[float], tail: int = 20) -> RunLength:
    length = RunLength(tail)
    for place, (sweep, likelihood) in enumerate(zip(LOOKS, likelihoods, strict=False)):
        assert length.due(sweep) and length.planned == LOOKS[max(place, 1)] + tail  # the first look ends nothing
        length.look(sweep, likelihood)
    return length


def test_a_run_ends_where_little_is_to_come() -> None:
    doublings = np.log2(np.array(LOOKS) / LOOKS[0])
    rising = after((1.01 * ENOUGH * doublings - 8).tolist())
    assert not rising.settled and rising.planned == MOST_SWEEPS
    for rise in (0.99 * ENOUGH, 0.0, -1.0):
        length = after((rise * doublings[:2] - 8).tolist())
        assert length.settled and length.planned == LOOKS[1] + 20 and not length.due(LOOKS[2])
    falling_off = (0.5 * np.minimum(doublings, doublings[3]) - 8).tolist()[:5]
    assert after(falling_off).planned == LOOKS[4] + 20


def test_one_look_tells_nothing() -> None:
    assert not after([-8.0]).settled
    assert after([]).planned == LOOKS[1] + 20


@pytest.mark.parametrize("samples", [1, 2, 5, 9, 40])
@pytest.mark.parametrize("lag", [1, 4, 10])
@pytest.mark.parametrize("looks", [LOOKS, MANY_LOOKS, LOOKS_FROM_RANDOM])
def test_states_are_kept_when_they_come(samples: int, lag: int, looks: tuple[int, ...]) -> None:
    """Wherever the run ends: each of the last states was one of the plan when its sweep was made."""
    options = Options(topics=5, samples=samples, lag=lag)
    spread = (samples - 1) * lag
    for ends in range(1, len(looks)):
        length = RunLength(min(AFTER_LOOK, spread), spread=spread, looks=looks)
        kept: list[int] = []
        sweep = 0
        while sweep < length.planned:
            sweep += 1
            if length.due(sweep):
                length.look(sweep, 0.0 if sweep >= looks[ends] else float(sweep))
            if sweep in options.sample_sweeps(length.planned):
                kept.append(sweep)
        expected = options.sample_sweeps(sweep)
        assert kept[len(kept) - len(expected) :] == expected
        assert min(expected, default=MOST_SWEEPS) > (looks[ends - 1] if ends > 1 else 0)
        assert sweep == max(looks[ends] + length.tail, (looks[ends - 1] if ends > 1 else 0) + spread + 1)


@pytest.mark.parametrize(
    ("tokens", "topics", "start", "looks"),
    [
        (60, 12, "soft", LOOKS),
        (60, 12, "random", LOOKS_FROM_RANDOM),
        (60, 12, "growing", LOOKS_FROM_RANDOM),
        (600, 12, "random", LONG_LOOKS),  # likelihood rises slowly at first
        (60, SOFT_TOPICS + 1, "soft", MANY_LOOKS),
        (600, SOFT_TOPICS + 1, "soft", LONG_LOOKS),
    ],
)
def test_when_a_run_is_looked_at_first(tokens: int, topics: int, start: str, looks: tuple[int, ...]) -> None:
    corpus = make("zipf", 3, documents=4, tokens=tokens, words=400, topics=12)
    length = Run.start(corpus, Options(topics=topics, start=start), Threads(1)).chain.length
    assert length is not None and length.due(looks[0]) and length.due(150)
    assert length.planned == looks[1] + length.tail
    assert not any(length.due(look) for look in LOOKS if look < looks[0])


@pytest.mark.parametrize("at", [4, 11, 13, 21, 27])
def test_states_before_a_look_that_ends_nothing_are_not_averaged(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were kept for an end that did not come. A run that was killed meanwhile has the same states."""
    monkeypatch.setattr(RunLength, "look", settles_at(20))
    run, asked = run_of(start="soft"), iter(range(1, 1000))
    before = run.chain.hardens + run.chain.hot
    with pytest.raises(Interrupted):
        run.train(checkpoints=Checkpoints(str(tmp_path / "c")), stop=lambda: next(asked) == before + at)
    again = Run.resume(tmp_path / "c", Threads(1)).train()
    whole = run_of(start="soft").train()
    assert whole.chain.sweeps == 28 and list(whole.chain.samples) == [12, 16, 20, 24]
    assert list(again.chain.samples) == list(whole.chain.samples)
    assert again.result().model == whole.result().model


def settles_at(sweep: int) -> Any:
    """In the place of `RunLength.look`: settled by this sweep."""

    def look(self: RunLength, now: int, likelihood: float) -> None:
        self.settled = now >= sweep
        self.looks.append((now, likelihood))

    return look


def test_a_run_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicx.sampling.run_length.ENOUGH_FROM_RANDOM", -1e9)  # nothing is ever enough
    monkeypatch.setattr("topicx.sampling.run_length.LOOKS_FROM_RANDOM", (4, 8))
    monkeypatch.setattr("topicx.sampling.run_length.MOST_SWEEPS", 30)
    chain = run_of().train().chain
    assert chain.length is not None and not chain.length.settled
    assert chain.sweeps == 30 and chain.steps[chain.position - 1].sweep == 30
    assert sorted(chain.samples) == chain.options.sample_sweeps(30)


def test_what_is_no_list_of_looks_is_refused(tmp_path: Path) -> None:
    chain = run_of().chain
    chain.begin()
    for looks, settled in (None, False), ([[1]], False), ([], 1), ([[2, "x"]], True):
        wrong = {"looks": looks, "settled": settled}
        assert chain.length is not None
        chain.length.to_meta = lambda wrong=wrong: wrong  # type: ignore[method-assign]
        chain.save(tmp_path / "c")
        with pytest.raises(InputError, match="the checkpoint is not consistent"):
            Chain.load(tmp_path / "c", Threads(1))


# -- what it is where it can't be -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{"sampler": "cvb0"}, {"sampler": "scvb0"}, {"model": "hdp"}, {"model": "dmr"}, {"icm": 5}, {"paths": 2}],
)
def test_where_it_is_not_known_there_is_a_number(options: dict[str, Any]) -> None:
    chosen = Options(**options)
    assert not chosen.ends_itself and chosen.iterations == 1000
    assert {name: getattr(chosen, name) for name in USUAL} == USUAL


def test_a_number_of_iterations_is_what_it_was() -> None:
    chosen = Options(iterations=50)
    assert {name: getattr(chosen, name) for name in USUAL} == USUAL | {"iterations": 50}
    assert Options.from_meta(chosen.to_meta()) == chosen
    assert Options(topics=SOFT_TOPICS + 1, iterations=50).lag == USUAL["lag"]
    assert Options().of_given_sweeps() == Options(iterations=1000)


def test_states_of_many_topics_are_further_apart() -> None:
    assert Options(topics=SOFT_TOPICS).lag == AUTO_LAG < Options(topics=SOFT_TOPICS + 1).lag == MANY_LAG
    assert Options(topics=SOFT_TOPICS + 1, lag=3).lag == 3
    length = Run.start(CORPUS, Options(topics=SOFT_TOPICS + 1, start="soft"), Threads(1)).chain.length
    assert length is not None and length.spread == (AUTO_SAMPLES - 1) * MANY_LAG


def test_states_that_no_run_is_long_enough_for_are_refused() -> None:
    assert Options(samples=MOST_SWEEPS // 10, lag=10).ends_itself
    with pytest.raises(InputError, match="101 samples 10 sweeps apart need more than 1000 iterations, not auto"):
        Options(samples=MOST_SWEEPS // 10 + 1, lag=10)


def test_priors_that_are_given_stay() -> None:
    plain = Options()
    assert {name: getattr(plain, name) for name in OF_AUTO} == OF_AUTO | {"iterations": "auto"}
    assert Options(alpha=0.1).optimize == Options(alpha_sum=5).optimize == "beta"
    assert Options(beta=0.01).optimize == "alpha"
    assert Options(alpha=0.1, beta=0.01).optimize_interval == 0
    assert Options(alpha=0.1, beta=0.01, optimize_interval=7).optimize == "alpha+beta"  # asked for
    assert Options(optimize_interval=0).optimize_interval == 0
    run = run_of(alpha=0.3, beta=0.02).train()
    assert np.all(run.chain.state.alpha == 0.3) and np.all(run.chain.state.beta == 0.02)
    run = run_of().train()
    assert np.ptp(run.chain.state.alpha) > 0 and run.chain.state.beta[0] != 0.01


def test_priors_of_single_words_stay() -> None:
    word = CORPUS.vocabulary[0]
    run = Run.start(CORPUS, Options(topics=5), Threads(1), Priors(word_prior={word: 0.5})).train()
    assert run.chain.state.beta[0] == 0.5 and np.all(run.chain.state.beta[1:] == 0.01)
    assert np.ptp(run.chain.state.alpha) > 0


def test_the_soft_sweeps_learn_alpha() -> None:
    """Topics get sizes of their own before the first token is drawn, where α is to be learnt at all."""

    def after_soft_sweeps(**options: Any) -> NDArray[np.float64]:
        chain = run_of(start="soft", **options).chain
        chain.begin()
        while chain.position < chain.soft:
            chain.advance(1)
        return chain.state.alpha

    assert np.ptp(after_soft_sweeps()) > 0.01
    for fixed in {"alpha": 0.1}, {"optimize_interval": 0}, {"iterations": 50}, {"optimize": "beta"}:
        assert np.ptp(after_soft_sweeps(**fixed)) == 0, fixed
    symmetric = after_soft_sweeps(optimize="symmetric-alpha")
    assert np.ptp(symmetric) == 0 and symmetric[0, 0] != np.float32(0.1)


# -- runs --------------------------------------------------------------------------------------------------------------


def bits(run: Run) -> list[Any]:
    result = run.result()
    state = result.state
    return [state.z.tobytes(), state.alpha.tobytes(), state.beta.tobytes(), result.model.values.tobytes(),
            result.model.alpha.tobytes(), run.chain.sweeps, result.model.meta["iterations"]]  # fmt: skip


@pytest.mark.parametrize("start", ["auto", "soft", "hot", "growing"])
def test_a_run_that_is_killed_ends_in_the_same_bits(start: str, tmp_path: Path) -> None:
    whole = run_of(start=start).train()
    expected, total = bits(whole), whole.chain.total
    assert whole.chain.length is not None and whole.chain.length.settled
    for at in {1, total // 4, total // 2, total - 22, total - 8, total - 1}:
        run, asked = run_of(start=start), iter(range(1, total))
        with pytest.raises(Interrupted):
            run.train(checkpoints=Checkpoints(str(tmp_path / "c")), stop=lambda asked=asked, at=at: next(asked) == at)
        again = Run.resume(tmp_path / "c", Threads(2)).train()
        assert bits(again) == expected, at


def test_threads_do_not_matter() -> None:
    one, two = (run_of(threads, partitions=3, start="soft").train() for threads in (1, 2))
    assert bits(one) == bits(two)


def test_the_model_is_the_average_of_the_last_states() -> None:
    run = run_of()
    kept = {}

    def keep(event: Any) -> None:
        kept[event.step.sweep] = (
            run.chain.method.sync().z.copy(),
            run.chain.state.alpha.copy(),
            run.chain.state.beta.copy(),
        )

    run.train([keep])
    last, lag = run.chain.sweeps, run.options.lag
    state = run.chain.state
    models = []
    for sweep in range(last - (AUTO_SAMPLES - 1) * lag, last + 1, lag):
        state.z, state.alpha, state.beta = kept[sweep]
        models.append(estimate(state, theta="cgsp", phi="auto", examples=0))
    mean = average_models(models, [np.arange(12)] * AUTO_SAMPLES)
    theta = []
    model = run.result(documents=lambda _, rows: theta.append(rows)).model
    assert np.allclose(model.topic_word, mean.topic_word, rtol=1e-6)
    assert np.allclose(model.alpha, mean.alpha)
    assert np.concatenate(theta).sum(axis=1) == pytest.approx(1)


def test_phi_of_the_average_counts_all_of_its_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """cgsp makes dense rows of each: beyond so many numbers it is left, unless it was asked for."""
    run = run_of().train()
    entries = run.chain.state.n_words * run.chain.state.n_topics
    for most, phi, found in (
        (AUTO_SAMPLES * entries, "auto", "cgsp"),
        (AUTO_SAMPLES * entries - 1, "auto", "cgs"),
        (0, "cgsp", "cgsp"),
    ):
        monkeypatch.setattr("topicx.estimate.estimators.AVERAGED_ENTRIES", most)
        assert run.result(phi=phi).model.meta["estimator"]["phi"] == found
    monkeypatch.setattr("topicx.estimate.estimators.AVERAGED_ENTRIES", AUTO_SAMPLES * entries)
    for most, found in (entries, "cgsp"), (entries - 1, "cgs"):  # and each of them may not have too many
        monkeypatch.setattr("topicx.estimate.estimators.AUTO_ENTRIES", most)
        assert run.result().model.meta["estimator"]["phi"] == found


def test_a_run_that_has_settled_goes_on_to_a_number(tmp_path: Path) -> None:
    run = run_of()
    run.train(checkpoints=Checkpoints(str(tmp_path / "c"), 1))
    done = run.chain.sweeps
    again = Run.resume(tmp_path / "c", Threads(1), done + 30).train()
    assert again.chain.sweeps == done + 30 and again.options.iterations == done + 30
    assert again.result().model.meta["iterations"] == done + 30
    again.chain.save(tmp_path / "d")
    with pytest.raises(InputError, match="iterations: a run of a given number of sweeps can't become one that ends"):
        Run.resume(tmp_path / "d", Threads(1), "auto")


@pytest.mark.parametrize("topics", [1, 2, 12])
def test_tiny_corpora_end_soon(topics: int) -> None:
    for corpus in (
        lda_corpus(3, 2, 4),
        lda_corpus(1, 30, 30),
        make("zipf", 3, documents=40, tokens=20, words=60, topics=3),
    ):
        run = Run.start(corpus, Options(topics=topics), Threads(1)).train()
        result = run.result()
        assert run.chain.length is not None and run.chain.sweeps <= MOST_SWEEPS
        assert np.isfinite(result.model.topic_word).all() and np.isfinite(result.model.alpha).all()
        assert result.model.alpha.min() >= 9e-7 and result.model.alpha.max() < 1e6
        if topics == 1:
            assert run.chain.length.settled and run.chain.sweeps <= LOOKS[3] + 20


def test_distinct_numbers_are_those_of_a_sort() -> None:
    """By a table and by sorting: the same numbers, of the same kind, in the same order."""
    from topicx.sampling.updates.prior_fixed_points import distinct_numbers

    rng = np.random.default_rng(4)
    for numbers in (
        rng.integers(0, 50, 400),
        rng.integers(0, 9, 30).astype(np.uint16),
        rng.integers(0, 10**12, 50),  # too large for a table
        np.zeros(0, np.int64),
        rng.random(40),
    ):
        found, expected = distinct_numbers(numbers), np.unique(numbers, return_counts=True)
        for ours, theirs in zip(found, expected, strict=True):
            assert np.array_equal(ours, theirs) and ours.dtype == theirs.dtype


def test_a_run_that_scvb0_begins_is_settled_sooner() -> None:
    """By a likelihood that rises as much as those of words that are seen very often do."""
    given = {"start": "soft", "many": False, "spread": 16, "long": False}
    for scvb0, settled in (True, True), (False, False):
        length = RunLength.after(**given, scvb0=scvb0)
        length.look(5, -9.0)
        length.look(10, -8.9)
        assert length.settled == settled
