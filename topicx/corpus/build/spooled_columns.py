"""What documents carry beside their words, while a corpus is built: names, labels, times, columns, snippets. All of it
waits on disk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.build.spooled_rows import PIECE, New, filter_documents, offsets_of, read_whole_documents
from topicx.corpus.formats.document_reader import Batch, field_as_text
from topicx.corpus.formats.input_bytes import Faults
from topicx.corpus.time_texts import NUMBER, parse_time
from topicx.errors import InputError
from topicx.files import container
from topicx.strings import Strings

_PLAIN = (str, int, float)
_WIDE = (np.float64, np.integer)
"""Numbers of NumPy whose texts say the same number; those of float32 say fewer digits."""
_EXACT = 1e15
"""Numbers below this one are told from a float64 as they came (`field_as_text`)."""

Mask = Iterator[NDArray[np.bool_]] | None
"""Which documents are kept, piece by piece; None: all."""


class SpooledTexts:
    """A string a document."""

    def __init__(self, new: New) -> None:
        self._new = new
        self._data, self._lengths = new(np.uint8), new(np.int64)

    def add(self, values: Sequence[str]) -> None:
        joined = "".join(values)
        if joined.isascii():
            self._data.append(np.frombuffer(joined.encode(), dtype=np.uint8))
            self._lengths.append(np.fromiter(map(len, values), dtype=np.int64, count=len(values)))
            return
        encoded = [value.encode("utf-8", "replace") for value in values]
        self._data.append(np.frombuffer(b"".join(encoded), dtype=np.uint8))
        self._lengths.append(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)))

    def arrays(self, name: str, mask: Mask) -> dict[str, Any]:
        data, lengths = self._data, self._lengths
        if mask is not None:
            data, lengths = filter_documents(self._new, lengths, data, mask)
        return {f"{name}.bytes": data, f"{name}.offsets": offsets_of(self._new, lengths)}

    def doubled(self) -> tuple[int, str]:
        """How many strings are there before already, and the first that is. Memory: eight bytes a string, at most those
        of four million."""
        count, first = 0, ""
        passes = self._lengths.size // (1 << 22) + 1
        for one in range(passes):
            parts = (np.fromiter(map(hash, values), np.int64, len(values)) for values in self.values())
            order = np.sort(np.concatenate([np.zeros(0, np.int64), *(part[part % passes == one] for part in parts)]))
            again = order[1:][order[1:] == order[:-1]]
            count += len(again)
            if len(again) and not first:
                first = self._first_of(set(again.tolist()))
        return count, first

    def _first_of(self, hashes: set[int]) -> str:
        return next((value for values in self.values() for value in values if hash(value) in hashes), "")

    def values(self) -> Iterator[list[str]]:
        """The strings again, some at a time."""
        for lengths, data in read_whole_documents(self._lengths, self._data):
            raw, ends = data.tobytes(), np.cumsum(lengths).tolist()
            yield [raw[begin:end].decode() for begin, end in zip([0, *ends[:-1]], ends)]


class SpooledNames:
    """Names from a small set (labels, collections): a number each, sorted by name at the end."""

    def __init__(self, new: New, many: bool) -> None:
        self._new, self._many = new, many
        self._numbers: dict[str, int] = {}
        self._ids = new(np.int32)
        self._lengths = new(np.int64)
        self._documents = 0

    def add(self, values: Sequence[Any] | None, n: int) -> None:
        """Labels (a sequence a document) or collections (a name or None); None: the batch has none."""
        numbers = self._numbers
        if not self._many:
            if values is None or not any(value is not None for value in values):
                self._ids.append(np.full(n, -1, np.int32))
                return
            self._ids.append([-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values])
            return
        if values is None:
            self._lengths.append(np.zeros(n, np.int64))
            return
        self._ids.append([numbers.setdefault(name, len(numbers)) for names in values for name in names])
        self._lengths.append(np.fromiter(map(len, values), dtype=np.int64, count=n))

    def arrays(self, name: str, mask: Mask) -> dict[str, Any]:
        """`name` is `label` or `collection`."""
        order = sorted(self._numbers)
        rank = np.empty(len(order) + 1, dtype=np.int32)
        rank[[self._numbers[one] for one in order]] = np.arange(len(order), dtype=np.int32)
        rank[-1] = -1
        names = Strings.of([one.encode("utf-8", "replace").decode() for one in order]).arrays(f"{name}_names")
        new = self._new
        if self._many:
            if not order:
                return names | {"label_offsets": np.zeros(0, np.int64), "label_ids": np.zeros(0, np.uint32)}
            data, lengths = self._ids, self._lengths
            if mask is not None:
                data, lengths = filter_documents(new, lengths, data, mask)
            final = new(np.uint32)
            for piece in data.chunks(PIECE):
                final.append(rank[piece].astype(np.uint32))
            return names | {"label_offsets": offsets_of(new, lengths), "label_ids": final}
        if not order:
            return names | {"collection": np.zeros(0, np.int32)}
        final = new(np.int32)
        for piece in self._ids.chunks(PIECE):
            final.append(rank[piece] if mask is None else rank[piece[next(mask)]])
        return names | {"collection": final}


class SpooledTimes:
    """The time of each document: a number, or an ISO date as days since 1970. All of one corpus are of one
    kind."""

    def __init__(self, new: New, faults: Faults | None = None) -> None:
        self._new = new
        self._faults = faults or Faults()
        self._values = new(np.float64)
        self.kind = ""
        self._known: dict[Any, float] = {}

    def add(self, batch: Batch, begin: int, end: int) -> None:
        if batch.times is None:
            self._values.append(np.full(end - begin, np.nan))
            return
        if len(self._known) > 100_000:
            self._known.clear()
        known = self._known  # times repeat, and parsing takes longer than looking up
        self._values.append(
            [
                known[value] if type(value) in _PLAIN and value in known else self._parse(value, batch, i)
                for i, value in enumerate(batch.times[begin:end], begin)
            ]
        )

    def _parse(self, value: Any, batch: Batch, at: int) -> float:
        if value is None or (isinstance(value, str) and not value.strip()):
            return math.nan
        try:
            kind, number = parse_time(value)
        except ValueError:
            what = f"the time {str(value)[:40]!r} is neither a number nor an ISO date"
            self._faults.meet(f"{batch.place(at)}: {what}", mended=True)
            return math.nan
        if self.kind and self.kind != kind:
            was = "dates" if self.kind == "date" else "numbers"
            what = f"the time {str(value)[:40]!r} is a {kind}, but those before are {was}"
            self._faults.meet(f"{batch.place(at)}: {what}", mended=True)
            return math.nan
        self.kind = kind
        if type(value) in _PLAIN:
            self._known[value] = number
        return number

    def array(self, mask: Mask) -> Any:
        if not self.kind:
            return np.zeros(0, np.float64)
        if mask is None:
            return self._values
        final = self._new(np.float64)
        for piece in self._values.chunks(PIECE):
            final.append(piece[next(mask)])
        return final


def _number_in_text(text: str) -> float | None:
    """The number that a text says, NaN for an empty text; None where it says anything else."""
    if not text:
        return math.nan
    number = float(text) if NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


def _as_numbers(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Values that are numbers already (None: no value), as an array; None where any is something else, or a number that
    `field_as_text` would not write the same from a float64."""
    kinds = set(map(type, values)) - {int, float, type(None)}
    if not all(issubclass(kind, _WIDE) for kind in kinds):
        return None
    try:
        numbers = np.array([math.nan if value is None else value for value in values], np.float64)
    except OverflowError:  # a whole number of more than 308 digits
        return None
    missing = sum(value is None for value in values)
    if np.count_nonzero(np.abs(numbers) < _EXACT) + missing < len(values):  # NaN and infinity given as values, too
        return None
    return numbers + 0.0  # no negative zero: as a text, it is 0


class SpooledColumn:
    """A further column: numbers if all values are numbers or texts that say one, else strings.

    Numbers that a source gives as numbers wait as float64, and no text is made of them unless a later document turns the
    column into strings. Texts wait as they are, since such a document may come; each is parsed once, when it is read.
    """

    def __init__(self, new: New, name: str, snippets: bool) -> None:
        if not name or name.endswith((".bytes", ".offsets")):
            raise InputError(f"--column {name!r}: a column cannot have this name in a corpus file")
        if name == "snippet" and snippets:
            raise InputError("--column 'snippet': the corpus keeps snippets of its own there (--snippet 0 keeps none)")
        self._new = new
        self._numbers: container.Spool | None = new(np.float64)
        """All values so far; None: one is no number."""
        self._texts: SpooledTexts | None = None
        """All values so far as texts; None: no text has come."""

    def add(self, values: Sequence[Any]) -> None:
        numbers = _as_numbers(values)
        if numbers is not None and self._texts is None and self._numbers is not None:
            self._numbers.append(numbers)
            return
        texts = [field_as_text(value) for value in values]
        if self._texts is None:
            self._texts = self._texts_of_numbers()
        self._texts.add(texts)
        if self._numbers is None:
            return
        parsed = map(_number_in_text, texts) if numbers is None else iter(numbers.tolist())
        said = [number for number in parsed if number is not None]
        if len(said) == len(texts):
            self._numbers.append(said)
            return
        self._numbers.close()
        self._numbers = None

    def _texts_of_numbers(self) -> SpooledTexts:
        texts = SpooledTexts(self._new)
        if self._numbers is not None:
            for piece in self._numbers.chunks(PIECE):
                texts.add(["" if math.isnan(value) else field_as_text(value) for value in piece.tolist()])
        return texts

    def arrays(self, name: str, mask: Mask) -> dict[str, Any]:
        if self._numbers is None:
            assert self._texts is not None
            return self._texts.arrays(name, mask)
        if mask is None:
            return {name: self._numbers}
        final = self._new(np.float64)
        for piece in self._numbers.chunks(PIECE):
            final.append(piece[next(mask)])
        return {name: final}


def snippet_of_text(text: str, size: int) -> str:
    """The beginning of a text on one line."""
    found = " ".join(text[:size].split())
    if len(found) < size < len(text) and found != text[:size].strip():
        found = " ".join(text[: 8 * size].split())[:size].rstrip()
    return found
