"""The Dirichlet-multinomial mixture (Nigam et al. 2000; Yin & Wang 2014): one topic a document.

    p(z_d = k | all others) ∝ (m_k + alpha_k) Π_i (n_{k w_i} + beta_{w_i} + j_i) / (n_k + B + i),    i = 0 … N_d - 1

m_k, n_kw and n_k count the other documents, and j_i says how often w_i has occurred before in the document itself. All
topics of a document are weighed together, 16 at a time (mixture_body.h), so that a row of counts has all topics of a
word: ceil16(K) numbers. Documents come one after another. Each has a stream of its own.

A sweep may be given some documents, and the runs of 16 topics that are open to them. Then each takes one of these,
which is a draw from its full conditional distribution within them. Two calls that share no topic read and write nothing
in common but the words.
"""

from libc.math cimport ldexp
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from topicx._kernels.base.rng cimport tx_rng, tx_rng_double, tx_rng_seed
from topicx._kernels.base.portable cimport tx_prefetch
from topicx._kernels.gibbs.cell cimport Arena


cdef extern from "mixture.h" nogil:
    ctypedef struct tx_mixture:
        int64_t (*draw)(const int32_t *rows, int64_t width, const uint32_t *words, const float *prior, int64_t n,
                        const float *sizes, const float *totals, int64_t topics, const int32_t *open, int64_t chunks,
                        double u, float *weights, int32_t *powers, float *scratch) noexcept nogil
    const tx_mixture *tx_mixture_choose() noexcept

cdef enum:
    MOST = 32  # words of the next document whose rows are fetched while this one is weighed

cdef const tx_mixture *kernel = tx_mixture_choose()
cdef uint64_t SPLIT = 0x9E3779B97F4A7C15
cdef uint16_t NONE = 0xFFFF


cdef void add(int32_t *rows, const uint32_t *words, int64_t n, int64_t width, int64_t topic, int32_t sign) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        rows[<int64_t> words[i] * width + topic] += sign


def count(const uint32_t[::1] words, const int64_t[::1] offsets, const uint16_t[::1] z, int32_t[:, ::1] rows,
          int64_t[::1] totals, int64_t[::1] sizes):
    """Add the documents that have a topic to n_kw, n_k and m_k; empty ones have none."""
    cdef int64_t d, n
    with nogil:
        for d in range(z.shape[0]):
            n = offsets[d + 1] - offsets[d]
            if n > 0 and z[d] != NONE:
                add(&rows[0, 0], &words[offsets[d]], n, rows.shape[1], z[d], 1)
                totals[z[d]] += n
                sizes[z[d]] += 1


def earlier(const uint32_t[::1] words, const int64_t[::1] offsets, uint32_t[::1] last, uint32_t[::1] seen,
            float[::1] found):
    """found[i] = how often the word of token i has occurred before in its document. last: a number a word that no
    document has (their numbers, from 1, are put there); seen: room for as many."""
    cdef int64_t d, i
    cdef uint32_t w
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                w = words[i]
                if last[w] != <uint32_t> (d + 1):
                    last[w] = <uint32_t> (d + 1)
                    seen[w] = 0
                found[i] = <float> seen[w]
                seen[w] += 1


cdef inline void fetch(const int32_t *rows, int64_t width, const uint32_t *words, int64_t n, const int32_t *chunks,
                       int64_t number) noexcept nogil:
    """Ask for the rows of a document whose turn is next: they are all over the table, which no cache holds."""
    cdef int64_t i, c
    for i in range(min(n, MOST)):
        for c in range(number):
            tx_prefetch(rows + <int64_t> words[i] * width + 16 * chunks[c])


def sweep(const uint32_t[::1] words, const int64_t[::1] offsets, const float[::1] before, const double[::1] alpha,
          const float[::1] beta, double beta_sum, uint16_t[::1] z, int32_t[:, ::1] rows, int64_t[::1] totals,
          int64_t[::1] sizes, const uint32_t[::1] documents, const int32_t[::1] chunks, uint64_t key) -> int:
    """A new topic for each of these documents, all with words, in their order, among the topics of these runs of 16 (in
    one of which it has its own, if it has any); returns how many changed."""
    cdef int64_t at, d, i, c, n, k, first, old, new, changed = 0, longest = 1
    cdef int64_t topics = alpha.shape[0], width = rows.shape[1], number = chunks.shape[0]
    cdef tx_rng rng
    for at in range(documents.shape[0]):
        d = documents[at]
        longest = max(longest, offsets[d + 1] - offsets[d])
    cdef Arena arena = Arena()
    cdef float *prior = arena.floats(longest)
    cdef float *total = arena.floats(width)
    cdef float *size = arena.floats(width)
    cdef float *weights = arena.floats(16 * number)
    cdef float *scratch = arena.floats(16 * number)
    cdef int32_t *powers = arena.ints(16 * number)
    with nogil:
        for c in range(number):
            for k in range(16 * chunks[c], 16 * chunks[c] + 16):
                total[k] = <float> (beta_sum + <double> totals[k]) if k < topics else 1
                size[k] = <float> (alpha[k] + <double> sizes[k]) if k < topics else 1
        for at in range(documents.shape[0]):
            d = documents[at]
            first, n = offsets[d], offsets[d + 1] - offsets[d]
            old = -1 if z[d] == NONE else z[d]
            if old >= 0:
                add(&rows[0, 0], &words[first], n, width, old, -1)
                totals[old] -= n
                sizes[old] -= 1
                total[old] = <float> (beta_sum + <double> totals[old])
                size[old] = <float> (alpha[old] + <double> sizes[old])
            for i in range(n):
                prior[i] = beta[words[first + i]] + before[first + i]
            if at + 1 < documents.shape[0]:
                i = documents[at + 1]
                fetch(&rows[0, 0], width, &words[0] + offsets[i], offsets[i + 1] - offsets[i], &chunks[0], number)
            rng = tx_rng_seed(key + SPLIT * (<uint64_t> d + 1))
            new = kernel.draw(&rows[0, 0], width, &words[first], prior, n, size, total, topics, &chunks[0], number,
                              tx_rng_double(&rng), weights, powers, scratch)
            if new < 0:  # no weight at all: it stays
                new = old if old >= 0 else 16 * chunks[0]
            changed += new != old
            z[d] = <uint16_t> new
            add(&rows[0, 0], &words[first], n, width, new, 1)
            totals[new] += n
            sizes[new] += 1
            total[new] = <float> (beta_sum + <double> totals[new])
            size[new] = <float> (alpha[new] + <double> sizes[new])
    return changed


def conditionals(const uint32_t[::1] words, const int64_t[::1] offsets, const float[::1] before,
                 const double[::1] alpha, const float[::1] beta, double beta_sum, const uint16_t[::1] z,
                 int32_t[:, ::1] rows, int64_t[::1] totals, int64_t[::1] sizes, int64_t begin, int64_t end,
                 double[:, ::1] out):
    """out[d - begin, k] = p(z_d = k | all others) of these documents; of an empty one the prior. The counts are
    afterwards as they were."""
    cdef int64_t d, i, n, k, first, own, longest = 1
    cdef int64_t topics = alpha.shape[0], width = rows.shape[1]
    cdef int32_t most
    cdef double whole
    for d in range(begin, end):
        longest = max(longest, offsets[d + 1] - offsets[d])
    cdef Arena arena = Arena()
    cdef float *prior = arena.floats(longest)
    cdef float *total = arena.floats(width)
    cdef float *size = arena.floats(width)
    cdef float *weights = arena.floats(width)
    cdef float *scratch = arena.floats(width)
    cdef int32_t *powers = arena.ints(width)
    cdef int32_t *open = arena.ints(width // 16)
    with nogil:
        for k in range(width // 16):
            open[k] = <int32_t> k
        for d in range(begin, end):
            first, n = offsets[d], offsets[d + 1] - offsets[d]
            own = z[d] if n > 0 and z[d] != NONE else -1
            if own >= 0:
                add(&rows[0, 0], &words[first], n, width, own, -1)
            for k in range(width):
                total[k] = <float> (beta_sum + <double> (totals[k] - (n if k == own else 0))) if k < topics else 1
                size[k] = <float> (alpha[k] + <double> (sizes[k] - (k == own))) if k < topics else 1
            for i in range(n):
                prior[i] = beta[words[first + i]] + before[first + i]
            kernel.draw(&rows[0, 0], width, &words[0] + first, prior, n, size, total, topics, open, width // 16, 0.5,
                        weights, powers, scratch)
            if own >= 0:
                add(&rows[0, 0], &words[first], n, width, own, 1)
            most = powers[0]
            for k in range(topics):
                most = max(most, powers[k])
            whole = 0
            for k in range(topics):
                out[d - begin, k] = ldexp(<double> weights[k], max(powers[k] - most, -1000))
                whole += out[d - begin, k]
            for k in range(topics):
                out[d - begin, k] /= whole
