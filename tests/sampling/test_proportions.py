"""π between sweeps: AGS and MGS leave its posterior as it is, alone and with the topics of the words; VEM's
derivatives, and its bound.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests import harness
from topicx.sampling import random_streams
from topicx.sampling.method import Method
from topicx.sampling.updates.group_proportions import (
    Auxiliary,
    Langevin,
    Proportions,
    Target,
    count_occupancy,
    draw_langevin,
)
from topicx.state import State
from topicx.variational import vem

KINDS = {"ags": Auxiliary, "mgs": Langevin}
FAMILY = 16
"""Tests of a distribution here: each is made at harness.LEVEL / FAMILY."""
GAMMA, ALPHA = 1.7, 0.6


def compound_state(docs: list[list[int]], groups: list[int], topics: int, words: int, scale: float = GAMMA) -> State:
    """Collections with uniform π."""
    collections = max(groups) + 1
    pi = np.full((collections, topics), 1 / topics)
    state = harness.make_state(docs, scale * pi, np.linspace(0.3, 0.8, words), groups=groups)
    state.side = {"pi": pi, "scale": np.array([scale])}
    return state


def set_pi(method: Method, pi: np.ndarray, random: np.random.Generator) -> None:
    """π as given; φ beside it from its conditional distribution: a gamma size and signs at random."""
    side = method.state.side
    side["pi"] = pi
    size = random.gamma(ALPHA * pi.shape[1], 1, (len(pi), 1))
    side["phi"] = size * pi * random.choice([-1.0, 1.0], pi.shape)
    method.set_priors(float(side["scale"][0]) * pi, method.state.beta)


def make_update(kind: str, collections: int) -> Proportions:
    update = KINDS[kind](ALPHA, 0)
    if isinstance(update, Langevin):
        update.step = np.full(collections, 0.9)  # in earnest: some proposals are refused
    return update


def grid_posterior(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p(π_1) of one collection with two topics by numerical integration: the middles of cells, and their masses."""
    from scipy.special import betaln

    edges = stats.beta(0.3, 0.3).ppf(np.linspace(0, 1, 20_001))
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    middle = np.clip(middle, 1e-12, 1 - 1e-12)
    log_p = (ALPHA - 1) * (np.log(middle) + np.log1p(-middle)) + np.log(np.maximum(width, 1e-300))
    for n in counts:
        log_p += betaln(GAMMA * middle + n[0], GAMMA * (1 - middle) + n[1])
        log_p -= betaln(GAMMA * middle, GAMMA * (1 - middle))
    p = np.exp(log_p - log_p.max())
    return middle, p / p.sum()


@pytest.mark.parametrize("kind", KINDS)
def test_the_posterior_of_pi_stays_as_it_is(kind: str) -> None:
    """Many collections with the same documents, each at an exact draw: one update makes exact draws of them again."""
    replicates, z = 6000, [[0, 0, 0, 1], [0], [1, 0, 0]]
    random = np.random.default_rng(5)
    docs = [[0] * len(topics) for topics in z] * replicates
    state = compound_state(docs, np.repeat(np.arange(replicates), len(z)).tolist(), 2, 1)
    state.z = np.tile(np.concatenate(z), replicates).astype(np.uint16)
    method = harness.make_method("dense", state)
    method.start(random=True)
    middle, p = grid_posterior(np.array([[3, 1], [1, 0], [2, 1]]))
    first = random.choice(middle, replicates, p=p)
    set_pi(method, np.stack([first, 1 - first], axis=1), random)
    update = make_update(kind, replicates)
    figures = update(method, 3)
    after = state.side["pi"][:, 0]
    assert np.mean(np.abs(after - first) > 1e-3) > 0.2
    if kind == "mgs":
        assert 0.2 < figures["acceptance"] < 0.95
    cdf = np.concatenate([[0], np.cumsum(p)])
    cells = np.interp(after, middle, cdf[1:])  # uniform, if the draws are exact
    observed = np.bincount(np.minimum((cells * 25).astype(int), 24), minlength=25)
    assert harness.chi_square_p(observed, np.full(25, replicates / 25)) > harness.LEVEL / FAMILY


@pytest.mark.parametrize(("kind", "sampler"), [("ags", "sparse"), ("mgs", "dense")])
def test_topics_and_proportions_together(kind: str, sampler: str) -> None:
    """Both agree with the posterior of z by enumeration, π integrated out numerically."""
    docs, groups, topics = [[0, 1], [1, 0], [1]], [0, 0, 1], 2
    state = compound_state(docs, groups, topics, 2)
    middle, _ = grid_posterior(np.zeros((0, 2), int))
    assignments, p = posterior_of_z(state, middle)
    method = harness.make_method(sampler, state, seed=3)
    method.start(random=True)
    set_pi(method, state.side["pi"], np.random.default_rng(1))
    update = make_update(kind, 2)
    samples, thin = 1200, 12
    observed = np.zeros(len(p), np.int64)
    code = {tuple(row): at for at, row in enumerate(assignments.tolist())}
    for step in range(samples * thin):
        method.sweep(step)
        update(method, random_streams.stream_key(7, step))
        if step % thin == thin - 1:
            observed[code[tuple(method.sync().z.tolist())]] += 1
    assert harness.chi_square_p(observed, samples * p) > harness.LEVEL / FAMILY


def posterior_of_z(state: State, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All z, and Σ over π of their probabilities."""
    plain = harness.make_state([[0]], [[1.0, 1.0]], [1.0])
    plain.words, plain.offsets, plain.beta = state.words, state.offsets, state.beta
    plain.alpha, plain.groups, plain.z = np.full((1, 2), 1e12), np.zeros(0, np.uint32), state.z
    assignments, words = harness.enumerate_posterior(plain)  # α so large that documents say nothing
    weights = np.zeros(len(words))
    for at, z in enumerate(assignments):
        mass = 1.0
        for group in range(2):
            counts = [
                np.bincount(z[state.offsets[d] : state.offsets[d + 1]], minlength=2)
                for d in range(state.n_documents) if state.groups[d] == group
            ]  # fmt: skip
            mass *= evidence(np.array(counts))
        weights[at] = words[at] * mass
    return assignments, weights / weights.sum()


def evidence(counts: np.ndarray) -> float:
    """∫ p(z of a collection | π) p(π) dπ."""
    from scipy.integrate import quad
    from scipy.special import betaln

    def density(x: float) -> float:
        log_p = (ALPHA - 1) * (np.log(x) + np.log1p(-x)) - betaln(ALPHA, ALPHA)
        for n in counts:
            log_p += betaln(GAMMA * x + n[0], GAMMA * (1 - x) + n[1]) - betaln(GAMMA * x, GAMMA * (1 - x))
        return float(np.exp(log_p))

    return quad(density, 0, 0.5, limit=200)[0] + quad(density, 0.5, 1, limit=200)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_geweke(kind: str) -> None:
    """Words, topics and π from the model; two sweeps and updates given the words change no mean."""
    shape = compound_state([[0] * n for n in (9, 0, 14, 3, 1, 20)], [0, 0, 1, 1, 1, 2], 6, 8)
    random, before, after = np.random.default_rng(4), [], []
    for replicate in range(500):
        shape.side = {"pi": random.dirichlet(np.full(6, ALPHA), 3), "scale": np.array([GAMMA])}
        shape.side["pi"] = np.maximum(shape.side["pi"], 1e-30)
        shape.alpha = GAMMA * shape.side["pi"]
        state = harness.draw_joint(random, shape)
        state.side = {name: array.copy() for name, array in shape.side.items()}
        method = harness.make_method("sparse", state, seed=replicate)
        method.start(random=True)
        set_pi(method, state.side["pi"], random)
        update = make_update(kind, 3)
        before.append(figures(state))
        for step in range(2):
            method.sweep(step)
            update(method, random_streams.stream_key(replicate, step))
        after.append(figures(method.sync()))
    difference = np.array(after) - np.array(before)
    t = difference.mean(axis=0) / (difference.std(axis=0, ddof=1) / np.sqrt(len(difference)))
    p = 2 * stats.t.sf(np.abs(t), len(difference) - 1)
    assert p.min() * len(p) > harness.LEVEL / FAMILY


def figures(state: State) -> np.ndarray:
    pi = state.side["pi"]
    totals = np.array([np.bincount(state.z, minlength=6)[0], pi[0, 0], pi[1, 0], (pi[2] ** 2).sum()])
    together = [pi[1] @ np.bincount(state.z[9:26], minlength=6), np.log(np.maximum(pi[2], 1e-12)).mean()]
    return np.concatenate([harness.figures(state), totals, together])


def random_target() -> tuple[Target, np.ndarray]:
    random = np.random.default_rng(6)
    z = random.integers(0, 5, 60).tolist()
    state = compound_state([[0] * 6] * 10, [0] * 5 + [1] * 5, 5, 1)
    state.z = np.array(z, np.uint16)
    method = harness.make_method("dense", state)
    method.start(random=True)
    phi = random.gamma(1, 1, (2, 5)) * random.choice([-1.0, 1.0], (2, 5))
    return Target(count_occupancy(method), 2.3, 0.4), phi


def test_the_langevin_gradient_is_the_derivative() -> None:
    target, phi = random_target()
    gradient = target.gradient(phi)
    for j, k in np.ndindex(*phi.shape):
        step = np.zeros_like(phi)
        step[j, k] = 1e-6
        difference = (target.log_density(phi + step) - target.log_density(phi - step))[j] / 2e-6
        assert gradient[j, k] == pytest.approx(difference, rel=1e-5, abs=1e-6)
    epsilon = np.array([0.3, 0.7])
    size = np.abs(phi)
    expected = phi + epsilon[:, None] ** 2 / 2 * (size * gradient + np.sign(phi))  # eq. 37
    assert np.allclose(target.drift(phi, epsilon), expected)


def test_steps_adapt_to_the_acceptances_wanted() -> None:
    target, phi = random_target()
    random, step = np.random.default_rng(1), np.array([5.0, 0.01])
    for t in range(1, 400):
        phi, chance = draw_langevin(target, phi, step, random)
        step = step * np.exp((chance - 0.574) * min(0.5, 10 / (t + 10)))
    accepted = []
    for _ in range(400):
        phi, chance = draw_langevin(target, phi, step, random)
        accepted.append(chance)
    assert np.all(np.abs(np.mean(accepted, axis=0) - 0.574) < 0.1)


# -- VEM ------------------------------------------------------------


def derivative(f: object, x: float, step: float = 1e-5) -> float:
    return float((f(x + step) - f(x - step)) / (2 * step))  # type: ignore[operator]


def test_every_derivative_of_appendix_e() -> None:
    random = np.random.default_rng(2)
    omega, a = random.dirichlet(np.full(4, 2.0)), 7.0
    known = vem.Collection(9, random.normal(-9, 3, 4), 1.4, 0.6)
    for k in range(4):
        at = np.eye(4)[k]
        slope = derivative(lambda t: known.of_omega(omega + t * at, a), 0.0)  # noqa: B023
        assert known.omega_slope(omega, a)[k] == pytest.approx(slope, rel=1e-6)
        bend = derivative(lambda t: known.omega_slope(omega + t * at, a)[k], 0.0)  # noqa: B023
        assert known.omega_curvature(omega, a)[k] == pytest.approx(bend, rel=1e-6)
    slope = derivative(lambda x: known.of_precision(omega, x), a)
    assert known.precision_slope(omega, a) == pytest.approx(slope, rel=1e-6)
    bend = derivative(lambda x: known.precision_slope(omega, x), a)
    assert known.precision_curvature(omega, a) == pytest.approx(bend, rel=1e-6)
    omegas, documents = random.dirichlet(np.full(4, 2.0), 3), np.array([4, 0, 9])
    scale = vem.Scale(documents, random.normal(-9, 3, (3, 4)), random.normal(20, 3, 3), omegas, np.array([3.0, 2, 8]))
    concentration = vem.Concentration(3, 4, -17.0)
    for bound in (scale, concentration):
        assert bound.slope(1.3) == pytest.approx(derivative(bound.value, 1.3), rel=1e-6)
        assert bound.curvature(1.3) == pytest.approx(derivative(bound.slope, 1.3), rel=1e-6)


def test_terms_are_those_of_the_whole_bound() -> None:
    """What Newton's steps climb differs from the bound of eq. 63 by what does not depend on the variable."""
    from scipy.special import gammaln, psi

    random = np.random.default_rng(3)
    rho, c = random.gamma(3, 1, (6, 4)), 0.7

    def whole(omega: np.ndarray, a: float, g: float, c: float = c) -> float:
        elog = psi(rho) - psi(rho.sum(axis=1, keepdims=True))
        document = 6 * (gammaln(g) - gammaln(g * omega).sum()) + ((g * omega - 1) * elog).sum()
        return float(document) + vem.bound_of_collection(6, omega, a, g, c)

    digammas, sums = psi(rho).sum(axis=0), psi(rho.sum(axis=1)).sum()
    omega, other = random.dirichlet(np.full(4, 3.0), 2)
    known = vem.Collection(6, digammas, 1.9, c)
    assert known.of_omega(other, 5) - known.of_omega(omega, 5) == pytest.approx(
        whole(other, 5, 1.9) - whole(omega, 5, 1.9)
    )
    assert known.of_precision(omega, 8) - known.of_precision(omega, 5) == pytest.approx(
        whole(omega, 8, 1.9) - whole(omega, 5, 1.9)
    )
    scale = vem.Scale(np.array([6]), digammas[None], np.array([sums]), omega[None], np.array([5.0]))
    assert scale.value(2.5) - scale.value(0.4) == pytest.approx(whole(omega, 5, 2.5) - whole(omega, 5, 0.4))
    elog = float(np.sum(psi(5 * omega) - psi(5)))
    concentration = vem.Concentration(1, 4, elog)
    assert concentration.value(2.0) - concentration.value(0.3) == pytest.approx(
        whole(omega, 5, 1.9, 2.0) - whole(omega, 5, 1.9, 0.3)
    )


def test_the_bound_on_expected_log_gammas() -> None:
    """Eq. 65 against Monte Carlo."""
    from scipy.special import gammaln, psi

    random = np.random.default_rng(8)
    for tau, scale in (([0.4, 3.0], 0.3), ([5.0, 2.0], 4.0), ([0.7, 0.9], 12.0)):
        draws = random.dirichlet(tau, 200_000)[:, 0]
        mean, a = tau[0] / sum(tau), sum(tau)
        bound = gammaln(scale * mean) + scale / a * (1 - mean)
        bound += (1 - scale * mean) * (np.log(mean) + psi(a) - psi(tau[0]))
        assert gammaln(scale * np.maximum(draws, 1e-300)).mean() < bound + 0.01
