"""What a regression on θ needs to know of a draw of the words' topics, θ integrated out: given n_dk and α_g, θ_dk is
Beta with mean E = (n_dk + α_gk) / (N_d + A_g) and variance V = E (1 - E) / (N_d + A_g + 1).

Documents that share a row of the design (and a cluster) are a cell. Sums by cell come from the counts that are not
zero; no array of documents × topics is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicx.state import Csr

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENTRIES = 1 << 21
"""Cells × topics that are in hand at once."""


def by_number(numbers: NDArray[Any], weights: Floats, length: int) -> Floats:
    """The sum of the weights of each number from 0 to before `length`."""
    return np.bincount(numbers, weights, length).astype(np.float64, copy=False)


class Sums(NamedTuple):
    """Sums of some cells, one after another: cells × topics."""

    begin: int
    mean: Floats
    """Σ w E[θ]"""
    heavy: Floats
    """Σ w² E[θ]"""
    square: Floats
    """Σ w² E[θ²]"""
    spread: Floats
    """Σ w² V[θ]"""


@dataclass(frozen=True)
class Cells:
    """Documents in the order of their cells."""

    of_document: Ints
    """The cell of each document; never falling."""
    rows: Ints
    """The row of the design of each cell."""
    clusters: Ints
    """The cluster of each cell, never falling; empty: each document is on its own."""
    weights: Floats
    """Weight of each document; weights are 1 on average."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def documents(self) -> int:
        return len(self.of_document)

    def weight_sums(self, power: int = 1) -> Floats:
        """Σ w or Σ w² of each cell."""
        return by_number(self.of_document, self.weights**power, len(self))

    def sums(self, counts: Csr, alpha: Floats, groups: NDArray[np.uint32], lengths: Ints) -> Iterator[Sums]:
        """Sums of a draw, some cells at a time."""
        topics = alpha.shape[1]
        step = max(ENTRIES // topics, 1)
        starts = np.searchsorted(self.of_document, np.arange(0, len(self) + step, step))
        for place, (first, last) in enumerate(zip(starts[:-1], starts[1:])):
            begin = place * step
            cells = min(step, len(self) - begin)
            if cells > 0:
                yield self._part(counts, alpha, groups, lengths, begin, cells, int(first), int(last))

    def _part(
        self, counts: Csr, alpha: Floats, groups: NDArray[np.uint32], lengths: Ints, begin: int, cells: int, first: int,
        last: int,
    ) -> Sums:  # fmt: skip
        indptr, columns, values = counts
        topics = alpha.shape[1]
        cell, group, weight = self.of_document[first:last] - begin, groups[first:last], self.weights[first:last]
        entries = slice(int(indptr[first]), int(indptr[last]))
        per = np.diff(indptr[first : last + 1])
        where = np.repeat(cell * topics, per) + columns[entries]
        n = values[entries].astype(np.float64)
        inverse = 1 / (lengths[first:last] + alpha.sum(axis=1)[group])
        less = 1 / (1 / inverse + 1)  # 1 / (N + A + 1)
        # Documents of one cell have one row of the design and so one prior.
        prior = np.zeros((cells, topics))
        prior[cell] = alpha[group]

        def total(of_counts: Floats, power: int = 1) -> Floats:
            weighted = np.repeat(of_counts, per) * (n if power == 1 else n * n)
            return by_number(where, weighted, cells * topics).reshape(cells, topics)

        def flat(of_documents: Floats) -> Floats:
            return by_number(cell, of_documents, cells)[:, None]

        def first_power(scale: Floats) -> Floats:
            return total(scale) + prior * flat(scale)

        def second_power(scale: Floats) -> Floats:
            return total(scale, 2) + 2 * prior * total(scale) + prior * prior * flat(scale)

        twice = weight * weight
        mean = first_power(weight * inverse)
        heavy = mean if np.array_equal(twice, weight) else first_power(twice * inverse)
        # V = (E - E²) / (N + A + 1)
        spread = first_power(twice * inverse * less) - second_power(twice * inverse**2 * less)
        square = second_power(twice * inverse**2) + spread
        return Sums(begin, mean, heavy, square, spread)
