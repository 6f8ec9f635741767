"""The schedule: what runs at the same time, decided by the corpus and the options, never by the machine.

Documents are cut into P shards and the vocabulary into P blocks, both balanced by tokens. In epoch e of a sweep the P
cells (shard i, block (i + e) mod P) share no document and no word, so they may run at once; only the topic totals are
stale within an epoch, and are summed in a fixed order at its end. P = 1 is the textbook serial chain.

There may be two levels: P = O I, where O machines have I shards each. I neighbouring shards are an outer shard, I
neighbouring blocks an outer block. In an outer epoch every machine works on one outer block, in I inner epochs, whose
totals it sums as above; what the others move it sees at the outer epoch's end. Then the blocks go round: a machine
needs one outer block at a time. All machines, some of them or one make the same draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.estimate import counts
from topicx._kernels.gibbs import layout
from topicx.engines.threads import Engine, Threads
from topicx.sampling import random_streams
from topicx.state import document_batches, over_paths

_PIECE = 1 << 20
"""Tokens that a thread puts in order at a time."""


class ScheduleLevels(NamedTuple):
    """How many shards and blocks there are on each level: `outer` × `inner` of each together."""

    outer: int
    inner: int

    @classmethod
    def of(cls, partitions: int | str, tokens: int, documents: int, words: int) -> ScheduleLevels:
        """What the option `partitions` means for a corpus of this size: nothing is cut into more than it has."""
        if isinstance(partitions, str):
            outer, inner = (int(part) for part in partitions.split("x"))
        else:
            outer, inner = 1, partitions or default_partitions(tokens, documents)
        most = max(1, min(documents, words))
        outer = min(outer, most)
        return cls(outer, max(1, min(inner, most // outer)))

    @property
    def partitions(self) -> int:
        return self.outer * self.inner


@dataclass(frozen=True)
class Cell:
    """Documents of one shard, words of one block."""

    shard: int
    block: int


class Schedule:
    """Shards, blocks, and the order of tokens within documents that makes a cell's tokens of a document adjacent."""

    def __init__(
        self,
        words: NDArray[np.uint32],
        offsets: NDArray[np.int64],
        n_words: int,
        partitions: int,
        seed: int,
        chain: int,
        paths: int = 1,
        engine: Engine | None = None,
        outer: int = 1,
    ) -> None:
        """With several paths the documents are there as often, document d of path m being number m D + d; their words
        are not. `engine` shares the work of putting tokens in order. `outer`: outer shards that the partitions make."""
        self.partitions = partitions
        self.levels = ScheduleLevels(outer, partitions // outer)
        self._engine = engine or Threads(1)
        self._words, self._offsets = words, offsets
        offsets = over_paths(offsets, paths)
        documents = len(offsets) - 1
        lengths = np.diff(offsets)
        bounds = shard_bounds(offsets, partitions)
        self.bounds = bounds
        """The first document of each shard, and the number of all."""
        self.shards = [
            shuffled_documents(bounds[shard], bounds[shard + 1], lengths, seed, chain, shard)
            for shard in range(partitions)
        ]
        # Tokens of each word (of one path).
        self.frequencies, self.block_of_word = word_blocks(words, n_words, partitions, self._engine)
        # Words by block, then by id: the order of tokens within a document. Kernels that write something for each word
        # number the words by it, so that threads at work on different blocks never write to one cache line.
        self.rank = ranks_by_block(self.block_of_word)
        self.segments = np.empty((len(self._offsets) - 1) * (partitions + 1), np.int64)
        self._over_documents(
            lambda first, last: layout.find_segments(
                first, last, words, self._offsets, self.block_of_word, partitions, self.segments
            )
        )
        self.sizes = np.zeros((partitions, partitions), np.int64)
        """Tokens of each shard in each block (of one path; of several it is not told)."""
        if paths == 1 and documents:
            begins = np.minimum(bounds[:-1], documents - 1)
            self.sizes = np.diff(np.add.reduceat(self.segments.reshape(documents, -1), begins, axis=0), axis=1)

    def epochs(self) -> list[list[Cell]]:
        """The cells of a sweep: those of one inner list may run at once."""
        p = self.partitions
        return [[Cell(i, (i + epoch) % p) for i in range(p)] for epoch in range(p)]

    def rounds(self) -> list[list[list[Cell]]]:
        """The outer epochs of a sweep, each as its inner epochs: the cells of all machines that may run at once."""
        outer, inner = self.levels
        return [
            [
                [
                    Cell(o * inner + i, (o + round) % outer * inner + (i + epoch) % inner)
                    for o in range(outer)
                    for i in range(inner)
                ]
                for epoch in range(inner)
            ]
            for round in range(outer)
        ]

    def outer_bounds(self) -> NDArray[np.int64]:
        """The first document of each outer shard, and the number of all."""
        return self.bounds[:: self.levels.inner]

    def largest_first(self, cells: list[Cell]) -> list[Cell]:
        """The cells in the order in which fewer threads than cells are done soonest."""
        return sorted(cells, key=lambda cell: -self.sizes[cell.shard, cell.block])

    def active(self, shard: int, share: float) -> NDArray[np.uint32]:
        """The first documents of a shard: this share of them, rounded up."""
        documents = self.shards[shard]
        return documents[: first_of(documents, share)]

    def arranged(self, values: NDArray[Any], *, in_place: bool = False) -> NDArray[Any]:
        """Token values (of one path or of more) from corpus order into the schedule's order."""
        return self._reorder(values, back=False, in_place=in_place)

    def ranked(self, values: NDArray[Any], *, in_place: bool = False) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """The ranks of the tokens' words, and token values, in the schedule's order: from one sort."""
        ranks = np.empty(len(self._words), np.uint32)
        return ranks, self._reorder(values, back=False, in_place=in_place, ranks=ranks)

    def restored(self, values: NDArray[Any], ranks: NDArray[np.uint32] | None = None) -> NDArray[Any]:
        """Token values from the schedule's order back into corpus order. `ranks` (of `ranked`) save a sort."""
        return self._reorder(values, back=True, ranks=ranks)

    def order_within(self, begin: int, end: int) -> NDArray[np.uint32]:
        """Where, from the first of these documents' tokens on, each place of the schedule's order has its token."""
        bounds = self._offsets[begin : end + 1]
        words = self._words[bounds[0] : bounds[-1]]
        order = np.empty(len(words), np.uint32)
        places = np.arange(len(words), dtype=np.uint32)
        layout.arrange_tokens(0, end - begin, words, bounds - bounds[0], self.rank, places, order, False)
        return order

    def _over_documents(self, work: Callable[[int, int], None]) -> None:
        """work(first, last) over all documents, in pieces that are done at the same time."""
        self._engine.map(lambda part: work(*part), list(document_batches(self._offsets, _PIECE)))

    def _reorder(
        self, values: NDArray[Any], back: bool, in_place: bool = False, ranks: NDArray[np.uint32] | None = None
    ) -> NDArray[Any]:
        values = np.ascontiguousarray(values)
        out = values if in_place and values.flags.writeable else np.empty_like(values)
        for begin in range(0, len(values), max(len(self._words), 1)):
            source, target = (array[begin : begin + len(self._words)] for array in (values, out))
            self._over_documents(partial(self._arrange, source, target, back, ranks))
        return out

    def _arrange(
        self, source: NDArray[Any], target: NDArray[Any], back: bool, ranks: NDArray[np.uint32] | None,
        first: int, last: int,
    ) -> None:  # fmt: skip
        documents = first, last, self._words, self._offsets, self.rank
        if back and ranks is not None:
            layout.restore_tokens(*documents, ranks, source, target)
        else:
            layout.arrange_tokens(*documents, source, target, back, ranks)


def shard_bounds(offsets: NDArray[np.int64], partitions: int) -> NDArray[np.int64]:
    """Contiguous shards of about equal tokens: the first document of each, and the number of all."""
    documents = len(offsets) - 1
    ends = np.searchsorted(offsets[1:], offsets[-1] * np.arange(1, partitions) / partitions, side="left") + 1
    return np.concatenate([[0], np.minimum(ends, documents), [documents]]).astype(np.int64)


def shuffled_documents(
    first: int, last: int, lengths: NDArray[np.int64], seed: int, chain: int, shard: int
) -> NDArray[np.uint32]:
    """The documents first..last of a shard that have tokens, in the order in which they are visited: it is shuffled, so
    that the first of them are a random sample (what a growing start needs)."""
    order = np.arange(first, last, dtype=np.uint32)
    random_streams.make_generator(seed, chain, random_streams.SHUFFLE, shard).shuffle(order)
    return order[lengths[order] > 0]


def first_of(documents: NDArray[np.uint32], share: float) -> int:
    """How many of a shard's documents this share is, rounded up."""
    return int(np.ceil(share * len(documents)))


def ranks_by_block(block_of_word: NDArray[np.uint16]) -> NDArray[np.uint32]:
    """The number of each word among all, by block and then by id."""
    rank = np.empty(len(block_of_word), np.uint32)
    rank[np.argsort(block_of_word, kind="stable")] = np.arange(len(block_of_word), dtype=np.uint32)
    return rank


def outer_ranks(block_of_word: NDArray[np.uint16], levels: ScheduleLevels) -> NDArray[np.int64]:
    """The first rank of each outer block of words, and their number."""
    words = np.bincount(block_of_word // levels.inner, minlength=levels.outer)
    return np.concatenate([[0], np.cumsum(words)])


def word_blocks(
    words: NDArray[np.uint32], n_words: int, partitions: int, engine: Engine
) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """The tokens of each word, and its block."""
    pieces = range(0, len(words), max(-(-len(words) // engine.threads), _PIECE))
    found = engine.map(lambda begin: _word_frequencies(words[begin : begin + pieces.step], n_words), pieces)
    frequencies: NDArray[np.int64] = sum(found[1:], found[0]) if found else np.zeros(n_words, np.int64)
    blocks = balanced_blocks(frequencies, partitions) if partitions > 1 else np.zeros(n_words, np.uint16)
    return frequencies, blocks


def _word_frequencies(words: NDArray[np.uint32], n_words: int) -> NDArray[np.int64]:
    tokens = np.zeros(n_words, np.int64)
    counts.add_word_counts(words, tokens)
    return tokens


def balanced_blocks(frequencies: NDArray[np.int64], partitions: int) -> NDArray[np.uint16]:
    """A block for each word, equal in tokens: the most frequent first, each to the block with the fewest so far."""
    import heapq

    blocks = np.zeros(len(frequencies), np.uint16)
    order = np.lexsort((np.arange(len(frequencies)), -frequencies))
    heap = [(0, block) for block in range(partitions)]
    head, tail = order[: 1024 * partitions], order[1024 * partitions :]
    for word in head.tolist():
        load, block = heapq.heappop(heap)
        blocks[word] = block
        heapq.heappush(heap, (load + int(frequencies[word]), block))
    # The rare words fill up what each block lacks, a run of them a block: no heap over millions of words.
    loads = np.array([load for load, _ in sorted(heap, key=lambda item: item[1])])
    rare = np.cumsum(frequencies[tail])
    lacking = np.maximum((frequencies.sum() / partitions) - loads, 0.0)
    if len(tail) and lacking.sum() > 0:
        filled = np.cumsum(lacking) / lacking.sum() * rare[-1]
        blocks[tail] = np.minimum(np.searchsorted(filled, rare, side="left"), partitions - 1)
    return blocks


def default_partitions(tokens: int, documents: int) -> int:
    """P by the size of the corpus alone. Each cell looks at all of a document's topics, so P costs: one thread on short
    documents (IMDB, K = 100) does 24, 20 and 17 million tokens a second with P = 1, 2 and 4."""
    if tokens < 50_000 or documents < 64:
        return 1
    if tokens < 20_000_000:
        return 2
    return 4 if tokens < 100_000_000 else 8
