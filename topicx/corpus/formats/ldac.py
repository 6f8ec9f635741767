"""Counts as lda-c reads them: a document a line, `N word:count word:count …`, words numbered from 0."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from topicx.corpus.formats.document_reader import Batch, Counts, ReadOptions
from topicx.corpus.formats.input_bytes import InputSource
from topicx.corpus.formats.uci import find_vocabulary
from topicx.errors import InputError

_LINE = re.compile(r"\s*(\d+)((?:\s+\d+:\d+)*)\s*", re.ASCII)
_NUMBERS = re.compile(r"\d+", re.ASCII)


def read(source: InputSource, options: ReadOptions) -> Iterator[Batch]:
    base = options.index_base or 0
    vocabulary = find_vocabulary(source, options, None)
    shown = source.shown
    for first, lines in source.lines(options.encoding, options.encoding_errors, options.faults):
        numbers: list[int] = []
        pairs: list[str] = []
        lengths: list[int] = []
        for number, line in enumerate(lines, first):
            if not line.strip():
                continue
            match = _LINE.fullmatch(line)
            if match is None:
                options.faults.meet(f"{shown}:{number}: 'N word:count word:count …' was expected, not {line[:40]!r}")
                continue
            found = _NUMBERS.findall(match.group(2))
            if len(found) != 2 * int(match.group(1)):
                options.faults.meet(f"{shown}:{number}: says {match.group(1)} words, but has {len(found) // 2}")
                continue
            pairs += found
            numbers.append(number)
            lengths.append(len(found) // 2)
        yield make_counted_batch(shown, numbers, pairs, lengths, vocabulary, base)


def make_counted_batch(
    shown: str, numbers: list[int], pairs: list[str], lengths: list[int], vocabulary: object, base: int
) -> Batch:
    """A batch from word and count in turn; the words must be in the vocabulary."""
    try:
        table = np.array([int(part) for part in pairs], dtype=np.int64).reshape(-1, 2)
    except OverflowError:
        raise InputError(f"{shown}:{numbers[0]}: a number is too large in this line or after it") from None
    words = table[:, 0] - base
    high = len(vocabulary) if vocabulary is not None else 1 << 31  # type: ignore[arg-type]
    wrong = (words < 0) | (words >= high)
    if wrong.any():
        at = int(np.argmax(wrong))
        line = numbers[int(np.searchsorted(np.cumsum(lengths), at, side="right"))]
        what = f"from {base} to {high - 1 + base}" if vocabulary is not None else f"at least {base}, or is too large"
        raise InputError(f"{shown}:{line}: word {table[at, 0]} is not {what}")
    counts = Counts(words, table[:, 1], np.array(lengths, dtype=np.int64), vocabulary, base)  # type: ignore[arg-type]
    return Batch(shown, numbers, counts=counts)
