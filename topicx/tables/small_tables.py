"""Small tables as files: tsv, csv, jsonl or parquet, by the name."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from topicx.errors import InputError
from topicx.files.container import atomic_output
from topicx.strings import one_line

ENDINGS = {".tsv": "tsv", ".txt": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


def check_table(path: str) -> str:
    """The format that a name asks for; InputError if there is none."""
    kind = ENDINGS.get(Path(path.removesuffix(".gz")).suffix.lower(), "tsv" if path == "-" else "")
    if not kind:
        raise InputError(f"{path}: a table is written as tsv, csv, jsonl or parquet, by the name's ending")
    if kind == "parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise InputError(f"{path}: Parquet needs pyarrow: pip install 'topicx[parquet]'") from None
    return kind


def write_table(path: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows that have the same columns; None is an empty cell."""
    kind = check_table(path)
    if kind == "parquet":
        import pyarrow
        import pyarrow.parquet

        with atomic_output(path) as out:
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), out)
        return
    with atomic_output(path) as out:
        out.write(_table_text(kind, rows).encode("utf-8", "replace"))


def _table_text(kind: str, rows: Sequence[dict[str, Any]]) -> str:
    if kind == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    names = list(rows[0]) if rows else []
    lines = [names, *([_cell_text(row[name]) for name in names] for row in rows)]
    if kind == "tsv":
        return "".join("\t".join(line) + "\n" for line in lines)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def _cell_text(value: Any) -> str:
    return "" if value is None else one_line(value) if isinstance(value, str) else str(value)
