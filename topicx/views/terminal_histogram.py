"""A histogram for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def histogram_lines(values: Sequence[float], width: int = 40) -> list[str]:
    """A line for each range of values: from where to where, a bar, how many."""
    number = min(max(int(np.ceil(np.sqrt(len(values)))), 1), 12)
    counts, edges = np.histogram(values, number)
    longest = max(int(counts.max()), 1)
    return [
        f"  {low:>12.5f} to {high:>12.5f}  {'#' * round(width * int(count) / longest):<{width}}  {count}"
        for low, high, count in zip(edges, edges[1:], counts)
    ]
