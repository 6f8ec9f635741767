"""log p(w, z | α, β), the joint likelihood of words and assignments (Griffiths & Steyvers 2004, eq. 2 and 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from topicx.sampling.state import Csr, Seeds


def joint_log_likelihood(
    document_topics: Csr,
    word_topics: Csr,
    totals: NDArray[np.int64],
    alpha: NDArray[np.float64],
    groups: NDArray[np.uint32],
    beta: NDArray[np.float64],
    seeds: Seeds,
) -> float:
    """Per placed token. `word_topics` and `totals` include the seeds' pseudo-counts, which belong to the prior."""
    indptr, topics, counts = document_topics
    per_document = np.diff(indptr)
    documents = np.flatnonzero(per_document)
    lengths = np.add.reduceat(counts, indptr[documents]) if len(documents) else np.zeros(0, np.int64)
    tokens = int(lengths.sum())
    if tokens == 0:
        return 0.0
    groups_of = groups if len(groups) else np.zeros(len(indptr) - 1, np.uint32)
    alpha_sums = alpha.sum(axis=1)[groups_of[documents]]
    total = _rising(alpha[np.repeat(groups_of, per_document), topics], counts).sum()
    total -= _rising(alpha_sums, lengths).sum()

    windptr, _, wcounts = word_topics
    words = np.repeat(np.arange(len(windptr) - 1), np.diff(windptr))
    total += _rising(beta[words], wcounts).sum() - _rising(np.full(len(totals), beta.sum()), totals).sum()
    if len(seeds):
        seeded = np.bincount(seeds.topics, weights=seeds.counts, minlength=len(totals))
        total -= _rising(beta[seeds.words], seeds.counts).sum()
        total += _rising(np.full(len(totals), beta.sum()), seeded).sum()
    return float(total) / tokens


def _rising(prior: NDArray[np.float64], counts: NDArray[np.generic]) -> NDArray[np.float64]:
    """log Γ(prior + count) - log Γ(prior), with each distinct pair of a symmetric prior computed once."""
    prior, counts = np.broadcast_arrays(prior, counts)
    if prior.size and np.ptp(prior) == 0 and np.issubdtype(counts.dtype, np.integer):
        values, inverse = np.unique(counts, return_inverse=True)
        return (gammaln(prior.flat[0] + values) - gammaln(prior.flat[0]))[inverse]
    result: NDArray[np.float64] = gammaln(prior + counts) - gammaln(prior)
    return result
