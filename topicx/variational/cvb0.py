"""CVB0: collapsed variational Bayes of zero order (Asuncion et al. 2009; Papanikolaou et al. 2017, eq. 6), and what it
shares with CVB: stored assignments and the collapsed bound.

Memory: 4 bytes × pairs × K for the assignments, 4 bytes × (documents + words) × K for the counts.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import bounds, pairs, soft
from topicx.files.array_sizes import PAIRS, TOPICS
from topicx.files.schema import Array
from topicx.sampling.schedule import Cell
from topicx.variational.first_assignments import warm_start
from topicx.variational.soft_method import Rows, Soft, require_memory

RECOUNT = 16
"""Sweeps between sums of the words' counts from the assignments, in double precision: rounding does not pile up."""
SLACK = 16


class Stored(Soft):
    """Assignments kept for every pair: γ, a row of K numbers each, without padding."""

    name: ClassVar[str]
    words_rows: ClassVar[int] = 1
    """How many rows a word (and a document) has."""

    objective = "CVB bound per token (zero counts exact, positive ones by two Taylor terms)"

    def _check_memory(self, pairs: int) -> None:
        rows = (self.state.n_documents + self.state.n_words) * self.padded * self.words_rows
        require_memory(self.engine, self.name, pairs, self.topics, 4 * (pairs * self.topics + rows))

    def _start_at(self, topics: NDArray[np.uint16]) -> None:
        self.gamma = self._room()
        pairs.one_hot(topics, self.topics, self.gamma)
        self._recount()

    def start(self, random: bool) -> None:
        if self.options.start != "random" and not self._placed:
            self._start_warm()
        else:
            super().start(random)

    def _start_warm(self) -> None:
        self.gamma = self._room()

        def take(rows: Rows, order: NDArray[np.uint32], begin: int) -> None:
            pairs.copy_rows(rows, order, self.topics, self.gamma, begin)

        self.nw = warm_start(self.state, self.options, self.engine, self.schedule, self.gamma, take)
        self.gamma[len(self.words) * self.topics :] = 0
        self.nd = self._rows(self.state.n_documents)
        self._recount()
        self._add_seeds()
        self._settle()

    def _room(self) -> Rows:
        # Not zeros: every row is written by a start, and untouched memory costs nothing until then.
        return np.empty(len(self.words) * self.topics + SLACK, np.float32)

    def _by_word(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        starts = np.zeros(self.state.n_words + 1, np.int64)
        order = np.empty(len(self.words), np.uint32)
        pairs.by_word(self.words, starts, order)
        return starts, order

    def _recount(self) -> None:
        """Every count summed anew from the assignments."""
        soft.document_sums(self.pairs, self.gamma, self.nd, *self._document_variances())
        self._recount_words()

    def _recount_words(self) -> None:
        starts, order = self._by_word()
        rows = self._word_variances()

        def work(part: tuple[int, int]) -> None:
            soft.word_sums(self.counts, self.gamma, starts, order, *part, self.topics, self.nw, *rows)

        self._over_words(work)

    def _document_variances(self) -> list[Rows]:
        return []

    def _word_variances(self) -> list[Rows]:
        return []

    def _best(self) -> NDArray[np.uint16]:
        best = np.empty(len(self.words), np.uint16)
        pairs.best_topics(self.gamma, self.topics, best)
        return best

    def arrays(self) -> dict[str, NDArray[Any]]:
        return super().arrays() | {"gamma": self.gamma}

    def declared(self) -> tuple[Array, ...]:
        return *super().declared(), Array("gamma", "float32", PAIRS * TOPICS + SLACK, low=0, high=1.001)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(arrays)
        self.gamma = arrays["gamma"].copy()

    def score(self) -> float:
        """-F of eq. 12 per token: E[log p(w, z)] + the entropy of the assignments.

        E[log Γ(α + n)] for n a sum of independent indicators: the case n = 0 exactly, and for n > 0 the second-order
        Taylor series about its conditional mean (eq. 17; Teh, Kurihara & Welling 2008, section 4).
        """
        state = self.state
        alpha = np.ascontiguousarray(state.alpha)
        base = bounds.special_function("lgamma", alpha)
        found = self.engine.map(
            lambda docs: bounds.document_bound(self.pairs, docs, self.gamma, alpha, base), self.schedule.shards
        )
        total = float(sum(rising + entropy for rising, entropy in found)) - self._document_normaliser()
        starts, order = self._by_word()
        seeds = self._seeds_by_word()

        def work(part: tuple[int, int]) -> tuple[float, NDArray[np.float64]]:
            sums = np.zeros((3, self.topics))
            value = bounds.word_bound(self.counts, self.gamma, starts, order, *part, state.beta, *seeds, sums)
            return value, sums

        parts = self._over_words(work)
        total += float(sum(value for value, _ in parts))
        sums = np.ascontiguousarray(sum(sums for _, sums in parts)).astype(np.float32)
        prior = np.full(self.topics, self._beta_sum)
        np.add.at(prior, state.seeds.topics, state.seeds.counts.astype(np.float64))
        total -= float(np.sum(bounds.expected_rising(sums[0], sums[1], sums[2], prior)))
        return total / max(state.n_tokens, 1)

    def _seeds_by_word(self) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.int64]]:
        seeds = self.state.seeds
        if not len(seeds):
            return np.zeros(0, np.int64), np.zeros(0, np.uint16), np.zeros(0, np.int64)
        order = np.argsort(seeds.words, kind="stable")
        starts = np.searchsorted(seeds.words[order], np.arange(self.state.n_words + 1)).astype(np.int64)
        return starts, seeds.topics[order].copy(), seeds.counts[order].copy()

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        moved = self._sweep()
        if step % RECOUNT == RECOUNT - 1:
            self._recount_words()
            self._add_seeds()
        self._settle()
        return {"changed": moved / max(self.state.n_tokens, 1)}

    @abstractmethod
    def _sweep(self) -> float:
        """Renew every assignment; how many tokens' worth of probability moved."""

    def _settle(self) -> None:
        self.totals = soft.column_sums(self.nw, self.topics)


class Cvb0(Stored):
    """γ ∝ (α + E n_dk)(β + E n_kw) / (B + E n_k), each expectation without the token itself."""

    name = "cvb0"

    def _sweep(self) -> float:
        moved = 0.0
        for epoch, cells in enumerate(self.schedule.epochs()):
            before = self.totals
            results = self.engine.map(partial(self._cell, epoch == 0), cells)
            self.totals = before + sum(after - before for _, after in results)
            moved += sum(amount for amount, _ in results)
        return moved

    def _cell(self, rebuild: bool, cell: Cell) -> tuple[float, NDArray[np.float64]]:
        totals = self.totals.copy()
        moved = soft.cvb0_cell(
            self.pairs, self._documents(cell), cell.block, rebuild, self.gamma, self.nd, self.nw, totals,
            self._alpha32, self._beta32, self._beta_sum,
        )  # fmt: skip
        return moved, totals
