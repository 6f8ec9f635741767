"""The variational kernels: CVB0, CVB and VB over distinct (document, word) pairs.

A pair has a count and one soft assignment: K probabilities in single precision. Expected counts are rows padded to
Kp = 16 ceil(K / 16) numbers: nd (documents × Kp), nw (words × Kp); the totals n_k are in double precision, and nd is
summed anew from the assignments in every sweep, nw and n_k every few sweeps, so that rounding does not pile up.

A cell (docs, block) owns its documents and words while it runs; `totals` is its own copy of n_k. The updates:

    CVB0  γ ∝ (α + n_dk)(β + n_kw) / (B + n_k)                        Asuncion et al. 2009 (zero-order CVB)
    CVB   the same times exp(-v_dk/2a² - v_kw/2b² + v_k/2t²)          Teh, Newman & Welling 2006, eq. 18
    VB    γ ∝ exp(ψ(α + n_dk) + ψ(β + n_kw) - ψ(B + n_k))             the same, eq. 6

where the counts of CVB0 and CVB leave out the token itself. All tokens of a pair are renewed together. What departs from
the papers: totals that other cells of the same epoch change are seen at its end (as for the samplers); nothing else.

The arithmetic is in soft.h: no libm, a fixed order of every sum, the same bits on every CPU.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.string cimport memset

import numpy as np

from topicx._kernels.cell cimport Arena
from topicx._kernels.pairs cimport Pairs

cdef extern from "soft.h" nogil:
    double soft_cvb0(float *g, const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t K, float *nd,
                     float *nw, const float *beta, const float *alpha, float least, const float *near, float *moved,
                     float *scratch) noexcept
    double soft_cvb(float *g, const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t K, float *nd,
                    float *vd, float *nw, float *vw, const float *beta, const float *alpha, float least,
                    const float *near, float *moved, const float *vnear, float *vmoved, float *scratch) noexcept
    void soft_count(const float *g, const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t K, float *nd,
                    float *vd, float *nw, float *vw) noexcept
    void soft_sums(const float *g, const uint32_t *order, const uint32_t *counts, int64_t pairs, int64_t K,
                   double *sum, double *square) noexcept
    double soft_vb(const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t Kp, const float *lt,
                   const float *lw, float *nd, float *nw, float *scratch) noexcept
    void soft_digamma_row(float *out, const double *prior, const float *n, double less, int64_t K) noexcept
    void soft_digamma_word(float *out, double prior, const float *n, const double *less, int64_t K) noexcept


cdef void place(double[::1] totals, double extra, float *near, float *moved, int64_t K) noexcept nogil:
    """totals += moved; near = totals + extra; moved = 0."""
    cdef int64_t k
    for k in range(K):
        totals[k] += <double> moved[k]
        moved[k] = 0
        near[k] = <float> (totals[k] + extra)


def cvb0_cell(Pairs pairs, const uint32_t[::1] docs, int64_t block, bint rebuild, float[::1] gamma, float[:, ::1] nd,
              float[:, ::1] nw, double[::1] totals, const float[:, ::1] alpha, const float[::1] beta,
              double beta_sum) -> float:
    """Renew the cell's assignments by CVB0; returns how many tokens' worth of probability moved.

    rebuild: sum nd anew first (in a sweep's first epoch). alpha: a padded row a group.
    """
    cdef int64_t i, d, first, last, K = pairs.topics, Kp = pairs.padded, k
    cdef double changed = 0
    cdef Arena arena = Arena()
    cdef float *near = arena.floats(3 * Kp)
    cdef float *moved = near + Kp
    cdef float *scratch = moved + Kp
    with nogil:
        for k in range(K, Kp):
            near[k] = 1
        for i in range(docs.shape[0]):
            d = docs[i]
            if rebuild:
                first, last = pairs.offsets[d], pairs.offsets[d + 1]
                memset(&nd[d, 0], 0, Kp * 4)
                soft_count(&gamma[first * K], &pairs.words[first], &pairs.counts[first], last - first, K, &nd[d, 0],
                           NULL, NULL, NULL)
            first, last = pairs.first(d, block), pairs.first(d, block + 1)
            if first == last:
                continue
            place(totals, beta_sum, near, moved, K)
            changed += soft_cvb0(&gamma[first * K], &pairs.words[first], &pairs.counts[first], last - first, K,
                                 &nd[d, 0], &nw[0, 0], &beta[0], &alpha[pairs.group(d), 0], <float> beta_sum, near,
                                 moved, scratch)
        place(totals, beta_sum, near, moved, K)
    return changed


def cvb_cell(Pairs pairs, const uint32_t[::1] docs, int64_t block, bint rebuild, float[::1] gamma, float[:, ::1] nd,
             float[:, ::1] vd, float[:, ::1] nw, float[:, ::1] vw, double[::1] totals, double[::1] variances,
             const float[:, ::1] alpha, const float[::1] beta, double beta_sum) -> float:
    """As `cvb0_cell` with the variances vd, vw and `variances` of the counts."""
    cdef int64_t i, d, first, last, K = pairs.topics, Kp = pairs.padded, k
    cdef double changed = 0
    cdef Arena arena = Arena()
    cdef float *near = arena.floats(6 * Kp)
    cdef float *moved = near + Kp
    cdef float *vnear = moved + Kp
    cdef float *vmoved = vnear + Kp
    cdef float *scratch = vmoved + Kp
    with nogil:
        for k in range(K, Kp):
            near[k] = 1
        for i in range(docs.shape[0]):
            d = docs[i]
            if rebuild:
                first, last = pairs.offsets[d], pairs.offsets[d + 1]
                memset(&nd[d, 0], 0, Kp * 4)
                memset(&vd[d, 0], 0, Kp * 4)
                soft_count(&gamma[first * K], &pairs.words[first], &pairs.counts[first], last - first, K, &nd[d, 0],
                           &vd[d, 0], NULL, NULL)
            first, last = pairs.first(d, block), pairs.first(d, block + 1)
            if first == last:
                continue
            place(totals, beta_sum, near, moved, K)
            place(variances, 0, vnear, vmoved, K)
            changed += soft_cvb(&gamma[first * K], &pairs.words[first], &pairs.counts[first], last - first, K,
                                &nd[d, 0], &vd[d, 0], &nw[0, 0], &vw[0, 0], &beta[0], &alpha[pairs.group(d), 0],
                                <float> beta_sum, near, moved, vnear, vmoved, scratch)
        place(totals, beta_sum, near, moved, K)
        place(variances, 0, vnear, vmoved, K)
    return changed


def hard_cell(Pairs pairs, const uint32_t[::1] docs, int64_t block, const uint16_t[::1] topics, float[:, ::1] nd,
              float[:, ::1] nw):
    """Add one-hot assignments, which are not stored, to the counts."""
    cdef int64_t i, d, at
    with nogil:
        for i in range(docs.shape[0]):
            d = docs[i]
            for at in range(pairs.first(d, block), pairs.first(d, block + 1)):
                nd[d, topics[at]] += <float> pairs.counts[at]
                nw[pairs.words[at], topics[at]] += <float> pairs.counts[at]


def vb_words(float[:, ::1] elog, const float[:, ::1] nw, const double[::1] beta, const double[::1] digamma_totals,
             int64_t begin, int64_t end, int64_t K):
    """E log phi of a range of words; -1e30 beyond K."""
    cdef int64_t w, k
    with nogil:
        for w in range(begin, end):
            soft_digamma_word(&elog[w, 0], beta[w], &nw[w, 0], &digamma_totals[0], K)
            for k in range(K, elog.shape[1]):
                elog[w, k] = -1e30


def vb_cell(Pairs pairs, const uint32_t[::1] docs, int64_t block, const float[:, ::1] elog, const double[:, ::1] alpha,
            const float[:, ::1] nd, float[:, ::1] nd_next, float[:, ::1] nw_next) -> float:
    """Renew the cell's assignments by VB and add them to the next counts; returns their entropy."""
    cdef int64_t i, d, first, last, k, K = pairs.topics, Kp = pairs.padded
    cdef double entropy = 0
    cdef Arena arena = Arena()
    cdef float *theta = arena.floats(2 * Kp)
    cdef float *scratch = theta + Kp
    with nogil:
        for k in range(K, Kp):
            theta[k] = -1e30
        for i in range(docs.shape[0]):
            d = docs[i]
            first, last = pairs.first(d, block), pairs.first(d, block + 1)
            if first == last:
                continue
            soft_digamma_row(theta, &alpha[pairs.group(d), 0], &nd[d, 0], 0, K)
            entropy += soft_vb(&pairs.words[first], &pairs.counts[first], last - first, Kp, theta, &elog[0, 0],
                               &nd_next[d, 0], &nw_next[0, 0], scratch)
    return entropy


def vb_best(Pairs pairs, const float[:, ::1] elog, const double[:, ::1] alpha, const float[:, ::1] nd,
            uint16_t[::1] best):
    """The most probable topic of each pair under the current parameters."""
    cdef int64_t d, at, k, K = pairs.topics, found
    cdef const float *row
    cdef Arena arena = Arena()
    cdef float *theta = arena.floats(1 * pairs.padded)
    with nogil:
        for d in range(nd.shape[0]):
            soft_digamma_row(theta, &alpha[pairs.group(d), 0], &nd[d, 0], 0, K)
            for at in range(pairs.offsets[d], pairs.offsets[d + 1]):
                row = &elog[pairs.words[at], 0]
                found = 0
                for k in range(1, K):
                    if theta[k] + row[k] > theta[found] + row[found]:
                        found = k
                best[at] = <uint16_t> found


# ---- sums over rows -----------------------------------------------------------------------------------------------

def column_sums(const float[:, ::1] counts, int64_t K):
    """Column sums in double precision, row after row."""
    result = np.zeros(K, np.float64)
    cdef double[::1] sums = result
    cdef int64_t row, k
    with nogil:
        for row in range(counts.shape[0]):
            for k in range(K):
                sums[k] += <double> counts[row, k]
    return result


def word_sums(const uint32_t[::1] counts, const float[::1] gamma, const int64_t[::1] starts,
              const uint32_t[::1] order, int64_t begin, int64_t end, int64_t K, float[:, ::1] nw,
              float[:, ::1] vw=None):
    """nw (and vw) of a range of words, summed anew from the assignments in double precision. Seeds are not in it."""
    cdef int64_t w, k
    cdef bint vary = vw is not None
    cdef Arena arena = Arena()
    cdef double *sums = arena.doubles(2 * K)
    with nogil:
        for w in range(begin, end):
            memset(sums, 0, K * 16)
            if starts[w] < starts[w + 1]:
                soft_sums(&gamma[0], &order[starts[w]], &counts[0], starts[w + 1] - starts[w], K, sums,
                          sums + K if vary else NULL)
            for k in range(K):
                nw[w, k] = <float> sums[k]
                if vary:
                    vw[w, k] = <float> sums[K + k]


def document_sums(Pairs pairs, const float[::1] gamma, float[:, ::1] nd, float[:, ::1] vd=None):
    """nd (and vd) summed anew from the assignments."""
    cdef int64_t d, first, K = pairs.topics, Kp = pairs.padded
    cdef bint vary = vd is not None
    with nogil:
        for d in range(nd.shape[0]):
            memset(&nd[d, 0], 0, Kp * 4)
            if vary:
                memset(&vd[d, 0], 0, Kp * 4)
            first = pairs.offsets[d]
            if first < pairs.offsets[d + 1]:
                soft_count(&gamma[first * K], &pairs.words[first], &pairs.counts[first], pairs.offsets[d + 1] - first,
                           K, &nd[d, 0], &vd[d, 0] if vary else NULL, NULL, NULL)
