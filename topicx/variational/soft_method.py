"""What the variational methods share: pairs instead of tokens, expected counts instead of counts.

A pair is a distinct word of a document with its count; all its tokens have one soft assignment. The schedule's cells
are of pairs, so everything the samplers have (threads, determinism, partitions) holds here too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import bounds, pairs, soft
from topicx.engines.memory_limits import told_size
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.files.array_sizes import DOCUMENTS, PADDED, TOPICS, WORDS
from topicx.files.schema import Array
from topicx.sampling import random_streams
from topicx.sampling.method import Method
from topicx.sampling.run_options import Options
from topicx.sampling.schedule import Cell, Schedule, ScheduleLevels
from topicx.state import NONE, Csr, State
from topicx.variational.expected_statistics import ExpectedDocuments, ExpectedWords

WORD_PARTS = 8
"""Ranges of words that are worked on at once: a fixed number, so that results do not depend on threads."""

Rows = NDArray[np.float32]


class Soft(Method):
    """Pairs, expected counts nd (documents × Kp) and nw (words × Kp, seeds included), totals, and their sums."""

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        super().__init__(state, options, engine)
        words, counts, offsets = pair_up(state.words, state.offsets, state.n_words)
        self.topics = state.n_topics
        self.padded = (self.topics + 15) // 16 * 16
        self._check_memory(len(words))
        partitions = ScheduleLevels.of(options.partitions, state.n_tokens, state.n_documents, state.n_words).partitions
        self.schedule = Schedule(words, offsets, state.n_words, partitions, options.seed, options.chain)
        self.words = self.schedule.arranged(words)
        self.counts = self.schedule.arranged(counts)
        self.offsets = offsets
        self.pairs = pairs.Pairs(
            self.words, self.counts, offsets, self.schedule.segments, state.groups, partitions, self.topics
        )
        self.nd: Rows = np.zeros((0, self.padded), np.float32)
        self.nw: Rows = np.zeros((0, self.padded), np.float32)
        self.totals = np.zeros(self.topics)
        self._own_z = False
        self.set_priors(state.alpha, state.beta)

    def set_priors(self, alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        super().set_priors(np.ascontiguousarray(alpha), np.ascontiguousarray(beta))
        self._alpha32 = np.zeros((len(alpha), self.padded), np.float32)
        self._alpha32[:, : self.topics] = alpha
        self._beta32 = self.state.beta.astype(np.float32)
        self._beta_sum = float(self.state.beta.sum())

    @classmethod
    def memory(cls, state: State, options: Options) -> int:
        rows = state.n_documents + state.n_words
        return super().memory(state, options) + 8 * rows * (state.n_topics + 15)

    def _check_memory(self, pairs: int) -> None:
        """Whether the method fits in memory; the default needs rows of documents and words only."""

    # -- starts ------------------------------------------------------------------------------------------------

    def start(self, random: bool) -> None:
        """Every pair wholly on one topic, as a sampler's tokens are: from the state, or at random."""
        self.nd, self.nw = self._rows(self.state.n_documents), self._rows(self.state.n_words)
        self._start_at(self._pair_topics())
        self._add_seeds()
        self.totals = soft.column_sums(self.nw, self.topics)

    @property
    def _placed(self) -> bool:
        """Whether the state came with assignments."""
        return self.state.placed

    def _pair_topics(self) -> NDArray[np.uint16]:
        """A topic for each pair (schedule order): that of its first token, where the state has one; else at random."""
        state, options = self.state, self.options
        draw = random_streams.make_generator(options.seed, options.chain, random_streams.START)
        topics = draw.integers(0, self.topics, len(self.words), dtype=np.uint16)
        if self._placed:
            found = np.zeros(len(self.words), np.uint16)
            pairs.first_topics(state.words, state.offsets, np.zeros(state.n_words, np.int64), state.z, found)
            topics = np.where(found == NONE, topics, found)
        return np.ascontiguousarray(self.schedule.arranged(topics))

    def _start_at(self, topics: NDArray[np.uint16]) -> None:
        """Assignments that are wholly on these topics (schedule order); nd and nw are zero."""
        raise TypeError(f"{type(self).__name__} begins otherwise")  # it has a `start` of its own

    def _rows(self, number: int) -> Rows:
        return np.zeros((number, self.padded), np.float32)

    def _add_seeds(self) -> None:
        seeds = self.state.seeds
        np.add.at(self.nw, (seeds.words, seeds.topics), seeds.counts.astype(np.float32))

    # -- work --------------------------------------------------------------------------------------------------

    def _over_cells(self, work: Callable[[Cell], Any]) -> list[Any]:
        """work(cell) for every cell, epoch after epoch; all results in one fixed order."""
        return [result for cells in self.schedule.epochs() for result in self.engine.map(work, cells)]

    def _over_words(self, work: Callable[[tuple[int, int]], Any]) -> list[Any]:
        """work(begin, end) for ranges that cover the vocabulary, in a fixed order."""
        bounds = [self.state.n_words * part // WORD_PARTS for part in range(WORD_PARTS + 1)]
        return self.engine.map(work, list(pairwise(bounds)))

    def _documents(self, cell: Cell) -> NDArray[np.uint32]:
        return self.schedule.active(cell.shard, 1.0)

    # -- what others ask for -----------------------------------------------------------------------------------

    def document_topics(self) -> Csr:
        return dense_csr(self.nd, self.topics)

    def word_topics(self) -> Csr:
        return dense_csr(self.nw, self.topics)

    def document_statistics(self) -> ExpectedDocuments:
        return ExpectedDocuments(self.nd, self.state.lengths, self.state.groups)

    def word_statistics(self) -> ExpectedWords:
        return ExpectedWords(self.nw, self.totals, self.state.beta)

    @abstractmethod
    def _best(self) -> NDArray[np.uint16]:
        """The most probable topic of each pair, in the schedule's order."""

    def sync(self) -> State:
        state = self.state
        of_pair = np.ascontiguousarray(self.schedule.restored(self._best()))
        if not self._own_z:  # the array that came with the state is the caller's
            state.z, self._own_z = np.empty(state.n_tokens, np.uint16), True
        pairs.spread_to_tokens(state.words, state.offsets, np.zeros(state.n_words, np.int64), of_pair, state.z)
        return state

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"nd": self.nd, "nw": self.nw, "totals": self.totals}

    def declared(self) -> tuple[Array, ...]:
        most = 1.01 * (self.state.n_tokens + float(self.state.seeds.counts.sum())) + 1
        return (
            Array("nd", "float32", (DOCUMENTS, PADDED), low=-1, high=most),
            Array("nw", "float32", (WORDS, PADDED), low=-1, high=most),
            Array("totals", "float64", TOPICS, low=-1, high=most),
        )

    def sizes(self) -> dict[str, int]:
        return super().sizes() | {"pairs": len(self.words)}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.nd, self.nw, self.totals = arrays["nd"].copy(), arrays["nw"].copy(), arrays["totals"].copy()

    def _document_normaliser(self) -> float:
        """Σ_d log Γ(Σα + n_d) - log Γ(Σα)."""
        alpha = self.state.document_alpha()
        return float(
            np.sum(
                bounds.special_function("lgamma", alpha + self.state.lengths) - bounds.special_function("lgamma", alpha)
            )
        )


def pair_up(
    words: NDArray[np.uint32], offsets: NDArray[np.int64], n_words: int, seen: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]:
    """The distinct words of each document, their counts, and where each document's begin. seen: zeros, to be reused."""
    pair_words, counts = np.empty(len(words), np.uint32), np.empty(len(words), np.uint32)
    pair_offsets = np.zeros(len(offsets), np.int64)
    seen = np.zeros(n_words, np.int64) if seen is None else seen
    number = pairs.pair_up(words, offsets, seen, pair_words, counts, pair_offsets)
    return pair_words[:number].copy(), counts[:number].copy(), pair_offsets


def dense_csr(rows: Rows, topics: int) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[Any]]:
    indptr = np.arange(len(rows) + 1, dtype=np.int64) * topics
    columns = np.tile(np.arange(topics, dtype=np.uint16), len(rows))
    return indptr, columns, np.maximum(rows[:, :topics], 0).ravel()


def give_back_memory() -> None:
    """Let the C library return what it keeps of freed memory, where it can (glibc)."""
    import contextlib
    import ctypes

    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def require_memory(engine: Engine, method: str, pairs: int, topics: int, needed: int) -> None:
    """InputError unless a run may take `needed` bytes."""
    room = engine.room()
    if needed > room:
        raise InputError(
            f"{method} keeps {pairs:,} pairs of document and word × {topics} topics in {told_size(needed)}, and it may "
            f"take {told_size(max(room, 0))}: use the sampler scvb0, which keeps no assignments"
        )
