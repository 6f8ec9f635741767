"""Every file that topicx writes for itself: a safetensors file with checksums, replaced atomically.

A file holds typed arrays and one metadata map. Everyone can open it with the public `safetensors` library; we write
it ourselves because the library's writer orders its metadata at random (so the same run would give other bytes) and
needs every array in memory (so a corpus could not be larger than it).

What protects what:
- each array has a SHA-256 in the metadata;
- `header` is the SHA-256 of the whole header (the length prefix and padding too) with that field's digits zeroed;
- `content` is the digest of kind, metadata and array checksums without the date: two runs that gave the same result
  have the same `content`. Files name their parents by it.

The date is the only thing that differs between two runs. SOURCE_DATE_EPOCH fixes it, and then the bytes are equal.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from topicx import __version__
from topicx.errors import InputError, TopicxError
from topicx.files.atomic_output import atomic_output as atomic_output
from topicx.files.mapped_arrays import MappedFile
from topicx.files.schema import PIECE, Check, Inconsistent, Schema, is_list_of
from topicx.files.spooled_arrays import Spool as Spool
from topicx.strings import Strings

FORMAT_VERSION = 1
_BUFFER = 1 << 22
_ZEROS = "0" * 64
_DTYPES = {
    "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32",
    "uint64": "U64", "int64": "I64", "float32": "F32", "float64": "F64", "bool": "BOOL",
}  # fmt: skip
_NUMPY = {code: np.dtype(name) for name, code in _DTYPES.items()}


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def recorded_date() -> str:
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = min(int(seconds[:15]), 253_402_300_799) if seconds.isdecimal() else int(time.time())
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _canonical_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _content_digest(kind: str, meta: str, checksums: str, parents: str) -> str:
    return hashlib.sha256("\n".join((kind, meta, checksums, parents)).encode()).hexdigest()


def write(
    path: str | os.PathLike[str],
    kind: str | Schema,
    arrays: Mapping[str, NDArray[Any] | Spool],
    meta: Mapping[str, Any],
    parents: Mapping[str, str] | None = None,
) -> str:
    """Write a file of this kind and return its content digest. `parents` maps a role to a parent's digest.

    What does not fit the schema is not written.
    """
    ready = {name: _as_stored_bytes(name, array) for name, array in arrays.items()}
    if isinstance(kind, Schema):
        _check_before_writing(os.fspath(path), kind, ready, meta)
        kind = kind.kind
    # The widest types first, so that every array starts aligned, as the safetensors format advises.
    order = sorted(ready, key=lambda name: (-ready[name].dtype.itemsize, name))
    checksums = {name: _checksum_of_array(ready[name]) for name in order}
    sums, text, parent_text = (
        _canonical_json(checksums),
        _canonical_json(dict(meta)),
        _canonical_json(dict(parents or {})),
    )
    digest = _content_digest(kind, text, sums, parent_text)
    metadata = {
        "format": f"topicx-{kind}",
        "header": _ZEROS,
        "version": str(FORMAT_VERSION),
        "software": f"topicx {__version__}",
        "created": recorded_date(),
        "meta": text,
        "parents": parent_text,
        "checksums": sums,
        "content": digest,
    }
    header = _make_header(metadata, {name: ready[name] for name in order})
    with atomic_output(path) as out:
        out.write(header)
        for name in order:
            array = ready[name]
            if isinstance(array, Spool):
                array.copy_to(out)
            else:
                out.write(_bytes_of(array))
    return digest


def _as_stored_bytes(name: str, array: NDArray[Any] | Spool) -> NDArray[Any] | Spool:
    """The array as its bytes are stored."""
    if not isinstance(array, Spool):
        array = np.asarray(array)
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)
    if array.dtype.name not in _DTYPES:
        raise TypeError(f"array {name!r} has dtype {array.dtype}, which cannot be stored")
    return array


def _checksum_of_array(array: NDArray[Any] | Spool) -> str:
    return array.checksum() if isinstance(array, Spool) else hashlib.sha256(_bytes_of(array)).hexdigest()


def _make_header(metadata: dict[str, str], arrays: Mapping[str, NDArray[Any] | Spool]) -> bytes:
    """The head of a file of these arrays, one after another; its own digest is in it."""
    table: dict[str, Any] = {}
    position = 0
    for name, array in arrays.items():
        end = position + array.size * array.dtype.itemsize
        table[name] = {
            "dtype": _DTYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [position, end],
        }
        position = end
    header = json.dumps({"__metadata__": metadata, **table}, ensure_ascii=False, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    header = len(header).to_bytes(8, "little") + header
    return _with_header_digest(header, hashlib.sha256(header).hexdigest())


def _check_before_writing(
    path: str, schema: Schema, arrays: Mapping[str, NDArray[Any] | Spool], meta: Mapping[str, Any]
) -> None:
    """TopicxError, if what was computed is nothing that could be read again (numbers that are not finite, say)."""
    try:
        schema = schema.of(meta)
        checks, sizes = schema.checks({name: (array.dtype.name, array.shape) for name, array in arrays.items()})
        for name, check in checks.items():
            array = arrays[name]
            if not isinstance(array, Spool):
                check.whole(array)
        if schema.meta is not None:
            schema.meta(meta, sizes)
    except Inconsistent as problem:
        raise TopicxError(f"{path}: not written: the {schema.kind} would have {problem}") from None


_HEADER_MARK = b'"header":"'


def _with_header_digest(header: bytes, digest: str) -> bytes:
    start = header.index(_HEADER_MARK) + len(_HEADER_MARK)  # the second entry of the map: nothing can imitate it
    return header[:start] + digest.encode() + header[start + 64 :]


_SEEKING = threading.Lock()
"""Held from a seek to the read after it, where the system cannot read at a position."""


def _read_at(handle: IO[bytes], view: memoryview, position: int) -> int:
    """Fill a view from a position of a file; how many bytes came. Threads may share the file."""
    if hasattr(os, "preadv"):
        return os.preadv(handle.fileno(), [view], position)
    with _SEEKING:  # Windows
        handle.seek(position)
        return cast(io.BufferedReader, handle).readinto(view)


@dataclass
class File:
    """A verified file: its metadata, and its arrays (all in memory after `read`, on disk after `open_file`)."""

    path: str
    kind: str
    meta: dict[str, Any]
    parents: dict[str, str]
    software: str
    created: str
    digest: str
    checksums: dict[str, str]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    """The sizes that its schema names, if it was read by one."""
    _table: dict[str, Any] = field(default_factory=dict, repr=False)
    _start: int = 0
    _handle: IO[bytes] | None = field(default=None, repr=False)
    _mapping: MappedFile | None = field(default=None, repr=False)

    def __contains__(self, name: str) -> bool:
        return name in self._table

    def names(self) -> list[str]:
        return sorted(self._table)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._entry(name)["shape"])

    def dtype(self, name: str) -> np.dtype[Any]:
        code = self._entry(name)["dtype"]
        if code not in _NUMPY:
            raise InputError(f"{self.path}: the array {name!r} has the type {code}, which topicx does not know")
        return _NUMPY[code]

    def _entry(self, name: str) -> dict[str, Any]:
        if name not in self._table:
            raise InputError(f"{self.path}: the {self.kind} has no array {name!r}")
        return cast(dict[str, Any], self._table[name])

    def slice(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """Rows `start` to `stop` of an array, read from disk (`open_file` has verified them)."""
        entry, dtype = self._entry(name), self.dtype(name)
        shape = entry["shape"]
        stop = min(stop, shape[0])
        row = int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize
        assert self._handle is not None
        size = max(stop - start, 0) * row
        data = bytearray(size)
        view, position = memoryview(data), self._start + entry["data_offsets"][0] + start * row
        while view:
            got = _read_at(self._handle, view, position)
            if got == 0:
                raise InputError(f"{self.path}: the file is truncated")
            view, position = view[got:], position + got
        return np.frombuffer(data, dtype=dtype).reshape([max(stop - start, 0), *shape[1:]])

    def mapped(self, name: str) -> NDArray[Any]:
        """A whole array where it stands in the file: read only."""
        begin, shape = self._entry(name)["data_offsets"][0], tuple(self.shape(name))
        if self._mapping is None:
            self._mapping = MappedFile(self.path, cast(IO[bytes], self._handle))
        return self._mapping.mapped(self.dtype(name), self._start + begin, shape)

    def load(self, name: str) -> NDArray[Any]:
        return self.slice(name, 0, self.shape(name)[0])

    def strings(self, name: str) -> Strings:
        """Strings, read from disk."""
        return Strings.from_arrays(
            {f"{name}.{part}": self.load(f"{name}.{part}") for part in ("bytes", "offsets")}, name
        )

    def place(self) -> str | None:
        """The name by which other processes find the file; None: it is a copy of a pipe, or was unpacked."""
        handle = self._handle
        named = handle is not None and isinstance(handle.name, str) and handle.name == self.path
        return str(Path(self.path).resolve()) if named else None

    def close(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


Kind = str | Schema | tuple[Schema, ...] | Mapping[str, Schema]


def open_file(path: str | os.PathLike[str], kind: Kind | None = None, blocks: Iterable[bytes] | None = None) -> File:
    """Open a file, verify every byte of it, and leave the arrays on disk for `File.slice`. Memory: one buffer.

    `kind`: what it must be; with a schema (or several) the arrays are checked by it in the same pass. A map of schemas
    by kind also lets pass what is of none of them.
    """
    return _open_container(path, kind, blocks, keep=False)


def open_known_file(path: str | os.PathLike[str], schema: Schema, digest: str) -> File:
    """Open a file that another process has opened and verified, by its digest: of its bytes only the header is read.
    InputError if it is not that file."""
    name = os.fspath(path)
    handle = _open_seekable(name)
    try:
        file = _parse_header(name, handle)
        if file.kind != schema.kind or file.digest != digest:
            raise InputError(f"{name}: is another file than the one that was verified")
        _checks_by_schema(file, schema.of(file.meta))
        return file
    except BaseException:
        handle.close()
        raise


def read(
    path: str | os.PathLike[str], kind: Kind | None = None, blocks: Iterable[bytes] | None = None,
    map_from: int | None = None,
) -> File:  # fmt: skip
    """Read a whole file into memory, every byte verified, as `open_file` does. `blocks`: its bytes, where they come
    from a pipe that is already open.

    Arrays of at least `map_from` bytes stay on disk and are mapped, read only: the system has of them in memory what it
    has room for. (Who writes into the file meanwhile ends the run; to replace it, as topicx does, is no matter.)
    """
    with _open_container(path, kind, blocks, keep=True, map_from=map_from) as file:
        return file


def _open_container(
    path: str | os.PathLike[str], kind: Kind | None, blocks: Iterable[bytes] | None, keep: bool,
    map_from: int | None = None,
) -> File:  # fmt: skip
    name = os.fspath(path)
    handle = _open_seekable(name) if blocks is None else _kept_on_disk(blocks)
    try:
        file = _parse_header(name, handle)
        schema = _schema_of(file, kind)
        try:
            _read_all(file, schema, keep, map_from)
        except Inconsistent as problem:
            raise InputError(f"{name}: the {file.kind} is not consistent: it has {problem}") from None
        return file
    except BaseException:
        handle.close()
        raise


def _schema_of(file: File, kind: Kind | None) -> Schema | None:
    """The schema that the file shall fit; InputError if it is of another kind."""
    if kind is None:
        return None
    if isinstance(kind, Mapping):
        return kind.get(file.kind)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    for one in kinds:
        if file.kind == (one if isinstance(one, str) else one.kind):
            return one if isinstance(one, Schema) else None
    wanted = " or a ".join(one if isinstance(one, str) else one.kind for one in kinds)
    raise InputError(f"{file.path}: is a topicx {file.kind}, but a {wanted} is needed here")


def _read_all(file: File, schema: Schema | None, keep: bool, map_from: int | None) -> None:
    """Every array once: its checksum, its values by the schema, and, to `keep`, its contents."""
    checks: dict[str, Check] = {}
    if schema is not None:
        schema = schema.of(file.meta)
        checks = _checks_by_schema(file, schema)
    for name in file._table:
        begin, end = file._table[name]["data_offsets"]
        mapped = keep and map_from is not None and end - begin >= max(map_from, 1)
        found = _read_array(file, name, checks.get(name), keep and not mapped)
        if keep:
            file.arrays[name] = file.mapped(name) if mapped else found
    if schema is not None:
        needed = [name for name in schema.related() if name in file]
        schema.relate(file.arrays if keep else {name: file.load(name) for name in needed})


def _checks_by_schema(file: File, schema: Schema) -> dict[str, Check]:
    """What the header says is checked, and the sizes are set; returns what checks the values of each array."""
    checks, file.sizes = schema.checks({name: (file.dtype(name).name, file.shape(name)) for name in file._table})
    if schema.meta is not None:
        schema.meta(file.meta, file.sizes)
    return checks


def _read_array(file: File, name: str, check: Check | None, keep: bool) -> NDArray[Any]:
    begin, end = file._table[name]["data_offsets"]
    dtype = file.dtype(name)
    size = end - begin
    piece = PIECE * 4
    room = np.empty(size if keep else min(size, piece), np.uint8)
    digest, problem = hashlib.sha256(), None
    assert file._handle is not None
    file._handle.seek(file._start + begin)
    for at in range(0, size, piece):
        part = room[at : at + piece] if keep else room[: min(piece, size - at)]
        if file._handle.readinto(part.data) != len(part):  # type: ignore[attr-defined]
            raise InputError(f"{file.path}: the file is truncated")
        digest.update(part.data)
        try:
            if check is not None and problem is None:
                check.feed(part.view(dtype))
        except Inconsistent as found:  # if the file is damaged, that is what to say
            problem = found
    if digest.hexdigest() != file.checksums.get(name):
        raise InputError(f"{file.path}: the file is damaged (array {name!r} does not match its checksum)")
    if problem is not None:
        raise problem
    if check is not None:
        check.finish()
    return room.view(dtype).reshape(file.shape(name)) if keep else room


def kind_of(path: str | os.PathLike[str]) -> str:
    """The kind of a topicx file, from its header alone."""
    name = os.fspath(path)
    with _open_seekable(name) as handle:
        return _parse_header(name, handle).kind


def is_topicx(path: str | os.PathLike[str]) -> bool:
    """Whether this looks like a file that topicx wrote (it may still be damaged). A pipe never does: looking into it
    would lose its beginning."""
    try:
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as stream:
            start = stream.read(64)
        if start[:2] == b"\x1f\x8b":
            with gzip.open(path) as packed:
                start = packed.read(64)
    except (OSError, EOFError, zlib.error):
        return False
    return starts_topicx(start)


def starts_topicx(start: bytes) -> bool:
    """Whether a topicx file begins like this."""
    return start[8:].startswith(b'{"__metadata__":{"format":"topicx-')


def _open_seekable(name: str) -> IO[bytes]:
    if name != "-" and Path(name).is_dir():
        raise InputError(f"{name}: is a folder; 'topicx import' makes a corpus of the texts in it")
    try:
        if name == "-" and sys.stdin is None:
            raise InputError("standard input is closed")
        stream: IO[bytes] = sys.stdin.buffer if name == "-" else Path(name).open("rb")  # noqa: SIM115
        if name != "-" and stream.seekable():
            packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            if not packed:
                return stream
            stream = cast(IO[bytes], gzip.GzipFile(fileobj=stream))
        return _kept_on_disk(iter(lambda: stream.read(_BUFFER), b""))
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _kept_on_disk(blocks: Iterable[bytes]) -> IO[bytes]:
    """A copy of standard input or of a pipe: on disk, not in memory."""
    try:
        copy: IO[bytes] = tempfile.TemporaryFile(prefix="topicx-")  # noqa: SIM115
        if not Path(_path_of(copy)).exists():
            copy = cast(IO[bytes], tempfile.NamedTemporaryFile(prefix="topicx-"))  # noqa: SIM115
    except OSError as error:
        raise _no_room(error) from error
    for data in blocks:
        try:
            copy.write(data)
        except OSError as error:
            raise _no_room(error) from error
    try:
        copy.flush()
    except OSError as error:
        raise _no_room(error) from error
    copy.seek(0)
    return copy


def _no_room(error: OSError) -> TopicxError:
    return TopicxError(f"{tempfile.gettempdir()}: writing temporary data failed: {error.strerror or error}")


def _path_of(handle: IO[bytes]) -> str:
    """A name under which an open file can be opened again."""
    return f"/proc/self/fd/{handle.fileno()}" if isinstance(handle.name, int) else handle.name


def _parse_header(name: str, handle: IO[bytes]) -> File:
    """Read and verify the header. The `safetensors` library then checks the layout as any other reader would."""
    size = os.fstat(handle.fileno()).st_size
    prefix = handle.read(8)
    length = int.from_bytes(prefix, "little")
    if len(prefix) < 8 or not 2 <= length <= size - 8 or length > 1 << 28:
        raise InputError(f"{name}: not a topicx file, or a truncated one{_hint_for_text(prefix)}")
    raw = handle.read(length)
    if not raw.startswith(b'{"__metadata__":{"format":"topicx-'):
        raise InputError(f"{name}: not a topicx file{_hint_for_text(prefix)}")
    damaged = InputError(f"{name}: the file is damaged (its header does not match its checksum)")
    try:
        header = json.loads(raw)
        metadata = header.pop("__metadata__")
        if not all(isinstance(metadata[name], str) for name in ("software", "created", "content")):
            raise damaged
        kind = metadata["format"].removeprefix("topicx-")
        version = int(metadata["version"])
        if version > FORMAT_VERSION:
            raise InputError(
                f"{name}: written by {metadata['software']} in format {version}; "
                f"this version of topicx reads formats up to {FORMAT_VERSION}"
            )
        expected = metadata["header"]
        zeroed = _with_header_digest(prefix + raw, _ZEROS)
        if hashlib.sha256(zeroed).hexdigest() != expected or len(expected) != 64:
            raise damaged
        meta, parents, checksums = (json.loads(metadata[name]) for name in ("meta", "parents", "checksums"))
        if not (isinstance(meta, dict) and all(is_list_of(list(one.values())) for one in (parents, checksums))):
            raise damaged
        end = max((entry["data_offsets"][1] for entry in header.values()), default=0)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise damaged from None
    if size < 8 + length + end:
        raise InputError(f"{name}: the file is truncated ({size} bytes of {8 + length + end})")
    if size > 8 + length + end:
        raise InputError(f"{name}: the file is damaged ({size - 8 - length - end} bytes too many)")
    try:
        with safe_open(_path_of(handle), framework="numpy"):
            pass
    except SafetensorError as error:
        raise InputError(f"{name}: the file is damaged ({error})") from None
    except (OSError, MemoryError) as error:
        raise TopicxError(
            f"{name}: its {size / 1e6:,.0f} MB cannot be mapped ({error}): is the address space limited (ulimit -v)?"
        ) from None
    return File(
        path=name, kind=kind, meta=meta, parents=parents, software=metadata["software"],
        created=metadata["created"], digest=metadata["content"], checksums=checksums,
        _table=header, _start=8 + length, _handle=handle,
    )  # fmt: skip


def _hint_for_text(start: bytes) -> str:
    return " ('topicx import' makes a corpus of text)" if start and start.isascii() and b"\0" not in start else ""
