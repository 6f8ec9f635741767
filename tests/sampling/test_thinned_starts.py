"""A soft start that begins with sweeps over a share of every document's tokens: when, what is swept, and that CVB0 goes
on from there."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import state_bits, state_of
from topicx.datasets import make
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.evaluate.completion import completion_perplexity
from topicx.files import container
from topicx.files.file_kinds import CHECKPOINT
from topicx.run import Run
from topicx.sampling import random_streams, starts
from topicx.sampling.chain import Chain
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.gibbs import Sparse
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.sampling.thinned_corpus import ThinnedCorpus
from topicx.state import NONE, Seeds
from topicx.variational.soft_start import Opening

TOPICS = 8
SHARE, SWEEPS = 0.25, 12
LONG = make("zipf", 3, documents=40, tokens=600, words=500, topics=TOPICS)


@pytest.fixture(autouse=True)
def few_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the tokens, twelve times."""
    monkeypatch.setattr(starts, "LONG_SHARE", SHARE)
    monkeypatch.setattr(starts, "MOST_THIN", SWEEPS)
    monkeypatch.setattr(starts, "THIN_TOKENS", 10**9)


def run_of(threads: int = 1, **options: Any) -> Run:
    return Run.start(LONG, Options(**{"topics": TOPICS, "start": "soft", "seed": 5} | options), Threads(threads))


# -- when --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "topics", "n_words", "thinned"),
    [
        (600, 60, 20_000, True),  # long documents
        (600, 60, 50, True),
        (150, 60, 1_000, True),  # words are seen often, but not in each topic
        (60, 60, 400, False),  # short documents
        (150, 60, 4_000, False),  # seldom
        (60, starts.SOFT_TOPICS + 1, 50, False),
        (600, starts.SOFT_TOPICS + 1, 50, True),
    ],
)
def test_when_a_run_begins_with_a_share_of_the_tokens(
    length: int, topics: int, n_words: int, thinned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, options = state_of(1_000, length, topics, n_words), Options(topics=topics)
    assert starts.is_thinned(state, options, "soft") == thinned
    assert not starts.is_thinned(state, options, "growing")
    assert not starts.is_thinned(state, Options(topics=topics, iterations=100), "soft")
    assert (starts.hot_sweeps(state, options, "soft") == 0) == thinned
    state.seeds = Seeds.of([(3, 1, 50)])
    assert not starts.is_thinned(state, options, "soft")  # seeds' tokens would settle elsewhere
    state.seeds = Seeds()
    monkeypatch.setattr(starts, "SOFT_ROOM", 0)
    assert starts.is_thinned(state, options, "soft") == (thinned and topics <= starts.SOFT_TOPICS)


def test_how_large_the_share_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many tokens a topic, at most a share of long documents; and sweeps that cost so many of all tokens."""
    monkeypatch.undo()
    tokens, work = starts.THIN_TOKENS, starts.THIN_WORK
    assert starts.thin_part(state_of(tokens // 60, 60, 2, 50)) == (1.0, work)
    share, sweeps = starts.thin_part(state_of(tokens // 60, 60, 1, 50))
    assert share == 1.0 and sweeps == work
    assert starts.thin_part(state_of(10, 600, 60, 50))[0] == starts.LONG_SHARE
    share, sweeps = starts.thin_part(state_of(10 * tokens // 2000, 2000, 1, 50))
    assert share == pytest.approx(0.1, rel=0.01) and sweeps == starts.MOST_THIN
    share, _ = starts.thin_part(state_of(100 * tokens // 2000, 2000, 1, 50))  # enough of each document
    assert share == pytest.approx(starts.THIN_LENGTH / 2000)


def test_the_plan() -> None:
    chain = run_of().chain
    soft = starts.THIN_LONG_SOFT
    kinds = [(step.kind, step.share) for step in chain.steps[: SWEEPS + soft + 1]]
    assert kinds == [("thin", SHARE)] * SWEEPS + [("soft", 1.0)] * soft + [("sweep", 1.0)]
    assert chain.hardens == SWEEPS + soft and chain.hot == 0


# -- what --------------------------------------------------------------------------------------------------------------


def test_tokens_are_chosen_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random_streams.chosen_tokens(100_000, 0.3, 1, 0)
    assert abs(chosen.mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 1e5)
    after = chosen[1:][chosen[:-1]].mean()  # whether the one before is chosen tells nothing
    assert abs(after - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 3e4)
    assert not np.array_equal(chosen, random_streams.chosen_tokens(100_000, 0.3, 2, 0))
    assert not np.array_equal(chosen, random_streams.chosen_tokens(100_000, 0.3, 1, 1))
    assert random_streams.chosen_tokens(50, 1.0, 1, 0).all()
    monkeypatch.setattr(random_streams, "PIECE", 1000)
    pieces = random_streams.chosen_tokens(100_000, 0.3, 1, 0)
    assert np.array_equal(pieces[:1000], chosen[:1000])
    assert abs(pieces.mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 1e5)


def test_it_is_the_sampler_of_these_tokens_alone() -> None:
    run = run_of(optimize_interval=0)
    state, options = run.chain.state, run.options
    method = ThinnedCorpus(state, options, Threads(1), Sparse, SHARE)
    method.start(random=True)
    chosen = method.sync().z != NONE
    assert 0.2 < chosen.mean() < 0.3
    begins = state.offsets.tolist()
    kept = [int(chosen[first:last].sum()) for first, last in pairwise(begins)]
    alone = Sparse(state.thinned(chosen), options, Threads(1))
    assert alone.state.lengths.tolist() == kept and min(kept) > 50
    assert np.array_equal(alone.state.words, state.words[chosen])
    alone.start(random=True)
    for sweep in range(3):
        assert method.sweep(sweep) == alone.sweep(sweep)
    assert np.array_equal(method.sync().z[chosen], alone.sync().z) and (method.sync().z[~chosen] == NONE).all()
    assert method.score() == alone.score()
    assert all(np.array_equal(a, b) for a, b in zip(method.word_topics(), alone.word_topics(), strict=True))


def rows_of(method: Any) -> NDArray[np.float64]:
    """φ, by its counts."""
    indptr, topics, counts = method.word_topics()
    rows = np.zeros((len(indptr) - 1, TOPICS))
    rows[np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), topics] = counts
    return np.asarray(rows / rows.sum(axis=0))


def test_cvb0_goes_on_from_its_topics_and_takes_in_the_other_tokens() -> None:
    chain = run_of().chain
    chain.begin()
    for _ in range(SWEEPS - 1):
        chain.advance(1)
    part, beta = chain.method, chain.state.beta.copy()
    assert isinstance(part, ThinnedCorpus) and np.ptp(chain.state.alpha) > 0 and beta[0] != 0.01
    chain.advance(1)
    alpha = chain.state.alpha.copy()
    assert isinstance(chain.method, Opening) and np.array_equal(alpha, part.state.alpha)
    assert chain.method.totals.sum() == pytest.approx(LONG.n_tokens, rel=1e-3)
    own = [np.corrcoef(a, b)[0, 1] for a, b in zip(rows_of(part).T, rows_of(chain.method).T, strict=True)]
    assert min(own) > 0.9
    assert np.all(chain.state.beta == 0.01)  # the part's own is left
    while chain.position < chain.hardens:
        assert np.array_equal(chain.state.alpha, alpha)
        chain.advance(1)
    assert not np.any(chain.method.sync().z == NONE)
    chain.advance(1)
    chain.advance(1)
    assert not np.array_equal(chain.state.alpha, alpha) and chain.state.beta[0] != 0.01


def test_a_beta_that_was_given_stays() -> None:
    chain = run_of(beta=0.3).chain
    chain.begin()
    for _ in range(SWEEPS + 2):
        chain.advance(1)
        assert np.all(chain.state.beta == 0.3)
    assert np.ptp(chain.state.alpha) > 0


def test_priors_wait_until_random_topics_have_settled() -> None:
    chain = run_of().chain
    learnt: list[int] = []
    chain._update = lambda sweep, position: learnt.append(position)  # type: ignore[method-assign]
    chain.begin()
    for _ in range(SWEEPS):
        chain.advance(1)
    assert learnt == list(range(starts.SETTLING, SWEEPS))


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["sparse", "dense"])
def test_a_run_that_is_killed_ends_in_the_same_bits(sampler: str, tmp_path: Path) -> None:
    whole = run_of(sampler=sampler).train()
    expected = state_bits(whole)
    for at in (1, SWEEPS - 1, SWEEPS, SWEEPS + 1, whole.chain.hardens, whole.chain.hardens + 3):
        run, asked = run_of(sampler=sampler), iter(range(1, 1000))
        with pytest.raises(Interrupted):
            run.train(checkpoints=Checkpoints(str(tmp_path / "c")), stop=lambda asked=asked, at=at: next(asked) == at)
        again = Run.resume(tmp_path / "c", Threads(2))
        assert again.chain.position == at and again.chain.thin == (SHARE, SWEEPS)
        assert state_bits(again.train()) == expected, at


def test_a_killed_run_may_go_on_to_a_number_of_sweeps(tmp_path: Path) -> None:
    run, asked = run_of(), iter(range(1, 1000))
    with pytest.raises(Interrupted):
        run.train(checkpoints=Checkpoints(str(tmp_path / "c")), stop=lambda: next(asked) == 3)
    again = Run.resume(tmp_path / "c", Threads(1), 40).train()
    assert again.chain.sweeps == 40 and not np.any(again.result().state.z == NONE)


def test_threads_do_not_matter() -> None:
    one, two = (run_of(threads, partitions=3).train() for threads in (1, 2))
    assert state_bits(one) == state_bits(two)


@pytest.mark.parametrize("wrong", [[0.2], [0, 9], [2.0, 9], ["a", 9], [0.2, -1], [0.2, 1.5], 7])
def test_a_checkpoint_with_another_share_is_refused(wrong: Any, tmp_path: Path) -> None:
    chain = run_of().chain
    chain.begin()
    chain.advance(1)
    chain.save(tmp_path / "good")
    assert Chain.load(tmp_path / "good", Threads(1)).thin == (SHARE, SWEEPS)
    file = container.read(tmp_path / "good", CHECKPOINT)
    container.write(tmp_path / "bad", "checkpoint", file.arrays, file.meta | {"thin": wrong}, file.parents)
    with pytest.raises(InputError, match="the metadata 'thin', which must be a share and a number of sweeps"):
        Chain.load(tmp_path / "bad", Threads(1))


def test_it_gives_better_topics_than_a_random_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held-out perplexity after as many sweeps over all tokens, with priors learnt in both."""
    monkeypatch.setattr(starts, "MOST_THIN", 60)
    corpus = make("zipf", 6, documents=160, tokens=600, words=1500, topics=40)
    train, test = corpus.select(np.arange(140)), corpus.select(np.arange(140, 160))
    found = []
    for options in (
        {"start": "soft"},
        {"start": "random", "iterations": 30, "optimize_interval": 2, "samples": 5, "lag": 4},
    ):
        run = Run.start(train, Options(topics=40, **options), Threads(1)).train()
        assert run.chain.sweeps <= 30
        found.append(completion_perplexity(run.result(examples=0).model, None, test))
    assert found[0] < 0.97 * found[1], found


def test_a_chain_says_which_method_it_has() -> None:
    chain = run_of().chain
    names: list[str] = []
    chain.run([lambda event: names.append(type(chain.method).__name__)])
    soft = starts.THIN_LONG_SOFT
    assert names[: SWEEPS - 1] == ["ThinnedCorpus"] * (SWEEPS - 1)
    assert names[SWEEPS - 1 : SWEEPS + soft - 1] == ["Opening"] * soft
    assert set(names[SWEEPS + soft - 1 :]) == {"Sparse"}
    assert isinstance(chain, Chain)
