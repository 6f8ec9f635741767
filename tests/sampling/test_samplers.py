"""What holds for every sampler of the registry: its stationary distribution, its bits, its books, its checkpoints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests import harness
from topicx.sampling import sampler_registry
from topicx.sampling.sampler_registry import GROWS
from topicx.state import NONE

SAMPLING = [e.name for e in sampler_registry.ENTRIES.values() if e.group != sampler_registry.VARIATIONAL]
EXACT = [e.name for e in sampler_registry.ENTRIES.values() if e.exact and e.group != sampler_registry.VARIATIONAL]
EXACT += [name for name in ("light:mh_steps=1", "light:mh_steps=5") if "light" in sampler_registry.ENTRIES]
FAMILY = len(EXACT) * (len(harness.PROBLEMS) + 2)
"""Tests of a distribution here: each is made at harness.LEVEL / FAMILY."""


@pytest.mark.parametrize("problem", harness.PROBLEMS, ids=lambda problem: problem.name)
@pytest.mark.parametrize("name", EXACT)
def test_a_sweep_leaves_the_posterior_as_it_is(name: str, problem: harness.Problem) -> None:
    assert harness.invariance_p_value(name, problem.make()) > harness.LEVEL / FAMILY


@pytest.mark.parametrize("name", EXACT)
def test_a_chain_reaches_the_posterior(name: str) -> None:
    state = harness.make_state([[0, 1], [1, 2, 0]], [0.8, 0.7, 1.2], [0.9, 0.7, 0.8])
    assert harness.chain_p_value(name, state) > harness.LEVEL / FAMILY


@pytest.mark.parametrize("name", EXACT)
def test_geweke(name: str) -> None:
    assert harness.geweke_p_value(name, harness.geweke_shape()) > harness.LEVEL / FAMILY


def assignments(name: str, threads: int = 1, partitions: int = 3, sweeps: int = 4, **options: int) -> np.ndarray:
    method = harness.make_method(name, harness.synthetic(), threads, partitions, **options)
    method.start(random=True)
    for step in range(sweeps):
        method.sweep(step)
    return method.sync().z


@pytest.mark.parametrize("name", SAMPLING)
def test_bits_do_not_depend_on_threads_but_on_the_seed(name: str) -> None:
    first = assignments(name)
    assert np.array_equal(first, assignments(name, threads=3))
    assert not np.array_equal(first, assignments(name, seed=2))
    assert not np.array_equal(first, assignments(name, chain=1))


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("name", SAMPLING)
def test_a_growing_start_places_every_token_and_keeps_the_books(name: str, partitions: int) -> None:
    state = harness.synthetic(model_topics=20)
    state.alpha = np.linspace(0.02, 0.3, 40).reshape(2, 20)
    state.groups = np.arange(state.n_documents, dtype=np.uint32) % 2
    state.beta = np.linspace(0.01, 0.1, state.n_words)
    state.seeds = harness.Seeds.of([(5, 3, 40), (6, 19, 2)])
    method = harness.make_method(name, state, partitions=partitions)
    if GROWS not in sampler_registry.find_sampler(name).capabilities:
        pytest.skip("starts at random only")
    method.start(random=False)
    assert np.all(method.sync().z == NONE)
    scores = []
    for step, share in enumerate([0.1, 0.1, 0.5, 1.0, 1.0, 1.0]):
        method.sweep(step, share)
        placed = method.sync().z != NONE
        documents = np.add.reduceat(placed, state.offsets[:-1])
        assert set(np.unique(documents / state.lengths)) <= {0.0, 1.0}
        assert abs(np.mean(documents > 0) - share) < 0.05
        scores.append(method.score())
        expected = state.word_topics()
        assert all(np.array_equal(a, b) for a, b in zip(method.word_topics(), expected, strict=True))
        assert all(np.array_equal(a, b) for a, b in zip(method.document_topics(), state.document_topics(), strict=True))
        if hasattr(method, "verify"):
            method.verify()
    assert np.all(np.isfinite(scores)) and np.all(np.array(scores) < 0)
    assert np.all(state.z < state.n_topics)


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("name", SAMPLING)
def test_a_resumed_run_has_the_same_bits(name: str, partitions: int) -> None:
    method = harness.make_method(name, harness.synthetic(model_topics=40), partitions=partitions)
    method.start(random=True)
    for step in range(3):
        method.sweep(step)
    saved = {key: value.copy() for key, value in method.arrays().items()}
    state = harness.synthetic(model_topics=40)
    state.z = method.sync().z.copy()
    resumed = harness.make_method(name, state, partitions=partitions)
    resumed.restore(saved)
    for step in range(3, 6):
        method.sweep(step)
        resumed.sweep(step)
        assert np.array_equal(method.sync().z, resumed.sync().z)
    assert method.score() == resumed.score()


@pytest.mark.parametrize("name", SAMPLING)
def test_new_priors_count_from_the_next_sweep_on(name: str) -> None:
    method = harness.make_method(name, harness.synthetic())
    method.start(random=True)
    method.sweep(0)
    alpha = np.full((1, 10), 1e-4)
    alpha[0, 4] = 1e4
    method.set_priors(alpha, np.full(method.state.n_words, 1e5))
    for step in range(1, 12):
        method.sweep(step)
    assert np.mean(method.sync().z == 4) > 0.9


@pytest.mark.parametrize("name", SAMPLING)
def test_topics_are_found(name: str) -> None:
    """Every sampler comes near the likelihood of the same corpus under long dense sampling."""
    reference = harness.make_method("dense", harness.synthetic(alpha=0.2))
    method = harness.make_method(name, harness.synthetic(alpha=0.2))
    for m in (reference, method):
        m.start(random=True)
        for step in range(150):
            m.sweep(step)
    assert abs(method.score() - reference.score()) < 0.15


@pytest.mark.parametrize("name", SAMPLING)
def test_edges(name: str) -> None:
    """One topic; one token; empty documents; a word that does not occur; more partitions than documents."""
    for docs, topics in (([[0]], 1), ([[0]], 5), ([[], [1, 1], []], 3)):
        state = harness.make_state(docs, np.full(topics, 0.5), [0.1, 0.2, 0.3])
        method = harness.make_method(name, state, partitions=4)
        method.start(random=True)
        for step in range(3):
            method.sweep(step)
        assert np.all(method.sync().z < topics)
        assert np.isfinite(method.score())


def test_groups_whose_priors_are_far_apart_are_drawn_in_bounded_time() -> None:
    """A group with hardly any of another one's α for a topic: the tree, whose proposals know the largest α of all
    groups, gives up refusing and draws as exactly. Five tokens of the first document's word stand on topic 2."""
    counts = np.zeros(3, int)
    for seed in range(600):
        alpha = [[0.1, 0.1, 0.1], [0.1, 0.1, 1e12]]
        state = harness.make_state([[0], [0] * 5], alpha, [0.5, 0.5], groups=[0, 1])
        state.z = np.array([seed % 3, 2, 2, 2, 2, 2], np.uint16)
        method = harness.make_method("tree", state, seed=seed)
        method.start(random=True)
        method.sweep(0)
        counts[method.sync().z[0]] += 1
    expected = np.array([0.5, 0.5, 5.5 / 6])
    assert stats.chisquare(counts, 600 * expected / expected.sum()).pvalue > harness.LEVEL / 4
