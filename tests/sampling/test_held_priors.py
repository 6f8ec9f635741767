"""Hot sweeps of many topics: they sample with the priors of the beginning while others are learnt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import lda_corpus, state_bits, state_of
from topicx.engines.threads import Threads
from topicx.run import Run
from topicx.sampling import starts
from topicx.sampling.run_length import AUTO_MANY_HOT_SWEEPS, AUTO_RARE_HOT_SWEEPS
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Checkpoints, Interrupted

TOPICS = 12


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve topics are many here: six are divided."""
    monkeypatch.setattr(starts, "MANY_TOPICS", TOPICS - 1)
    monkeypatch.setattr(starts, "FEW_TOPICS", 6)


def run_of(threads: int = 1, **options: Any) -> Run:
    return Run.start(lda_corpus(), Options(**{"topics": TOPICS, "start": "soft"} | options), Threads(threads))


def sampled_priors(run: Run) -> list[tuple[Any, Any, Any, Any]]:
    """α and β of each hot sweep: those that it samples with, and those that are known before it."""
    chain, found = run.chain, []
    chain.begin()
    while chain.position < chain.hardens:
        chain.advance(1)
    sweep, known = chain.method.sweep, (chain.state.alpha, chain.state.beta)
    chain.method.sweep = lambda *given: (  # type: ignore[method-assign]
        found.append((chain.state.alpha, chain.state.beta, *known)),
        sweep(*given),
    )[1]
    while chain.position < chain.hardens + chain.hot:
        known = chain.state.alpha, chain.state.beta
        chain.advance(1)
    assert chain.hot == len(found)
    return found


def test_priors_of_the_beginning_are_held_and_then_left() -> None:
    run = run_of()
    found, chain = sampled_priors(run), run.chain
    held = chain.hot - starts.COOLING
    first = np.full(chain.state.n_words, 0.01)
    assert chain.hot == AUTO_MANY_HOT_SWEEPS and held > 0
    for number, (alpha, beta, own_alpha, own_beta) in enumerate(found):
        share = max(0, number + 1 - held) / (starts.COOLING + 1)
        heated = starts.hot_beta(chain.state, first, number, chain.hot)
        total = starts.HELD_ALPHA / TOPICS
        assert np.allclose(alpha, own_alpha**share * total ** (1 - share), rtol=1e-12)
        assert np.allclose(beta, own_beta**share * heated ** (1 - share), rtol=1e-12)
    assert np.ptp(found[held - 1][2]) > 0  # others are learnt from the beginning on


@pytest.mark.parametrize(
    ("options", "total", "fixed"),
    [
        ({}, starts.HELD_ALPHA, False),
        ({"optimize": "alpha", "alpha": 0.3}, 0.3 * TOPICS, False),
        ({"optimize": "beta"}, 0.1 * TOPICS, True),
        ({"optimize_interval": 0}, 0.1 * TOPICS, True),
        ({"alpha": 0.3}, 0.3 * TOPICS, True),
        ({"alpha_sum": 3.0}, 3.0, True),
    ],
)
def test_alpha_that_is_given_is_held_as_it_is(options: dict[str, Any], total: float, fixed: bool) -> None:
    found = sampled_priors(run_of(**options))
    assert found[0][0].sum() == pytest.approx(total)
    assert all(np.array_equal(alpha, own) for alpha, _, own, _ in found) == fixed


def test_each_group_has_an_alpha_of_its_own() -> None:
    state, options = state_of(20, 60, TOPICS), Options(topics=TOPICS)
    state.alpha = np.linspace(0.1, 2.0, 3 * TOPICS).reshape(3, TOPICS)
    first, last = (starts.hot_priors(state, options, number, 80)[0] for number in (0, 79))
    assert first.shape == last.shape == (3, TOPICS) and np.ptp(first) == 0
    share = starts.COOLING / (starts.COOLING + 1)
    assert np.allclose(last, state.alpha**share * first ** (1 - share), rtol=1e-12)


def test_beta_that_is_given_only_is_heated() -> None:
    for _, beta, _, own in sampled_priors(run_of(beta=0.02)):
        assert np.all(own == 0.02) and np.all(beta >= 0.02 - 1e-15)


def test_no_beta_is_colder_than_its_own() -> None:
    """Where there are so many words that its own is hotter than the first of hot sweeps would be."""
    state, options = state_of(20, 60, TOPICS), Options(topics=TOPICS)
    own = np.full(state.n_words, 2 * starts.HEAT * state.n_tokens / (TOPICS * state.n_words))
    assert np.array_equal(starts.hot_beta(state, own, 0, 80), own)
    state.beta = own
    assert starts.hot_sweeps(state, options, "soft") == AUTO_MANY_HOT_SWEEPS
    assert starts.hot_sweeps(state, Options(topics=TOPICS, iterations=50), "soft") == 0


def test_rare_words_take_more_and_a_smaller_alpha(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "FEW_WORDS", 50)
    run = run_of()
    assert run.chain.hot == AUTO_RARE_HOT_SWEEPS > AUTO_MANY_HOT_SWEEPS
    alpha, _, _, _ = sampled_priors(run)[0]
    assert alpha.sum() == pytest.approx(starts.HELD_ALPHA_RARE)


@pytest.mark.parametrize("at", [7, 60, 75])
def test_a_run_that_is_killed_in_them_ends_in_the_same_bits(at: int, tmp_path: Path) -> None:
    whole, run, asked = run_of().train(), run_of(), iter(range(1, 1000))
    with pytest.raises(Interrupted):
        run.train(checkpoints=Checkpoints(str(tmp_path / "c")), stop=lambda: next(asked) == at)
    again = Run.resume(tmp_path / "c", Threads(2)).train()
    assert state_bits(again) == state_bits(whole)
    assert again.result().model == whole.result().model
