"""Arrays that do not fit in memory while they are made."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import TopicxError

IN_MEMORY = 1 << 20
"""Bytes of an array that wait in memory: what is longer goes to disk."""


class Spool:
    """An array that grows on disk, of one dimension or of rows: what a streaming writer fills when it does not fit in
    memory. A short one makes no file."""

    def __init__(
        self,
        dtype: Any,
        directory: str | os.PathLike[str] | None = None,
        output: str | None = None,
        *,
        passing: bool = False,
        columns: int = 0,
    ) -> None:
        """Make an empty spool. The file lies in `directory`; an error names `output`, for which it is gathered. What
        is `passing` never is in an output as it is: it has no checksum. `columns`: how long its rows are (0: it has no
        rows)."""
        self.columns = columns
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._hash = None if passing else hashlib.sha256()
        self._for = output or os.fspath(directory or tempfile.gettempdir())
        self._directory = directory
        self._file: IO[bytes] = io.BytesIO()

    @contextlib.contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TopicxError(f"{self._for}: writing failed: {error.strerror or error}") from error

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size // self.columns, self.columns) if self.columns else (self.size,)

    def append(self, values: Any) -> None:
        data = np.ascontiguousarray(values, dtype=self.dtype)
        self.write(data)
        self.sum(data)

    def write(self, data: NDArray[Any]) -> None:
        """The one half of `append`; another thread may do the other, in the same order."""
        with self._named_errors():
            if isinstance(self._file, io.BytesIO) and self.size * self.dtype.itemsize + data.nbytes > IN_MEMORY:
                self._to_disk()
            self._file.write(data.data)
        self.size += data.size

    def _to_disk(self) -> None:
        waiting = self._file
        assert isinstance(waiting, io.BytesIO)
        self._file = tempfile.TemporaryFile(dir=self._directory, prefix=".topicx-")  # noqa: SIM115
        self._file.write(waiting.getbuffer())

    def sum(self, data: NDArray[Any]) -> None:
        """The other half, which takes longer: the checksum."""
        if self._hash is not None:
            self._hash.update(data.data)

    def chunks(self, size: int = 1 << 20) -> Iterator[NDArray[Any]]:
        """The values again, from the beginning, at most `size` at a time."""
        with self._named_errors():
            self._file.flush()
            self._file.seek(0)
        while data := self._file.read(size * self.dtype.itemsize):
            yield np.frombuffer(data, dtype=self.dtype)

    def copy_to(self, out: IO[bytes]) -> None:
        """Everything, from the beginning, into an output."""
        with self._named_errors():
            self._file.flush()
            self._file.seek(_copy_by_system(self._file, out))
        while data := self._file.read(1 << 20):
            out.write(data)

    def checksum(self) -> str:
        assert self._hash is not None
        return self._hash.hexdigest()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # what a full disk did not take is not wanted any more
            self._file.close()


def _copy_by_system(source: IO[bytes], out: IO[bytes]) -> int:
    """How many bytes the system copied by itself, which it can from file to file; what is wrong otherwise, writing will
    find."""
    done = 0
    if isinstance(out, io.BufferedWriter) and hasattr(os, "copy_file_range"):
        out.flush()
        with contextlib.suppress(OSError):
            while more := os.copy_file_range(source.fileno(), out.fileno(), 1 << 30, done):
                done += more
    return done
