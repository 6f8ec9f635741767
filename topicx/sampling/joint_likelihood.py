"""log p(w, z | α, β), the joint likelihood of words and assignments (Griffiths & Steyvers 2004, eq. 2 and 3)."""

from __future__ import annotations

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
    total, tokens = documents_log_likelihood(z, offsets, alpha, groups, engine or Threads(1))
    if tokens == 0:
        return 0.0
    return (total + words_log_likelihood(word_topics, totals, beta, seeds)) / tokens


def documents_log_likelihood(
    z: NDArray[np.uint16], offsets: NDArray[np.int64], alpha: NDArray[np.float64], groups: NDArray[np.uint32],
    engine: Engine,
) -> tuple[float, int]:  # fmt: skip
    """log p(z | α) and the number of tokens."""
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

    total, tokens = 0.0, 0
    for found, number in engine.stream(batch, document_batches(offsets, _ENTRIES)):  # summed in their order
        total += found
        tokens += number
    return total, tokens


def words_log_likelihood(word_topics: Csr, totals: NDArray[np.int64], beta: NDArray[np.float64], seeds: Seeds) -> float:
    """log p(w | z, β), the seeds' pseudo-counts being prior."""
    indptr, _, counts = word_topics
    beta_sum = np.full(1, beta.sum())
    alike = np.ptp(beta) == 0
    total = -_log_rising_factorials(beta_sum, totals)
    for begin, end in document_batches(indptr, _ENTRIES):
        prior = beta[:1] if alike else beta[np.repeat(np.arange(begin, end), np.diff(indptr[begin : end + 1]))]
        total += _log_rising_factorials(prior, counts[indptr[begin] : indptr[end]])
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
