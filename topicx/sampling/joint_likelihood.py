"""log p(w, z | α, β), the joint likelihood of words and assignments (Griffiths & Steyvers 2004, eq. 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.estimate import counts as kernel
from topicx.engines.threads import Engine, Threads
from topicx.sampling.special_functions import gammaln
from topicx.state import Csr, Seeds, document_batches, document_topics

_ENTRIES = 1 << 19
"""Counts looked at together: what bounds the memory."""


def joint_log_likelihood(
    z: NDArray[np.uint16],
    offsets: NDArray[np.int64],
    word_topics: Csr,
    totals: NDArray[np.int64],
    alpha: NDArray[np.float64],
    groups: NDArray[np.uint32],
    beta: NDArray[np.float64],
    seeds: Seeds,
    engine: Engine | None = None,
) -> float:
    """Per placed token. `word_topics` and `totals` include the seeds' pseudo-counts, which belong to the prior."""
    documents = documents_log_likelihood(z, offsets, alpha, groups, engine or Threads(1))
    return per_token(documents, words_in_batches(word_topics, beta), totals, float(beta.sum()), beta, seeds)


def per_token(
    documents: Iterable[tuple[float, int]], words: Iterable[float], totals: NDArray[np.int64], beta_sum: float,
    beta: NDArray[np.float64], seeds: Seeds,
) -> float:  # fmt: skip
    """The likelihood of a placed token, from batches of documents (and their tokens) and of words: added in this
    order."""
    total, tokens = 0.0, 0
    for found, number in documents:
        total += found
        tokens += number
    return (total + _with_totals(words, totals, beta_sum, beta, seeds)) / tokens if tokens else 0.0


def in_shards(bounds: NDArray[np.int64], offsets: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Batches of documents of which none lies in two of these shards."""
    return [
        (int(first) + begin, int(first) + end)
        for first, last in pairwise(bounds)
        for begin, end in document_batches(offsets[first : last + 1], _ENTRIES)
    ]


def documents_log_likelihood(
    z: NDArray[np.uint16], offsets: NDArray[np.int64], alpha: NDArray[np.float64], groups: NDArray[np.uint32],
    engine: Engine, batches: Iterable[tuple[int, int]] | None = None,
) -> Iterator[tuple[float, int]]:  # fmt: skip
    """log p(z | α) and the number of tokens, of one batch of documents after another."""
    z = np.ascontiguousarray(z)
    topics = alpha.shape[1]

    def alike(begin: int, end: int) -> tuple[float, NDArray[np.int64]]:
        """Under one prior a count is what matters, and no topic; the sum of a batch, and its documents' lengths."""
        lengths = np.empty(end - begin, np.int64)
        times = np.zeros(int(np.diff(offsets[begin : end + 1]).max(initial=0)) + 1, np.int64)
        kernel.count_counts(z, offsets, begin, end, topics, times, lengths)
        return _rising_alike(alpha[0, 0], times), lengths

    def mixed(begin: int, end: int) -> tuple[float, NDArray[np.int64]]:
        own = z[offsets[begin] : offsets[end]]
        indptr, columns, counts = document_topics(own, offsets[begin : end + 1] - offsets[begin], topics)
        running = np.concatenate([[0], np.cumsum(counts)])
        group = groups[begin:end] if len(groups) else np.zeros(end - begin, np.uint32)
        prior = alpha[np.repeat(group, np.diff(indptr)), columns]
        return _log_rising_factorials(prior, counts), running[indptr[1:]] - running[indptr[:-1]]

    of_batch = alike if np.ptp(alpha) == 0 else mixed

    def batch(rows: tuple[int, int]) -> tuple[float, int]:
        found, lengths = of_batch(*rows)
        group = groups[slice(*rows)] if len(groups) else np.zeros(len(lengths), np.uint32)
        return found - _log_rising_factorials(alpha.sum(axis=1)[group], lengths), int(lengths.sum())

    yield from engine.stream(batch, document_batches(offsets, _ENTRIES) if batches is None else batches)


def words_log_likelihood(word_topics: Csr, totals: NDArray[np.int64], beta: NDArray[np.float64], seeds: Seeds) -> float:
    """log p(w | z, β), the seeds' pseudo-counts being prior."""
    return _with_totals(words_in_batches(word_topics, beta), totals, float(beta.sum()), beta, seeds)


def words_in_batches(word_topics: Csr, beta: NDArray[np.float64]) -> Iterator[float]:
    """Σ log Γ(β + n_kw) - log Γ(β) of one batch of words after another."""
    indptr, _, counts = word_topics
    alike = np.ptp(beta) == 0 if len(beta) else True
    for begin, end in document_batches(indptr, _ENTRIES):
        prior = beta[:1] if alike else beta[np.repeat(np.arange(begin, end), np.diff(indptr[begin : end + 1]))]
        yield _log_rising_factorials(prior, counts[indptr[begin] : indptr[end]])


def _with_totals(
    words: Iterable[float], totals: NDArray[np.int64], beta_total: float, beta: NDArray[np.float64], seeds: Seeds
) -> float:
    """log p(w | z, β) from its batches of words; `beta` is of the vocabulary."""
    beta_sum = np.full(1, beta_total)
    total = -_log_rising_factorials(beta_sum, totals)
    for found in words:
        total += found
    if len(seeds):
        seeded = np.bincount(seeds.topics, seeds.counts, len(totals)).astype(np.int64)
        total += _log_rising_factorials(beta_sum, seeded) - _log_rising_factorials(beta[seeds.words], seeds.counts)
    return total


def _log_rising_factorials(prior: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    """Σ log Γ(prior + count) - log Γ(prior); under one prior each distinct count is computed once."""
    if not len(counts):
        return 0.0
    if np.ptp(prior) == 0:
        return _rising_alike(float(prior[0]), np.bincount(counts))
    return float(np.sum(gammaln(prior + counts) - gammaln(prior)))


def _rising_alike(prior: float, times: NDArray[np.int64]) -> float:
    """Log rising factorials under one prior, from how often each count occurs."""
    values = np.flatnonzero(times)
    return float(np.sum(times[values] * (gammaln(prior + values) - gammaln(prior))))
