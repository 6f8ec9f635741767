"""Slices of documents: by the calendar, in equal widths, of about as many documents each, or by the values of a column.

There is one calendar, `UNITS`, and one place where times and columns are cut.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.table import Column, Labels, Names, Numbers, Times
from topicx.corpus.time_texts import parse_times, told_time
from topicx.errors import InputError
from topicx.strings import Strings

UNITS = {
    "day": ("D", 1), "week": ("D", 7), "month": ("M", 1), "quarter": ("M", 3), "year": ("M", 12), "decade": ("M", 120),
    "century": ("M", 1200),
}  # fmt: skip
"""Days or months of each unit, from the shortest on."""
AUTO, MOST = 40, 5000
"""Slices that there are at most if nobody says how wide they are, and at all where empty ones count."""
FEW = 100
"""Different numbers of a column that are slices of their own; more of them are cut by width."""
_MONDAY = 3
"""Days from the Monday of its week to 1970-01-01."""
_YEAR = 365.2425


@dataclass(frozen=True)
class DocumentSlices:
    """Slices of documents, and which documents are in each, in pairs that ascend by document."""

    names: list[str]
    """What the slices are called; times in their order, of dates in ISO form."""
    documents: NDArray[np.int64]
    slices: NDArray[np.int64]
    """The slice of each of `documents`. One document may be in several (by its labels) or in none."""
    begins: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """When each slice begins, in the unit of the times (dates: days since 1970); empty: they have no order."""
    middles: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """The middle of each slice: of dates in years."""

    @property
    def ordered(self) -> bool:
        """Whether the slices are one after another in time, or by a number."""
        return len(self.begins) > 0

    def of_documents(self, documents: int) -> NDArray[np.int64]:
        """The slice of each of so many documents, which are in one at most; -1: in none."""
        found = np.full(documents, -1, np.int64)
        found[self.documents] = self.slices
        return found


def column_slices(column: Column, option: str, unit: str | None = None, every: int | None = None) -> DocumentSlices:
    """Slices by what documents carry under one name: times by the calendar or by width, as are columns of many
    different numbers and any column with a `unit` or `every`; else a slice for each value. `option` is named in
    messages."""
    if isinstance(column, Times) or unit or every:
        return time_slices(times_of(column, option), option.split()[0], unit, every)
    if isinstance(column, Numbers):
        known = np.flatnonzero(np.isfinite(column.values))
        different, places = np.unique(column.values[known], return_inverse=True)
        if len(different) > FEW:
            return time_slices(Times(column.values, False), option.split()[0])
        return _slices_with_documents(
            [f"{value:.15g}" for value in different.tolist()], known, places.reshape(-1), option
        )
    if isinstance(column, Labels):
        documents, numbers = np.repeat(np.arange(len(column)), np.diff(column.offsets)), column.ids.astype(np.int64)
    else:
        column = column if isinstance(column, Names) else Names.of(column.told())
        documents = np.flatnonzero(column.codes >= 0)
        numbers = column.codes[documents].astype(np.int64)
    used, places = np.unique(numbers, return_inverse=True)
    names = list(column.names.take(used))
    order = np.argsort(np.array(names, dtype=object), kind="stable") if names else np.zeros(0, np.int64)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return _slices_with_documents([names[at] for at in order], documents, rank[places.reshape(-1)], option)


def _slices_with_documents(
    names: list[str], documents: NDArray[np.int64], slices: NDArray[np.int64], option: str
) -> DocumentSlices:
    if len(names) > MOST:
        raise InputError(f"{option}: it has {len(names):,} different values; there can be {MOST:,}")
    return DocumentSlices(names, documents, slices)


def times_of(column: Column, option: str) -> Times:
    """A column as times: numbers as they are, and texts read, each different one once."""
    if isinstance(column, Times):
        return column
    packed = column.packed
    if not isinstance(packed, Strings):
        return Times(packed, False)
    try:
        values, kinds = parse_times(packed)
    except ValueError as error:
        raise InputError(f"{option}: {str(error)[:40]!r} is neither a number nor an ISO date") from None
    if len(kinds) > 1:
        raise InputError(f"{option}: some values are dates, others numbers")
    return Times(values, kinds == {"date"})


def time_slices(
    times: Times, option: str = "--by", unit: str | None = None, every: int | None = None, filled: bool = False
) -> DocumentSlices:
    """Slices of the calendar, or of equal width where times are numbers (whose unit is a year). `every` makes them of
    so many units. Without either they are as narrow as gives forty at most. All from the first to the last are there,
    also those without a document; with `filled`, those that have documents alone."""
    known = _check_some_known(times, option)
    cut = _of_dates if times.dates else _of_numbers
    return cut(times.values[known], known, option, unit, every, filled)


def _check_some_known(times: Times, option: str) -> NDArray[np.int64]:
    known = np.flatnonzero(np.isfinite(times.values))
    if not len(known):
        raise InputError(f"{option}: no document has a time there")
    return known


def _of_dates(
    times: NDArray[np.float64], known: NDArray[np.int64], option: str, unit: str | None, every: int | None, filled: bool
) -> DocumentSlices:  # fmt: skip
    days = np.floor(times)
    if np.abs(days).max() > 3e6:
        raise InputError(f"{option}: there are dates that no calendar has")
    days = days.astype(np.int64)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 12 * 1970
    counted = {"D": days + _MONDAY, "M": months}
    if unit is None and every is None:
        spans = {name: np.ptp(counted[base] // width) + 1 for name, (base, width) in UNITS.items()}
        unit = next((name for name, span in spans.items() if span <= AUTO), "century")
    base, width = UNITS[unit or "year"]
    if base == "D" and width == 1:
        counted["D"] = days
    width *= every or 1
    numbers, slices = _number_slices(counted[base] // width, option, filled)
    begins = numbers * width
    if base == "M":
        names = [_name_months(begin, width) for begin in begins.tolist()]
        first_days = (begins - 12 * 1970).astype("datetime64[M]").astype("datetime64[D]").astype(np.float64)
        return DocumentSlices(names, known, slices, first_days, np.asarray((begins + width / 2) / 12, np.float64))
    begins = begins - (_MONDAY if UNITS[unit or "year"][1] == 7 else 0)
    names = [_name_days(begin, width) for begin in begins.tolist()]
    middles = np.asarray(1970 + (begins + width / 2) / _YEAR, np.float64)
    return DocumentSlices(names, known, slices, begins.astype(np.float64), middles)


def _name_months(begin: int, width: int) -> str:
    """1987-03, 1987-Q1, 1987, 1980-1989; or the first and the last month."""
    year, month = divmod(begin, 12)
    if width % 12 == 0:
        return f"{year:04}" if width == 12 else f"{year:04}-{year + width // 12 - 1:04}"
    if width == 3:
        return f"{year:04}-Q{month // 3 + 1}"
    last = divmod(begin + width - 1, 12)
    first = f"{year:04}-{month + 1:02}"
    return first if width == 1 else f"{first}/{last[0]:04}-{last[1] + 1:02}"


def _name_days(begin: int, width: int) -> str:
    """1987-03-05, or the first and the last day."""
    first, last = (str(np.datetime64(day, "D")) for day in (begin, begin + width - 1))
    return first if width == 1 else f"{first}/{last}"


def _of_numbers(
    times: NDArray[np.float64], known: NDArray[np.int64], option: str, unit: str | None, every: int | None, filled: bool
) -> DocumentSlices:  # fmt: skip
    whole = bool(np.all(times == np.floor(times)))
    if unit is not None:
        months = UNITS[unit][1] if UNITS[unit][0] == "M" else 0
        if not months or months % 12:
            raise InputError(f"--bins {unit}: the times are numbers, not dates: year, decade or century, or --every N")
        width = months / 12 * (every or 1)
    else:
        width = float(every) if every else _narrowest_width(float(np.ptp(times)), whole)
    with np.errstate(over="ignore"):
        places = np.floor(times / width)
    if np.abs(places).max() > 2**52:
        raise InputError(f"{option}: the times are too far apart for bins")
    numbers, slices = _number_slices(places.astype(np.int64), option, filled)
    begins = numbers * width
    names = [_name_range(begin, width, whole) for begin in begins.tolist()]
    middles = begins + (width - 1 if whole else width) / 2
    return DocumentSlices(names, known, slices, begins.astype(np.float64), middles.astype(np.float64))


def _narrowest_width(span: float, whole: bool) -> float:
    """1, 2 or 5 times a power of ten: the narrowest that gives no more slices than AUTO."""
    power = 0 if whole or not span else int(np.floor(np.log10(span / AUTO)))
    widths = (float(f"{digit}e{power + more}") for more in range(400) for digit in (1, 2, 5))
    return next(width for width in widths if span / width < AUTO - 1)


def _name_range(begin: float, width: float, whole: bool) -> str:
    if not whole:
        return f"{begin:.10g} to {begin + width:.10g}"
    if width == 1:
        return f"{begin:.15g}"
    return f"{begin:.15g}{'-' if begin >= 0 else ' to '}{begin + width - 1:.15g}"


def _number_slices(places: NDArray[np.int64], option: str, filled: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of the slices, and which of these each place is."""
    if filled:
        numbers, slices = np.unique(places, return_inverse=True)
        return numbers, slices.reshape(-1)
    first, last = int(places.min()), int(places.max())
    if last - first >= MOST:
        raise InputError(f"{option}: these are {last - first + 1:,} bins, more than {MOST:,}: --bins, --every")
    return np.arange(first, last + 1), places - first


def width_slices(times: Times, width: float, option: str) -> DocumentSlices:
    """Slices of this width (in days, of dates) that have documents; the first begins with the first time, rounded
    down."""
    known = _check_some_known(times, option)
    values = times.values[known]
    first = np.floor(values.min())
    numbers, slices = np.unique(np.floor((values - first) / width), return_inverse=True)
    begins = first + numbers * width
    names = [str(np.datetime64(int(begin), "D")) if times.dates else f"{begin:.10g}" for begin in begins]
    return DocumentSlices(names, known, slices.reshape(-1), begins, begins + width / 2)


def even_slices(times: Times, number: int, option: str) -> DocumentSlices:
    """So many slices of time with about as many documents each; documents of one time are together."""
    known = _check_some_known(times, option)
    different, places, counts = np.unique(times.values[known], return_inverse=True, return_counts=True)
    if number > len(different):
        raise InputError(
            f"{option}: {number} spans of {len(different)} different times; there can be at most {len(different)}"
        )
    # A time belongs where the middle of its documents falls; a slice that none falls into takes the next.
    of_time = ((np.cumsum(counts) - counts / 2) * number / counts.sum()).astype(np.int64)
    of_time = np.unique(np.minimum(of_time, number - 1), return_inverse=True)[1].reshape(-1)
    firsts = np.flatnonzero(np.diff(of_time, prepend=-1))
    ends = np.append(firsts[1:], len(different)) - 1
    bounds = zip(different[firsts].tolist(), different[ends].tolist())
    names = [_name_quantile(first, last, times.dates) for first, last in bounds]
    middles = (different[firsts] + different[ends]) / 2
    middles = 1970 + middles / _YEAR if times.dates else middles
    return DocumentSlices(names, known, of_time[places.reshape(-1)], different[firsts], middles)


def _name_quantile(first: float, last: float, dates: bool) -> str:
    ends = [str(told_time(time, dates)) for time in (first, last)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}" if dates else f"{ends[0]}-{ends[1]}"
