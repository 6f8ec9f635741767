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

from topicx._kernels.gibbs.cell cimport Arena
from topicx._kernels.soft.pairs cimport Pairs
from topicx._kernels.soft.soft_loops cimport tx_expected, tx_soft, tx_soft_choose
from topicx._kernels.base.special cimport digamma_row, digamma_word, pair_sums

cdef const tx_soft *soft = tx_soft_choose()


cdef struct Totals:
    double *sum  # of the topics
    double extra
    float *near  # sum + extra in single precision, what the loops take
    float *moved  # and what has moved since


cdef Totals totals_of(Arena arena, double[::1] sum, double extra, int64_t K, int64_t Kp):
    cdef Totals totals
    cdef int64_t k
    totals.sum, totals.extra, totals.near, totals.moved = &sum[0], extra, arena.floats(Kp), arena.floats(Kp)
    for k in range(K, Kp):
        totals.near[k] = 1 if extra > 0 else 0
    return totals


cdef void place(Totals *totals, int64_t K) noexcept nogil:
    """What has moved goes into the sums."""
    cdef int64_t k
    for k in range(K):
        totals.sum[k] += <double> totals.moved[k]
        totals.moved[k] = 0
        totals.near[k] = <float> (totals.sum[k] + totals.extra)


cdef void count_again(Pairs pairs, int64_t d, const float *gamma, float *nd, float *vd) noexcept nogil:
    """nd (and vd, unless it is NULL) of a document, from its assignments."""
    cdef int64_t first = pairs.offsets[d]
    memset(nd, 0, pairs.padded * 4)
    if vd != NULL:
        memset(vd, 0, pairs.padded * 4)
    if first < pairs.offsets[d + 1]:
        soft.count(gamma + first * pairs.topics, &pairs.counts[first], pairs.offsets[d + 1] - first, pairs.topics, nd, vd)


cdef double renew_cell(Pairs pairs, const uint32_t[::1] docs, int64_t block, bint rebuild, float *gamma,
                       tx_expected n, Totals *totals, tx_expected v, Totals *variances, const float[:, ::1] alpha,
                       const float *beta, float *scratch) noexcept nogil:
    """`cvb0_cell`; with variances (else NULL) `cvb_cell`. n.nd and v.nd are those of the first document."""
    cdef int64_t i, d, first, last, K = pairs.topics, Kp = pairs.padded
    cdef float least = <float> totals.extra
    cdef double changed = 0
    cdef tx_expected mine = n, vary = v
    for i in range(docs.shape[0]):
        d = docs[i]
        mine.nd = n.nd + d * Kp
        if variances != NULL:
            vary.nd = v.nd + d * Kp
        if rebuild:
            count_again(pairs, d, gamma, mine.nd, vary.nd)
        first, last = pairs.first(d, block), pairs.first(d, block + 1)
        if first == last:
            continue
        place(totals, K)
        if variances == NULL:
            changed += soft.cvb0(gamma + first * K, &pairs.words[first], &pairs.counts[first], last - first, K, &mine,
                                 beta, &alpha[pairs.group(d), 0], least, scratch)
        else:
            place(variances, K)
            changed += soft.cvb(gamma + first * K, &pairs.words[first], &pairs.counts[first], last - first, K, &mine,
                                &vary, beta, &alpha[pairs.group(d), 0], least, scratch)
    place(totals, K)
    if variances != NULL:
        place(variances, K)
    return changed


def cvb0_cell(Pairs pairs, const uint32_t[::1] docs, int64_t block, bint rebuild, float[::1] gamma, float[:, ::1] nd,
              float[:, ::1] nw, double[::1] totals, const float[:, ::1] alpha, const float[::1] beta,
              double beta_sum) -> float:
    """Renew the cell's assignments by CVB0; returns how many tokens' worth of probability moved.

    rebuild: sum nd anew first (in a sweep's first epoch). alpha: a padded row a group.
    """
    cdef Arena arena = Arena()
    cdef Totals sums = totals_of(arena, totals, beta_sum, pairs.topics, pairs.padded)
    cdef tx_expected n = tx_expected(&nd[0, 0], &nw[0, 0], sums.moved, sums.near), none = tx_expected(NULL, NULL, NULL, NULL)
    cdef float *scratch = arena.floats(pairs.padded)
    cdef double changed
    with nogil:
        changed = renew_cell(pairs, docs, block, rebuild, &gamma[0], n, &sums, none, NULL, alpha, &beta[0], scratch)
    return changed


def cvb_cell(Pairs pairs, const uint32_t[::1] docs, int64_t block, bint rebuild, float[::1] gamma, float[:, ::1] nd,
             float[:, ::1] vd, float[:, ::1] nw, float[:, ::1] vw, double[::1] totals, double[::1] variances,
             const float[:, ::1] alpha, const float[::1] beta, double beta_sum) -> float:
    """As `cvb0_cell` with the variances vd, vw and `variances` of the counts."""
    cdef Arena arena = Arena()
    cdef Totals sums = totals_of(arena, totals, beta_sum, pairs.topics, pairs.padded)
    cdef Totals vary = totals_of(arena, variances, 0, pairs.topics, pairs.padded)
    cdef tx_expected n = tx_expected(&nd[0, 0], &nw[0, 0], sums.moved, sums.near)
    cdef tx_expected v = tx_expected(&vd[0, 0], &vw[0, 0], vary.moved, vary.near)
    cdef float *scratch = arena.floats(2 * pairs.padded)
    cdef double changed
    with nogil:
        changed = renew_cell(pairs, docs, block, rebuild, &gamma[0], n, &sums, v, &vary, alpha, &beta[0], scratch)
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
            digamma_word(&elog[w, 0], beta[w], &nw[w, 0], &digamma_totals[0], K)
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
            digamma_row(theta, &alpha[pairs.group(d), 0], &nd[d, 0], 0, K)
            entropy += soft.vb(&pairs.words[first], &pairs.counts[first], last - first, Kp, theta, &elog[0, 0],
                               &nd_next[d, 0], &nw_next[0, 0], scratch)
    return entropy


def vb_most_probable_topics(Pairs pairs, const float[:, ::1] elog, const double[:, ::1] alpha, const float[:, ::1] nd,
                            uint16_t[::1] best):
    """The most probable topic of each pair under the current parameters."""
    cdef int64_t d, at, k, K = pairs.topics, found
    cdef const float *row
    cdef Arena arena = Arena()
    cdef float *theta = arena.floats(1 * pairs.padded)
    with nogil:
        for d in range(nd.shape[0]):
            digamma_row(theta, &alpha[pairs.group(d), 0], &nd[d, 0], 0, K)
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
                pair_sums(&gamma[0], &order[starts[w]], &counts[0], starts[w + 1] - starts[w], K, sums,
                          sums + K if vary else NULL)
            for k in range(K):
                nw[w, k] = <float> sums[k]
                if vary:
                    vw[w, k] = <float> sums[K + k]


def document_sums(Pairs pairs, const float[::1] gamma, float[:, ::1] nd, float[:, ::1] vd=None):
    """nd (and vd) summed anew from the assignments."""
    cdef int64_t d
    cdef bint vary = vd is not None
    with nogil:
        for d in range(nd.shape[0]):
            count_again(pairs, d, &gamma[0], &nd[d, 0], &vd[d, 0] if vary else NULL)
