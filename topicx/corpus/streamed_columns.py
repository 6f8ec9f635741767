"""What documents carry, where they are read on the way and not kept: the columns are told by the first batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from topicx.corpus.formats.document_reader import Batch, field_as_text
from topicx.corpus.table import Column, Digits, Kinds, Labels, Names, Numbers, Table, Texts, Times
from topicx.corpus.time_texts import parse_time
from topicx.errors import InputError
from topicx.strings import Strings


def kinds_of_batch(batch: Batch) -> Kinds:
    """What the documents of a batch carry."""
    kinds: Kinds = {}
    if batch.labels is not None and any(batch.labels):
        kinds["label"] = list
    if batch.collections is not None and any(batch.collections):
        kinds["collection"] = str
    if batch.times is not None:
        first = next((kind for kind, _ in map(_read_time, batch.times) if kind), "")
        if first:
            kinds["time"] = str if first == "date" else Digits
    for name, column in sorted(batch.columns.items()):  # as a corpus has them
        numbers = all(value is None or (isinstance(value, int | float) and value is not True) for value in column)
        kinds.setdefault(name, Digits if numbers and any(value is not None for value in column) else str)
    return kinds


def carried_by_batch(batch: Batch, kinds: Kinds) -> Table:
    """These columns of a batch; what its documents do not carry is none in each."""
    return Table({name: _make_column(batch, name, kind) for name, kind in kinds.items()})


def _make_column(batch: Batch, name: str, kind: type) -> Column:
    given = {"label": batch.labels, "collection": batch.collections, "time": batch.times}
    values: Sequence[Any] | None = given.get(name)
    if values is None:
        values = batch.columns.get(name)
    if name == "label" and kind is list:
        return Labels.of([()] * len(batch) if values is None else [each or () for each in values])
    if name == "time" and (values is None or values is batch.times):
        dates = kind is str
        return Times(np.array([_fitting_time(value, dates) for value in values or [None] * len(batch)]), dates)
    values = [None] * len(batch) if values is None else values
    if kind is Digits:
        return Numbers(
            np.array([_number_of_value(value, batch, row, name) for row, value in enumerate(values)], np.float64)
        )
    if name == "collection":
        return Names.of(None if value is None else field_as_text(value) for value in values)
    return Texts(Strings.of(map(field_as_text, values)))


def _read_time(value: Any) -> tuple[str, float]:
    """The kind of a time (`number` or `date`) and its value; '' and NaN: there is none, or nobody can read it."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return "", np.nan
    try:
        return parse_time(value)
    except ValueError:
        return "", np.nan


def _fitting_time(value: Any, dates: bool) -> float:
    """A time of the kind that the first ones have; else none, as in import."""
    kind, number = _read_time(value)
    return number if kind == ("date" if dates else "number") else np.nan


def _number_of_value(value: Any, batch: Batch, row: int, name: str) -> float:
    if value is None:
        return np.nan
    if isinstance(value, str) or not isinstance(value, int | float | np.number):
        raise InputError(
            f"{batch.place(row)}: the column {name!r} has {field_as_text(value)[:40]!r}, after numbers alone"
        )
    return float(value)
