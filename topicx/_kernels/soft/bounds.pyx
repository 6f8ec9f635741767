"""Sums of log-gamma and digamma functions over expected counts: the variational bounds and the fixed points of priors.

For n a sum of independent indicators, E[log Γ(a + n)] takes the case n = 0 apart and has two terms of the Taylor series
about the conditional mean beside (Teh, Newman & Welling 2006, eq. 17; Teh, Kurihara & Welling 2008).

The arithmetic is in soft.h and special.h: no libm, a fixed order of every sum, the same bits on every CPU.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.string cimport memset

import numpy as np

from topicx._kernels.gibbs.cell cimport Arena
from topicx._kernels.soft.pairs cimport Pairs
from topicx._kernels.soft.soft_loops cimport tx_soft, tx_soft_choose
from topicx._kernels.base.special cimport digamma_gain as add_digamma_gain
from topicx._kernels.base.special cimport rising_sum, special_map

cdef const tx_soft *soft = tx_soft_choose()


def special_function(which: str, x):
    """digamma, lgamma, trigamma, tetragamma, log or exp of an array, by the kernels' own arithmetic."""
    source = np.ascontiguousarray(x, np.float64)
    result = np.empty_like(source)
    cdef const double[::1] flat = source.reshape(-1)
    cdef double[::1] out = result.reshape(-1)
    cdef int code = ("digamma", "lgamma", "trigamma", "log", "tetragamma", "exp").index(which)
    if flat.shape[0]:
        with nogil:
            special_map(&out[0], &flat[0], code, flat.shape[0])
    return result


def document_bound(Pairs pairs, const uint32_t[::1] docs, const float[::1] gamma, const double[:, ::1] alpha,
                   const double[:, ::1] base) -> tuple:
    """Σ_dk E[log Γ(α + n_dk)] - log Γ(α) of these documents, and the entropy of their assignments. base = log Γ(α)."""
    cdef int64_t i, d, first, g, K = pairs.topics, Kp = pairs.padded
    cdef double entropy = 0, total = 0
    cdef Arena arena = Arena()
    cdef float *moments = arena.floats(3 * Kp)
    cdef double *scratch = arena.doubles(Kp)
    with nogil:
        for i in range(docs.shape[0]):
            d = docs[i]
            first, g = pairs.offsets[d], pairs.group(d)
            memset(moments, 0, Kp * 12)
            entropy += soft.moments(&gamma[first * K], NULL, &pairs.counts[first], pairs.offsets[d + 1] - first, K,
                                    moments, moments + Kp, moments + 2 * Kp, 1)
            total += rising_sum(moments, moments + Kp, moments + 2 * Kp, &alpha[g, 0], &base[g, 0], scratch, K)
    return total, entropy


def word_bound(const uint32_t[::1] counts, const float[::1] gamma, const int64_t[::1] starts,
               const uint32_t[::1] order, int64_t begin, int64_t end, const double[::1] beta,
               const int64_t[::1] seed_starts, const uint16_t[::1] seed_topics, const int64_t[::1] seed_counts,
               double[:, ::1] totals) -> float:
    """Σ_kw E[log Γ(β + n_kw)] - log Γ(β) of a range of words (a seed's count belongs to β). totals, 3 × K: mean,
    variance and log P(0) of n_k are added."""
    cdef int64_t w, k, s, K = totals.shape[1], Kp = (K + 15) // 16 * 16
    cdef bint seeded = seed_starts.shape[0] > 0, fresh = False
    cdef double total = 0, last = 0
    cdef Arena arena = Arena()
    cdef float *moments = arena.floats(3 * Kp)
    cdef double *priors = arena.doubles(Kp)
    cdef double *base = arena.doubles(Kp)
    cdef double *scratch = arena.doubles(Kp)
    with nogil:
        for w in range(begin, end):
            if starts[w] == starts[w + 1]:
                continue
            memset(moments, 0, Kp * 12)
            soft.moments(&gamma[0], &order[starts[w]], &counts[0], starts[w + 1] - starts[w], K, moments, moments + Kp,
                         moments + 2 * Kp, 0)
            if not fresh or beta[w] != last:
                for k in range(K):
                    priors[k] = beta[w]
                special_map(base, priors, 1, K)
                last, fresh = beta[w], True
            if seeded and seed_starts[w] < seed_starts[w + 1]:
                for s in range(seed_starts[w], seed_starts[w + 1]):
                    priors[seed_topics[s]] += <double> seed_counts[s]
                special_map(base, priors, 1, K)
                fresh = False
            total += rising_sum(moments, moments + Kp, moments + 2 * Kp, priors, base, scratch, K)
            for k in range(K):
                totals[0, k] += <double> moments[k]
                totals[1, k] += <double> moments[Kp + k]
                totals[2, k] += <double> moments[2 * Kp + k]
    return total


def log_rising_sums(const float[:, ::1] counts, const double[:, ::1] prior, const uint32_t[::1] which,
                    int64_t K) -> float:
    """Σ log Γ(prior + n) - log Γ(prior) over rows of counts; row r has prior[which[r]] (which empty: the first).

    A prior of one column is the same for every topic.
    """
    cdef int64_t row, k, of, last = -1
    cdef bint single = prior.shape[1] == 1
    cdef double total = 0
    cdef Arena arena = Arena()
    cdef double *priors = arena.doubles(K)
    cdef double *base = arena.doubles(K)
    cdef double *scratch = arena.doubles(K)
    with nogil:
        for row in range(counts.shape[0]):
            of = which[row] if which.shape[0] > 0 else 0
            if of != last and (last < 0 or not single or prior[of, 0] != prior[last, 0]):
                for k in range(K):
                    priors[k] = prior[of, 0] if single else prior[of, k]
                special_map(base, priors, 1, K)
            last = of
            total += rising_sum(&counts[row, 0], NULL, NULL, priors, base, scratch, K)
    return total


def expected_rising(const float[::1] mean, const float[::1] variance, const float[::1] none, const double[::1] prior):
    """E[log Γ(prior + n)] - log Γ(prior) of each entry, as the bounds have it."""
    cdef int64_t i, n = mean.shape[0]
    base_array = special_function("lgamma", prior)
    result = np.empty(n)
    cdef const double[::1] base = base_array
    cdef double[::1] out = result
    cdef double scratch
    with nogil:
        for i in range(n):
            out[i] = rising_sum(&mean[i], &variance[i], &none[i], &prior[i], &base[i], &scratch, 1)
    return result


def digamma_gain(const float[:, ::1] counts, const double[:, ::1] prior, const uint32_t[::1] which, int64_t K):
    """Σ over rows of ψ(prior + n) - ψ(prior), for each row of `prior` and each topic (for Minka's fixed point)."""
    result = np.zeros((prior.shape[0], K))
    base_array = np.empty((prior.shape[0], K))
    cdef double[:, ::1] gain = result, base = base_array
    cdef int64_t row, of, k
    with nogil:
        for of in range(prior.shape[0]):
            special_map(&base[of, 0], &prior[of, 0], 0, K)
        for row in range(counts.shape[0]):
            of = which[row] if which.shape[0] > 0 else 0
            add_digamma_gain(&gain[of, 0], &prior[of, 0], &counts[row, 0], &base[of, 0], K)
    return result
