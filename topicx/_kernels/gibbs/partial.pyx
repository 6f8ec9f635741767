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

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

import numpy as np

from topicx._kernels.gibbs.cell cimport UNPLACED, Arena, Cell, count_topics
from topicx._kernels.gibbs.gathers cimport tx_gathers, tx_gathers_choose
from topicx._kernels.base.rng cimport tx_key, tx_rng, tx_rng_double, tx_rng_seed

cdef extern from "partial.h" nogil:
    double tx_gamma(tx_rng *rng, double a, double vanishes) noexcept
    double tx_gamma_vanishes(double a) noexcept
    double tx_log_gamma_variate(tx_rng *rng, tx_rng *other, double a, double vanishes) noexcept
    double tx_exp(double x) noexcept
    int64_t tx_poisson(tx_rng *rng, double mu) noexcept

cdef const tx_gathers *gathers = tx_gathers_choose()


def draw_gammas(double shape, int64_t n, uint64_t key):
    """n gamma variates: what the tests look at."""
    result = np.empty(n)
    cdef double[::1] out = result
    cdef int64_t i
    cdef tx_rng rng = tx_rng_seed(key)
    for i in range(n):
        out[i] = tx_gamma(&rng, shape, tx_gamma_vanishes(shape))
    return result


def draw_poissons(double mean, int64_t n, uint64_t key):
    """n Poisson variates: what the tests look at."""
    result = np.empty(n, np.int64)
    cdef int64_t[::1] out = result
    cdef int64_t i
    cdef tx_rng rng = tx_rng_seed(key)
    for i in range(n):
        out[i] = tx_poisson(&rng, mean)
    return result


def draw_dense(const uint32_t[::1] chosen, const int64_t[::1] indptr, const uint16_t[::1] topics,
               const int64_t[::1] counts, const double[::1] beta, uint64_t key, float[:, ::1] phi, double[::1] sums,
               const uint8_t[::1] faint, double[::1] peak, bint find):
    """Gamma(beta_w + n_kw) of these words, a row each of phi (padded by zeros beyond K); sums gains them by topic.

    A topic without tokens has nothing but tiny variates where beta is small, all 0 in single precision, and it is their
    ratios that count. Those marked as faint are drawn in logarithms, from the same numbers: first (`find`, which writes
    no phi) for the largest of all words, which `peak` gains; then as a share of it.
    """
    cdef int64_t K = sums.shape[0], i, j, k
    cdef double vanishes, value
    cdef uint32_t w
    cdef tx_rng rng = tx_rng_seed(key), other = tx_rng_seed(tx_key(key, 1))
    cdef Arena arena = Arena()
    cdef int64_t *by_topic = arena.longs(K)
    with nogil:
        for i in range(chosen.shape[0]):
            w = chosen[i]
            for j in range(indptr[w], indptr[w + 1]):
                by_topic[topics[j]] = counts[j]
            vanishes = tx_gamma_vanishes(beta[w])
            for k in range(K):
                if faint[k]:
                    value = tx_log_gamma_variate(&rng, &other, beta[w] + <double> by_topic[k], vanishes)
                    if find:
                        peak[k] = max(peak[k], value)
                        continue
                    value = tx_exp(value - peak[k])
                else:
                    value = tx_gamma(&rng, beta[w] + <double> by_topic[k], vanishes)
                    if find:
                        continue
                phi[i, k] = <float> value
                sums[k] += phi[i, k]
            if not find:
                for k in range(K, phi.shape[1]):
                    phi[i, k] = 0
            for j in range(indptr[w], indptr[w + 1]):
                by_topic[topics[j]] = 0


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
    cdef Arena arena = Arena()
    cdef int64_t *value = arena.longs(K)
    cdef int64_t *touched = arena.longs(K)
    cdef char *seen = <char *> arena.take(K)
    with nogil:
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
    return -1 if full else at


@cython.final
cdef class Given(Cell):
    """A cell whose word rows are phi: drawn, not counted, so that nothing in it but the topics of tokens changes."""

    cdef const int32_t[::1] row_of
    cdef const float[:, ::1] dense
    """Dense: phi of word w is the row row_of[w], padded by zeros to whole lanes."""
    cdef const int64_t[::1] starts
    cdef const uint32_t[::1] phi_topics
    cdef const float[::1] phi_values
    """Sparse (starts has entries): the nonzero entries of word w from starts[w] on, padded to whole lanes."""
    cdef const double[::1] sums
    """Of phi, over the words, by topic."""

    def __init__(self, *, row_of, dense, sums, starts, phi_topics, phi_values, **cell):
        super().__init__(**cell)
        self.row_of, self.dense, self.sums = row_of, dense, sums
        self.starts, self.phi_topics, self.phi_values = starts, phi_topics, phi_values


def sweep(Given cell not None, const uint32_t[::1] documents, int64_t block, uint64_t key) -> int:
    """Renew every token of the cell (see cell.pxd), given phi.

    A token whose word has no weight in any topic (sparse phi only) stays; a new one goes by its document alone.
    """
    cdef int64_t K = cell.sums.shape[0], chunks = (K + 15) // 16, padded = chunks * 16
    cdef int64_t t, k, j, old, new, changed = 0, length
    cdef uint32_t w
    cdef float q_old
    cdef double u
    cdef bint dense = cell.starts.shape[0] == 0
    cdef tx_rng rng = tx_rng_seed(key)
    cdef const uint32_t[::1] words = cell.words
    cdef const int32_t[::1] row_of = cell.row_of
    cdef const float[:, ::1] phi = cell.dense
    cdef const int64_t[::1] starts = cell.starts
    cdef const double[::1] sums = cell.sums
    cdef uint16_t *z
    if not cell.start(documents, block):
        return 0
    cdef float *prior = cell.prior
    cdef float *q = cell.arena.floats(padded)
    cdef float *inverse = cell.arena.floats(padded)
    cdef float *scratch = cell.arena.floats(padded)
    cdef float *ones = cell.arena.floats(padded)
    cdef int32_t *counts = cell.arena.ints(padded)
    with nogil:
        for k in range(K):
            inverse[k] = <float> (1.0 / sums[k]) if sums[k] > 0 else 0
            ones[k] = 1
        while cell.next():
            z = cell.z
            memset(counts, 0, padded * sizeof(int32_t))
            count_topics(z, cell.begin, cell.end, counts)
            for k in range(K):
                q[k] = (prior[k] + <float> counts[k]) * inverse[k]
            for t in range(cell.first, cell.last):
                w = words[t]
                old = -1
                q_old = 0
                if z[t] != UNPLACED:
                    old = z[t]
                    q_old = (prior[old] + <float> (counts[old] - 1)) * inverse[old]
                u = tx_rng_double(&rng)
                if dense:
                    new = gathers.draw_dense(q, &phi[row_of[w], 0], chunks, old, q_old, u, scratch)
                else:
                    if old >= 0:
                        q[old] = q_old
                    length = starts[w + 1] - starts[w]
                    new = -1
                    if length:
                        j = gathers.draw_sparse(q, &cell.phi_topics[starts[w]], &cell.phi_values[starts[w]],
                                                length // 16, u, scratch)
                        if j >= 0:
                            new = cell.phi_topics[starts[w] + j]
                    if old >= 0:
                        q[old] = (prior[old] + <float> counts[old]) * inverse[old]
                if new < 0:
                    new = old
                if new < 0:
                    new = gathers.draw_dense(q, ones, chunks, -1, 0, tx_rng_double(&rng), scratch)
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
    return changed
