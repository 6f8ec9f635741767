"""The first pass of an import: documents come in batches, and all that is read waits for the others.

Words have provisional ids by first appearance until the input ends. What a word becomes is settled at once where it is
known: words of a fixed vocabulary, and words that stop words alone can drop. Where pairs of words are to be joined, all
tokens wait, since which pairs are one word is known when all are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.text.tokens import Words
from topicx.corpus.build.spooled_rows import Lengths, New
from topicx.corpus.build.spooled_table import SpooledTable
from topicx.corpus.formats.document_reader import Batch, Counts
from topicx.corpus.text.tokenizer import Encoder, Tokenizer
from topicx.corpus.text.word_tally import NO_NUMBERS, NOISE_WORD, PairTable, WordTally
from topicx.errors import InputError
from topicx.files import container

if TYPE_CHECKING:
    from topicx.corpus.text.parallel_encoding import Apart

MOST_COUNTED = 1 << 28
"""Tokens that the counts of one batch of documents (some megabytes of text) may be."""

Ids = NDArray[np.uint32]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class LeftOut:
    """Tokens that did not become words of the corpus."""

    unknown: int = 0
    stopped: int = 0
    noise: int = 0


@dataclass(frozen=True)
class Gathered:
    """All that was read: words and their counts, the tokens of each document, and what documents have beside them."""

    tokenizer: Tokenizer
    keeps_tokenizer: bool
    """Whether the corpus says how its texts became words."""
    words: Words
    counts: WordTally
    """By provisional id."""
    ids: container.Spool
    """Provisional ids of the tokens."""
    lengths: container.Spool
    """The tokens of each document."""
    table: SpooledTable
    left_out: LeftOut
    has_texts: bool
    """Whether any document came as a text."""
    known_words: int | None
    """The words of a fixed vocabulary; None: words are numbered when all is read."""
    new: New
    """Makes further spools."""
    language: str | None = None
    """The language whose stop words were found to be wanted."""

    @property
    def n_documents(self) -> int:
        return self.table.n_documents


class WordIntake(Protocol):
    """What becomes of provisional ids while documents come."""

    words: Words
    known_words: int | None
    """The words of a vocabulary that is given."""

    @property
    def counts(self) -> WordTally: ...

    @property
    def left_out(self) -> LeftOut: ...

    def take(self, ids: Ids, lengths: Numbers, first: int, begun: int, numbers: Ids) -> tuple[Ids, Numbers]:
        """The ids that wait, and their number in each document. `first`: the number of the first document; `begun`: 1
        if it began in the batch before; `numbers`: what the ids stand for, if anything."""
        ...


class FixedWords:
    """Words of a vocabulary that is given; all others are unknown."""

    def __init__(self, tokenizer: Tokenizer, vocabulary: Sequence[str]) -> None:
        self._encoder = Encoder(tokenizer, vocabulary)
        self.words = self._encoder.words
        self.known_words: int | None = self._encoder.n_words

    @property
    def counts(self) -> WordTally:
        return self._encoder.counts

    @property
    def left_out(self) -> LeftOut:
        return LeftOut(self._encoder.unknown, self._encoder.stopped, self._encoder.noise)

    def take(self, ids: Ids, lengths: Numbers, first: int, begun: int, numbers: Ids) -> tuple[Ids, Numbers]:
        return self._encoder.settle(ids, lengths, begun)


class GrowingWords:
    """Words as they come: stop words and noise go at once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer, self._no_pairs = tokenizer, PairTable()
        self.words = Words()
        self.known_words: int | None = None
        self._counts = WordTally.of(np.zeros(0, np.uint8))
        self._flagged = 0
        self._stopped = self._noise = 0

    @property
    def counts(self) -> WordTally:
        flag_new_words(self.words, self._counts, self._tokenizer, self._flagged)
        self._flagged = len(self.words)
        return self._counts

    @property
    def left_out(self) -> LeftOut:
        return LeftOut(0, self._stopped, self._noise)

    def take(self, ids: Ids, lengths: Numbers, first: int, begun: int, numbers: Ids) -> tuple[Ids, Numbers]:
        settled = self.counts.settle(ids, lengths, self._no_pairs, first, numbers)
        self._stopped += settled.stopped
        self._noise += settled.noise
        return settled.ids, settled.lengths


class WaitingWords(GrowingWords):
    """Words as they come, of which nothing goes yet: their tokens are counted, and that is all."""

    def take(self, ids: Ids, lengths: Numbers, first: int, begun: int, numbers: Ids) -> tuple[Ids, Numbers]:
        counts = self.counts
        ids = numbers[ids] if len(numbers) else ids
        counts.tokens[: len(self.words)] += np.bincount(ids, minlength=len(self.words))
        return ids, lengths


def flag_new_words(words: Words, counts: WordTally, tokenizer: Tokenizer, flagged: int) -> None:
    """Room in the counts for words that are new, and their flag if they are stop words; `flagged`: how many words have
    theirs."""
    n = len(words)
    counts.make_room(n)
    if tokenizer.stopwords:
        for i in range(flagged, n):
            counts.flags[i] = tokenizer.is_stopword(words.word(i))
    if words.noise >= 0:
        counts.flags[words.noise] = NOISE_WORD


class Gatherer:
    """Takes batches of documents; `gathered` is what was read."""

    def __init__(self, tokenizer: Tokenizer, intake: WordIntake, table: SpooledTable, new: New) -> None:
        self._tokenizer, self._intake, self._table, self._new = tokenizer, intake, table, new
        self.ids = passing_ids(new)
        self._lengths = Lengths(new(np.int64))
        self._has_texts = False
        self._counted = GivenCounts(intake.words)

    def add(self, batch: Batch) -> None:
        """Add a batch of documents."""
        words = self._intake.words
        if batch.counts is not None:
            ids, lengths = self._counted.tokens_of(batch.counts, batch)
        elif batch.words is not None:
            ids, lengths = words.encode_words(list(batch.words))
        else:
            self._has_texts = True
            ids, lengths = self._tokenizer.ids(batch.texts, words)
        self._add_ids(batch, ids, lengths, NO_NUMBERS)

    def add_apart(self, encoded: Iterable[Apart], waiting: Callable[[], Any]) -> Iterator[Batch]:
        """Add all batches, whose texts became words elsewhere, each by a table of its own, and give each back when it
        is in. Words are ordered when all is read. `waiting` is entered while anything is written."""
        for batch, table, ids, lengths, new in encoded:
            with waiting():
                if table is None:
                    self.add(batch)
                else:
                    self._has_texts = True
                    self._add_ids(batch, ids, lengths, table.numbers_in(self._intake.words, new))
            yield batch

    def _add_ids(self, batch: Batch, ids: Ids, lengths: Numbers, numbers: Ids) -> None:
        n, begun = len(lengths), int(batch.continues)
        ids, lengths = self._intake.take(ids, lengths, self._table.n_documents - begun, begun, numbers)
        self.ids.append(ids)
        self._lengths.add(lengths, batch.open)
        if n > begun:
            self._table.add(batch, begun, n)

    def gathered(self, keeps_tokenizer: bool) -> Gathered:
        """What was read so far."""
        intake = self._intake
        return Gathered(
            self._tokenizer, keeps_tokenizer, intake.words, intake.counts, self.ids, self._lengths.spool, self._table,
            intake.left_out, self._has_texts, intake.known_words, self._new,
        )  # fmt: skip


class GivenCounts:
    """Tokens from counts of words: each as often as its count says, side by side."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._map: Numbers = np.zeros(0, dtype=np.int64)
        self._map_of: Sequence[str] | None = None

    def tokens_of(self, counts: Counts, batch: Batch) -> tuple[Ids, Numbers]:
        """Provisional ids, and the number of them in each document."""
        if counts.vocabulary is None:
            numbers, places = np.unique(counts.words, return_inverse=True)
            found = [self._words.add(str(number + counts.base)) for number in numbers.tolist()]
            ids: NDArray[Any] = np.array(found, dtype=np.int64)[places.reshape(-1)]
        else:
            if counts.vocabulary is not self._map_of:
                self._map = np.array([self._words.add(word) for word in counts.vocabulary], dtype=np.int64)
                self._map_of = counts.vocabulary
            ids = self._map[counts.words]
        if counts.counts.sum(dtype=np.float64) > MOST_COUNTED:
            pair = int(np.argmax(counts.counts))
            place = batch.place(int(np.searchsorted(np.cumsum(counts.lengths), pair, side="right")))
            raise InputError(f"{place}: a word that is there {int(counts.counts[pair]):,} times: that cannot be")
        ids = np.repeat(ids.astype(np.uint32), counts.counts)
        ends = np.concatenate([[0], np.cumsum(counts.counts)])
        pairs = np.concatenate([[0], np.cumsum(counts.lengths)])
        return ids, np.diff(ends[pairs])


def passing_ids(new: New) -> container.Spool:
    """A spool of provisional ids, which are in no output as they are."""
    return new(np.uint32, passing=True)
