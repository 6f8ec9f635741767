"""Expected counts for matrices of weights that are no counts (tf-idf, say): CVB0's fixed point, entry by entry.

An entry x of document d and word w stands for x tokens with one distribution γ over topics (Asuncion et al. 2009,
"On smoothing and inference for topic models", eq. 8, with all tokens of an entry moved at once):

    γ_dwk ∝ (n_dk - γ'_dwk + α) (n_wk - γ'_dwk + β) / (n_k - γ'_dwk + Σβ),      γ' = min(x, 1) γ

where n are the sums of x γ: the token that is considered leaves its own share out.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Weighted(NamedTuple):
    """What was learnt from weights."""

    word_topics: Floats
    """Expected counts: words × topics."""
    sweeps: int


def learn_weighted_topics(
    table: Any, topics: int, alpha: float, beta: float, *, sweeps: int, seed: int, tolerance: float = 1e-5
) -> Weighted:  # fmt: skip
    """Topics of a documents × words CSR matrix of weights of at least 0; ends when γ moves less than `tolerance` on
    average."""
    documents, words, x, own = _token_entries(table)
    gamma = np.random.Generator(np.random.Philox(key=seed)).dirichlet(np.ones(topics), len(x))
    done, moved = 0, math.inf
    while done < sweeps and moved >= tolerance:
        part, mine = gamma * x[:, None], gamma * own[:, None]
        n_dk, n_wk = _sum_by_row(documents, part, table.shape[0]), _sum_by_row(words, part, table.shape[1])
        new = (n_dk[documents] - mine + alpha) * (n_wk[words] - mine + beta)
        new /= n_wk.sum(axis=0) - mine + beta * table.shape[1]
        new = _normalize_rows(new)
        moved = float(np.abs(new - gamma).sum(axis=1).mean()) if len(x) else 0.0
        gamma = new
        done += 1
    return Weighted(_sum_by_row(words, gamma * x[:, None], table.shape[1]), done)


def fold_in(table: Any, phi: Floats, alpha: Floats, sweeps: int = 50) -> Floats:
    """θ of the rows of a CSR matrix of weights under fixed topics φ (topics × words); no row knows of another."""
    documents, words, x, own = _token_entries(table)
    likely = phi.T[words]
    gamma = _normalize_rows(likely * alpha)
    for _ in range(sweeps):
        n_dk = _sum_by_row(documents, gamma * x[:, None], table.shape[0])
        gamma = _normalize_rows((n_dk[documents] - gamma * own[:, None] + alpha) * likely)
    weights = _sum_by_row(documents, gamma * x[:, None], table.shape[0]) + alpha
    theta: Floats = weights / weights.sum(axis=1, keepdims=True)
    return theta


def _token_entries(table: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
    """Row, column and weight of each entry, and the weight of one of its tokens."""
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    x = np.asarray(table.data, np.float64)
    return rows, np.asarray(table.indices, np.int64), x, np.minimum(x, 1.0)


def _normalize_rows(values: Floats) -> Floats:
    # A token's own share may exceed the sums by rounding.
    values = np.maximum(values, 1e-300)
    return values / values.sum(axis=1, keepdims=True)


def _sum_by_row(rows: NDArray[np.int64], parts: Floats, number: int) -> Floats:
    """The sums of the parts with the same row, each in the order of the entries."""
    return np.stack([np.bincount(rows, weights=column, minlength=number) for column in parts.T], axis=1)
