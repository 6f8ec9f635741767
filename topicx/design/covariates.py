"""What documents have, as a design takes it: numbers, or levels of a factor; and which documents have no value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.table import Column, Labels, Names, Numbers, Texts, Times
from topicx.corpus.time_texts import parse_times, told_number
from topicx.errors import InputError
from topicx.strings import Strings

DAYS_A_YEAR = 365.2425
Floats = NDArray[np.float64]
Columns = Mapping[str, Column]
"""What documents have, by name: a `topicx.corpus.table.Table`, or a part of one."""


@dataclass(frozen=True)
class Levels:
    """One of few names for each document."""

    codes: NDArray[np.int64]
    """The number of its level; -1: no value."""
    names: list[str]
    """In sorted order, numbers by size."""


def find_column(columns: Columns, name: str) -> Column:
    """A column by name, or InputError that says which there are."""
    if name not in columns:
        known = ", ".join(columns) or "nothing beside their words"
        raise InputError(f"formula: the documents do not carry {name!r}; they carry {known}")
    return columns[name]


def numbers_of(columns: Columns, name: str) -> Floats:
    """A column as numbers (NaN: no value); dates in years."""
    column = find_column(columns, name)
    if isinstance(column, Numbers):
        return column.values
    if isinstance(column, Times):
        return in_years(column.values) if column.dates else column.values
    if not isinstance(column, Texts):
        levels = levels_of(columns, name)
        values = numbers_of({name: Texts(Strings.of(levels.names))}, name)
        return np.append(values, np.nan)[levels.codes]
    try:
        values, kinds = parse_times(column.strings)
    except ValueError as wrong:
        raise InputError(f"formula: {name!r} is to be numbers or dates, but has {str(wrong)[:40]!r}") from None
    if len(kinds) > 1:
        raise InputError(f"formula: some values of {name!r} are dates, others numbers")
    return in_years(values) if kinds == {"date"} else values


def in_years(days: Floats) -> Floats:
    """Days since 1970 as years."""
    return 1970 + days / DAYS_A_YEAR


def levels_of(columns: Columns, name: str) -> Levels:
    """A column as a factor."""
    column = find_column(columns, name)
    if isinstance(column, Labels):
        sizes = np.diff(column.offsets)
        if sizes.max(initial=0) > 1:
            row = int(sizes.argmax())
            some = ", ".join(column.take(np.array([row])).told()[0])
            raise InputError(
                f"formula: documents have several values of {name!r} such as {some[:60]!r}, but a factor has one"
            )
        codes = np.full(len(column), -1, np.int64)
        codes[sizes == 1] = column.ids[column.offsets[0] : column.offsets[-1]]
        return _sorted_levels(codes, list(column.names))
    if isinstance(column, Names):
        return _sorted_levels(column.codes.astype(np.int64), list(column.names))
    if isinstance(column, Numbers) or (isinstance(column, Times) and not column.dates):
        known = np.isfinite(column.values)
        different, places = np.unique(column.values[known], return_inverse=True)
        codes = np.full(len(column), -1, np.int64)
        codes[known] = places.reshape(-1)
        return Levels(codes, [str(told_number(value)) for value in different.tolist()])
    texts = column.told()
    names = sorted({text for text in texts if text})
    place = {text: number for number, text in enumerate(names)}
    return Levels(np.array([place[text] if text else -1 for text in texts], np.int64), names)


def _sorted_levels(codes: NDArray[np.int64], names: list[str]) -> Levels:
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names) + 1, np.int64)
    rank[order], rank[-1] = np.arange(len(names)), -1
    return Levels(rank[codes], [names[number] for number in order])


def is_factor(columns: Columns, name: str) -> bool:
    """Whether a column without a function around it is a factor: texts and names are, numbers and times are not."""
    return not isinstance(find_column(columns, name), Numbers | Times)
