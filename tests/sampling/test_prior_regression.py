"""Dirichlet-multinomial regression: its derivatives, the most probable coefficients, and draws of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import betaln

from tests import harness
from tests.twins import regression as twin
from topicx.engines.threads import Threads
from topicx.sampling.updates import prior_regression
from topicx.sampling.updates.prior_fixed_points import CountedDocuments, learn_alpha
from topicx.sampling.updates.prior_regression import GroupCounts, Regression
from topicx.state import Csr

FAMILY = 4
"""Tests of a distribution here: each is made at harness.LEVEL / FAMILY."""


def sparse(n: np.ndarray) -> Csr:
    """Documents × topics as row offsets, topics and counts."""
    rows, topics = np.nonzero(n)
    indptr = np.append(0, np.cumsum(np.bincount(rows, minlength=len(n))))
    return indptr.astype(np.int64), topics.astype(np.uint16), n[rows, topics].astype(np.int64)


def make_counts(
    documents: int, groups: int, topics: int, terms: int, seed: int, length: float = 12
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Counts drawn from the model: n, the documents' groups, the groups' rows, and λ. Two documents are empty."""
    random = np.random.default_rng(seed)
    design = np.column_stack([np.ones(groups), random.normal(size=(groups, terms - 1))])
    design[random.random(design.shape) < 0.2] = 0.0
    design[:, 0] = 1.0
    coefficients = random.normal(0, 0.6, (topics, terms)) - np.eye(terms)[0]
    of = random.integers(0, groups, documents)
    lengths = random.poisson(length, documents)
    lengths[:2] = 0
    n = np.array([
        random.multinomial(size, random.dirichlet(np.exp(coefficients @ design[group])))
        for size, group in zip(lengths, of, strict=True)
    ])  # fmt: skip
    return n, of, design, coefficients


def make_regression(
    n: np.ndarray, of: np.ndarray, design: np.ndarray, variances: np.ndarray, threads: int = 1
) -> Regression:
    counts = GroupCounts.of_documents(sparse(n), of.astype(np.uint32), (len(design), n.shape[1]))
    return Regression(np.ascontiguousarray(design), counts, variances, Threads(threads))


@pytest.mark.parametrize(("documents", "groups"), [(60, 5), (300, 150), (3000, 3000)])
def test_histograms_hold_every_count(documents: int, groups: int) -> None:
    """Few groups are counted by cells, many by entries: both hold the same counts."""
    n, of, *_ = make_counts(documents, groups, 7, 2, seed=3, length=4)
    counts = GroupCounts.of_documents(sparse(n), of.astype(np.uint32), (groups, 7))
    found: dict[tuple[int, int, int], int] = {}
    for group in range(groups):
        for e in range(counts.starts[group], counts.starts[group + 1]):
            key = group, int(counts.topics[e]), int(counts.counts[e])
            found[key] = found.get(key, 0) + int(counts.times[e])
        own = slice(counts.length_starts[group], counts.length_starts[group + 1])
        lengths, times = np.unique(n[of == group].sum(axis=1), return_counts=True)
        known = lengths > 0
        assert counts.lengths[own].tolist() == lengths[known].tolist()
        assert counts.length_times[own].tolist() == times[known].tolist()
    wanted: dict[tuple[int, int, int], int] = {}
    for d, k in zip(*np.nonzero(n), strict=True):
        key = int(of[d]), int(k), int(n[d, k])
        wanted[key] = wanted.get(key, 0) + 1
    assert found == wanted


@pytest.mark.parametrize(("documents", "groups", "topics"), [(40, 4, 3), (500, 500, 21)])
def test_value_gradient_and_curvature_are_the_twins(documents: int, groups: int, topics: int) -> None:
    n, of, design, _ = make_counts(documents, groups, topics, 3, seed=4)
    variances = np.array([100.0, 0.5, 0.3])
    at = np.random.default_rng(5).normal(-0.5, 0.7, (topics, 3))
    point = make_regression(n, of, design, variances).at(at, curved=True)
    assert point.value == pytest.approx(twin.log_posterior(n, design[of], at, variances), rel=1e-10)
    assert np.allclose(point.gradient, twin.gradient(n, design[of], at, variances), rtol=1e-9, atol=1e-9)
    whole = point.lower @ point.lower.transpose(0, 2, 1)
    wanted = twin.curvature(n, design[of], of, at) + np.diag(1 / variances)
    assert np.allclose(whole, wanted, rtol=1e-8, atol=1e-8)


def test_the_gradient_is_the_derivative() -> None:
    n, of, design, _ = make_counts(50, 6, 4, 3, seed=6)
    regression = make_regression(n, of, design, np.array([100.0, 0.5, 0.5]))
    at = np.random.default_rng(7).normal(-0.5, 0.7, (4, 3))
    gradient = regression.at(at).gradient
    for index in np.ndindex(*at.shape):
        step = np.zeros_like(at)
        step[index] = 1e-5
        slope = (regression.at(at + step).value - regression.at(at - step).value) / 2e-5
        assert gradient[index] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_the_curvature_is_the_mean_of_second_derivatives() -> None:
    """Over all counts that documents of six tokens can have, each as often as the model says, the curvature is the
    negative second derivative: that of finite differences of the gradient."""
    coefficients, x = np.array([[0.2, -0.4], [-0.3, 0.5]]), np.array([[1.0, 0.7]])
    a, b = np.exp(coefficients @ x[0])
    c = np.arange(7)
    p = stats.betabinom(6, a, b).pmf(c)
    times = np.rint(p * 1e9).astype(np.int64)
    entries = [(k, m if k == 0 else 6 - m, t) for k in (0, 1) for m, t in zip(c, times, strict=True)]
    topics, counts, often = (np.array(column) for column in zip(*[e for e in entries if e[1] > 0], strict=True))
    whole = np.array([0, len(topics)])
    histogram = GroupCounts(
        whole, topics.astype(np.uint16), counts.astype(np.int64), often.astype(np.int64), np.array([0, 1]),
        np.array([6]), np.array([times.sum()]),
    )  # fmt: skip
    regression = Regression(x, histogram, np.array([1.0, 1.0]), Threads(1))
    point = regression.at(coefficients, curved=True)
    whole_curvature = point.lower @ point.lower.transpose(0, 2, 1)
    for k, j in np.ndindex(2, 2):
        step = np.zeros((2, 2))
        step[k, j] = 1e-5
        bend = (regression.at(coefficients + step).gradient - regression.at(coefficients - step).gradient)[k] / 2e-5
        assert -bend == pytest.approx(whole_curvature[k, j], rel=1e-5)


@pytest.mark.parametrize(("documents", "groups", "scale"), [(400, 6, 1.0), (400, 400, 1.0), (400, 30, 1e3)])
def test_the_fit_is_the_top(documents: int, groups: int, scale: float) -> None:
    """As high as SciPy's optimiser climbs, from far away, whatever the scale of a column."""
    n, of, design, _ = make_counts(documents, groups, 5, 3, seed=8)
    design[:, 2] *= scale
    variances = np.array([100.0, 0.5, 0.5 / scale**2])
    regression = make_regression(n, of, design, variances)
    start = np.zeros((5, 3))
    start[:, 0] = np.log(0.1)
    found = prior_regression.fit_coefficients(regression, start)
    unit = np.array([1, 1, 1 / scale])
    peer = optimize.minimize(
        lambda x: -twin.log_posterior(n, design[of], x.reshape(5, 3) * unit, variances), start.ravel(),
        jac=lambda x: -(twin.gradient(n, design[of], x.reshape(5, 3) * unit, variances) * unit).ravel(),
        method="BFGS", options={"gtol": 1e-6},
    )  # fmt: skip
    assert np.allclose(found / unit, peer.x.reshape(5, 3), atol=2e-3)
    assert regression.at(found).value == pytest.approx(-peer.fun, abs=1e-4)


def test_one_group_is_the_fixed_point_of_alpha() -> None:
    """An intercept alone, held by nothing: the best Dirichlet, as Minka's iteration finds it."""
    n, of, design, _ = make_counts(800, 1, 6, 1, seed=9)
    regression = make_regression(n, of, design, np.array([1e12]))
    found = np.exp(prior_regression.fit_coefficients(regression, np.full((6, 1), np.log(0.1)))[:, 0])
    statistics = CountedDocuments(sparse(n), np.zeros(0, np.uint32), (1, 6))
    statistics.rounds = 2000
    assert np.allclose(found, learn_alpha(statistics, np.full((1, 6), 0.1), False)[0], rtol=1e-2)


def test_planted_coefficients_are_found() -> None:
    n, of, design, coefficients = make_counts(6000, 40, 5, 3, seed=10, length=60)
    regression = make_regression(n, of, design, np.array([100.0, 0.5, 0.5]))
    found = prior_regression.fit_coefficients(regression, np.full((5, 3), -1.0))
    assert np.abs(found - coefficients).max() < 0.12


def test_threads_and_order_change_no_bit() -> None:
    n, of, design, _ = make_counts(3000, 700, 20, 4, seed=11)
    results = []
    for threads in (1, 2, 5):
        regression = make_regression(n, of, design, np.full(4, 0.5), threads)
        fitted = prior_regression.fit_coefficients(regression, np.full((20, 4), -0.5))
        drawn, chance = prior_regression.draw_coefficients(regression, fitted, 0.5, np.random.default_rng(1))
        results.append((fitted.tobytes(), drawn.tobytes(), chance))
    assert results[0] == results[1] == results[2]


def test_priors_are_the_exponentials() -> None:
    random = np.random.default_rng(12)
    design, coefficients = random.normal(size=(9, 4)), random.normal(size=(17, 4))
    found = prior_regression.make_priors(design, coefficients)
    assert np.allclose(found, np.exp(design @ coefficients.T), rtol=1e-13)
    far = prior_regression.make_priors(np.array([[1.0]]), np.array([[1e4], [-1e4]]))
    assert far[0] == pytest.approx([np.exp(60), np.exp(-60)])  # numbers stay numbers


def test_terms_have_the_variances_of_mallet() -> None:
    assert prior_regression.term_variances(np.array([True, False])) == pytest.approx([100, 0.5])


def grid_posterior(n: np.ndarray, variance: float) -> tuple[np.ndarray, np.ndarray]:
    """p(λ) of two topics with an intercept alone, on a grid: the cells' middles along an axis, and their masses."""
    middle = np.linspace(-6, 6, 361)
    first, second = np.meshgrid(middle, middle, indexing="ij")
    a, b = np.exp(first), np.exp(second)
    log_p = -(first**2 + second**2) / (2 * variance)
    for row in n:
        log_p += betaln(a + row[0], b + row[1]) - betaln(a, b)
    p = np.exp(log_p - log_p.max())
    return middle, p / p.sum()


def test_draws_leave_the_posterior_as_it_is() -> None:
    """Exact draws of λ, a Langevin step from each: exact draws again."""
    n, variance, replicates = np.array([[3, 1], [0, 5], [2, 2], [4, 0]]), 1.3, 4000
    middle, p = grid_posterior(n, variance)
    random = np.random.default_rng(13)
    regression = make_regression(n, np.zeros(4, int), np.ones((1, 1)), np.array([variance]))
    width = middle[1] - middle[0]
    at = random.choice(p.size, replicates, p=p.ravel())
    first = np.stack([middle[at // len(middle)], middle[at % len(middle)]], axis=1)
    first = first + random.uniform(-width / 2, width / 2, first.shape)
    after, chances = np.empty_like(first), np.empty(replicates)
    for i, start in enumerate(first):
        drawn, chances[i] = prior_regression.draw_coefficients(regression, start[:, None], 1.1, random)
        after[i] = drawn[:, 0]
    assert 0.3 < chances.mean() < 0.97
    assert np.mean(np.any(after != first, axis=1)) > 0.3
    for axis in (0, 1):
        cdf = np.cumsum(p.sum(axis=1 - axis))
        places = np.interp(after[:, axis], middle + width / 2, cdf)
        observed = np.bincount(np.minimum((places * 25).astype(int), 24), minlength=25)
        assert harness.chi_square_p(observed, np.full(25, replicates / 25)) > harness.LEVEL / FAMILY


def test_a_chain_of_draws_is_the_posterior() -> None:
    """Several topics and terms, against a fine importance sample: means and variances of a chain's draws."""
    n, of, design, _ = make_counts(60, 8, 3, 2, seed=14)
    variances = np.array([1.0, 0.5])
    regression = make_regression(n, of, design, variances)
    top = prior_regression.fit_coefficients(regression, np.zeros((3, 2)))
    hessian = np.zeros((6, 6))
    for i in range(6):
        step = np.zeros(6)
        step[i] = 1e-4
        step = step.reshape(3, 2)
        hessian[i] = -(regression.at(top + step).gradient - regression.at(top - step).gradient).ravel() / 2e-4
    random = np.random.default_rng(15)
    proposal = stats.multivariate_t(top.ravel(), np.linalg.inv((hessian + hessian.T) / 2), df=6, seed=random)
    drawn = proposal.rvs(20_000)
    log_w = np.array([regression.at(row.reshape(3, 2)).value for row in drawn]) - proposal.logpdf(drawn)
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    assert 1 / np.sum(w**2) > 5000
    mean = w @ drawn
    spread = np.sqrt(w @ (drawn - mean) ** 2)
    at, step, kept = top, 0.5, []
    for sweep in range(1, 10_001):
        at, chance = prior_regression.draw_coefficients(regression, at, step, random)
        if sweep <= 1000:
            step = prior_regression.adapted_step(step, chance, sweep)
        else:
            kept.append(at.ravel())
    batches = np.array(kept).reshape(30, 300, 6).mean(axis=1)  # means of batches are about independent
    error = batches.std(axis=0, ddof=1) / np.sqrt(30) + spread / np.sqrt(5000)
    t = (batches.mean(axis=0) - mean) / error
    assert 2 * stats.t.sf(np.abs(t), 29).min() * 6 > harness.LEVEL / FAMILY
    assert np.allclose(np.array(kept).std(axis=0), spread, rtol=0.1)


def test_steps_adapt_to_the_acceptances_wanted() -> None:
    n, of, design, _ = make_counts(100, 10, 6, 3, seed=16)
    regression = make_regression(n, of, design, np.full(3, 0.5))
    at, random = prior_regression.fit_coefficients(regression, np.zeros((6, 3))), np.random.default_rng(17)
    for step in (8.0, 0.02):
        chances = []
        for sweep in range(1, 700):
            at, chance = prior_regression.draw_coefficients(regression, at, step, random)
            if sweep < 400:
                step = prior_regression.adapted_step(step, chance, sweep)
            else:
                chances.append(chance)
        assert abs(np.mean(chances) - prior_regression.TARGET) < 0.12
