"""Slow, readable twins of the kernel of mixtures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]


def log_joint(docs: list[list[int]], z: NDArray[np.int64], alpha: Floats, prior: Floats) -> float:
    """log p(words, topics of documents) up to a constant; `prior`: topics × words. Empty documents have no topic."""
    full = [d for d, doc in enumerate(docs) if doc]
    sizes = np.bincount(z[full], minlength=len(alpha)) if full else np.zeros(len(alpha))
    total = float(np.sum(gammaln(alpha + sizes)))
    for k, own in enumerate(prior):
        words = [w for d in full if z[d] == k for w in docs[d]]
        n = np.bincount(words, minlength=len(own)) if words else np.zeros(len(own))
        total += float(np.sum(gammaln(own + n) - gammaln(own)) - gammaln(own.sum() + n.sum()) + gammaln(own.sum()))
    return total


def conditional(docs: list[list[int]], z: NDArray[np.int64], d: int, alpha: Floats, prior: Floats) -> Floats:
    """p(z_d | all others), from the joint distribution of each value."""
    logs = []
    for k in range(len(alpha)):
        other = z.copy()
        other[d] = k
        logs.append(log_joint(docs, other, alpha, prior))
    p = np.exp(np.array(logs) - max(logs))
    return np.asarray(p / p.sum())
