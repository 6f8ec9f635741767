"""CVB0 in which each document has topics of its own (Papanikolaou et al. 2017, eq. 6, restricted as eq. 5 is).

    gamma_j ∝ (alpha_gk + N_dj)(beta_w + N_kw) / (N_k + B)  for k = the document's j-th topic,

N being expected counts without one token of the pair itself. A pair is a distinct word of a document with its count.
It has an assignment for each topic of its document, in float32; a document's assignments stand one after another, from
gamma_start[d] on. Expected counts are double: nd beside the documents' topics, nw beside the topics that the words may
have. slots[i] says where in nw the count for assignment i stands.
"""

from libc.math cimport fabs
from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.string cimport memset

from topicx._kernels.gibbs.cell cimport Arena

cdef extern from "partial.h" nogil:
    double tx_log(double x) noexcept

cdef double LEAST = 1e-30  # rounding may leave an expected count a little below what is taken out


def slots_of(const uint32_t[::1] words, const int64_t[::1] offsets, const int64_t[::1] allowed_offsets,
             const uint16_t[::1] allowed, const int64_t[::1] gamma_start, const int64_t[::1] indptr,
             const uint16_t[::1] topics, uint32_t[::1] slots):
    """Where in nw the count of each assignment stands: `topics` of a word, ascending, from indptr[w] on."""
    cdef int64_t d, i, j, at, end
    cdef uint32_t w
    cdef int64_t where
    with nogil:
        for d in range(offsets.shape[0] - 1):
            at = gamma_start[d]
            for i in range(offsets[d], offsets[d + 1]):
                w = words[i]
                where, end = indptr[w], indptr[w + 1]
                for j in range(allowed_offsets[d], allowed_offsets[d + 1]):
                    while where < end and topics[where] < allowed[j]:
                        where += 1
                    slots[at] = <uint32_t> where
                    at += 1


def sum_assignments(const uint32_t[::1] counts, const int64_t[::1] offsets, const int64_t[::1] allowed_offsets,
                    const uint16_t[::1] allowed, const int64_t[::1] gamma_start, const uint32_t[::1] slots,
                    const float[::1] gamma, double[:, ::1] nd, double[:, ::1] nw):
    """Sums over assignments, added to nd and nw: row 0 expected counts; rows 1 and 2, if they are there, the variances
    and the logarithms of the probability of none."""
    cdef int64_t d, i, j, at, row, rows = nd.shape[0]
    cdef double c, g, value
    with nogil:
        for d in range(offsets.shape[0] - 1):
            at = gamma_start[d]
            for i in range(offsets[d], offsets[d + 1]):
                c = counts[i]
                for j in range(allowed_offsets[d], allowed_offsets[d + 1]):
                    g = gamma[at]
                    for row in range(rows):
                        value = c * g if row == 0 else c * g * (1 - g) if row == 1 else c * tx_log(max(1 - g, LEAST))
                        nd[row, j] += value
                        nw[row, slots[at]] += value
                    at += 1


cdef class PairCell:
    """Pairs of documents that have topics of their own, their assignments, and the counts and priors they are made of."""

    cdef const uint32_t[::1] words
    cdef const uint32_t[::1] counts
    cdef const int64_t[::1] offsets
    """The pairs of document d: words[offsets[d] : offsets[d + 1]], and how many tokens each has;"""
    cdef const int64_t[::1] segments
    cdef int64_t blocks
    """those of block b begin at segments[d * (blocks + 1) + b]."""
    cdef const int64_t[::1] allowed_offsets
    cdef const uint16_t[::1] allowed
    """The topics of document d, ascending: allowed[allowed_offsets[d] : allowed_offsets[d + 1]]."""

    # -- the priors
    cdef const double[:, ::1] alpha
    cdef const uint32_t[::1] groups
    """α of each group, and each document's group (empty: all are in the first)."""
    cdef const double[::1] beta
    cdef double beta_sum

    # -- assignments and expected counts: see above
    cdef const int64_t[::1] gamma_start
    cdef const uint32_t[::1] slots
    cdef float[::1] gamma
    cdef double[::1] nd
    cdef double[::1] nw
    cdef double[::1] totals
    """The cell's own copy."""

    def __init__(self, *, words, counts, offsets, segments, blocks, allowed_offsets, allowed, gamma_start, slots, gamma,
                 nd, nw, totals, alpha, groups, beta, beta_sum):
        self.words, self.counts, self.offsets, self.segments, self.blocks = words, counts, offsets, segments, blocks
        self.allowed_offsets, self.allowed = allowed_offsets, allowed
        self.gamma_start, self.slots, self.gamma = gamma_start, slots, gamma
        self.nd, self.nw, self.totals = nd, nw, totals
        self.alpha, self.groups, self.beta, self.beta_sum = alpha, groups, beta, beta_sum


def renew_cvb0_cell(PairCell s, const uint32_t[::1] documents, int64_t block) -> float:
    """Renew the assignments of one cell; returns how many tokens' worth of probability moved."""
    cdef int64_t i, j, d, t, begin, number, group, at, most = 1
    cdef double total, moved = 0, old, change, c
    cdef Arena arena = Arena()
    cdef double *p
    cdef uint16_t k
    for d in range(s.allowed_offsets.shape[0] - 1):
        most = max(most, s.allowed_offsets[d + 1] - s.allowed_offsets[d])
    p = arena.doubles(most)
    with nogil:
        for i in range(documents.shape[0]):
            d = documents[i]
            begin, number = s.allowed_offsets[d], s.allowed_offsets[d + 1] - s.allowed_offsets[d]
            if number == 1:
                continue  # there is no choice
            group = s.groups[d] if s.groups.shape[0] > 0 else 0
            for t in range(s.segments[d * (s.blocks + 1) + block], s.segments[d * (s.blocks + 1) + block + 1]):
                at = s.gamma_start[d] + (t - s.offsets[d]) * number
                total = 0
                for j in range(number):
                    k = s.allowed[begin + j]
                    old = s.gamma[at + j]
                    p[j] = (max(s.nd[begin + j] - old, 0) + s.alpha[group, k]) * (
                        max(s.nw[s.slots[at + j]] - old, 0) + s.beta[s.words[t]]) / (
                        max(s.totals[k] - old, 0) + s.beta_sum)
                    total += p[j]
                total = 1.0 / total
                c = s.counts[t]
                for j in range(number):
                    k = s.allowed[begin + j]
                    old = s.gamma[at + j]
                    s.gamma[at + j] = <float> (p[j] * total)
                    change = c * (<double> s.gamma[at + j] - old)
                    moved += fabs(change)
                    s.nd[begin + j] += change
                    s.nw[s.slots[at + j]] += change
                    s.totals[k] += change
    return moved / 2


def assignment_entropy(const uint32_t[::1] counts, const int64_t[::1] offsets, const int64_t[::1] allowed_offsets,
                       const int64_t[::1] gamma_start, const float[::1] gamma) -> float:
    """The entropy of all assignments, each as often as its pair has tokens."""
    cdef int64_t d, i, j, at
    cdef double total = 0, g
    with nogil:
        for d in range(offsets.shape[0] - 1):
            at = gamma_start[d]
            for i in range(offsets[d], offsets[d + 1]):
                for j in range(allowed_offsets[d + 1] - allowed_offsets[d]):
                    g = gamma[at]
                    if g > 0:
                        total -= counts[i] * g * tx_log(g)
                    at += 1
    return total


def most_probable_topics(const int64_t[::1] offsets, const int64_t[::1] allowed_offsets, const uint16_t[::1] allowed,
                         const int64_t[::1] gamma_start, const float[::1] gamma, uint16_t[::1] topics):
    """The most probable topic of each pair, the first of equals."""
    cdef int64_t d, i, j, at, found
    with nogil:
        for d in range(offsets.shape[0] - 1):
            at = gamma_start[d]
            for i in range(offsets[d], offsets[d + 1]):
                found = 0
                for j in range(1, allowed_offsets[d + 1] - allowed_offsets[d]):
                    if gamma[at + j] > gamma[at + found]:
                        found = j
                topics[i] = allowed[allowed_offsets[d] + found]
                at += allowed_offsets[d + 1] - allowed_offsets[d]


def fold_in(const uint32_t[::1] words, const int64_t[::1] offsets, const float[:, ::1] rows,
            const float[:, ::1] alpha, const uint32_t[::1] groups, int64_t sweeps, float[:, ::1] theta, uint16_t[::1] z):
    """theta of documents under fixed topics by CVB0: gamma_ik ∝ rows_ik (alpha_k + sum of the other tokens' gamma_k).

    A token's first gamma is its row times what came before it. rows are those of `infer.gibbs`: a row a word, each
    with an arbitrary factor; words are numbers of rows.
    """
    cdef int64_t d, i, k, sweep, begin, length, best, longest = 0, topics = alpha.shape[1]
    cdef double total, norm
    cdef Arena arena = Arena()
    cdef float *gamma
    cdef double *counts
    cdef double *p
    cdef const float *row
    for d in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    gamma, counts, p = arena.floats(longest * topics + 1), arena.doubles(topics), arena.doubles(topics)
    with nogil:
        for d in range(offsets.shape[0] - 1):
            begin, length = offsets[d], offsets[d + 1] - offsets[d]
            memset(gamma, 0, length * topics * sizeof(float))
            for k in range(topics):
                counts[k] = alpha[groups[d], k]
            for sweep in range(sweeps):
                for i in range(length):
                    row = &rows[words[begin + i], 0]
                    total = 0
                    for k in range(topics):
                        counts[k] -= gamma[i * topics + k]
                        p[k] = row[k] * counts[k]
                        total += p[k]
                    total = 1.0 / total
                    for k in range(topics):
                        gamma[i * topics + k] = <float> (p[k] * total)
                        counts[k] += gamma[i * topics + k]
            for i in range(length):
                best = 0
                for k in range(topics):
                    if gamma[i * topics + k] > gamma[i * topics + best]:
                        best = k
                z[begin + i] = <uint16_t> best
            norm = 0
            for k in range(topics):
                norm += counts[k]
            for k in range(topics):
                theta[d, k] = <float> (counts[k] / norm)
