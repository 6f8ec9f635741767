"""Correlations of topics over documents: of their shares θ, and of what the columns of a formula say of them, x·λ.

Given a draw of the words' topics θ_d is Dirichlet with a = n_d + α_d and A = Σ a, so that E[θ_j θ_k] = a_j a_k / (A
(A + 1)) is known, and E[θ_k²] = a_k (a_k + 1) / (A (A + 1)): correlations know that θ is not known, and are not those
of its means.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from topicx.regression.pooling import pool_draws
from topicx.sampling.special_functions import log
from topicx.state import Csr

Floats = NDArray[np.float64]
Pairs = tuple[Floats, Floats, Floats]
"""Values, and the ends of intervals: topics × topics."""

MOST = 20_000
"""Documents that the error of correlations is estimated from, at most."""
PIECE = 1_000
NEAR = 1e-12


def share_correlations(counts: Csr, alpha: Floats, groups: NDArray[np.uint32], lengths: NDArray[np.int64]) -> Floats:
    """Correlations of θ over documents, given a draw of the words' topics."""
    indptr, columns, values = counts
    documents, topics = len(lengths), alpha.shape[1]
    total = lengths + alpha.sum(axis=1)[groups]
    once, twice = 1 / total, 1 / (total * (total + 1))
    per = np.diff(indptr)
    shape = (documents, topics)
    plain = scipy.sparse.csr_array((values.astype(np.float64), columns, indptr), shape=shape)
    scaled = scipy.sparse.csr_array((values * np.repeat(twice, per), columns, indptr), shape=shape)
    member = scipy.sparse.csr_array(
        (np.ones(documents), (groups.astype(np.int64), np.arange(documents))), shape=(len(alpha), documents)
    )
    of_group = np.bincount(groups, twice, len(alpha))
    mixed = (member @ scaled).T @ alpha
    product = (plain.T @ scaled).toarray() + mixed + mixed.T
    product += np.einsum("gj,gk->jk", alpha * of_group[:, None], alpha, optimize=False)
    product[np.diag_indices(topics)] += np.bincount(columns, values * np.repeat(twice, per), topics)
    product[np.diag_indices(topics)] += (of_group[:, None] * alpha).sum(axis=0)
    mean = np.bincount(columns, values * np.repeat(once, per), topics)
    mean = (mean + (np.bincount(groups, once, len(alpha))[:, None] * alpha).sum(axis=0)) / documents
    return _standardised(product / documents - mean[:, None] * mean)


def prior_correlations(alpha: Floats, groups: NDArray[np.uint32]) -> Floats:
    """Correlations over documents of log α, which is x·λ up to a constant. NaN: a topic's prior is the same for all."""
    size = np.bincount(groups, minlength=len(alpha)) / len(groups)
    logs = log(alpha.ravel()).reshape(alpha.shape)
    logs = logs - (size[:, None] * logs).sum(axis=0)
    return _standardised(np.einsum("gj,gk->jk", size[:, None] * logs, logs, optimize=False), 1e-10)


def _standardised(covariance: Floats, least: float = 0.0) -> Floats:
    variance = np.diagonal(covariance)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(np.where(variance > least, variance, np.nan))
        found: Floats = covariance / spread[:, None] / spread
    return np.clip(found, -1, 1)


def correlation_variances(means: Floats) -> Floats:
    """The variance of each correlation with other documents, from documents' shares (documents × topics), by its
    influence function: that of z_j z_k - r (z_j² + z_k²) / 2. Shares are skewed, which 1 / (n - 3) does not know."""
    z = means - means.mean(axis=0)
    spread = np.sqrt((z * z).mean(axis=0))
    z = z / np.where(spread > 0, spread, np.nan)
    topics = z.shape[1]
    once, even, odd = (np.zeros((topics, topics)) for _ in range(3))
    for begin in range(0, len(z), PIECE):
        part = z[begin : begin + PIECE]
        square = part * part
        once += np.einsum("dj,dk->jk", part, part, optimize=False)
        even += np.einsum("dj,dk->jk", square, square, optimize=False)
        odd += np.einsum("dj,dk->jk", square * part, part, optimize=False)
    number = len(z)
    r, even, odd = once / number, even / number, odd / number
    fourth = np.diagonal(even)
    inside = even - r * (odd + odd.T) + r * r / 4 * (fourth[:, None] + 2 * even + fourth)
    return np.asarray(np.maximum(inside, 0) / number)


def mean_shares(
    counts: Csr, alpha: Floats, groups: NDArray[np.uint32], lengths: NDArray[np.int64], most: int = MOST
) -> Floats:
    """E[θ] of documents, of at most so many, evenly chosen."""
    chosen = np.unique(np.linspace(0, len(lengths) - 1, min(len(lengths), most)).astype(np.int64))
    indptr, columns, values = counts
    table: Any = scipy.sparse.csr_array((values.astype(np.float64), columns, indptr), (len(lengths), alpha.shape[1]))
    rows = table[chosen].toarray() + alpha[groups[chosen]]
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def pooled_correlations(draws: Floats, sampling: Floats | float, documents: float, level: float, models: int) -> Pairs:
    """Draws × topics × topics as one, with intervals; pooled as Fisher's z = artanh r, whose errors do not depend on r.
    sampling: the variance of each r with other documents."""
    bounded = np.clip(draws, -1 + NEAR, 1 - NEAR)
    z = np.arctanh(bounded)
    slope = 1 / (1 - bounded**2)
    found = pool_draws(z, slope**2 * sampling, max(documents - 3, 1.0), models)
    with np.errstate(invalid="ignore"):
        low, high = found.intervals(level)
    return np.tanh(found.value), np.tanh(low), np.tanh(high)
