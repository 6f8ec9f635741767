"""θ of documents as files (tsv, csv, jsonl, npz, parquet, feather), written batch by batch: memory stays bounded.

Dense output has all K shares of a document; with a threshold or a number of topics at most, only the largest, in
falling order (ties by topic number). Shares in text have seven decimals.
"""

from __future__ import annotations

import contextlib
import json
import math
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.table import Digits, Kinds, choose_columns
from topicx.errors import InputError
from topicx.files import container
from topicx.state import State
from topicx.strings import Strings, one_line

Values = Sequence[Sequence[Any]]
Integers = NDArray[np.int64]
Floats = NDArray[np.float32]

FORMATS = ("tsv", "csv", "jsonl", "npz", "parquet", "feather")
_ENDINGS = {
    ".tsv": "tsv",
    ".txt": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".npz": "npz",
    ".parquet": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
}


def format_of(path: str, chosen: str | None) -> str:
    """The format by the option, or by the name's ending (tsv where it says nothing)."""
    if chosen is not None:
        if chosen not in FORMATS:
            raise InputError(f"format: {chosen!r} is not one of {', '.join(FORMATS)}")
        return chosen
    ending = Path(path.removesuffix(".gz")).suffix.lower()
    if ending in (".rds", ".rdata"):
        read = "feather is read by arrow::read_feather(), csv by read.csv()"
        raise InputError(f"{path}: θ is not written in R's own formats: {read}")
    if ending in (".json", ".xlsx"):
        raise InputError(f"{path}: θ is written as {', '.join(FORMATS)}, by the name's ending, not as {ending[1:]}")
    return _ENDINGS.get(ending, "tsv")


FORMULA_MARKS = ("=", "+", "-", "@")
"""What a cell begins with that a spreadsheet computes."""


class Selection:
    """Which shares are written: all (dense; if `wide`, Parquet and Feather with a column a topic), those from a
    threshold on, the largest few."""

    def __init__(self, threshold: float = 0.0, top: int = 0, escape_formulas: bool = False, wide: bool = False) -> None:
        self.threshold, self.top, self.escape_formulas, self.wide = threshold, top, escape_formulas, wide
        self.names: list[str] = []
        """What the topics are called; empty: they are numbers."""
        self.key = "topics"

    @property
    def dense(self) -> bool:
        return self.threshold <= 0 and self.top <= 0

    def of(self, theta: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Offsets, topics and shares of the chosen entries, document after document."""
        order = np.argsort(-theta, axis=1, kind="stable")
        if self.top:
            order = order[:, : self.top]
        shares = np.take_along_axis(theta, order, axis=1)
        keep = shares >= self.threshold
        offsets = np.zeros(len(theta) + 1, np.int64)
        np.cumsum(keep.sum(axis=1), out=offsets[1:])
        return offsets, order[keep], shares[keep]


@contextlib.contextmanager
def open_theta_writer(
    path: str, format: str, topics: int, selection: Selection, columns: Mapping[str, type] | None = None,
    names: Sequence[str] = (), key: str = "topics",
) -> Iterator[Any]:  # fmt: skip
    """A function that writes θ of some documents: add(ids, tokens, unknown, theta); the file appears at the end.

    `columns` are further ones (names → str, int, float, Digits or list, of strings), which stand before θ: then it is
    add(ids, tokens, unknown, theta, values), with a sequence a column, in which None is an empty cell. `names` stand
    for the topics' numbers, and `key` is what the largest shares are called.
    """
    make: type[Any] = WRITERS[format]
    if format in ("parquet", "feather"):
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise InputError(f"--format {format} needs pyarrow: pip install 'topicx[parquet]'") from None
    selection.names, selection.key = list(names), key
    with (
        container.atomic_output(path) as stream,
        contextlib.closing(make(stream, topics, selection, columns or {})) as out,
    ):
        yield out.add
        out.finish()


@contextlib.contextmanager
def state_writer(
    path: str, state: State, *, threshold: float = 0.0, most: int | None = None, join_chunks: bool = False,
    metadata: str = "all",
) -> Iterator[Callable[[int, NDArray[np.float64]], None]]:  # fmt: skip
    """For θ of a state's documents: a function that takes it batch by batch, the number of the first document and its
    rows. `metadata` says which of the documents' columns stand before θ. The file appears when it is complete."""
    from topicx.corpus.text.chunks import COLUMNS
    from topicx.corpus.text.chunks import join_chunks as joining

    lengths, known = state.lengths, np.zeros(state.n_documents, np.int64)
    with contextlib.ExitStack() as open_things:
        selection, names = Selection(threshold, most or 0), names_of(state)
        kinds = choose_columns(metadata, state.table.kinds(), COLUMNS if join_chunks else ())
        table, columns = state.table.only(kinds), columns_with_free_names(kinds, state.n_topics, names)
        add = open_things.enter_context(
            open_theta_writer(path, format_of(path, None), state.n_topics, selection, columns, names=names)
        )
        if join_chunks:
            add = open_things.enter_context(joining(add))

        def write(begin: int, rows: NDArray[np.float64]) -> None:
            part = slice(begin, begin + len(rows))
            carried = table.part(begin, part.stop)
            values = [carried.told(name) for name in kinds]
            add(state.ids[part], lengths[part], known[part], rows.astype(np.float32), values)

        yield write


def columns_with_free_names(kinds: Kinds, topics: int, names: Sequence[str] = (), further: Iterable[str] = ()) -> Kinds:
    """The columns that documents carry, under names that a table of θ has for nothing else."""
    taken = {"id", "ids", "tokens", "unknown", "theta", "topics", "shares", "indptr", "names", "ranking", *further}
    taken |= {*names} or {f"topic_{k}" for k in range(topics)}
    return {f"corpus_{name}" if name in taken else name: kind for name, kind in kinds.items()}


def names_of(state: State) -> list[str]:
    """What the topics of a state are called: labels, where they are; empty: they are numbers."""
    if "topic_label" not in state.side:
        return []
    from topicx.models.labeled import check_side, topic_names

    check_side(state.side, state.n_topics)
    return list(topic_names(Strings.from_arrays(state.side, "label_names"), state.side["topic_label"]))


class _Tsv:
    mark = "\t"

    def __init__(self, stream: IO[bytes], topics: int, selection: Selection, columns: Mapping[str, type]) -> None:
        self.stream, self.selection, self.columns = stream, selection, columns
        called = [_printable_name(name) for name in selection.names] or [f"topic_{k}" for k in range(topics)]
        names = called if selection.dense else [selection.key]
        self.begin(["id", "tokens", "unknown", *map(_printable_name, columns), *names])

    def begin(self, names: list[str]) -> None:
        self.stream.write((self.mark.join(map(self.quoted, names)) + "\n").encode())

    def quoted(self, cell: str) -> str:
        """A cell that holds no mark but its own."""
        return cell

    def text_cell(self, cell: str, kind: type = str) -> str:
        """A quoted cell; a text, where that is wanted, so that no spreadsheet takes it for a formula."""
        formula = self.selection.escape_formulas and kind in (str, list) and cell.startswith(FORMULA_MARKS)
        return self.quoted(f"'{cell}" if formula else cell)

    def add(self, ids: Strings, tokens: Integers, unknown: Integers, theta: Floats, values: Values = ()) -> None:
        if self.selection.dense:
            rows = [row.tobytes() for row in share_digits(theta, self.mark)]
        else:
            offsets, topics, shares = self.selection.of(theta)
            called = [_printable_name(name).replace(" ", "_") for name in self.selection.names]
            pairs = [f"{called[k] if called else k}:{p:.7f}" for k, p in zip(topics.tolist(), shares.tolist())]
            ends = offsets.tolist()
            cells = [self.quoted(" ".join(pairs[a:b])) for a, b in zip(ends[:-1], ends[1:])]
            rows = [(self.mark + cell).encode() for cell in cells]
        mark = self.mark
        lines = [
            f"{self.text_cell(_printable_name(name))}{mark}{n}{mark}{u}{more}".encode("utf-8", "replace") + row + b"\n"
            for name, n, u, more, row in zip(ids, tokens.tolist(), unknown.tolist(), self.cells(values, len(ids)), rows)
        ]
        self.stream.write(b"".join(lines))

    def cells(self, values: Values, rows: int) -> list[str]:
        """The further columns of each row, as they stand behind the number of unknown words."""
        if not values:
            return [""] * rows
        kinds = list(self.columns.values())
        return [
            "".join(
                self.mark + self.text_cell(_cell_text(value, kind), kind)
                for value, kind in zip(row, kinds, strict=True)
            )
            for row in zip(*values, strict=True)
        ]

    def finish(self) -> None: ...

    def close(self) -> None: ...


class _Csv(_Tsv):
    mark = ","

    def quoted(self, cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"' if "," in cell or '"' in cell else cell


class _Jsonl(_Tsv):
    def begin(self, names: list[str]) -> None: ...

    def cells(self, values: Values, rows: int) -> list[str]:
        if not values:
            return [""] * rows
        keys = [json.dumps(name, ensure_ascii=False) for name in self.columns]
        return [
            "".join(f",{key}:{json.dumps(value, ensure_ascii=False)}" for key, value in zip(keys, row))
            for row in zip(*map(_plain_numbers, values), strict=True)
        ]

    def add(self, ids: Strings, tokens: Integers, unknown: Integers, theta: Floats, values: Values = ()) -> None:
        if self.selection.dense:
            text = share_digits(theta, ",")
            told = [row.tobytes()[1:].decode() for row in text]
            key = "theta"
        else:
            offsets, topics, shares = self.selection.of(theta)
            called = [json.dumps(name, ensure_ascii=False) for name in self.selection.names]
            pairs = [f"[{called[k] if called else k},{p:.7f}]" for k, p in zip(topics.tolist(), shares.tolist())]
            ends = offsets.tolist()
            told = [",".join(pairs[a:b]) for a, b in zip(ends[:-1], ends[1:])]
            key = self.selection.key
        lines = [
            f'{{"id":{json.dumps(name, ensure_ascii=False)},"tokens":{n},"unknown":{u}{more},"{key}":[{value}]}}\n'
            for name, n, u, more, value in zip(
                ids, tokens.tolist(), unknown.tolist(), self.cells(values, len(ids)), told
            )
        ]
        self.stream.write("".join(lines).encode("utf-8", "replace"))


class _Parquet:
    def __init__(self, stream: IO[bytes], topics: int, selection: Selection, columns: Mapping[str, type]) -> None:
        import pyarrow as pa

        self.pa, self.topics, self.selection = pa, topics, selection
        shares: list[tuple[str, Any]] = [("theta", pa.list_(pa.float32(), topics))]
        if selection.wide:
            called = [_printable_name(name) for name in selection.names] or [f"topic_{k}" for k in range(topics)]
            shares = [(name, pa.float32()) for name in called]
        if not selection.dense:
            chosen = pa.list_(pa.string() if selection.names else pa.int32())
            shares = [(selection.key, chosen), ("shares", pa.list_(pa.float32()))]
        kinds = {str: pa.string(), int: pa.int64(), list: pa.list_(pa.string())}
        self.further = [(name, kinds.get(kind, pa.float64())) for name, kind in columns.items()]
        self.schema = pa.schema(
            [("id", pa.string()), ("tokens", pa.int64()), ("unknown", pa.int64()), *self.further, *shares]
        )
        self.out = self.open_table(stream)

    def open_table(self, stream: IO[bytes]) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetWriter(stream, self.schema)

    def add(self, ids: Strings, tokens: Integers, unknown: Integers, theta: Floats, values: Values = ()) -> None:
        pa = self.pa
        columns = [
            pa.array(list(ids), pa.string()),
            pa.array(tokens),
            pa.array(unknown),
            *(pa.array(_plain_numbers(column), kind) for column, (_, kind) in zip(values, self.further, strict=True)),
        ]
        if self.selection.wide:
            columns.extend(pa.array(np.ascontiguousarray(share)) for share in theta.T)
        elif self.selection.dense:
            columns.append(pa.FixedSizeListArray.from_arrays(pa.array(theta.reshape(-1)), self.topics))
        else:
            offsets, topics, shares = self.selection.of(theta)
            ends = pa.array(offsets.astype(np.int32))
            names = self.selection.names
            chosen = pa.array([names[k] for k in topics.tolist()] if names else topics.astype(np.int32))
            columns.append(pa.ListArray.from_arrays(ends, chosen))
            columns.append(pa.ListArray.from_arrays(ends, pa.array(shares)))
        self.out.write_table(pa.Table.from_arrays(columns, schema=self.schema))

    def finish(self) -> None:
        self.out.close()

    def close(self) -> None: ...


class _Feather(_Parquet):
    """Table of θ as an Arrow file, which is what Feather is (version 2)."""

    def open_table(self, stream: IO[bytes]) -> Any:
        import pyarrow.feather  # noqa: F401

        return self.pa.ipc.new_file(stream, self.schema)


class _Npz:
    """Arrays ids, tokens, unknown and theta (dense), or indptr, topics and shares; they wait on disk until the end."""

    def __init__(self, stream: IO[bytes], topics: int, selection: Selection, columns: Mapping[str, type]) -> None:
        self.stream, self.topics, self.selection, self.columns = stream, topics, selection, columns
        self.further: list[list[Any]] = [[] for _ in columns]
        self.tokens, self.unknown = container.Spool(np.int64), container.Spool(np.int64)
        self.shares, self.chosen, self.counts = (
            container.Spool(np.float32),
            container.Spool(np.int32),
            container.Spool(np.int64),
        )
        self.names = tempfile.TemporaryFile(prefix="topicx-")  # noqa: SIM115
        self.longest = 1

    def add(self, ids: Strings, tokens: Integers, unknown: Integers, theta: Floats, values: Values = ()) -> None:
        for kept, column in zip(self.further, values, strict=True):
            kept.extend(column)
        names = [_printable_name(name) for name in ids]
        self.longest = max(self.longest, max(map(len, names), default=1))
        self.names.write("".join(name + "\n" for name in names).encode("utf-8", "replace"))
        self.tokens.append(tokens)
        self.unknown.append(unknown)
        if self.selection.dense:
            self.shares.append(theta.reshape(-1))
        else:
            offsets, topics, shares = self.selection.of(theta)
            self.counts.append(np.diff(offsets))
            self.chosen.append(topics)
            self.shares.append(shares)

    def finish(self) -> None:
        rows = self.tokens.size
        with zipfile.ZipFile(self.stream, "w", allowZip64=True) as archive:
            _write_npz_member(archive, "ids", np.dtype(f"<U{self.longest}"), (rows,), self._names())
            _write_npz_member(archive, "tokens", np.dtype("<i8"), (rows,), self.tokens.chunks())
            _write_npz_member(archive, "unknown", np.dtype("<i8"), (rows,), self.unknown.chunks())
            for (name, kind), column in zip(self.columns.items(), self.further, strict=True):
                _write_npz_member(archive, name, *_column_as_array(kind, column))
            if self.selection.names:
                _write_npz_member(archive, "names", *_column_as_array(str, self.selection.names))
            if self.selection.dense:
                _write_npz_member(archive, "theta", np.dtype("<f4"), (rows, self.topics), self.shares.chunks())
            else:
                _write_npz_member(archive, "indptr", np.dtype("<i8"), (rows + 1,), _running_sums(self.counts.chunks()))
                _write_npz_member(archive, "topics", np.dtype("<i4"), (self.chosen.size,), self.chosen.chunks())
                _write_npz_member(archive, "shares", np.dtype("<f4"), (self.shares.size,), self.shares.chunks())

    def _names(self) -> Iterator[NDArray[Any]]:
        self.names.seek(0)
        while lines := self.names.readlines(1 << 20):
            yield np.array([line[:-1].decode() for line in lines], dtype=f"<U{self.longest}")

    def close(self) -> None:
        for spool in (self.tokens, self.unknown, self.shares, self.chosen, self.counts):
            spool.close()
        self.names.close()


def _write_npz_member(
    archive: zipfile.ZipFile, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], chunks: Iterator[NDArray[Any]]
) -> None:
    info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    with archive.open(info, "w", force_zip64=True) as out:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(out, header)
        for chunk in chunks:
            out.write(np.ascontiguousarray(chunk).view(np.uint8).data)


def _column_as_array(kind: type, column: list[Any]) -> tuple[Any, ...]:
    """A further column as a member of an archive: numbers (NaN where there is none), else text."""
    if kind in (int, float, Digits):
        array = np.array([np.nan if value is None else value for value in column], np.float64)
    else:
        array = np.array([_cell_text(value) for value in column] or [""])[: len(column)]
    return array.dtype, array.shape, iter([array])


def _cell_text(value: Any, kind: type = float) -> str:
    """A value as a cell of a table: numbers of the corpus with all of their digits."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ",".join(map(_cell_text, value))
    if isinstance(value, str):
        return _printable_name(value)
    if isinstance(value, float) and kind is not Digits:
        return repr(float(value)).removesuffix(".0")  # as many digits as tell it from all others
    return str(value)


def _plain_numbers(column: Sequence[Any]) -> list[Any]:
    """Without NumPy's types; what is not finite is no value."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in column]
    return [None if isinstance(value, float) and not math.isfinite(value) else value for value in plain]


def _running_sums(chunks: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    total = 0
    yield np.zeros(1, np.int64)
    for chunk in chunks:
        yield total + np.cumsum(chunk)
        total += int(chunk.sum())


def share_digits(theta: NDArray[np.float32], mark: str = "\t") -> NDArray[np.uint8]:
    """Each share as the ten bytes `⇥0.1234567`: documents × topics × 10."""
    left = np.rint(theta.astype(np.float64) * 1e7).astype(np.uint32)
    text = np.empty((*theta.shape, 10), np.uint8)
    text[:, :, 0] = ord(mark)
    text[:, :, 2] = ord(".")
    for place in (9, 8, 7, 6, 5, 4, 3, 1):
        rest = left // np.uint32(10)
        text[:, :, place] = left - rest * np.uint32(10) + np.uint32(ord("0"))
        left = rest
    return text


def _printable_name(name: str) -> str:
    return name if name.isprintable() else one_line(" ".join(name.split()))


WRITERS = {"tsv": _Tsv, "csv": _Csv, "jsonl": _Jsonl, "npz": _Npz, "parquet": _Parquet, "feather": _Feather}
