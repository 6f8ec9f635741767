"""Pairs of adjacent words that are said together more often than chance: found at import, joined with an
underscore.

The measure is normalised pointwise mutual information, from -1 (never together) over 0 (independent) to 1
(only together): ln(p(a b) / (p(a) p(b))) / -ln p(a b), with p from the N tokens of the input before stop
words go. Pairs with a stop word in them are never joined.

Memory is bounded: the table of pairs holds at most `table` of them. When it is full, the pairs that are
rarest so far are forgotten (those below a floor that rises by one each time). So on very large inputs the
count of a pair can be too low, and never too high: at worst a rare pair is not joined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.text.word_ids import count_pairs, insert_pairs
from topicx.corpus.text.word_tally import PairTable

Pieces = Callable[[], Iterator[tuple[NDArray[np.int64], NDArray[Any]]]]


@dataclass(frozen=True)
class BigramOptions:
    """Which pairs are joined."""

    min_count: int = 20
    """The pair occurs at least this often."""
    npmi: float = 0.5
    """The pair's normalised pointwise mutual information is at least this."""
    table: int = 2_000_000
    """Pairs that are counted at a time."""


def find_bigrams(
    pieces: Pieces, tokens: NDArray[np.int64], flags: NDArray[np.uint8], words: Any, options: BigramOptions
) -> list[tuple[int, int]]:
    """The pairs to join, in the order of their words. `tokens` are the words' frequencies, `flags` the stop
    words."""
    wanted = ((flags == 0) & (tokens >= options.min_count)).astype(np.uint8)
    table = PairTable(options.table)
    used, floor = 0, 1
    for lengths, ids in pieces():
        document = 0
        while document < len(lengths):
            used, document = count_pairs(ids, lengths, wanted, table.keys, table.values, used, options.table, document)
            while used >= options.table:
                floor += 1
                keep = table.values >= floor
                keys, counts = table.keys[keep], table.values[keep]
                table = PairTable(options.table)
                insert_pairs(keys, counts, table.keys, table.values)
                used = len(keys)
    found = np.flatnonzero(table.values >= options.min_count)
    total = int(tokens.sum())
    pairs = []
    for key, count in zip(table.keys[found].tolist(), table.values[found].tolist()):
        a, b = key >> 32, key & 0xFFFFFFFF
        together = math.log(count / total)
        apart = math.log(tokens[a] / total) + math.log(tokens[b] / total)
        if together < 0 and (together - apart) / -together >= options.npmi:
            pairs.append((words.word(a), words.word(b), a, b))
    return [(a, b) for _, _, a, b in sorted(pairs)]
