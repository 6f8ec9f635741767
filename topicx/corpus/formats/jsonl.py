"""A JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from topicx._kernels.text.records import Records
from topicx.corpus.formats.document_reader import Batch, Fields, ReadOptions, field_as_text, split_labels
from topicx.corpus.formats.input_bytes import InputSource


def read(source: InputSource, options: ReadOptions) -> Iterator[Batch]:
    fields = Fields.choose(None, options, source.shown)
    names = sorted(fields.all(), key=lambda name: name not in _required_fields(fields, options))
    records = Records(names, len(_required_fields(fields, options)), json.JSONDecoder().raw_decode)
    for first, text in source.whole(options.encoding, options.encoding_errors, options.faults):
        found = records.columns(text)
        if found is not None:
            columns = dict(zip(names, found[0], strict=True))
            if _all_fields_usual(columns, fields):
                yield _make_batch(source.shown, [first + line for line in found[1]], columns, fields, options)
                continue
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        yield from _one_by_one(source, first, lines, fields, options)


def _all_fields_usual(columns: dict[str, list[Any]], fields: Fields) -> bool:
    """Whether these are documents with texts, and `_problem_of_row` finds nothing."""
    kinds = {name: set(map(type, values)) for name, values in columns.items()}
    return kinds[fields.text] <= {str, type(None)} and not (fields.label and dict in kinds[fields.label])


def _one_by_one(
    source: InputSource, first: int, lines: list[str], fields: Fields, options: ReadOptions
) -> Iterator[Batch]:
    """The documents of any lines, and what is wrong with them."""
    numbers: list[int] = []
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_int=_whole_number)
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply"
            if isinstance(error, json.JSONDecodeError):
                reason = f"{error.msg.removesuffix(' at')} at column {error.colno}"
            options.faults.meet(f"{source.shown}:{number}: is not JSON: {reason}")
            continue
        wrong = _problem_of_row(row, fields, options)
        if wrong:
            options.faults.meet(f"{source.shown}:{number}: {wrong}", call=True)
            continue
        numbers.append(number)
        rows.append(row)
    yield from from_rows(source.shown, numbers, rows, fields, options)


LONGEST_NUMBER = 4000
"""Digits from which on a whole number is a text: Python reads no more than 4,300."""


def _whole_number(digits: str) -> int | str:
    return int(digits) if len(digits) <= LONGEST_NUMBER else digits


def _required_fields(fields: Fields, options: ReadOptions) -> list[str]:
    """The fields that every document must have: the text's, and those that options name."""
    asked = ((fields.text, True), (fields.id, options.id_field), (fields.label, options.label_field),
             (fields.collection, options.collection_field), (fields.time, options.time_field))  # fmt: skip
    return list(dict.fromkeys(name for name, by_name in asked if name and by_name))


def _problem_of_row(row: Any, fields: Fields, options: ReadOptions) -> str:
    """What is wrong with a row; nothing if it is a document."""
    if not isinstance(row, dict):
        return "is not a JSON object"
    for name in _required_fields(fields, options):
        if name not in row:
            named = "; name the field by --text-field" if name == "text" else ""
            return f"no field {name!r}{named}; there are: {', '.join(list(row)[:12])}"
    text = row.get(fields.text)
    if isinstance(text, list):
        if not all(isinstance(word, str) for word in text):
            return f"the field {fields.text!r} is a list, but not of words"
    elif text is not None and not isinstance(text, str):
        return f"the field {fields.text!r} is not a text but a {type(text).__name__}"
    if fields.label and isinstance(row.get(fields.label), dict):
        return f"the field {fields.label!r} is an object, not a label"
    return ""


def from_rows(
    source: str, numbers: list[int], rows: list[dict[str, Any]], fields: Fields, options: ReadOptions
) -> Iterator[Batch]:
    """Batches from dictionaries: rows whose text is a list of words apart from those with a text."""
    listed = [isinstance(row.get(fields.text), list) for row in rows]
    begin = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or listed[end] != listed[begin]:
            columns = {name: [row.get(name) for row in rows[begin:end]] for name in fields.all()}
            yield _make_batch(source, numbers[begin:end], columns, fields, options)
            begin = end


def _make_batch(
    source: str, numbers: list[int], columns: dict[str, list[Any]], fields: Fields, options: ReadOptions
) -> Batch:
    """A batch from the fields of documents."""
    texts = columns[fields.text]
    batch = Batch(source, numbers)
    if texts and isinstance(texts[0], list):
        batch.words = texts
    else:
        batch.texts = [text or "" for text in texts]
    if fields.id:
        batch.ids = [None if value is None else field_as_text(value) for value in columns[fields.id]]
    if fields.label:
        batch.labels = [split_labels(value, options) for value in columns[fields.label]]
    if fields.collection:
        batch.collections = [field_as_text(value) or None for value in columns[fields.collection]]
    if fields.time:
        batch.times = columns[fields.time]
    for name in fields.columns:
        batch.columns[name] = columns[name]
    return batch
