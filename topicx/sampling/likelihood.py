"""log p(w, z | α, β), the joint likelihood of words and assignments (Griffiths & Steyvers 2004, eq. 2 and 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topicx.engines.threads import Engine, Threads
from topicx.sampling.special import gammaln
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
    total, tokens = _documents(z, offsets, alpha, groups, engine or Threads(1))
    if tokens == 0:
        return 0.0
    return (total + words_log_likelihood(word_topics, totals, beta, seeds)) / tokens


def _documents(
    z: NDArray[np.uint16], offsets: NDArray[np.int64], alpha: NDArray[np.float64], groups: NDArray[np.uint32],
    engine: Engine,
) -> tuple[float, int]:  # fmt: skip
    """log p(z | α) and the number of tokens."""
    alike = np.ptp(alpha) == 0

    def batch(rows: tuple[int, int]) -> tuple[float, int]:
        begin, end = rows
        own = z[offsets[begin] : offsets[end]]
        indptr, topics, counts = document_topics(own, offsets[begin : end + 1] - offsets[begin], alpha.shape[1])
        entries = np.diff(indptr)
        running = np.concatenate([[0], np.cumsum(counts)])
        lengths = running[indptr[1:]] - running[indptr[:-1]]
        group = groups[begin:end] if len(groups) else np.zeros(end - begin, np.uint32)
        prior = alpha[:1, 0] if alike else alpha[np.repeat(group, entries), topics]
        return _rising(prior, counts) - _rising(alpha.sum(axis=1)[group], lengths), int(running[-1])

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
    total = -_rising(beta_sum, totals)
    for begin, end in document_batches(indptr, _ENTRIES):
        prior = beta[:1] if alike else beta[np.repeat(np.arange(begin, end), np.diff(indptr[begin : end + 1]))]
        total += _rising(prior, counts[indptr[begin] : indptr[end]])
    if len(seeds):
        seeded = np.bincount(seeds.topics, seeds.counts, len(totals)).astype(np.int64)
        total += _rising(beta_sum, seeded) - _rising(beta[seeds.words], seeds.counts)
    return total


def _rising(prior: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    """Σ log Γ(prior + count) - log Γ(prior); under one prior each distinct count is computed once."""
    if not len(counts):
        return 0.0
    if np.ptp(prior) == 0:
        times = np.bincount(counts)
        values = np.flatnonzero(times)
        return float(np.sum(times[values] * (gammaln(prior[0] + values) - gammaln(float(prior[0])))))
    return float(np.sum(gammaln(prior + counts) - gammaln(prior)))
