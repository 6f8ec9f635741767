"""A corpus file that stays on disk: its documents are read as they are needed, and were verified when it was opened."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.columns import Column, columns_of, kinds_of
from topicx.corpus.corpus import Corpus
from topicx.corpus.table import Kinds
from topicx.files import container
from topicx.files.file_kinds import CORPUS
from topicx.strings import Strings


class StoredCorpus:
    """Sizes, names, and the words of any run of documents, by the names that `Corpus` has for them."""

    def __init__(self, file: container.File) -> None:
        """`file` is one that `container.open_file(path, CORPUS)` gave."""
        if not file.sizes:
            raise TypeError(f"{file.path} was opened without its schema")
        self.file = file
        self.digest, self.meta = file.digest, file.meta
        self.n_documents, self.n_tokens = file.sizes["documents"], file.sizes["tokens"]
        self.n_words = file.sizes["words"]
        self.n_labels, self.n_collections = file.sizes["labels"], file.sizes["collections"]

    @classmethod
    def open(cls, path: str | os.PathLike[str], blocks: Iterable[bytes] | None = None) -> StoredCorpus:
        return cls(container.open_file(path, CORPUS, blocks))

    def close(self) -> None:
        self.file.close()

    def __enter__(self) -> StoredCorpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- documents, from the first to before the last --------------------------------------------------------------

    def offsets(self, first: int, last: int) -> NDArray[np.int64]:
        """Where these documents begin among all tokens, and where the last of them ends."""
        return self.file.slice("offsets", first, last + 1)

    def words(self, begin: int, end: int) -> NDArray[np.uint32]:
        """The words of these tokens."""
        return self.file.slice("words", begin, end)

    def ids(self, first: int, last: int) -> Strings:
        return self._strings("ids", first, last)

    def collection(self, first: int, last: int) -> NDArray[np.int32]:
        """The collections of these documents; empty where the corpus has none."""
        return self.file.slice("collection", first, last)

    def columns(self, first: int, last: int) -> dict[str, Column]:
        """What these documents carry beside their words."""
        return columns_of(self._carriers(first, last), snippets=True)

    def kinds(self) -> Kinds:
        """What all documents carry, by what the file has."""
        return kinds_of(self.columns(0, min(self.n_documents, 1)))

    def _carriers(self, first: int, last: int) -> Corpus:
        """These documents without their words."""
        n, file = last - first, self.file
        labels: dict[str, Any] = {}
        if file.shape("label_offsets")[0]:
            places = file.slice("label_offsets", first, last + 1)
            labels = {
                "label_offsets": places - places[0], "label_names": file.strings("label_names"),
                "label_ids": file.slice("label_ids", int(places[0]), int(places[-1])),
            }  # fmt: skip
        return Corpus(
            np.zeros(0, np.uint32), np.zeros(n + 1, np.int64), Strings.of([]), ids=self.ids(first, last),
            collection=self.collection(first, last), collection_names=self.collection_names,
            time=file.slice("time", first, last), meta=self.meta, columns=self._further(first, last), **labels,
        )  # fmt: skip

    def _further(self, first: int, last: int) -> dict[str, Column]:
        """The columns that import has kept."""
        found: dict[str, Column] = {}
        for whole in self.file.names():
            name = whole.removeprefix("column.")
            if name == whole or name.endswith(".bytes"):
                continue
            if name.endswith(".offsets"):
                found[name.removesuffix(".offsets")] = self._strings(whole.removesuffix(".offsets"), first, last)
            else:
                found[name] = self.file.slice(whole, first, last)
        return found

    def _strings(self, name: str, first: int, last: int) -> Strings:
        places = self.file.slice(f"{name}.offsets", first, last + 1)
        return Strings(self.file.slice(f"{name}.bytes", int(places[0]), int(places[-1])), places - places[0])

    # -- what is read whole ------------------------------------------------------------------------------------------

    @property
    def vocabulary(self) -> Strings:
        return self.file.strings("vocabulary")

    @property
    def collection_names(self) -> Strings:
        return self.file.strings("collection_names")

    @property
    def word_frequencies(self) -> NDArray[np.int64]:
        return self.file.load("word_frequencies")

    @property
    def times(self) -> NDArray[np.float64]:
        return self.file.load("time")
