"""Draws of parameters that a chain keeps, for means and intervals: at most so many, whatever its length."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

DRAWS, INTERVAL, ENTRIES = 100, 5, 1 << 23
"""At most so many draws are kept, at first so many sweeps apart; and at most so many numbers together."""


def keep_draw(
    side: dict[str, NDArray[Any]], name: str, draw: NDArray[np.float64], interval: int
) -> int:  # fmt: skip
    """Add a draw to the side array of this name, in single precision. When there are too many, each second stays.
    Returns how many sweeps lie between draws from now on: what is kept depends on the number of the sweep alone."""
    kept = side.get(name, np.zeros((0, *draw.shape), np.float32))
    draws = np.concatenate([kept, draw[None].astype(np.float32)])
    if len(draws) > max(2, min(DRAWS, ENTRIES // max(draw.size, 1))):
        draws = draws[1::2]
        interval *= 2
    side[name] = draws
    return interval
