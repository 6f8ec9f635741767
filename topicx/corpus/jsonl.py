"""A JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from topicx.corpus.read import Batch, Fields, ReadOptions, plain, split_labels
from topicx.corpus.source import Source
from topicx.errors import InputError


def read(source: Source, options: ReadOptions) -> Iterator[Batch]:
    fields = Fields.choose(None, options, source.shown)
    for first, lines in source.lines(options.encoding, options.encoding_errors):
        numbers: list[int] = []
        rows: list[dict[str, Any]] = []
        for number, line in enumerate(lines, first):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                reason = getattr(error, "msg", None) or "nested too deeply"
                raise InputError(f"{source.shown}:{number}: is not JSON: {reason}") from None
            if not isinstance(row, dict):
                raise InputError(f"{source.shown}:{number}: is not a JSON object")
            numbers.append(number)
            rows.append(row)
        yield from from_rows(source.shown, numbers, rows, fields, options)


def from_rows(
    source: str, numbers: list[int], rows: list[dict[str, Any]], fields: Fields, options: ReadOptions
) -> Iterator[Batch]:
    """Batches from dictionaries: rows whose text is a list of words apart from those with a text."""
    listed = [isinstance(row.get(fields.text), list) for row in rows]
    begin = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or listed[end] != listed[begin]:
            yield _batch(source, numbers[begin:end], rows[begin:end], fields, options)
            begin = end


def _batch(source: str, numbers: list[int], rows: list[dict[str, Any]], fields: Fields, options: ReadOptions) -> Batch:
    """A batch from dictionaries; a field that was asked for by name must be there."""

    def column(name: str, required: bool) -> list[Any]:
        if required:
            for number, row in zip(numbers, rows):
                if name not in row:
                    there = ", ".join(list(row)[:12])
                    raise InputError(f"{source}:{number}: no field {name!r}; there are: {there}")
        return [row.get(name) for row in rows]

    texts = column(fields.text, True)
    for number, text in zip(numbers, texts):
        if isinstance(text, list):
            if not all(isinstance(word, str) for word in text):
                raise InputError(f"{source}:{number}: the field {fields.text!r} is a list, but not of words")
        elif text is not None and not isinstance(text, str):
            kind = type(text).__name__
            raise InputError(f"{source}:{number}: the field {fields.text!r} is not a text but a {kind}")
    batch = Batch(source, numbers)
    if texts and isinstance(texts[0], list):
        batch.words = texts
    else:
        batch.texts = [text or "" for text in texts]
    if fields.id:
        ids = column(fields.id, options.id_field is not None)
        batch.ids = [None if value is None else plain(value) for value in ids]
    if fields.label:
        values = column(fields.label, options.label_field is not None)
        for number, value in zip(numbers, values):
            if isinstance(value, dict):
                raise InputError(f"{source}:{number}: the field {fields.label!r} is an object, not a label")
        batch.labels = [split_labels(value, options) for value in values]
    if fields.collection:
        values = column(fields.collection, options.collection_field is not None)
        batch.collections = [plain(value) or None for value in values]
    if fields.time:
        batch.times = column(fields.time, options.time_field is not None)
    for name in fields.columns:
        batch.columns[name] = column(name, False)
    return batch
