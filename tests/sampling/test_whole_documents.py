"""Mixtures: one topic a document, drawn exactly."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from tests import harness
from tests.twins import mixture as twin
from topicx.engines.threads import Threads
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.whole_documents import DocumentCounts, WholeDocuments, deal_runs, topics_of_documents
from topicx.state import NONE, State

FAMILY = 8
"""Tests of a distribution here: each is made at harness.LEVEL / FAMILY."""
DOCS = [[0, 1, 1], [2, 0], [1, 1, 1, 1], [], [2, 2, 0]]


def make_method(state: State, seed: int = 1, partitions: int = 1, threads: int = 1) -> WholeDocuments:
    options = Options(topics=state.n_topics, seed=seed, sampler="dense", partitions=partitions)
    return WholeDocuments(state, options, Threads(threads))


def tiny(seeds: list[tuple[int, int, int]] | None = None) -> State:
    return harness.make_state(DOCS, [0.3, 0.7, 1.2], [0.5, 0.3, 0.8], seeds=seeds)


def prior_of(state: State) -> np.ndarray:
    prior = np.tile(state.beta, (state.n_topics, 1))
    np.add.at(prior, (state.seeds.topics, state.seeds.words), state.seeds.counts)
    return prior


def posterior(state: State) -> tuple[np.ndarray, np.ndarray]:
    """All topics of the documents, and their probabilities; the empty document has topic 0."""
    full = [d for d, doc in enumerate(DOCS) if doc]
    every = np.zeros((state.n_topics ** len(full), len(DOCS)), np.int64)
    every[:, full] = list(product(range(state.n_topics), repeat=len(full)))
    logs = np.array([twin.log_joint(DOCS, z, state.alpha[0], prior_of(state)) for z in every])
    p = np.exp(logs - logs.max())
    return every, p / p.sum()


@pytest.mark.parametrize("seeds", [None, [(0, 1, 3), (2, 2, 1)]])
def test_a_sweep_leaves_the_posterior_as_it_is(seeds: list[tuple[int, int, int]] | None) -> None:
    state = tiny(seeds)
    every, p = posterior(state)
    code = {tuple(row): at for at, row in enumerate(every.tolist())}
    random, replicates = np.random.default_rng(1), 8000
    observed, moved = np.zeros(len(p), np.int64), 0
    for step, draw in enumerate(random.choice(len(p), replicates, p=p)):
        state.z = np.repeat(every[draw], state.lengths).astype(np.uint16)
        method = make_method(state)
        method.start(random=True)
        method.counts.z[3] = 0  # the empty document
        method.sweep(step)
        result = code[tuple(method.counts.z.tolist())]
        observed[result] += 1
        moved += result != draw
    assert moved > replicates / 10
    assert harness.chi_square_p(observed, replicates * p) > harness.LEVEL / FAMILY


def test_a_chain_finds_the_posterior() -> None:
    state = tiny()
    every, p = posterior(state)
    code = {tuple(row): at for at, row in enumerate(every.tolist())}
    method = make_method(state, seed=4)
    method.start(random=False)
    observed = np.zeros(len(p), np.int64)
    for step in range(2000 * 12):
        method.sweep(step)
        if step % 12 == 11:
            z = method.counts.z.copy()
            z[3] = 0
            observed[code[tuple(z.tolist())]] += 1
    assert harness.chi_square_p(observed, 2000 * p) > harness.LEVEL / FAMILY


def test_a_sweep_of_hands_leaves_the_posterior_as_it_is() -> None:
    """64 topics are four runs of 16, dealt to two hands. All 4096 states of two documents, some of them together where
    they are rare; the third has no words."""
    random = np.random.default_rng(4)
    docs: list[list[int]] = [[0, 1, 1], [2, 0], []]
    state = harness.make_state(docs, random.gamma(0.4, 1, 64) + 0.01, [0.5, 0.3, 0.8])
    every = np.array([(a, b, 0) for a in range(64) for b in range(64)])
    logs = np.array([twin.log_joint(docs, z, state.alpha[0], prior_of(state)) for z in every])
    p = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    replicates = 12_000
    observed, moved = np.zeros(len(p), np.int64), np.zeros(2)
    for step, draw in enumerate(random.choice(len(p), replicates, p=p)):
        state.z = np.repeat(every[draw], state.lengths).astype(np.uint16)
        method = make_method(state, partitions=2)
        assert method.hands == 2
        method.start(random=True)
        method.sweep(step)
        observed[int(method.counts.z[0]) * 64 + int(method.counts.z[1])] += 1
        moved += method.counts.z[:2] // 16 != every[draw][:2] // 16
    assert np.all(moved > replicates / 10)
    assert harness.chi_square_p(observed, replicates * p) > harness.LEVEL / FAMILY


@pytest.mark.parametrize(("topics", "partitions", "hands"), [(70, 4, 2), (130, 4, 4), (31, 8, 1)])
def test_threads_change_nothing(topics: int, partitions: int, hands: int) -> None:
    random, found = np.random.default_rng(2), []
    docs = [random.integers(0, 50, n).tolist() for n in random.poisson(5, 300)]
    for threads in (1, 3):
        state = harness.make_state(docs, np.full(topics, 0.1), np.full(50, 0.1))
        method = make_method(state, partitions=partitions, threads=threads)
        assert method.hands == hands
        method.start(random=False)  # the first sweep has them all in one hand
        changed = [method.sweep(step)["changed"] for step in range(4)]
        fresh = DocumentCounts(method.sync())
        fresh.adopt(method.counts.z)
        for name in ("rows", "totals", "sizes"):
            assert np.array_equal(getattr(fresh, name), getattr(method.counts, name))
        found.append((method.counts.z, changed))
    assert np.array_equal(found[0][0], found[1][0]) and found[0][1] == found[1][1]
    assert found[0][1][0] > 0.9 and 0 < found[0][1][-1] < 1


def draw_mixture(random: np.random.Generator, shape: State) -> State:
    """Words and topics from the model itself."""
    phi = np.array([random.dirichlet(row) for row in prior_of(shape)])
    z = random.choice(shape.n_topics, shape.n_documents, p=random.dirichlet(shape.alpha[0]))
    docs = [random.choice(shape.n_words, n, p=phi[k]).tolist() for n, k in zip(shape.lengths, z, strict=True)]
    state = harness.make_state(docs, shape.alpha, shape.beta)
    state.seeds = shape.seeds
    state.z = np.repeat(z, state.lengths).astype(np.uint16)
    return state


def figures(state: State) -> np.ndarray:
    own = topics_of_documents(state)
    sizes = np.bincount(own[own != NONE], minlength=state.n_topics)
    return np.concatenate([harness.figures(state), [(sizes**2).sum(), sizes[0], sizes[-1], np.count_nonzero(sizes)]])


@pytest.mark.parametrize(("topics", "partitions"), [(20, 1), (100, 3)])
def test_geweke(topics: int, partitions: int) -> None:
    """Seed words, and topics in one hand or in three; two sweeps given the words change no mean."""
    random, alpha = np.random.default_rng(8), np.random.default_rng(9).uniform(0.05, 0.5, topics)
    docs = [[0] * n for n in (3, 0, 6, 2, 1, 9, 4, 5, 3, 2)]
    shape = harness.make_state(docs, alpha, np.linspace(0.1, 0.6, 12), seeds=[(0, 3, 2), (5, 0, 4), (7, 19, 1)])
    before, after = [], []
    for replicate in range(800):
        state = draw_mixture(random, shape)
        before.append(figures(state))
        method = make_method(state, seed=replicate, partitions=partitions)
        assert method.hands == partitions
        method.start(random=True)
        for step in range(2):
            method.sweep(step)
        after.append(figures(method.sync()))
    difference = np.array(after) - np.array(before)
    spread = difference.std(axis=0, ddof=1)
    t = difference.mean(axis=0)[spread > 0] / (spread[spread > 0] / np.sqrt(len(difference)))
    p = 2 * stats.t.sf(np.abs(t), len(difference) - 1)
    assert p.min() * len(p) > harness.LEVEL / FAMILY


@pytest.mark.parametrize("topics", [1, 5, 16, 37])
def test_conditionals_are_the_twins(topics: int) -> None:
    """Long documents too, whose weights no float holds, and words that come again and again."""
    random = np.random.default_rng(topics)
    docs = [random.integers(0, 30, n).tolist() for n in (1, 4, 0, 90, 7)] + [[3] * 25] + [[1, 2]] * 20
    state = harness.make_state(docs, random.uniform(0.1, 2, topics), random.uniform(1e-4, 0.5, 30))
    z = random.integers(0, topics, len(docs)).astype(np.uint16)
    counts = DocumentCounts(state)
    counts.adopt(z)
    before = counts.rows.copy(), counts.totals.copy(), counts.sizes.copy()
    found = counts.probabilities(0, len(docs))
    for d, doc in enumerate(docs):
        if doc:
            wanted = twin.conditional(docs, z.astype(np.int64), d, state.alpha[0], prior_of(state))
            assert np.allclose(found[d], wanted, rtol=1e-3, atol=1e-12)
    assert np.allclose(found.sum(axis=1), 1)
    after = counts.rows, counts.totals, counts.sizes
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_counts_follow_the_documents() -> None:
    state = tiny([(0, 1, 3)])
    method = make_method(state)
    method.start(random=False)
    assert method.score() == 0
    for step in range(5):
        method.sweep(step)
        fresh = DocumentCounts(method.sync())
        fresh.adopt(topics_of_documents(state))
        assert np.array_equal(fresh.rows, method.counts.rows)
        assert np.array_equal(fresh.totals, method.counts.totals)
        assert np.array_equal(fresh.sizes, method.counts.sizes)
        indptr, topics, counts = method.word_topics()
        wanted = state.word_topics()
        assert all(np.array_equal(a, b) for a, b in zip((indptr, topics, counts), wanted, strict=True))
        joint = twin.log_joint(DOCS, method.counts.z.astype(np.int64), state.alpha[0], prior_of(state))
        empty = np.full(len(DOCS), 0)
        nothing = twin.log_joint([[] for _ in DOCS], empty, state.alpha[0], prior_of(state))
        from scipy.special import gammaln

        total = state.alpha.sum()
        wanted_score = joint - nothing + gammaln(total) - gammaln(total + 4)
        assert method.score() == pytest.approx(wanted_score / state.n_tokens, rel=1e-9)


def test_the_topic_of_most_tokens_is_the_document_s() -> None:
    state = harness.make_state([[0, 1, 2], [0, 1], [], [1, 1]], [1.0, 1, 1], [0.1] * 3)
    state.z = np.array([2, 1, 2, 1, 0, NONE, 2], np.uint16)
    assert topics_of_documents(state).tolist() == [2, 0, NONE, 2]


@pytest.mark.parametrize(("chunks", "hands", "pack"), [(19, 2, 4), (4, 2, 1), (19, 9, 1), (16, 2, 4)])
def test_neighbouring_topics_are_dealt_together(chunks: int, hands: int, pack: int) -> None:
    """Every hand gets some, in packs of neighbours whose beginnings change: so that any two runs meet in a hand."""
    met, edges = np.eye(chunks, dtype=bool), set()
    for seed in range(200):
        hand_of = deal_runs(np.random.default_rng(seed), chunks, hands)
        assert set(hand_of.tolist()) == set(range(hands))
        parts = np.flatnonzero(np.diff(hand_of)) + 1
        inner = np.diff(parts)
        assert len(inner) == 0 or inner.min() >= pack
        edges |= {int(edge) for edge in parts}
        met |= hand_of[:, None] == hand_of
    assert met.all() and edges == set(range(1, chunks))
