"""θ of documents as a folder of files, so many documents in each: what many programs read side by side."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError, TopicxError
from topicx.files.atomic_output import usual_permissions
from topicx.strings import Strings
from topicx.tables.theta_writers import Selection, Values, open_theta_writer

PART = 100_000
"""Documents of a part."""


def is_folder(path: str) -> bool:
    """Whether an output is named as a folder: by a slash at its end."""
    return path.endswith("/") and bool(path.strip("/"))


def check_folder(path: str) -> None:
    """InputError unless a folder of this name can be made: there is none, or it is empty."""
    place = Path(path)
    if not place.parent.is_dir():
        raise InputError(f"{path}: the folder {place.parent} does not exist")
    if place.exists() and not place.is_dir():
        raise InputError(f"{path}: is a file, not a folder")
    if place.is_dir() and any(place.iterdir()):
        raise InputError(f"{path}: has files in it: name a folder that is not there yet, or an empty one")
    if not os.access(place.parent, os.W_OK):
        raise InputError(f"{path}: the folder {place.parent} cannot be written to")


@contextlib.contextmanager
def open_theta_parts(
    path: str, format: str, documents: int, topics: int, selection: Selection,
    columns: Mapping[str, type] | None = None, *named: Any,
) -> Iterator[Any]:  # fmt: skip
    """A function that writes θ of some documents (`open_theta_writer` has its arguments) to a folder of files with so
    many documents each; the last has the rest. The folder appears at the end, with all of them."""
    check_folder(path)
    place = Path(path)
    try:
        waiting = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    except OSError as error:
        raise TopicxError(f"{path}: cannot be written: {error.strerror or error}") from None
    try:
        with contextlib.closing(_Parts(waiting, format, documents, (topics, selection, columns, *named))) as parts:
            yield parts.add
            parts.finish()
        waiting.chmod(usual_permissions(0o777))
        if place.is_dir():
            place.rmdir()
        waiting.rename(place)
    except OSError as error:
        raise TopicxError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(waiting, ignore_errors=True)


class _Parts:
    """The files, one after another."""

    def __init__(self, folder: Path, format: str, documents: int, how: tuple[Any, ...]) -> None:
        self.folder, self.format, self.documents, self.how = folder, format, documents, how
        self.number = self.held = 0
        self._open = contextlib.ExitStack()
        self._begin()

    def _begin(self) -> None:
        path = self.folder / f"part-{self.number:05}.{self.format}"
        self._add = self._open.enter_context(open_theta_writer(str(path), self.format, *self.how))
        self.number, self.held = self.number + 1, 0

    def add(
        self, ids: Strings, tokens: NDArray[np.int64], unknown: NDArray[np.int64], theta: NDArray[np.float32],
        values: Values = (),
    ) -> None:  # fmt: skip
        at = 0
        while at < len(theta):
            if self.held == self.documents:
                self._open.close()
                self._begin()
            end = min(len(theta), at + self.documents - self.held)
            part = slice(at, end)
            self._add(ids[part], tokens[part], unknown[part], theta[part], [column[part] for column in values])
            self.held += end - at
            at = end

    def finish(self) -> None:
        """Write the end of the last file."""
        self._open.close()

    def close(self) -> None:
        """After a fault: the file at hand is left out."""
        with contextlib.suppress(Exception):
            self._open.pop_all().__exit__(_Left, _Left(), None)


class _Left(Exception):
    """What a file that is not whole is left by."""
