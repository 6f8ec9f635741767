"""A soft start of steps of SCVB0: when, that its steps see every document, what is drawn, and that bits hold."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from tests.conftest import lda_corpus, state_bits, state_of
from topicx._kernels.soft import scvb0
from topicx.datasets import make
from topicx.engines.threads import Threads
from topicx.evaluate.completion import completion_perplexity
from topicx.models.definition import initial_state
from topicx.run import Run
from topicx.sampling import sampler_registry, starts
from topicx.sampling.chain import Chain
from topicx.sampling.memory_needed import fitting_memory
from topicx.sampling.run_length import AUTO_HOT_SWEEPS
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.state import Seeds
from topicx.variational.first_passes import BATCH, BATCHES, LAST_PASSES, PASSES, FirstPasses
from topicx.variational.minibatches import RUN, SLICES
from topicx.variational.soft_start import Opening

TOPICS = 8
CORPUS = make("zipf", 3, documents=300, tokens=40, words=900, topics=TOPICS)
STEPS, HOT = starts.SCVB0_STEPS, AUTO_HOT_SWEEPS


@pytest.fixture(autouse=True)
def few_topics(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that runs are quick: the rule has more."""
    if "test_when" not in request.node.name:
        monkeypatch.setattr(starts, "SCANT_TOPICS", 2)


def run_of(threads: int = 1, **options: Any) -> Run:
    return Run.start(CORPUS, Options(**{"topics": TOPICS, "start": "soft", "seed": 5} | options), Threads(threads))


def method_of(**options: Any) -> FirstPasses:
    given = Options(**{"topics": TOPICS, "seed": 5} | options)
    method = FirstPasses(initial_state(CORPUS, given), given, Threads(1))
    method.start(random=True)
    return method


# -- when --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "topics", "n_words", "passes"),
    [
        (starts.SHORT - 1, 60, 50, True),  # words that are seen often
        (starts.SHORT - 1, 60, 5_000, True),
        (starts.SHORT, 60, 50, False),
        (starts.SHORT, 60, 5_000, False),
        (starts.SHORT - 1, starts.SCANT_TOPICS, 50, True),
        (starts.SHORT - 1, starts.SCANT_TOPICS - 1, 50, False),  # so few are less coherent then
        (starts.SHORT - 1, starts.MANY_TOPICS, 50, True),
        (starts.SHORT - 1, starts.MANY_TOPICS + 1, 50, False),
    ],
)
def test_when_a_soft_start_is_steps_of_scvb0(length: int, topics: int, n_words: int, passes: bool) -> None:
    state, options = state_of(1_000, length, topics, n_words), Options(topics=topics)
    assert starts.begins_with_scvb0(state, options, "soft") == passes
    assert (starts.soft_part(state, options, "soft") == (starts.AT_A_TIME, 0)) == passes
    assert (starts.soft_sweeps(state, options) == STEPS) == passes
    assert not starts.begins_with_scvb0(state, options, "hot")
    assert not starts.begins_with_scvb0(state, Options(topics=topics, iterations=100), "soft")
    state.seeds = Seeds.of([(3, 1, 50)])
    assert not starts.begins_with_scvb0(state, options, "soft")


def test_a_few_long_documents_among_short_ones() -> None:
    """A token is in a document of so many on average: these have most of the tokens then."""
    state = state_of(1_000, 60, 60)
    assert starts.has_short_documents(state)
    state.offsets = np.concatenate([np.arange(957) * 60, [60_000]])  # the last has the tokens of 44
    assert starts.has_short_documents(state)
    state.offsets = np.concatenate([np.arange(901) * 60, [60_000]])
    assert not starts.has_short_documents(state) and state.n_tokens < starts.SHORT * state.n_documents


def test_small_corpora_have_small_minibatches() -> None:
    def size(documents: int, **options: Any) -> int:
        given = Options(topics=4, **options)
        method = FirstPasses(state_of(documents, 10, 4), given, Threads(1))
        size = method.loop.options.batch_documents
        assert method.learner.slices == min(SLICES, max(1, size // RUN))
        return size

    assert size(100) == RUN and size(40 * BATCHES) == 40 and size(1000 * BATCHES) == BATCH
    assert size(1000 * BATCHES, batch_documents=20) == 20


def test_how_hot_the_first_sweep_is() -> None:
    chain = run_of().chain
    betas = []
    chain.begin()
    for _ in range(STEPS):
        chain.advance(1)
    own, sweep = chain.state.beta.copy(), chain.method.sweep
    chain.method.sweep = lambda *given: betas.append(chain.state.beta.copy()) or sweep(*given)  # type: ignore[method-assign,func-returns-value]
    chain.advance(1)
    tokens = CORPUS.n_tokens / (TOPICS * CORPUS.n_words)  # of a word and topic
    assert np.allclose(betas[0], starts.HEAT_SCVB0 * tokens) and np.allclose(own, Options().beta)


def test_it_needs_no_room_for_assignments(monkeypatch: pytest.MonkeyPatch) -> None:
    entry, options = sampler_registry.find_sampler("sparse"), Options(topics=60)
    short, longer = state_of(5_000, 60, 60), state_of(5_000, 150, 60, 12_000)
    monkeypatch.setattr(starts, "SOFT_ROOM", 0)
    assert starts.choose_start(short, options, entry) == "soft"
    assert starts.choose_start(longer, options, entry) == "hot"
    taken = fitting_memory(short, options, entry, Threads(1), soft=True)
    assert taken < Opening.memory(short, options) / 2
    assert FirstPasses.memory(short, options) - entry.load().memory(short, options) < 4 * 50 * 80


def test_the_plan() -> None:
    chain = run_of().chain
    steps = [(step.kind, step.share) for step in chain.steps[: STEPS + HOT + 1]]
    assert steps == [*[("soft", starts.AT_A_TIME)] * STEPS, *[("hot", 1.0)] * HOT, ("sweep", 1.0)]
    assert chain.hardens == STEPS and isinstance(chain.method, FirstPasses)


# -- what --------------------------------------------------------------------------------------------------------------


def test_two_steps_see_every_document_once() -> None:
    method = method_of(batch_documents=16)
    seen: list[NDArray[np.int64]] = []
    take = method.loop.source.take
    method.loop.source.take = lambda runs: seen.append(runs) or take(runs)  # type: ignore[func-returns-value]
    halves = []
    for step in range(4):
        seen.clear()
        method.sweep(step, 0.5)
        halves.append(np.concatenate(seen))
    every = np.arange(-(-CORPUS.n_documents // 16))
    for first, second in (halves[:2], halves[2:]):
        assert np.array_equal(np.sort(np.concatenate([first, second])), every) and abs(len(first) - len(second)) <= 1
    assert not np.array_equal(np.sort(halves[0]), np.sort(halves[2]))  # another order
    assert method.learner.rate.passes == PASSES


def test_pairs_are_ordered_by_word() -> None:
    rng = np.random.default_rng(2)
    words, seen = rng.integers(0, 50, 400).astype(np.uint32) * 3, np.zeros(150, np.int64)
    distinct = np.empty(400, np.uint32)
    distinct = np.sort(distinct[: scvb0.distinct_words(words, seen, distinct)])
    assert np.array_equal(distinct, np.unique(words)) and np.array_equal(seen, np.bincount(words, minlength=150))
    bounds, order = np.empty(len(distinct) + 1, np.int64), np.empty(400, np.int64)
    scvb0.order_by_word(words, distinct, seen, bounds, order)
    assert np.array_equal(order, np.argsort(words, kind="stable")) and not seen.any()
    assert np.array_equal(bounds, np.searchsorted(words[order], [*distinct, 1000]))


def test_topics_are_drawn_from_the_last_assignments() -> None:
    """Counts of topics over many draws, against their expectation (chi-square, p > 1e-4)."""
    method = method_of()
    for step in range(6):
        method.sweep(step, 0.5)
    state, draws = method.state, 400
    counts = np.zeros((state.n_tokens, TOPICS))
    for key in range(draws):
        counts[np.arange(state.n_tokens), method.drawn(key)] += 1
    assert method.learner.rate.passes == LAST_PASSES
    by_pair, document = {}, 0
    for batch in method.loop.assignments():
        for begin, end in pairwise(batch.offsets.tolist()):
            by_pair |= {(document, int(batch.words[pair])): batch.keep[pair].copy() for pair in range(begin, end)}
            document += 1
    documents = np.repeat(np.arange(state.n_documents), state.lengths)
    rows = np.array([by_pair[one] for one in zip(documents.tolist(), state.words.tolist(), strict=True)])[:, :TOPICS]
    expected = draws * rows / rows.sum(axis=1, keepdims=True)
    likely = expected > 20
    rest = draws - (expected * likely).sum(axis=1)
    found = np.where(likely, (counts - expected) ** 2 / np.where(likely, expected, 1), 0).sum(axis=1)
    whole = rest > 20
    found[whole] += ((draws - (counts * likely).sum(axis=1) - rest)[whole]) ** 2 / rest[whole]
    freedom = likely.sum(axis=1) - 1 + whole
    assert found[whole].size > 100
    assert stats.chi2.sf(found[whole].sum(), freedom[whole].sum()) > 1e-4


def test_alpha_is_learnt_after_each_step() -> None:
    for optimize, learns in ("alpha+beta", True), ("beta", False):
        chain = run_of(optimize=optimize).chain
        chain.begin()
        alphas, betas = [chain.state.alpha.copy()], [chain.state.beta.copy()]
        for _ in range(STEPS):
            chain.advance(1)
            alphas.append(chain.state.alpha.copy())
            betas.append(chain.state.beta.copy())
        assert all(np.array_equal(a, b) != learns for a, b in pairwise(alphas))
        assert all(np.array_equal(a, b) for a, b in pairwise(betas))
    assert run_of(optimize="symmetric-alpha", iterations="auto").train().chain.state.alpha.std() < 1e-7


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["sparse", "dense"])
def test_a_run_that_is_killed_ends_in_the_same_bits(sampler: str, tmp_path: Path) -> None:
    expected = state_bits(run_of(sampler=sampler).train())
    for at in (1, 2, STEPS - 1, STEPS, STEPS + 1, STEPS + HOT + 3):
        run, asked = run_of(sampler=sampler), iter(range(1, 1000))
        with pytest.raises(Interrupted):
            run.train(checkpoints=Checkpoints(str(tmp_path / "c")), stop=lambda asked=asked, at=at: next(asked) == at)
        again = Run.resume(tmp_path / "c", Threads(2))
        assert again.chain.position == at and again.chain.part == (starts.AT_A_TIME, 0)
        assert state_bits(again.train()) == expected, at


def test_a_run_may_get_a_number_of_sweeps_on_its_way(tmp_path: Path) -> None:
    chain = run_of().chain
    chain.begin()
    for _ in range(3):
        chain.advance(1)
    chain.save(tmp_path / "c")
    again = Chain.load(tmp_path / "c", Threads(1), iterations=40)
    assert isinstance(again.method, FirstPasses) and again.position == 3
    again.run()
    assert again.trace.last == 40


@pytest.mark.parametrize("partitions", [1, 3, "2x2"])
def test_threads_do_not_matter(partitions: int | str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicx.variational.first_passes.BATCHES", 2)  # so large that they are sliced
    chain = run_of(partitions=partitions).chain
    assert isinstance(chain.method, FirstPasses) and chain.method.learner.slices == SLICES
    one, two = (run_of(threads, partitions=partitions).train() for threads in (1, 2))
    assert state_bits(one) == state_bits(two)


def test_documents_without_tokens() -> None:
    empty = np.zeros(5, np.int64)
    state = initial_state(CORPUS, Options(topics=TOPICS))
    state.offsets = np.concatenate([empty, state.offsets])
    state.ids = None  # type: ignore[assignment]
    method = FirstPasses(state, Options(topics=TOPICS), Threads(1))
    method.start(random=True)
    method.sweep(0, 0.5)
    assert method.drawn(3).max() < TOPICS


def test_it_gives_topics_as_good_as_cvb0(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = make("zipf", 6, documents=800, tokens=60, words=1200, topics=20)
    train, test = corpus.select(np.arange(700)), corpus.select(np.arange(700, 800))
    monkeypatch.setattr(starts, "THIN_DENSE", 1e9)
    found = []
    for passed, method in (True, FirstPasses), (False, Opening):
        if not passed:
            monkeypatch.setattr(starts, "begins_with_scvb0", lambda *given: False)
        run = Run.start(train, Options(topics=20, start="soft"), Threads(1))
        assert type(run.chain.method) is method
        found.append(completion_perplexity(run.train().result(examples=0).model, None, test))
    assert found[0] < 1.02 * found[1], found


def test_seeds_and_small_corpora_keep_their_starts() -> None:
    assert run_of(start="auto").chain.start == "random"
    state = initial_state(lda_corpus(), Options(topics=5))
    assert starts.soft_method(state, 5, scvb0=True) is FirstPasses
    assert starts.soft_method(state, 5) is Opening
