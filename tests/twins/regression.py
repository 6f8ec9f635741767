"""Slow, readable twins of the kernel of Dirichlet-multinomial regression."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, polygamma, psi

Floats = NDArray[np.float64]


def log_posterior(n: NDArray[np.int64], rows: Floats, coefficients: Floats, variances: Floats) -> float:
    """log p(n | λ) p(λ) up to a constant: a document at a time; n: documents × topics, rows: documents × terms."""
    total = -float(np.sum(coefficients**2 / (2 * variances)))
    for counts, x in zip(n, rows, strict=True):
        alpha = np.exp(coefficients @ x)
        total += float(np.sum(gammaln(alpha + counts) - gammaln(alpha)))
        total -= float(gammaln(alpha.sum() + counts.sum()) - gammaln(alpha.sum()))
    return total


def gradient(n: NDArray[np.int64], rows: Floats, coefficients: Floats, variances: Floats) -> Floats:
    """Its derivatives by λ, topics × terms."""
    found = -coefficients / variances
    for counts, x in zip(n, rows, strict=True):
        alpha = np.exp(coefficients @ x)
        cost = psi(alpha.sum() + counts.sum()) - psi(alpha.sum())
        found = found + np.outer(alpha * (psi(alpha + counts) - psi(alpha) - cost), x)
    return found


def curvature(n: NDArray[np.int64], rows: Floats, groups: NDArray[np.int64], coefficients: Floats) -> Floats:
    """Fisher's information at these counts without the prior, topics × terms × terms, a group at a time."""
    topics, terms = coefficients.shape
    found = np.zeros((topics, terms, terms))
    for group in np.unique(groups):
        own, x = n[groups == group], rows[groups == group][0]
        alpha = np.exp(coefficients @ x)
        falls = (polygamma(1, alpha) - polygamma(1, alpha + own)).sum(axis=0)
        fall = np.sum(polygamma(1, alpha.sum()) - polygamma(1, alpha.sum() + own.sum(axis=1)))
        found += (alpha**2 * np.maximum(falls - fall, 0))[:, None, None] * np.outer(x, x)
    return found
