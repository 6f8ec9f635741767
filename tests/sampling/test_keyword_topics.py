"""Topics with keywords: topics and keywords of tokens, drawn exactly."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from tests import harness
from tests.twins import keyword as twin
from topicx.engines.threads import Threads
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.keyword_topics import KeywordCounts, KeywordTopics, first_keyed
from topicx.state import State

FAMILY = 8
"""Tests of a distribution here: each is made at harness.LEVEL / FAMILY."""
A, B, KAPPA = 1.3, 2.1, 0.4


def make_state(
    docs: list[list[int]], alpha: list[float] | np.ndarray, beta: list[float] | np.ndarray, keywords: list[set[int]],
    groups: list[int] | None = None,
) -> State:  # fmt: skip
    state = harness.make_state(docs, alpha, beta, groups=groups)
    pairs = sorted((word, topic) for topic, own in enumerate(keywords) for word in own)
    state.side = {
        "keyword_words": np.array([word for word, _ in pairs], np.uint32),
        "keyword_topics": np.array([topic for _, topic in pairs], np.uint16),
        "keyed": np.zeros(state.n_tokens, np.uint8), "keyword_prior": np.array([A, B, KAPPA]),
    }  # fmt: skip
    return state


def make_method(state: State, seed: int = 1) -> KeywordTopics:
    return KeywordTopics(state, Options(topics=state.n_topics, seed=seed, sampler="dense"), Threads(1))


def rows_of(state: State) -> np.ndarray:
    """α of each document."""
    return state.alpha[state.groups] if len(state.groups) else np.tile(state.alpha[0], (state.n_documents, 1))


DOCS, KEYWORDS = [[0, 1], [1, 2], [0]], [{0, 1}, set(), {1}]


def tiny() -> State:
    return make_state(DOCS, [[0.3, 0.7, 1.2], [0.9, 0.2, 0.4]], [0.5, 0.3, 0.8], KEYWORDS, groups=[0, 1, 1])


def posterior(state: State) -> tuple[dict[tuple[int, ...], int], np.ndarray, np.ndarray]:
    """All topics and keywords of tokens that can be, by number, as rows, and their probabilities."""
    n, rows, logs = state.n_tokens, [], []
    for z in product(range(3), repeat=n):
        for s in product((0, 1), repeat=n):
            log_p = twin.log_joint(
                DOCS, np.array(z), np.array(s), rows_of(state), state.beta, KEYWORDS, A, B, KAPPA
            )  # fmt: skip
            if np.isfinite(log_p):
                rows.append((*z, *s))
                logs.append(log_p)
    p = np.exp(np.array(logs) - max(logs))
    return {row: at for at, row in enumerate(rows)}, np.array(rows), p / p.sum()


def test_a_sweep_leaves_the_posterior_as_it_is() -> None:
    state = tiny()
    code, rows, p = posterior(state)
    random, replicates = np.random.default_rng(1), 20_000
    observed, moved = np.zeros(len(p), np.int64), 0
    for step, draw in enumerate(random.choice(len(p), replicates, p=p)):
        state.z = rows[draw, :5].astype(np.uint16)
        state.side["keyed"] = rows[draw, 5:].astype(np.uint8)
        method = make_method(state)
        method.start(random=True)
        method.sweep(step)
        result = code[(*method.counts.z.tolist(), *method.counts.keyed.tolist())]
        observed[result] += 1
        moved += result != draw
    assert moved > replicates / 10
    assert harness.chi_square_p(observed, replicates * p) > harness.LEVEL / FAMILY


@pytest.mark.parametrize("random", [False, True])
def test_a_chain_finds_the_posterior(random: bool) -> None:
    state = tiny()
    code, _, p = posterior(state)
    method = make_method(state, seed=5)
    method.start(random=random)
    observed = np.zeros(len(p), np.int64)
    for step in range(3000 * 12):
        method.sweep(step)
        if step % 12 == 11:
            observed[code[(*method.counts.z.tolist(), *method.counts.keyed.tolist())]] += 1
    assert harness.chi_square_p(observed, 3000 * p) > harness.LEVEL / FAMILY


def draw_model(random: np.random.Generator, shape: State, keywords: list[set[int]]) -> State:
    """Words, topics and keywords from the model itself."""
    topics = shape.n_topics
    phi = random.dirichlet(shape.beta, topics)
    share = [random.beta(A, B) if own else 0.0 for own in keywords]
    own_phi = [random.dirichlet(np.full(len(own), KAPPA)) if own else np.zeros(0) for own in keywords]
    docs, z, s = [], [], []
    for row, length in zip(rows_of(shape), shape.lengths, strict=True):
        own = random.choice(topics, length, p=random.dirichlet(row))
        keyed = random.random(length) < np.array(share)[own] if length else np.zeros(0, bool)
        docs.append([
            int(random.choice(sorted(keywords[k]), p=own_phi[k])) if yes else int(random.choice(len(phi[k]), p=phi[k]))
            for k, yes in zip(own, keyed, strict=True)
        ])  # fmt: skip
        z += own.tolist()
        s += keyed.astype(int).tolist()
    state = make_state(docs, shape.alpha, shape.beta, keywords, shape.groups.tolist())
    state.z, state.side["keyed"] = np.array(z, np.uint16), np.array(s, np.uint8)
    return state


def figures(state: State) -> np.ndarray:
    keyed = state.side["keyed"] > 0
    by_topic = np.bincount(state.z[keyed], minlength=state.n_topics)
    of_word = np.bincount(state.words[keyed], minlength=state.n_words)
    own = [keyed.sum(), by_topic[0], (by_topic**2).sum(), (of_word**2).sum(), np.count_nonzero(by_topic)]
    return np.concatenate([harness.figures(state), np.array(own, float)])


def test_geweke() -> None:
    """Twenty topics, seven of them with keywords, two groups of documents; two sweeps change no mean."""
    random = np.random.default_rng(8)
    docs = [[0] * n for n in (9, 0, 12, 5, 1, 14)]
    keywords = [{0}, {0, 1, 2}, {3}, {4, 5}, {1, 6}, {7, 8, 9}, {0, 9}] + [set()] * 13
    shape = make_state(docs, random.uniform(0.05, 0.5, (2, 20)), random.uniform(0.05, 0.4, 12), keywords,
                       groups=[0, 0, 1, 0, 1, 1])  # fmt: skip
    before, after = [], []
    for replicate in range(600):
        state = draw_model(random, shape, keywords)
        before.append(figures(state))
        method = make_method(state, seed=replicate)
        method.start(random=True)
        for step in range(2):
            method.sweep(step)
        after.append(figures(method.sync()))
    difference = np.array(after) - np.array(before)
    spread = difference.std(axis=0, ddof=1)
    t = difference.mean(axis=0)[spread > 0] / (spread[spread > 0] / np.sqrt(len(difference)))
    p = 2 * stats.t.sf(np.abs(t), len(difference) - 1)
    assert p.min() * len(p) > harness.LEVEL / FAMILY


def larger(topics: int = 21) -> tuple[State, list[set[int]]]:
    random = np.random.default_rng(3)
    docs = [random.integers(0, 30, n).tolist() for n in (4, 0, 25, 1, 9)]
    keywords = [set(random.choice(30, 1 + k % 4, replace=False).tolist()) if k % 3 else set() for k in range(topics)]
    state = make_state(docs, random.uniform(0.1, 1, topics), random.uniform(0.01, 0.5, 30), keywords)
    state.z, state.side["keyed"] = first_keyed(state, random.integers(0, topics, state.n_tokens).astype(np.uint16))
    return state, keywords


def test_conditionals_are_the_twins_and_counts_stay() -> None:
    state, keywords = larger()
    counts = KeywordCounts(state)
    counts.adopt(state.z.copy(), state.side["keyed"].copy())
    before = [array.copy() for array in (counts.rows, counts.totals, counts.keyed_totals, counts.counts)]
    documents, by_word, by_entry = np.zeros((5, 21)), np.zeros((30, 21)), np.zeros(len(counts.of))
    counts.conditionals(0, 5, documents, by_word, by_entry)
    docs = [state.words[state.offsets[d] : state.offsets[d + 1]].tolist() for d in range(5)]
    wanted_documents, wanted_words = np.zeros_like(documents), np.zeros((2, 30, 21))
    z, s = state.z.astype(np.int64), state.side["keyed"].astype(np.int64)
    owner = np.repeat(np.arange(5), state.lengths)
    for i, word in enumerate(state.words.tolist()):
        p = twin.conditional(docs, z, s, i, rows_of(state), state.beta, keywords, A, B, KAPPA)
        wanted_documents[owner[i]] += p.sum(axis=0)
        wanted_words[:, word] += p
    assert np.allclose(documents, wanted_documents, rtol=1e-4, atol=1e-9)
    assert np.allclose(by_word, wanted_words[0], rtol=1e-4, atol=1e-9)
    keyed = np.zeros((30, 21))
    keyed[counts.entry_words, counts.entry_topics] = by_entry[:-1]
    assert np.allclose(keyed, wanted_words[1], rtol=1e-4, atol=1e-9)
    after = counts.rows, counts.totals, counts.keyed_totals, counts.counts
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_counts_and_the_score_follow_the_tokens() -> None:
    state, keywords = larger()
    method = make_method(state)
    method.start(random=True)
    docs = [state.words[state.offsets[d] : state.offsets[d + 1]].tolist() for d in range(5)]
    assert state.side["keyed"].sum() > 5
    scores, joints = [], []
    for step in range(6):
        method.sweep(step)
        fresh = KeywordCounts(method.sync())
        fresh.adopt(state.z, state.side["keyed"])
        for name in ("rows", "totals", "keyed_totals", "counts"):
            assert np.array_equal(getattr(fresh, name), getattr(method.counts, name))
        z, s = state.z.astype(np.int64), state.side["keyed"].astype(np.int64)
        joints.append(twin.log_joint(docs, z, s, rows_of(state), state.beta, keywords, A, B, KAPPA))
        scores.append(method.score() * state.n_tokens)
    assert np.allclose(np.array(scores) - scores[0], np.array(joints) - joints[0], atol=1e-6)


def test_without_keywords_it_is_lda() -> None:
    """The posterior of tiny corpora by enumeration, as every sampler of LDA has it."""
    state = make_state([[0, 1, 1], [0, 2, 0]], [0.3, 0.7, 1.2], [0.5, 0.3, 0.8], [set(), set(), set()])
    assignments, p = harness.enumerate_posterior(state)
    random, observed = np.random.default_rng(2), np.zeros(len(p), np.int64)
    code = {tuple(row): at for at, row in enumerate(assignments.tolist())}
    for step, draw in enumerate(random.choice(len(p), 6000, p=p)):
        state.z = assignments[draw].copy()
        state.side["keyed"][:] = 0
        method = make_method(state)
        method.start(random=True)
        method.sweep(step)
        observed[code[tuple(method.counts.z.tolist())]] += 1
    assert harness.chi_square_p(observed, 6000 * p) > harness.LEVEL / FAMILY


# -- several cells ------------------------------------------------------------------------------------------------


def cells_method(state: State, partitions: int, threads: int = 1, seed: int = 1) -> KeywordTopics:
    options = Options(topics=state.n_topics, seed=seed, sampler="dense", partitions=partitions)
    return KeywordTopics(state, options, Threads(threads))


def test_a_sweep_of_cells_draws_from_what_the_twin_says() -> None:
    """Every outcome of a sweep of two shards and two blocks, with its probability: totals are those of the epoch's
    beginning and what the cell itself has moved, all else is as it is."""
    docs = [[0, 1], [2, 0]]
    state = make_state(docs, [0.3, 0.7], [0.5, 0.3, 0.8], [{0, 1}, {2}])
    start = np.array([0, 1, 1, 0]), np.array([1, 0, 1, 0])
    state.z, state.side["keyed"] = start[0].astype(np.uint16), start[1].astype(np.uint8)
    schedule = cells_method(state, 2).schedule
    wanted = twin.sweep_outcomes(
        docs, start[0], start[1], rows_of(state), state.beta, [{0, 1}, {2}], A, B, KAPPA,
        [[(cell.shard, cell.block) for cell in cells] for cells in schedule.epochs()], schedule.bounds.tolist(),
        schedule.block_of_word.tolist(),
    )  # fmt: skip
    assert sum(wanted.values()) == pytest.approx(1)
    outcomes = {outcome: at for at, outcome in enumerate(wanted)}
    observed, replicates = np.zeros(len(outcomes), np.int64), 20_000
    for step in range(replicates):
        state.z, state.side["keyed"] = start[0].astype(np.uint16), start[1].astype(np.uint8)
        method = cells_method(state, 2)
        method.start(random=True)
        method.sweep(step)
        method.sync()
        observed[outcomes[(*state.z.tolist(), *state.side["keyed"].tolist())]] += 1
    assert harness.chi_square_p(observed, replicates * np.array(list(wanted.values()))) > harness.LEVEL / FAMILY


def spread_out(partitions: int) -> tuple[State, KeywordTopics]:
    random = np.random.default_rng(5)
    docs = [random.integers(0, 60, n).tolist() for n in random.poisson(20, 40)]
    keywords = [set(random.choice(60, 3, replace=False).tolist()) if k % 2 else set() for k in range(12)]
    state = make_state(docs, random.uniform(0.1, 1, (2, 12)), random.uniform(0.01, 0.5, 60), keywords,
                       groups=random.integers(0, 2, 40).tolist())  # fmt: skip
    return state, cells_method(state, partitions)


@pytest.mark.parametrize("partitions", [1, 3, 8])
def test_cells_keep_their_books_and_threads_change_nothing(partitions: int) -> None:
    found = []
    for threads in (1, 3):
        state, _ = spread_out(partitions)
        method = cells_method(state, partitions, threads)
        assert method.schedule.partitions == partitions
        method.start(random=True)
        for step in range(4):
            method.sweep(step)
        state = method.sync()
        fresh = KeywordCounts(state)
        fresh.adopt(state.z, state.side["keyed"])
        for name in ("rows", "totals", "keyed_totals", "counts"):
            assert np.array_equal(getattr(fresh, name), getattr(method.counts, name))
        found.append((state.z, state.side["keyed"], method.score()))
        again = cells_method(state, partitions)
        again.restore({})
        assert np.array_equal(again.counts.z, method.counts.z)
    assert all(np.array_equal(a, b) for a, b in zip(found[0], found[1], strict=True))
