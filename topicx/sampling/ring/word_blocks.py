"""The counts of one block of words: what goes round. A block is a contiguous slice of the word rows (rows.pxd), or of
the hashed rows of restricted.h, with words counted from the first of the block.

Every function here returns a new block: a task can be done again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.gibbs import restricted, rows
from topicx.engines.threads import Engine
from topicx.files.stored_arrays import StoredArray
from topicx.sampling.ring.shards import Shard
from topicx.state import Csr
from topicx.topic_sets import Hashed

_VECTOR = 16
"""Entries that a row's room is a multiple of."""


@dataclass(frozen=True)
class BlockWords:
    """The words of an outer block, before any token is counted."""

    tokens: StoredArray
    """The tokens of each word of the vocabulary, by rank."""
    seeds: tuple[StoredArray, StoredArray, StoredArray] | None
    """Pseudo-counts, sorted by rank: ranks, topics, counts."""
    first: int
    last: int
    """The ranks of the block's first word and of the next block's."""
    topics: int

    def frequencies(self) -> NDArray[np.int64]:
        return self.tokens.read(self.first, self.last)

    def pseudo(self) -> tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.int64]]:
        """The pseudo-counts of the block's words, counted from its first."""
        if self.seeds is None:
            return np.zeros(0, np.uint32), np.zeros(0, np.uint16), np.zeros(0, np.int64)
        ranks, topics, counts = (array.read() for array in self.seeds)
        a, b = np.searchsorted(ranks, [self.first, self.last])
        return ranks[a:b] - np.uint32(self.first), topics[a:b], counts[a:b]


class WordBlock(Protocol):
    """What a run does with a block, whatever its form."""

    def copied(self) -> WordBlock: ...

    def cell_arrays(self) -> dict[str, Any]:
        """The rows as the kernels name them."""
        ...

    def counting(
        self, shard: Shard, z: NDArray[np.uint16], blocks: range, partitions: int, engine: Engine
    ) -> WordBlock:
        """A block that also has the tokens of a shard, in its inner blocks of these numbers."""
        ...

    def finished(self, words: BlockWords) -> WordBlock:
        """The block after the last shard: what was put in is counted."""
        ...

    def balanced(self, words: BlockWords) -> WordBlock:
        """The block after a sweep."""
        ...

    def totals(self, topics: int) -> NDArray[np.int64]: ...

    def csr(self, topics: int) -> Csr: ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a file keeps of it."""
        ...


@dataclass(frozen=True)
class RowBlock:
    """Rows as the samplers over cells have them."""

    row_start: NDArray[np.int64]
    row_cells: NDArray[np.uint32]
    row_len: NDArray[np.int32]
    topic_bits: int

    def __reduce__(self) -> tuple[Any, ...]:
        """What travels: the entries in use, without the room that rows have for topics to come."""
        entries = rows.entries_in_use(self.row_start, self.row_cells, self.row_len)
        room = (np.diff(self.row_start) // _VECTOR).astype(np.uint16)
        return _with_room, (entries, self.row_len, room, self.topic_bits)

    def __sizeof__(self) -> int:
        """The bytes of its arrays: a cluster plans by what results take."""
        return sum(int(part.nbytes) for part in (self.row_start, self.row_cells, self.row_len))

    @classmethod
    def empty(cls, words: BlockWords) -> RowBlock:
        return cls(*rows.allot_rows(words.frequencies(), words.topics, words.pseudo()))

    def copied(self) -> RowBlock:
        cells = rows.aligned_zeros(len(self.row_cells))
        cells[:] = self.row_cells
        return replace(self, row_cells=cells, row_len=self.row_len.copy())

    def cell_arrays(self) -> dict[str, Any]:
        return {"row_start": self.row_start, "row_cells": self.row_cells, "row_len": self.row_len,
                "topic_bits": self.topic_bits}  # fmt: skip

    def counting(self, shard: Shard, z: NDArray[np.uint16], blocks: range, partitions: int, engine: Engine) -> RowBlock:
        found = self.copied()

        def count(block: int) -> None:
            rows.count_blocks(
                shard.words, z, shard.segments, partitions, block, block + 1, found.row_start, found.row_cells,
                found.row_len,
            )  # fmt: skip

        engine.map(count, blocks)
        return found

    def finished(self, words: BlockWords) -> RowBlock:
        found = self.copied()
        rows.finish_rows(
            found.row_start, found.row_cells, found.row_len, self.topic_bits, words.topics, words.frequencies(),
            words.pseudo(),
        )  # fmt: skip
        return found

    def balanced(self, words: BlockWords) -> RowBlock:
        """In place: what has just been made by a cell belongs to nobody else."""
        most, pseudo = words.frequencies(), words.pseudo()
        np.add.at(most, pseudo[0], pseudo[2])
        rows.rebalance_rows(self.row_start, self.row_cells, self.row_len, self.topic_bits, words.topics, most)
        return self

    def totals(self, topics: int) -> NDArray[np.int64]:
        return rows.topic_totals_of_rows(self.row_start, self.row_cells, self.row_len, self.topic_bits, topics)

    def csr(self, topics: int) -> Csr:
        return rows.to_csr(self.row_start, self.row_cells, self.row_len, self.topic_bits, topics)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"row_cells": self.row_cells, "row_len": self.row_len}

    def with_order(self, words: BlockWords, arrays: dict[str, NDArray[Any]]) -> RowBlock | None:
        """A block of these counts in the order that a file has kept; None, where it has others."""
        most, pseudo = words.frequencies(), words.pseudo()
        np.add.at(most, pseudo[0], pseudo[2])
        cells, length = rows.as_aligned_cells(arrays["row_cells"]), arrays["row_len"].copy()
        strange = rows.strange_row(
            self.row_start, self.row_cells, self.row_len, cells, length, most, self.topic_bits, words.topics
        )
        return None if strange >= 0 else replace(self, row_cells=cells, row_len=length)


def _with_room(
    entries: NDArray[np.uint32], row_len: NDArray[np.int32], room: NDArray[np.uint16], topic_bits: int
) -> RowBlock:
    """A block that has travelled."""
    row_start = np.zeros(len(room) + 1, np.int64)
    np.cumsum(room, out=row_start[1:], dtype=np.int64)
    row_start *= _VECTOR
    return RowBlock(row_start, rows.rows_of_entries(row_start, entries, row_len), row_len, topic_bits)


@dataclass(frozen=True)
class HashedBlock:
    """Hashed rows, of documents that may have some of the topics only. Their order is no matter."""

    row_start: NDArray[np.int64]
    row_mask: NDArray[np.int64]
    row_cells: NDArray[np.uint32]

    @classmethod
    def empty(cls, words: BlockWords) -> HashedBlock:
        pseudo = words.pseudo()
        frequencies = words.frequencies() + np.bincount(pseudo[0], minlength=words.last - words.first)
        return cls(*Hashed(frequencies, words.topics).arrays())

    def copied(self) -> HashedBlock:
        return replace(self, row_cells=self.row_cells.copy())

    def cell_arrays(self) -> dict[str, Any]:
        return {"row_start": self.row_start, "row_mask": self.row_mask, "row_cells": self.row_cells}

    def counting(
        self, shard: Shard, z: NDArray[np.uint16], blocks: range, partitions: int, engine: Engine
    ) -> HashedBlock:  # fmt: skip
        found = self.copied()
        stride, documents = partitions + 1, len(shard.offsets) - 1
        starts = shard.segments.reshape(documents, stride)[:, [blocks.start, blocks.stop]]
        marks = np.zeros(len(shard.words) + 1, np.int64)
        np.add.at(marks, starts[:, 0], 1)
        np.add.at(marks, starts[:, 1], -1)
        mine = np.cumsum(marks[:-1]) > 0
        restricted.fill_row_cells(shard.words[mine], z[mine], np.zeros(0, np.int64), *found._parts())
        return found

    def finished(self, words: BlockWords) -> HashedBlock:
        found, pseudo = self.copied(), words.pseudo()
        if len(pseudo[0]):
            restricted.fill_row_cells(*pseudo, *found._parts())
        return found

    def balanced(self, words: BlockWords) -> HashedBlock:
        return self

    def totals(self, topics: int) -> NDArray[np.int64]:
        _, columns, counts = self.csr(topics)
        found: NDArray[np.int64] = np.bincount(columns, counts, topics).astype(np.int64)
        return found

    def csr(self, topics: int) -> Csr:
        lengths = np.diff(self.row_start)
        word = np.repeat(np.arange(len(lengths)), lengths)
        dense = np.repeat(self.row_mask < 0, lengths)
        within = np.arange(len(self.row_cells)) - np.repeat(self.row_start[:-1], lengths)
        a = dense & (self.row_cells > 0)
        keys = ~dense & (within % 2 == 0) & (self.row_cells > 0)
        words = np.concatenate([word[a], word[keys]])
        columns = np.concatenate([within[a], self.row_cells[keys].astype(np.int64) - 1])
        counts = np.concatenate([self.row_cells[a], self.row_cells[np.flatnonzero(keys) + 1]]).astype(np.int64)
        words, columns, counts = (some[counts > 0] for some in (words, columns, counts))
        order = np.lexsort((columns, words))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(words, minlength=len(lengths)))])
        return indptr.astype(np.int64), columns[order].astype(np.uint16), counts[order]

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"row_cells": self.row_cells}

    def _parts(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
        return self.row_start, self.row_mask, self.row_cells


FORMS: dict[str, type[RowBlock] | type[HashedBlock]] = {"rows": RowBlock, "hashed": HashedBlock}
"""The forms of blocks by their names."""


def store_block(folder: Path, name: str, block: RowBlock | HashedBlock) -> dict[str, StoredArray]:
    """Keep what changes of a block where all machines find it."""
    return {part: StoredArray.write(folder / f"{name}.{part}", array) for part, array in block.arrays().items()}


def read_block(form: str, words: BlockWords, files: dict[str, StoredArray]) -> RowBlock | HashedBlock:
    """A block that was kept."""
    arrays = {part: file.read() for part, file in files.items()}
    arrays["row_cells"] = rows.as_aligned_cells(arrays["row_cells"])
    empty: Any = FORMS[form].empty(words)
    block: RowBlock | HashedBlock = replace(empty, **arrays)
    return block
