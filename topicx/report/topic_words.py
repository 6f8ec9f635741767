"""The words of a report: those of each topic at any λ, and the topics of the most frequent words.

A word's relevance to a topic is λ log p(w | k) + (1 - λ) log (p(w | k) / p(w)) (Sievert and Shirley 2014). What is kept
of a topic is the union of its best words at six λ, so that any λ in between shows the words that it should.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from topicx.model import Model
from topicx.strings import Strings

LAMBDAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
KEPT = 40
"""Words a topic and λ."""
RARE = 5.0
"""Uses in a topic from which on a word may stand for it, where there are enough such words: of words met once, all
uses are in one topic."""
INDEXED = 20_000
"""The most frequent words, whose topics are told."""
LEAST = 0.01
"""The least part of a word's uses that is told."""


def topic_rows(model: Model) -> scipy.sparse.csr_array:
    """Expected counts as topics × words, what is left out of each word's entries added."""
    rows = model.counts().T.tocsr().astype(np.float64)
    if len(model.remainder):
        parts = np.repeat(model.remainder_share, np.diff(rows.indptr)) * model.remainder[rows.indices]
        rows.data = rows.data + parts
    rows.sort_indices()
    return rows


@dataclass(frozen=True)
class ReportWords:
    """Words by number: those that any topic shows, and the most frequent."""

    words: Strings
    numbers: NDArray[np.int64]
    """Their ids in the model's vocabulary, ascending."""
    uses: NDArray[np.float64]
    """Expected uses of each."""
    left_out: int
    """Words of the model that are not here."""
    indptr: NDArray[np.int64]
    """The topics of word i are topics[indptr[i]:indptr[i + 1]], by falling part of its uses."""
    topics: NDArray[np.uint16]
    parts: NDArray[np.float64]
    starts: NDArray[np.int64]
    """The words of topic k are chosen[starts[k]:starts[k + 1]], by falling use there."""
    chosen: NDArray[np.int64]
    used: NDArray[np.float64]
    """Expected uses of each chosen word in the topic."""

    def of_topic(self, topic: int, ratio: float = 1.0, number: int = 10) -> list[int]:
        """The topic's best words at this λ, as numbers of ours."""
        own = slice(self.starts[topic], self.starts[topic + 1])
        words, used = self.chosen[own], self.used[own]
        if not len(words):
            return []
        total, everything = max(float(used.sum()), 1e-300), max(float(self.uses.sum()), 1e-300)
        inside = np.log(np.maximum(used, 1e-300) / total)
        outside = np.log(np.maximum(self.uses[words], 1e-300) / everything)
        score = ratio * inside + (1 - ratio) * (inside - outside)
        return [int(words[i]) for i in np.lexsort((words, -score))[:number]]

    def names(self, topic: int, ratio: float = 1.0, number: int = 10) -> list[str]:
        """Names of the words."""
        return [self.words[i] for i in self.of_topic(topic, ratio, number)]


def best_words(
    words: NDArray[np.int32], used: NDArray[np.float64], uses: NDArray[np.float64]
) -> NDArray[np.int64]:  # fmt: skip
    """Which of a topic's words are among its best at some λ, by falling use."""
    if not len(words):
        return np.zeros(0, np.int64)
    last = np.partition(used, -min(KEPT, len(used)))[-min(KEPT, len(used))]
    candidates = np.flatnonzero(used >= min(RARE, last))
    inside = np.log(used[candidates])
    lift = inside - np.log(np.maximum(uses[words[candidates]], used[candidates]))
    found: list[NDArray[np.int64]] = []
    for ratio in LAMBDAS:
        score = ratio * inside + (1 - ratio) * lift
        found.append(candidates[np.lexsort((words[candidates], -score))[:KEPT]])
    union = np.unique(np.concatenate(found))
    return union[np.lexsort((words[union], -used[union]))]


def report_words(model: Model, rows: scipy.sparse.csr_array) -> ReportWords:
    """The words of a report from the counts (topics × words)."""
    uses = np.asarray(rows.sum(axis=0)).ravel()
    starts, chosen, used = np.zeros(rows.shape[0] + 1, np.int64), [], []
    for k in range(rows.shape[0]):
        own = slice(rows.indptr[k], rows.indptr[k + 1])
        words, values = rows.indices[own], rows.data[own]
        positive = values > 0
        words, values = words[positive], values[positive]
        best = best_words(words, values, uses)
        starts[k + 1] = starts[k] + len(best)
        chosen.append(words[best].astype(np.int64))
        used.append(values[best])
    of_topics = np.concatenate([np.zeros(0, np.int64), *chosen])
    frequent = np.lexsort((np.arange(len(uses)), -uses))[:INDEXED]
    numbers = np.unique(np.concatenate([of_topics, frequent[uses[frequent] > 0]]))
    place = np.full(len(uses), -1, np.int64)
    place[numbers] = np.arange(len(numbers))
    indptr, topics, parts = _topics_of(rows, numbers, uses)
    return ReportWords(
        model.vocabulary.take(numbers), numbers, uses[numbers], len(uses) - len(numbers), indptr, topics, parts,
        starts, place[of_topics], np.concatenate([np.zeros(0), *used]),
    )  # fmt: skip


def _topics_of(
    rows: scipy.sparse.csr_array, numbers: NDArray[np.int64], uses: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.float64]]:
    """The topics of these words and the parts of their uses there, from LEAST on."""
    columns = rows.tocsc()[:, numbers].tocoo()
    parts = columns.data / np.maximum(uses[numbers][columns.col], 1e-300)
    kept = parts >= LEAST
    word, topic, parts = columns.col[kept], columns.row[kept], parts[kept]
    order = np.lexsort((topic, -parts, word))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(word, minlength=len(numbers)))])
    return indptr, topic[order].astype(np.uint16), parts[order]
