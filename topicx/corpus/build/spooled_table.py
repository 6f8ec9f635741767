"""What documents have beside their words, all of it, while a corpus is built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.build.spooled_columns import SpooledColumn, SpooledNames, SpooledTexts, SpooledTimes, snippet_of_text
from topicx.corpus.build.spooled_rows import PIECE, New
from topicx.corpus.formats.document_reader import Batch
from topicx.corpus.formats.input_bytes import Faults
from topicx.files import container


class SpooledTable:
    """Names, labels, collections, times, further columns and snippets, a row a document."""

    def __init__(self, new: New, snippet: int, faults: Faults | None = None) -> None:
        """Make an empty table. snippet: characters of a text's beginning that are kept."""
        self._new, self._snippet_size = new, snippet
        self.n_documents = 0
        self._ids = SpooledTexts(new)
        self._are_named = False
        self._labels = SpooledNames(new, many=True)
        self._collections = SpooledNames(new, many=False)
        self._times = SpooledTimes(new, faults)
        self._columns: dict[str, SpooledColumn] = {}
        self._snippets = SpooledTexts(new) if snippet else None

    @property
    def time_kind(self) -> str:
        """`number` or `date`; nothing where no document has a time."""
        return self._times.kind

    def doubled_ids(self) -> tuple[int, str]:
        """How many names are there before already, and the first that is. Names that are numbers of ours are not
        looked at."""
        return self._ids.doubled() if self._are_named else (0, "")

    def add(self, batch: Batch, begun: int, end: int) -> None:
        """Add the documents `begun` to `end` of the batch."""
        n, start = end - begun, self.n_documents - begun
        self._are_named = self._are_named or batch.ids is not None
        ids = [None] * end if batch.ids is None else batch.ids
        self._ids.add([str(start + i) if ids[i] is None else str(ids[i]) for i in range(begun, end)])
        self._labels.add(None if batch.labels is None else batch.labels[begun:], n)
        self._collections.add(None if batch.collections is None else batch.collections[begun:], n)
        self._times.add(batch, begun, end)
        self._add_columns(batch, begun, n)
        if self._snippets is not None:
            size = self._snippet_size
            texts = batch.texts if batch.words is None else [" ".join(words[: size + 1]) for words in batch.words]
            self._snippets.add([snippet_of_text(text, size) for text in texts[begun:]] if texts else [""] * n)
        self.n_documents += n

    def _add_columns(self, batch: Batch, begun: int, n: int) -> None:
        """Further columns; one that begins or is missing in this batch has no value elsewhere."""
        for name, values in batch.columns.items():
            if name not in self._columns:
                self._columns[name] = SpooledColumn(self._new, name, self._snippets is not None)
                self._columns[name].add([None] * self.n_documents)
            self._columns[name].add(values[begun:])
        for name, column in self._columns.items():
            if name not in batch.columns:
                column.add([None] * n)

    def arrays(self, has_texts: bool, lengths: container.Spool | None) -> tuple[dict[str, Any], list[str]]:
        """The arrays of a corpus, and the names of its further columns. has_texts: whether any document came as a text,
        so that snippets say something; lengths: those of all documents, if only documents with words are kept."""

        def mask() -> Iterator[NDArray[np.bool_]] | None:
            return None if lengths is None else (piece > 0 for piece in lengths.chunks(PIECE))

        arrays = self._ids.arrays("ids", mask())
        arrays |= self._labels.arrays("label", mask())
        arrays |= self._collections.arrays("collection", mask())
        arrays["time"] = self._times.array(mask())
        further: dict[str, SpooledTexts | SpooledColumn] = {}
        if self._snippets is not None and has_texts:
            further["snippet"] = self._snippets
        further |= self._columns
        for name, column in further.items():
            arrays |= column.arrays(f"column.{name}", mask())
        return arrays, list(further)
