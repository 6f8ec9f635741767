"""What documents carry beside their words, as columns of a table: label, collection, time, and the columns that import
has kept. Every output with a row a document takes them from here.

A column is strings or numbers, one a document. Several labels of one document are one string, parted by SEPARATOR;
dates are ISO texts. A text that is empty, or a number that is NaN, is no value.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.strings import Strings

if TYPE_CHECKING:
    from topicx.corpus.corpus import Corpus

Column = Strings | NDArray[np.float64]
SEPARATOR = "\x1f"
FIRST = ("label", "collection", "time")
"""Columns that stand before the others, which follow by name."""
SNIPPET = "snippet"
"""The column that is shown only where it is asked for by name."""


class Digits(float):
    """The kind of columns of numbers that are written with all of their digits."""


Kinds = dict[str, type]
"""Names of columns, and what they hold: str, list (of strings) or Digits."""


def columns_of(corpus: Corpus, begin: int = 0, end: int | None = None, snippets: bool = False) -> dict[str, Column]:
    """The columns of a corpus, or of some of its documents."""
    end = corpus.n_documents if end is None else end
    found: dict[str, Column] = {}
    if len(corpus.label_offsets):
        found["label"] = Strings.of(SEPARATOR.join(corpus.labels(d)) for d in range(begin, end))
    if len(corpus.collection):
        names = [*corpus.collection_names, ""]
        found["collection"] = Strings.of(names[number] for number in corpus.collection[begin:end].tolist())
    if len(corpus.time):
        times = corpus.time[begin:end]
        dates = corpus.meta.get("time") == "date"
        told = ("" if value is None else str(value) for value in told_times(times)) if dates else ()
        found["time"] = Strings.of(told) if dates else times
    for name, column in corpus.columns.items():
        if name not in found and (snippets or name != SNIPPET):
            found[name] = part(column, begin, end)
    return in_order(found)


def in_order(columns: Mapping[str, Column]) -> dict[str, Column]:
    """The columns in the order of outputs, whatever they come from: a file has no order."""
    first = [name for name in FIRST if name in columns]
    return {name: columns[name] for name in (*first, *sorted(set(columns) - set(first)))}


def kinds_of(columns: Mapping[str, Column]) -> Kinds:
    """What each column holds."""
    kinds: Kinds = {name: str if isinstance(column, Strings) else Digits for name, column in columns.items()}
    return kinds | ({"label": list} if kinds.get("label") is str else {})


@overload
def part(column: Strings, begin: int, end: int) -> Strings: ...
@overload
def part(column: Column, begin: int, end: int) -> Column: ...
def part(column: Column, begin: int, end: int) -> Column:
    """The column of some documents."""
    if isinstance(column, Strings):
        places = column.offsets[begin : end + 1]
        return Strings(column.data[places[0] : places[-1]], places - places[0])
    return column[begin:end]


def rows_of(column: Column, rows: NDArray[np.int64]) -> Column:
    """The column of these documents."""
    return column.take(rows) if isinstance(column, Strings) else column[rows]


def values_of(name: str, column: Column) -> list[Any]:
    """A column as plain values: texts, lists of labels, whole or broken numbers; None: no value."""
    if not isinstance(column, Strings):
        return [told_number(value) for value in column.tolist()]
    if name == "label":
        return [text.split(SEPARATOR) if text else [] for text in column]
    return [text or None for text in column]


def objects_of(columns: Mapping[str, Column], rows: NDArray[np.int64]) -> Iterator[str]:
    """What these documents carry, a JSON object each, without what they do not carry; a row below 0: no document."""
    different, places = np.unique(rows, return_inverse=True)
    values = {name: values_of(name, rows_of(column, np.maximum(different, 0))) for name, column in columns.items()}
    said = []
    for place, row in enumerate(different.tolist()):
        told = {name: column[place] for name, column in values.items() if column[place] not in (None, [])}
        said.append(json.dumps(told, ensure_ascii=False) if row >= 0 else "")
    yield from (said[place] for place in places.reshape(-1).tolist())


def told_times(times: NDArray[np.float64]) -> list[str | float | int | None]:
    """Days since 1970 as ISO dates, each of which is made once."""
    different, places = np.unique(times, return_inverse=True)
    told = [told_time(value, dates=True) for value in different.tolist()]
    return [told[place] for place in places.reshape(-1).tolist()]


def told_time(value: float, dates: bool) -> str | float | int | None:
    """A time as a number, or as an ISO date."""
    if not dates or np.isnan(value):
        return told_number(value)
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=value)
    except OverflowError:  # not in a calendar
        return told_number(value)
    return moment.date().isoformat() if value.is_integer() else moment.isoformat()


def told_number(value: float) -> float | int | None:
    if not np.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def chosen(asked: str, kinds: Kinds, leave: Collection[str] = ()) -> Kinds:
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
