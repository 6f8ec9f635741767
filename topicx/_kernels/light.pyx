"""LightLDA's cycle (Yuan et al. 2015): document and word proposals by turns, each accepted or not, O(1) a step.

    target      p(k) ∝ (n_dk + alpha_gk) (n_kw + beta_w) / (n_k + B)                   the token left out of all counts
    document    q(k) ∝ n_dk + alpha_gk: the topic of another token of the document, or a draw from alpha's Walker table
    word        q(k) ∝ n_kw + beta_w:   the topic of another token of the word, or any topic

What departs from the paper: there, words propose from stale tables, whose density must be kept for the correction. Here
a word proposes as a document does, by the topic that another of its tokens, drawn at random, has right now: no table,
never stale, and as the density is n_kw + beta_w exactly, it cancels: a word proposal is judged by documents and totals
alone, a document proposal by words and totals alone. Given the other tokens, neither proposal depends on where the
token is: each step is a Metropolis-Hastings step that leaves the posterior as it is.

Which tokens are asked is drawn for a run of tokens ahead, so that memory is fetched before it is used.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from topicx._kernels.rng cimport tx_rng, tx_rng_double, tx_rng_next, tx_rng_seed
from topicx._kernels.rows cimport DENSE, row_add, row_remove
from topicx._kernels.walker cimport walker_build, walker_draw

cdef extern from "clones.h" nogil:
    uint32_t tx_sparse_count(const uint32_t *row, int64_t length, int bits, uint32_t topic) noexcept

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define tx_prefetch(p) __builtin_prefetch((p), 0, 3)
    #else
    #define tx_prefetch(p) ((void)(p))
    #endif
    """
    void tx_prefetch(const void *p) noexcept nogil

cdef enum:
    RUN = 32  # tokens whose proposals are drawn together


cdef inline float word_weight(const uint32_t *row, int32_t length, int bits, int64_t topic) noexcept nogil:
    """n_kw."""
    if length == DENSE:
        return <float> <int32_t> row[topic]
    return <float> <int32_t> tx_sparse_count(row, length, bits, <uint32_t> topic)


cdef inline uint32_t below(uint32_t bits, uint32_t n) noexcept nogil:
    """32 random bits to a number below n (n is far from 2^32: the bias is below n / 2^32)."""
    return <uint32_t> ((<uint64_t> bits * n) >> 32)


def index_words(const uint32_t[::1] words, const uint32_t[::1] seed_words, const int64_t[::1] seed_counts, int64_t V):
    """Where the tokens of each word stand: (start int64[V + 1], places uint32).

    Seed words' pseudo-counts are tokens too: they stand behind the real ones, seed after seed.
    """
    cdef int64_t N = words.shape[0], t, i, j, at
    start_array = np.zeros(V + 1, np.int64)
    cdef int64_t[::1] start = start_array
    for t in range(N):
        start[words[t] + 1] += 1
    for i in range(seed_words.shape[0]):
        start[seed_words[i] + 1] += seed_counts[i]
    for i in range(V):
        start[i + 1] += start[i]
    places_array = np.empty(start[V], np.uint32)
    cdef uint32_t[::1] places = places_array
    cdef int64_t[::1] cursor = start_array.copy()
    for t in range(N):
        places[cursor[words[t]]] = <uint32_t> t
        cursor[words[t]] += 1
    at = N
    for i in range(seed_words.shape[0]):
        for j in range(seed_counts[i]):
            places[cursor[seed_words[i]]] = <uint32_t> at
            cursor[seed_words[i]] += 1
            at += 1
    return start_array, places_array


def sweep_cell(const uint32_t[::1] words, uint16_t[::1] z, const int64_t[::1] offsets, const int64_t[::1] segments,
               int n_blocks, const uint32_t[::1] docs, int block, const int64_t[::1] row_start,
               uint32_t[::1] row_cells, int32_t[::1] row_len, int topic_bits, int64_t[::1] totals,
               const double[:, ::1] alpha, const uint32_t[::1] groups, const float[::1] beta, double beta_sum,
               uint64_t key, const int64_t[::1] word_start, const uint32_t[::1] word_places, int steps,
               int64_t[::1] tally) -> int:
    """As `topicx._kernels.dense.sweep_cell`, with every token placed. z goes on behind the tokens with the topics of
    the seeds' pseudo-tokens; word_start and word_places are `index_words`. steps: cycles a token. tally gains: word
    proposals that name another topic, how many of them were accepted, and the same two for document proposals.
    """
    cdef int64_t K = totals.shape[0], n_docs = docs.shape[0], changed = 0
    cdef int64_t i, d, t, m, k, first, last, begin, end, group, current = -1, old, now, new, slot
    cdef uint32_t w, own, length, others
    cdef uint32_t *row
    cdef bint grouped = groups.shape[0] > 0
    cdef float inverse_less, q_now, q_new, alpha_sum = 0, weight
    cdef double mass, x
    cdef uint64_t bits
    cdef tx_rng rng = tx_rng_seed(key)
    # Per step of a token in the run: the word's proposal (a place in word_places, or -1 - topic), the document's, and
    # a number for each acceptance.
    cdef int64_t *by_word = <int64_t *> malloc(RUN * steps * 2 * sizeof(int64_t))
    cdef float *chance = <float *> malloc(RUN * steps * 2 * sizeof(float))
    cdef float *floats = <float *> malloc(K * 3 * sizeof(float))
    cdef uint32_t *ints = <uint32_t *> malloc(K * 3 * sizeof(uint32_t))
    cdef double *scaled = <double *> malloc(K * sizeof(double))
    if by_word == NULL or chance == NULL or floats == NULL or ints == NULL or scaled == NULL:
        free(by_word)
        free(chance)
        free(floats)
        free(ints)
        free(scaled)
        raise MemoryError
    cdef int64_t *by_doc = by_word + RUN * steps
    cdef float *inverse = floats
    cdef float *prior = floats + K
    cdef float *keep = floats + 2 * K
    cdef uint32_t *other = ints
    cdef uint32_t *stack = ints + K
    cdef int32_t *counts = <int32_t *> (ints + 2 * K)
    cdef int64_t word_named = 0, word_accepted = 0, doc_named = 0, doc_accepted = 0
    with nogil:
        for k in range(K):
            inverse[k] = <float> (1.0 / (<double> totals[k] + beta_sum))
        memset(counts, 0, K * sizeof(int32_t))
        for i in range(n_docs):
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
                alpha_sum = <float> walker_build(prior, K, keep, other, scaled, stack)
            own = <uint32_t> (offsets[d + 1] - offsets[d])
            for t in range(offsets[d], offsets[d + 1]):
                counts[z[t]] += 1
            begin = first
            while begin < last:
                end = min(begin + RUN, last)
                slot = 0
                for t in range(begin, end):
                    w = words[t]
                    tx_prefetch(&row_cells[row_start[w]])
                    length = <uint32_t> (word_start[w + 1] - word_start[w])
                    others = length - 1
                    mass = others + <double> K * beta[w]
                    for m in range(steps):
                        x = tx_rng_double(&rng) * mass
                        if x < others:
                            # Any token of the word; if it is this one, any other in its stead (drawn when it is used).
                            by_word[slot] = word_start[w] + <int64_t> x
                            tx_prefetch(&word_places[by_word[slot]])
                        else:
                            k = <int64_t> ((x - others) / beta[w])
                            by_word[slot] = -1 - (k if k < K else K - 1)
                        x = tx_rng_double(&rng) * (own - 1 + <double> alpha_sum)
                        if x < own - 1:
                            k = offsets[d] + <int64_t> x
                            by_doc[slot] = k if k < t else k + 1
                        else:
                            by_doc[slot] = -1 - walker_draw(keep, other, K, tx_rng_double(&rng))
                        bits = tx_rng_next(&rng)
                        chance[2 * slot] = <float> <int32_t> (bits >> 40) * <float> 5.9604645e-08  # 2^-24
                        chance[2 * slot + 1] = <float> <int32_t> ((bits & 0xFFFFFF)) * <float> 5.9604645e-08
                        slot += 1
                slot = 0
                for t in range(begin, end):
                    w = words[t]
                    for m in range(steps):
                        if by_word[slot] >= 0:
                            # x was below length - 1: the last token of the word stands in for this one.
                            k = word_places[by_word[slot]]
                            if k == t:
                                k = word_places[word_start[w + 1] - 1]
                            by_word[slot] = k
                            tx_prefetch(&z[k])
                        if row_len[w] == DENSE and by_doc[slot] >= 0:
                            tx_prefetch(&row_cells[row_start[w] + z[by_doc[slot]]])
                        slot += 1
                slot = 0
                for t in range(begin, end):
                    w = words[t]
                    row = &row_cells[row_start[w]]
                    old = now = z[t]
                    inverse_less = <float> (1.0 / (<double> (totals[old] - 1) + beta_sum))
                    for m in range(steps):
                        new = z[by_word[slot]] if by_word[slot] >= 0 else -1 - by_word[slot]
                        if new != now:
                            word_named += 1
                            q_new = (prior[new] + <float> (counts[new] - (new == old))) * \
                                (inverse_less if new == old else inverse[new])
                            q_now = (prior[now] + <float> (counts[now] - (now == old))) * \
                                (inverse_less if now == old else inverse[now])
                            if chance[2 * slot] * q_now < q_new:
                                word_accepted += 1
                                now = new
                        new = z[by_doc[slot]] if by_doc[slot] >= 0 else -1 - by_doc[slot]
                        if new != now:
                            doc_named += 1
                            q_new = (word_weight(row, row_len[w], topic_bits, new) - (new == old) + beta[w]) * \
                                (inverse_less if new == old else inverse[new])
                            q_now = (word_weight(row, row_len[w], topic_bits, now) - (now == old) + beta[w]) * \
                                (inverse_less if now == old else inverse[now])
                            if chance[2 * slot + 1] * q_now < q_new:
                                doc_accepted += 1
                                now = new
                        slot += 1
                    if now != old:
                        changed += 1
                        row_remove(row, &row_len[w], topic_bits, <uint32_t> old)
                        row_add(row, &row_len[w], topic_bits, <uint32_t> now, 1)
                        totals[old] -= 1
                        totals[now] += 1
                        inverse[old] = inverse_less
                        inverse[now] = <float> (1.0 / (<double> totals[now] + beta_sum))
                        counts[old] -= 1
                        counts[now] += 1
                        z[t] = <uint16_t> now
                begin = end
            for t in range(offsets[d], offsets[d + 1]):
                counts[z[t]] = 0
    tally[0] += word_named
    tally[1] += word_accepted
    tally[2] += doc_named
    tally[3] += doc_accepted
    free(by_word)
    free(chance)
    free(floats)
    free(ints)
    free(scaled)
    return changed
