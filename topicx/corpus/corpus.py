"""The corpus: documents as word ids in order, with what is known about each document.

Memory is four bytes a token and a few arrays over documents; names are kept as bytes, not as Python objects.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.estimate import counts as kernel
from topicx.common_methods import OfDocuments
from topicx.corpus.table import Labels, Names, Table, Times, unpack_column
from topicx.files import container
from topicx.files.file_kinds import CORPUS
from topicx.strings import Strings, same_arrays, take_rows

if TYPE_CHECKING:
    import pandas
    import scipy.sparse

    from topicx.corpus.text.tokenizer import Tokenizer


MAP_FROM = 1 << 26
"""Bytes from which an array stays in its file (17 million tokens): a corpus may be larger than memory, and what is not
copied is read sooner."""


def _no_strings() -> Strings:
    return Strings.of([])


@dataclass(eq=False)
class Corpus(OfDocuments):
    """Documents, vocabulary and what each document carries.

    Make one with `from_texts`, `from_documents`, `from_matrix`, `from_dataframe`, or `Corpus.load(path)`.
    """

    words: NDArray[np.uint32]
    """Word ids of all tokens, document after document, in the order of the text."""
    offsets: NDArray[np.int64]
    """Document d is words[offsets[d]:offsets[d + 1]]."""
    vocabulary: Strings
    """The word types; a word id is an index into it."""
    ids: Strings = field(default_factory=_no_strings)
    """A name per document."""
    label_names: Strings = field(default_factory=_no_strings)
    """The distinct labels, sorted."""
    label_offsets: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The labels of document d are label_ids[label_offsets[d]:label_offsets[d + 1]]; empty when there are
    none."""
    label_ids: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    """Labels of the documents, one after another, as indices into `label_names`."""
    collection_names: Strings = field(default_factory=_no_strings)
    """The distinct collections, sorted."""
    collection: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """The collection of each document (-1: none); empty when there are none at all."""
    time: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0, np.float64))
    """The time of each document as a number (a year; or days since 1970 where `meta["time"]` is "date"); NaN:
    unknown."""
    columns: dict[str, Strings | NDArray[np.float64]] = field(default_factory=dict)
    """Any further columns, by name: strings or numbers, one a document ("snippet" holds the beginning of the
    text)."""
    meta: dict[str, Any] = field(default_factory=dict)
    """How it was made: tokenising, inputs, counts of what was left out."""
    truth: dict[str, NDArray[Any]] = field(default_factory=dict)
    """The parameters that a synthetic corpus was drawn from, by name ("topic_word", "document_topic", "z",
    …)."""
    extra: dict[str, NDArray[Any]] = field(default_factory=dict)
    """Arrays of its file that this version does not know: they are kept."""
    digest: str = ""
    """The content digest of the file it came from ('' if it never was in a file)."""

    def __post_init__(self) -> None:
        if not len(self.ids):
            self.ids = Strings.of(str(d) for d in range(self.n_documents))
        CORPUS.verify_object(self, without=("word_frequencies", "document_frequencies"))

    # -- sizes and counts --------------------------------------------------------------------------------------

    @property
    def n_words(self) -> int:
        return len(self.vocabulary)

    def __len__(self) -> int:
        return self.n_documents

    def __repr__(self) -> str:
        return f"Corpus({self.n_documents:,} documents, {self.n_tokens:,} tokens, {self.n_words:,} words)"

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same documents: words in order, vocabulary, names and all that they carry (not how
        they were read)."""
        return same_arrays(self.arrays(), other.arrays()) if isinstance(other, Corpus) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, index: int) -> list[str]: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | NDArray[Any]) -> Corpus: ...
    def __getitem__(self, index: Any) -> list[str] | Corpus:
        """The words of one document; of a slice, a list of numbers or a mask: a corpus of these documents."""
        if isinstance(index, slice):
            return self.select(np.arange(self.n_documents)[index])
        if not isinstance(index, int | np.integer):
            return self.select(index)
        if not -self.n_documents <= index < self.n_documents:
            raise IndexError(f"document {index} of {self.n_documents}")
        return self.document(int(index) % self.n_documents)

    def __iter__(self) -> Iterator[list[str]]:
        """The documents as lists of words."""
        return (self.document(d) for d in range(self.n_documents))

    @cached_property
    def word_frequencies(self) -> NDArray[np.int64]:
        """Tokens per word type."""
        return np.bincount(self.words, minlength=self.n_words).astype(np.int64)

    @cached_property
    def document_frequencies(self) -> NDArray[np.int64]:
        """Documents per word type."""
        frequencies = np.zeros(self.n_words, dtype=np.int64)
        kernel.document_frequencies(self.words, self.offsets, np.full(self.n_words, -1, np.int64), frequencies)
        return frequencies

    # -- documents ---------------------------------------------------------------------------------------------

    def document(self, index: int) -> list[str]:
        """The tokens of one document as words."""
        return [self.vocabulary[int(w)] for w in self.words[self.offsets[index] : self.offsets[index + 1]]]

    def labels(self, index: int) -> list[str]:
        """The labels of one document."""
        if not len(self.label_offsets):
            return []
        chosen = self.label_ids[self.label_offsets[index] : self.label_offsets[index + 1]]
        return [self.label_names[int(label)] for label in chosen]

    @property
    def table(self) -> Table:
        """What the documents carry beside their words, as typed columns: label, collection, time, and the further ones
        whose names these have not taken. Nothing is copied."""
        found = {name: unpack_column(name, values) for name, values in self.columns.items()}
        if len(self.label_offsets):
            found["label"] = Labels(self.label_offsets, self.label_ids, self.label_names)
        if len(self.collection):
            found["collection"] = Names(self.collection, self.collection_names)
        if len(self.time):
            found["time"] = Times(self.time, self.meta.get("time") == "date")
        return Table(found)

    def document_labels(self) -> Labels:
        """The labels of all documents as arrays, also where the corpus has none."""
        offsets = self.label_offsets if len(self.label_offsets) else np.zeros(self.n_documents + 1, np.int64)
        return Labels(offsets, self.label_ids, self.label_names)

    def with_labels(self, labels: Iterable[str | Sequence[str] | None]) -> Corpus:
        """A corpus of these documents with other labels: for each a label, several, or None."""
        from topicx.corpus.build.python_forms import with_labels

        return with_labels(self, labels)

    def collection_of(self, index: int) -> str | None:
        """The collection of one document."""
        if not len(self.collection) or self.collection[index] < 0:
            return None
        return self.collection_names[int(self.collection[index])]

    def select(self, documents: Any) -> Corpus:
        """A corpus of these documents (indices or a mask), in this order; the vocabulary stays."""
        chosen = np.asarray(documents)
        chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen.astype(np.int64)
        words, offsets = take_rows(self.words, self.offsets, chosen)
        labels: dict[str, Any] = {}
        if len(self.label_offsets):
            label_ids, label_offsets = take_rows(self.label_ids, self.label_offsets, chosen)
            labels = {"label_ids": label_ids, "label_offsets": label_offsets}
        truth = dict(self.truth)
        if "z" in truth:
            truth["z"] = take_rows(truth["z"], self.offsets, chosen)[0]
        if "document_topic" in truth:
            truth["document_topic"] = truth["document_topic"][chosen]
        return replace(
            self,
            words=words,
            offsets=offsets,
            ids=self.ids.take(chosen) if len(chosen) else Strings.of([]),
            collection=self.collection[chosen] if len(self.collection) else self.collection,
            time=self.time[chosen] if len(self.time) else self.time,
            columns={name: values[chosen] for name, values in self.columns.items()},
            meta=dict(self.meta),
            truth=truth,
            extra={},
            digest="",
            **labels,
        )

    # -- files -------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], parents: Mapping[str, str] | None = None) -> str:
        """Write the corpus to a file and return its digest. `parents` maps a role to the digest of a file it
        is from."""
        meta = dict(self.meta) | {"columns": sorted(self.columns)}
        self.digest = container.write(path, CORPUS, self.arrays(), meta, parents)
        return self.digest

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays as a corpus file names them."""
        return CORPUS.pack(self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Corpus:
        """Read a corpus file, every byte verified."""
        return cls.from_file(container.read(path, CORPUS, map_from=MAP_FROM))

    @classmethod
    def from_file(cls, file: container.File) -> Corpus:
        """A corpus from a file that was read by its schema."""
        return cls.from_arrays(file.arrays, file.meta, file.digest)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any], digest: str = "") -> Corpus:
        """A corpus from the (verified) arrays and the metadata of a file."""
        found = CORPUS.unpack(arrays)
        counted = {name: found.pop(name) for name in ("word_frequencies", "document_frequencies")}
        about = {key: value for key, value in meta.items() if key != "columns"}
        corpus = cls(**found, meta=about, digest=digest)
        for name, frequencies in counted.items():
            setattr(corpus, name, frequencies)
        return corpus

    # -- from and to other forms (built in the modules named) --------------------------------------------------

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        *,
        ids: Iterable[str] | None = None,
        labels: Iterable[str | Sequence[str] | None] | None = None,
        collections: Iterable[str | None] | None = None,
        times: Iterable[Any] | None = None,
        tokenizer: Tokenizer | None = None,
        **pruning: Any,
    ) -> Corpus:
        """A corpus of these texts. `pruning` takes min_count, min_doc_freq and max_doc_freq."""
        from topicx.corpus.build.python_forms import from_texts

        return from_texts(
            texts,
            ids=ids,
            labels=labels,
            collections=collections,
            times=times,
            tokenizer=tokenizer,
            **pruning,
        )

    @classmethod
    def from_documents(cls, documents: Iterable[Sequence[str]], **about: Any) -> Corpus:
        """A corpus of documents that are already lists of words. `about` takes ids, labels, collections,
        times."""
        from topicx.corpus.build.python_forms import from_documents

        return from_documents(documents, **about)

    @classmethod
    def from_matrix(cls, matrix: scipy.sparse.sparray | scipy.sparse.spmatrix | NDArray[Any], vocabulary: Sequence[str] | None = None, **about: Any) -> Corpus:  # fmt: skip # noqa: E501
        """A corpus from a documents × words matrix of counts (any scipy sparse matrix or an array)."""
        from topicx.corpus.build.python_forms import from_matrix

        return from_matrix(matrix, vocabulary, **about)

    def to_matrix(self) -> scipy.sparse.csr_array:
        """The documents × words counts as a scipy CSR array."""
        from topicx.corpus.build.python_forms import to_matrix

        return to_matrix(self)

    @classmethod
    def from_dataframe(cls, frame: pandas.DataFrame, text: str = "text", **fields: Any) -> Corpus:
        """A corpus from a pandas frame. `fields` names the columns: id, label, collection, time, and a
        tokenizer."""
        from topicx.corpus.build.python_forms import from_dataframe

        return from_dataframe(frame, text, **fields)

    def to_dataframe(self) -> pandas.DataFrame:
        """A pandas frame with a row a document: id, words, labels, collection, time and further columns."""
        from topicx.corpus.build.python_forms import to_dataframe

        return to_dataframe(self)

    def prune(self, **limits: Any) -> Corpus:
        """A corpus without words that are too rare or too common: min_count, min_doc_freq, max_doc_freq
        (share), words."""
        from topicx.corpus.build.python_forms import prune_corpus

        return prune_corpus(self, **limits)
