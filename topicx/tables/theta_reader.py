"""Tables of θ that `infer`, `train` and `estimate` wrote, read again: what each document carries, its tokens, its
shares. All formats of `topicx.tables.theta_writers`; of the largest shares alone, too: what is not there is 0.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.formats.compressed import compression_of, open_decompressed
from topicx.corpus.table import Column, Labels, Names, Numbers, Table, Texts, Times
from topicx.errors import InputError
from topicx.strings import Strings
from topicx.tables.theta_writers import format_of

LEADING = ("id", "tokens", "unknown")
"""What every table begins with; then comes what the documents carry, then θ."""
BATCH = 1000
Row = tuple[str, list[Any], int, Any]
"""A document's name, what it carries, its tokens, and its shares: all of them, or pairs of a topic and a share."""


@dataclass
class ThetaTable:
    """The documents of a table."""

    ids: Strings
    columns: Table
    lengths: NDArray[np.int64]
    theta: NDArray[np.float32]
    whole: bool
    """Whether all shares are there, not the largest alone."""


def read_theta(path: str, called: Sequence[str]) -> ThetaTable:
    """The table of this file, whose topics are these (their names; a number is known as topic_k, or as it is)."""
    read = {
        "tsv": _read_tsv, "csv": _read_csv, "jsonl": _read_jsonl, "npz": _read_npz, "parquet": _read_parquet,
        "feather": _read_feather,
    }[format_of(path, None)]  # fmt: skip
    topics = Topics(path, called)
    try:
        names, whole, rows = read(path, topics)
        return _gather_rows(path, topics, names, whole, rows)
    except (OSError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except (UnicodeDecodeError, csv.Error, KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: is not a table of θ that topicx wrote ({error})") from None


class Topics:
    """What the topics of the model are called in tables."""

    def __init__(self, path: str, called: Sequence[str]) -> None:
        self.path, self.number = path, len(called)
        self.place = {str(k): k for k in range(len(called))} | {f"topic_{k}": k for k in range(len(called))}
        for k, name in enumerate(called):
            self.place |= {name: k, name.replace(" ", "_"): k}

    def begin(self, header: Sequence[str]) -> int | None:
        """The first of the columns of θ; None: there is one column, of the largest shares."""
        if tuple(header[:3]) != LEADING:
            raise self.strange(f"its columns are {', '.join(header[:4])}, not {', '.join(LEADING)} …")
        if header[-1] == "topics":
            return None
        first = len(header) - self.number
        if first < 3 or [self.place.get(name) for name in header[first:]] != list(range(self.number)):
            found = sum(name in self.place or name.startswith("topic_") for name in header[3:])
            raise self.strange(f"its columns are not the {self.number} topics of the model ({found} are topics)")
        return first

    def strange(self, why: str) -> InputError:
        return InputError(f"{self.path}: is not a table of θ of this model: {why}")

    def fill(self, row: NDArray[np.float32], shares: Any, whole: bool) -> None:
        """Put a document's shares in their places."""
        if whole:
            if len(shares) != self.number:
                raise self.strange(f"it has {len(shares)} topics, the model {self.number}")
            row[:] = shares
            return
        for topic, share in shares:
            place = self.place.get(str(topic))
            if place is None:
                raise self.strange(f"it has a topic {topic}, the model {self.number} topics")
            row[place] = share


def _gather_rows(path: str, topics: Topics, names: Sequence[str], whole: bool, rows: Iterable[Row]) -> ThetaTable:
    values: list[list[Any]] = [[] for _ in names]
    ids: list[str] = []
    lengths: list[int] = []
    parts: list[NDArray[np.float32]] = []
    for name, carried, tokens, shares in rows:
        if len(lengths) % BATCH == 0:
            parts.append(np.zeros((BATCH, topics.number), np.float32))
        topics.fill(parts[-1][len(lengths) % BATCH], shares, whole)
        ids.append(name)
        lengths.append(tokens)
        for column, value in zip(values, carried, strict=True):
            column.append(value)
    theta = np.concatenate(parts)[: len(lengths)] if parts else np.zeros((0, topics.number), np.float32)
    if not np.isfinite(theta).all() or (theta < 0).any() or (theta > 1.001).any():
        raise InputError(f"{path}: a share of a topic is not from 0 to 1")
    columns = {name: _make_column(name, column) for name, column in zip(names, values, strict=True)}
    return ThetaTable(Strings.of(ids), Table(columns), np.array(lengths, np.int64), theta, whole)


def _make_column(name: str, values: list[Any]) -> Column:
    """Labels and collections by their names; else numbers, if all values that there are look as a table writes numbers;
    else times, if they are ISO dates; else texts."""
    if name == "label":
        return Labels.of([_label_names(value) for value in values])
    told = ["" if value is None else str(value) for value in values]
    if name == "collection":
        return Names.of(told)
    numbers = _as_numbers(told)
    if numbers is not None:
        return Times(numbers, False) if name == "time" else Numbers(numbers)
    return Times.unpacked(Strings.of(told)) if name == "time" else Texts(Strings.of(told))


def _as_numbers(told: list[str]) -> NDArray[np.float64] | None:
    try:
        numbers = [float(text) if text else np.nan for text in told]
    except ValueError:
        return None
    plain = all(
        not text or text in (f"{number:.17g}", repr(number), f"{number:.7g}") for text, number in zip(told, numbers)
    )
    return np.array(numbers) if plain and any(told) else None


def _label_names(value: Any) -> list[str]:
    """The labels of a document, which text has with commas between."""
    if isinstance(value, list | tuple | np.ndarray):
        return [str(one) for one in value]
    return [one.strip() for one in str(value).split(",")] if value not in (None, "") else []


# -- the formats -----------------------------------------------------------------------------------------------------


def _open_text(path: str) -> IO[str]:
    stream = Path(path).open("rb")  # noqa: SIM115 (closed with the text over it)
    kind = compression_of(stream.peek(8))
    return io.TextIOWrapper(open_decompressed(kind, stream, path) if kind else stream, "utf-8", newline="")


def _read_tsv(path: str, topics: Topics) -> tuple[list[str], bool, Iterator[Row]]:
    return _read_delimited(path, topics, lambda lines: (line.rstrip("\n").split("\t") for line in lines))


def _read_csv(path: str, topics: Topics) -> tuple[list[str], bool, Iterator[Row]]:
    csv.field_size_limit(1 << 30)
    return _read_delimited(path, topics, csv.reader)


def _read_delimited(
    path: str, topics: Topics, split: Callable[[IO[str]], Iterable[list[str]]]
) -> tuple[list[str], bool, Iterator[Row]]:  # fmt: skip
    lines = iter(split(_open_text(path)))
    header = next(lines, [])
    first = topics.begin(header)
    end = len(header) - 1 if first is None else first
    names = header[3:end]

    def rows() -> Iterator[Row]:
        for number, cells in enumerate(lines, 2):
            if len(cells) != len(header):
                raise InputError(f"{path}:{number}: has {len(cells)} cells, not {len(header)}")
            try:
                if first is None:
                    shares: Any = [_parse_topic_share(cell) for cell in cells[-1].split(" ") if cell]
                else:
                    shares = np.array(cells[first:], np.float32)
                yield cells[0], cells[3:end], int(cells[1]), shares
            except ValueError:
                raise InputError(f"{path}:{number}: a number of tokens or a share is not a number") from None

    return names, first is not None, rows()


def _parse_topic_share(cell: str) -> tuple[str, float]:
    topic, _, share = cell.rpartition(":")
    return topic, float(share)


def _read_jsonl(path: str, topics: Topics) -> tuple[list[str], bool, Iterator[Row]]:
    found = map(json.loads, _open_text(path))
    first = next(found, None)
    if first is None:
        return [], True, iter(())
    whole = "theta" in first
    key = "theta" if whole else "topics"
    if not {*LEADING, key} <= set(first):
        raise topics.strange(f"its fields are {', '.join(list(first)[:6])}")
    names = [name for name in first if name not in (*LEADING, key)]
    rows = itertools.chain([first], found)
    return names, whole, ((str(row["id"]), [row[name] for name in names], int(row["tokens"]), row[key]) for row in rows)


def _read_parquet(path: str, topics: Topics) -> tuple[list[str], bool, Iterator[Row]]:
    try:
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"{path}: Parquet needs pyarrow: pip install 'topicx[parquet]'") from None
    file = pyarrow.parquet.ParquetFile(path)
    return _rows_of_batches(file.schema_arrow.names, file.iter_batches(BATCH), topics)


def _read_feather(path: str, topics: Topics) -> tuple[list[str], bool, Iterator[Row]]:
    try:
        import pyarrow
    except ImportError:
        raise InputError(f"{path}: Feather needs pyarrow: pip install 'topicx[parquet]'") from None
    file = pyarrow.ipc.open_file(path)
    return _rows_of_batches(file.schema.names, (file.get_batch(i) for i in range(file.num_record_batches)), topics)


def _rows_of_batches(there: list[str], batches: Iterable[Any], topics: Topics) -> tuple[list[str], bool, Iterator[Row]]:
    """The rows of Arrow's batches: θ as a list, as a column a topic, or the largest shares."""
    whole, wide = "theta" in there, False
    if not whole and "shares" not in there:
        begin = topics.begin(there)
        whole = wide = begin is not None
    if not {*LEADING, "theta" if whole else "shares"} <= {*there, *["theta"] * wide}:
        raise topics.strange(f"its columns are {', '.join(there[:6])}")
    shown = there[len(there) - topics.number :] if wide else ["theta", "topics", "shares"]
    names = [name for name in there if name not in (*LEADING, *shown)]

    def rows() -> Iterator[Row]:
        for batch in batches:
            for row in batch.to_pylist():
                if wide:
                    shares = [row[name] for name in shown]
                else:
                    shares = row["theta"] if whole else list(zip(row["topics"], row["shares"], strict=True))
                yield str(row["id"]), [row[name] for name in names], int(row["tokens"]), shares

    return names, whole, rows()


def _read_npz(path: str, topics: Topics) -> tuple[list[str], bool, Iterator[Row]]:
    with np.load(path, allow_pickle=False) as archive:
        arrays = dict(archive)
    whole = "theta" in arrays
    names = [
        name for name in arrays
        if name not in ("ids", "tokens", "unknown", "names", "theta", "indptr", "topics", "shares")
    ]  # fmt: skip
    ends, called = arrays.get("indptr"), arrays.get("names")

    def shares(d: int) -> Any:
        if ends is None:
            return arrays["theta"][d]
        part = slice(ends[d], ends[d + 1])
        kept = arrays["topics"][part]
        return list(zip(kept if called is None else called[kept], arrays["shares"][part], strict=True))

    values = [[None if value != value else value for value in arrays[name].tolist()] for name in names]
    ids = arrays["ids"].tolist()
    rows = ((str(ids[d]), [column[d] for column in values], int(n), shares(d)) for d, n in enumerate(arrays["tokens"]))
    return names, whole, rows
