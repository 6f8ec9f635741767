"""Arrays that stay in their file and are mapped into memory: what another program writes into the file meanwhile, they
become. So every long use of one looks, before and after, whether the file is as it was."""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import TopicxError
from topicx.files.mapping_hook import MappingHook


class MappedFile:
    """An open file of which arrays are mapped: its name, and what it was like then."""

    def __init__(self, name: str, handle: IO[bytes]) -> None:
        self.name = name
        self._mapped, self._handle = handle, os.fdopen(os.dup(handle.fileno()), "rb")
        self._was = self._like()
        MappingHook.hear(name)

    def _like(self) -> tuple[int, int]:
        found = os.fstat(self._handle.fileno())
        return found.st_size, found.st_mtime_ns

    def mapped(self, dtype: np.dtype[Any], begin: int, shape: tuple[int, ...]) -> NDArray[Any]:
        """The array that begins at this byte: read only."""
        found: Any = np.memmap(self._mapped, dtype, "r", begin, shape)
        found.of = self
        return np.asarray(found.view(np.ndarray))

    def check(self) -> None:
        """TopicxError if somebody has written into the file."""
        if self._like() != self._was:
            raise TopicxError(f"{self.name}: another program has written into it while it was in use: begin again")


def file_of(array: NDArray[Any]) -> MappedFile | None:
    """The file in which an array stands, if it is mapped."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            found: MappedFile | None = getattr(base, "of", None)
            return found
        base = base.base
    return None


def check_unchanged(*arrays: NDArray[Any]) -> None:
    """TopicxError if one of these arrays is mapped, and its file is not as it was."""
    for array in arrays:
        found = file_of(array)
        if found is not None:
            found.check()
