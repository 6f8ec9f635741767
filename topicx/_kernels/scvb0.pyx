"""SCVB0: CVB0 on minibatches of documents, with running averages of the counts (Foulds et al. 2013).

Rows of counts are padded to Kp = 16 ceil(K / 16) numbers. The arithmetic is in soft.h: no libm, a fixed order of every
sum, the same bits on every CPU.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np

from topicx._kernels.cell cimport Arena
from topicx._kernels.rng cimport tx_rng, tx_rng_seed

cdef extern from "soft.h" nogil:
    double soft_scvb0(const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t Kp, float *nd,
                      const float *alpha, float length, const float *nw, float scale, const float *beta,
                      const float *weight, const double *rates, int64_t n_rates, int64_t position, float *keep,
                      float *scratch) noexcept
    void soft_gather(float *row, const float *keep, const int64_t *order, const uint32_t *counts, int64_t pairs,
                     int64_t Kp, double factor, double *total, float *scratch) noexcept
    void soft_digamma_gain(double *sum, const double *prior, const float *n, const double *base, int64_t K) noexcept
    void soft_random(float *out, int64_t K, tx_rng *rng) noexcept

cdef enum:
    SPLIT = 0x9E37  # keeps a word's stream apart from its neighbours'


def scvb0_documents(const uint32_t[::1] words, const uint32_t[::1] counts, const int64_t[::1] offsets, int64_t begin,
                    int64_t end, const uint32_t[::1] groups, const float[:, ::1] alpha, const float[:, ::1] nw,
                    double scale, const float[::1] beta, const float[::1] weight, const double[::1] rates, int passes,
                    float[:, ::1] keep, float[:, ::1] nd, double[:, ::1] gain, const double[:, ::1] base) -> float:
    """The assignments of some documents of a minibatch given the words' counts, by `passes` passes over each.

    keep: a padded row a pair, for the last pass. nd: a padded row a document, for its counts after it. gain, if it has
    rows (one a group): ψ(α + n_dk) - base is added, base = ψ(α). Returns Σ log p(w) in the last pass, up to the
    normaliser of θ, which the caller knows.
    """
    cdef int64_t d, p, k, Kp = nw.shape[1], K = base.shape[1], group, first, n, i
    cdef double fit = 0
    cdef float length
    cdef Arena arena = Arena()
    cdef float *scratch = arena.floats(1 * Kp)
    cdef double[:, ::1] wide = np.asarray(alpha)[:, :K].astype(np.float64)
    with nogil:
        for d in range(begin, end):
            first, n = offsets[d], offsets[d + 1] - offsets[d]
            group = groups[d] if groups.shape[0] > 0 else 0
            length = 0
            for i in range(first, first + n):
                length += <float> counts[i]
            for k in range(Kp):
                nd[d, k] = length / <float> K if k < K else 0
            if n == 0:
                continue
            for p in range(passes):
                if p + 1 == passes:
                    fit += soft_scvb0(&words[first], &counts[first], n, Kp, &nd[d, 0], &alpha[group, 0], length,
                                      &nw[0, 0], <float> scale, &beta[0], &weight[0], &rates[0], rates.shape[0], p * n,
                                      &keep[first, 0], scratch)
                else:
                    soft_scvb0(&words[first], &counts[first], n, Kp, &nd[d, 0], &alpha[group, 0], length, &nw[0, 0],
                               <float> scale, &beta[0], &weight[0], &rates[0], rates.shape[0], p * n, NULL, scratch)
            if gain.shape[0] > 0:
                soft_digamma_gain(&gain[group, 0], &wide[group, 0], &nd[d, 0], &base[group, 0], K)
    return fit


def scvb0_words(const uint32_t[::1] distinct, const int64_t[::1] starts, const int64_t[::1] order, int64_t begin,
                int64_t end, const uint32_t[::1] counts, const float[:, ::1] keep, double factor, float[:, ::1] nw,
                double[::1] total):
    """nw[w] += factor Σ c γ for some of the minibatch's distinct words; total (padded) += Σ c γ."""
    cdef int64_t i, Kp = nw.shape[1]
    cdef Arena arena = Arena()
    cdef float *scratch = arena.floats(1 * Kp)
    with nogil:
        for i in range(begin, end):
            soft_gather(&nw[distinct[i], 0], &keep[0, 0], &order[starts[i]], &counts[0], starts[i + 1] - starts[i], Kp,
                        factor, &total[0], scratch)


def scale_rows(float[:, ::1] nw, double factor):
    """nw *= factor."""
    cdef int64_t w, k
    cdef float by = <float> factor
    with nogil:
        for w in range(nw.shape[0]):
            for k in range(nw.shape[1]):
                nw[w, k] *= by


def random_words(float[:, ::1] nw, int64_t K, const double[::1] frequency, uint64_t key):
    """A random start of the words' counts: word w's tokens spread at random over the topics."""
    cdef int64_t w, k
    cdef tx_rng rng
    with nogil:
        for w in range(nw.shape[0]):
            rng = tx_rng_seed(key + <uint64_t> SPLIT * (<uint64_t> w + 1))
            soft_random(&nw[w, 0], K, &rng)
            for k in range(K):
                nw[w, k] = <float> (frequency[w] * <double> nw[w, k])
