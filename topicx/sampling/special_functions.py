"""log Γ, its derivatives, log and exp by the kernels' own arithmetic: the same bits on every processor.

NumPy's and SciPy's are those of the C library, or of a vector library where the processor has long vectors, and their
last bits depend on the processor. A number that a result is made of is computed here; sums are NumPy's, which adds in
one order everywhere, but no products of matrices, whose order is BLAS's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import bounds


def _apply_kernel(which: str, x: Any) -> Any:
    found: NDArray[np.float64] = bounds.special_function(which, x)
    return found if np.ndim(x) else float(found[0])


def log(x: Any) -> Any:
    """The logarithm of positive numbers (an array or one)."""
    return _apply_kernel("log", x)


def exp(x: Any) -> Any:
    """The number e to the power of x, of which only -700 to 700 counts."""
    return _apply_kernel("exp", x)


def gammaln(x: Any) -> Any:
    """log Γ(x), x > 0."""
    return _apply_kernel("lgamma", x)


def psi(x: Any) -> Any:
    """ψ(x), the derivative of log Γ, x > 0."""
    return _apply_kernel("digamma", x)


def polygamma(order: int, x: Any) -> Any:
    """The first or the second derivative of ψ."""
    return _apply_kernel(("trigamma", "tetragamma")[order - 1], x)
