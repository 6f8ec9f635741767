"""WarpLDA (Chen, Li, Zhu & Chen 2016): Metropolis-Hastings in two phases, each of which reads one side's counts only.

A sweep is a word phase, then a document phase. What it samples towards is

    p(k) ∝ (n_dk + alpha_gk) (n_kw + beta_w) / (n_k + B)

The word phase, word after word: judge the proposals that the documents made, q(k) ∝ n_dk + alpha_gk, by
(n_kw + beta_w) / (n_k + B), then propose by q(k) ∝ n_kw + beta_w: the topic of another token of the word, or any topic.
The document phase is its mirror image. Each reads the counts of one word or document, a small array made on the spot,
and the totals n_k. No matrix of counts exists: memory is one record a token (topic and proposals, two bytes each) and
the place of each word's tokens, four bytes.

What is approximate: between a proposal and its judgement the tokens of the side that made it have moved on, though the
judgement takes its density to be the current one; and n_k stands still during a phase. Words (documents) of a phase
know nothing of each other, which is why any number of them run at once. What departs from the paper: the counts of the
word or document at hand are kept current and leave the token out, as in collapsed Gibbs sampling (the paper delays
these as well, and keeps the token in); that costs next to nothing.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

import numpy as np

from topicx._kernels.gibbs.cell cimport Arena
from topicx._kernels.base.rng cimport tx_rng, tx_rng_double, tx_rng_next, tx_rng_seed
from topicx._kernels.gibbs.walker cimport walker_build, walker_draw

def index_words(const uint32_t[::1] words, const int64_t[::1] offsets, const uint32_t[::1] docs, int64_t V):
    """Where the tokens of each word stand in these documents: (start int64[V + 1], places uint32). Several paths have the
    same words: a document's are at its place less all those of the paths before."""
    cdef int64_t i, t, before, N = max(words.shape[0], 1)
    cdef uint32_t d
    start_array = np.zeros(V + 1, np.int64)
    cdef int64_t[::1] start = start_array
    for i in range(docs.shape[0]):
        d = docs[i]
        before = offsets[d] // N * N
        for t in range(offsets[d], offsets[d + 1]):
            start[words[t - before] + 1] += 1
    for i in range(V):
        start[i + 1] += start[i]
    places_array = np.empty(start[V], np.uint32)
    cdef uint32_t[::1] places = places_array
    cdef int64_t[::1] cursor = start_array.copy()
    for i in range(docs.shape[0]):
        d = docs[i]
        before = offsets[d] // N * N
        for t in range(offsets[d], offsets[d + 1]):
            places[cursor[words[t - before]]] = <uint32_t> t
            cursor[words[t - before]] += 1
    return start_array, places_array


cdef inline float chance(tx_rng *rng) noexcept nogil:
    """Uniform on [0, 1), 24 bits."""
    return <float> <int64_t> (tx_rng_next(rng) >> 40) * <float> 5.9604645e-08


cdef inline int64_t judge(const uint16_t *record, int64_t steps, float *counts, const float *prior, float smooth,
                          const float *inverse, tx_rng *rng, int64_t *tally) noexcept nogil:
    """The topic of a token after its proposals. counts leave it out; the prior is an array, or (NULL) one number."""
    cdef int64_t now = record[0], new, m
    cdef float weight_now, weight_new
    for m in range(1, steps + 1):
        new = record[m]
        if new == now:
            continue
        if prior == NULL:
            weight_now = (counts[now] + smooth) * inverse[now]
            weight_new = (counts[new] + smooth) * inverse[new]
        else:
            weight_now = (counts[now] + prior[now]) * inverse[now]
            weight_new = (counts[new] + prior[new]) * inverse[new]
        tally[0] += 1
        if chance(rng) * weight_now < weight_new:
            tally[1] += 1
            now = new
    return now


cdef inline int64_t renew(uint16_t *records, int64_t n, int64_t steps, float *counts, const float *prior, float smooth,
                          const float *inverse, int64_t *moved, tx_rng *rng, int64_t *tally) noexcept nogil:
    """Judge the n tokens of a word or a document; how many changed their topics."""
    cdef int64_t j, old, new, changed = 0
    cdef uint16_t *record
    for j in range(n):
        record = records + j * (steps + 1)
        old = record[0]
        counts[old] -= 1
        new = judge(record, steps, counts, prior, smooth, inverse, rng, tally)
        counts[new] += 1
        if new != old:
            record[0] = <uint16_t> new
            moved[old] -= 1
            moved[new] += 1
            changed += 1
    return changed


def word_phase(uint16_t[:, ::1] records, const int64_t[::1] start, const uint32_t[::1] places, int64_t first,
               int64_t last, const float[::1] beta, const int64_t[::1] seed_start, const uint16_t[::1] seed_topics,
               const int64_t[::1] seed_counts, const float[::1] inverse, int64_t[::1] moved, uint64_t key,
               int64_t[::1] tally) -> int:
    """Words first … last - 1: judge, then propose. inverse: 1 / (n_k + B). moved gains the change of n_k; returns the
    tokens that changed. The seeds' pseudo-counts are those of word w from seed_start[w] on."""
    cdef int64_t K = inverse.shape[0], steps = records.shape[1] - 1, width = steps + 1
    cdef int64_t w, i, j, k, m, n, at, longest = 0, changed = 0, pseudo
    cdef double mass, x, pick
    cdef uint16_t *record
    cdef int64_t *sums = &tally[0]
    cdef tx_rng rng = tx_rng_seed(key)
    for w in range(first, last):
        longest = max(longest, start[w + 1] - start[w])
    cdef Arena arena = Arena()
    cdef float *counts = arena.floats(K)
    cdef uint16_t *buffer = <uint16_t *> arena.room((longest + 1) * width * sizeof(uint16_t))
    with nogil:
        for w in range(first, last):
            at = start[w]
            n = start[w + 1] - at
            if n == 0:
                continue
            for j in range(n):
                record = &records[places[at + j], 0]
                for m in range(width):
                    buffer[j * width + m] = record[m]
                counts[record[0]] += 1
            pseudo = 0
            for i in range(seed_start[w], seed_start[w + 1]):
                counts[seed_topics[i]] += <float> seed_counts[i]
                pseudo += seed_counts[i]
            changed += renew(buffer, n, steps, counts, NULL, beta[w], &inverse[0], &moved[0], &rng, sums)
            mass = n + pseudo + <double> K * beta[w]
            for j in range(n):
                record = buffer + j * width
                for m in range(1, width):
                    x = tx_rng_double(&rng) * mass
                    if x < n:
                        record[m] = buffer[<int64_t> x * width]
                    elif x < n + pseudo:
                        i = seed_start[w]
                        pick = x - n
                        while i + 1 < seed_start[w + 1] and pick >= seed_counts[i]:
                            pick -= seed_counts[i]
                            i += 1
                        record[m] = seed_topics[i]
                    else:
                        k = <int64_t> ((x - n - pseudo) / beta[w])
                        record[m] = <uint16_t> (k if k < K else K - 1)
            for j in range(n):
                record = &records[places[at + j], 0]
                for m in range(width):
                    record[m] = buffer[j * width + m]
                counts[record[0]] = 0
            for i in range(seed_start[w], seed_start[w + 1]):
                counts[seed_topics[i]] = 0
    return changed


def document_phase(uint16_t[:, ::1] records, const int64_t[::1] offsets, const uint32_t[::1] docs,
                   const double[:, ::1] alpha, const uint32_t[::1] groups, const float[::1] inverse,
                   int64_t[::1] moved, uint64_t key, int64_t[::1] tally) -> int:
    """These documents: judge, then propose. The rest is as in `word_phase`."""
    cdef int64_t K = inverse.shape[0], steps = records.shape[1] - 1, width = steps + 1
    cdef int64_t i, d, j, k, m, n, changed = 0, group, current = -1
    cdef bint grouped = groups.shape[0] > 0
    cdef double mass, x, alpha_sum = 0
    cdef uint16_t *record
    cdef uint16_t *document
    cdef int64_t *sums = &tally[0]
    cdef tx_rng rng = tx_rng_seed(key)
    cdef Arena arena = Arena()
    cdef float *counts = arena.floats(K)
    cdef float *prior = arena.floats(K)
    cdef float *keep = arena.floats(K)
    cdef uint32_t *ints = arena.words(2 * K)
    cdef double *scaled = arena.doubles(K)
    with nogil:
        for i in range(docs.shape[0]):
            d = docs[i]
            n = offsets[d + 1] - offsets[d]
            if n == 0:
                continue
            group = groups[d] if grouped else 0
            if group != current:
                current = group
                for k in range(K):
                    prior[k] = <float> alpha[group, k]
                alpha_sum = walker_build(prior, K, keep, ints, scaled, ints + K)
            document = &records[offsets[d], 0]
            for j in range(n):
                counts[document[j * width]] += 1
            changed += renew(document, n, steps, counts, prior, 0, &inverse[0], &moved[0], &rng, sums)
            mass = n + alpha_sum
            for j in range(n):
                record = document + j * width
                for m in range(1, width):
                    x = tx_rng_double(&rng) * mass
                    if x < n:
                        record[m] = document[<int64_t> x * width]
                    else:
                        record[m] = <uint16_t> walker_draw(keep, ints, K, (x - n) / alpha_sum)
                counts[record[0]] = 0
    return changed
