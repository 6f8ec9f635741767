"""Slow, readable twins of the Antoniak kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def distribution(n: int, a: float) -> Floats:
    """P(m | n, a) for m = 0 … n: S(n, m) a^m Γ(a) / Γ(a + n), by the recurrence over customers."""
    p = np.zeros(n + 1)
    p[0] = 1.0
    for customer in range(n):
        opens = a / (a + customer)
        p[1:] = p[1:] * (1 - opens) + p[:-1] * opens
        p[0] *= 1 - opens
    return p


def bernoulli(n: int, a: float, random: np.random.Generator) -> int:
    """Eq. 15 as it stands: a draw a customer."""
    return int(np.sum(random.random(n) < a / (a + np.arange(n)))) if n else 0
