"""Rows with a header: csv and tsv."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from topicx.corpus.formats.document_reader import Batch, Fields, ReadOptions, split_labels
from topicx.corpus.formats.input_bytes import BLOCK, MARK, InputSource
from topicx.errors import InputError


def check(source: InputSource, options: ReadOptions) -> None:
    """InputError if the header has not the fields."""
    _Rows(source, options)


def read(source: InputSource, options: ReadOptions) -> Iterator[Batch]:
    rows = _Rows(source, options)
    fields = rows.fields
    if fields is None:
        return
    numbers: list[int] = []
    batch: list[list[str]] = []
    size = 0
    for line, row in rows:
        batch.append(row)
        numbers.append(line)
        size += sum(map(len, row))
        if size >= BLOCK:
            yield _make_batch(source.shown, numbers, batch, fields, rows.names, options)
            numbers, batch, size = [], [], 0
    if batch:
        yield _make_batch(source.shown, numbers, batch, fields, rows.names, options)


def _make_batch(
    shown: str, numbers: list[int], rows: list[list[str]], fields: Fields, names: list[str], options: ReadOptions
) -> Batch:
    place = {name: i for i, name in reversed(list(enumerate(names)))}

    def column(name: str) -> list[str]:
        at = place[name]
        return [row[at] for row in rows]

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


class _Rows:
    """The rows of a file with the lines where they begin, and its fields (None: the file is empty)."""

    def __init__(self, source: InputSource, options: ReadOptions) -> None:
        csv.field_size_limit(1 << 30)
        delimiter = options.delimiter or ("\t" if options.format == "tsv" else ",")
        if len(delimiter) != 1 or delimiter in '\n\r"':
            raise InputError(f"--delimiter {delimiter!r}: must be one character, and no quote or line end")
        lines = _marked_lines(source, options)
        if options.quotes:
            self._rows = csv.reader(lines, delimiter=delimiter, strict=True)
        else:
            self._rows = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        self.shown, self.options = source.shown, options
        self._first: list[str] | None = None
        self.names: list[str] = []
        self.fields: Fields | None = None
        row = self._next()
        while row is not None and not row:
            row = self._next()
        if row is None:
            return
        self.names = [name.strip() for name in row] if options.header else [str(i) for i in range(1, len(row) + 1)]
        if options.header:
            doubled = next((name for i, name in enumerate(self.names) if name in self.names[:i]), None)
            if doubled is not None:
                raise InputError(f"{self.shown}:{self._rows.line_num}: the header has the field {doubled!r} twice")
        else:
            self._first = row
        self.fields = Fields.choose(self.names, options, f"{self.shown}:1")

    def _next(self) -> list[str] | None:
        try:
            return next(self._rows, None)
        except csv.Error as error:
            hint = " (--no-quotes takes quotes as they are)" if self.options.quotes else ""
            self.options.faults.meet(f"{self.shown}:{self._rows.line_num}: {error}{hint}", call=bool(hint))
            return []

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        line, row = 1, self._first
        while True:
            if row is None:
                line = self._rows.line_num + 1
                row = self._next()
                if row is None:
                    return
            if row and len(row) != len(self.names):
                head = "header" if self.options.header else "first row"
                self.options.faults.meet(
                    f"{self.shown}:{line}: {len(row)} fields, but the {head} has {len(self.names)}"
                )
            elif row:
                cleaned = self._clean(row, line)
                if cleaned is not None:
                    yield line, cleaned
            row = None

    def _clean(self, row: list[str], line: int) -> list[str] | None:
        if self.options.faults.policy == "stop" or not any(MARK in value or "\0" in value for value in row):
            return row
        text = self.options.faults.clean("\x1f".join(row), f"{self.shown}:{line}")
        return None if text is None else [value.replace(MARK, "\ufffd").replace("\0", " ") for value in row]


def _marked_lines(source: InputSource, options: ReadOptions) -> Iterator[str]:
    """The lines with what is no text in them marked: a row may be of several lines, and goes or stays as a whole."""
    for run in source.marked(options.encoding, options.encoding_errors, options.faults):
        for line in run.lines:
            yield line + "\n"
