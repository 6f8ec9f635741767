"""Rows with a header: csv and tsv."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from topicx.corpus.read import Batch, Fields, ReadOptions, split_labels
from topicx.corpus.source import BLOCK, Source
from topicx.errors import InputError


def read(source: Source, options: ReadOptions) -> Iterator[Batch]:
    csv.field_size_limit(1 << 30)
    delimiter = options.delimiter or ("\t" if options.format == "tsv" else ",")
    if len(delimiter) != 1 or delimiter in '\n\r"':
        raise InputError(f"--delimiter {delimiter!r}: must be one character, and no quote or line end")
    lines = _lines(source, options)
    if options.quotes:
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
    else:
        rows = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    shown = source.shown

    def next_row() -> list[str] | None:
        try:
            return next(rows, None)
        except csv.Error as error:
            hint = " (--no-quotes takes quotes as they are)" if options.quotes else ""
            raise InputError(f"{shown}:{rows.line_num}: {error}{hint}") from None

    row = next_row()
    while row is not None and not row:
        row = next_row()
    if row is None:
        return
    names = [name.strip() for name in row] if options.header else [str(i) for i in range(1, len(row) + 1)]
    if options.header:
        doubled = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if doubled is not None:
            raise InputError(f"{shown}:{rows.line_num}: the header has the field {doubled!r} twice")
        row = None
    fields = Fields.choose(names, options, f"{shown}:1")
    place = {name: names.index(name) for name in names}
    numbers: list[int] = []
    batch: list[list[str]] = []
    size, line = 0, 1

    def flush() -> Batch:
        def column(name: str) -> list[str]:
            at = place[name]
            return [row[at] for row in batch]

        result = Batch(shown, numbers, column(fields.text))
        if fields.id:
            result.ids = [value or None for value in column(fields.id)]
        if fields.label:
            result.labels = [split_labels(value, options) for value in column(fields.label)]
        if fields.collection:
            result.collections = [value or None for value in column(fields.collection)]
        if fields.time:
            result.times = column(fields.time)
        result.columns = {name: column(name) for name in fields.columns}
        return result

    while True:
        if row is None:
            line = rows.line_num + 1
            row = next_row()
            if row is None:
                break
        if row:
            if len(row) != len(names):
                head = "header" if options.header else "first row"
                raise InputError(f"{shown}:{line}: {len(row)} fields, but the {head} has {len(names)}")
            batch.append(row)
            numbers.append(line)
            size += sum(map(len, row))
            if size >= BLOCK:
                yield flush()
                numbers, batch, size = [], [], 0
        row = None
    if batch:
        yield flush()


def _lines(source: Source, options: ReadOptions) -> Iterator[str]:
    for _, lines in source.lines(options.encoding, options.encoding_errors):
        for line in lines:
            yield line + "\n"
