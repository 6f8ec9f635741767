"""Further columns and times stay what a source gives; the corpus is the one that their texts make."""

import datetime
import math
import random

import numpy as np
import pytest

from topicx.corpus.build import spooled_columns
from topicx.corpus.build.spooled_columns import SpooledColumn
from topicx.corpus.formats.document_reader import field_as_text
from topicx.corpus.time_texts import NUMBER, parse_time
from topicx.files.container import Spool

NUMBERS = [
    0,
    -0.0,
    7,
    -3,
    2.5,
    1e-320,
    1e300,
    10**14,
    10**15,
    2**53 + 1,
    np.int32(4),
    np.float64(0.1),
    np.uint64(2**63),
]
TEXTS = ["", "01", " 2 ", "-0", "1e3", ".5", "12345678901234567890"]
OTHERS = ["x", True, math.nan, math.inf, 10**400, "inf", " ", [1, 2], np.float32(0.1)]


def read_column(batches, mask=None):
    """The arrays of a column that these batches make, without their name."""
    column = SpooledColumn(Spool, "c", snippets=False)
    for batch in batches:
        column.add(batch)
    found = column.arrays("c", None if mask is None else iter([mask]))
    return {
        name.removeprefix("c"): np.concatenate([np.zeros(0, spool.dtype), *spool.chunks()])
        for name, spool in found.items()
    }


def expected_column(batches):
    """The same by the definition: every value as its text; numbers, where all of these are finite numbers."""
    texts = [field_as_text(value) for batch in batches for value in batch]
    if all(not text or (NUMBER.fullmatch(text) and math.isfinite(float(text))) for text in texts):
        return {"": np.array([float(text) if text else math.nan for text in texts])}
    raw = [text.encode() for text in texts]
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in raw])])
    return {".bytes": np.frombuffer(b"".join(raw), np.uint8), ".offsets": offsets}


def same_bytes(one, other):
    return one.keys() == other.keys() and all(one[name].tobytes() == other[name].tobytes() for name in one)


@pytest.mark.parametrize("seed", range(200))
def test_a_column_is_the_one_that_its_texts_make(seed):
    draw = random.Random(seed)
    pools = [NUMBERS, [None, *NUMBERS], [*NUMBERS, *TEXTS], TEXTS, [None], [*NUMBERS, *OTHERS]]
    batches = []
    for _ in range(draw.randint(1, 5)):
        pool = draw.choice(pools[: draw.choice([2, 5, 6])])
        batches.append([draw.choice(pool) for _ in range(draw.randint(1, 4))])
    assert same_bytes(read_column(batches), expected_column(batches))


@pytest.mark.parametrize("other", OTHERS)
def test_any_other_value_makes_strings_of_the_numbers_before(other):
    batches = [[1, 2.0, None, -0.0], [2.5], [other], [3]]
    assert same_bytes(read_column(batches), expected_column(batches))


def test_no_text_is_made_of_numbers(monkeypatch):
    def refuse(value):
        raise AssertionError(f"{value!r} became a text")

    monkeypatch.setattr(spooled_columns, "field_as_text", refuse)
    monkeypatch.setattr(spooled_columns, "_number_in_text", refuse)
    found = read_column([[1, None, -0.0], [np.int64(4), np.float64(0.5)]], np.array([True, True, True, False, True]))
    assert found[""].tobytes() == np.array([1, math.nan, 0.0, 0.5]).tobytes()
    with pytest.raises(AssertionError, match="became a text"):
        read_column([[1], ["2"]])


def test_texts_are_parsed_once(monkeypatch):
    parsed = []
    real = spooled_columns._number_in_text
    monkeypatch.setattr(spooled_columns, "_number_in_text", lambda text: parsed.append(text) or real(text))
    found = read_column([["1", ""], ["2.5", "x"], ["3", "4"]])
    assert parsed == ["1", "", "2.5", "x"]
    assert bytes(found[".bytes"]) == b"12.5x34"


@pytest.mark.parametrize(
    "value",
    [
        1990, -0.0, 1990.5, np.int64(3), np.float32(0.1), 1e-320, datetime.date(1970, 1, 2), datetime.date(1, 1, 1),
        datetime.datetime(2001, 2, 3, 4, 5, 6, 789), datetime.datetime(1969, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=-5))),
    ],
)  # fmt: skip
def test_a_time_is_the_one_that_its_text_says(value):
    text = value.isoformat() if isinstance(value, datetime.date) else repr(float(value))
    assert repr(parse_time(value)) == repr(parse_time(text))


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400, "1e999", True, "May"])
def test_what_is_no_time_is_refused(value):
    with pytest.raises(ValueError):
        parse_time(value)
