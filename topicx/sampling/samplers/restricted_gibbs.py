"""Gibbs sampling among the topics that a document may have: its labels (Papanikolaou et al. 2017, eq. 5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from topicx._kernels.gibbs import restricted as kernel
from topicx.engines.threads import Engine
from topicx.files.schema import Array
from topicx.sampling import random_streams
from topicx.sampling.joint_likelihood import words_log_likelihood
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.gibbs import Gibbs
from topicx.sampling.schedule import Cell
from topicx.sampling.special_functions import gammaln
from topicx.sampling.updates.prior_fixed_points import DocumentStatistics
from topicx.state import Csr, State, topic_totals
from topicx.topic_sets import (
    Allowed,
    Hashed,
    aligned_counts,
    allowed_of,
    by_document,
    check_topics,
    document_of_entry,
    entry_alpha,
    random_topics,
)


class Restricted(Gibbs):
    """Every topic that the document may have, exactly; a token costs as many steps as there are of them."""

    kernel_name = "restricted"
    travels = "hashed"

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        self.allowed = allowed_of(state)
        super().__init__(state, options, engine)

    def set_priors(self, alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        super().set_priors(alpha, beta)
        self._beta = np.empty(self.state.n_words)
        self._beta[self.schedule.rank] = self.state.beta

    def start(self, random: bool) -> None:
        state, options = self.state, self.options
        if random and not state.placed:
            self._adopt(first_topics(state, options))
        else:
            super().start(random)

    def _adopt(self, z: NDArray[np.uint16]) -> None:
        check_topics(z, self.state, self.allowed)
        self.words, self.z = self.schedule.ranked(z)
        self.table = Hashed.of(self.state, self.words, self.z, np.ascontiguousarray(self.pseudo[0]))
        self.totals = topic_totals(self.z, self.state.n_topics, self.state.seeds)

    def _rebalance(self) -> None:
        """No row changes its form."""

    def _cell(self, step: int, share: float, maximise: bool, cell: Cell) -> tuple[int, NDArray[np.int64]]:
        options, schedule = self.options, self.schedule
        number = cell.shard * schedule.partitions + cell.block
        totals = self._totals_for(cell)
        tokens = kernel.AllowedCell(
            words=self.words, offsets=self.state.offsets, segments=schedule.segments, blocks=schedule.partitions,
            assigned=self.z, totals=totals, alpha=self.state.alpha, groups=self.state.groups, beta=self._beta,
            beta_sum=self._beta_sum, **self.table.cell_arrays(self.allowed),
        )  # fmt: skip
        key = random_streams.stream_key(options.seed, options.chain, random_streams.CELL, step, number)
        return int(kernel.sweep(tokens, schedule.active(cell.shard, share), cell.block, key, maximise)), totals

    def score(self) -> float:
        return self.score_of(self.sync())

    @staticmethod
    def score_of(state: State) -> float:
        """The objective of a state."""
        return joint_log_likelihood(state)

    def word_topics(self) -> Csr:
        return self.sync().word_topics()

    def document_statistics(self) -> DocumentStatistics:
        counts = aligned_counts(self.z, self.state, self.allowed)
        return AllowedDocuments(counts.astype(np.float64), self.state, self.allowed)

    @staticmethod
    def statistics_of(state: State) -> DocumentStatistics:
        """What the topics of a state say of α."""
        allowed = allowed_of(state)
        return AllowedDocuments(aligned_counts(state.z, state, allowed).astype(np.float64), state, allowed)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}  # the order in which a row is stored decides nothing

    def declared(self) -> tuple[Array, ...]:
        return ()

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._adopt(self.state.z)

    def verify(self) -> None:
        """Raise AssertionError unless rows and totals are the counts of z."""
        fresh = Hashed.of(self.state, self.words, self.z, np.ascontiguousarray(self.pseudo[0]))
        for w in range(self.state.n_words):
            ours, other = (_entries_of_word(table, w) for table in (self.table, fresh))
            assert ours == other, f"word {w}: {ours} is not {other}"
        assert np.array_equal(self.totals, topic_totals(self.z, self.state.n_topics, self.state.seeds)), "n_k"
        check_topics(self.sync().z, self.state, self.allowed)


def first_topics(state: State, options: Options) -> NDArray[np.uint16]:
    """A random start: for each token one of its document's topics."""
    draw = random_streams.make_generator(options.seed, options.chain, random_streams.START)
    return random_topics(state, allowed_of(state), draw)


def _entries_of_word(table: Hashed, word: int) -> dict[int, int]:
    row = table.cells[table.start[word] : table.start[word + 1]]
    if table.mask[word] < 0:
        return {k: int(n) for k, n in enumerate(row) if n}
    return {int(key) - 1: int(n) for key, n in row.reshape(-1, 2) if key}


def joint_log_likelihood(state: State) -> float:
    """log p(w, z | α, β) per placed token."""
    allowed = allowed_of(state)
    counts = aligned_counts(state.z, state, allowed)
    total = documents_log_likelihood(counts, state, allowed)
    total += words_log_likelihood(state.word_topics(), state.topic_totals(), state.beta, state.seeds)
    return total / max(int(counts.sum()), 1)


def documents_log_likelihood(counts: NDArray[Any], state: State, allowed: Allowed) -> float:
    """log p(z | α): each document has a Dirichlet over its own topics."""
    alpha = entry_alpha(state, allowed)
    sums, lengths = by_document(alpha, allowed), by_document(counts, allowed)
    rising = float(np.sum(gammaln(alpha + counts) - gammaln(alpha)))
    return rising - float(np.sum(gammaln(sums + lengths) - gammaln(sums)))


class AllowedDocuments(DocumentStatistics):
    """What counts beside `allowed` say of α: a topic's weight is judged by the documents that may have it."""

    def __init__(self, counts: NDArray[np.float64], state: State, allowed: Allowed) -> None:
        self.counts, self.allowed, self.shape = counts, allowed, state.alpha.shape
        self.document = document_of_entry(allowed)
        group = state.groups[self.document].astype(np.int64) if len(state.groups) else 0
        self.entry = group * state.n_topics + allowed[1].astype(np.int64)
        self.lengths = by_document(counts, allowed)

    def gain(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        own = alpha.ravel()[self.entry]
        return self._sum(digamma(self.counts + own) - digamma(own))

    def cost(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = by_document(alpha.ravel()[self.entry], self.allowed)
        return self._sum((digamma(self.lengths + sums) - digamma(sums))[self.document])

    def _sum(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        size = self.shape[0] * self.shape[1]
        return np.bincount(self.entry, values, size).astype(np.float64).reshape(self.shape)
