"""Long texts as several documents of about equal length, and those joined again.

A chunk carries all that its text does. Its name is the text's with `#1`, `#2` …, and the columns `document` and `chunk`
say of which text it is and which part, so that results can be joined (`join_chunks`).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.formats.document_reader import Batch
from topicx.errors import InputError
from topicx.strings import Strings

COLUMNS = ("document", "chunk")
_WORD = re.compile(r"\S+")


def cut_into_chunks(batches: Iterator[Batch], size: int) -> Iterator[Batch]:
    """Batches whose documents have `size` words (runs without white space) each. The last chunk of a text has from half
    to one and a half times as many; a text of fewer is one chunk."""
    cutter = _Cutter(size)
    for batch in batches:
        if batch.counts is not None:
            raise InputError(f"{batch.source}: --chunk is for texts, not for counts of words")
        if any(name in batch.columns for name in COLUMNS):
            raise InputError("--column: 'document' and 'chunk' are the columns that --chunk makes")
        yield cutter.cut(batch)


class _Cutter:
    def __init__(self, size: int) -> None:
        self.size = size
        self.documents = self.part = 0
        self.name = ""
        self.about: dict[str, Any] = {}
        """What the text carries."""
        self.held: Any = None
        """What is left of a text of which more comes: it may be too short for a chunk."""

    def cut(self, batch: Batch) -> Batch:
        texts: list[Any] = list(batch.texts if batch.words is None else batch.words)
        carried: list[dict[str, Any]] = []
        parts: list[Any] = []
        names: list[str] = []
        numbers: list[int] = []
        for row, text in enumerate(texts):
            if row or not batch.continues:
                given = batch.ids[row] if batch.ids is not None else None
                self.name = str(self.documents) if given is None else given
                self.documents += 1
                self.part, self.held, self.about = 0, None, _metadata_of_row(batch, row)
            if self.held is not None:
                text = self.held + text
            more = batch.open and row == len(texts) - 1
            found = self._parts(text, more)
            self.held = found.pop() if more else None
            for part in found:
                self.part += 1
                carried.append(self.about)
                parts.append(part)
                names.append(self.name)
                numbers.append(self.part)
        result = Batch(batch.source, [about["lines"] for about in carried] if batch.lines is not None else None)
        if batch.words is None:
            result.texts = parts
        else:
            result.words = parts
        result.ids = [f"{name}#{number}" for name, number in zip(names, numbers)]
        result.labels = [about["labels"] or () for about in carried]
        result.collections = [about["collections"] for about in carried]
        result.times = [about["times"] for about in carried]
        columns: dict[str, Any] = {
            name: [about["columns"].get(name) for about in carried] for name in self.about.get("columns", ())
        }
        result.columns = columns | {"document": names, "chunk": numbers}
        return result

    def _parts(self, text: Any, more: bool) -> list[Any]:
        """The chunks of a text; where `more` comes, the last is what is left over."""
        begins = range(len(text)) if isinstance(text, list) else [found.start() for found in _WORD.finditer(text)]
        whole, left = divmod(len(begins), self.size)
        if more:
            whole = max(whole, 1)  # the last chunk may still become longer
        elif 2 * left >= self.size:
            whole += 1
        cuts = [0, *(begins[i * self.size] for i in range(1, whole)), len(text)]
        return [text[begin:end] for begin, end in zip(cuts[:-1], cuts[1:])]


def _metadata_of_row(batch: Batch, row: int) -> dict[str, Any]:
    """What a document carries."""
    about: dict[str, Any] = {}
    for name in ("lines", "labels", "collections", "times"):
        values = getattr(batch, name)
        about[name] = None if values is None else values[row]
    return about | {"columns": {name: values[row] for name, values in batch.columns.items()}}


Write = Callable[..., None]
"""Takes documents' names, lengths, numbers of unknown words, θ, and perhaps the values of further columns."""


@contextlib.contextmanager
def join_chunks(write: Write) -> Iterator[Write]:
    """A writer of chunks that writes whole texts: the mean of the chunks' θ by their lengths (the plain mean where no
    word is known), and what the first chunk carries. Chunks are told by their names and stand together, in any
    number of calls."""
    held: list[tuple[str, int, int, int, NDArray[np.float32], tuple[Any, ...]]] = []

    def flush() -> None:
        if not held:
            return
        lengths = np.array([row[2] for row in held], dtype=np.int64)
        weights = lengths if lengths.any() else np.ones(len(held), dtype=np.int64)
        theta = np.average(np.stack([row[4] for row in held]).astype(np.float64), axis=0, weights=weights)
        unknown = sum(row[3] for row in held)
        values = ([[value] for value in held[0][5]],) * bool(held[0][5])
        name, number = Strings.of([held[0][0]]), lengths.sum(keepdims=True)
        write(name, number, np.array([unknown]), theta[None].astype(np.float32), *values)
        held.clear()

    def add(ids: Any, lengths: Any, unknown: Any, theta: NDArray[np.float32], values: Any = ()) -> None:
        carried = list(zip(*values, strict=True)) if len(values) else [()] * len(theta)
        for name, length, strange, row, more in zip(ids, lengths.tolist(), unknown.tolist(), theta, carried):
            text, number = parent_of_chunk(name)
            if held and (text != held[-1][0] or number <= held[-1][1]):
                flush()
            held.append((text, number, length, strange, row, more))

    yield add
    flush()


def parent_of_chunk(name: str) -> tuple[str, int]:
    """The text that a chunk is of, and its number: by the name (`NAME#2`)."""
    text, mark, number = name.rpartition("#")
    if not (mark and number.isdecimal() and number.isascii()):
        raise InputError(f"--join-chunks: the document {name[:60]!r} is no chunk (NAME#1, as --chunk makes them)")
    return text, int(number)
