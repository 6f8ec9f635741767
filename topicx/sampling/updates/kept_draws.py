"""Draws of parameters that a chain keeps, for means and intervals: at most so many, whatever its length."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.files.schema import require_consistent

DRAWS, INTERVAL, ENTRIES = 100, 5, 1 << 23
"""At most so many draws are kept, at first so many sweeps apart; and at most so many numbers together."""


class DrawKeeper:
    """Which sweeps' draws of a parameter are kept in a side array: those after burn-in, `interval` sweeps apart."""

    def __init__(self, name: str, burn_in: int) -> None:
        """`name`: the side array; `burn_in`: sweeps before the first draw that is kept."""
        self.name, self.burn_in = name, burn_in
        self.sweeps, self.interval = 0, INTERVAL

    def count_sweep(self) -> bool:
        """Another sweep was made: whether its draw is to be kept."""
        self.sweeps += 1
        return self.sweeps > self.burn_in and (self.sweeps - self.burn_in) % self.interval == 0

    def keep(self, side: dict[str, NDArray[Any]], draw: NDArray[np.float64]) -> None:
        """Add a draw."""
        self.interval = keep_draw(side, self.name, draw, self.interval)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint keeps."""
        return {"sweeps": np.array([self.sweeps, self.interval])}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from a checkpoint."""
        require_consistent(arrays["sweeps"].shape == (2,), "numbers of sweeps of another shape")
        self.sweeps, self.interval = (int(value) for value in arrays["sweeps"])
        require_consistent(
            self.sweeps >= 0 and 0 < self.interval < 1 << 40, f"draws that are {self.interval} sweeps apart"
        )


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
