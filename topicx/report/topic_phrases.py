"""Phrases of topics: two words that stand beside each other, both of one topic, more often than by chance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.report.topic_quality import sample_documents
from topicx.state import State

LEAST = 4
"""Times that a phrase must occur."""
NUMBER = 10
"""Phrases a topic."""
TOKENS = 6_000_000
"""Words that are looked at; of a larger state every n-th document is taken."""


def phrase_step(state: State) -> int:
    """Every so manieth document is looked at."""
    return max(1, -(-state.n_tokens // TOKENS))


def topic_phrases(state: State) -> list[list[tuple[str, int]]]:
    """Each topic's phrases and how often they occur, by the log-likelihood ratio of their words (Dunning 1993). Words
    that were left out at import may have stood in between."""
    state = sample_documents(state, phrase_step(state)) if phrase_step(state) > 1 else state
    last = state.n_tokens
    z, words = state.z[:last], state.words
    ends = np.zeros(last + 1, bool)
    ends[state.offsets[1:]] = True
    ends = ends[1:]
    pairs = np.flatnonzero((z[:-1] == z[1:]) & (z[:-1] < state.n_topics) & ~ends[:-1] & (words[:-1] != words[1:]))
    key = z[pairs].astype(np.int64)  # the columns as small as they are, and one wide array: there are millions of them
    for part in (words[pairs], words[pairs + 1]):
        key *= state.n_words
        key += part
    found, counts = np.unique(key, return_counts=True)
    del key, pairs, ends
    found, counts = found[counts >= LEAST], counts[counts >= LEAST]
    topic, rest = np.divmod(found, state.n_words**2)
    first, second = np.divmod(rest, state.n_words)
    own, totals = _uses_of_words(z, words, state)
    score = _likelihood_ratio(counts, own(topic, first), own(topic, second), totals[topic])
    result: list[list[tuple[str, int]]] = []
    for k in range(state.n_topics):
        mine = np.flatnonzero(topic == k)
        best = mine[np.lexsort((found[mine], -score[mine]))][:NUMBER]
        best = best[score[best] > 10.83]  # p < 0.001
        told = [(f"{state.vocabulary[int(first[i])]} {state.vocabulary[int(second[i])]}", int(counts[i])) for i in best]
        result.append(told)
    return result


def _uses_of_words(z: NDArray[Any], words: NDArray[Any], state: State):  # type: ignore[no-untyped-def]
    placed = z < state.n_topics
    key = z[placed].astype(np.int64)
    key *= state.n_words
    key += words[placed]
    keys, counts = np.unique(key, return_counts=True)

    def own(topic: NDArray[np.int64], word: NDArray[np.int64]) -> NDArray[np.float64]:
        return counts[np.searchsorted(keys, topic * state.n_words + word)].astype(np.float64)

    return own, np.bincount(z[placed], minlength=state.n_topics).astype(np.float64)


def _likelihood_ratio(
    both: NDArray[np.int64], first: NDArray[np.float64], second: NDArray[np.float64], total: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Dunning's G² where the pair is more frequent than by chance, else 0."""
    a = both.astype(np.float64)
    table = (a, np.maximum(first - a, 0), np.maximum(second - a, 0), np.maximum(total - first - second + a, 0))
    rows, columns = (first, total - first), (second, total - second)
    g = np.zeros(len(a))
    with np.errstate(divide="ignore", invalid="ignore"):
        for cell, (row, column) in zip(table, ((0, 0), (0, 1), (1, 0), (1, 1)), strict=True):
            expected = rows[row] * columns[column] / total
            g += np.where((cell > 0) & (expected > 0), 2 * cell * np.log(cell / expected), 0)
    return np.where(a > first * second / np.maximum(total, 1), g, 0)
