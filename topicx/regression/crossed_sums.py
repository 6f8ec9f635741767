"""Sums of products and small systems of equations for many topics at once, in a fixed order: NumPy's own sums and no
products of matrices, whose order is the BLAS's, so that results do not depend on the processor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def crossed(rows: Floats, weights: Floats) -> Floats:
    """Σ_g x_gi x_gj w_gk for each topic: topics × columns × columns."""
    columns = rows.shape[1]
    found = np.empty((weights.shape[1], columns, columns))
    for i in range(columns):
        own = rows[:, i, None] * weights
        for j in range(i + 1):
            found[:, i, j] = found[:, j, i] = (rows[:, j, None] * own).sum(axis=0)
    return found


def summed(rows: Floats, weights: Floats) -> Floats:
    """Σ_g x_gi w_gk: topics × columns."""
    found = np.empty((weights.shape[1], rows.shape[1]))
    for i in range(rows.shape[1]):
        found[:, i] = (rows[:, i, None] * weights).sum(axis=0)
    return found


def predicted(rows: Floats, coefficients: Floats) -> Floats:
    """x_g · b_k: groups × topics."""
    found = np.zeros((len(rows), len(coefficients)))
    for i in range(rows.shape[1]):
        found += rows[:, i, None] * coefficients[:, i]
    return found


def factored(matrices: Floats) -> Floats:
    """The lower Cholesky factors of positive matrices, stacked."""
    lower = np.zeros_like(matrices)
    for j in range(matrices.shape[1]):
        rest = matrices[:, j:, j] - (lower[:, j:, :j] * lower[:, j, None, :j]).sum(axis=2)
        lower[:, j:, j] = rest / np.sqrt(rest[:, :1])
    return lower


def solved(lower: Floats, right: Floats) -> Floats:
    """The solutions of L L' x = right."""
    return solved_above(lower, solved_below(lower, right))


def solved_below(lower: Floats, right: Floats) -> Floats:
    """The solutions of L x = right."""
    x = np.zeros_like(right)
    for j in range(right.shape[1]):
        x[:, j] = (right[:, j] - (lower[:, j, :j] * x[:, :j]).sum(axis=1)) / lower[:, j, j]
    return x


def solved_above(lower: Floats, right: Floats) -> Floats:
    """The solutions of L' x = right."""
    x = np.zeros_like(right)
    for j in range(right.shape[1] - 1, -1, -1):
        x[:, j] = (right[:, j] - (lower[:, j + 1 :, j] * x[:, j + 1 :]).sum(axis=1)) / lower[:, j, j]
    return x


def orthogonalised(rows: Floats, weights: Floats, least: float = 1e-7) -> tuple[Floats, NDArray[np.int64]]:
    """Columns that span what these span, of mean square 1 over the documents (`weights`: of each row), and which of the
    given ones have added anything: the others are sums of those before them (Gram and Schmidt, twice over)."""
    total = float(weights.sum())
    kept: list[Floats] = []
    which = []
    for place in range(rows.shape[1]):
        column = rows[:, place].astype(np.float64)
        size = np.sqrt(float((weights * column * column).sum()) / total)
        for _ in range(2):
            for other in kept:
                column = column - float((weights * column * other).sum()) / total * other
        rest = np.sqrt(float((weights * column * column).sum()) / total)
        if rest > least * size and rest > 0:
            kept.append(column / rest)
            which.append(place)
    return np.column_stack(kept) if kept else np.zeros((len(rows), 0)), np.array(which, np.int64)
