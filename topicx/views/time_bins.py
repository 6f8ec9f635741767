"""Times in bins of the calendar, or of equal width: all from the first to the last, those without a document too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError

UNITS = {
    "day": ("D", 1), "week": ("D", 7), "month": ("M", 1), "quarter": ("M", 3), "year": ("M", 12), "decade": ("M", 120),
    "century": ("M", 1200),
}  # fmt: skip
"""Days or months of each unit, from the shortest on."""
AUTO, MOST = 40, 5000
"""Bins that there are at most if nobody says how wide they are, and at all."""
_MONDAY = 3
"""Days from the Monday of its week to 1970-01-01."""
_YEAR = 365.2425


@dataclass(frozen=True)
class Bins:
    """Which bin each document is in."""

    names: list[str]
    """In their order; of dates in ISO form."""
    index: NDArray[np.int64]
    """The bin of each document; -1: it has no time."""
    middles: NDArray[np.float64]
    """The middle of each bin: of dates in years."""


def bins(times: NDArray[np.float64], dates: bool, unit: str | None = None, every: int | None = None) -> Bins:
    """Bins of times (days since 1970, if they are `dates`; else numbers, whose unit is a year). `every` makes them of
    so many units. Without either they are as narrow as gives forty at most."""
    known = np.isfinite(times)
    if not known.any():
        raise InputError("--by: no document has a time there")
    return _of_dates(times, known, unit, every) if dates else _of_numbers(times, known, unit, every)


def _of_dates(times: NDArray[np.float64], known: NDArray[np.bool_], unit: str | None, every: int | None) -> Bins:
    days = np.floor(times[known])
    if np.abs(days).max() > 3e6:
        raise InputError("--by: there are dates that no calendar has")
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
    first, last, index = _placed(counted[base] // width, known)
    begins = np.arange(first, last + 2) * width
    if base == "M":
        names = [_months(begin, width) for begin in begins[:-1].tolist()]
        return Bins(names, index, np.asarray((begins[:-1] + width / 2) / 12, np.float64))
    begins = begins - (_MONDAY if UNITS[unit or "year"][1] == 7 else 0)
    names = [_days(begin, width) for begin in begins[:-1].tolist()]
    return Bins(names, index, np.asarray(1970 + (begins[:-1] + width / 2) / _YEAR, np.float64))


def _months(begin: int, width: int) -> str:
    """1987-03, 1987-Q1, 1987, 1980-1989; or the first and the last month."""
    year, month = divmod(begin, 12)
    if width % 12 == 0:
        return f"{year:04}" if width == 12 else f"{year:04}-{year + width // 12 - 1:04}"
    if width == 3:
        return f"{year:04}-Q{month // 3 + 1}"
    last = divmod(begin + width - 1, 12)
    first = f"{year:04}-{month + 1:02}"
    return first if width == 1 else f"{first}/{last[0]:04}-{last[1] + 1:02}"


def _days(begin: int, width: int) -> str:
    """1987-03-05, or the first and the last day."""
    first, last = (str(np.datetime64(day, "D")) for day in (begin, begin + width - 1))
    return first if width == 1 else f"{first}/{last}"


def _of_numbers(times: NDArray[np.float64], known: NDArray[np.bool_], unit: str | None, every: int | None) -> Bins:
    values = times[known]
    whole = bool(np.all(values == np.floor(values)))
    if unit is not None:
        months = UNITS[unit][1] if UNITS[unit][0] == "M" else 0
        if not months or months % 12:
            raise InputError(f"--bins {unit}: the times are numbers, not dates: year, decade or century, or --every N")
        width = months / 12 * (every or 1)
    else:
        width = float(every) if every else _width(float(np.ptp(values)), whole)
    with np.errstate(over="ignore"):
        places = np.floor(values / width)
    if np.abs(places).max() > 2**52:
        raise InputError("--by: the times are too far apart for bins")
    first, last, index = _placed(places.astype(np.int64), known)
    begins = np.arange(first, last + 1) * width
    names = [_numbers(begin, width, whole) for begin in begins.tolist()]
    middles = begins + (width - 1 if whole else width) / 2
    return Bins(names, index, middles.astype(np.float64))


def _width(span: float, whole: bool) -> float:
    """1, 2 or 5 times a power of ten: the narrowest that gives no more bins than AUTO."""
    power = 0 if whole or not span else int(np.floor(np.log10(span / AUTO)))
    widths = (float(f"{digit}e{power + more}") for more in range(400) for digit in (1, 2, 5))
    return next(width for width in widths if span / width < AUTO - 1)


def _numbers(begin: float, width: float, whole: bool) -> str:
    if not whole:
        return f"{begin:.10g} to {begin + width:.10g}"
    if width == 1:
        return f"{begin:.15g}"
    return f"{begin:.15g}{'-' if begin >= 0 else ' to '}{begin + width - 1:.15g}"


def _placed(places: NDArray[np.int64], known: NDArray[np.bool_]) -> tuple[int, int, NDArray[np.int64]]:
    first, last = int(places.min()), int(places.max())
    if last - first >= MOST:
        raise InputError(f"--by: these are {last - first + 1:,} bins, more than {MOST:,}: --bins, --every")
    index = np.full(len(known), -1, np.int64)
    index[known] = places - first
    return first, last, index
