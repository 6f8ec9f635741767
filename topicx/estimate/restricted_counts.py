"""The estimators for states whose documents have topics of their own (labels): θ and φ over these alone.

θ_dk = (n_dk + α_k) / (N_d + Σα over the document's topics),  0 for the others;  θ^p and φ^p as in `cgsp`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.estimate import estimate as grouping
from topicx._kernels.gibbs import restricted as kernel
from topicx.engines.threads import Engine, engine_of
from topicx.errors import InputError
from topicx.estimate.cgsp_counts import ThetaRows, WordCounts, split_by_weight
from topicx.state import State
from topicx.topic_sets import (
    Hashed,
    aligned_counts,
    allowed_of,
    by_document,
    check_topics,
    document_of_entry,
    entry_alpha,
)

_BATCH = 1 << 21  # numbers of a batch of θ: 16 MB


def theta_rows(state: State, counts: NDArray[np.float64] | None = None) -> Iterator[ThetaRows]:
    """θ in batches of documents. `counts` stand beside `state.allowed`; None: those of the state's tokens."""
    allowed = allowed_of(state)
    if counts is None:
        check_topics(state.z, state, allowed)
        counts = aligned_counts(state.z, state, allowed).astype(np.float64)
    weights = counts + entry_alpha(state, allowed)
    weights /= np.repeat(by_document(weights, allowed), np.diff(allowed[0]))
    documents = document_of_entry(allowed)
    step = max(_BATCH // state.n_topics, 1)
    for begin in range(0, state.n_documents, step):
        end = min(begin + step, state.n_documents)
        rows = np.zeros((end - begin, state.n_topics))
        here = slice(int(allowed[0][begin]), int(allowed[0][end]))
        rows[documents[here] - begin, allowed[1][here]] = weights[here]
        yield begin, rows


class RestrictedConditionals:
    """The full conditionals of every token, summed by document and by word: `cgsp.Conditionals` for such states."""

    def __init__(self, state: State, threads: int | Engine = 0) -> None:
        self.state = state
        self.engine = engine_of(threads)
        self.allowed = allowed_of(state)
        check_topics(state.z, state, self.allowed)
        self.words_of = np.ascontiguousarray(state.words)
        self.z = np.ascontiguousarray(state.z)
        self.table = Hashed.of(state, self.words_of, self.z, np.ascontiguousarray(state.seeds.words))
        self._cell = kernel.AllowedCell(
            words=self.words_of, offsets=state.offsets, assigned=self.z, totals=state.topic_totals(),
            alpha=np.ascontiguousarray(state.alpha, np.float64), groups=np.ascontiguousarray(state.groups, np.uint32),
            beta=np.ascontiguousarray(state.beta, np.float64), beta_sum=float(state.beta.sum()),
            **self.table.cell_arrays(self.allowed),
        )  # fmt: skip

    def documents(self, *, wanted: bool = True, for_words: bool = True) -> Iterator[ThetaRows]:
        """θ^p of batches of documents in order. What the words need is made when they are asked for."""
        if not wanted:
            return
        soft = np.zeros(len(self.allowed[1]))

        pieces = split_by_weight(self.state.offsets, 4 * self.engine.threads)
        self.engine.map(lambda part: kernel.soft_documents(self._cell, *part, soft), pieces)
        yield from theta_rows(self.state, soft)

    def words(self, max_entries: int) -> WordCounts:
        """The expected counts behind φ^p, seed words' pseudo-counts included: an entry for each topic that a word may
        have. Beyond `max_entries` the largest are kept, and each word's remainder."""
        state = self.state
        offsets, documents, z = word_order(state)
        indptr, topics = allowed_pairs(offsets, documents, self.allowed, self.engine)
        counts = aligned_counts(self.z, state, self.allowed)
        values = np.empty(len(topics))

        def work(part: tuple[int, int]) -> None:
            kernel.soft_words(self._cell, *part, offsets, documents, z, counts, indptr, topics, values)

        self.engine.map(work, split_by_weight(offsets, 4 * self.engine.threads))
        indptr, topics, values = with_seeds(state, indptr, topics, values)
        return largest_word_counts(state, indptr, topics, values, max_entries)


def word_order(
    state: State, words: NDArray[np.uint32] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint16]]:
    """Where each word's tokens begin, and the documents and topics of the tokens, word after word. `words`: the state's
    by other numbers."""
    if state.n_tokens >= 1 << 32:
        raise InputError(f"{state.n_tokens:,} tokens: estimators take fewer than {1 << 32:,} at once")
    words = np.ascontiguousarray(state.words if words is None else words)
    offsets = np.zeros(state.n_words + 1, np.int64)
    np.cumsum(np.bincount(words, minlength=state.n_words), out=offsets[1:])
    documents, z = np.empty(len(words), np.uint32), np.empty(len(words), np.uint16)
    unused = np.zeros(state.n_words + 1, np.int64), np.zeros(state.n_documents + 1, np.int64)
    grouping.group_tokens_by_word(
        words, np.ascontiguousarray(state.z), state.offsets, offsets[:-1].copy(), documents, z, *unused
    )
    return offsets, documents, z


def allowed_pairs(
    offsets: NDArray[np.int64],
    documents: NDArray[np.uint32],
    allowed: tuple[NDArray[np.int64], NDArray[np.uint16]],
    engine: Engine,
) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """The topics that each word may have, by its documents: row offsets and ascending topics."""
    pieces = split_by_weight(offsets, 4 * engine.threads)
    indptr = np.zeros(len(offsets), np.int64)
    nothing = np.zeros(0, np.uint16)
    engine.map(lambda part: kernel.word_pairs(*part, offsets, documents, *allowed, indptr, nothing), pieces)
    np.cumsum(indptr, out=indptr)
    topics = np.zeros(int(indptr[-1]), np.uint16)
    if len(topics):
        engine.map(lambda part: kernel.word_pairs(*part, offsets, documents, *allowed, indptr, topics), pieces)
    return indptr, topics


def with_seeds(
    state: State, indptr: NDArray[np.int64], topics: NDArray[np.uint16], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.float64]]:
    """The entries and the seeds' pseudo-counts, which may stand at other topics."""
    import scipy.sparse

    if not len(state.seeds):
        return indptr, topics, values
    shape = (state.n_words, state.n_topics)
    seeds = state.seeds
    total = scipy.sparse.csr_array((values, topics.astype(np.int32), indptr), shape=shape) + scipy.sparse.csr_array(
        (seeds.counts.astype(np.float64), (seeds.words.astype(np.int64), seeds.topics.astype(np.int64))), shape=shape
    )
    total = total.tocsr()
    total.sort_indices()
    return total.indptr.astype(np.int64), total.indices.astype(np.uint16), total.data


def largest_word_counts(
    state: State, indptr: NDArray[np.int64], topics: NDArray[np.uint16], values: NDArray[np.float64], most: int
) -> WordCounts:
    """At most so many entries, the largest; what is left out is kept by word, and shared by topic."""
    if len(values) <= most:
        return WordCounts(indptr, topics, values, np.zeros(0), np.zeros(0))
    word = np.repeat(np.arange(state.n_words), np.diff(indptr))
    kept = np.sort(np.lexsort((np.arange(len(values)), -values))[:most])
    left = np.ones(len(values), bool)
    left[kept] = False
    share = np.bincount(topics[left], values[left], state.n_topics)
    new = np.zeros(state.n_words + 1, np.int64)
    np.cumsum(np.bincount(word[kept], minlength=state.n_words), out=new[1:])
    return WordCounts(
        new, topics[kept], values[kept], np.bincount(word[left], values[left], state.n_words).astype(np.float64),
        share / share.sum() if share.sum() > 0 else np.full(state.n_topics, 1 / state.n_topics),
    )  # fmt: skip
