"""Partially collapsed Gibbs (Magnusson, Jonsson, Villani & Broman 2018): phi is drawn, theta stays integrated out.

    phi_k ~ Dirichlet(beta + n_k)    given all assignments: gamma variates, divided by their sum over words
    p(z = k) ∝ (n_dk + alpha_gk) phi_kw

Given phi, documents are independent: any number of them are renewed at once, without a delayed count, whatever the
threads. The order is that of Kozdoba & Mannor ("Interdependent Gibbs samplers", Algorithm 3, m = 1).

Sparse phi (Terenin, Magnusson, Jonsson & Draper 2019): Poisson(beta + n_kw) in the place of the gamma variate, which
is a Pólya urn's limit of the Dirichlet. Most of phi is zero then, and memory and time are those of the nonzero
entries. It is the posterior asymptotically in the counts only: an approximation.

A sum over words is one over the whole vocabulary, so that phi is used as it is drawn and the inverse sums stand in the
documents' weights: q_k = (n_dk + alpha_gk) / sum_k.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from topicx._kernels.gathers cimport tx_gathers, tx_gathers_choose
from topicx._kernels.rng cimport tx_rng, tx_rng_double, tx_rng_next, tx_rng_seed

cdef extern from "partial.h" nogil:
    double tx_gamma(tx_rng *rng, double a, double vanishes) noexcept
    double tx_gamma_vanishes(double a) noexcept
    int64_t tx_poisson(tx_rng *rng, double mu) noexcept
    int64_t tx_draw_dense(const float *q, const float *phi, int64_t chunks, int64_t old, float q_old, double u,
                          float *sums) noexcept

cdef const tx_gathers *gathers = tx_gathers_choose()

cdef enum:
    NONE = 0xFFFF


def gammas(double shape, int64_t n, uint64_t key):
    """n gamma variates: what the tests look at."""
    result = np.empty(n)
    cdef double[::1] out = result
    cdef int64_t i
    cdef tx_rng rng = tx_rng_seed(key)
    for i in range(n):
        out[i] = tx_gamma(&rng, shape, tx_gamma_vanishes(shape))
    return result


def poissons(double mean, int64_t n, uint64_t key):
    """n Poisson variates: what the tests look at."""
    result = np.empty(n, np.int64)
    cdef int64_t[::1] out = result
    cdef int64_t i
    cdef tx_rng rng = tx_rng_seed(key)
    for i in range(n):
        out[i] = tx_poisson(&rng, mean)
    return result


def draw_dense(const uint32_t[::1] chosen, const int64_t[::1] indptr, const uint16_t[::1] topics,
               const int64_t[::1] counts, const double[::1] beta, uint64_t key, float[:, ::1] phi, double[::1] sums):
    """Gamma(beta_w + n_kw) of these words, a row each of phi (padded by zeros beyond K); sums gains them by topic."""
    cdef int64_t K = sums.shape[0], i, j, k
    cdef double vanishes
    cdef uint32_t w
    cdef tx_rng rng = tx_rng_seed(key)
    cdef int64_t *by_topic = <int64_t *> malloc(K * sizeof(int64_t))
    if by_topic == NULL:
        raise MemoryError
    with nogil:
        memset(by_topic, 0, K * sizeof(int64_t))
        for i in range(chosen.shape[0]):
            w = chosen[i]
            for j in range(indptr[w], indptr[w + 1]):
                by_topic[topics[j]] = counts[j]
            vanishes = tx_gamma_vanishes(beta[w])
            for k in range(K):
                phi[i, k] = <float> tx_gamma(&rng, beta[w] + <double> by_topic[k], vanishes)
                sums[k] += phi[i, k]
            for k in range(K, phi.shape[1]):
                phi[i, k] = 0
            for j in range(indptr[w], indptr[w + 1]):
                by_topic[topics[j]] = 0
    free(by_topic)


def draw_sparse(int64_t first, int64_t last, const int64_t[::1] indptr, const uint16_t[::1] topics,
                const int64_t[::1] counts, const double[::1] beta, uint64_t key, int64_t[::1] lengths,
                uint32_t[::1] phi_topics, float[::1] phi, double[::1] sums) -> int:
    """Poisson(beta_w + n_kw) of words first … last - 1, the nonzero ones, each word's list padded to whole lanes.

    Returns the entries written, or -1 if there was no room (sums is spoilt then). lengths: of each word's padded list.
    Poisson(beta + n) is Poisson(n) + Poisson(beta), and independent Poisson(beta) in K topics are Poisson(K beta)
    units dealt out evenly: no topic without count or unit is visited.
    """
    cdef int64_t K = sums.shape[0], w, i, j, k, n, at = 0, size, filled
    cdef tx_rng rng = tx_rng_seed(key)
    cdef bint full = False
    cdef int64_t *value = <int64_t *> malloc(K * sizeof(int64_t))
    cdef int64_t *touched = <int64_t *> malloc(K * sizeof(int64_t))
    cdef char *seen = <char *> malloc(K)
    if value == NULL or touched == NULL or seen == NULL:
        free(value)
        free(touched)
        free(seen)
        raise MemoryError
    with nogil:
        memset(seen, 0, K)
        for w in range(first, last):
            size = 0
            for j in range(indptr[w], indptr[w + 1]):
                k = topics[j]
                seen[k] = 1
                value[k] = tx_poisson(&rng, <double> counts[j])
                touched[size] = k
                size += 1
            n = tx_poisson(&rng, beta[w] * <double> K)
            for i in range(n):
                k = <int64_t> (tx_rng_double(&rng) * <double> K)
                if not seen[k]:
                    seen[k] = 1
                    value[k] = 0
                    touched[size] = k
                    size += 1
                value[k] += 1
            filled = 0
            full = full or at + (size + 15) // 16 * 16 > phi.shape[0]
            for i in range(size):
                k = touched[i]
                seen[k] = 0
                if value[k] > 0 and not full:
                    phi_topics[at + filled] = <uint32_t> k
                    phi[at + filled] = <float> value[k]
                    sums[k] += <double> value[k]
                    filled += 1
            if full:
                break
            lengths[w - first] = (filled + 15) // 16 * 16
            for i in range(filled, lengths[w - first]):
                phi_topics[at + i] = 0
                phi[at + i] = 0
            at += lengths[w - first]
    free(value)
    free(touched)
    free(seen)
    return -1 if full else at


def sweep_documents(const uint32_t[::1] words, uint16_t[::1] z, const int64_t[::1] offsets,
                    const int64_t[::1] segments, int n_blocks, const uint32_t[::1] docs, int block,
                    const int32_t[::1] row_of, const float[:, ::1] phi, const double[::1] sums,
                    const int64_t[::1] starts, const uint32_t[::1] phi_topics, const float[::1] phi_values,
                    const double[:, ::1] alpha, const uint32_t[::1] groups, uint64_t key) -> int:
    """Renew the tokens of these documents' words of one block, given phi; returns how many changed.

    phi dense: row_of[w] is the word's row. phi sparse (starts has entries): phi_topics and phi_values from starts[w]
    on. A token whose word has no weight in any topic (sparse phi only) stays; a new one goes by its document alone.
    """
    cdef int64_t K = sums.shape[0], chunks = (K + 15) // 16, padded = chunks * 16
    cdef int64_t i, d, t, k, j, first, last, group, current = -1, old, new, changed = 0, length
    cdef uint32_t w
    cdef float q_old
    cdef double u
    cdef bint grouped = groups.shape[0] > 0, dense = starts.shape[0] == 0
    cdef tx_rng rng = tx_rng_seed(key)
    cdef float *floats = <float *> malloc(padded * 6 * sizeof(float))
    if floats == NULL:
        raise MemoryError
    cdef float *q = floats
    cdef float *inverse = floats + padded
    cdef float *prior = floats + 2 * padded
    cdef float *scratch = floats + 3 * padded
    cdef float *ones = floats + 4 * padded
    cdef int32_t *counts = <int32_t *> (floats + 5 * padded)
    with nogil:
        memset(floats, 0, padded * 6 * sizeof(float))
        for k in range(K):
            inverse[k] = <float> (1.0 / sums[k]) if sums[k] > 0 else 0
            ones[k] = 1
        for i in range(docs.shape[0]):
            d = docs[i]
            first = segments[d * (n_blocks + 1) + block]
            last = segments[d * (n_blocks + 1) + block + 1]
            if first == last:
                continue
            group = groups[d] if grouped else 0
            if group != current:
                current = group
                for k in range(K):
                    prior[k] = <float> alpha[group, k]
            memset(counts, 0, padded * sizeof(int32_t))
            for t in range(offsets[d], offsets[d + 1]):
                if z[t] != NONE:
                    counts[z[t]] += 1
            for k in range(K):
                q[k] = (prior[k] + <float> counts[k]) * inverse[k]
            for t in range(first, last):
                w = words[t]
                old = -1
                q_old = 0
                if z[t] != NONE:
                    old = z[t]
                    q_old = (prior[old] + <float> (counts[old] - 1)) * inverse[old]
                u = tx_rng_double(&rng)
                if dense:
                    new = tx_draw_dense(q, &phi[row_of[w], 0], chunks, old, q_old, u, scratch)
                else:
                    if old >= 0:
                        q[old] = q_old
                    length = starts[w + 1] - starts[w]
                    new = -1
                    if length:
                        j = gathers.draw_sparse(q, &phi_topics[starts[w]], &phi_values[starts[w]], length // 16, u, scratch)
                        if j >= 0:
                            new = phi_topics[starts[w] + j]
                    if old >= 0:
                        q[old] = (prior[old] + <float> counts[old]) * inverse[old]
                if new < 0:
                    new = old
                if new < 0:
                    new = tx_draw_dense(q, ones, chunks, -1, 0, tx_rng_double(&rng), scratch)
                if new < 0:
                    new = <int64_t> (u * <double> K)
                if new == old:
                    continue
                changed += 1
                if old >= 0:
                    counts[old] -= 1
                    q[old] = q_old
                counts[new] += 1
                q[new] = (prior[new] + <float> counts[new]) * inverse[new]
                z[t] = <uint16_t> new
    free(floats)
    return changed
