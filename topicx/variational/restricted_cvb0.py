"""CVB0 among a document's own topics (labels): Papanikolaou et al. 2017, eq. 6 with the restriction of eq. 5.

Memory: 8 bytes for each topic that each pair of document and word may have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import bounds, pairs
from topicx._kernels.soft import restricted_soft as kernel
from topicx.engines.threads import Engine, Threads
from topicx.errors import InputError
from topicx.estimate import restricted_counts as estimators
from topicx.files.array_sizes import ENTRIES, TOPICS, named_size
from topicx.files.schema import Array
from topicx.sampling import random_streams
from topicx.sampling.method import Method
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.restricted_gibbs import AllowedDocuments
from topicx.sampling.schedule import Cell, Schedule, ScheduleLevels
from topicx.sampling.special_functions import gammaln
from topicx.sampling.updates.prior_fixed_points import DocumentStatistics
from topicx.state import NONE, Csr, State
from topicx.topic_sets import allowed_of, by_document, check_topics, document_of_entry, entry_alpha
from topicx.variational.soft_method import pair_up, require_memory

Floats = NDArray[np.float64]


class RestrictedCvb0(Method):
    """γ ∝ (α + E n_dk)(β + E n_kw) / (B + E n_k) over the document's topics, expectations without the token itself."""

    objective = "CVB bound per token (zero counts exact, positive ones by two Taylor terms)"

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        super().__init__(state, options, engine)
        self.allowed = allowed_of(state)
        words, counts, offsets = pair_up(state.words, state.offsets, state.n_words)
        choices = np.diff(self.allowed[0])
        self.gamma_start = np.zeros(state.n_documents + 1, np.int64)
        np.cumsum(np.diff(offsets) * choices, out=self.gamma_start[1:])
        entries = int(self.gamma_start[-1])
        if entries >= 1 << 32:
            raise InputError(f"CVB0 keeps {entries:,} assignments, more than it can: use a Gibbs sampler")
        require_memory(engine, "CVB0", len(words), int(choices.max(initial=1)), 16 * entries)
        partitions = ScheduleLevels.of(options.partitions, state.n_tokens, state.n_documents, state.n_words).partitions
        self.schedule = Schedule(words, offsets, state.n_words, partitions, options.seed, options.chain)
        rank = self.schedule.rank
        self.words = rank[self.schedule.arranged(words)]  # by rank: threads at work on two blocks share no cache line
        self.counts, self.offsets = self.schedule.arranged(counts), offsets
        word_offsets, documents, _ = estimators.word_order(state, rank[state.words])
        self.indptr, self.word_topic = estimators.allowed_pairs(word_offsets, documents, self.allowed, Threads(1))
        self.slots = np.empty(entries, np.uint32)
        kernel.slots_of(self.words, offsets, *self.allowed, self.gamma_start, self.indptr, self.word_topic, self.slots)
        self._seed_entries()
        self.gamma = np.zeros(entries, np.float32)
        self.nd: Floats = np.zeros(0)
        self.nw: Floats = np.zeros(0)
        self.totals: Floats = np.zeros(state.n_topics)
        self._own_z = False
        self.set_priors(state.alpha, state.beta)

    def set_priors(self, alpha: Floats, beta: Floats) -> None:
        super().set_priors(np.ascontiguousarray(alpha), np.ascontiguousarray(beta))
        self._beta = np.empty(self.state.n_words)
        self._beta[self.schedule.rank] = self.state.beta

    def _seed_entries(self) -> None:
        """Pseudo-counts beside the words' topics, and those of topics that none of the word's documents may have."""
        seeds, rank = self.state.seeds, self.schedule.rank
        self.pseudo = np.zeros(len(self.word_topic))
        self.pseudo_totals = np.bincount(seeds.topics, seeds.counts, self.state.n_topics)
        self.other_seeds = np.zeros(len(seeds), bool)
        for i, (word, topic, count) in enumerate(zip(rank[seeds.words], seeds.topics, seeds.counts)):
            row = self.word_topic[self.indptr[word] : self.indptr[word + 1]]
            at = int(np.searchsorted(row, topic))
            if at < len(row) and row[at] == topic:
                self.pseudo[self.indptr[word] + at] += count
            else:
                self.other_seeds[i] = True

    # -- work --------------------------------------------------------------------------------------------------

    def start(self, random: bool) -> None:
        """Every pair wholly on one of its document's topics: from the state, or at random."""
        state, options = self.state, self.options
        draw = random_streams.make_generator(options.seed, options.chain, random_streams.START)
        choices, sizes = np.diff(self.allowed[0]), np.diff(self.offsets)
        place = (draw.random(len(self.words)) * np.repeat(choices, sizes)).astype(np.int64)
        if state.placed:
            check_topics(state.z, state, self.allowed)
            found = np.zeros(len(self.words), np.uint16)
            pairs.first_topics(state.words, state.offsets, np.zeros(state.n_words, np.int64), state.z, found)
            document = np.repeat(np.arange(state.n_documents), sizes)
            entries = document_of_entry(self.allowed) << 16 | self.allowed[1]
            at = np.searchsorted(entries, document << 16 | found) - self.allowed[0][document]
            place = np.where(found == NONE, place, at)
        place = self.schedule.arranged(place.astype(np.uint32)).astype(np.int64)
        first = np.repeat(self.gamma_start[:-1], sizes)
        within = np.arange(len(self.words)) - np.repeat(self.offsets[:-1], sizes)
        self.gamma[:] = 0
        self.gamma[first + within * np.repeat(choices, sizes) + place] = 1
        sums = self._sums(1)
        self.nd, self.nw = sums[0][0], sums[1][0] + self.pseudo
        self.totals = self._by_topic(sums[1][0]) + self.pseudo_totals

    def _sums(self, rows: int) -> tuple[Floats, Floats]:
        nd, nw = np.zeros((rows, len(self.allowed[1]))), np.zeros((rows, len(self.word_topic)))
        kernel.sum_assignments(
            self.counts, self.offsets, *self.allowed, self.gamma_start, self.slots, self.gamma, nd, nw
        )
        return nd, nw

    def _by_topic(self, values: Floats) -> Floats:
        """Sums of what stands beside the words' topics."""
        return np.bincount(self.word_topic, values, self.state.n_topics).astype(np.float64)

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        moved = 0.0
        for cells in self.schedule.epochs():
            before = self.totals
            results = self.engine.map(self._cell, cells)
            self.totals = before + sum(after - before for _, after in results)
            moved += sum(amount for amount, _ in results)
        return {"changed": moved / max(self.state.n_tokens, 1)}

    def _cell(self, cell: Cell) -> tuple[float, Floats]:
        totals, state, schedule = self.totals.copy(), self.state, self.schedule
        pairs_of = kernel.PairCell(
            words=self.words, counts=self.counts, offsets=self.offsets, segments=schedule.segments,
            blocks=schedule.partitions, allowed_offsets=self.allowed[0], allowed=self.allowed[1],
            gamma_start=self.gamma_start, slots=self.slots, gamma=self.gamma, nd=self.nd, nw=self.nw, totals=totals,
            alpha=state.alpha, groups=state.groups, beta=self._beta, beta_sum=float(state.beta.sum()),
        )  # fmt: skip
        return kernel.renew_cvb0_cell(pairs_of, schedule.active(cell.shard, 1.0), cell.block), totals

    def score(self) -> float:
        """-F of Teh et al. 2007, eq. 12, per token, as the other collapsed variational methods have it."""
        state = self.state
        nd, nw = self._sums(3)
        alpha = entry_alpha(state, self.allowed)
        sums = by_document(alpha, self.allowed)
        total = _expected_log_rising(nd, alpha) - float(np.sum(gammaln(sums + state.lengths) - gammaln(sums)))
        word = np.repeat(np.arange(state.n_words), np.diff(self.indptr))
        total += _expected_log_rising(nw, self._beta[word] + self.pseudo)
        topics = np.stack([self._by_topic(row) for row in nw])
        total -= _expected_log_rising(topics, state.beta.sum() + self.pseudo_totals)
        total += kernel.assignment_entropy(self.counts, self.offsets, self.allowed[0], self.gamma_start, self.gamma)
        return total / max(state.n_tokens, 1)

    # -- what others ask for -----------------------------------------------------------------------------------

    def document_topics(self) -> Csr:
        return self.allowed[0], self.allowed[1], np.maximum(self.nd, 0)

    def word_topics(self) -> Csr:
        import scipy.sparse

        state, seeds = self.state, self.state.seeds
        shape = (state.n_words, state.n_topics)
        columns = self.word_topic.astype(np.int32)
        rows = scipy.sparse.csr_array((np.maximum(self.nw, 0), columns, self.indptr), shape=shape)[self.schedule.rank]
        if np.any(self.other_seeds):
            where = seeds.words[self.other_seeds].astype(np.int64), seeds.topics[self.other_seeds].astype(np.int64)
            rows = (rows + scipy.sparse.csr_array((seeds.counts[self.other_seeds] * 1.0, where), shape=shape)).tocsr()
            rows.sort_indices()
        return rows.indptr.astype(np.int64), rows.indices.astype(np.uint16), rows.data

    def document_statistics(self) -> DocumentStatistics:
        return AllowedDocuments(np.maximum(self.nd, 0), self.state, self.allowed)

    def sync(self) -> State:
        state = self.state
        best = np.empty(len(self.words), np.uint16)
        kernel.most_probable_topics(self.offsets, *self.allowed, self.gamma_start, self.gamma, best)
        of_pair = np.ascontiguousarray(self.schedule.restored(best))
        if not self._own_z:  # the array that came with the state is the caller's
            state.z, self._own_z = np.empty(state.n_tokens, np.uint16), True
        pairs.spread_to_tokens(state.words, state.offsets, np.zeros(state.n_words, np.int64), of_pair, state.z)
        return state

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"gamma": self.gamma, "nd": self.nd, "nw": self.nw, "totals": self.totals}

    def declared(self) -> tuple[Array, ...]:
        most = 1.01 * (self.state.n_tokens + float(self.state.seeds.counts.sum())) + 1
        return (
            Array("gamma", "float32", named_size("assignments"), low=0, high=1.001),
            Array("nd", "float64", ENTRIES, low=-1, high=most),
            Array("nw", "float64", named_size("slots"), low=-1, high=most),
            Array("totals", "float64", TOPICS, low=-1, high=most),
        )

    def sizes(self) -> dict[str, int]:
        mine = {"assignments": len(self.gamma), "entries": len(self.allowed[1]), "slots": len(self.word_topic)}
        return super().sizes() | mine

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.gamma, self.nd, self.nw, self.totals = (arrays[n].copy() for n in ("gamma", "nd", "nw", "totals"))

    def verify(self) -> None:
        """Raise AssertionError unless the counts are the sums of the assignments (what tests call)."""
        nd, nw = self._sums(1)
        assert np.allclose(self.nd, nd[0], atol=1e-6), "n_dk"
        assert np.allclose(self.nw, nw[0] + self.pseudo, atol=1e-6), "n_kw"
        totals = self._by_topic(nw[0]) + self.pseudo_totals
        assert np.allclose(self.totals, totals, atol=1e-6), "n_k"


def _expected_log_rising(sums: Floats, prior: Floats) -> float:
    """Σ E[log Γ(prior + n)] - log Γ(prior); sums: mean, variance and log p(n = 0) of each n."""
    mean, variance, none = np.ascontiguousarray(sums, np.float32)
    return float(np.sum(bounds.expected_rising(mean, variance, none, np.ascontiguousarray(prior, np.float64))))
