"""A corpus file that stays on disk: its documents are read as they are needed, and were verified when it was opened."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from topicx import files
from topicx.kinds import CORPUS
from topicx.strings import Strings


class StoredCorpus:
    """Sizes, names, and the words of any run of documents, by the names that `Corpus` has for them."""

    def __init__(self, file: files.File) -> None:
        """`file` is one that `files.open_file(path, CORPUS)` gave."""
        if not file.sizes:
            raise TypeError(f"{file.path} was opened without its schema")
        self.file = file
        self.digest, self.meta = file.digest, file.meta
        self.n_documents, self.n_tokens = file.sizes["documents"], file.sizes["tokens"]
        self.n_words = file.sizes["words"]
        self.n_labels, self.n_collections = file.sizes["labels"], file.sizes["collections"]

    @classmethod
    def open(cls, path: str | os.PathLike[str], blocks: Iterable[bytes] | None = None) -> StoredCorpus:
        return cls(files.open_file(path, CORPUS, blocks))

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
        places = self.file.slice("ids.offsets", first, last + 1)
        return Strings(self.file.slice("ids.bytes", int(places[0]), int(places[-1])), places - places[0])

    def collection(self, first: int, last: int) -> NDArray[np.int32]:
        """The collections of these documents; empty where the corpus has none."""
        return self.file.slice("collection", first, last)

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
