"""The variational kernels: CVB0, CVB, VB and SCVB0 over distinct (document, word) pairs.

A pair has a count and one soft assignment: K probabilities in single precision. Expected counts are rows padded to
Kp = 16 ceil(K / 16) numbers: nd (documents × Kp), nw (words × Kp); the totals n_k are in double precision, and nd is
summed anew from the assignments in every sweep, nw and n_k every few sweeps, so that rounding does not pile up.

A cell (docs, block) owns its documents and words while it runs; `totals` is its own copy of n_k. The updates:

    CVB0  γ ∝ (α + n_dk)(β + n_kw) / (B + n_k)                        Asuncion et al. 2009 (zero-order CVB)
    CVB   the same times exp(-v_dk/2a² - v_kw/2b² + v_k/2t²)          Teh, Newman & Welling 2006, eq. 18
    VB    γ ∝ exp(ψ(α + n_dk) + ψ(β + n_kw) - ψ(B + n_k))             the same, eq. 6
    SCVB0 as CVB0 on minibatches with running averages                Foulds et al. 2013

where the counts of CVB0 and CVB leave out the token itself. All tokens of a pair are renewed together. What departs from
the papers: totals that other cells of the same epoch change are seen at its end (as for the samplers); nothing else.

The arithmetic is in soft.h: no libm, a fixed order of every sum, the same bits on every CPU.
"""

cimport cython
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

import numpy as np

from topicx._kernels.cell cimport Arena
from topicx._kernels.rng cimport tx_rng, tx_rng_seed


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
    double soft_moments(const float *g, const uint32_t *order, const uint32_t *counts, int64_t pairs, int64_t K,
                        float *mean, float *variance, float *none, int entropies) noexcept
    double soft_rising(const float *mean, const float *variance, const float *none, const double *prior,
                       const double *base, double *scratch, int64_t K) noexcept
    double soft_vb(const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t Kp, const float *lt,
                   const float *lw, float *nd, float *nw, float *scratch) noexcept
    double soft_scvb0(const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t Kp, float *nd,
                      const float *alpha, float length, const float *nw, float scale, const float *beta,
                      const float *weight, const double *rates, int64_t n_rates, int64_t position, float *keep,
                      float *scratch) noexcept
    void soft_gather(float *row, const float *keep, const int64_t *order, const uint32_t *counts, int64_t pairs,
                     int64_t Kp, double factor, double *total, float *scratch) noexcept
    void soft_digamma_row(float *out, const double *prior, const float *n, double less, int64_t K) noexcept
    void soft_digamma_word(float *out, double prior, const float *n, const double *less, int64_t K) noexcept
    void soft_digamma_gain(double *sum, const double *prior, const float *n, const double *base, int64_t K) noexcept
    void soft_map(double *out, const double *x, int which, int64_t n) noexcept
    void soft_random(float *out, int64_t K, tx_rng *rng) noexcept

cdef enum:
    SPLIT = 0x9E37  # keeps a word's stream apart from its neighbours'


# ---- special functions, for Python --------------------------------------------------------------------------------

def special(which: str, x):
    """digamma, lgamma, trigamma, tetragamma, log or exp of an array, by the kernels' own arithmetic."""
    source = np.ascontiguousarray(x, np.float64)
    result = np.empty_like(source)
    cdef const double[::1] flat = source.reshape(-1)
    cdef double[::1] out = result.reshape(-1)
    cdef int code = ("digamma", "lgamma", "trigamma", "log", "tetragamma", "exp").index(which)
    if flat.shape[0]:
        with nogil:
            soft_map(&out[0], &flat[0], code, flat.shape[0])
    return result


# ---- pairs --------------------------------------------------------------------------------------------------------

def pair_up(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t[::1] seen, uint32_t[::1] pair_words,
            uint32_t[::1] pair_counts, int64_t[::1] pair_offsets) -> int:
    """The distinct words of each document in the order of their first appearance, and how often each is there.

    seen: a zero for each word (left so). pair_words and pair_counts have room for a pair a token; returns the number of
    pairs. Offsets may begin anywhere: words[0] is the token at offsets[0].
    """
    cdef int64_t d, i, at = 0, begin, shift = offsets[0]
    with nogil:
        pair_offsets[0] = 0
        for d in range(offsets.shape[0] - 1):
            begin = at
            for i in range(offsets[d] - shift, offsets[d + 1] - shift):
                if seen[words[i]] == 0:
                    pair_words[at] = words[i]
                    pair_counts[at] = 1
                    at += 1
                    seen[words[i]] = at
                else:
                    pair_counts[seen[words[i]] - 1] += 1
            for i in range(begin, at):
                seen[pair_words[i]] = 0
            pair_offsets[d + 1] = at
    return at


def spread(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t[::1] seen, const uint16_t[::1] of_pair,
           uint16_t[::1] of_token):
    """of_token = the value of each token's pair, pairs numbered as by `pair_up`."""
    cdef int64_t d, i, at = 0
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                if seen[words[i]] == 0:
                    at += 1
                    seen[words[i]] = at
                of_token[i] = of_pair[seen[words[i]] - 1]
            for i in range(offsets[d], offsets[d + 1]):
                seen[words[i]] = 0


def best_topics(const float[::1] gamma, int64_t K, uint16_t[::1] best):
    """The most probable topic of each pair, the lowest of equals."""
    cdef int64_t i, k, found
    with nogil:
        for i in range(best.shape[0]):
            found = 0
            for k in range(1, K):
                if gamma[i * K + k] > gamma[i * K + found]:
                    found = k
            best[i] = <uint16_t> found


def first_topics(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t[::1] seen, const uint16_t[::1] of_token,
                 uint16_t[::1] of_pair):
    """of_pair = the value of each pair's first token, pairs numbered as by `pair_up`."""
    cdef int64_t d, i, at = 0
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                if seen[words[i]] == 0:
                    seen[words[i]] = 1
                    of_pair[at] = of_token[i]
                    at += 1
            for i in range(offsets[d], offsets[d + 1]):
                seen[words[i]] = 0


def by_word(const uint32_t[::1] words, int64_t[::1] starts, uint32_t[::1] order):
    """The pairs of each word, in order: word w's are order[starts[w] : starts[w + 1]]. starts: a zero a word and one."""
    cdef int64_t i, w, n = starts.shape[0] - 1, at = 0, size
    with nogil:
        for i in range(words.shape[0]):
            starts[words[i]] += 1
        for w in range(n):
            size = starts[w]
            starts[w] = at
            at += size
        for i in range(words.shape[0]):
            order[starts[words[i]]] = <uint32_t> i
            starts[words[i]] += 1
        for w in range(n, 0, -1):
            starts[w] = starts[w - 1]
        starts[0] = 0


def one_hot(const uint16_t[::1] topics, int64_t K, float[::1] gamma):
    """Assignments that put every pair wholly on one topic."""
    cdef int64_t i
    with nogil:
        memset(&gamma[0], 0, gamma.shape[0] * 4)
        for i in range(topics.shape[0]):
            gamma[i * K + topics[i]] = 1


# ---- cells --------------------------------------------------------------------------------------------------------

@cython.final
cdef class Pairs:
    """The pairs in the schedule's order, and where each document's pairs of each block are."""

    cdef const uint32_t[::1] words
    cdef const uint32_t[::1] counts
    cdef const int64_t[::1] offsets
    cdef const int64_t[::1] segments
    cdef const uint32_t[::1] groups
    cdef int64_t blocks
    cdef int64_t topics
    cdef int64_t padded

    def __init__(self, words, counts, offsets, segments, groups, blocks, topics):
        self.words, self.counts, self.offsets, self.segments, self.groups = words, counts, offsets, segments, groups
        self.blocks, self.topics, self.padded = blocks, topics, (topics + 15) // 16 * 16

    cdef inline int64_t first(self, int64_t d, int64_t block) noexcept nogil:
        return self.segments[d * (self.blocks + 1) + block]

    cdef inline int64_t group(self, int64_t d) noexcept nogil:
        return self.groups[d] if self.groups.shape[0] > 0 else 0


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


# ---- bounds -------------------------------------------------------------------------------------------------------

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
            entropy += soft_moments(&gamma[first * K], NULL, &pairs.counts[first], pairs.offsets[d + 1] - first, K,
                                    moments, moments + Kp, moments + 2 * Kp, 1)
            total += soft_rising(moments, moments + Kp, moments + 2 * Kp, &alpha[g, 0], &base[g, 0], scratch, K)
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
            soft_moments(&gamma[0], &order[starts[w]], &counts[0], starts[w + 1] - starts[w], K, moments, moments + Kp,
                         moments + 2 * Kp, 0)
            if not fresh or beta[w] != last:
                for k in range(K):
                    priors[k] = beta[w]
                soft_map(base, priors, 1, K)
                last, fresh = beta[w], True
            if seeded and seed_starts[w] < seed_starts[w + 1]:
                for s in range(seed_starts[w], seed_starts[w + 1]):
                    priors[seed_topics[s]] += <double> seed_counts[s]
                soft_map(base, priors, 1, K)
                fresh = False
            total += soft_rising(moments, moments + Kp, moments + 2 * Kp, priors, base, scratch, K)
            for k in range(K):
                totals[0, k] += <double> moments[k]
                totals[1, k] += <double> moments[Kp + k]
                totals[2, k] += <double> moments[2 * Kp + k]
    return total


def rising(const float[:, ::1] counts, const double[:, ::1] prior, const uint32_t[::1] which, int64_t K) -> float:
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
                soft_map(base, priors, 1, K)
            last = of
            total += soft_rising(&counts[row, 0], NULL, NULL, priors, base, scratch, K)
    return total


def expected_rising(const float[::1] mean, const float[::1] variance, const float[::1] none, const double[::1] prior):
    """E[log Γ(prior + n)] - log Γ(prior) of each entry, as the bounds have it."""
    cdef int64_t i, n = mean.shape[0]
    base_array = special("lgamma", prior)
    result = np.empty(n)
    cdef const double[::1] base = base_array
    cdef double[::1] out = result
    cdef double scratch
    with nogil:
        for i in range(n):
            out[i] = soft_rising(&mean[i], &variance[i], &none[i], &prior[i], &base[i], &scratch, 1)
    return result


def digamma_gain(const float[:, ::1] counts, const double[:, ::1] prior, const uint32_t[::1] which, int64_t K):
    """Σ over rows of ψ(prior + n) - ψ(prior), for each row of `prior` and each topic (for Minka's fixed point)."""
    result = np.zeros((prior.shape[0], K))
    base_array = np.empty((prior.shape[0], K))
    cdef double[:, ::1] gain = result, base = base_array
    cdef int64_t row, of, k
    with nogil:
        for of in range(prior.shape[0]):
            soft_map(&base[of, 0], &prior[of, 0], 0, K)
        for row in range(counts.shape[0]):
            of = which[row] if which.shape[0] > 0 else 0
            soft_digamma_gain(&gain[of, 0], &prior[of, 0], &counts[row, 0], &base[of, 0], K)
    return result


# ---- SCVB0 --------------------------------------------------------------------------------------------------------

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
