"""Texts to words in several threads, each with a table of words of its own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.tokens import Words, renumber
from topicx.corpus.read import Batch
from topicx.corpus.tokenize import Tokenizer
from topicx.engines.threads import Threads

SWITCH = 1e-4
"""Seconds that a thread with a batch ready waits for the reading thread, which never waits by itself."""

Apart = tuple[Batch, "OwnWords | None", Any, Any]
"""A batch, the table that its words are in (None: it has no texts), ids in it with the table's new words, lengths."""


class OwnWords:
    """One thread's words, and their ids in the table of all."""

    def __init__(self) -> None:
        self.words = Words()
        self.seen = 0
        self.map = np.zeros(0, dtype=np.uint32)

    def encode(self, texts: Any, tokenizer: Tokenizer) -> tuple[Any, NDArray[np.int64]]:
        """In the thread: ids here, with a copy of the words that are new, and lengths."""
        ids, lengths = tokenizer.ids(texts, self.words)
        new = self.words.arrays(self.seen)
        self.seen = len(self.words)
        return (ids, new), lengths

    def ids_in(self, words: Words, encoded: Any) -> Any:
        """In the order of the batches: ids in the table of all, where new words are added."""
        ids, new = encoded
        if self.words.noise >= 0 and words.noise < 0:
            words.leave_out(self.words.least, not self.words.numbers)
        if len(new[1]) > 1:
            self.map = np.concatenate([self.map, words.add_all(*new)])
        found = np.empty_like(ids)
        renumber(ids, np.array([len(ids)]), self.map, found, np.empty(1, np.int64))
        return found


def encode_apart(batches: Iterable[Batch], tokenizer: Tokenizer, threads: int) -> Iterator[Apart]:
    """The batches in order, their texts as words."""
    mine = threading.local()

    def work(batch: Batch) -> Apart:
        if batch.counts is not None or batch.words is not None:
            return batch, None, None, None
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
