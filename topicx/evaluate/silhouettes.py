"""How well topics, or documents, fall into clusters: silhouettes of a hierarchical clustering (George, Xia &
Michailidis 2019, §4.2.4: Manhattan distances between distributions, clusters joined by the farthest of their members,
as R's hclust does by default).

    silhouette of a member = (b - a) / max(a, b),    a: its mean distance to its own cluster, b: to the nearest other
    one

and 0 for a cluster's only member (Rousseeuw 1987).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicx.common_methods import Summarized
from topicx.errors import InputError

__all__ = ["Silhouettes", "measure_silhouettes"]

MOST = 4000
"""Documents beyond this number are thinned out: distances of all pairs are needed."""


@dataclass(frozen=True, repr=False)
class Silhouettes(Summarized):
    """Widths of all members for one number of clusters."""

    clusters: int
    """Number of clusters."""
    widths: NDArray[np.float64]
    """Silhouette of each member, from -1 to 1."""

    def quartiles(self) -> tuple[float, float, float]:
        low, median, high = np.percentile(self.widths, [25, 50, 75])
        return float(low), float(median), float(high)


def measure_silhouettes(rows: NDArray[np.floating], numbers: Sequence[int]) -> list[Silhouettes]:
    """Silhouettes of distributions that are cut into clusters.

    Parameters
    ----------
    rows : ndarray
        Distributions, one a row.
    numbers : sequence of int
        Numbers of clusters to try.

    Returns
    -------
    list of Silhouettes
        One for each number of clusters.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist, squareform

    for number in numbers:
        if not 2 <= number < len(rows):
            raise InputError(f"clusters: {number} must be from 2 to {len(rows) - 1}, as there are {len(rows)} of them")
    distances = pdist(np.asarray(rows, np.float64), "cityblock")
    tree = linkage(distances, "complete")
    square = squareform(distances)
    return [Silhouettes(n, silhouette_widths(square, fcluster(tree, n, "maxclust"))) for n in numbers]


def silhouette_widths(distances: NDArray[np.float64], clusters: NDArray[np.int32]) -> NDArray[np.float64]:
    """The silhouette of each member, given all distances."""
    names, member = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(member)
    sums = distances @ np.eye(len(names))[member]
    own = sums[np.arange(len(member)), member] / np.maximum(sizes[member] - 1, 1)
    others = sums / sizes
    others[np.arange(len(member)), member] = np.inf
    nearest = others.min(axis=1)
    largest = np.maximum(own, nearest)
    lonely = (sizes[member] == 1) | ~(largest > 0) | (len(names) == 1)
    result: NDArray[np.float64] = np.where(lonely, 0.0, nearest - own) / np.where(lonely, 1.0, largest)
    return result


def thin_documents(documents: int) -> NDArray[np.int64]:
    """Documents at equal distances, at most MOST of them."""
    return np.unique(np.linspace(0, documents - 1, min(documents, MOST)).astype(np.int64))
