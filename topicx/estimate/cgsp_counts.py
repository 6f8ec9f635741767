"""CGS_p: expected counts instead of sampled ones, from one state (Papanikolaou et al. 2017, Algorithm 1, eq. 40, 41).

    θ^p_dk ∝ Σ_j p_djk + α_k        φ^p_kv ∝ Σ_{dj: w = v} p_djk + β_v

with p_dj the full conditional of token j of document d, its own count left out everywhere, the topic total included.
`topicx._kernels.estimate.estimate` tells how it is computed without a pass over all topics for each token.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.estimate import counts as counting
from topicx._kernels.estimate import estimate as kernel
from topicx.common_methods import Summarized
from topicx.engines.threads import Engine, engine_of
from topicx.errors import InputError
from topicx.state import Csr, State, document_topics

MAX_ENTRIES = 50_000_000
"""The most entries of φ^p that are kept (ten bytes each) unless the caller says otherwise."""
_BATCH = 1 << 21  # numbers of a θ batch, and of a φ block: 16 MB
_DENSE = 4  # a row is kept dense where a topic in this many is in it

ThetaRows = tuple[int, NDArray[np.float64]]


@dataclass
class WordCounts:
    """Expected counts by word: entries as in a model, and what was left out of them."""

    indptr: NDArray[np.int64]
    topics: NDArray[np.uint16]
    values: NDArray[np.float64]
    """Word w has values[indptr[w]:indptr[w + 1]] in these topics."""
    remainder: NDArray[np.float64]
    """What each word has beside its entries (empty: nothing)."""
    remainder_share: NDArray[np.float64]
    """Each topic's share of the remainder."""


@dataclass(repr=False)
class DumpCounts(Summarized):
    """DumpCounts that do not come from the state's own tokens: a dump's. They leave no token's own count out."""

    document_rows: Csr
    """n_dk, a row a document."""
    word_rows: Csr
    """n_kw, a row a word."""
    totals: NDArray[np.int64]
    """n_k."""


class Conditionals:
    """The full conditionals of every token of a state, ready to be summed by document and by word.

    The work over documents comes first; what it leaves for the words is kept: 16 bytes a distinct pair, 18 a token.

    Parameters
    ----------
    state : State
        Assignments of all tokens.
    threads : int or Engine, default 0
        Threads (0: all cores), or what runs work in parallel. The result never depends on it.
    counts : DumpCounts, optional
        Counts of a dump, for a state without assignments.
    word_rows : Csr, optional
        n_kw, where the caller has it (of more documents than these, where the state is a part of another).
    """

    def __init__(
        self, state: State, threads: int | Engine = 0, counts: DumpCounts | None = None, word_rows: Csr | None = None
    ) -> None:
        if state.n_tokens >= 1 << 32:
            raise InputError(f"{state.n_tokens:,} tokens: estimators take fewer than {1 << 32:,} at once")
        self.state = state
        self.engine = engine_of(threads)
        topics = state.n_topics
        self._size = -(-topics // 16) * 16
        word_offsets, documents = self._group()
        if counts:
            word_rows, totals = counts.word_rows, counts.totals.astype(np.float64)
        else:
            # the tokens are grouped by word already; seed words need the state's own way
            if word_rows is None and len(state.seeds):
                word_rows = state.word_topics()
            word_rows = word_rows or document_topics(self._z, word_offsets, topics)
            totals = np.bincount(word_rows[1], weights=word_rows[2], minlength=topics).astype(np.float64)
        by_document = self._rows(counts.document_rows if counts else state.document_topics())
        by_word = self._rows(word_rows)
        self._order_pairs(word_offsets, documents, by_word)
        beta_sum = float(state.beta.sum())
        self._given = kernel.Given(
            topics, by_document, by_word, self._padded(state.alpha), np.ascontiguousarray(state.groups, np.uint32),
            np.ascontiguousarray(state.beta, np.float64), self._padded(1 / (totals + beta_sum)),
            self._padded(1 / np.where(totals > 0, (totals - 1) + beta_sum, 1.0)), self._pair_begin, self._z, self._own,
        )  # fmt: skip
        self._shares = np.zeros(0)
        self._own_document = np.zeros(0, np.int32)

    def _padded(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows with zeros up to a multiple of 16 topics."""
        wide = np.zeros((*rows.shape[:-1], self._size))
        wide[..., : rows.shape[-1]] = rows
        return wide

    def _rows(self, csr: Csr) -> tuple[Any, ...]:
        indptr, topics, counts = csr
        if len(counts) and int(counts.max()) >= 1 << 31:
            raise InputError(f"a count of {int(counts.max()):,}: estimators take counts below {1 << 31:,}")
        narrow = counts.astype(np.int32)
        chosen = np.flatnonzero(np.diff(indptr) * _DENSE >= self._size)
        dense_at = np.full(len(indptr) - 1, -1, np.int64)
        dense_at[chosen] = np.arange(len(chosen), dtype=np.int64) * self._size
        dense = np.zeros(len(chosen) * self._size, np.int32)
        kernel.fill_dense(indptr, topics, narrow, dense_at, dense)
        return indptr, topics, narrow, dense_at, dense

    def _group(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """The tokens' topics in the order of words, then documents; where each word begins, and the documents."""
        state = self.state
        words = np.ascontiguousarray(state.words)
        word_offsets = np.zeros(state.n_words + 1, np.int64)
        counting.add_word_counts(words, word_offsets[1:])
        np.cumsum(word_offsets, out=word_offsets)
        documents = np.empty(state.n_tokens, np.uint32)
        self._z = np.empty(state.n_tokens, np.uint16)
        self._first_of_word = np.zeros(state.n_words + 1, np.int64)
        self._first_of_document = np.zeros(state.n_documents + 1, np.int64)
        kernel.group_tokens_by_word(
            words, np.ascontiguousarray(state.z), state.offsets, word_offsets[:-1].copy(), documents, self._z,
            self._first_of_word, self._first_of_document,
        )  # fmt: skip
        np.cumsum(self._first_of_word, out=self._first_of_word)
        np.cumsum(self._first_of_document, out=self._first_of_document)
        return word_offsets, documents

    def _order_pairs(
        self, word_offsets: NDArray[np.int64], documents: NDArray[np.uint32], by_word: tuple[Any, ...]
    ) -> None:
        state = self.state
        number = int(self._first_of_word[-1])
        self._pair_document = np.empty(number, np.uint32)
        self._pair_word = np.empty(number, np.uint32)
        self._pair_begin = np.empty(number + 1, np.uint32)
        self._pair_begin[-1] = state.n_tokens
        self._own = np.empty(state.n_tokens, np.int32)
        indptr, topics, counts = by_word[:3]

        def sort(part: tuple[int, int]) -> None:
            kernel.find_pairs(
                *part, word_offsets, self._first_of_word, documents, self._z, indptr, topics, counts,
                self._pair_document, self._pair_word, self._pair_begin, self._own,
            )  # fmt: skip

        self.engine.map(sort, split_by_weight(word_offsets, self.engine.threads))
        self._order = np.empty(number, np.uint32)
        kernel.by_document(self._pair_document, self._first_of_document[:-1].copy(), self._order)

    # -- documents ---------------------------------------------------------------------------------------------

    def documents(
        self, *, proportions: bool = True, wanted: bool = True, for_words: bool = True
    ) -> Iterator[ThetaRows]:
        """θ^p (or the soft counts) of batches of documents in order: the first document's number and its rows.

        Run it to its end before asking for the words. Without `wanted` it only prepares for them, and yields nothing.
        """
        state = self.state
        if for_words:
            self._shares = np.empty(state.n_tokens)
            self._own_document = np.empty(state.n_tokens, np.int32)
        rows = max(_BATCH // self._size, 1) if wanted else state.n_documents
        for begin in range(0, state.n_documents, max(rows, 1)):
            end = min(begin + rows, state.n_documents)
            out = np.empty((end - begin, state.n_topics)) if wanted else np.empty((0, state.n_topics))

            def work(part: tuple[int, int], begin: int = begin, out: NDArray[np.float64] = out) -> None:
                first, last = part
                kernel.soft_documents(
                    self._given, first, last, self._first_of_document, self._order, self._pair_word, self._shares,
                    self._own_document, out[first - begin :] if wanted else out, proportions,
                )  # fmt: skip

            self.engine.map(work, split_by_weight(self._first_of_document, self.engine.threads, begin, end))
            if wanted:
                yield begin, out

    # -- words -------------------------------------------------------------------------------------------------

    def _word_block(self, first: int, last: int, out: NDArray[np.float64]) -> None:
        kernel.soft_words(
            self._given, first, last, self._first_of_word, self._pair_document, self._shares, self._own_document, out
        )

    def words(self, max_entries: int = MAX_ENTRIES) -> WordCounts:
        """The expected counts behind φ^p, seed words' pseudo-counts included.

        At most `max_entries` of them are kept, the largest; the rest of each word is its remainder.
        """
        state = self.state
        if len(self._shares) != state.n_tokens:
            for _ in self.documents(wanted=False):
                pass
        words, topics = state.n_words, state.n_topics
        if words * topics <= max_entries:
            dense = np.empty((words, topics))

            def fill(part: tuple[int, int]) -> None:
                self._word_block(*part, dense[part[0] :])

            self.engine.map(fill, split_by_weight(self._first_of_word, 4 * self.engine.threads))
            self._add_seeds(0, dense)
            return WordCounts(
                np.arange(words + 1, dtype=np.int64) * topics,
                np.tile(np.arange(topics, dtype=np.uint16), words),
                dense.reshape(-1),
                np.zeros(0),
                np.zeros(0),
            )
        return self._large_words(max_entries)

    def _add_seeds(self, first: int, block: NDArray[np.float64]) -> None:
        """Pseudo-counts are a prior, and stay beside the expected counts of tokens."""
        seeds = self.state.seeds
        here = (seeds.words >= first) & (seeds.words < first + len(block))
        np.add.at(block, (seeds.words[here].astype(np.int64) - first, seeds.topics[here]), seeds.counts[here])

    def _large_words(self, max_entries: int) -> WordCounts:
        words, topics = self.state.n_words, self.state.n_topics
        step = max(_BATCH // topics, 1)
        blocks = [(begin, min(begin + step, words)) for begin in range(0, words, step)]

        def computed(part: tuple[int, int]) -> NDArray[np.float64]:
            block = np.empty((part[1] - part[0], topics))
            self._word_block(*part, block)
            self._add_seeds(part[0], block)
            return block

        def tally(part: tuple[int, int]) -> NDArray[np.int64]:
            histogram = np.zeros(1 << 14, np.int64)
            kernel.tally_magnitudes(computed(part).view(np.uint64), histogram)
            return histogram

        histogram = np.zeros(1 << 14, np.int64)
        for found in self.engine.stream(tally, blocks):
            histogram += found
        from_above = np.cumsum(histogram[::-1])[::-1]
        fits = np.flatnonzero(from_above <= max_entries)
        least = float(np.array([int(fits[0]) << 49 if len(fits) else 0x7FF << 52], np.uint64).view(np.float64)[0])

        def large(part: tuple[int, int]) -> tuple[Any, ...]:
            block = computed(part)
            length = np.zeros(len(block), np.int64)
            columns, values = np.empty(block.size, np.uint16), np.empty(block.size)
            of_word, of_topic = np.zeros(len(block)), np.zeros(topics)
            number = kernel.keep_large(block, least, length, columns, values, of_word, of_topic)
            return length, columns[:number].copy(), values[:number].copy(), of_word, of_topic

        kept = list(self.engine.stream(large, blocks))
        indptr = np.zeros(words + 1, np.int64)
        np.cumsum(np.concatenate([part[0] for part in kept]), out=indptr[1:])
        share = np.zeros(topics)
        for part in kept:
            share += part[4]
        total = share.sum()
        return WordCounts(
            indptr,
            np.concatenate([part[1] for part in kept]),
            np.concatenate([part[2] for part in kept]),
            np.concatenate([part[3] for part in kept]),
            share / total if total > 0 else np.full(topics, 1 / topics),
        )


def split_by_weight(
    offsets: NDArray[np.int64], number: int, begin: int = 0, end: int | None = None
) -> list[tuple[int, int]]:
    """Rows begin..end cut into at most `number` runs of about equal weight, none empty."""
    end = len(offsets) - 1 if end is None else end
    weights = offsets[begin : end + 1] + np.arange(end - begin + 1)  # a row without entries has its cost, too
    wanted = weights[0] + (weights[-1] - weights[0]) * np.arange(1, number) // max(number, 1)
    cuts = [0, *np.searchsorted(weights, wanted).tolist(), end - begin]
    return [(begin + a, begin + b) for a, b in pairwise(cuts) if a < b]
