"""Fixed topics in the form that the inference kernels read: a row a word, 16 topics a cache line, float32.

A row is divided by its largest entry, which no Gibbs draw can notice and which keeps every number in range; the
logarithm of the divisor is kept for likelihoods. Where V·K is large only the words in hand get rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.infer import infer as kernel
from topicx.errors import InputError
from topicx.model import Model
from topicx.strings import Strings

ROW_MEMORY = 1 << 29
"""Bytes that rows may take (of all the model's words, or of one batch's words)."""
_CHUNK = 1 << 22


def aligned_floats(rows: int, columns: int) -> NDArray[np.float32]:
    """An uninitialised float32 array that starts on a cache line."""
    raw = np.empty(rows * columns + 16, np.float32)
    start = (-raw.ctypes.data % 64) // 4
    return raw[start : start + rows * columns].reshape(rows, columns)


class FixedTopics:
    """φ of a Model or of any topics × words array, and α; gives out rows of words."""

    def __init__(self, phi: Model | NDArray[Any], alpha: Any = None) -> None:
        if isinstance(phi, Model):
            self.n_topics, self.n_words = phi.n_topics, phi.n_words
            alpha = phi.alpha if alpha is None else alpha
            self._counts = phi.counts()
            self._model: Model | None = phi
            self._inverse = 1.0 / (phi.totals + phi.beta_sum)
            self._dense: NDArray[Any] = np.zeros((0, 0))
        else:
            self._model, self._dense = None, np.asarray(phi)
            if self._dense.ndim != 2:
                raise InputError(f"phi must be a topics × words array, not one of {self._dense.ndim} dimensions")
            if not np.all(np.isfinite(self._dense)) or self._dense.min(initial=0) < 0:
                raise InputError("phi has entries that are negative or not finite")
            self.n_topics, self.n_words = self._dense.shape
            if alpha is None:
                raise InputError("alpha must be given with a phi array")
        self.alpha = np.ascontiguousarray(np.atleast_2d(np.asarray(alpha, dtype=np.float64)))
        if self.alpha.shape[1] != self.n_topics:
            raise InputError(f"alpha has {self.alpha.shape[1]} entries, but phi has {self.n_topics} topics")
        if not np.all(np.isfinite(self.alpha)) or self.alpha.min() <= 0:
            raise InputError("alpha must be positive")
        self.width = -(-self.n_topics // 16) * 16
        self.memory = ROW_MEMORY
        """Bytes that rows may take."""
        self._all: tuple[NDArray[np.float32], NDArray[np.float64]] | None = None

    @property
    def fits(self) -> bool:
        """Whether the rows of all words fit into the memory."""
        return self.n_words * self.width * 4 <= self.memory

    @property
    def most_words(self) -> int:
        """The number of words whose rows fit into the memory."""
        return max(self.memory // (self.width * 4), 1)

    def _phi_of(self, words: NDArray[np.int64]) -> NDArray[np.float64]:
        if self._model is None:
            return np.asarray(self._dense[:, words].T, dtype=np.float64)
        rows = np.asarray(self._counts[words].toarray(), dtype=np.float64)
        if len(self._model.remainder):
            rows += np.outer(self._model.remainder[words], self._model.remainder_share)
        rows += self._model.beta[words, None]
        rows *= self._inverse
        return rows

    def rows_of(self, words: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """The rows of these words, and the logarithms of what they were divided by."""
        rows = aligned_floats(max(len(words), 1), self.width)
        logs = np.zeros(len(rows))
        rows[:, self.n_topics :] = 0
        rows[len(words) :, :] = 1
        step = max(_CHUNK // self.width, 1)
        for begin in range(0, len(words), step):
            some = words[begin : begin + step]
            phi = self._phi_of(some)
            largest = phi.max(axis=1)
            impossible = np.flatnonzero(~(largest > 0))
            if len(impossible):
                raise InputError(
                    f"word {self.name(int(some[impossible[0]]))} has probability 0 in every topic: smooth phi first"
                )
            phi /= largest[:, None]
            rows[begin : begin + len(some), : self.n_topics] = phi
            logs[begin : begin + len(some)] = np.log(largest)
        return rows, logs

    def name(self, word: int) -> str:
        return f"{self._model.vocabulary[word]!r}" if self._model is not None else str(word)

    def rows_for(
        self, tokens: NDArray[np.uint32]
    ) -> tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.float64]]:
        """The tokens as numbers of rows, the rows, and the logarithms of their divisors."""
        if self.fits:
            if self._all is None:
                self._all = self.rows_of(np.arange(self.n_words, dtype=np.int64))
            return np.ascontiguousarray(tokens, dtype=np.uint32), *self._all
        words, numbers = np.unique(tokens, return_inverse=True)
        return numbers.astype(np.uint32).reshape(-1), *self.rows_of(words.astype(np.int64))

    def log_probabilities(
        self, words: NDArray[np.uint32], offsets: NDArray[np.int64], theta: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Σ_i log Σ_k θ_dk φ_kw of each document's words."""
        numbers, rows, logs = self.rows_for(words)
        result = np.zeros(len(offsets) - 1)
        kernel.score_documents(numbers, offsets, theta, rows, result)
        return result + sum_log_divisors(logs, numbers, offsets)

    @property
    def alpha32(self) -> NDArray[np.float32]:
        return np.maximum(self.alpha, 1e-30).astype(np.float32)


def sum_log_divisors(
    logs: NDArray[np.float64], numbers: NDArray[np.uint32], offsets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The logarithms of what the rows were divided by, summed over each document, one after the other (`bincount`
    adds in order, so that a document's sum does not depend on its neighbours)."""
    documents = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.bincount(documents, weights=logs[numbers], minlength=len(offsets) - 1).astype(np.float64)


def match_vocabulary(model: Strings | Sequence[str], other: Strings | Sequence[str]) -> NDArray[np.int64]:
    """For each word of `other` its id in the model's vocabulary, or -1. No word in common is an error."""
    if isinstance(model, Strings) and isinstance(other, Strings) and model == other:
        return np.arange(len(model), dtype=np.int64)
    index = {word: number for number, word in enumerate(model)}
    found = np.array([index.get(word, -1) for word in other], dtype=np.int64)
    if len(found) and not np.any(found >= 0):
        raise InputError(
            f"the corpus and the model have no word in common (the corpus has {len(other):,} words such as "
            f"{other[0]!r}, the model {len(index):,} such as {model[0] if len(model) else ''!r})"
        )
    return found


def known_tokens(
    words: NDArray[np.uint32], offsets: NDArray[np.int64], match: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    """The tokens that the model knows, as its word ids, their offsets, and how many were unknown per document."""
    ids = match[words]
    known = ids >= 0
    if bool(known.all()):
        return ids.astype(np.uint32), offsets - offsets[0], np.zeros(len(offsets) - 1, np.int64)
    before = np.zeros(len(words) + 1, np.int64)
    np.cumsum(known, out=before[1:])
    new = before[offsets - offsets[0]]
    return ids[known].astype(np.uint32), new, np.diff(offsets) - np.diff(new)
