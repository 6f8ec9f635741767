"""What becomes of the words of a table: whether they are kept, how often they are there, which pairs are one word.

An import, whose table grows, and an encoder, whose vocabulary is fixed, count with the same class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.text.word_ids import insert_pairs, settle_word_ids

NONE = np.uint32(0xFFFFFFFF)
"""The id of a word that a fixed vocabulary does not have."""

WANTED_WORD, STOP_WORD, UNKNOWN_WORD, NOISE_WORD = range(4)
"""What the flag of a word says to the kernels (`_kernels.text.word_ids`)."""
NO_NUMBERS = np.zeros(0, dtype=np.uint32)
"""What stands for the numbers of words that are their ids."""


class PairTable:
    """A hash table from pairs of word ids to numbers, as the kernel reads it."""

    def __init__(self, room: int = 0) -> None:
        size = 0 if room == 0 else 1 << max(2 * room, 8).bit_length()
        self.keys = np.full(size, 2**64 - 1, dtype=np.uint64)
        self.values = np.zeros(size, dtype=np.int64)

    @classmethod
    def of(cls, pairs: Mapping[tuple[int, int], int]) -> PairTable:
        table = cls(len(pairs))
        keys = np.array([(a << 32) | b for a, b in pairs], dtype=np.uint64)
        insert_pairs(keys, np.array(list(pairs.values()), dtype=np.int64), table.keys, table.values)
        return table


@dataclass(frozen=True)
class SettledWords:
    """The words of some documents that are kept, and what is not."""

    ids: NDArray[np.uint32]
    lengths: NDArray[np.int64]
    """The kept words of each document."""
    unknown: NDArray[np.int64]
    """The unknown words of each document."""
    stopped: int
    """Stop words, in all documents."""
    noise: int
    """Words that are left out for their form, in all documents."""


@dataclass
class WordTally:
    """A flag for each word of a table, its tokens and its documents. Where the counts are empty, nothing is counted."""

    flags: NDArray[np.uint8]
    tokens: NDArray[np.int64]
    documents: NDArray[np.int64]
    last: NDArray[np.int64]
    """The last document that each word was in."""

    @classmethod
    def of(cls, flags: NDArray[np.uint8]) -> WordTally:
        """No counts of words with these flags."""
        n = len(flags)
        return cls(flags, np.zeros(n, np.int64), np.zeros(n, np.int64), np.full(n, -1, np.int64))

    @classmethod
    def uncounted(cls, flags: NDArray[np.uint8]) -> WordTally:
        nothing = np.zeros(0, np.int64)
        return cls(flags, nothing, nothing, nothing)

    def make_room(self, n: int) -> None:
        """Room for so many words."""
        if n <= len(self.flags):
            return
        more = WordTally.of(np.zeros(max(n, 2 * len(self.flags), 1 << 12) - len(self.flags), np.uint8))
        for name, added in vars(more).items():
            setattr(self, name, np.concatenate([getattr(self, name), added]))

    def settle(
        self, ids: NDArray[Any], lengths: NDArray[np.int64], pairs: PairTable, document: int,
        numbers: NDArray[np.uint32] = NO_NUMBERS,
    ) -> SettledWords:  # fmt: skip
        """Join pairs, drop words by their flags, and count the rest. `document`: the number of the first; with
        `numbers`, what the ids stand for."""
        out, out_lengths = np.empty(len(ids), dtype=np.uint32), np.empty(len(lengths), dtype=np.int64)
        unknown = np.empty(len(lengths), dtype=np.int64)
        kept, stopped, noise = settle_word_ids(
            ids, lengths, numbers, self.flags, pairs.keys, pairs.values, document, self.tokens, self.documents,
            self.last, out, out_lengths, unknown,
        )  # fmt: skip
        return SettledWords(out[:kept], out_lengths, unknown, stopped, noise)
