"""Topics with keywords (Eshima, Imai & Sasaki 2024, "keyATM"): a token of a keyword topic is of its regular words (s = 0)
or of its keywords alone (s = 1), with a share of keywords of the topic's own.

    p(z = k, s = 0) ∝ (n_dk + alpha_gk) (n0_k + b) / (n0_k + n1_k + a + b) (n0_kw + beta_w) / (n0_k + B)
    p(z = k, s = 1) ∝ (n_dk + alpha_gk) (n1_k + a) / (n0_k + n1_k + a + b) (n1_kw + kappa) / (n1_k + L_k kappa)

n0 counts regular tokens, n1 those that are keywords, L_k is the number of the topic's keywords; the share is Beta(a, b). A
topic without keywords has regular words alone. A row of n0 has all topics of a word, 16 at a time (keyword_body.h); n1
has an entry for each keyword and topic. Documents come one after another, each with a stream of its own.

A sweep is over the cell of a shard of documents and a block of words. It has totals n0_k and n1_k of its own, and no row,
no keyword entry and no document that another cell of the same epoch has (topicx/sampling/schedule.py).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from topicx._kernels.base.rng cimport tx_rng, tx_rng_double, tx_rng_seed
from topicx._kernels.gibbs.cell cimport Arena


cdef extern from "keyword.h" nogil:
    ctypedef struct tx_keyword:
        int64_t (*draw)(const float *counts, const float *alpha, const float *c, const int32_t *row, float beta,
                        int64_t chunks, const double *extra, int64_t extras, double u, float *scratch) noexcept nogil
    const tx_keyword *tx_keyword_choose() noexcept

cdef const tx_keyword *kernel = tx_keyword_choose()
cdef uint64_t SPLIT = 0x9E3779B97F4A7C15
cdef uint16_t NONE = 0xFFFF


cdef struct Tables:
    int32_t *rows  # n0_kw, a row a word
    int64_t width
    int64_t topics
    int64_t *totals  # n0_k
    int64_t *keyed  # n1_k
    const int64_t *starts  # the keyword entries of word w are starts[w] … starts[w + 1] - 1
    const uint16_t *of  # their topics
    int64_t *counts  # n1_kw
    const int64_t *lengths  # L_k
    double a
    double b
    double kappa
    double beta_sum


cdef inline double regular(const Tables *t, int64_t k) noexcept nogil:
    """What (n_dk + alpha_k) (n0_kw + beta) of a topic is multiplied with."""
    cdef double share = 1
    if t.lengths[k] > 0:
        share = (<double> t.totals[k] + t.b) / (<double> (t.totals[k] + t.keyed[k]) + t.a + t.b)
    return share / (<double> t.totals[k] + t.beta_sum)


cdef inline double keyed_weight(const Tables *t, int64_t e) noexcept nogil:
    """The same of keyword entry e, its own count included."""
    cdef int64_t k = t.of[e]
    cdef double share = (<double> t.keyed[k] + t.a) / (<double> (t.totals[k] + t.keyed[k]) + t.a + t.b)
    return share * (<double> t.counts[e] + t.kappa) / (<double> t.keyed[k] + <double> t.lengths[k] * t.kappa)


cdef inline int64_t entry(const Tables *t, int64_t w, int64_t k) noexcept nogil:
    """The keyword entry of a word in a topic; -1: there is none."""
    cdef int64_t e
    for e in range(t.starts[w], t.starts[w + 1]):
        if t.of[e] == k:
            return e
    return -1


cdef inline void move(Tables *t, int64_t w, int64_t k, bint keyed, int32_t sign) noexcept nogil:
    if keyed:
        t.counts[entry(t, w, k)] += sign
        t.keyed[k] += sign
    else:
        t.rows[w * t.width + k] += sign
        t.totals[k] += sign


def count(const uint32_t[::1] words, const uint16_t[::1] z, const uint8_t[::1] keyed, const int64_t[::1] starts,
          const uint16_t[::1] of, int32_t[:, ::1] rows, int64_t[::1] totals, int64_t[::1] keyed_totals,
          int64_t[::1] counts) -> int:
    """Add all tokens that have a topic; returns how many are keywords of a topic that lacks them (they are left out)."""
    cdef int64_t i, e, k, strange = 0
    with nogil:
        for i in range(words.shape[0]):
            k = z[i]
            if k == NONE:
                continue
            if keyed[i]:
                e = starts[words[i]]
                while e < starts[words[i] + 1] and of[e] != k:
                    e += 1
                if e == starts[words[i] + 1]:
                    strange += 1
                    continue
                counts[e] += 1
                keyed_totals[k] += 1
            else:
                rows[words[i], k] += 1
                totals[k] += 1
    return strange


cdef class Sweeper:
    """The tables of a sampler, and what a sweep needs."""

    cdef Tables tables
    cdef object held  # the arrays that the tables point into
    cdef const double[:, ::1] alpha
    cdef const float[::1] beta

    def __init__(self, int32_t[:, ::1] rows, int64_t[::1] totals, int64_t[::1] keyed, const int64_t[::1] starts,
                 const uint16_t[::1] of, int64_t[::1] counts, const int64_t[::1] lengths, const double[:, ::1] alpha,
                 const float[::1] beta, double beta_sum, double a, double b, double kappa):
        self.held = (rows, totals, keyed, starts, of, counts, lengths)
        self.alpha, self.beta = alpha, beta
        self.tables.rows, self.tables.width = &rows[0, 0], rows.shape[1]
        self.tables.topics = alpha.shape[1]
        self.tables.totals, self.tables.keyed = &totals[0], &keyed[0]
        self.tables.starts = &starts[0]
        self.tables.of = &of[0]
        self.tables.counts = &counts[0]
        self.tables.lengths = &lengths[0]
        self.tables.beta_sum, self.tables.a, self.tables.b, self.tables.kappa = beta_sum, a, b, kappa

    def sweep(self, const uint32_t[::1] words, const int64_t[::1] offsets, const int64_t[::1] segments, int64_t blocks,
              int64_t block, const uint32_t[::1] groups, uint16_t[::1] z, uint8_t[::1] keyed, int64_t begin, int64_t end,
              uint64_t key) -> int:
        """A new topic (and whether it is a keyword) for every token of these documents in one of the blocks of words
        (`segments` says where it begins in each document); returns how many changed."""
        return self.run(words, offsets, segments, blocks, block, groups, z, keyed, begin, end, key, None, None, None)

    def conditionals(self, const uint32_t[::1] words, const int64_t[::1] offsets, const uint32_t[::1] groups,
                     uint16_t[::1] z, uint8_t[::1] keyed, int64_t begin, int64_t end, double[:, ::1] documents,
                     double[:, ::1] by_word, double[::1] by_keyword):
        """Adds what a further sweep would draw of each of these documents' tokens, all others as they are: Σ p(z = k) of
        a document (a row each, from `begin` on), Σ p(z = k, s = 0) of a word, Σ p(z = k, s = 1) of a keyword entry. An
        array without rows is not wanted."""
        self.run(words, offsets, offsets, 0, 0, groups, z, keyed, begin, end, 0, documents, by_word, by_keyword)

    cdef int64_t run(self, const uint32_t[::1] words, const int64_t[::1] offsets, const int64_t[::1] segments,
                     int64_t blocks, int64_t block, const uint32_t[::1] groups, uint16_t[::1] z, uint8_t[::1] keyed,
                     int64_t begin, int64_t end, uint64_t key, double[:, ::1] documents, double[:, ::1] by_word,
                     double[::1] by_keyword):
        cdef Tables *t = &self.tables
        cdef int64_t d, i, k, e, w, g, at, old, new, first, extras, changed = 0, most = 1
        cdef bint was, now, soft = documents is not None
        cdef double whole, weight
        cdef tx_rng rng
        for w in range(self.beta.shape[0]):
            most = max(most, t.starts[w + 1] - t.starts[w])
        cdef Arena arena = Arena()
        cdef float *own = arena.floats(t.width)
        cdef float *prior = arena.floats(t.width)
        cdef float *c = arena.floats(t.width)
        cdef float *scratch = arena.floats(t.width)
        cdef double *extra = arena.doubles(most)
        cdef double *p = arena.doubles(t.width)
        with nogil:
            for k in range(t.topics):
                c[k] = <float> regular(t, k)
            for d in range(begin, end):
                at = d * (blocks + 1) + block
                if segments[at] == segments[at + 1]:
                    continue
                g = groups[d] if groups.shape[0] > 0 else 0
                for k in range(t.topics):
                    prior[k] = <float> self.alpha[g, k]
                    own[k] = 0
                for i in range(offsets[d], offsets[d + 1]):
                    if z[i] != NONE:
                        own[z[i]] += 1
                rng = tx_rng_seed(key + SPLIT * (<uint64_t> d + 1))
                for i in range(segments[at], segments[at + 1]):
                    w, old, was = words[i], -1 if z[i] == NONE else z[i], keyed[i]
                    if old >= 0:
                        move(t, w, old, was, -1)
                        own[old] -= 1
                        c[old] = <float> regular(t, old)
                    first = t.starts[w]
                    extras = t.starts[w + 1] - first
                    for e in range(extras):
                        k = t.of[first + e]
                        extra[e] = (<double> own[k] + <double> prior[k]) * keyed_weight(t, first + e)
                    if soft:
                        whole = 0
                        for k in range(t.topics):
                            p[k] = (<double> own[k] + <double> prior[k]) * <double> c[k]
                            p[k] *= <double> (<float> t.rows[w * t.width + k] + self.beta[w])
                            whole += p[k]
                        for e in range(extras):
                            whole += extra[e]
                        for k in range(t.topics):
                            weight = p[k] / whole
                            if documents.shape[0] > 0:
                                documents[d - begin, k] += weight
                            if by_word.shape[0] > 0:
                                by_word[w, k] += weight
                        for e in range(extras):
                            if documents.shape[0] > 0:
                                documents[d - begin, t.of[first + e]] += extra[e] / whole
                            if by_word.shape[0] > 0:
                                by_keyword[first + e] += extra[e] / whole
                        new, now = old, was
                    else:
                        new = kernel.draw(own, prior, c, t.rows + w * t.width, self.beta[w], t.width // 16, extra,
                                          extras, tx_rng_double(&rng), scratch)
                        now = new < 0
                        if now:
                            new = t.of[first - 1 - new]
                        changed += new != old or now != was
                    if new >= 0:
                        z[i] = <uint16_t> new
                        keyed[i] = now
                        move(t, w, new, now, 1)
                        own[new] += 1
                        c[new] = <float> regular(t, new)
        return changed
