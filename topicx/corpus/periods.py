"""Periods of one's own: spans of time that a user names, such as 1800-1850 and 1990-05-01/1992-06-30."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from topicx.corpus.slices import DocumentSlices
from topicx.corpus.table import Times
from topicx.errors import InputError

_NUMBERS = re.compile(r"(-?\d+(?:\.\d+)?)(?:-(-?\d+(?:\.\d+)?))?", re.ASCII)
_DATE = re.compile(r"\d{4}(-\d\d){0,2}", re.ASCII)


def parse_periods(text: str, option: str = "--periods") -> list[str]:
    """The periods of an option, which have commas between; InputError if there are not two at least."""
    periods = [part.strip() for part in text.split(",")]
    if len(periods) < 2 or not all(periods):
        raise InputError(f"{option} {text}: two periods at least, with a comma between (1800-1849,1900-1949)")
    return periods


def period_slices(times: Times, periods: Sequence[str], option: str = "--periods") -> DocumentSlices:
    """Slices of documents by named periods.

    Parameters
    ----------
    times : Times
        Times of the documents.
    periods : sequence of str
        FIRST-LAST in years (or numbers, where times are numbers), or FIRST/LAST in years, months or days in ISO form.
        Both ends belong to the period: of dates, the whole of the last year, month or day.
    option : str, default "--periods"
        What messages name.

    Returns
    -------
    DocumentSlices
        A slice a period, in the order given. Documents of no period are in none.
    """
    spans = [_span(period, times.dates, f"{option} {period}") for period in periods]
    order = sorted(range(len(spans)), key=spans.__getitem__)
    for one, next_one in zip(order, order[1:]):
        if spans[next_one][0] <= spans[one][1]:
            raise InputError(f"{option}: {periods[one]} and {periods[next_one]} overlap")
    found = np.full(len(times.values), -1, np.int64)
    for number, (first, last) in enumerate(spans):
        inside = (times.values >= first) & (times.values <= last)
        if not inside.any():
            raise InputError(f"{option} {periods[number]}: no document has a time there")
        found[inside] = number
    documents = np.flatnonzero(found >= 0)
    return DocumentSlices(list(periods), documents, found[documents])


def _span(period: str, dates: bool, told: str) -> tuple[float, float]:
    """The first and the last time of a period, both in it."""
    first, slash, last = (part.strip() for part in period.partition("/"))
    if not slash:
        match = _NUMBERS.fullmatch(period)
        if match is None:
            raise InputError(f"{told}: it is neither FIRST-LAST (1800-1849) nor FIRST/LAST (1990-05/1992-12)")
        first, last = match[1], match[2] or match[1]
        if dates and re.fullmatch(r"\d{4}-\d\d", period):
            first = last = period
    if dates:
        ends = _first_day(first, told), _last_moment(last, told)
    else:
        try:
            ends = float(first), float(last)
        except ValueError:
            raise InputError(f"{told}: the times are numbers, not dates") from None
    if not ends[0] <= ends[1]:
        raise InputError(f"{told}: it ends before it begins (periods of months: 1990-05/1990-08)")
    return ends


def _date(text: str, told: str) -> np.datetime64:
    if _DATE.fullmatch(text):
        try:
            return np.datetime64(text)
        except ValueError:
            pass
    raise InputError(f"{told}: {text!r} is not a year, month or day in ISO form (1990, 1990-05, 1990-05-01)")


def _first_day(text: str, told: str) -> float:
    return float(_date(text, told).astype("datetime64[D]").astype(np.int64))


def _last_moment(text: str, told: str) -> float:
    """The last moment before the year, month or day after this one, in days since 1970."""
    after = (_date(text, told) + 1).astype("datetime64[D]").astype(np.int64)
    return float(np.nextafter(float(after), -np.inf))
