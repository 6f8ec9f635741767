"""Compressed inputs: gzip, bzip2, xz and Zstandard, told by their first bytes whatever the file is called."""

from __future__ import annotations

import gzip
import io
import zlib
from importlib import import_module
from typing import IO, Any, cast

from topicx.errors import InputError

SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zst"}
_MARKS = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zst"))


def compression_of(start: bytes) -> str | None:
    """How a file that begins so is compressed."""
    return next((kind for mark, kind in _MARKS if start.startswith(mark)), None)


def unpacked_name(name: str) -> str:
    """The name of a file without the ending that says how it is compressed."""
    for suffix in SUFFIXES:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def open_decompressed(kind: str, stream: Any, shown: str) -> IO[bytes]:
    """What the compressed stream holds."""
    if kind == "gzip":
        return cast(IO[bytes], gzip.GzipFile(fileobj=stream, mode="rb"))
    if kind == "bzip2":
        return cast(IO[bytes], _import_library("bz2", "bzip2", shown).BZ2File(stream))
    if kind == "xz":
        return cast(IO[bytes], _import_library("lzma", "xz", shown).LZMAFile(stream))
    return _open_zstandard(stream, shown)


def _import_library(name: str, program: str, shown: str) -> Any:
    """A module of Python's own that some builds of Python lack: bz2 or lzma."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"{shown}: this Python was built without {name}: pipe it through '{program} -dc'") from None


def _open_zstandard(stream: Any, shown: str) -> IO[bytes]:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        return cast(IO[bytes], zstd.ZstdFile(stream))
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError:
        raise InputError(
            f"{shown}: Zstandard needs the library zstandard: pip install 'topicx[zstd]', or pipe it through 'zstd -dc'"
        ) from None
    return cast(IO[bytes], zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True))


def decompression_error(error: BaseException) -> str | None:
    """Why unpacking failed, if it was the compressed data's fault."""
    if isinstance(error, EOFError):
        return "it ends too early"
    if isinstance(error, (zlib.error, gzip.BadGzipFile)) or type(error).__name__ in ("LZMAError", "ZstdError"):
        return str(error).rstrip(".")
    if isinstance(error, OSError) and error.errno is None and not isinstance(error, io.UnsupportedOperation):
        return str(error).rstrip(".")  # bzip2
    return None
