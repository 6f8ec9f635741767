"""Priors that depend on what documents carry: α_gk = exp(x_g · λ_k) for each distinct row x_g of a design
(Mimno & McCallum 2008)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import bounds

STEEPEST = 60.0
"""Logarithms of α lie within plus and minus this: single precision holds them."""


def log_linear_prior(rows: NDArray[np.float64], coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(X Λ'): groups × topics, of rows (groups × columns) and coefficients (topics × columns). The sums run over the
    columns in their order and the exponential is the kernels' own, so that the bits are the same on every processor."""
    total = np.zeros((len(rows), len(coefficients)))
    for column, weights in zip(rows.T, coefficients.T, strict=True):
        total += column[:, None] * weights
    np.clip(total, -STEEPEST, STEEPEST, out=total)
    found: NDArray[np.float64] = bounds.special_function("exp", total.ravel()).reshape(total.shape)
    return found
