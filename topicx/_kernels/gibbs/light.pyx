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

import numpy as np

from topicx._kernels.gibbs.cell cimport Cell, count_topics, inverse_of
from topicx._kernels.gibbs.gathers cimport tx_gathers, tx_gathers_choose
from topicx._kernels.base.portable cimport tx_prefetch
from topicx._kernels.base.rng cimport tx_rng, tx_rng_double, tx_rng_next, tx_rng_seed
from topicx._kernels.gibbs.rows cimport DENSE, row_add, row_remove
from topicx._kernels.gibbs.walker cimport walker_build, walker_draw

cdef const tx_gathers *gathers = tx_gathers_choose()

cdef enum:
    RUN = 32  # tokens whose proposals are drawn together


cdef struct Work:
    # The cell's arrays, and the document at hand: z[begin] … z[end - 1], which stand in `assigned` from `shift` on.
    const uint32_t *words
    uint16_t *assigned
    const int64_t *row_start
    uint32_t *row_cells
    int32_t *row_len
    int topic_bits
    int64_t *totals
    const float *beta
    double beta_sum
    int64_t topics
    const int64_t *word_start
    const uint32_t *word_places
    uint16_t *z
    int64_t shift
    int64_t begin
    uint32_t own            # the document's tokens
    int32_t *counts         # n_dk
    const float *prior
    float alpha_sum         # of the prior, and its Walker table
    float *keep
    uint32_t *other
    float *inverse          # 1 / (n_k + B)
    # Per step of a token in the run: what the word proposes (a place in `assigned`, or -1 - topic), what the document
    # does (a token, or -1 - topic), and a number for each acceptance.
    int64_t steps
    int64_t *by_word
    int64_t *by_doc
    float *chance
    tx_rng rng
    int64_t changed
    int64_t tally[4]


cdef inline float word_weight(const uint32_t *row, int32_t length, int bits, int64_t topic) noexcept nogil:
    """n_kw."""
    if length == DENSE:
        return <float> <int32_t> row[topic]
    return <float> <int32_t> gathers.count(row, length, bits, <uint32_t> topic)


def index_words(const uint32_t[::1] words, const uint32_t[::1] seed_words, const int64_t[::1] seed_counts, int64_t V,
                int64_t paths=1):
    """Where the tokens of each word stand, path after path: (start int64[V + 1], places uint32).

    Seed words' pseudo-counts are tokens too: they stand behind the real ones, seed after seed.
    """
    cdef int64_t N = words.shape[0], t, i, j, at, m
    start_array = np.zeros(V + 1, np.int64)
    cdef int64_t[::1] start = start_array
    for t in range(N):
        start[words[t] + 1] += paths
    for i in range(seed_words.shape[0]):
        start[seed_words[i] + 1] += seed_counts[i]
    for i in range(V):
        start[i + 1] += start[i]
    places_array = np.empty(start[V], np.uint32)
    cdef uint32_t[::1] places = places_array
    cdef int64_t[::1] cursor = start_array.copy()
    for m in range(paths):
        for t in range(N):
            places[cursor[words[t]]] = <uint32_t> (m * N + t)
            cursor[words[t]] += 1
    at = paths * N
    for i in range(seed_words.shape[0]):
        for j in range(seed_counts[i]):
            places[cursor[seed_words[i]]] = <uint32_t> at
            cursor[seed_words[i]] += 1
            at += 1
    return start_array, places_array


cdef inline void propose(Work *s, int64_t begin, int64_t end) noexcept nogil:
    """Draw whom the tokens begin … end - 1 ask, and ask for the memory."""
    cdef int64_t t, m, k, slot = 0, at, K = s.topics
    cdef uint32_t w, own = s.own, others
    cdef double mass, x
    cdef uint64_t bits
    cdef tx_rng rng = s.rng
    cdef int64_t *by_word = s.by_word
    cdef int64_t *by_doc = s.by_doc
    cdef float *chance = s.chance
    for t in range(begin, end):
        w = s.words[t]
        tx_prefetch(&s.row_cells[s.row_start[w]])
        at = s.word_start[w]
        others = <uint32_t> (s.word_start[w + 1] - at) - 1
        mass = others + <double> K * s.beta[w]
        for m in range(s.steps):
            x = tx_rng_double(&rng) * mass
            if x < others:
                # Any token of the word; if it is this one, any other in its stead (drawn when it is used).
                by_word[slot] = at + <int64_t> x
                tx_prefetch(&s.word_places[by_word[slot]])
            else:
                k = <int64_t> ((x - others) / s.beta[w])
                by_word[slot] = -1 - (k if k < K else K - 1)
            x = tx_rng_double(&rng) * (own - 1 + <double> s.alpha_sum)
            if x < own - 1:
                k = s.begin + <int64_t> x
                by_doc[slot] = k if k < t else k + 1
            else:
                by_doc[slot] = -1 - walker_draw(s.keep, s.other, K, tx_rng_double(&rng))
            bits = tx_rng_next(&rng)
            chance[2 * slot] = <float> <int32_t> (bits >> 40) * <float> 5.9604645e-08  # 2^-24
            chance[2 * slot + 1] = <float> <int32_t> ((bits & 0xFFFFFF)) * <float> 5.9604645e-08
            slot += 1
    s.rng = rng
    slot = 0
    for t in range(begin, end):
        w = s.words[t]
        for m in range(s.steps):
            if by_word[slot] >= 0:
                # x was below length - 1: the last token of the word stands in for this one.
                k = s.word_places[by_word[slot]]
                if k == t + s.shift:
                    k = s.word_places[s.word_start[w + 1] - 1]
                by_word[slot] = k
                tx_prefetch(&s.assigned[k])
            if s.row_len[w] == DENSE and by_doc[slot] >= 0:
                tx_prefetch(&s.row_cells[s.row_start[w] + s.z[by_doc[slot]]])
            slot += 1


cdef inline void judge(Work *s, int64_t begin, int64_t end) noexcept nogil:
    """Accept or not, token after token: a word's proposal by documents and totals, a document's by words and totals."""
    cdef int64_t t, m, old, now, new, slot = 0, steps = s.steps
    cdef int64_t word_named = 0, word_accepted = 0, doc_named = 0, doc_accepted = 0
    cdef uint32_t w
    cdef uint32_t *row
    cdef float inverse_less, q_now, q_new
    cdef uint16_t *z = s.z
    cdef uint16_t *assigned = s.assigned
    cdef const int64_t *by_word = s.by_word
    cdef const int64_t *by_doc = s.by_doc
    cdef const float *chance = s.chance
    cdef const float *prior = s.prior
    cdef const float *beta = s.beta
    cdef float *inverse = s.inverse
    cdef int32_t *counts = s.counts
    cdef int64_t *totals = s.totals
    cdef int32_t *row_len = s.row_len
    cdef int topic_bits = s.topic_bits
    for t in range(begin, end):
        w = s.words[t]
        row = &s.row_cells[s.row_start[w]]
        old = now = z[t]
        inverse_less = inverse_of(totals[old] - 1, s.beta_sum)
        for m in range(steps):
            new = assigned[by_word[slot]] if by_word[slot] >= 0 else -1 - by_word[slot]
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
            s.changed += 1
            row_remove(row, &row_len[w], topic_bits, <uint32_t> old)
            row_add(row, &row_len[w], topic_bits, <uint32_t> now, 1)
            totals[old] -= 1
            totals[now] += 1
            inverse[old] = inverse_less
            inverse[now] = inverse_of(totals[now], s.beta_sum)
            counts[old] -= 1
            counts[now] += 1
            z[t] = <uint16_t> now
    s.tally[0] += word_named
    s.tally[1] += word_accepted
    s.tally[2] += doc_named
    s.tally[3] += doc_accepted


def sweep(Cell cell not None, const uint32_t[::1] documents, int64_t block, uint64_t key) -> int:
    """Renew every token of the cell (see cell.pxd) by cell.steps cycles. Every token is placed, and behind the paths
    cell.assigned holds the topics of the seeds' pseudo-tokens; cell.word_start and cell.word_places are of
    `index_words`. The tally gains word proposals and their acceptances, then those of documents."""
    cdef int64_t K = cell.totals.shape[0], k, t, begin
    cdef Work s
    if not cell.start(documents, block):
        return 0
    cdef uint32_t *stack = cell.arena.words(K)
    cdef double *scaled = cell.arena.doubles(K)
    s.words, s.assigned, s.beta, s.beta_sum = &cell.words[0], &cell.assigned[0], &cell.beta[0], cell.beta_sum
    s.row_start, s.row_cells, s.row_len = &cell.row_start[0], &cell.row_cells[0], &cell.row_len[0]
    s.topic_bits, s.totals, s.topics, s.steps = cell.topic_bits, &cell.totals[0], K, cell.steps
    s.word_start, s.word_places = &cell.word_start[0], &cell.word_places[0]
    s.prior = cell.prior
    s.keep, s.inverse, s.other = cell.arena.floats(K), cell.arena.floats(K), cell.arena.words(K)
    s.counts = cell.arena.ints(K)
    s.by_word, s.by_doc = cell.arena.longs(RUN * s.steps), cell.arena.longs(RUN * s.steps)
    s.chance = cell.arena.floats(2 * RUN * s.steps)
    s.rng = tx_rng_seed(key)
    s.changed = 0
    s.alpha_sum = 0
    for k in range(4):
        s.tally[k] = 0
    with nogil:
        for k in range(K):
            s.inverse[k] = inverse_of(s.totals[k], s.beta_sum)
        while cell.next():
            s.z, s.shift, s.begin, s.own = cell.z, cell.shift, cell.begin, <uint32_t> (cell.end - cell.begin)
            if cell.regrouped:
                s.alpha_sum = <float> walker_build(cell.prior, K, s.keep, s.other, scaled, stack)
            count_topics(s.z, cell.begin, cell.end, s.counts)
            begin = cell.first
            while begin < cell.last:
                propose(&s, begin, min(begin + RUN, cell.last))
                judge(&s, begin, min(begin + RUN, cell.last))
                begin += RUN
            for t in range(cell.begin, cell.end):
                s.counts[s.z[t]] = 0
    for k in range(4):
        cell.tally[k] += s.tally[k]
    return s.changed
