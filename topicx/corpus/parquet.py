"""A Parquet table, by the `pyarrow` library."""

from __future__ import annotations

from collections.abc import Iterator

from topicx.corpus.jsonl import from_rows
from topicx.corpus.read import Batch, Fields, ReadOptions
from topicx.corpus.source import Source
from topicx.errors import InputError

ROWS = 2000


def read(source: Source, options: ReadOptions) -> Iterator[Batch]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"{source.shown}: Parquet needs the library pyarrow: pip install 'topicx[parquet]'") from None
    if source.name == "-" or source.compressed:
        raise InputError(f"{source.shown}: a Parquet table must be a file, not compressed or standard input")
    try:
        with pyarrow.parquet.ParquetFile(source.name) as table:
            fields = Fields.choose(table.schema_arrow.names, options, source.shown)
            wanted = [fields.text, fields.id, fields.label, fields.collection, fields.time, *fields.columns]
            chosen = list(dict.fromkeys(name for name in wanted if name))
            row = 1
            for part in table.iter_batches(batch_size=ROWS, columns=chosen):
                rows = part.to_pylist()
                yield from from_rows(source.shown, list(range(row, row + len(rows))), rows, fields, options)
                row += len(rows)
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{source.shown}: is not a readable Parquet table: {reason}") from None
