"""Documents as a model reads them, and where they come from: words by the model's numbers, and what they carry beside.

A `Source` gives them batch after batch, whatever form they have: a corpus in memory or in a file, texts, lists of
words, data frames and matrices of a Python program, or inputs in any format that is imported. All of them agree: a
document with the same words has the same known and unknown words, and the same columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from topicx.common_methods import Summarized
from topicx.corpus.corpus import Corpus
from topicx.corpus.corpus_on_disk import StoredCorpus
from topicx.corpus.formats.document_reader import Batch, Counts
from topicx.corpus.streamed_columns import carried_by_batch, kinds_of_batch
from topicx.corpus.table import Kinds, Table
from topicx.corpus.text.encoded_batches import name_count_words, whole_documents
from topicx.corpus.text.tokenizer import Encoder, Tokenizer
from topicx.errors import InputError
from topicx.predict.topic_rows import known_tokens, match_vocabulary
from topicx.strings import Strings

_TOKENS, _DOCUMENTS = 1 << 20, 1 << 14
"""What a source gives at a time."""
UNKNOWN, LEFT_OUT = -1, -2
"""Words that a model has no number for: it never saw them, or it leaves them out (stop words, numbers)."""


@dataclass(frozen=True, repr=False)
class Documents(Summarized):
    """Some documents, as the model's word ids; words that it does not know are left out and counted."""

    ids: Strings
    """A name per document."""
    words: NDArray[np.uint32]
    """Word ids of the model, document after document."""
    offsets: NDArray[np.int64]
    """Document d is words[offsets[d]:offsets[d + 1]]."""
    unknown: NDArray[np.int64]
    """The tokens left out of each, but for those that the model leaves out of every text (stop words, say)."""
    carried: Table = field(default_factory=Table)
    """What the documents carry, of the columns that were asked for."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def part(self, begin: int, end: int) -> Documents:
        """The documents from `begin` to before `end`; nothing is copied."""
        first, last = self.offsets[begin], self.offsets[end]
        return Documents(
            self.ids.part(begin, end), self.words[first:last], self.offsets[begin : end + 1] - first,
            self.unknown[begin:end], self.carried.part(begin, end),
        )  # fmt: skip

    def told(self, name: str) -> list[Any]:
        """The plain values of a column; None for each document, where they do not carry it."""
        return self.carried.told(name) if name in self.carried else [None] * len(self)


class WordNumbers:
    """The words of a model, by which sources number those of documents; threads share it."""

    def __init__(self, vocabulary: Strings, tokenizer: Tokenizer) -> None:
        self.vocabulary, self.tokenizer = vocabulary, tokenizer

    @cached_property
    def encoder(self) -> Encoder:
        """What makes numbers of words of texts."""
        return Encoder(self.tokenizer, self.vocabulary)

    def match(self, other: Sequence[str]) -> NDArray[np.int64]:
        """The number of each of these words; `UNKNOWN` or `LEFT_OUT`, where there is none. InputError if the model has
        none of them."""
        found = match_vocabulary(self.vocabulary, other)
        missing = np.flatnonzero(found < 0)
        if len(missing) and (self.tokenizer.stopwords or self.tokenizer.drops_noise):
            names = [other[int(at)] for at in missing] if not isinstance(other, Strings) else list(other.take(missing))
            dropped = [self.tokenizer.is_stopword(name) or self.tokenizer.is_noise(name) for name in names]
            found[missing[np.array(dropped, bool)]] = LEFT_OUT
        return found


class Source(Protocol):
    """Where documents come from."""

    n_documents: int | None
    """How many there are; None: nobody knows before the end."""

    def kinds(self) -> Kinds:
        """What the documents carry."""
        ...

    def documents(self, words: WordNumbers, columns: Collection[str] = ()) -> Iterator[Documents]:
        """The documents, in batches, by these words and with those of these columns that they carry."""
        ...


class CorpusSource:
    """The documents of a corpus in memory."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.n_documents: int | None = corpus.n_documents

    def kinds(self) -> Kinds:
        return self.corpus.table.kinds()

    def documents(self, words: WordNumbers, columns: Collection[str] = ()) -> Iterator[Documents]:
        corpus, match = self.corpus, words.match(self.corpus.vocabulary)
        table = _chosen(corpus.table, columns)
        for begin, end in runs_of_documents(corpus.offsets, _TOKENS, _DOCUMENTS):
            bounds = corpus.offsets[begin : end + 1]
            known = _known(corpus.words[bounds[0] : bounds[-1]], bounds, match)
            yield Documents(corpus.ids.part(begin, end), *known, table.part(begin, end))


class StoredSource:
    """The documents of an open corpus file, read as they are needed."""

    def __init__(self, corpus: StoredCorpus) -> None:
        self.corpus = corpus
        self.n_documents: int | None = corpus.n_documents

    def kinds(self) -> Kinds:
        return self.corpus.kinds()

    def documents(self, words: WordNumbers, columns: Collection[str] = ()) -> Iterator[Documents]:
        match = words.match(self.corpus.vocabulary)
        for begin, end in self.runs():
            yield self.read(begin, end, match, columns)

    def runs(self) -> Iterator[tuple[int, int]]:
        """What is given at a time, by the numbers of the documents."""
        for first in range(0, self.corpus.n_documents, _DOCUMENTS):
            offsets = self.corpus.offsets(first, min(first + _DOCUMENTS, self.corpus.n_documents))
            for begin, end in runs_of_documents(offsets, _TOKENS, _DOCUMENTS):
                yield first + begin, first + end

    def read(self, begin: int, end: int, match: NDArray[np.int64], columns: Collection[str] = ()) -> Documents:
        """The documents of these numbers; `match`: the model's number of each word of the corpus."""
        corpus, bounds = self.corpus, self.corpus.offsets(begin, end)
        if np.any(np.diff(bounds) < 0):  # whoever opened it without reading all of it
            raise InputError(f"{corpus.file.path}: the file is damaged (where documents begin)")
        known = _known(corpus.words(int(bounds[0]), int(bounds[-1])), bounds, match)
        table = _chosen(corpus.table(begin, end), columns) if columns else Table()
        return Documents(corpus.ids(begin, end), *known, table)


class BatchSource:
    """The documents of batches, as readers of inputs give them: texts, lists of words, or counts."""

    def __init__(self, batches: Iterable[Batch], n_documents: int | None = None) -> None:
        self.n_documents = n_documents
        self._batches = iter(batches)
        self._kinds: Kinds | None = None

    def kinds(self) -> Kinds:
        """By the first of the batches: all inputs of a run are alike."""
        if self._kinds is None:
            first = next(self._batches, None)
            self._kinds = {} if first is None else kinds_of_batch(first)
            self._batches = itertools.chain([] if first is None else [first], self._batches)
        return self._kinds

    def documents(self, words: WordNumbers, columns: Collection[str] = ()) -> Iterator[Documents]:
        known = {name: kind for name, kind in self.kinds().items() if name in columns}
        others = [name for name in columns if name not in known]
        last: tuple[Any, NDArray[np.int64]] | None = None
        number = 0
        for batch in whole_documents(self._batches, words.encoder):
            if batch.counts is None:
                tokens, lengths, missing = batch.encoded
            else:
                counts = name_count_words(batch.counts)
                if last is None or last[0] is not counts.vocabulary:
                    assert counts.vocabulary is not None
                    last = counts.vocabulary, words.match(counts.vocabulary)
                tokens, lengths, missing = _of_counts(counts, last[1])
            given = batch.ids or [None] * len(lengths)
            names = [str(number + i) if name is None else name for i, name in enumerate(given)]
            number += len(names)
            offsets = np.zeros(len(lengths) + 1, np.int64)
            np.cumsum(lengths, out=offsets[1:])
            kinds = known
            if others:  # which the first batch did not have
                found = kinds_of_batch(batch)
                kinds = known | {name: found[name] for name in others if name in found}
            yield Documents(Strings.of(names), tokens, offsets, missing, carried_by_batch(batch, kinds))


class SeveralSources:
    """The documents of several sources, one after another."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        numbers = [source.n_documents for source in sources]
        self.n_documents = None if None in numbers else sum(number or 0 for number in numbers)

    def kinds(self) -> Kinds:
        return {name: kind for source in self.sources for name, kind in source.kinds().items()}

    def documents(self, words: WordNumbers, columns: Collection[str] = ()) -> Iterator[Documents]:
        for source in self.sources:
            yield from source.documents(words, columns)


def source_of(documents: Any, vocabulary: Strings, text: str = "text") -> Source:
    """Documents in whatever form a Python program has them, as a source of batches.

    Parameters
    ----------
    documents
        A corpus, texts, lists of words, a data frame (its other columns go along), or a documents × words matrix of
        counts.
    vocabulary
        The words of a matrix whose columns have no names.
    text
        The column of a data frame that has texts or lists of words.

    Returns
    -------
    Source
        What `Inference.documents` reads.
    """
    if isinstance(documents, Corpus):
        return CorpusSource(documents)
    from topicx.corpus.any_documents import batches_of

    batches, number = batches_of(documents, vocabulary, text)
    return BatchSource(batches, number)


def runs_of_documents(offsets: NDArray[np.int64], tokens: int, documents: int) -> Iterator[tuple[int, int]]:
    """Runs of at most this many documents and tokens (or of one longer document)."""
    begin, last = 0, len(offsets) - 1
    while begin < last:
        end = int(np.searchsorted(offsets, offsets[begin] + tokens, side="right")) - 1
        end = min(max(end, begin + 1), last, begin + documents)
        yield begin, end
        begin = end


def _chosen(table: Table, columns: Collection[str]) -> Table:
    return table.only(name for name in table if name in columns) if columns else Table()


def _known(
    words: NDArray[np.uint32], offsets: NDArray[np.int64], match: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    """The words that have a number, where each document's begin, and how many of each are unknown."""
    found, begins, missing = known_tokens(words, offsets, match)
    if missing.any() and (match == LEFT_OUT).any():
        left_out = np.concatenate([[0], np.cumsum(match[words] == LEFT_OUT)])
        missing = missing - np.diff(left_out[offsets - offsets[0]])
    return found, begins, missing


def _of_counts(
    counts: Counts, match: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    """Documents from counts, each word as often as its count says, side by side; lengths instead of begins."""
    ends = np.concatenate([[0], np.cumsum(counts.counts)])
    pairs = np.concatenate([[0], np.cumsum(counts.lengths)])
    words, offsets, unknown = _known(np.repeat(counts.words, counts.counts), ends[pairs].astype(np.int64), match)
    return words, np.diff(offsets), unknown
