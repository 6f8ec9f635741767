"""A Parquet table, by the `pyarrow` library."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from topicx.corpus.formats.document_reader import Batch, Fields, ReadOptions
from topicx.corpus.formats.input_bytes import MARK, InputSource
from topicx.corpus.formats.jsonl import _problem_of_row, from_rows
from topicx.errors import InputError

ROWS = 2000


def check(source: InputSource, options: ReadOptions) -> None:
    """InputError if the file is no table, or has not the fields."""
    with _open_parquet(source) as table:
        Fields.choose(table.schema_arrow.names, options, source.shown)


def read(source: InputSource, options: ReadOptions) -> Iterator[Batch]:
    with _open_parquet(source) as table:
        fields = Fields.choose(table.schema_arrow.names, options, source.shown)
        wanted = [fields.text, fields.id, fields.label, fields.collection, fields.time, *fields.columns]
        chosen = list(dict.fromkeys(name for name in wanted if name))
        at = 1
        for part in table.iter_batches(batch_size=ROWS, columns=chosen):
            numbers, rows = [], []
            for number, row in enumerate(_rows_as_dicts(part, source.shown, at, options), at):
                wrong = "is not text" if row is None else _problem_of_row(row, fields, options)
                if row is None or wrong:
                    if row is not None:
                        options.faults.meet(f"{source.shown}:{number}: {wrong}", call=True)
                    continue
                numbers.append(number)
                rows.append(row)
            at += part.num_rows
            yield from from_rows(source.shown, numbers, rows, fields, options)


@contextlib.contextmanager
def _open_parquet(source: InputSource) -> Iterator[Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"{source.shown}: Parquet needs the library pyarrow: pip install 'topicx[parquet]'") from None
    if source.name == "-" or source.compressed:
        raise InputError(f"{source.shown}: a Parquet table must be a file, not compressed or standard input")
    try:
        with pyarrow.parquet.ParquetFile(source.name) as table:
            yield table
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, NotImplementedError) as error:
        if isinstance(error, InputError):
            raise
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{source.shown}: is not a readable Parquet table: {reason}") from None


def _rows_as_dicts(part: Any, shown: str, first: int, options: ReadOptions) -> list[dict[str, Any] | None]:
    """The rows as dictionaries; None where one is left out, since its texts are not UTF-8."""
    import pyarrow

    try:
        rows: list[dict[str, Any] | None] = part.to_pylist()
        return rows
    except UnicodeDecodeError:
        pass
    columns: dict[str, list[Any]] = {}
    for name, column in zip(part.schema.names, part.columns):
        if pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type):
            values = column.cast(pyarrow.large_binary()).to_pylist()
            columns[name] = [None if value is None else value.decode("utf-8", "topicx.mark") for value in values]
        else:
            columns[name] = column.to_pylist()
    rows = []
    for i in range(part.num_rows):
        row: dict[str, Any] | None = {name: values[i] for name, values in columns.items()}
        for name, value in list((row or {}).items()):
            if row is not None and isinstance(value, str) and MARK in value:
                mended = options.faults.policy == "repair"
                options.faults.meet(f"{shown}:{first + i}: the field {name!r} is not UTF-8", mended=mended)
                if mended:
                    row[name] = value.replace(MARK, "\ufffd")
                else:
                    row = None
        rows.append(row)
    return rows
