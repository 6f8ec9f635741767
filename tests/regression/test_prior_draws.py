"""λ is drawn from its posterior: derivatives by finite differences, distributions by quadrature and by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import stats
from scipy.special import gammaln

from topicx.engines.threads import Threads
from topicx.predict.topic_rows import FixedTopics
from topicx.regression.drawn_priors import SIGMA_LEVEL, LogLinearPrior
from topicx.regression.prior_draws import PoissonRegression, draw_coefficients
from topicx.regression.topic_chain import TopicChain, document_streams


def small_regression(topics: int = 3) -> PoissonRegression:
    rng = np.random.Generator(np.random.Philox(1))
    rows = np.column_stack([np.ones(4), rng.normal(size=4)])
    tables = np.tile(rng.poisson(3, (4, 1)).astype(float), (1, topics))
    return PoissonRegression(rows, np.full(topics, -0.5), tables, rng.uniform(1, 4, (4, 1)), np.array([9.0, 1.0]))


def test_derivatives() -> None:
    regression = small_regression()
    at = np.random.Generator(np.random.Philox(2)).normal(size=(3, 2))
    gradient, curvature = regression.gradient(at), regression.curvature(at)
    for j in range(2):
        step = np.zeros((3, 2))
        step[:, j] = 1e-5
        rise = (regression.value(at + step) - regression.value(at - step)) / 2e-5
        np.testing.assert_allclose(gradient[:, j], rise, rtol=1e-7)
        bend = (regression.gradient(at + step) - regression.gradient(at - step)) / 2e-5
        np.testing.assert_allclose(-curvature[:, :, j], bend, rtol=1e-6)
    mode, _ = regression.mode(at)
    np.testing.assert_allclose(regression.gradient(mode), 0, atol=1e-6)


def test_draws_have_the_posterior() -> None:
    """1,500 topics of the same counts are as many chains; the slope against quadrature (Kolmogorov and Smirnov)."""
    regression = small_regression(1500)
    random = np.random.Generator(np.random.Philox(3))
    coefficients = np.zeros((1500, 2))
    shares = []
    for _ in range(12):
        coefficients, share = draw_coefficients(regression, coefficients, random)
        shares.append(share)
    assert np.mean(shares) > 0.8
    level, slope = np.linspace(-6, 4, 401), np.linspace(-5, 5, 401)
    logs = -0.5 + level[:, None, None] * regression.rows[:, 0] + slope[None, :, None] * regression.rows[:, 1]
    value = (regression.tables[:, 0] * logs - regression.exposures[:, 0] * np.exp(logs)).sum(axis=2)
    value -= level[:, None] ** 2 / 18 + slope**2 / 2
    density = np.exp(value - value.max()).sum(axis=0)
    edges = np.concatenate([[0], np.cumsum(density)]) / density.sum()
    p = stats.kstest(coefficients[:, 1], lambda x: np.interp(x, np.append(slope, 5.025) - 0.0125, edges)).pvalue
    assert p > 1e-3


def test_the_chain_has_the_joint_posterior() -> None:
    """Topics of five words in three documents, λ integrated out by quadrature, against the chain's frequencies."""
    phi = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    words, offsets = np.array([0, 1, 2, 1, 2], np.uint32), np.array([0, 2, 4, 5], np.int64)
    fixed = FixedTopics(phi, np.array([0.5, 1.0]))
    prior = LogLinearPrior(np.ones((1, 1)), np.log([0.5, 1.0]))
    chain = TopicChain(fixed, words, offsets, prior, np.zeros(3, np.uint32), Threads(1), 7)
    grid = np.linspace(-5 * SIGMA_LEVEL, 5 * SIGMA_LEVEL, 241)
    prior = np.exp(-(grid**2) / (2 * SIGMA_LEVEL**2))
    alpha = np.exp(np.log([0.5, 1.0])[:, None] + grid)
    first, second = alpha[0][:, None], alpha[1][None, :]
    exact = []
    for z in product((0, 1), repeat=5):
        value = np.log(prior)[:, None] + np.log(prior)[None, :]
        for begin, end in zip(offsets[:-1], offsets[1:]):
            ones = sum(z[begin:end])
            n = (end - begin - ones, ones)
            total = first + second
            value = value + gammaln(total) - gammaln(total + end - begin)
            value = value + gammaln(first + n[0]) - gammaln(first) + gammaln(second + n[1]) - gammaln(second)
        weight = np.prod([phi[k, w] for k, w in zip(z, words)])
        exact.append(weight * np.exp(value).sum())
    seen = np.zeros(32)
    for step in range(9_000):
        chain.step()
        if step >= 100 and step % 4 == 0:
            seen[int("".join(map(str, chain.z)), 2)] += 1
    p = stats.chisquare(seen, np.array(exact) / np.sum(exact) * seen.sum()).pvalue
    assert p > 1e-3


def test_equal_documents_have_streams_of_their_own() -> None:
    streams = document_streams(5, 1000)
    assert len(np.unique(streams)) == 1000
    assert document_streams(5, 10).tolist() == streams[:10].tolist()


def test_threads_change_nothing() -> None:
    rng = np.random.Generator(np.random.Philox(4))
    phi = rng.dirichlet(np.ones(50), 4)
    words, offsets = rng.integers(0, 50, 3000).astype(np.uint32), np.arange(0, 3001, 10)
    found = []
    for threads in (1, 3):
        chain = TopicChain(
            FixedTopics(phi, np.full(4, 0.3)), words, offsets,
            LogLinearPrior(np.array([[1, -1], [1, 1.0]]), np.log(np.full(4, 0.3))),
            np.arange(300).astype(np.uint32) % 2, Threads(threads), 3,
        )  # fmt: skip
        chain.batches = [(0, 100), (100, 180), (180, 300)]
        *_, last = chain.run(5, 2, 2)
        found.append((chain.z.copy(), last.alpha))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_the_prior_is_drawn_as_often_as_it_is_asked_for() -> None:
    rng = np.random.Generator(np.random.Philox(5))
    phi = rng.dirichlet(np.ones(20), 3)
    words, offsets = rng.integers(0, 20, 200).astype(np.uint32), np.arange(0, 201, 10)
    prior = LogLinearPrior(np.ones((1, 1)), np.zeros(3))
    chain = TopicChain(
        FixedTopics(phi, np.ones(3)), words, offsets, prior, np.zeros(20, np.uint32), Threads(1), 1, every=3
    )  # fmt: skip
    drawn = []
    for _ in range(9):
        before = prior.coefficients.copy()
        chain.step()
        drawn.append(not np.array_equal(before, prior.coefficients))
    assert drawn == [False, False, True] * 3 and len(chain.accepted) == 3
