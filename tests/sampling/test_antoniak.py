"""The number of tables, exactly; what counts say of a group's topic weights; Dirichlet draws of any shape."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from tests import harness
from tests.twins import antoniak as twin
from topicx.engines.threads import Threads
from topicx.sampling.updates.table_counts import Occupancy, draw_dirichlet, draw_gamma, log_betas

CASES = [
    (1, 0.3), (2, 0.05), (5, 1.0), (40, 0.01), (40, 3.0), (40, 15.9), (40, 16.1), (100, 40.0), (70, 900.0),
    (300, 1e7), (5000, 0.2), (3000, 25.0), (60, 1e-9),
]  # fmt: skip


def occupancy(counts: np.ndarray, groups: list[int] | None = None, rows: int = 1) -> Occupancy:
    """Of a dense matrix of counts."""
    full = [np.flatnonzero(row) for row in counts]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in full])]).astype(np.int64)
    csr = indptr, np.concatenate(full).astype(np.uint16), counts[counts > 0].astype(np.int64)
    return Occupancy(csr, np.array(groups or [], np.uint32), (rows, counts.shape[1]))


@pytest.mark.parametrize(("n", "a"), CASES)
def test_the_draw_has_the_exact_distribution(n: int, a: float) -> None:
    draws = 20_000
    with Threads(1) as engine:
        found = occupancy(np.full((draws, 1), n)).each(np.array([[a]]), 17, engine)
    exact = twin.distribution(n, a)
    assert exact[1:].sum() == pytest.approx(1) and exact[0] == 0
    observed = np.bincount(found, minlength=n + 1)
    assert len(observed) == n + 1
    assert harness.chi_square_p(observed, draws * exact) > harness.LEVEL / len(CASES)


def test_the_distribution_is_that_of_stirling_numbers() -> None:
    """The twin against S(5, m) = 24, 50, 35, 10, 1."""
    a = 0.7
    weights = np.array([24, 50, 35, 10, 1]) * a ** np.arange(1, 6)
    assert np.allclose(twin.distribution(5, a)[1:], weights / weights.sum())
    random = np.random.default_rng(1)
    sample = np.bincount([twin.bernoulli(5, a, random) for _ in range(4000)], minlength=6)
    assert harness.chi_square_p(sample, 4000 * twin.distribution(5, a)) > harness.LEVEL


def test_tables_add_up_by_group_and_topic_whatever_the_threads() -> None:
    random = np.random.default_rng(2)
    counts = random.poisson(1.5, (300, 7)) * (random.random((300, 7)) < 0.5)
    groups = random.integers(0, 3, 300).tolist()
    cells = occupancy(counts, groups, 3)
    a = random.gamma(1, 1, (3, 7))
    with Threads(1) as one, Threads(3) as three:
        sums, each = cells.tables(a, 5, one), cells.each(a, 5, one)
        assert np.array_equal(sums, cells.tables(a, 5, three))
        assert not np.array_equal(sums, cells.tables(a, 6, one))
    rows, topics = np.nonzero(counts)
    expected = np.zeros((3, 7), int)
    np.add.at(expected, (np.array(groups)[rows], topics), each)
    assert np.array_equal(sums, expected)
    assert np.all(each >= 1) and np.all(each <= counts[rows, topics])


def test_log_rising_factorials_and_their_derivative() -> None:
    random = np.random.default_rng(3)
    counts, groups = random.poisson(4, (50, 6)), random.integers(0, 2, 50)
    cells = occupancy(counts, groups.tolist(), 2)
    a = random.gamma(1, 1, (2, 6))
    terms = special.gammaln(a[groups] + counts) - special.gammaln(a[groups])
    direct = np.stack([terms[groups == g].sum(axis=0) for g in range(2)])
    assert np.allclose(cells.log_rising(a), direct, rtol=1e-12)
    step = 1e-6
    difference = (cells.log_rising(a + step) - cells.log_rising(a - step)) / (2 * step)
    assert np.allclose(cells.gain(a), difference, rtol=1e-6)


def test_dirichlet_draws_of_any_shape() -> None:
    shapes = np.tile([0.02, 3.0, 0.5], (4000, 1))
    drawn = draw_dirichlet(shapes, 9)
    assert np.all(drawn > 0) and np.allclose(drawn.sum(axis=1), 1)
    total = shapes[0].sum()
    p = [stats.kstest(drawn[:, k], stats.beta(shapes[0, k], total - shapes[0, k]).cdf).pvalue for k in (1, 2)]
    assert min(p) > harness.LEVEL / 4
    # of the smallest share only what is above the floor of 1e-30
    above = np.mean(drawn[:, 0] > 1e-20)
    expected = stats.beta(shapes[0, 0], total - shapes[0, 0]).sf(1e-20)
    assert stats.binomtest(int(above * 4000), 4000, expected).pvalue > harness.LEVEL / 4
    tiny = draw_dirichlet(np.full((5, 4), 1e-5), 1)
    assert np.allclose(tiny.max(axis=1), 1) and tiny.min() == 1e-30


def test_gamma_and_beta_variates() -> None:
    drawn = [draw_gamma(2.5, 4.0, key) for key in range(2000)]
    assert stats.kstest(drawn, stats.gamma(2.5, scale=1 / 4).cdf).pvalue > harness.LEVEL / 2
    logs = log_betas(np.full(2000, 1.5), np.full(2000, 30.0), 4)
    assert stats.kstest(np.exp(logs), stats.beta(1.5, 30).cdf).pvalue > harness.LEVEL / 2


def test_counts_of_rows_are_those_of_bincount() -> None:
    """Short rows, long ones, empty ones, tokens that are not placed, several batches."""
    from topicx.state import NONE, document_topics

    random = np.random.default_rng(7)
    lengths = np.concatenate([random.integers(0, 9, 200), [0, 400, 900_000, 300_000, 1], [0]])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    z = random.integers(0, 90, offsets[-1]).astype(np.uint16)
    z[random.random(len(z)) < 0.1] = NONE
    indptr, topics, counts = document_topics(z, offsets, 90)
    for d in range(len(lengths)):
        row = z[offsets[d] : offsets[d + 1]]
        expected = np.bincount(row[row != NONE], minlength=90)
        part = slice(indptr[d], indptr[d + 1])
        assert np.array_equal(topics[part], np.flatnonzero(expected))
        assert np.array_equal(counts[part], expected[expected > 0])
