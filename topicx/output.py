"""Outputs that appear whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from topicx.errors import InputError, TopicxError


@contextlib.contextmanager
def atomic_output(path: str | os.PathLike[str], *, binary: bool = True) -> Iterator[IO[Any]]:
    """Open an output that appears whole or not at all: a temporary neighbour, synced, then renamed.

    `-` is standard output; a name that ends in `.gz` is compressed (without a date in it, so equal text gives equal
    bytes). Devices and pipes (/dev/stdout, a FIFO) are written directly.
    """
    name = os.fspath(path)
    if name == "-":
        stream: IO[Any] = sys.stdout.buffer
        with _text_or_binary(stream, binary, keep_open=True) as out:
            yield out
        return
    target = Path(name)
    try:
        if target.is_dir():
            raise InputError(f"{name}: is a directory, not a file to write")
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with target.open("wb") as device, _text_or_binary(device, binary, keep_open=True) as out:
                yield out
            return
        target = target.resolve()  # a link keeps pointing at its file
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:80]}.", suffix=".tmp", dir=target.parent)
    except OSError as error:
        raise _cannot_write(name, error) from error
    try:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(handle, 0o666 & ~mask)
        with os.fdopen(handle, "wb") as raw:
            if name.endswith(".gz"):
                with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
                    with _text_or_binary(cast(BinaryIO, packed), binary, keep_open=True) as out:
                        yield out
            else:
                with _text_or_binary(raw, binary, keep_open=True) as out:
                    yield out
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, target)
        _sync_directory(target.parent)
    except OSError as error:
        if error.filename not in (None, temporary, str(target)):  # the caller's trouble with another file
            raise
        raise _cannot_write(name, error) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


@contextlib.contextmanager
def _text_or_binary(stream: IO[Any], binary: bool, keep_open: bool) -> Iterator[IO[Any]]:
    if binary:
        yield stream
        stream.flush()
        return
    text = io.TextIOWrapper(cast(BinaryIO, stream), encoding="utf-8", newline="\n", write_through=False)
    try:
        yield text
        text.flush()
    finally:
        with contextlib.suppress(ValueError, OSError):
            text.detach()  # closing belongs to whoever opened the stream


def _sync_directory(directory: Path) -> None:
    with contextlib.suppress(OSError):  # not every file system lets a directory be synced
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _cannot_write(name: str, error: OSError) -> TopicxError:
    if isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError | IsADirectoryError):
        return InputError(f"{name}: cannot be written: {error.strerror}")
    return TopicxError(f"{name}: writing failed: {error.strerror or error}; the file was left as it was")
