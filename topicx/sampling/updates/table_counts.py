"""What the documents of a group say about the group's topic weights a = γπ, θ integrated out:

    Π_d Π_k Γ(a_k + n_dk) / Γ(a_k)

as a function of a (its logarithm and derivatives), and as numbers of tables: the auxiliary variables that make a's
posterior conjugate (George, Xia & Michailidis 2019, eq. 11-15). The kernel has the formulas.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.updates import antoniak
from topicx.engines.threads import Engine
from topicx.sampling.special_functions import exp, log
from topicx.state import Csr

PIECES, LEAST_PIECE = 16, 256
"""Ranges of documents that are worked on at once, and the documents of one at least. Results do not depend on them."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Occupancy:
    """How many documents of each group have at least 1, 2, 3 … tokens of each topic."""

    def __init__(self, document_topics: Csr, groups: NDArray[np.uint32], shape: tuple[int, int]) -> None:
        self.shape = shape
        self.groups = groups
        self._counts = document_topics
        most = np.zeros(shape, np.int64)
        antoniak.largest_counts(*document_topics, groups, most)
        self.starts = np.zeros(most.size + 1, np.int64)
        np.cumsum(most.ravel(), out=self.starts[1:])

    @cached_property
    def number(self) -> Ints:
        """Number of documents of each cell with at least 1, 2, 3 … tokens, cell after cell."""
        number = np.zeros(int(self.starts[-1]), np.int64)
        antoniak.documents_with_at_least(*self._counts, self.groups, self.shape[1], self.starts, number)
        return number

    def log_rising(self, a: Floats) -> Floats:
        """Σ_d log Γ(a + n_dk) / Γ(a), a row a group."""
        return self._weigh(a, 0)

    def gain(self, a: Floats) -> Floats:
        """Derivative of the log density, Σ_d ψ(a + n_dk) - ψ(a)."""
        return self._weigh(a, 1)

    def _weigh(self, a: Floats, power: int) -> Floats:
        out = np.empty(self.shape)
        antoniak.sum_rising_terms(self.starts, self.number, np.ascontiguousarray(a).ravel(), power, out.reshape(-1))
        return out

    def tables(self, a: Floats, key: int, engine: Engine) -> Ints:
        """Σ_d s_dk of each group: tables drawn for every document and topic (eq. 15)."""
        return self._draw(a, key, engine, np.zeros(0, np.int64))

    def each(self, a: Floats, key: int, engine: Engine) -> Ints:
        """The tables of every entry of n_dk, in its order."""
        drawn = np.zeros(len(self._counts[2]), np.int64)
        self._draw(a, key, engine, drawn)
        return drawn

    def _draw(self, a: Floats, key: int, engine: Engine, drawn: Ints) -> Ints:
        indptr, topics, counts = self._counts
        flat = np.ascontiguousarray(a).ravel()
        closed = np.empty(int(self.starts[-1]))
        antoniak.chances_of_no_table(self.starts, flat, closed)
        documents = len(indptr) - 1
        pieces = min(PIECES, documents // LEAST_PIECE + 1)
        bounds = [documents * piece // pieces for piece in range(pieces + 1)]

        def work(piece: tuple[int, int]) -> Ints:
            sums = np.zeros(self.shape, np.int64)
            antoniak.draw_tables(
                indptr, topics, counts, self.groups, *piece, self.shape[1], self.starts, flat, closed, key, sums, drawn
            )
            return sums

        total: Ints = np.sum(engine.map(work, list(pairwise(bounds))), axis=0)
        return total


def draw_dirichlet(shapes: Floats, key: int) -> Floats:
    """A draw from the Dirichlet of each row, the same bits on every machine; no share is below 1e-30."""
    out = np.empty(shapes.shape)
    antoniak.draw_dirichlet_rows(np.ascontiguousarray(shapes), key, out)
    return out


def draw_gamma(shape: float, rate: float, key: int) -> float:
    """A gamma variate."""
    out = np.empty(1)
    antoniak.draw_log_gammas(np.array([shape]), key, out)
    return exp(float(out[0])) / rate


def log_betas(a: Floats, b: Floats, key: int) -> Floats:
    """Logarithms of beta variates, a pair of parameters each."""
    shapes = np.stack([a, b], axis=1)
    logs = np.empty(shapes.size)
    antoniak.draw_log_gammas(shapes.ravel(), key, logs)
    pairs = logs.reshape(shapes.shape)
    top = pairs.max(axis=1)
    result: Floats = pairs[:, 0] - top - log(exp(pairs[:, 0] - top) + exp(pairs[:, 1] - top))
    return result
