"""Slices of documents: one calendar, equal widths, even numbers of documents, values of a column."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from topicx.corpus.slices import UNITS, DocumentSlices, column_slices, even_slices, time_slices, width_slices
from topicx.corpus.table import Labels, Names, Numbers, Table, Texts, Times
from topicx.errors import InputError
from topicx.strings import Strings


def cut(times: Any, dates: bool, unit: str | None = None, every: int | None = None) -> DocumentSlices:
    return time_slices(Times(times, dates), "--by", unit, every)


def days(*dates: str) -> np.ndarray[Any, Any]:
    return np.array([np.nan if not d else datetime.date.fromisoformat(d).toordinal() - 719163.0 for d in dates])


@pytest.mark.parametrize(
    ("unit", "every", "names", "index"),
    [
        ("day", None, ["1987-03-30", "1987-03-31", "1987-04-01"], [0, 2, -1, 2]),
        ("day", 2, ["1987-03-29/1987-03-30", "1987-03-31/1987-04-01"], [0, 1, -1, 1]),
        ("week", None, ["1987-03-30/1987-04-05"], [0, 0, -1, 0]),
        ("month", None, ["1987-03", "1987-04"], [0, 1, -1, 1]),
        ("month", 2, ["1987-03/1987-04"], [0, 0, -1, 0]),
        ("quarter", None, ["1987-Q1", "1987-Q2"], [0, 1, -1, 1]),
        ("year", None, ["1987"], [0, 0, -1, 0]),
        (None, 5, ["1985-1989"], [0, 0, -1, 0]),
        ("decade", None, ["1980-1989"], [0, 0, -1, 0]),
        ("century", None, ["1900-1999"], [0, 0, -1, 0]),
        (None, None, ["1987-03-30", "1987-03-31", "1987-04-01"], [0, 2, -1, 2]),
    ],
)
def test_bins_of_the_calendar(unit: str | None, every: int | None, names: list[str], index: list[int]) -> None:
    times = days("1987-03-30", "1987-04-01", "", "1987-04-01")
    found = cut(times, True, unit, every)
    assert found.names == names and found.of_documents(4).tolist() == index
    assert (found.middles > 1900).all() and (np.diff(found.middles) > 0).all()


def test_bins_begin_and_end_where_the_calendar_says() -> None:
    """Every day of forty years, before and after 1970, is in the bin of its own month, quarter, year and week."""
    times = np.arange(days("1952-01-01")[0], days("1992-12-31")[0] + 1)
    dates = [datetime.date.fromordinal(int(t) + 719163) for t in times]
    names = {
        "day": [str(d) for d in dates],
        "month": [f"{d:%Y-%m}" for d in dates],
        "quarter": [f"{d.year}-Q{(d.month + 2) // 3}" for d in dates],
        "year": [str(d.year) for d in dates],
        "decade": [f"{d.year // 10 * 10}-{d.year // 10 * 10 + 9}" for d in dates],
        "century": [f"{d.year // 100 * 100}-{d.year // 100 * 100 + 99}" for d in dates],
        "week": [
            f"{d - datetime.timedelta(d.weekday())}/{d + datetime.timedelta(6 - d.weekday())}" for d in dates
        ],
    }  # fmt: skip
    for unit in UNITS:
        if unit == "day":
            with pytest.raises(InputError, match="more than 5,000"):
                cut(times, True, unit)
            continue
        found = cut(times, True, unit)
        assert [found.names[i] for i in found.slices] == names[unit], unit
        assert len(found.names) == len(set(names[unit]))
    assert cut(times, True).names[:2] == ["1950-1959", "1960-1969"]  # forty-one years are more than forty bins
    assert cut(days("0001-01-01", "0090-01-01"), True, "decade").names[-1] == "0090-0099"


def test_bins_of_numbers() -> None:
    years = np.array([1987.0, 1990, np.nan, 1990])
    found = cut(years, False)
    assert found.names == ["1987", "1988", "1989", "1990"] and found.of_documents(4).tolist() == [0, 3, -1, 3]
    assert found.middles.tolist() == [1987, 1988, 1989, 1990]
    assert cut(years, False, "decade").names == ["1980-1989", "1990-1999"]
    assert cut(years, False, None, 2).names == ["1986-1987", "1988-1989", "1990-1991"]
    assert cut(years, False, "decade").middles.tolist() == [1984.5, 1994.5]
    assert cut(np.array([0.0, 0.5, 1.0]), False).names[:2] == ["0 to 0.05", "0.05 to 0.1"]
    assert len(cut(np.arange(2000.0), False).names) <= 40 and len(cut(np.array([3.0]), False).names) == 1
    assert cut(np.array([-20.0, -1]), False, "decade").names == ["-20 to -11", "-10 to -1"]
    for wrong, message in ((lambda: cut(years, False, "month"), "not dates"),
                           (lambda: cut(years * np.nan, False), "no document"),
                           (lambda: cut(np.array([0, 1e300]), False, None, 1), "far apart"),
                           (lambda: cut(np.array([0, 1e9]), True), "no calendar")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            wrong()


def test_filled_slices_are_those_of_the_calendar_that_have_documents() -> None:
    times = Times(days("1987-03-30", "1999-04-01", "", "1987-04-01"), True)
    for unit in UNITS:
        if unit == "day":
            continue
        every, filled = time_slices(times, unit=unit), time_slices(times, unit=unit, filled=True)
        used = np.unique(every.slices)
        assert filled.names == [every.names[at] for at in used] and (every.begins[used] == filled.begins).all()
        assert [filled.names[at] for at in filled.slices] == [every.names[at] for at in every.slices]
        assert (filled.begins[filled.slices] <= times.values[filled.documents]).all()
    assert time_slices(times, unit="day", filled=True).names == ["1987-03-30", "1987-04-01", "1999-04-01"]


def test_a_slice_begins_on_its_first_day() -> None:
    found = time_slices(Times(days("1987-05-13", "1987-05-14"), True), unit="month")
    assert found.begins.tolist() == days("1987-05-01").tolist()
    assert time_slices(Times(days("1987-05-13"), True), unit="week").begins.tolist() == days("1987-05-11").tolist()


def test_widths_and_even_numbers() -> None:
    times = Times(np.array([1990.0, 1990, 1991, 1992, np.nan, 1995.5]), False)
    found = width_slices(times, 2, "span")
    assert (found.names, found.begins.tolist()) == (["1990", "1992", "1994"], [1990, 1992, 1994])
    assert found.of_documents(6).tolist() == [0, 0, 0, 1, -1, 2] and found.ordered
    even = even_slices(times, 2, "spans")
    assert even.names == ["1990", "1991-1995.5"] and even.of_documents(6).tolist() == [0, 0, 1, 1, -1, 1]
    assert even.begins.tolist() == [1990, 1991] and even.middles.tolist() == [1990, 1993.25]
    nothing = Times(np.full(3, np.nan), True)
    for wrong, message in ((lambda: even_slices(times, 5, "spans"), "spans: 5 spans of 4 different times"),
                           (lambda: even_slices(nothing, 1, "spans"), "spans: no document has a time"),
                           (lambda: width_slices(nothing, 1, "span"), "span: no document has a time")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            wrong()


def test_slices_by_the_values_of_columns() -> None:
    table = Table({
        "label": Labels(np.array([0, 1, 3, 3]), np.array([2, 0, 2], np.uint32), Strings.of(["ö", "unused", "a"])),
        "collection": Names(np.array([1, -1, 0], np.int32), Strings.of(["y", "x"])),
        "n": Numbers(np.array([10.0, np.nan, 2])), "text": Texts(Strings.of(["b", "", "b"])),
    })  # fmt: skip
    for name, names, pairs in (
        ("label", ["a", "ö"], [(0, 0), (1, 1), (1, 0)]), ("collection", ["x", "y"], [(0, 0), (2, 1)]),
        ("n", ["2", "10"], [(0, 1), (2, 0)]), ("text", ["b"], [(0, 0), (2, 0)]),
    ):  # fmt: skip
        found = column_slices(table[name], f"--by {name}")
        assert found.names == names and not found.ordered
        assert list(zip(found.documents.tolist(), found.slices.tolist())) == pairs
    assert column_slices(table["n"], "--by n", every=5).names == ["0-4", "5-9", "10-14"]
    many = Texts(Strings.of([str(number) for number in range(5001)]))
    with pytest.raises(InputError, match="--by many: it has 5,001 different values"):
        column_slices(many, "--by many")


def test_there_is_one_calendar_and_views_parse_nothing() -> None:
    from tests.places import ROOT

    modules = {path: path.read_text(encoding="utf-8") for path in (ROOT / "topicx").rglob("*.py")}
    assert [path.name for path, text in modules.items() if '"decade": (' in text] == ["slices.py"]
    views = [text for path, text in modules.items() if path.parent.name in ("views", "report")]
    assert views and not any("parse_time" in text for text in views)
    assert not [path for path, text in modules.items() if "datetime64[M]" in text and path.name != "slices.py"]
