"""The documents of one machine: read where they are worked on, from byte ranges of files that all machines see."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.gibbs import layout
from topicx.engines.threads import Engine, Threads
from topicx.files.stored_arrays import StoredArray
from topicx.sampling import random_streams
from topicx.sampling.schedule import ScheduleLevels, first_of, shuffled_documents
from topicx.state import NONE, document_batches

_PIECE = 1 << 20
"""Tokens that a thread puts in order at a time."""


@dataclass(frozen=True)
class CorpusFiles:
    """A corpus as all machines find it, and how it is cut up."""

    words: StoredArray
    offsets: StoredArray
    rank: StoredArray
    """The number of each word, by block and then by id."""
    groups: StoredArray | None
    allowed: tuple[StoredArray, StoredArray] | None
    """The topics that each document may have: where they begin, and the topics."""
    bounds: tuple[int, ...]
    """The first document of each (inner) shard, and the number of all."""
    ranks: tuple[int, ...]
    """The first rank of each (inner) block, and the number of words."""
    levels: ScheduleLevels
    seed: int
    chain: int

    def documents(self, number: int) -> tuple[int, int]:
        """The first document of an outer shard, and of the next."""
        inner = self.levels.inner
        return self.bounds[number * inner], self.bounds[(number + 1) * inner]

    def outer_ranks(self) -> tuple[int, ...]:
        """The first rank of each outer block, and the number of words."""
        return self.ranks[:: self.levels.inner]


@dataclass(frozen=True)
class Shard:
    """The documents of an outer shard, in the schedule's order; its topics travel apart."""

    words: NDArray[np.uint32]
    """Each token's word, counted from the first of its outer block."""
    offsets: NDArray[np.int64]
    segments: NDArray[np.int64]
    """Where the tokens of each (inner) block begin in each document."""
    orders: list[NDArray[np.uint32]]
    """The documents of each inner shard as they are visited."""
    groups: NDArray[np.uint32]
    allowed: tuple[NDArray[np.int64], NDArray[np.uint16]] | None

    def active(self, inner: int, share: float) -> NDArray[np.uint32]:
        """The first documents of an inner shard: this share of them, rounded up."""
        order = self.orders[inner]
        return order[: first_of(order, share)]


@dataclass(frozen=True)
class TopicSource:
    """Where the topics of a shard's tokens come from."""

    kind: str
    """Kind of source: random, none, corpus (a file of all tokens in corpus order) or shard (a file of these in the
    schedule's)."""
    topics: int = 0
    file: StoredArray | None = None


def load_shard(files: CorpusFiles, number: int, threads: int) -> Shard:
    """Read an outer shard."""
    first, last = files.documents(number)
    begin, end = _tokens(files, number)
    inner, partitions = files.levels.inner, files.levels.partitions
    offsets = files.offsets.read(first, last + 1) - begin
    words, rank = files.words.read(begin, end), files.rank.read()
    ranks = np.empty(len(words), np.uint32)
    edges = np.array(files.ranks, np.int64)
    block_of_word = (np.searchsorted(edges[1:], rank, side="right")).astype(np.uint16)
    segments = np.empty((last - first) * (partitions + 1), np.int64)
    pieces, spare = list(document_batches(offsets, _PIECE)), np.empty_like(words)
    with Threads(threads) as engine:
        engine.map(lambda p: layout.find_segments(*p, words, offsets, block_of_word, partitions, segments), pieces)
        engine.map(lambda p: layout.arrange_tokens(*p, words, offsets, rank, words, spare, False, ranks), pieces)
    outer = np.array(files.outer_ranks(), np.int64)
    ranks -= outer[np.searchsorted(outer[1:], ranks, side="right")].astype(np.uint32)
    lengths = np.diff(offsets)
    orders = []
    for shard, (a, b) in enumerate(pairwise(files.bounds[number * inner : (number + 1) * inner + 1])):
        orders.append(
            shuffled_documents(a - first, b - first, lengths, files.seed, files.chain, number * inner + shard)
        )
    groups = np.zeros(0, np.uint32) if files.groups is None else files.groups.read(first, last)
    return Shard(ranks, offsets, segments, orders, groups, _allowed(files, first, last))


def load_topics(files: CorpusFiles, number: int, source: TopicSource, threads: int) -> NDArray[np.uint16]:
    """The topics of a shard's tokens in the schedule's order."""
    if source.kind == "shard":
        assert source.file is not None
        return source.file.read()
    begin, end = _tokens(files, number)
    if source.kind == "none":
        return np.full(end - begin, NONE, np.uint16)
    if source.kind == "random":
        z = random_streams.random_topics_between(begin, end, source.topics, files.seed, files.chain)
    else:
        assert source.file is not None
        z = source.file.read(begin, end)
    with Threads(threads) as engine:
        return _reorder(files, number, z, engine, back=False)


def restore_topics(files: CorpusFiles, number: int, z: NDArray[np.uint16], engine: Engine) -> NDArray[np.uint16]:
    """A shard's topics in corpus order."""
    return _reorder(files, number, z, engine, back=True)


def _reorder(
    files: CorpusFiles, number: int, z: NDArray[np.uint16], engine: Engine, back: bool
) -> NDArray[np.uint16]:  # fmt: skip
    first, last = files.documents(number)
    begin, end = _tokens(files, number)
    words, offsets = files.words.read(begin, end), files.offsets.read(first, last + 1) - begin
    rank, out = files.rank.read(), np.empty_like(z)
    pieces = list(document_batches(offsets, _PIECE))
    engine.map(lambda p: layout.arrange_tokens(*p, words, offsets, rank, z, out, back), pieces)
    return out


def store_topics(folder: Path, name: str, z: NDArray[np.uint16]) -> StoredArray:
    """Keep a shard's topics where all machines find them."""
    return StoredArray.write(folder / name, z)


def has_unplaced(z: NDArray[np.uint16]) -> bool:
    """Whether any of these tokens has no topic."""
    return bool(np.any(z == NONE))


def _tokens(files: CorpusFiles, number: int) -> tuple[int, int]:
    """The first token of an outer shard, and of the next."""
    first, last = files.documents(number)
    return int(files.offsets.read(first, first + 1)[0]), int(files.offsets.read(last, last + 1)[0])


def _allowed(files: CorpusFiles, first: int, last: int) -> Any:
    if files.allowed is None:
        return None
    starts = files.allowed[0].read(first, last + 1)
    return starts - starts[0], files.allowed[1].read(int(starts[0]), int(starts[-1]))
