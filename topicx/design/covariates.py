"""What documents carry, as a design takes it: numbers, or levels of a factor; and which documents have no value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.build.spooled_columns import parse_time
from topicx.corpus.columns import SEPARATOR, told_number
from topicx.errors import InputError
from topicx.strings import Strings

DAYS_A_YEAR = 365.2425
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Levels:
    """One of few names for each document."""

    codes: NDArray[np.int64]
    """The number of its level; -1: no value."""
    names: list[str]
    """In sorted order, numbers by size."""


def column_of(columns: Mapping[str, Any], name: str) -> Any:
    """A column by name, or InputError that says which there are."""
    if name not in columns:
        known = ", ".join(columns) or "nothing beside their words"
        raise InputError(f"formula: the documents do not carry {name!r}; they carry {known}")
    return columns[name]


def numbers_of(columns: Mapping[str, Any], name: str) -> Floats:
    """A column as numbers (NaN: no value); dates in years."""
    column = column_of(columns, name)
    if not isinstance(column, Strings):
        return np.asarray(column, dtype=np.float64)
    parsed: dict[str, tuple[str, float]] = {"": ("", np.nan)}
    for text in column:
        if text not in parsed:
            try:
                parsed[text] = parse_time(text)
            except ValueError:
                raise InputError(
                    f"formula: {name!r} is to be numbers or dates, but has {text.replace(SEPARATOR, ', ')[:40]!r}"
                ) from None
    kinds = {kind for kind, _ in parsed.values()} - {""}
    if len(kinds) > 1:
        raise InputError(f"formula: some values of {name!r} are dates, others numbers")
    values = np.array([parsed[text][1] for text in column], dtype=np.float64)
    return 1970 + values / DAYS_A_YEAR if kinds == {"date"} else values


def levels_of(columns: Mapping[str, Any], name: str) -> Levels:
    """A column as a factor."""
    column = column_of(columns, name)
    if isinstance(column, Strings):
        texts = list(column)
        several = next((text for text in texts if SEPARATOR in text), None)
        if several is not None:
            raise InputError(
                f"formula: documents have several values of {name!r} (as {several.replace(SEPARATOR, ', ')[:60]!r}),"
                " but a factor has one"
            )
        names = sorted(set(texts) - {""})
        place = {text: number for number, text in enumerate(names)} | {"": -1}
        return Levels(np.array([place[text] for text in texts], np.int64), names)
    values = np.asarray(column, dtype=np.float64)
    known = np.isfinite(values)
    different, places = np.unique(values[known], return_inverse=True)
    codes = np.full(len(values), -1, np.int64)
    codes[known] = places.reshape(-1)
    return Levels(codes, [str(told_number(value)) for value in different.tolist()])


def is_factor(columns: Mapping[str, Any], name: str) -> bool:
    """Whether a column without a function around it is a factor: texts are, numbers and the time are not."""
    return isinstance(column_of(columns, name), Strings) and name != "time"
