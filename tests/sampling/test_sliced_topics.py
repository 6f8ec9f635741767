"""Topics whose words differ by slice: topics of tokens, tables and b, drawn exactly."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests import harness
from tests.twins import slices as twin
from topicx._kernels.gibbs import cell as cell_kernel
from topicx._kernels.gibbs import slices as kernel
from topicx.engines.threads import Threads
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.sliced_topics import SlicedTopics
from topicx.sampling.slice_words import (
    NO_ENTRIES,
    Entries,
    customers_of,
    expected_words,
    pack_tables,
    parents_of,
    tables_of_state,
    tokens_of_slices,
)
from topicx.sampling.updates.slice_closeness import DrawCloseness, KeepMoves
from topicx.state import State

FAMILY = 10
"""Tests of a distribution here: each is made at harness.LEVEL / FAMILY."""


def make_state(
    docs: list[list[int]], alpha: Any, beta: Any, slices: list[int], number: int, drift: bool, b: Any,
    groups: list[int] | None = None,
) -> State:  # fmt: skip
    state = harness.make_state(docs, alpha, beta, groups=groups)
    state.side = {
        "slices": np.array([number, drift], np.int64), "slice_of": np.array(slices, np.uint32),
        "closeness": np.broadcast_to(np.asarray(b, float), (state.n_topics,)).copy(),
        **pack_tables([NO_ENTRIES] * number, state.n_topics), "table_offsets": np.zeros(1, np.int64),
    }  # fmt: skip
    return state


def make_method(state: State, seed: int = 1, threads: int = 1, partitions: int = 1) -> SlicedTopics:
    options = Options(topics=state.n_topics, seed=seed, sampler="dense", partitions=partitions)
    return SlicedTopics(state, options, Threads(threads))


def rows_of(state: State) -> np.ndarray:
    """α of each document."""
    return state.alpha[state.groups] if len(state.groups) else np.tile(state.alpha[0], (state.n_documents, 1))


def of_tokens(state: State) -> np.ndarray:
    return np.repeat(state.side["slice_of"].astype(np.int64), state.lengths)


def dense(entries: list[Entries], state: State) -> np.ndarray:
    """Slices × words × topics."""
    found = np.zeros((len(entries), state.n_words * state.n_topics), np.int64)
    for row, one in zip(found, entries, strict=True):
        row[one.places] = one.counts
    return found.reshape(len(entries), state.n_words, state.n_topics)


def set_tables(state: State, tables: np.ndarray) -> None:
    packed = []
    for one in tables:
        places = np.flatnonzero(one.reshape(-1))
        packed.append(Entries(places, one.reshape(-1)[places]))
    state.side |= pack_tables(packed, state.n_topics)


def drifting(b: Any = (1.7, 0.6)) -> State:
    """Four slices, the third of which has no document."""
    return make_state([[0, 1], [1], [0, 0]], [[0.3, 0.7], [0.9, 0.2]], [0.5, 0.8], [0, 1, 3], 4, True, b, [0, 1, 1])


def dialects(b: Any = (1.1, 0.4)) -> State:
    return make_state([[0, 1], [0], [1, 0]], [[0.3, 0.7]], [0.5, 0.8], [1, 2, 2], 3, False, b)


def posterior(state: State) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """All topics and tables that there can be, and their probabilities."""
    number, drift = state.side["slices"].tolist()
    parents = parents_of(number, bool(drift)).tolist()
    shape, found, logs = (number, state.n_words, state.n_topics), [], []
    for topics in product(range(state.n_topics), repeat=state.n_tokens):
        z = np.array(topics)
        n = twin.counts_of(state.words.astype(np.int64), of_tokens(state), z, shape)
        documents = twin.log_documents(z, state.offsets, rows_of(state))
        for tables in twin.all_tables(n, parents):
            found.append((z.astype(np.uint16), tables))
            logs.append(documents + twin.log_words(n, tables, parents, state.beta, state.side["closeness"]))
    p = np.exp(np.array(logs) - max(logs))
    return found, p / p.sum()


def code(z: np.ndarray, tables: np.ndarray) -> tuple[int, ...]:
    return (*z.tolist(), *tables.reshape(-1).tolist())


@pytest.mark.parametrize("make", [drifting, dialects])
def test_a_sweep_leaves_the_posterior_as_it_is(make: Any) -> None:
    state = make()
    every, p = posterior(state)
    number = {code(*one): at for at, one in enumerate(every)}
    random, replicates = np.random.default_rng(1), 5000
    observed, moved = np.zeros(len(p), np.int64), 0
    for step, draw in enumerate(random.choice(len(p), replicates, p=p)):
        state.z = every[draw][0].copy()
        set_tables(state, every[draw][1])
        method = make_method(state)
        method.start(random=True)
        method.sweep(step)
        method.verify()
        result = number[code(method.sync().z, dense(tables_of_state(state), state))]
        observed[result] += 1
        moved += result != draw
    assert moved > replicates / 10
    assert harness.chi_square_p(observed, replicates * p) > harness.LEVEL / FAMILY


@pytest.mark.parametrize("make", [drifting, dialects])
def test_a_chain_finds_the_posterior(make: Any) -> None:
    state = make()
    every, p = posterior(state)
    by_z: dict[tuple[int, ...], float] = {}
    for (z, _), one in zip(every, p, strict=True):
        by_z[tuple(z.tolist())] = by_z.get(tuple(z.tolist()), 0.0) + one
    number = {z: at for at, z in enumerate(by_z)}
    method = make_method(state, seed=5)
    method.start(random=False)
    observed = np.zeros(len(by_z), np.int64)
    for step in range(1000 * 8):
        method.sweep(step)
        if step % 8 == 7:
            observed[number[tuple(method.sync().z.tolist())]] += 1
    assert harness.chi_square_p(observed, 1000 * np.array(list(by_z.values()))) > harness.LEVEL / FAMILY


def draw_model(random: np.random.Generator, shape: State, by_topic: bool) -> State:
    """b, words, topics and tables from the model itself (b ~ Gamma(2, 1 / 4))."""
    topics, (number, drift) = shape.n_topics, shape.side["slices"].tolist()
    parents = parents_of(number, bool(drift))
    b = random.gamma(2, 4, topics) if by_topic else np.full(topics, random.gamma(2, 4))
    phi = np.zeros((number, topics, shape.n_words))
    for s, parent in enumerate(parents):
        for k in range(topics):
            prior = shape.beta if parent < 0 else np.maximum(b[k] * phi[parent, k], 1e-200)
            gammas = random.standard_gamma(prior)
            phi[s, k] = gammas / gammas.sum() if gammas.sum() > 0 else np.eye(shape.n_words)[prior.argmax()]
    docs, z = [], []
    for row, length, s in zip(rows_of(shape), shape.lengths, shape.side["slice_of"], strict=True):
        own = random.choice(topics, length, p=random.dirichlet(row))
        docs.append([int(random.choice(shape.n_words, p=phi[s, k])) for k in own])
        z += own.tolist()
    state = make_state(docs, shape.alpha, shape.beta, shape.side["slice_of"].tolist(), number, bool(drift), b,
                       shape.groups.tolist() or None)  # fmt: skip
    state.z = np.array(z, np.uint16)
    of = twin.counts_of(state.words.astype(np.int64), of_tokens(state), state.z.astype(np.int64),
                        (number, state.n_words, topics))  # fmt: skip
    tables = np.zeros_like(of)
    for s in range(number - 1, 0, -1):
        for w, k in zip(*np.nonzero(of[s]), strict=True):
            a = b[k] * phi[parents[s], k, w]
            tables[s, w, k] = 1 + sum(random.random() * (a + n) < a for n in range(1, of[s, w, k]))
        of[parents[s]] += tables[s]
    set_tables(state, tables)
    return state


def figures(state: State) -> np.ndarray:
    """Those of LDA, and of words by slice, tables and b."""
    tokens = dense(tokens_of_slices(state), state).astype(float)
    tables = dense(tables_of_state(state), state).astype(float)
    b = state.side["closeness"]
    own = [(tokens**2).sum(), (tokens > 0).sum(), tables.sum(), (tables**2).sum(), tables[1].sum(),
           np.log(b).sum(), (tables * np.log(b)).sum()]  # fmt: skip
    return np.concatenate([harness.figures(state), np.array(own, float)])


@pytest.mark.parametrize(("drift", "by_topic"), [(True, False), (True, True), (False, True)])
def test_geweke(drift: bool, by_topic: bool) -> None:
    """Nineteen topics, two groups of documents, b drawn; a sweep and a draw of b, twice, change no mean."""
    random = np.random.default_rng(8)
    docs = [[0] * n for n in (9, 0, 12, 5, 1, 14, 8)]
    of = [0, 0, 1, 0, 1, 3, 3] if drift else [1, 1, 2, 1, 2, 3, 3]
    shape = make_state(docs, random.uniform(0.05, 0.5, (2, 19)), random.uniform(0.05, 0.4, 12), of, 4, drift, 1,
                       groups=[0, 0, 1, 0, 1, 1, 0])  # fmt: skip
    before, after = [], []
    for replicate in range(500):
        state = draw_model(random, shape, by_topic)
        before.append(figures(state))
        method = make_method(state, seed=replicate)
        update = DrawCloseness(2.0, 0.25, by_topic)
        method.start(random=True)
        for step in range(2):
            method.sweep(step)
            update(method, 1000 * replicate + step)
        after.append(figures(method.sync()))
    difference = np.array(after) - np.array(before)
    spread = difference.std(axis=0, ddof=1)
    t = difference.mean(axis=0)[spread > 0] / (spread[spread > 0] / np.sqrt(len(difference)))
    p = 2 * stats.t.sf(np.abs(t), len(difference) - 1)
    assert p.min() * len(p) > harness.LEVEL / FAMILY


# -- limits ----------------------------------------------------------------------------------------------------


def marginal(state: State) -> np.ndarray:
    """p(z) of all topics of tokens, by the enumeration with tables."""
    every, p = posterior(state)
    codes = np.array([int("".join(map(str, z.tolist())), 2) for z, _ in every])
    return np.bincount(codes, p)


def test_one_slice_is_lda() -> None:
    """The posterior of tiny corpora by enumeration, as every sampler of LDA has it."""
    state = make_state([[0, 1, 1], [0, 2, 0]], [0.3, 0.7, 1.2], [0.5, 0.3, 0.8], [0, 0], 1, True, 5.0)
    assignments, p = harness.enumerate_posterior(state)
    random, observed = np.random.default_rng(2), np.zeros(len(p), np.int64)
    number = {tuple(row): at for at, row in enumerate(assignments.tolist())}
    for step, draw in enumerate(random.choice(len(p), 6000, p=p)):
        state.z = assignments[draw].copy()
        method = make_method(state)
        method.start(random=True)
        method.sweep(step)
        observed[number[tuple(method.sync().z.tolist())]] += 1
    assert harness.chi_square_p(observed, 6000 * p) > harness.LEVEL / FAMILY


@pytest.mark.parametrize("make", [drifting, dialects])
def test_limits_of_closeness(make: Any) -> None:
    """b → ∞ is LDA of all slices; b → 0 leaves a slice's words to its own counts."""
    state = make(1e7)
    assignments, lda = harness.enumerate_posterior(state)
    order = [int("".join(map(str, row)), 2) for row in assignments.tolist()]
    assert np.allclose(marginal(state)[order], lda, rtol=1e-4)
    assert not np.allclose(marginal(make(1.0))[order], lda, rtol=0.05)
    method = make_method(make(1e-3))
    method.start(random=True)
    method.sweep(0)
    tokens, customers = method.expected()
    parents, closeness = method.parents, method.state.side["closeness"]
    words = [one.copy() for one in expected_words(parents, customers, closeness, method.state.beta)]
    for s in range(1, method.slices):
        for k in range(2):
            n = dense(customers, method.state)[s][:, k]
            if n.sum():
                assert np.allclose(words[s][:, k], n / n.sum(), atol=2e-3)
    assert sum(int(one.counts.sum()) for one in tokens) == method.state.n_tokens


# -- twins and bits ----------------------------------------------------------------------------------------------


def larger(documents: int = 60, topics: int = 21, drift: bool = True, seed: int = 3) -> State:
    random = np.random.default_rng(seed)
    docs = [random.integers(0, 40, n).tolist() for n in random.integers(0, 30, documents)]
    of = np.sort(random.integers(0 if drift else 1, 5, documents)).tolist()
    return make_state(docs, random.uniform(0.1, 1, topics), random.uniform(0.01, 0.5, 40), of, 5, drift, 3.0)


@pytest.mark.parametrize("topics", [3, 16, 21, 70])
def test_the_kernel_is_its_twin(topics: int) -> None:
    random = np.random.default_rng(topics)
    state = larger(8, topics)
    width = -(-topics // 16) * 16
    z = random.integers(0, topics, state.n_tokens).astype(np.uint16)
    counts, totals = np.zeros((40, width), np.int32), np.zeros(width, np.int64)
    kernel.count(state.words, z, counts, totals)
    prior = np.zeros((40, width), np.float32)
    prior[:, :topics] = random.gamma(0.3, 2, (40, topics)).astype(np.float32)
    base = np.ones(width)
    base[:topics] = prior[:, :topics].sum(axis=0)
    documents = np.arange(8, dtype=np.uint32)
    segments = np.stack([state.offsets[:-1], state.offsets[1:]], axis=1).reshape(-1)
    mine = z.copy(), totals[:topics].copy(), counts.copy()
    made = cell_kernel.Cell(words=state.words, assigned=z, offsets=state.offsets, segments=segments, blocks=1,
                            alpha=state.alpha, groups=state.groups, totals=totals[:topics].copy())  # fmt: skip
    changed = kernel.sweep(made, documents, 0, 77, prior, counts, base)
    wanted = twin.sweep(
        state.words, mine[0], state.offsets, documents, state.alpha[0], mine[1], prior, mine[2], base, 77
    )
    assert changed == wanted > 0
    assert np.array_equal(z, mine[0]) and np.array_equal(counts, mine[2])
    assert np.array_equal(np.asarray(made.totals), mine[1])
    flat = counts.reshape(-1)
    places = np.flatnonzero(flat)
    own, handed = places[::2].copy(), places[::3].copy()
    base_words = (prior / prior.sum(axis=0).clip(1e-9)).astype(np.float32)
    n = np.zeros(len(flat), np.int64)
    n[own] += flat[own]
    n[handed] += 4
    room = len(own) + len(handed)
    out = [np.empty(room, np.int64) for _ in range(3)]
    found = kernel.draw_tables(own, flat[own].astype(np.int64), handed, np.full(len(handed), 4), base_words,
                               np.full(topics, 9.0), 5, *out)  # fmt: skip
    both = np.flatnonzero(n)
    assert np.array_equal(out[0][:found], both) and np.array_equal(out[1][:found], n[both])
    assert out[2][:found].tolist() == twin.draw_tables(both, n[both], base_words, np.full(topics, 9.0), 5)


def test_gamma_variates() -> None:
    """Shapes from below 1 to large ones: the distribution function of what is drawn; of small ones, how many are 0."""
    for number, shape in enumerate((0.02, 0.2, 0.7, 1.0, 3.5, 400.0)):
        prior = np.full((3000, 16), shape, np.float32)
        out, sums, shapes = np.zeros((3000, 16), np.float32), np.zeros(1), np.zeros(1)
        kernel.draw_gammas(prior, np.zeros((3000, 16), np.int32), 1, 0, 3000, 99 + number, out, sums, shapes)
        if shape == 0.02:
            p = stats.binomtest(int((out[:, 0] == 0).sum()), 3000, np.exp(-70 * shape)).pvalue
        else:
            p = stats.kstest(out[:, 0].astype(float), stats.gamma(shape).cdf).pvalue
        assert p > harness.LEVEL / FAMILY
        assert np.isclose(sums[0], out[:, 0].sum(dtype=float), rtol=1e-5)
        assert np.isclose(shapes[0], 3000 * shape)
        assert np.all(out[:, 1:] == 0)


@pytest.mark.parametrize("drift", [True, False])
def test_expected_words_and_customers_are_the_twins(drift: bool) -> None:
    state = larger(drift=drift)
    method = make_method(state)
    method.start(random=True)
    for step in range(3):
        method.sweep(step)
    tokens, customers = method.expected()
    tables, n = dense(tables_of_state(state), state), dense(tokens, state)
    parents = method.parents.tolist()
    assert np.array_equal(dense(customers, state), twin.customers(n, tables, parents))
    assert np.array_equal(method.customers, twin.customers(n, tables, parents).sum(axis=1))
    words = [one.copy() for one in expected_words(method.parents, customers, state.side["closeness"], state.beta)]
    assert np.allclose(words, twin.expected(n, tables, parents, state.beta, state.side["closeness"]))
    update = KeepMoves(0)
    for _ in range(10):
        update(method, 0)
    moves = state.side["moves"]
    assert moves.shape == (2, 2, 5, 21) and np.all(moves[:, :, 0] == 0) and np.array_equal(moves[0], moves[1])
    wanted = np.abs(words[3] - words[parents[3]]).sum(axis=0) / 2
    assert np.allclose(moves[0, 0, 3], wanted, atol=1e-6)
    assert np.allclose(moves[0, 1, 3], np.abs(words[3] - words[0]).sum(axis=0) / 2, atol=1e-6)


@pytest.mark.parametrize("drift", [True, False])
def test_threads_states_and_new_starts_change_no_bit(drift: bool) -> None:
    def run(threads: int, halt: int = 0) -> State:
        state = larger(drift=drift)
        method = make_method(state, threads=threads, partitions=3)
        method.start(random=True)
        for step in range(6):
            if halt and step == halt:
                kept = method.sync()
                method = make_method(replace(kept, side=dict(kept.side)), threads=threads, partitions=3)
                method.restore({})
            method.sweep(step)
        method.verify()
        return method.sync()

    first = run(1)
    for other in (run(4), run(2, halt=3)):
        assert np.array_equal(first.z, other.z)
        for name in ("table_offsets", "table_words", "table_topics", "table_counts"):
            assert np.array_equal(first.side[name], other.side[name])


def test_scores_are_finite_and_rise() -> None:
    state = larger()
    method = make_method(state)
    method.start(random=True)
    scores = []
    for step in range(30):
        method.sweep(step)
        scores.append(method.score())
    assert np.all(np.isfinite(scores)) and np.mean(scores[-5:]) > scores[0]


def test_customers_of_no_slice() -> None:
    assert len(customers_of(parents_of(1, True), [NO_ENTRIES], [NO_ENTRIES])[0].places) == 0
