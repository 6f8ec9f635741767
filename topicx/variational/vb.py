"""VB: variational Bayes with independent θ, φ and z (Blei et al. 2003, with a Dirichlet on φ; Teh, Newman & Welling
2006, eq. 4-6), one update of every parameter a sweep.

No assignments are stored: those of a sweep follow from the counts of the sweep before, two sets of which are all the
memory needed: 8 bytes × (documents + words) × K.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import bounds, soft
from topicx.files.schema import Array
from topicx.sampling.schedule import Cell
from topicx.variational.soft_method import Rows, Soft


class Vb(Soft):
    """Documents do not see each other within a sweep, so the partitions change nothing but the order of additions."""

    objective = "VB bound per token"

    def _start_at(self, topics: NDArray[np.uint16]) -> None:
        def work(cell: Cell) -> None:
            soft.hard_cell(self.pairs, self._documents(cell), cell.block, topics, self.nd, self.nw)

        self._over_cells(work)
        self.entropy = 0.0

    def _elog_phi(self) -> Rows:
        """E log φ_kw = ψ(β + n_kw) - ψ(B + n_k)."""
        elog = np.empty_like(self.nw)
        totals = bounds.special_function("digamma", self.totals + self._beta_sum)
        self._over_words(lambda part: soft.vb_words(elog, self.nw, self.state.beta, totals, *part, self.topics))
        return elog

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        elog = self._elog_phi()
        nd, nw = np.zeros_like(self.nd), np.zeros_like(self.nw)
        results = self._over_cells(partial(self._cell, elog, nd, nw))
        parts = [slice(d, d + 4096) for d in range(0, len(nd), 4096)]
        moved = 0.5 * float(sum(np.abs(nd[part] - self.nd[part]).sum() for part in parts))
        self.entropy = float(sum(results))
        self.nd, self.nw = nd, nw
        self._add_seeds()
        self.totals = soft.column_sums(self.nw, self.topics)
        return {"changed": moved / max(self.state.n_tokens, 1)}

    def _cell(self, elog: Rows, nd: Rows, nw: Rows, cell: Cell) -> float:
        documents = self._documents(cell)
        return float(soft.vb_cell(self.pairs, documents, cell.block, elog, self.state.alpha, self.nd, nd, nw))

    def score(self) -> float:
        """The bound of eq. 2 per token, at the assignments of the last sweep and the parameters of eq. 4 and 5.

        There E[log p] and the Dirichlets' entropies add up to ratios of normalisers, as in log p(w, z) with expected
        counts; the entropy of the assignments comes on top.
        """
        state, topics = self.state, self.topics
        total = bounds.log_rising_sums(self.nd, state.alpha, state.groups, topics) - self._document_normaliser()
        which = np.arange(state.n_words, dtype=np.uint32)
        total += bounds.log_rising_sums(self.nw, np.ascontiguousarray(state.beta[:, None]), which, topics)
        seeds = state.seeds
        if len(seeds):
            own = state.beta[seeds.words]
            total -= float(
                np.sum(bounds.special_function("lgamma", own + seeds.counts) - bounds.special_function("lgamma", own))
            )
        prior = np.full(topics, self._beta_sum)
        np.add.at(prior, seeds.topics, seeds.counts.astype(np.float64))
        ends = bounds.special_function("lgamma", self.totals + self._beta_sum) - bounds.special_function(
            "lgamma", prior
        )
        return float(total - ends.sum() + self.entropy) / max(state.n_tokens, 1)

    def _best(self) -> NDArray[np.uint16]:
        best = np.zeros(len(self.words), np.uint16)
        soft.vb_most_probable_topics(self.pairs, self._elog_phi(), self.state.alpha, self.nd, best)
        return best

    def arrays(self) -> dict[str, NDArray[Any]]:
        return super().arrays() | {"entropy": np.array([self.entropy])}

    def declared(self) -> tuple[Array, ...]:
        return *super().declared(), Array("entropy", "float64", 1, low=-1e18, high=1e18)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(arrays)
        self.entropy = float(arrays["entropy"][0])
