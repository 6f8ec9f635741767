"""Outputs that appear whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from topicx.errors import InputError, TopicxError

try:
    import fcntl
except ImportError:  # not a system with such locks
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def atomic_output(path: str | os.PathLike[str], *, binary: bool = True) -> Iterator[IO[Any]]:
    """Open an output that appears whole or not at all: it has no name (or that of a temporary neighbour) until it is
    synced.

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
        target = resolve_links(name)  # a link keeps pointing at its file
        waiting = _Waiting(target)
    except BrokenPipeError:  # whoever read the pipe has seen enough
        raise
    except OSError as error:
        raise _cannot_write(name, error) from error
    try:
        with os.fdopen(waiting.handle, "wb") as raw:
            if name.endswith(".gz"):
                with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
                    with _text_or_binary(cast(BinaryIO, packed), binary, keep_open=True) as out:
                        yield out
            else:
                with _text_or_binary(raw, binary, keep_open=True) as out:
                    yield out
            raw.flush()
            os.fsync(raw.fileno())
            if not CLOSED_FIRST:
                waiting.appear()
        if CLOSED_FIRST:
            waiting.appear()
        _sync_directory(target.parent)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename not in (None, str(target), *waiting.names):  # the caller's trouble with another file
            raise
        raise _cannot_write(name, error) from error
    finally:
        waiting.clear()


def resolve_links(name: str | os.PathLike[str]) -> Path:
    """The file behind links."""
    try:
        return Path(name).resolve()
    except (OSError, RuntimeError):
        raise InputError(f"{os.fspath(name)}: cannot be written: it is a loop of links") from None


CLOSED_FIRST = os.name == "nt"
"""Whether a file can get its name only when nobody has it open: Windows renames no open file."""
SUFFIX = ".topicx-unfinished"
"""How a file's name ends while it is written: users' own files are called otherwise, for such a file may be cleared."""


def usual_permissions(most: int) -> int:
    """What a new file or folder is allowed, of these permissions, in this process."""
    mask = os.umask(0)
    os.umask(mask)
    return most & ~mask


class _Waiting:
    """A file that is being written, and is not there yet.

    Where the system has files without a name (O_TMPFILE), a process that is killed leaves nothing. Elsewhere it has a
    name beside the target's, and a lock as long as its process lives: what nobody holds is cleared by the next writer.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.names: list[str] = []
        self._prefix = f".{target.name[:80]}."
        self._clear_stale()
        self.handle = self._unnamed()
        if self.handle < 0:
            self.handle = self._named()

    def _unnamed(self) -> int:
        if not hasattr(os, "O_TMPFILE"):
            return -1
        try:
            handle = os.open(self.target.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
        except OSError:  # not on this file system; what else is wrong the other way finds out
            return -1
        if not Path(f"/proc/self/fd/{handle}").exists() or not _lock_file(handle):  # it could not be given a name
            os.close(handle)
            return -1
        return handle

    def _named(self) -> int:
        while True:
            handle, name = tempfile.mkstemp(prefix=self._prefix, suffix=SUFFIX, dir=self.target.parent)
            if (
                _lock_file(handle) and os.fstat(handle).st_nlink
            ):  # another writer may have found it before it was locked
                break
            os.close(handle)
        self.names.append(name)
        os.chmod(name, usual_permissions(0o666))  # noqa: PTH101
        return handle

    def appear(self) -> None:
        """Give the file its name, in place of what has it, whose permissions it keeps."""
        if hasattr(os, "fchmod"):
            with contextlib.suppress(OSError):  # there was none, or the file system has no permissions
                os.fchmod(self.handle, stat.S_IMODE(self.target.stat().st_mode))
        if not self.names:
            if self._link(self.target):
                return
            while True:  # a name that is taken cannot be linked to: another one first
                name = self.target.with_name(f"{self._prefix}{secrets.token_hex(4)}{SUFFIX}")
                self.names.append(str(name))
                if self._link(name):
                    break
        os.replace(self.names[-1], self.target)

    def _link(self, name: Path) -> bool:
        here = os.open("/proc/self/fd", os.O_RDONLY)
        try:
            os.link(str(self.handle), name, src_dir_fd=here, follow_symlinks=True)
        except FileExistsError:
            return False
        finally:
            os.close(here)
        return True

    def clear(self) -> None:
        for name in self.names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)

    def _clear_stale(self) -> None:
        """Remove what processes that are dead have left of this target."""
        with contextlib.suppress(OSError), os.scandir(self.target.parent) as entries:
            names = [entry.path for entry in entries if entry.name.startswith(self._prefix)]
            for name in (name for name in names if name.endswith(SUFFIX)):
                with contextlib.suppress(OSError):
                    handle = os.open(name, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
                    try:
                        if _lock_file(handle):
                            os.unlink(name)
                    finally:
                        os.close(handle)


def _lock_file(handle: int) -> bool:
    """Whether this process has the file for itself now."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


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
