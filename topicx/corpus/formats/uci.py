"""Counts as the UCI repository has them: `docword` (three lines of sizes, then document, word and count) and
`vocab`.

Documents and words are numbered from 1. Documents that have no line are empty documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.formats.compressed import unpacked_name
from topicx.corpus.formats.document_reader import Batch, Counts, ReadOptions
from topicx.corpus.formats.input_bytes import InputSource, read_words
from topicx.errors import InputError

EMPTY = 1_000_000
"""Documents without a word that are believed without an entry."""

_NAMES = ("documents", "words", "entries")


def read(source: InputSource, options: ReadOptions) -> Iterator[Batch]:
    shown = source.shown
    sizes: list[int] = []
    vocabulary: Sequence[str] | None = None
    held = np.empty((0, 3), dtype=np.int64)
    at = entries = 0
    last_line = 0
    for first, lines in source.lines(options.encoding, options.encoding_errors, options.faults):
        while len(sizes) < 3 and lines:
            line = lines.pop(0)
            if not line.strip().isdecimal():
                raise InputError(f"{shown}:{first}: the number of {_NAMES[len(sizes)]} was expected, not {line[:40]!r}")
            sizes.append(int(line))
            first += 1
            if len(sizes) == 3:
                if sizes[0] > EMPTY + 100 * sizes[2]:
                    raise InputError(f"{shown}:1: {sizes[0]:,} documents, but {sizes[2]:,} entries: that cannot be")
                vocabulary = find_vocabulary(source, options, sizes[1])
        table = parse_integers(lines, first, shown)
        last_line = first + len(lines)
        _check_integers(table, lines, first, shown, sizes)
        entries += len(table)
        table = np.concatenate([held, table])
        if len(table) and np.any(np.diff(table[:, 0]) < 0):
            wrong = int(np.argmax(np.diff(table[:, 0]) < 0)) + 1 - len(held)
            raise InputError(f"{shown}:{_line_of_row(lines, first, wrong)}: documents must be in ascending order")
        cut = int(np.searchsorted(table[:, 0], table[-1, 0])) if len(table) else 0
        if cut:
            yield _make_batch(shown, table[:cut], at, int(table[cut - 1, 0]), vocabulary)
            at = int(table[cut - 1, 0])
        held = table[cut:]
    if len(sizes) < 3:
        raise InputError(f"{shown}: the three lines of sizes are missing")
    if entries != sizes[2]:
        raise InputError(f"{shown}:{last_line}: {entries:,} entries, but the head of the file says {sizes[2]:,}")
    step = 100_000
    while at < sizes[0]:
        end = int(held[-1, 0]) if len(held) else min(at + step, sizes[0])
        yield _make_batch(shown, held, at, end, vocabulary)
        held, at = held[:0], end


def _make_batch(shown: str, table: NDArray[np.int64], after: int, last: int, vocabulary: Sequence[str] | None) -> Batch:
    lengths = np.bincount(table[:, 0] - after - 1, minlength=last - after)
    counts = Counts(table[:, 1] - 1, table[:, 2], lengths, vocabulary, base=1)
    ids = [str(document) for document in range(after + 1, last + 1)]
    return Batch(shown, None, ids=ids, counts=counts)


def _check_integers(table: NDArray[np.int64], lines: list[str], first: int, shown: str, sizes: list[int]) -> None:
    for column, name, high in ((0, "document", sizes[0]), (1, "word", sizes[1])) if len(sizes) == 3 else ():
        wrong = (table[:, column] < 1) | (table[:, column] > high)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"{shown}:{_line_of_row(lines, first, row)}: {name} {table[row, column]} is not from 1 to {high}"
            )
    wrong = table[:, 2] < 0
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(f"{shown}:{_line_of_row(lines, first, row)}: a negative count ({table[row, 2]})")


def _line_of_row(lines: list[str], first: int, row: int) -> int:
    """The number of the line of a row (blank lines have none)."""
    rows = [number for number, line in enumerate(lines, first) if line.strip()]
    return rows[min(max(row, 0), len(rows) - 1)]


def parse_integers(lines: list[str], first: int, shown: str) -> NDArray[np.int64]:
    """The lines as three integers each."""
    rows = [row for row in map(str.split, lines) if row]
    if all(len(row) == 3 for row in rows):
        try:
            return np.array(rows, dtype="S").astype(np.int64).reshape(-1, 3) if rows else np.empty((0, 3), np.int64)
        except (ValueError, OverflowError, UnicodeEncodeError):
            pass
    for number, line in enumerate(lines, first):
        fields = line.split()
        if fields and (len(fields) != 3 or not all(_is_integer(part) for part in fields)):
            raise InputError(f"{shown}:{number}: three integers were expected, not {line[:40]!r}")
    raise InputError(f"{shown}:{first}: an integer is too large")


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii()


def find_vocabulary(source: InputSource, options: ReadOptions, size: int | None) -> Sequence[str] | None:
    """The words: from --vocab, or from the file that belongs to this one by its name; None if there is
    none."""
    name = options.vocab
    if name is None and source.name != "-":
        name = find_vocabulary_file(source.name)
    if name is None:
        return None
    words = read_words(name)
    if size is not None and len(words) != size:
        raise InputError(f"{name}: {len(words):,} words, but {source.shown} says {size:,}")
    if len(set(words)) != len(words):
        seen: set[str] = set()
        for line, word in enumerate(words, 1):
            if word in seen:
                raise InputError(f"{name}:{line}: the word {word!r} is there twice")
            seen.add(word)
    return words


def find_vocabulary_file(name: str) -> str | None:
    """`vocab.x.txt` for `docword.x.txt`, `x.vocab` for any other x, where it exists."""
    path = Path(name)
    plain = unpacked_name(path.name)
    near = [path.with_name(f"{plain}.vocab"), path.with_name(f"{Path(plain).stem}.vocab")]
    if plain.startswith("docword."):
        near.insert(0, path.with_name("vocab." + plain.removeprefix("docword.")))
    return next((str(one) for one in near if one.is_file()), None)
