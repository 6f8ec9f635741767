"""What documents carry beside their words, as a table of typed columns: one form, for corpora, states, the examples of
a model, tables that are read again, and new documents.

Texts are made of a column in one place, `told`, when something is written. Files keep strings or numbers: `packed` and
`unpacked` are their edge.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from topicx.common_methods import Summarized
from topicx.corpus.time_texts import parse_times, told_number, told_times
from topicx.errors import InputError
from topicx.strings import Strings, take_rows

if TYPE_CHECKING:
    import scipy.sparse

FIRST = ("label", "collection", "time")
"""Columns that stand before the others, which follow by name."""
SNIPPET = "snippet"
"""The column that is shown only where it is asked for by name."""
_MARK = "\x1f"
"""What stands between the labels of a document in files of states, whose columns are one text a document."""


class Digits(float):
    """The kind of columns of numbers that are written with all of their digits."""


Kinds = dict[str, type]
"""Names of columns, and what they hold when they are told: str, list (of strings) or Digits."""
Packed = Strings | NDArray[np.float64]
"""A column as files have it: an empty text, or a number that is NaN, is no value."""


class Column(ABC):
    """What each of some documents carries under one name."""

    kind: ClassVar[type]

    @abstractmethod
    def __len__(self) -> int:
        """How many documents there are."""

    @abstractmethod
    def take(self, rows: NDArray[np.int64]) -> Self:
        """The column of these documents."""

    @abstractmethod
    def part(self, begin: int, end: int) -> Self:
        """The column of the documents from `begin` to before `end`; its arrays are views."""

    @abstractmethod
    def told(self) -> list[Any]:
        """Plain values: texts, lists of labels, whole or broken numbers; None: no value."""

    @property
    @abstractmethod
    def packed(self) -> Packed:
        """The column as a file of a state has it."""

    @property
    def holds(self) -> type:
        """What `told` gives: str, list or Digits."""
        return self.kind

    def __eq__(self, other: object) -> bool:
        """Whether both are columns of one kind with the same arrays (NaN is NaN)."""
        if type(other) is not type(self):
            return False
        return all(_same_values(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))  # type: ignore[arg-type]

    __hash__ = None  # type: ignore[assignment]


def _same_values(one: Any, other: Any) -> bool:
    if not isinstance(one, np.ndarray):
        return bool(one == other)
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _told_names(codes: NDArray[Any], names: Strings) -> list[str]:
    """The names of these numbers; of many names those alone that are there become texts."""
    if len(codes) >= len(names):
        texts = list(names)
        return [texts[code] for code in codes.tolist()]
    used, places = np.unique(codes, return_inverse=True)
    texts = list(names.take(used))
    return [texts[place] for place in places.reshape(-1).tolist()]


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Column, Summarized):
    """Several of few names a document: document d has names[i] for i in ids[offsets[d]:offsets[d + 1]], none of them
    twice. A document may have none."""

    kind: ClassVar[type] = list
    offsets: NDArray[np.int64]
    ids: NDArray[np.uint32]
    names: Strings

    @classmethod
    def of(cls, values: Iterable[Sequence[str]]) -> Labels:
        """Labels from a sequence of names a document."""
        each = list(values)
        names = sorted({name for labels in each for name in labels})
        number = {name: at for at, name in enumerate(names)}
        offsets = np.zeros(len(each) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, each), np.int64, len(each)), out=offsets[1:])
        ids = np.array([number[name] for labels in each for name in labels], np.uint32)
        return cls(offsets, ids, Strings.of(names))

    @classmethod
    def unpacked(cls, texts: Strings) -> Labels:
        """Labels from texts that hold all labels of a document."""
        return cls.of(text.split(_MARK) if text else [] for text in texts)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, rows: NDArray[np.int64]) -> Labels:
        ids, offsets = take_rows(self.ids, self.offsets, rows)
        return Labels(offsets, ids, self.names)

    def part(self, begin: int, end: int) -> Labels:
        places = self.offsets[begin : end + 1]
        return Labels(places - places[0], self.ids[places[0] : places[-1]], self.names)

    def told(self) -> list[list[str]]:
        ends = self.offsets.tolist()
        each = _told_names(self.ids[ends[0] : ends[-1]], self.names)
        return [each[begin - ends[0] : end - ends[0]] for begin, end in zip(ends[:-1], ends[1:])]

    @cached_property
    def packed(self) -> Strings:
        """All labels of a document in one text."""
        return Strings.of(map(_MARK.join, self.told()))

    def matrix(self) -> scipy.sparse.csr_array:
        """The documents × labels as a CSR array of ones, columns ascending in each row."""
        import scipy.sparse

        shape = (len(self.offsets) - 1, len(self.names))
        ones = np.ones(len(self.ids), dtype=np.uint8)
        found = scipy.sparse.csr_array((ones, self.ids.astype(np.int64), self.offsets.copy()), shape=shape)
        found.sort_indices()
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Names(Column, Summarized):
    """One of few names a document, or none."""

    kind: ClassVar[type] = str
    codes: NDArray[np.int32]
    """A number among the names a document; -1: none."""
    names: Strings

    @classmethod
    def of(cls, values: Iterable[str | None]) -> Names:
        """Names from one a document; None, or an empty one, is none."""
        each = list(values)
        names = sorted({name for name in each if name})
        number = {name: at for at, name in enumerate(names)}
        return cls(np.array([number.get(name or "", -1) for name in each], np.int32), Strings.of(names))

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray[np.int64]) -> Names:
        return Names(self.codes[rows], self.names)

    def part(self, begin: int, end: int) -> Names:
        return Names(self.codes[begin:end], self.names)

    def told(self) -> list[str | None]:
        some = self.codes >= 0
        found: NDArray[Any] = np.full(len(self), None)
        found[some] = [name or None for name in _told_names(self.codes[some], self.names)]
        return list(found)

    @cached_property
    def packed(self) -> Strings:
        names = Strings.of([*self.names, ""])
        return names.take(np.where(self.codes < 0, len(self.names), self.codes))


@dataclass(frozen=True, eq=False, repr=False)
class Texts(Column, Summarized):
    """A text a document; an empty one is none."""

    kind: ClassVar[type] = str
    strings: Strings

    def __len__(self) -> int:
        return len(self.strings)

    def take(self, rows: NDArray[np.int64]) -> Texts:
        return Texts(self.strings.take(rows))

    def part(self, begin: int, end: int) -> Texts:
        return Texts(self.strings.part(begin, end))

    def told(self) -> list[str | None]:
        return [text or None for text in self.strings]

    @property
    def packed(self) -> Strings:
        return self.strings


@dataclass(frozen=True, eq=False, repr=False)
class Numbers(Column, Summarized):
    """A number a document; NaN is none."""

    kind: ClassVar[type] = Digits
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray[np.int64]) -> Numbers:
        return Numbers(self.values[rows])

    def part(self, begin: int, end: int) -> Numbers:
        return Numbers(self.values[begin:end])

    def told(self) -> list[float | int | None]:
        return [told_number(value) for value in self.values.tolist()]

    @property
    def packed(self) -> NDArray[np.float64]:
        return self.values


@dataclass(frozen=True, eq=False, repr=False)
class Times(Column, Summarized):
    """A time a document; NaN is none."""

    kind: ClassVar[type] = Digits
    values: NDArray[np.float64]
    dates: bool
    """Whether the values are days since 1970-01-01; else they are numbers, years mostly."""

    @classmethod
    def unpacked(cls, texts: Strings) -> Times | Texts:
        """Times from ISO dates; the texts as they are, where they are anything else or dates in another form."""
        try:
            values, kinds = parse_times(texts)
        except ValueError:
            return Texts(texts)
        found = cls(values, True)
        return found if kinds <= {"date"} and found.packed == texts else Texts(texts)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray[np.int64]) -> Times:
        return Times(self.values[rows], self.dates)

    def part(self, begin: int, end: int) -> Times:
        return Times(self.values[begin:end], self.dates)

    def told(self) -> list[Any]:
        return told_times(self.values) if self.dates else [told_number(value) for value in self.values.tolist()]

    @property
    def holds(self) -> type:
        return str if self.dates else Digits

    @cached_property
    def packed(self) -> Packed:
        return Strings.of(text or "" for text in told_times(self.values)) if self.dates else self.values


_NOTHING: Mapping[str, Column] = {}


class Table(Mapping[str, Column]):
    """Columns by name, in the order of outputs: label, collection, time, and then by name.

    Examples
    --------
    >>> from topicx.corpus.table import Names, Table, Times
    >>> import numpy as np
    >>> table = Table({"time": Times(np.array([0.0, 31.0]), dates=True), "collection": Names.of(["a", None])})
    >>> list(table), table.told("time"), table.told("collection")
    (['collection', 'time'], ['1970-01-01', '1970-02-01'], ['a', None])
    """

    def __init__(self, columns: Mapping[str, Column] | Callable[[], Mapping[str, Column]] = _NOTHING) -> None:
        """A function gives the columns when they are asked for first."""
        self._given = columns

    @cached_property
    def _columns(self) -> dict[str, Column]:
        given = self._given() if callable(self._given) else self._given
        first = [name for name in FIRST if name in given]
        return {name: given[name] for name in (*first, *sorted(set(given) - set(first)))}

    def __getstate__(self) -> dict[str, Any]:
        return {"_given": self._columns}

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"Table({', '.join(f'{name}: {type(column).__name__}' for name, column in self.items()) or 'nothing'})"

    def part(self, begin: int, end: int) -> Table:
        """What the documents from `begin` to before `end` carry."""
        return Table({name: column.part(begin, end) for name, column in self.items()})

    def take(self, rows: NDArray[np.int64]) -> Table:
        """What these documents carry."""
        return Table({name: column.take(rows) for name, column in self.items()})

    def told(self, name: str) -> list[Any]:
        """The plain values of a column (see `Column.told`)."""
        return self[name].told()

    def only(self, names: Iterable[str]) -> Table:
        """These of the columns."""
        return Table({name: self[name] for name in names})

    def without(self, *names: str) -> Table:
        """All other columns."""
        return Table({name: column for name, column in self.items() if name not in names})

    def kinds(self) -> Kinds:
        """What each column holds when it is told."""
        return {name: column.holds for name, column in self.items()}

    def joined(self, other: Table, here: int, there: int) -> Table:
        """What these `here` documents and then the `there` documents of the other table carry."""
        names = dict.fromkeys((*self, *other))
        values = {
            name: [
                *(self.told(name) if name in self else [None] * here),
                *(other.told(name) if name in other else [None] * there),
            ]
            for name in names
        }
        return Table({name: _column_of_values(name, column) for name, column in values.items()})

    # -- the edge of files ---------------------------------------------------------------------------------------

    def packed(self) -> dict[str, Packed]:
        """The columns as strings and numbers, as the file of a state has them."""
        return {name: column.packed for name, column in self.items()}

    @classmethod
    def unpacked(cls, columns: Mapping[str, Packed]) -> Table:
        """The columns of a state's file, each of its type; they are made when they are asked for."""
        return cls(lambda: {name: unpack_column(name, column) for name, column in columns.items()})

    @classmethod
    def of_objects(cls, objects: Strings) -> Table:
        """The columns of JSON objects that `objects` has written; they are made when they are asked for, and InputError
        comes then where something else has written them."""
        return cls(lambda: _columns_of_objects(objects))

    def objects(self, rows: NDArray[np.int64]) -> Iterator[str]:
        """What these documents carry, a JSON object each, without what they do not carry; a row below 0: no
        document."""
        different, places = np.unique(rows, return_inverse=True)
        chosen = self.take(np.maximum(different, 0))
        values = {name: chosen.told(name) for name in chosen}
        said = []
        for place, row in enumerate(different.tolist()):
            told = {name: column[place] for name, column in values.items() if column[place] not in (None, [])}
            said.append(json.dumps(told, ensure_ascii=False) if row >= 0 else "")
        yield from (said[place] for place in places.reshape(-1).tolist())


def unpack_column(name: str, column: Packed) -> Column:
    """A column of this name from strings or numbers."""
    if not isinstance(column, Strings):
        return Times(column, False) if name == "time" else Numbers(column)
    if name == "label":
        return Labels.unpacked(column)
    if name == "collection":
        return Names.of(column)
    return Times.unpacked(column) if name == "time" else Texts(column)


def _columns_of_objects(objects: Strings) -> dict[str, Column]:
    rows: list[dict[str, Any]] = []
    for text in objects:
        try:
            row = json.loads(text or "{}")
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise InputError("the model's typical documents carry what topicx does not write: the file is damaged")
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column_of_values(name, [row.get(name) for row in rows]) for name in names}


def _column_of_values(name: str, values: list[Any]) -> Column:
    """A column from values as `Column.told` has them."""
    some = [value for value in values if value not in (None, [])]
    if some and all(isinstance(value, list) and all(isinstance(one, str) for one in value) for value in some):
        return Labels.of([value or () for value in values])
    if some and all(isinstance(value, int | float) and not isinstance(value, bool) for value in some):
        numbers = np.array([np.nan if value is None else float(value) for value in values])
        return unpack_column(name, numbers)
    if not all(isinstance(value, str) for value in some):
        raise InputError(f"the column {name!r} of the model's typical documents has values of several kinds")
    if name == "collection":
        return Names.of(values)
    texts = Strings.of(value or "" for value in values)
    return Times.unpacked(texts) if name == "time" else Texts(texts)


def choose_columns(asked: str, kinds: Kinds, leave: Collection[str] = ()) -> Kinds:
    """The columns that an option names: all (but for snippets, and what else is to `leave`), none, or names with commas
    between."""
    if asked == "all":
        return {name: kind for name, kind in kinds.items() if name != SNIPPET and name not in leave}
    if asked == "none":
        return {}
    names = [name.strip() for name in asked.split(",")]
    for name in names:
        if name not in kinds:
            known = ", ".join(kinds) or "nothing beside their words"
            raise InputError(f"--metadata: the documents do not carry {name!r}; they carry {known}")
    return {name: kinds[name] for name in dict.fromkeys(names)}
