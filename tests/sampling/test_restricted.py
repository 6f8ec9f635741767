"""Documents with topics of their own: the kernels against their twins, the posterior by enumeration, Geweke's test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests import harness
from tests.twins import restricted as twin
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.estimate import estimate, theta
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.restricted_gibbs import Restricted
from topicx.sampling.updates.prior_fixed_points import learn_alpha
from topicx.state import NONE, State
from topicx.topic_sets import Hashed, aligned_counts
from topicx.variational.restricted_cvb0 import RestrictedCvb0

NAME = "labeled"


def allow(state: State, topics: list[list[int]]) -> State:
    """The state with these topics for its documents."""
    offsets = np.zeros(len(topics) + 1, np.int64)
    np.cumsum([len(row) for row in topics], out=offsets[1:])
    state.allowed = offsets, np.array([k for row in topics for k in sorted(row)], np.uint16)
    state.verify()
    return state


def labelled(topics: int = 12, documents: int = 60, seed: int = 3, **more: Any) -> State:
    """A random corpus whose documents have one to six topics, some all of them, one is empty."""
    random = np.random.default_rng(seed)
    state = harness.synthetic(documents=documents, length=25, words=40, topics=5, seed=seed, model_topics=topics)
    rows = [sorted(random.choice(topics, random.integers(1, 7), replace=False).tolist()) for _ in range(documents)]
    rows[3] = rows[17] = list(range(topics))
    state.alpha = random.uniform(0.05, 0.5, (2, topics))
    state.groups = random.integers(0, 2, documents).astype(np.uint32)
    state.beta = random.uniform(0.02, 0.2, state.n_words)
    state.seeds = harness.Seeds.of([(0, 1, 3), (5, topics - 1, 2)])
    return allow(replace(state, **more), rows)


# -- kernels and twins ------------------------------------------------------------


@pytest.mark.parametrize("topics", [7, 12, 2000])
@pytest.mark.parametrize("unplaced", [False, True])
@pytest.mark.parametrize("maximise", [False, True])
@pytest.mark.parametrize("partitions", [3, "2x2"])
def test_a_sweep_is_its_twin_bit_for_bit(topics: int, unplaced: bool, maximise: bool, partitions: int | str) -> None:
    state = labelled(topics, documents=40)
    method = harness.make_method(NAME, state, partitions=partitions)
    assert isinstance(method, Restricted)
    method.start(random=not unplaced)
    assert np.any(method.table.mask >= 0 if topics == 2000 else method.table.mask < 0)  # both forms of rows
    n_kw = np.zeros((state.n_words, topics), np.int64)
    z, schedule = method.z.copy(), method.schedule
    placed = z != NONE
    np.add.at(n_kw, (method.words[placed], z[placed]), 1)
    np.add.at(n_kw, (method.pseudo[0], method.pseudo[1]), method.pseudo[2])
    for step in range(3):
        totals = method.totals.copy()
        for round in schedule.rounds():
            machines = [totals.copy() for _ in range(schedule.levels.outer)]
            for cell, begun in ((cell, at == 0) for cells in round for at, cell in enumerate(cells)):
                if begun:  # an epoch: what the machines know
                    known = [machine.copy() for machine in machines]
                machine = cell.shard // schedule.levels.inner
                own = known[machine].copy()
                number = cell.shard * schedule.partitions + cell.block
                key = twin_key(method.options, step, number)
                twin.sweep_cell(
                    method.words, z, state.offsets, schedule.segments, schedule.partitions, schedule.shards[cell.shard],
                    cell.block, *method.allowed, n_kw, own, state.alpha, state.groups, method._beta, method._beta_sum,
                    key, maximise,
                )  # fmt: skip
                machines[machine] += own - known[machine]
            totals = totals + sum(machine - totals for machine in machines)
        method.maximise(step) if maximise else method.sweep(step)
        np.testing.assert_array_equal(method.z, z)
        np.testing.assert_array_equal(method.totals, totals)
        method.verify()


def twin_key(options: Options, step: int, number: int) -> int:
    from topicx.sampling import random_streams

    return random_streams.stream_key(options.seed, options.chain, random_streams.CELL, step, number)


def test_rows_come_back_from_any_order_of_changes() -> None:
    random = np.random.default_rng(5)
    counts = {k: int(random.integers(1, 4)) for k in random.choice(60_000, 40, replace=False).tolist()}
    tokens = np.array([k for k, n in counts.items() for _ in range(n)], np.uint16)
    table = Hashed(np.array([len(tokens)]), 60_000).add(np.zeros(len(tokens), np.uint32), tokens)
    assert table.mask[0] > 0
    row = table.cells[: table.start[1]].reshape(-1, 2)
    assert {int(key) - 1: int(n) for key, n in row if key} == counts


@pytest.mark.parametrize("topics", [9, 900])
def test_expected_counts_are_the_twins(topics: int) -> None:
    state = labelled(topics, documents=30)
    method = harness.make_method(NAME, state, partitions=2)
    method.start(random=True)
    method.sweep(0)
    state = method.sync()
    by_document, by_word = twin.soft_counts(state)
    for threads in (1, 3):
        model = estimate(state, threads=threads)
        np.testing.assert_allclose(model.counts().toarray(), by_word, rtol=1e-9, atol=1e-12)
        rows = theta(state, "cgsp", threads=threads)
        mask = np.zeros(rows.shape, bool)
        mask[np.repeat(np.arange(state.n_documents), np.diff(state.allowed[0])), state.allowed[1]] = True  # type: ignore[index]
        expected = np.where(mask, by_document + state.alpha[state.groups], 0)
        np.testing.assert_allclose(rows, expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)
    counted = theta(state, "cgs")
    assert np.all((counted > 0) == mask)
    np.testing.assert_allclose(counted.sum(axis=1), 1)


def test_the_largest_expected_counts_are_kept_and_the_rest_by_word() -> None:
    state = labelled(9, documents=30)
    method = harness.make_method(NAME, state)
    method.start(random=True)
    full, part = estimate(method.sync()), estimate(method.sync(), max_entries=50)
    assert len(part.values) == 50
    assert part.values.min() >= np.sort(full.values)[-50]
    np.testing.assert_allclose(part.totals.sum(), full.totals.sum())
    left = full.counts().sum(axis=1) - part.counts().sum(axis=1)
    np.testing.assert_allclose(part.remainder, left, atol=1e-9)


def begun(state: State, threads: int = 1, **options: Any) -> RestrictedCvb0:
    chosen = Options(**({"topics": state.n_topics, "partitions": 1} | options))
    method = RestrictedCvb0(state, chosen, Threads(threads))
    method.start(random=True)
    return method


def test_cvb0_is_its_twin() -> None:
    state = labelled(12, documents=30)
    method = begun(state)
    order = method.schedule.shards[0]
    choices = np.diff(method.allowed[0])
    inverse = np.argsort(method.schedule.rank)
    pairs: list[list[tuple[int, int]]] = []
    gamma: list[list[Any]] = []
    for d in range(state.n_documents):
        here = range(method.offsets[d], method.offsets[d + 1])
        pairs.append([(int(inverse[method.words[i]]), int(method.counts[i])) for i in here])
        at = method.gamma_start[d]
        gamma.append(
            [method.gamma[at + i * choices[d] : at + (i + 1) * choices[d]].astype(float) for i in range(len(here))]
        )
    words = [state.words[state.offsets[d] : state.offsets[d + 1]] for d in order]
    shuffled = replace(
        state, words=np.concatenate(words), groups=state.groups[order],
        allowed=(np.concatenate([[0], np.cumsum(choices[order])]),
                 np.concatenate([state.allowed[1][state.allowed[0][d] : state.allowed[0][d + 1]] for d in order])),  # type: ignore[index]
        offsets=np.concatenate([[0], np.cumsum([len(each) for each in words])]), ids=state.ids.take(order),
    )  # fmt: skip
    in_order = [gamma[d] for d in order], [pairs[d] for d in order]
    for step in range(4):
        method.sweep(step)
        twin.cvb0_sweep(shuffled, in_order[1], in_order[0])
    method.verify()
    for rows, d in zip(in_order[0], order):
        at = method.gamma_start[d]
        ours = method.gamma[at : method.gamma_start[d + 1]]
        np.testing.assert_allclose(ours, np.concatenate(rows) if rows else [], atol=2e-6)


def matrix(method: Any) -> Any:
    """n_kw as a dense array."""
    indptr, topics, counts = method.word_topics()
    dense = np.zeros((method.state.n_words, method.state.n_topics))
    dense[np.repeat(np.arange(len(dense)), np.diff(indptr)), topics] = counts
    return dense


def test_cvb0_of_documents_that_may_have_all_topics_is_cvb0() -> None:
    from topicx.variational.cvb0 import Cvb0

    state = harness.synthetic(documents=20, topics=4)
    plain = Cvb0(replace(state), Options(topics=4, partitions=1, start="random"), Threads(1))
    random = np.random.default_rng(1)
    z = random.integers(0, 4, state.n_tokens).astype(np.uint16)
    plain.state.z = z.copy()
    plain.start(random=True)
    ours = RestrictedCvb0(replace(state, z=z.copy()), Options(topics=4, partitions=1), Threads(1))
    ours.start(random=True)
    for step in range(5):
        plain.sweep(step)
        ours.sweep(step)
    np.testing.assert_allclose(matrix(ours), matrix(plain), atol=1e-2)
    assert abs(ours.score() - plain.score()) < 1e-4


# -- bits, books, checkpoints ------------------------------------------------------------


@pytest.mark.parametrize("kind", [Restricted, RestrictedCvb0])
def test_bits_do_not_depend_on_threads_but_on_the_seed(kind: Any) -> None:
    def run(threads: int = 1, **options: int) -> Any:
        state = labelled(30, documents=80)
        method = kind(state, Options(topics=30, partitions=3, **options), Threads(threads))
        method.start(random=True)
        for step in range(4):
            method.sweep(step)
        return method.word_topics()[2], method.sync().z

    first = run()
    for ours, other in zip(first, run(threads=3)):
        assert np.array_equal(ours, other)
    assert not np.array_equal(first[1], run(seed=2)[1])
    assert not np.array_equal(first[1], run(chain=1)[1])


@pytest.mark.parametrize("kind", [Restricted, RestrictedCvb0])
def test_what_is_restored_goes_on_with_the_same_bits(kind: Any) -> None:
    def method() -> Any:
        return kind(labelled(30, documents=80), Options(topics=30, partitions=3), Threads(1))

    first = method()
    first.start(random=True)
    for step in range(3):
        first.sweep(step)
    second = method()
    second.state.z = first.sync().z.copy()
    second.restore({name: array.copy() for name, array in first.arrays().items()})
    for step in range(3, 6):
        first.sweep(step)
        second.sweep(step)
    assert np.array_equal(first.sync().z, second.sync().z)
    assert np.array_equal(first.word_topics()[2], second.word_topics()[2])
    assert first.score() == second.score()


def test_tokens_on_other_topics_are_refused_with_the_documents_name() -> None:
    state = allow(harness.make_state([[0, 1], [1]], [0.3, 0.3, 0.3], [0.1, 0.1]), [[0, 2], [1]])
    state.z = np.array([0, 1, 1], np.uint16)
    with pytest.raises(InputError, match="'d0'"):
        harness.make_method(NAME, state).start(random=True)
    with pytest.raises(InputError, match="'d0'"):
        estimate(state)


def test_documents_without_a_topic_and_topics_out_of_order_are_refused() -> None:
    for offsets, topics, told in (([0, 2, 2], [0, 2], "'d1' has words"), ([0, 2, 3], [2, 0, 1], "do not ascend")):
        state = harness.make_state([[0, 1], [1]], [0.3, 0.3, 0.3], [0.1, 0.1])
        state.allowed = np.array(offsets), np.array(topics, np.uint16)
        for kind in (Restricted, RestrictedCvb0):
            with pytest.raises(InputError, match=told):
                kind(state, Options(topics=3), Threads(1))
        with pytest.raises(InputError, match=told):
            estimate(state)
    state = harness.make_state([[0, 1], [], [1]], [0.3, 0.3, 0.3], [0.1, 0.1])  # an empty one needs none
    state.allowed = np.array([0, 2, 2, 3]), np.array([1, 2, 0], np.uint16)
    harness.make_method(NAME, state).start(random=True)


def test_the_likelihood_is_that_of_the_urn() -> None:
    """Differences between assignments are those of the enumeration; and a state's is its chain's."""
    from topicx.evaluate.model_likelihood import joint_log_likelihood

    state = with_no_label()
    assignments, p = posterior(state)
    chosen = [0, 5, len(p) - 1]
    found = []
    for at in chosen:
        state.z = assignments[at].astype(np.uint16)
        found.append(joint_log_likelihood(state) * state.n_tokens)
    np.testing.assert_allclose(np.diff(found), np.diff(np.log(p[chosen])), rtol=1e-9)
    method = harness.make_method(NAME, state)
    method.start(random=True)
    assert method.score() == joint_log_likelihood(state)


def test_alpha_is_learnt_from_the_documents_that_may_have_the_topic() -> None:
    """The fixed point is where the derivative of the likelihood, by finite differences, is zero."""
    from topicx.sampling.samplers.restricted_gibbs import documents_log_likelihood

    state = labelled(6, documents=200)
    state.groups = np.zeros(0, np.uint32)
    state.alpha = np.full((1, 6), 0.3)
    method = harness.make_method(NAME, state)
    method.start(random=True)
    assert isinstance(method, Restricted)
    counts = aligned_counts(method.sync().z, state, method.allowed).astype(float)
    statistics = method.document_statistics()
    statistics.rounds = 5000
    learnt = learn_alpha(statistics, state.alpha, symmetric=False)
    best = documents_log_likelihood(counts, replace(state, alpha=learnt), method.allowed)
    for k in range(6):
        for factor in (0.97, 1.03):
            other = learnt.copy()
            other[0, k] *= factor
            assert documents_log_likelihood(counts, replace(state, alpha=other), method.allowed) < best


# -- the posterior ------------------------------------------------------------


def plain() -> State:
    state = harness.make_state([[0, 1, 1], [0, 2, 0], [1, 2]], [0.3, 0.7, 1.2, 0.5], [0.5, 0.3, 0.8])
    return allow(state, [[0, 2], [1, 2, 3], [3]])


def with_background() -> State:
    """Topic 3 is in every document: a background topic."""
    state = harness.make_state([[0, 1, 0], [1, 1, 2], [0, 0]], [0.9, 0.2, 0.4, 0.6], [0.2, 0.4, 0.3])
    return allow(state, [[0, 3], [1, 2, 3], [2, 3]])


def with_no_label() -> State:
    """The second document has no label: all topics."""
    state = harness.make_state([[0, 1], [1, 2, 0], [2, 2]], [[0.5, 0.4, 0.8], [0.3, 1.2, 0.1]], [0.1, 0.6, 0.2],
                               groups=[0, 1, 1], seeds=[(0, 1, 3), (2, 2, 1)])  # fmt: skip
    return allow(state, [[0, 1], [0, 1, 2], [2]])


def with_many_topics() -> State:
    """Rows are hashed."""
    random = np.random.default_rng(3)
    state = harness.make_state([[0, 1], [1, 0]], random.uniform(0.1, 1, 500), [0.5, 0.7], seeds=[(1, 450, 2)])
    return allow(state, [[3, 77, 401, 450], [3, 200, 450, 499]])


PROBLEMS = {f.__name__: f for f in (plain, with_background, with_no_label, with_many_topics)}
FAMILY = 2 * len(PROBLEMS) + 1


def posterior(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Every assignment of the documents' own topics (a row each), and its probability."""
    from itertools import product

    assert state.allowed is not None
    own = [state.allowed[1][a:b].tolist() for a, b in zip(state.allowed[0][:-1], state.allowed[0][1:])]
    doc = np.repeat(np.arange(state.n_documents), state.lengths)
    z = np.array(list(product(*[own[d] for d in doc])))
    return z, harness.urn(state, z)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_sweep_leaves_the_posterior_as_it_is(problem: str) -> None:
    state = PROBLEMS[problem]()
    assignments, p = posterior(state)
    random = np.random.default_rng(1)
    method = harness.make_method(NAME, state)
    index = {tuple(row): i for i, row in enumerate(assignments.tolist())}
    observed = np.zeros(len(p), np.int64)
    replicates = 5000
    for step, draw in enumerate(random.choice(len(p), replicates, p=p)):
        state.z = assignments[draw].astype(np.uint16)
        method.start(random=True)
        method.sweep(step)
        observed[index[tuple(method.sync().z.tolist())]] += 1
    assert harness.chi_square_p(observed, replicates * p) > harness.LEVEL / FAMILY


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_chain_reaches_the_posterior(problem: str) -> None:
    state = PROBLEMS[problem]()
    assignments, p = posterior(state)
    method = harness.make_method(NAME, state)
    method.start(random=True)
    index = {tuple(row): i for i, row in enumerate(assignments.tolist())}
    observed = np.zeros(len(p), np.int64)
    for step in range(1500 * 15):
        method.sweep(step)
        if step % 15 == 14:
            observed[index[tuple(method.sync().z.tolist())]] += 1
    assert harness.chi_square_p(observed, 1500 * p) > harness.LEVEL / FAMILY


def test_geweke() -> None:
    shape = harness.geweke_shape()
    random = np.random.default_rng(5)
    rows = [sorted(random.choice(20, n, replace=False).tolist()) for n in (3, 2, 20, 5, 1, 8)]
    assert harness.geweke_p_value(NAME, allow(shape, rows)) > harness.LEVEL / FAMILY
