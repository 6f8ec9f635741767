"""What expected counts say of the priors (see `topicx.sampling.updates.prior_fixed_points`). The arithmetic is the
kernels' own, so learnt priors have the same bits on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import bounds
from topicx.sampling.updates.prior_fixed_points import DocumentStatistics, WordStatistics


class ExpectedDocuments(DocumentStatistics):
    """Expected counts of documents, E n_dk, in rows."""

    def __init__(self, nd: NDArray[np.float32], lengths: NDArray[np.int64], groups: NDArray[np.uint32]) -> None:
        self.nd, self.lengths, self.groups = nd, lengths, groups

    def gain(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        result: NDArray[np.float64] = bounds.digamma_gain(
            self.nd, np.ascontiguousarray(alpha), self.groups, alpha.shape[1]
        )
        return result

    def cost(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        return document_cost(alpha, self.lengths, self.groups)


class Observed(DocumentStatistics):
    """Gains and costs that were summed while the documents were seen, under the α of that time: good for one round."""

    rounds = 1

    def __init__(self, gain: NDArray[np.float64], cost: NDArray[np.float64]) -> None:
        self._gain, self._cost = gain, cost

    def gain(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._gain

    def cost(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._cost


class ExpectedWords(WordStatistics):
    """Expected counts of words, E n_kw, in rows."""

    def __init__(self, nw: NDArray[np.float32], totals: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        self.nw, self.totals = nw, totals
        distinct, which = np.unique(beta, return_inverse=True)
        grouped = len(distinct) <= 64  # usually one value: then its digamma is taken once
        self._index = which.astype(np.uint32) if grouped else np.arange(len(beta), dtype=np.uint32)
        self._weights = distinct if grouped else beta

    def gain(self, factor: float) -> float:
        topics = len(self.totals)
        prior = np.repeat((factor * self._weights)[:, None], topics, axis=1)
        return float(np.sum(self._weights * bounds.digamma_gain(self.nw, prior, self._index, topics).sum(axis=1)))

    def psi(self, x: NDArray[Any]) -> NDArray[np.float64]:
        result: NDArray[np.float64] = bounds.special_function("digamma", x)
        return result


def document_cost(
    alpha: NDArray[np.float64], lengths: NDArray[np.int64], groups: NDArray[np.uint32]
) -> NDArray[np.float64]:
    """Σ_d ψ(Σα + n_d) - ψ(Σα) of each group."""
    group_of = groups if len(groups) else np.zeros(len(lengths), np.uint32)
    sums = alpha.sum(axis=1)[group_of]
    costs: NDArray[np.float64] = bounds.special_function("digamma", sums + lengths) - bounds.special_function(
        "digamma", sums
    )
    result: NDArray[np.float64] = np.bincount(group_of, costs, len(alpha)).astype(np.float64)
    return result
