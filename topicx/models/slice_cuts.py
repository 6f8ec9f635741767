"""Which slice a document is in: cut by time, or by the values of a column; and the same cuts for new documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.corpus.slices import column_slices, time_slices, times_of
from topicx.corpus.table import Column, Times
from topicx.errors import InputError, list_first_names

COMMON, NONE_NAME = "(common)", "(none)"
"""What all values of a column have in common: slice 0, which has no documents; and the slice of those without a
value."""

FOREVER = 1e300
"""The end of a last slice that has none."""


@dataclass(frozen=True)
class SliceCuts:
    """The slices of a model."""

    column: str
    drift: bool
    """Whether each slice comes from the one before; else all come from slice 0."""
    names: list[str]
    begins: list[float]
    """Where each begins in time (of dates: days since 1970), and where the last ends; empty: values of a column."""
    dates: bool = False

    def to_meta(self) -> dict[str, Any]:
        """The cuts as a model's file has them."""
        return {
            "column": self.column, "drift": self.drift, "names": self.names, "begins": self.begins,
            "dates": self.dates,
        }  # fmt: skip

    @classmethod
    def of_meta(cls, meta: Mapping[str, Any]) -> SliceCuts:
        """Those that a model or a state remembers; InputError where they make no sense."""
        kept = meta.get("slices")
        try:
            found = cls(**kept)  # type: ignore[arg-type]
            names = [str(name) for name in found.names]
            begins = [float(at) for at in found.begins]
            if not isinstance(found.column, str) or len(begins) not in (0, len(names) + 1) or sorted(begins) != begins:
                raise ValueError("cuts")
        except (TypeError, ValueError):
            raise InputError("the file is not consistent: its slices are no cuts of a column") from None
        return cls(found.column, bool(found.drift), names, begins, bool(found.dates))

    def of_documents(self, column: Column | None, documents: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The slice of each new document, and whether it is one that the model does not know: of a time before the
        first or after the last it is the nearest, of another value what all have in common. -1: the document has no
        value (and there is no slice of such)."""
        if column is None:
            return np.full(documents, -1, np.int64), np.ones(documents, bool)
        if self.begins:
            try:
                times = times_of(column, self.column)
            except InputError:
                return np.full(documents, -1, np.int64), np.ones(documents, bool)
            known = np.isfinite(times.values) & (times.dates == self.dates)
            values = np.where(known, times.values, self.begins[0])
            at = np.searchsorted(self.begins, values, side="right") - 1
            inside = (at >= 0) & (at < len(self.names))
            return np.where(known, np.clip(at, 0, len(self.names) - 1), -1), ~(known & inside)
        number = {name: at for at, name in enumerate(self.names)}
        missing = number.get(NONE_NAME, -1)
        found, strange = np.full(documents, missing, np.int64), np.full(documents, missing < 0)
        cut = column_slices(column, self.column)
        places = np.array([number.get(name, 0) for name in cut.names] + [0], np.int64)
        found[cut.documents] = places[cut.slices]
        strange[cut.documents] = places[cut.slices] == 0
        return found, strange


def cut_corpus(
    corpus: Corpus, over: str, across: str, unit: str | None, every: int | None
) -> tuple[SliceCuts, NDArray[np.int64]]:
    """The slices of a corpus, and the number of each document's."""
    name = over or across
    option = f"--{'over' if over else 'across'} {name}"
    column = corpus.table.get(name)
    if column is None:
        known = list_first_names(list(corpus.table)) if len(corpus.table) else "none"
        raise InputError(f"{option}: the documents carry nothing of this name; they carry {known}")
    if across:
        return _values(column, across, option, corpus.n_documents)
    times = times_of(column, option)
    cut = time_slices(times, option, unit, every)
    found = cut.of_documents(corpus.n_documents)
    missing = np.flatnonzero(found < 0)
    if len(missing):
        raise InputError(
            f"{option}: {len(missing):,} documents have no time there, the first is {corpus.ids[int(missing[0])]!r}; "
            "a topic's words are those of a time: leave these documents out"
        )
    begins = [*map(float, cut.begins), _end(times, cut.begins, option, unit, every)]
    return SliceCuts(over, True, list(cut.names), begins, times.dates), found


def _end(times: Times, begins: NDArray[np.float64], option: str, unit: str | None, every: int | None) -> float:
    """Where the last slice ends: where the next would begin."""
    if len(begins) < 2 and unit is None and every is None:
        return FOREVER
    last = float(np.nanmax(times.values))
    for further in (1.0, 40.0, 400.0, 4e3, 4e4, 4e5):
        try:
            more = time_slices(Times(np.array([float(begins[0]), last + further]), times.dates), option, unit, every)
        except InputError:
            break
        after = more.begins[more.begins > begins[-1]]
        if len(after):
            return float(after[0])
    return FOREVER


def _values(column: Column, name: str, option: str, documents: int) -> tuple[SliceCuts, NDArray[np.int64]]:
    cut = column_slices(column, option)
    if len(np.unique(cut.documents)) < len(cut.documents):
        raise InputError(f"{option}: some documents have several values there; a document is in one slice")
    found = cut.of_documents(documents) + 1
    names = [COMMON, *cut.names]
    if np.any(found == 0):
        found = np.where(found == 0, len(names), found)
        names.append(NONE_NAME)
    return SliceCuts(name, False, names, []), found
