"""JSON lines: the kernel that reads usual records, and the json module, which reads everything, give the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.corpus.test_import_command import Run, corpus_of, run, words_of, write  # noqa: F401
from topicx._kernels.text.records import Records
from topicx.corpus.formats import jsonl
from topicx.corpus.formats.document_reader import ReadOptions, read_documents
from topicx.corpus.formats.input_bytes import Faults
from topicx.errors import InputError

NAMES = ["text", "id", "ключ", "𝛼"]
SCAN = json.JSONDecoder().raw_decode


def columns(text: str, needed: int = 0) -> Any:
    return Records(NAMES, needed, SCAN).columns(text)


def by_json(lines: list[str]) -> Any:
    """The same by the json module."""
    rows = [(at, json.loads(line)) for at, line in enumerate(lines) if line.strip(" \t\r")]
    return [[row.get(name) for _, row in rows] for name in NAMES], [at for at, _ in rows]


TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=80) | st.text(
    st.sampled_from('ab"\\/\n\t\r\b\f\x7f\xe9ÿĀ世𝛼\ud83d\ude00\u2028'), max_size=90
)
VALUES = TEXTS | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from([*NAMES, "tex", "textt", "x", ""])
ROWS = st.lists(st.dictionaries(KEYS, VALUES, max_size=5) | st.just(None), max_size=6)


@settings(max_examples=300, deadline=None)
@given(
    rows=ROWS, ascii=st.booleans(), spaces=st.sampled_from([(",", ":"), (" , ", "\t: \r")]),
    end=st.sampled_from(["", "\r", " "]),
)  # fmt: skip
@example(rows=[{"text": "x" * 31 + '"' + "y" * 70}], ascii=True, spaces=(",", ":"), end="")
def test_records_are_as_json_reads_them(
    rows: list[dict[str, Any] | None], ascii: bool, spaces: tuple[str, str], end: str
) -> None:
    comma, colon = spaces

    def line(row: dict[str, Any]) -> str:
        fields = (f'"{key}"{colon}{json.dumps(value, ensure_ascii=ascii)}' for key, value in row.items())
        return "{" + comma.join(fields) + "}"

    lines = ["" if row is None else line(row) + end for row in rows]
    found = columns("\n".join(lines))
    expected = by_json(lines)
    assert found is not None and repr(found) == repr(expected)  # nan is not nan
    for found_column, column in zip(found[0], expected[0], strict=True):
        for one, other in zip(found_column, column, strict=True):  # in Python's own form, or they would not be one key
            assert not isinstance(one, str) or {one: 1} == {other: 1}


@settings(max_examples=300, deadline=None)
@given(
    row=st.dictionaries(KEYS, VALUES, min_size=1, max_size=3),
    cut=st.integers(0, 60), gone=st.integers(0, 3),
    put=st.text(st.sampled_from('{}[]",:\\u0aDx \t1-.eN\x01'), max_size=3),
)  # fmt: skip
def test_what_json_refuses_is_left_to_it(row: dict[str, Any], cut: int, put: str, gone: int) -> None:
    text = json.dumps(row)
    text = text[:cut] + put + text[cut + gone :]
    try:
        value = json.loads(text)
    except ValueError:
        assert columns(text) is None
        return
    found = columns(text)
    if found is not None:
        assert isinstance(value, dict) and repr(found) == repr(by_json([text]))


UNUSUAL = [
    '{"t\\u0065xt": "a"}',  # an escape in a key
    '["text"]', "1", '{"text": "a"} x', '{"text": "a",}', '{"text": "a" "b"}', '{"text": [1,\n2]}', '{"text": 01}',
    '{"text": "\\ud83d\\u12"}', '{"text": "\\x"}', '{"text": "a', '{"text": "a\\', '{"text"', '{"text":',
    '{', '{"x": [}',
    "{" + '"x":[' * 100_000,
    "\u2003",  # blank for Python, not for JSON
]  # fmt: skip


@pytest.mark.parametrize("line", UNUSUAL, ids=range(len(UNUSUAL)))
def test_unusual_lines(line: str) -> None:
    for text in (line, '{"text": "a"}\n' + line, line + "\n{}"):
        assert columns(text) is None


def test_fields_that_must_be_there() -> None:
    for text in ('{"id": 1, "text": null}', '{"text": "a", "id": "b", "text": "c"}', "", "\n \n"):
        assert repr(columns(text, 2)) == repr(by_json(text.split("\n")))
    for text in ('{"text": "a"}', '{"id": 1}', '{"id": 1, "text": ""}\n{}', "{}"):
        assert columns(text, 2) is None
    assert columns('{"text": "a", "id": "b", "text": "c"}')[0][0] == ["c"]


@pytest.mark.parametrize("policy", ["stop", "skip", "repair"])
def test_readers_do_not_tell_who_read(tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of every kind, by the kernel or not: the same batches, messages and numbers of lines."""
    rows = [
        '{"id": "a", "text": "one \\u00e9 é", "label": ["x", 2], "time": 1.5, "year": {"a": [1, "]"]}}', "",
        '{"text": null, "label": "x,y", "other": "\\ud800"}\r', '{"id": 7, "text": "𝛼"}', '{"text": "z\\u0000"}',
    ]  # fmt: skip
    odd = [
        '{"text": 5}',
        '{"text": "b',
        '{"label": {}, "text": ""}',
        '{"text": ["a", "list"]}',
        '{"id": 1}',
        "[]",
        '{"text": "\0"}',
    ]
    for at, extra in enumerate([[], *([one] for one in odd), odd]):
        path = tmp_path / f"{at}.jsonl"
        path.write_text("\n".join([*rows, *extra, *rows]), newline="")

        def all_of(path: Path = path) -> Any:
            faults = Faults(policy)
            options = ReadOptions(
                columns=("year", "id"), label_field="label" if policy == "skip" else None, faults=faults
            )
            try:
                batches = list(read_documents([str(path)], options))
            except InputError as error:
                return str(error)
            keys = ("texts", "words", "ids", "labels", "times")
            documents = [
                (line, *(None if (values := getattr(batch, key)) is None or not values else values[i] for key in keys),
                 *(values[i] for values in batch.columns.values()))
                for batch in batches for i, line in enumerate(batch.lines or ())
            ]  # fmt: skip
            return documents, faults.skipped, faults.repaired, faults.first

        found = all_of()
        with monkeypatch.context() as patched:
            patched.setattr(jsonl, "Records", Never)
            assert found == all_of()


class Never:
    """Finds everything unusual."""

    def __init__(self, *_: Any) -> None: ...

    def columns(self, text: str) -> None:
        return None


def test_import_of_records(run: Run) -> None:  # noqa: F811
    """Blocks of usual and of unusual lines, by one thread and by two."""
    usual = "".join(
        json.dumps({"id": f"d{i}", "text": f"word{i % 7} naïve 世界", "year": 1900 + i % 9}) + "\n" for i in range(300)
    )
    write("a.jsonl", usual + '{"text": ["of", "a list"], "id": "l", "year": null}\n' + usual)
    for threads in ("1", "2"):
        assert run("import", "a.jsonl", "-o", f"c{threads}", "--column", "year", "--threads", threads)[0] == 0
    one, two = corpus_of("c1"), corpus_of("c2")
    assert len(one) == 601 and words_of(one) == words_of(two)
    assert list(one.columns["year"][:2]) == list(two.columns["year"][:2]) == [1900.0, 1901.0]
