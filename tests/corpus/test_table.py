"""What documents carry is a table of typed columns: its parts, its plain values, and what files have of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicx import Corpus, State
from topicx.corpus.table import Column, Labels, Names, Numbers, Table, Texts, Times, unpack_column
from topicx.models.definition import initial_state
from topicx.sampling.run_options import Options
from topicx.strings import Strings

NAN = float("nan")
COLUMNS: dict[str, tuple[Column, list[Any]]] = {
    "label": (Labels.of([["b", "a"], [], ["ä c"], ["a"]]), [["b", "a"], [], ["ä c"], ["a"]]),
    "collection": (Names.of(["x", None, "ö", "x"]), ["x", None, "ö", "x"]),
    "time": (
        Times(np.array([0.0, NAN, 31.25, -1.0]), True),
        ["1970-01-01", None, "1970-02-01T06:00:00", "1969-12-31"],
    ),
    "author": (Texts(Strings.of(["Ann", "", "Ödön", "Ann"])), ["Ann", None, "Ödön", "Ann"]),
    "rating": (Numbers(np.array([4.0, NAN, 0.5, -2.0])), [4, None, 0.5, -2]),
    "year": (Times(np.array([1990.0, NAN, 1990.5, 7.0]), False), [1990, None, 1990.5, 7]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_told_taken_and_parted(name: str) -> None:
    column, told = COLUMNS[name]
    assert len(column) == 4 and column.told() == told
    rows = np.array([3, 0, 0, 2])
    assert column.take(rows).told() == [told[row] for row in rows]
    for begin, end in ((0, 4), (1, 3), (2, 2), (3, 4)):
        part = column.part(begin, end)
        assert len(part) == end - begin and part.told() == told[begin:end]
        assert part.part(0, end - begin) == part
        assert part.take(np.arange(end - begin)[::-1]).told() == told[begin:end][::-1]


def test_equality_is_that_of_the_arrays() -> None:
    for name, (column, _) in COLUMNS.items():
        assert column == column.take(np.arange(4)) and column != column.take(np.array([1, 0, 2, 3]))
        assert [other for other in COLUMNS if COLUMNS[other][0] == column] == [name]
    assert Times(np.array([1.0]), True) != Times(np.array([1.0]), False)
    with pytest.raises(TypeError, match="unhashable"):
        hash(COLUMNS["label"][0])


def test_a_table_is_in_the_order_of_outputs() -> None:
    table = Table({name: COLUMNS[name][0] for name in sorted(COLUMNS)})
    assert list(table) == ["label", "collection", "time", "author", "rating", "year"]
    assert table == Table(dict(table)) and table != table.without("label")
    assert list(table.only(["year", "author"])) == ["author", "year"] and len(table) == 6
    assert {name: kind.__name__ for name, kind in table.kinds().items()} == {
        "label": "list", "collection": "str", "time": "str", "author": "str", "rating": "Digits", "year": "Digits",
    }  # fmt: skip
    assert table.part(1, 3).told("author") == [None, "Ödön"]
    assert list(table.objects(np.array([1, -1, 0]))) == [
        "{}", "",
        '{"label": ["b", "a"], "collection": "x", "time": "1970-01-01", "author": "Ann", "rating": 4, "year": 1990}',
    ]  # fmt: skip
    assert repr(Table()) == "Table(nothing)"


def test_files_keep_strings_and_numbers_and_give_the_same_columns_again() -> None:
    table = Table({name: column for name, (column, _) in COLUMNS.items() if name != "year"})
    packed = table.packed()
    assert list(packed["label"]) == ["b\x1fa", "", "ä c", "a"]  # type: ignore[arg-type]
    assert list(packed["time"])[:2] == ["1970-01-01", ""]  # type: ignore[arg-type]
    again = Table.unpacked(packed)
    assert again == table
    assert all(np.array_equal(packed[name], again.packed()[name], equal_nan=True) for name in ("rating",))
    assert [packed[name] == again.packed()[name] for name in ("label", "collection", "time", "author")] == [True] * 4


STRANGE = st.one_of(
    st.sampled_from(["1990-05", "1990-05-01", " 1990", "1e3", "never", "", "1990-05-01T00:00:00", "\x1f", "a\x1f"]),
    st.text(max_size=6).filter(lambda text: not any(0xD800 <= ord(sign) < 0xE000 for sign in text)),
)


@given(st.sampled_from(["label", "collection", "time", "other"]), st.lists(STRANGE, max_size=5))
def test_whatever_a_file_holds_is_packed_as_it_was(name: str, texts: list[str]) -> None:
    column = unpack_column(name, Strings.of(texts))
    assert list(column.packed) == texts
    assert len(column) == len(texts)


def test_a_column_of_a_later_reading_is_made_when_it_is_asked_for() -> None:
    asked = []

    def make() -> dict[str, Column]:
        asked.append(1)
        return {"n": COLUMNS["rating"][0]}

    table = Table(make)
    assert not asked
    assert list(table) == ["n"] and table["n"].told()[0] == 4 and len(asked) == 1


def carried() -> Corpus:
    return Corpus.from_texts(
        ["apples pears", "law court", "apples"], labels=[["fruit", "b"], None, "law"], collections=["x", None, "y"],
        times=["1990-01-01", None, "1991-05-06T12:00:00"], stopwords=None,
    )  # fmt: skip


def test_a_corpus_and_its_state_have_one_table(tmp_path: Any) -> None:
    corpus = carried()
    table = corpus.table
    assert table["label"] == corpus.document_labels() and table["time"].told() == [
        "1990-01-01", None, "1991-05-06T12:00:00",
    ]  # fmt: skip
    assert [sorted(labels) for labels in table.told("label")] == [["b", "fruit"], [], ["law"]]
    state = initial_state(corpus, Options(topics=2))
    assert state.table["label"].ids is corpus.label_ids  # type: ignore[attr-defined]
    state.z = np.zeros(state.n_tokens, np.uint16)
    state.save(tmp_path / "s")
    again = State.load(tmp_path / "s")
    assert again.table == state.table == corpus.table
    assert again.arrays().keys() == state.arrays().keys()
    assert again == state
    assert corpus[[2, 0]].table == corpus.table.take(np.array([2, 0]))
    assert state.table.part(1, 3) == corpus[1:3].table


def test_a_further_column_with_the_name_of_a_first_one() -> None:
    corpus = carried()
    corpus.label_offsets = np.zeros(0, np.int64)
    corpus.columns = {"label": Strings.of(["1990", "", "x"]), "n": np.array([1.0, NAN, 3.5])}
    assert corpus.table.told("label") == [["1990"], [], ["x"]] and corpus.table.kinds()["label"] is list
    assert corpus.table.told("n") == [1, None, 3.5]
