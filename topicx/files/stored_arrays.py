"""Arrays that stand in files which several machines see: what travels is the name and where to read.

They are scratch of one run (or a corpus file that stays as it is while it is used): plain bytes without a header.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import TopicxError
from topicx.files.atomic_output import atomic_output
from topicx.files.mapped_arrays import file_of

_PIECE = 1 << 24
"""Bytes that are summed at a time."""


@dataclass(frozen=True)
class StoredArray:
    """An array of one dimension in a file."""

    path: str
    dtype: str
    begin: int
    """The byte at which it begins."""
    size: int
    changed: int
    """When the file was last written, in nanoseconds; 0: it is a scratch file, whose sum is known."""
    crc: int = 0

    @classmethod
    def write(cls, path: str | os.PathLike[str], array: NDArray[Any]) -> StoredArray:
        """Write an array to a scratch file, which appears whole or not at all."""
        array = np.ascontiguousarray(array)
        data, crc = array.view(np.uint8).data, 0
        with atomic_output(path) as out:
            for at in range(0, len(data), _PIECE):
                out.write(data[at : at + _PIECE])
                crc = zlib.crc32(data[at : at + _PIECE], crc)
        return cls(os.fspath(path), array.dtype.str, 0, len(array), 0, crc)

    @classmethod
    def of_mapped(cls, array: NDArray[Any]) -> StoredArray | None:
        """Where an array stands that is mapped from a file; None: it is in memory."""
        file, base = file_of(array), array
        if file is None or not array.flags.c_contiguous:
            return None
        while not isinstance(base, np.memmap):
            base = base.base  # type: ignore[assignment]
        place = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        path = str(Path(file.name).resolve())
        return cls(path, array.dtype.str, int(base.offset) + place, len(array), Path(path).stat().st_mtime_ns)

    def read(self, first: int = 0, last: int | None = None) -> NDArray[Any]:
        """The entries from the first to before the last: a copy of one's own."""
        last = self.size if last is None else last
        dtype = np.dtype(self.dtype)
        try:
            if self.changed and Path(self.path).stat().st_mtime_ns != self.changed:
                raise TopicxError(f"{self.path}: another program has written into it while it was in use: begin again")
            found = np.fromfile(self.path, dtype, last - first, offset=self.begin + first * dtype.itemsize)
        except OSError as error:
            raise TopicxError(f"{self.path}: cannot be read: {error.strerror or error}") from None
        if len(found) != last - first:
            raise TopicxError(f"{self.path}: has been cut short while it was in use")
        if not self.changed and last - first == self.size:
            self._check(found)
        return found

    def mapped(self) -> NDArray[Any]:
        """The whole array where it stands, read only."""
        if not self.size:
            return np.zeros(0, self.dtype)
        return np.asarray(np.memmap(self.path, np.dtype(self.dtype), "r", self.begin, (self.size,)))

    def _check(self, found: NDArray[Any]) -> None:
        data, crc = found.view(np.uint8).data, 0
        for at in range(0, len(data), _PIECE):
            crc = zlib.crc32(data[at : at + _PIECE], crc)
        if crc != self.crc:
            raise TopicxError(f"{self.path}: is damaged")
