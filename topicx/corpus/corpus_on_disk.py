"""A corpus file that stays on disk: its documents are read as they are needed, and were verified when it was opened."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.table import Column, Kinds, Labels, Names, Packed, Table, Times, unpack_column
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

    @classmethod
    def open_known(cls, path: str | os.PathLike[str], digest: str) -> StoredCorpus:
        """A corpus file that another process has opened and verified; InputError if it is not that one."""
        return cls(container.open_known_file(path, CORPUS, digest))

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

    def table(self, first: int, last: int) -> Table:
        """What these documents carry beside their words."""
        file = self.file
        found: dict[str, Column] = {name: unpack_column(name, one) for name, one in self._further(first, last).items()}
        if file.shape("label_offsets")[0]:
            places = file.slice("label_offsets", first, last + 1)
            ids = file.slice("label_ids", int(places[0]), int(places[-1]))
            found["label"] = Labels(places - places[0], ids, self.label_names)
        if file.shape("collection")[0]:
            found["collection"] = Names(self.collection(first, last), self.collection_names)
        if file.shape("time")[0]:
            found["time"] = Times(file.slice("time", first, last), self.meta.get("time") == "date")
        return Table(found)

    def kinds(self) -> Kinds:
        """What all documents carry, by what the file has."""
        return self.table(0, min(self.n_documents, 1)).kinds()

    def _further(self, first: int, last: int) -> dict[str, Packed]:
        """The columns that import has kept."""
        found: dict[str, Packed] = {}
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

    @cached_property
    def vocabulary(self) -> Strings:
        return self.file.strings("vocabulary")

    @cached_property
    def label_names(self) -> Strings:
        return self.file.strings("label_names")

    @cached_property
    def collection_names(self) -> Strings:
        return self.file.strings("collection_names")

    @property
    def word_frequencies(self) -> NDArray[np.int64]:
        return self.file.load("word_frequencies")

    @property
    def times(self) -> NDArray[np.float64]:
        return self.file.load("time")
