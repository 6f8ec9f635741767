"""λ between sweeps: draws leave its posterior with the topics of the words as it is; fits climb."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

from tests import harness
from topicx.sampling import random_streams
from topicx.sampling.method import Method
from topicx.sampling.updates.coefficient_updates import DrawCoefficients, FitCoefficients, set_coefficients
from topicx.sampling.updates.prior_regression import make_priors
from topicx.state import State

FAMILY = 4
"""Tests of a distribution here: each is made at harness.LEVEL / FAMILY."""


def regressed_state(docs: list[list[int]], groups: list[int], design: np.ndarray, topics: int, words: int) -> State:
    """Documents with rows of a design, λ = 0."""
    state = harness.make_state(docs, np.ones((len(design), topics)), np.linspace(0.3, 0.8, words), groups=groups)
    state.side = {
        "design": np.ascontiguousarray(design, np.float64),
        "coefficients": np.zeros((topics, design.shape[1])),
    }
    return state


def make_update(variances: np.ndarray, step: float) -> DrawCoefficients:
    update = DrawCoefficients(0, variances)
    update.step = step
    return update


@pytest.mark.parametrize("sampler", ["sparse", "dense"])
def test_topics_and_coefficients_together(sampler: str) -> None:
    """A chain of both agrees with the posterior of z by enumeration, λ integrated out numerically. Each of the two
    groups has a coefficient of its own for each of two topics."""
    variances = np.array([0.8, 1.4])
    state = regressed_state([[0, 1], [1, 0], [1]], [0, 0, 1], np.eye(2), 2, 2)
    assignments, p = posterior_of_z(state, variances)
    method = harness.make_method(sampler, state, seed=3)
    method.start(random=True)
    update = make_update(variances, 1.2)
    samples, thin, chances = 1200, 12, []
    observed = np.zeros(len(p), np.int64)
    code = {tuple(row): at for at, row in enumerate(assignments.tolist())}
    for step in range(samples * thin):
        method.sweep(step)
        chances.append(update(method, random_streams.stream_key(7, step))["acceptance"])
        if step % thin == thin - 1:
            observed[code[tuple(method.sync().z.tolist())]] += 1
    assert 0.3 < np.mean(chances) < 0.97
    assert harness.chi_square_p(observed, samples * p) > harness.LEVEL / FAMILY


def posterior_of_z(state: State, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All z, and their probabilities: what the words say times what the documents of each group say."""
    plain = harness.make_state([[0]], [[1.0, 1.0]], [1.0])
    plain.words, plain.offsets, plain.beta = state.words, state.offsets, state.beta
    plain.alpha, plain.groups, plain.z = np.full((1, 2), 1e12), np.zeros(0, np.uint32), state.z
    assignments, words = harness.enumerate_posterior(plain)  # α so large that documents say nothing
    weights = words.copy()
    for at, z in enumerate(assignments):
        for group, variance in enumerate(variances):
            counts = [
                np.bincount(z[state.offsets[d] : state.offsets[d + 1]], minlength=2)
                for d in range(state.n_documents) if state.groups[d] == group
            ]  # fmt: skip
            weights[at] *= evidence(np.array(counts), variance)
    return assignments, weights / weights.sum()


def evidence(counts: np.ndarray, variance: float) -> float:
    """∫ p(z of a group | λ) p(λ) dλ over the coefficients of two topics, by Gauss and Hermite."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    a, b = np.meshgrid(np.exp(np.sqrt(variance) * nodes), np.exp(np.sqrt(variance) * nodes), indexing="ij")
    density = np.ones_like(a)
    for n in counts:
        density *= np.exp(betaln(a + n[0], b + n[1]) - betaln(a, b))
    return float(weights @ density @ weights) / (2 * np.pi)


def test_geweke() -> None:
    """λ, words and topics from the model; two sweeps and updates given the words change no mean."""
    topics, design = 6, np.array([[1.0, 0.0, 0.3], [1.0, 1.0, -1.2], [1.0, 1.0, 0.8]])
    variances = np.array([0.6, 0.5, 0.4])
    shape = regressed_state([[0] * n for n in (9, 0, 14, 3, 1, 20)], [0, 0, 1, 1, 1, 2], design, topics, 8)
    random, before, after, chances = np.random.default_rng(4), [], [], []
    for replicate in range(500):
        coefficients = random.normal(0, np.sqrt(variances), (topics, 3))
        shape.alpha = make_priors(design, coefficients)
        state = harness.draw_joint(random, shape)
        state.side = {"design": design, "coefficients": coefficients}
        method = harness.make_method("sparse", state, seed=replicate)
        method.start(random=True)
        set_coefficients(method, coefficients)
        update = make_update(variances, 0.9)
        before.append(figures(method.sync()))
        for step in range(2):
            method.sweep(step)
            chances.append(update(method, random_streams.stream_key(replicate, step))["acceptance"])
        after.append(figures(method.sync()))
    assert 0.3 < np.mean(chances) < 0.95
    difference = np.array(after) - np.array(before)
    t = difference.mean(axis=0) / (difference.std(axis=0, ddof=1) / np.sqrt(len(difference)))
    p = 2 * stats.t.sf(np.abs(t), len(difference) - 1)
    assert p.min() * len(p) > harness.LEVEL / FAMILY


def figures(state: State) -> np.ndarray:
    coefficients = state.side["coefficients"]
    tokens = np.bincount(state.z[9:26], minlength=6)
    own = [coefficients[0, 0], coefficients[1, 1], coefficients[:, 2].std(), (coefficients[:, 1] ** 2).sum()]
    together = [coefficients[:, 1] @ tokens, coefficients[:, 0] @ np.bincount(state.z, minlength=6)]
    return np.concatenate([harness.figures(state), own, together])


def planted(documents: int = 600, seed: int = 1) -> tuple[State, np.ndarray]:
    """Words of topics that do not overlap: their topics are soon known."""
    random, design = np.random.default_rng(seed), np.array([[1.0, 0.0], [1.0, 1.0]])
    coefficients = np.array([[-1.0, 1.2], [-0.5, -0.8], [-1.2, 0.0]])
    alpha = np.exp(design @ coefficients.T)
    groups = random.integers(0, 2, documents)
    docs = []
    for group in groups:
        z = random.choice(3, 40, p=random.dirichlet(alpha[group]))
        docs.append((4 * z + random.integers(0, 4, 40)).tolist())
    state = regressed_state(docs, groups.tolist(), design, 3, 12)
    state.z = (state.words // 4).astype(np.uint16)
    return state, coefficients


def run_updates(update: DrawCoefficients | FitCoefficients, state: State, sweeps: int) -> Method:
    method = harness.make_method("sparse", state, seed=2)
    method.start(random=True)
    for sweep in range(1, sweeps + 1):
        method.sweep(sweep)
        if update.due(sweep):
            update(method, random_streams.stream_key(5, sweep))
    return method


def test_planted_coefficients_are_fitted() -> None:
    state, coefficients = planted()
    update = FitCoefficients(10, 10, frozenset({"alpha", "beta"}), np.array([100.0, 0.5]))
    assert [sweep for sweep in range(45) if update.due(sweep)] == [20, 30, 40]
    method = run_updates(update, state, 40)
    assert np.abs(method.state.side["coefficients"] - coefficients).max() < 0.25
    assert np.allclose(method.state.alpha, make_priors(state.side["design"], state.side["coefficients"]), rtol=1e-6)
    assert np.all(method.state.beta != np.linspace(0.3, 0.8, 12))


def test_planted_coefficients_are_within_their_draws() -> None:
    state, coefficients = planted()
    update = DrawCoefficients(60, np.array([100.0, 0.5]))
    method = run_updates(update, state, 460)
    draws = method.state.side["coefficient_draws"].astype(float)
    assert draws.shape == (80, 3, 2)
    assert np.all(np.abs(draws.mean(axis=0) - coefficients) < 4 * draws.std(axis=0))
    assert np.all(draws.std(axis=0) < 0.3)
    again = DrawCoefficients(60, np.array([100.0, 0.5]))
    again.restore(update.arrays())
    assert (again.draws.sweeps, again.draws.interval, again.step) == (460, update.draws.interval, update.step)


def test_no_more_draws_are_kept_than_there_is_room_for() -> None:
    state, _ = planted(40)
    update = DrawCoefficients(0, np.array([100.0, 0.5]))
    method = run_updates(update, state, 1100)
    assert update.draws.interval == 20
    assert 50 <= len(method.state.side["coefficient_draws"]) <= 100
