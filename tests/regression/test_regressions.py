"""The regressions' arithmetic is statsmodels' (a stored table), and the sums by cell are those of documents."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from tests.regression.expected_regressions import KINDS, PLACE, data
from topicx.regression import cell_sums
from topicx.regression.cell_sums import Cells, Sums
from topicx.regression.crossed_sums import crossed, factored, orthogonalised, solved
from topicx.regression.pooling import adjusted_p_values, pool_draws, wald_tests
from topicx.regression.regressions import Basis, Regressions

EXPECTED = json.loads(PLACE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", KINDS)
def test_statsmodels_arithmetic(kind: str) -> None:
    design, shares, weights, clusters = data()
    model, errors = kind.split()
    weights = weights if model == "weighted" else np.ones(len(design))
    number = np.arange(len(design))
    cells = Cells(number, number, clusters, weights)
    basis = Basis.of(design, weights)
    regressions = Regressions(basis, cells, "logit" if model == "logit" else "linear", errors)
    w, nothing = weights[:, None], np.zeros(shares.shape)
    fit = regressions.fit(lambda: [Sums(0, w * shares, w**2 * shares, w**2 * shares**2, nothing)])
    coefficients = fit.coefficients @ basis.back.T
    covariances = basis.back @ fit.sampling @ basis.back.T
    assert not fit.within.any()
    statistic, freedom, p_values = wald_tests(coefficients[None, :, 1:], covariances[None, :, 1:, 1:],
                                              regressions.freedom)  # fmt: skip
    for k, row in enumerate(EXPECTED[kind]):
        # A year of 1990 costs digits: of the covariance of level and slope, which is large beside itself.
        np.testing.assert_allclose(coefficients[k], row["params"], rtol=1e-10)
        # statsmodels' HC1 of generalised linear models is HC0: without n / (n - p).
        more = 60 / 57 if kind == "logit robust" else 1.0
        np.testing.assert_allclose(covariances[k], more * np.array(row["cov"]), rtol=1e-9)
        if "f" in row:
            np.testing.assert_allclose(statistic[k], row["f"], rtol=1e-10)
            assert freedom[k] == row["df"]
            np.testing.assert_allclose(p_values[k], row["p"], rtol=1e-9)


def small_draw() -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Counts of 9 documents and 5 topics as CSR, and dense; a prior of 3 groups; groups; lengths."""
    rng = np.random.Generator(np.random.Philox(5))
    dense = rng.poisson(1.2, (9, 5)) + np.eye(9, 5, dtype=np.int64)
    alpha = rng.uniform(0.1, 2, (3, 5))
    groups = np.array([0, 0, 1, 1, 1, 2, 0, 2, 2])
    documents, topics = dense.nonzero()
    indptr = np.concatenate([[0], np.cumsum((dense > 0).sum(axis=1))]).astype(np.int64)
    counts = (indptr, topics.astype(np.uint16), dense[documents, topics].astype(np.int64))
    return counts, dense, alpha, groups.astype(np.uint32), dense.sum(axis=1).astype(np.int64)


@pytest.mark.parametrize("entries", [1 << 21, 10])
def test_sums_by_cell(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_sums, "ENTRIES", entries)
    counts, dense, alpha, groups, lengths = small_draw()
    weights = np.linspace(0.5, 1.5, 9)
    of_document = np.array([0, 0, 1, 1, 1, 2, 3, 4, 4])
    cells = Cells(of_document, np.array([0, 1, 2, 0, 2]), np.zeros(0, np.int64), weights)
    a = alpha[groups]
    mean = (dense + a) / (lengths + a.sum(axis=1))[:, None]
    spread = mean * (1 - mean) / (lengths + a.sum(axis=1) + 1)[:, None]
    take, w = np.eye(5)[of_document].T, weights[:, None]
    parts = list(cells.sums(counts, alpha, groups, lengths))
    assert len(parts) == (1 if entries > 100 else 3)
    expected = (w * mean, w**2 * mean, w**2 * (mean**2 + spread), w**2 * spread)
    for place, values in enumerate(expected, 1):
        np.testing.assert_allclose(np.concatenate([part[place] for part in parts]), take @ values, rtol=1e-12)


@pytest.mark.parametrize("errors", ["robust", "cluster", "classical"])
@pytest.mark.parametrize("family", ["linear", "logit"])
def test_parts_change_nothing(errors: str, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, _, alpha, groups, lengths = small_draw()
    of_document = np.array([0, 0, 1, 2, 2, 3, 4, 5, 6])
    cells = Cells(of_document, np.array([0, 1, 1, 2, 0, 2, 2]), np.array([0, 0, 1, 1, 1, 2, 3]), np.ones(9))
    basis = Basis.of(np.array([[1, 0.0], [1, 1], [1, 5]]), np.array([3.0, 3, 3]))
    regressions = Regressions(basis, cells, family, errors)
    whole = regressions.fit(lambda: cells.sums(counts, alpha, groups, lengths))
    monkeypatch.setattr(cell_sums, "ENTRIES", 10)
    parted = regressions.fit(lambda: cells.sums(counts, alpha, groups, lengths))
    for one, other in zip(whole, parted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_small_systems() -> None:
    rng = np.random.Generator(np.random.Philox(7))
    rows, weights, right = rng.normal(size=(20, 3)), rng.uniform(1, 2, (20, 4)), rng.normal(size=(4, 3))
    matrices = crossed(rows, weights)
    np.testing.assert_allclose(matrices, np.einsum("gi,gj,gk->kij", rows, rows, weights), rtol=1e-12)
    expected = np.linalg.solve(matrices, right[:, :, None])[:, :, 0]
    np.testing.assert_allclose(solved(factored(matrices), right), expected, rtol=1e-10)


def test_columns_that_are_sums_of_others() -> None:
    rng = np.random.Generator(np.random.Philox(8))
    one = rng.normal(size=30)
    rows = np.column_stack([np.ones(30), one, 3 * one - 2, one**2])
    columns, used = orthogonalised(rows, np.ones(30))
    assert used.tolist() == [0, 1, 3]
    np.testing.assert_allclose(columns.T @ columns / 30, np.eye(3), atol=1e-12)
    basis = Basis.of(rows, np.ones(30))
    np.testing.assert_allclose(rows[:, used] @ basis.back, basis.rows, atol=1e-10)
    np.testing.assert_allclose(basis.of_design(rows), basis.rows, atol=1e-10)


def test_pooled_draws() -> None:
    values, variances = np.array([1.0, 2.0, 4.0, 3.0]), np.array([0.5, 0.7, 0.6, 0.6])
    one = pool_draws(values, variances, 100.0)
    total = 0.6 + 1.25 * values.var(ddof=1)
    np.testing.assert_allclose([one.value, one.variance], [2.5, total])
    rate = 1.25 * values.var(ddof=1) / total
    observed = 101 / 103 * 100 * (1 - rate)
    np.testing.assert_allclose(one.freedom, 1 / (rate**2 / 3 + 1 / observed))
    low, high = one.intervals(0.9)
    np.testing.assert_allclose(high - low, 2 * stats.t.ppf(0.95, one.freedom) * np.sqrt(total))
    two = pool_draws(values, variances, 100.0, models=2)
    inner, outer = (0.5 + 0.5) / 2, np.var([1.5, 3.5], ddof=1)
    np.testing.assert_allclose(two.variance, 0.6 + 1.5 * outer + 0.5 * inner)


def test_adjusted_p_values() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.5])
    np.testing.assert_allclose(adjusted_p_values(p, "holm"), [0.04, 0.09, 0.09, 0.5])
    np.testing.assert_allclose(adjusted_p_values(p, "bh"), stats.false_discovery_control(p))
    assert adjusted_p_values(p, "none") is p


@pytest.mark.parametrize("errors", ["robust", "cluster"])
def test_variances_that_go_with_shares(errors: str) -> None:
    """In plain matrices: residuals' variances in proportion to μ (1 - μ), with the trace of what was found; and how
    many documents or clusters a row's prediction rests on."""
    design, shares, _, clusters = data()
    weights = np.linspace(0.5, 1.5, len(design))
    number = np.arange(len(design))
    cells = Cells(number, number, clusters, weights)
    basis = Basis.of(design, weights)
    w, z = weights[:, None], basis.rows
    fit = Regressions(basis, cells, "linear", errors).fit(
        lambda: [Sums(0, w * shares, w**2 * shares, w**2 * shares**2, np.zeros(shares.shape))]
    )
    mu, level = z @ fit.coefficients.T, (w * shares).sum(axis=0) / weights.sum()
    near = np.clip(mu, 0.05 * level, 1 - 0.05 * (1 - level))
    for k in range(3):
        shape = z.T @ (z * (weights**2 * near[:, k] * (1 - near[:, k]))[:, None])
        expected = shape * np.trace(fit.sampling[k]) / np.trace(shape)
        np.testing.assert_allclose(fit.shaped[k], expected, rtol=1e-9, atol=1e-15)
    row = basis.rows[7]
    parts = (weights * (z @ row)) ** 2
    if errors == "cluster":
        parts = np.bincount(clusters, parts)
    supports = Regressions(basis, cells, "linear", errors).supports(row)
    np.testing.assert_allclose(supports, parts.sum() ** 2 / (parts**2).sum(), rtol=1e-12)


def test_of_equal_rows_all_documents_bear_a_share() -> None:
    """Without columns the share rests on every document; with two groups on those of its own."""
    for columns in (1, 2):
        design = np.column_stack([np.ones(30), np.arange(30) % 2])[:, :columns].astype(float)
        ones = np.ones(30)
        basis = Basis.of(design, ones)
        cells = Cells(np.arange(30), np.arange(30), np.zeros(0, np.int64), ones)
        found = Regressions(basis, cells, "linear", "robust").supports(basis.rows[0])
        assert found == pytest.approx(30 / columns)
