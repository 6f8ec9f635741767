"""Slow, readable twins of the kernel of topics with keywords."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

Floats = NDArray[np.float64]


def log_joint(
    docs: list[list[int]], z: NDArray[np.int64], s: NDArray[np.int64], alpha: Floats, beta: Floats,
    keywords: list[set[int]], a: float, b: float, kappa: float,
) -> float:  # fmt: skip
    """log p(words, topics, keywords) up to a constant; -inf where a token can't be a keyword of its topic. `alpha`:
    documents × topics."""
    words = np.array([w for doc in docs for w in doc])
    total, at = 0.0, 0
    for row, doc in zip(alpha, docs, strict=True):
        n = np.bincount(z[at : at + len(doc)], minlength=len(row))
        at += len(doc)
        total += float(np.sum(gammaln(row + n) - gammaln(row)) - gammaln(row.sum() + n.sum()) + gammaln(row.sum()))
    for k, own in enumerate(keywords):
        plain = np.bincount(words[(z == k) & (s == 0)], minlength=len(beta))
        total += float(np.sum(gammaln(beta + plain) - gammaln(beta)))
        total -= float(gammaln(beta.sum() + plain.sum()) - gammaln(beta.sum()))
        keyed = words[(z == k) & (s == 1)]
        if set(keyed.tolist()) - own:
            return -np.inf
        if own:
            total += float(betaln(a + len(keyed), b + plain.sum()) - betaln(a, b))
            n = np.array([np.sum(keyed == w) for w in own])
            total += float(np.sum(gammaln(kappa + n) - gammaln(kappa)))
            total -= float(gammaln(len(own) * kappa + n.sum()) - gammaln(len(own) * kappa))
    return total


def conditional(
    docs: list[list[int]], z: NDArray[np.int64], s: NDArray[np.int64], i: int, alpha: Floats, beta: Floats,
    keywords: list[set[int]], a: float, b: float, kappa: float,
) -> Floats:  # fmt: skip
    """p(z_i = k, s_i = 0), and p(z_i = k, s_i = 1), given all others: 2 × topics."""
    logs = np.empty((2, len(keywords)))
    for keyed in (0, 1):
        for k in range(len(keywords)):
            other, bits = z.copy(), s.copy()
            other[i], bits[i] = k, keyed
            logs[keyed, k] = log_joint(docs, other, bits, alpha, beta, keywords, a, b, kappa)
    p = np.exp(logs - logs.max())
    return np.asarray(p / p.sum())
