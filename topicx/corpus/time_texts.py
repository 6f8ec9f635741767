"""Times and numbers as texts: the one place that reads them and the one place that writes them.

A time is a number (a year), or a date as days since 1970-01-01, in a float64; NaN is no time.
"""

from __future__ import annotations

import datetime
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.strings import Strings

NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def parse_time(value: Any) -> tuple[str, float]:
    """`number` or `date`, and the value: a finite number; an ISO date (also 1990-05) as days since
    1970-01-01."""
    if isinstance(value, bool):
        raise ValueError
    if isinstance(value, (int, float, np.integer, np.floating)):
        return "number", _finite_float(value)
    if isinstance(value, datetime.datetime):
        moment = value
    elif isinstance(value, datetime.date):
        moment = datetime.datetime(value.year, value.month, value.day)
    else:
        text = str(value).strip()
        if NUMBER.fullmatch(text):
            return "number", _finite_float(text)
        if re.fullmatch(r"\d{4}-\d{2}", text, re.ASCII):
            text += "-01"
        moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC)
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second + moment.microsecond / 1e6
    return "date", moment.toordinal() - _EPOCH + seconds / 86400


def _finite_float(value: Any) -> float:
    try:
        number = float(value)
    except OverflowError:  # a whole number of more than 308 digits
        raise ValueError from None
    if not math.isfinite(number):
        raise ValueError
    return number


def parse_times(texts: Strings) -> tuple[NDArray[np.float64], set[str]]:
    """The times of these texts, and which kinds of times there are (`number`, `date`); an empty text is no time. Each
    different text is read once. ValueError, with the text, where one is neither."""
    parsed: dict[str, tuple[str, float]] = {"": ("", math.nan)}
    told = list(texts)
    for text in told:
        if text not in parsed:
            try:
                parsed[text] = parse_time(text)
            except ValueError:
                raise ValueError(text) from None
    return np.array([parsed[text][1] for text in told], np.float64), {kind for kind, _ in parsed.values()} - {""}


def told_times(times: NDArray[np.float64]) -> list[str | None]:
    """Days since 1970 as ISO dates, each of which is made once; None: no time."""
    different, places = np.unique(times, return_inverse=True)
    told = [told_time(value, dates=True) for value in different.tolist()]
    texts = [None if value is None else str(value) for value in told]
    return [texts[place] for place in places.reshape(-1).tolist()]


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
    """A number as outputs have it: whole ones without a point; None: it is none."""
    if not np.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
