"""What documents carry, where they are read on the way and not kept: the columns are told by the first batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from topicx.corpus.formats.document_reader import Batch, field_as_text
from topicx.corpus.table import Digits, Kinds
from topicx.corpus.time_texts import parse_time, told_number, told_time
from topicx.errors import InputError


def peek_columns(batches: Iterable[Batch]) -> tuple[Kinds, Iterator[Batch]]:
    """What documents carry, by the first of their batches (all inputs of a run are alike), and all batches."""
    rest = iter(batches)
    first = next(rest, None)
    if first is None:
        return {}, rest
    kinds: Kinds = {}
    if first.labels is not None and any(first.labels):
        kinds["label"] = list
    if first.collections is not None and any(first.collections):
        kinds["collection"] = str
    if first.times is not None:
        times = [value for value in map(_time_of_value, first.times) if value is not None]
        if times:
            kinds["time"] = str if isinstance(times[0], str) else Digits
    for name, column in sorted(first.columns.items()):  # as a corpus has them
        numbers = all(value is None or (isinstance(value, int | float) and value is not True) for value in column)
        kinds.setdefault(name, Digits if numbers and any(value is not None for value in column) else str)
    return kinds, itertools.chain([first], rest)


def kinds_wanted(batch: Batch, names: Iterable[str]) -> Kinds:
    """Those of these columns that the batch has, by what it holds in them."""
    kinds, _ = peek_columns([batch])
    return {name: kinds[name] for name in names if name in kinds}


def values_of_batch(batch: Batch, kinds: Kinds) -> dict[str, list[Any]]:
    """These columns of a batch, as plain values."""
    found: dict[str, list[Any]] = {}
    given = {"label": batch.labels, "collection": batch.collections, "time": batch.times}
    for name, kind in kinds.items():
        values: Sequence[Any] | None = given.get(name)
        if values is None:
            values = batch.columns.get(name)
        if values is None:
            found[name] = [None] * len(batch)
        elif name == "label" and kind is list:
            found[name] = [list(each or ()) for each in values]
        elif name == "time" and batch.times is not None:
            found[name] = [_time_of_kind(_time_of_value(value), kind) for value in values]
        elif kind is Digits:
            found[name] = [_number_of_value(value, batch, row, name) for row, value in enumerate(values)]
        else:
            found[name] = [field_as_text(value) or None for value in values]
    return found


def _time_of_value(value: Any) -> str | float | int | None:
    """A time as outputs have it; None: there is none, or nobody can read it."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        kind, number = parse_time(value)
    except ValueError:
        return None
    return told_time(number, dates=kind == "date")


def _time_of_kind(value: Any, kind: type) -> Any:
    """A time of the kind that the first ones have; else none, as in import."""
    return value if isinstance(value, str) == (kind is str) else None


def _number_of_value(value: Any, batch: Batch, row: int, name: str) -> float | int | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, int | float | np.number):
        raise InputError(
            f"{batch.place(row)}: the column {name!r} has {field_as_text(value)[:40]!r}, after numbers alone"
        )
    return told_number(float(value))
