"""Texts to words in several threads, each with a table of words of its own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.text.tokens import Words
from topicx.corpus.formats.document_reader import Batch
from topicx.corpus.text.tokenizer import Tokenizer
from topicx.corpus.text.word_tally import NO_NUMBERS
from topicx.engines.threads import Threads

SWITCH = 1e-4
"""Seconds that a thread with a batch ready waits for the reading thread, which never waits by itself."""

Apart = tuple[Batch, "OwnWords | None", Any, Any, Any]
"""A batch, the table that its words are in (None: it has no texts), ids in it, lengths, and the table's new words."""


class OwnWords:
    """One thread's words, and their ids in the table of all."""

    def __init__(self) -> None:
        self.words = Words()
        self.seen = self.known = 0
        self._numbers = NO_NUMBERS

    def encode(self, texts: Any, tokenizer: Tokenizer) -> tuple[Any, Any, Any]:
        """In the thread: ids here, lengths, and a copy of the words that are new."""
        ids, lengths = tokenizer.ids(texts, self.words)
        new = self.words.arrays(self.seen)
        self.seen = len(self.words)
        return ids, lengths, new

    def numbers_in(self, words: Words, new: Any) -> NDArray[np.uint32]:
        """In the order of the batches: the ids of its words in the table of all, where new words are added."""
        if self.words.noise >= 0 and words.noise < 0:
            words.leave_out(self.words.least, not self.words.numbers)
        known, more = self.known, len(new[1]) - 1
        if known + more > len(self._numbers):
            self._numbers = np.concatenate([self._numbers, np.empty(known + 2 * more, np.uint32)])
        if more:
            self._numbers[known : known + more] = words.add_all(*new)
        self.known += more
        return self._numbers[: self.known]


def encode_apart(batches: Iterable[Batch], tokenizer: Tokenizer, threads: int) -> Iterator[Apart]:
    """The batches in order, their texts as words."""
    mine = threading.local()

    def work(batch: Batch) -> Apart:
        if batch.counts is not None or batch.words is not None:
            return batch, None, None, None, None
        if not hasattr(mine, "table"):
            mine.table = OwnWords()
        return batch, mine.table, *mine.table.encode(batch.texts, tokenizer)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(min(interval, SWITCH))
    try:
        with Threads(threads) as engine:
            yield from engine.stream(work, batches)
    finally:
        sys.setswitchinterval(interval)
