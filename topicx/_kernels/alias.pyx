"""AliasLDA (Li, Ahmed, Ravi & Smola 2014): a document's own topics exactly, the rest by stale Walker tables.

    target    p(k) = (n_dk + alpha_gk) c_k,   c_k = (n_kw + beta_w) / (n_k + B)        the token left out of all counts
    proposal  q(k) = n_dk c_k  +  (m_kw + beta_w) s_k,   s_k = alpha_k / (m_k + B)      alpha: the mean over the groups

The first part is summed afresh for every token over the document's topics. The second is drawn from Walker tables of
the word (m_kw s_k) and of all topics (s_k), which hold older counts m. A proposal t from topic s is accepted with
probability min(1, p(t) q(s) / (p(s) q(t))).

What departs from the paper: which older counts. A table made from the running chain's counts knows where the token
was when it was made, and then the correction is not quite one: the chain has another stationary distribution (on a
tiny corpus, visibly so). Here a cell's documents are cut into batches, and the tables of a batch are made without the
batch's own tokens. While the batch is sampled they depend on nothing that moves, so that every step is a proper
Metropolis-Hastings step. The tables live as long as their batch: there is no state to keep.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from topicx._kernels.gathers cimport tx_gathers, tx_gathers_choose
from topicx._kernels.rng cimport tx_rng, tx_rng_double, tx_rng_seed
from topicx._kernels.rows cimport DENSE, row_add, row_remove
from topicx._kernels.walker cimport walker_build, walker_draw

cdef extern from "alias.h" nogil:
    uint32_t tx_sparse_count(const uint32_t *row, int64_t length, int bits, uint32_t topic) noexcept
    int64_t tx_document_find(const float *sums, const float *ends, int64_t chunks, float r) noexcept

cdef const tx_gathers *gathers = tx_gathers_choose()

cdef enum:
    NO_TABLE = -1


cdef bint complete(void **memory, int n) noexcept nogil:
    cdef int i
    for i in range(n):
        if memory[i] == NULL:
            return False
    return True


cdef void release(void **memory, int n) noexcept nogil:
    cdef int i
    for i in range(n):
        free(memory[i])


def table(const float[::1] weights):
    """Walker's table of these weights: (keep, other, their sum). What the tests look at."""
    cdef int64_t n = weights.shape[0]
    keep_array, other_array = np.empty(n, np.float32), np.empty(n, np.uint32)
    cdef float[::1] keep = keep_array
    cdef uint32_t[::1] other = other_array
    cdef double[::1] scaled = np.empty(n)
    cdef uint32_t[::1] stack = np.empty(n, np.uint32)
    return keep_array, other_array, walker_build(&weights[0], n, &keep[0], &other[0], &scaled[0], &stack[0])


def draw(const float[::1] keep, const uint32_t[::1] other, double u) -> int:
    """The number that u falls on in a table."""
    return walker_draw(&keep[0], &other[0], keep.shape[0], u)


def sweep_batch(const uint32_t[::1] words, uint16_t[::1] z, const int64_t[::1] offsets, const int64_t[::1] segments,
                int n_blocks, const uint32_t[::1] docs, int block, const int64_t[::1] row_start,
                uint32_t[::1] row_cells, int32_t[::1] row_len, int topic_bits, int64_t[::1] totals,
                const double[:, ::1] alpha, const uint32_t[::1] groups, const float[::1] beta, double beta_sum,
                uint64_t key, int steps, int32_t[::1] table_of, int64_t[::1] tally) -> int:
    """As `topicx._kernels.dense.sweep_cell`, over one batch of a cell's documents, with every token placed.

    steps: proposals a token. table_of: room for a number a word, all NO_TABLE (-1), and left so. tally gains: the
    proposals that name another topic, how many of them were accepted.
    """
    cdef int64_t K = totals.shape[0], padded = (K + 15) // 16 * 16, n_docs = docs.shape[0], changed = 0
    cdef int64_t i, j, k, d, m, t, first, last, group, current = -1, old, now, new, chunks, size, place
    cdef int64_t n_tables = 0, cells = 0, named = 0, accepted = 0
    cdef uint32_t w, mask = (<uint32_t> 1 << topic_bits) - 1, most = (<uint32_t> 1 << (32 - topic_bits)) - 1
    cdef uint32_t count
    cdef uint32_t *row
    cdef uint32_t *by_topic
    cdef bint grouped = groups.shape[0] > 0
    cdef float smooth_sum, own, inverse_old, inverse_less, p_now, p_new, q_now, q_new, stale_word
    cdef double x, mass
    cdef tx_rng rng = tx_rng_seed(key)
    cdef float *floats = <float *> malloc(padded * 6 * sizeof(float))
    cdef uint32_t *ints = <uint32_t *> malloc(padded * 7 * sizeof(uint32_t))
    cdef double *scaled = <double *> malloc(padded * sizeof(double))
    cdef int64_t batch_tokens = 0
    for i in range(n_docs):
        d = docs[i]
        batch_tokens += segments[d * (n_blocks + 1) + block + 1] - segments[d * (n_blocks + 1) + block]
    # One entry per word with a table: the word, where its table begins, its length and its sum.
    cdef int64_t distinct = min(batch_tokens, <int64_t> row_len.shape[0]) + 1
    cdef uint32_t *table_word = <uint32_t *> malloc(distinct * sizeof(uint32_t))
    cdef int64_t *table_start = <int64_t *> malloc(distinct * sizeof(int64_t))
    cdef int32_t *table_len = <int32_t *> malloc(distinct * sizeof(int32_t))
    cdef float *table_sum = <float *> malloc(distinct * sizeof(float))
    cdef uint32_t *stale = NULL  # packed entries, as in a sparse row
    cdef float *keep = NULL
    cdef uint32_t *other = NULL
    cdef float ends[16]
    cdef void *memory[10]
    memory[:] = [floats, ints, scaled, table_word, table_start, table_len, table_sum, NULL, NULL, NULL]
    if not complete(memory, 7):
        release(memory, 7)
        raise MemoryError
    cdef float *inverse = floats
    cdef float *prior = floats + padded
    cdef float *smooth = floats + 2 * padded
    cdef float *smooth_keep = floats + 3 * padded
    cdef float *weights = floats + 4 * padded
    cdef float *sums = floats + 5 * padded
    cdef uint32_t *smooth_other = ints
    cdef uint32_t *stack = ints + padded
    cdef uint32_t *spread = ints + 2 * padded
    cdef uint32_t *listed = ints + 3 * padded  # the document's topics,
    cdef int32_t *counts = <int32_t *> (ints + 4 * padded)  # their counts,
    cdef uint32_t *position = ints + 5 * padded  # where a topic stands in the list,
    cdef int32_t *in_doc = <int32_t *> (ints + 6 * padded)  # and n_dk by topic
    with nogil:
        memset(floats, 0, padded * 6 * sizeof(float))
        memset(ints, 0, padded * 7 * sizeof(uint32_t))
        for i in range(n_docs):  # the batch leaves the counts
            d = docs[i]
            for t in range(segments[d * (n_blocks + 1) + block], segments[d * (n_blocks + 1) + block + 1]):
                w = words[t]
                row_remove(&row_cells[row_start[w]], &row_len[w], topic_bits, z[t])
                totals[z[t]] -= 1
        for k in range(K):
            for i in range(alpha.shape[0]):
                smooth[k] += <float> (alpha[i, k] / alpha.shape[0])
            smooth[k] = <float> (smooth[k] / (<double> totals[k] + beta_sum))
        smooth_sum = <float> walker_build(smooth, K, smooth_keep, smooth_other, scaled, stack)
        for i in range(n_docs):
            d = docs[i]
            for t in range(segments[d * (n_blocks + 1) + block], segments[d * (n_blocks + 1) + block + 1]):
                w = words[t]
                if table_of[w] == NO_TABLE:
                    table_of[w] = <int32_t> n_tables
                    table_word[n_tables] = w
                    table_start[n_tables] = cells
                    size = row_len[w]
                    if size == DENSE:
                        size = 0
                        for k in range(K):
                            size += row_cells[row_start[w] + k] != 0
                    table_len[n_tables] = <int32_t> size
                    cells += (size + 15) // 16 * 16
                    n_tables += 1
        stale = <uint32_t *> malloc((cells + 1) * sizeof(uint32_t))
        keep = <float *> malloc((cells + 1) * sizeof(float))
        other = <uint32_t *> malloc((cells + 1) * sizeof(uint32_t))
    memory[7], memory[8], memory[9] = stale, keep, other
    if not complete(memory, 10):
        for i in range(n_tables):
            table_of[table_word[i]] = NO_TABLE
        release(memory, 10)
        raise MemoryError
    with nogil:
        for i in range(n_tables):
            w = table_word[i]
            row = &row_cells[row_start[w]]
            place = table_start[i]
            size = table_len[i]
            if row_len[w] == DENSE:
                j = 0
                for k in range(K):
                    if row[k]:
                        # A count too large for a packed entry is cut: the table has its own, known density.
                        count = row[k] if row[k] < most else most
                        stale[place + j] = count << topic_bits | <uint32_t> k
                        j += 1
            else:
                for j in range(size):
                    stale[place + j] = row[j]
            for j in range(size, (size + 15) // 16 * 16):
                stale[place + j] = 0
            for j in range(size):
                weights[j] = <float> <int32_t> (stale[place + j] >> topic_bits) * smooth[stale[place + j] & mask]
            table_sum[i] = <float> walker_build(weights, size, keep + place, other + place, scaled, stack)
        for i in range(n_docs):  # the batch is back
            d = docs[i]
            for t in range(segments[d * (n_blocks + 1) + block], segments[d * (n_blocks + 1) + block + 1]):
                w = words[t]
                row_add(&row_cells[row_start[w]], &row_len[w], topic_bits, z[t], 1)
                totals[z[t]] += 1
        for k in range(K):
            inverse[k] = <float> (1.0 / (<double> totals[k] + beta_sum))
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
            size = 0
            for t in range(offsets[d], offsets[d + 1]):
                k = z[t]
                if in_doc[k] == 0:
                    position[k] = <uint32_t> size
                    listed[size] = <uint32_t> k
                    size += 1
                in_doc[k] += 1
            for j in range(size):
                counts[j] = in_doc[listed[j]]
            for t in range(first, last):
                w = words[t]
                row = &row_cells[row_start[w]]
                old = now = z[t]
                # The token leaves: everything below reads counts without it.
                if row_len[w] == DENSE:
                    by_topic = row
                else:
                    for j in range(row_len[w]):
                        spread[row[j] & mask] = row[j] >> topic_bits
                    by_topic = spread
                by_topic[old] -= 1
                inverse_old = inverse[old]
                inverse_less = <float> (1.0 / (<double> (totals[old] - 1) + beta_sum))
                inverse[old] = inverse_less
                in_doc[old] -= 1
                counts[position[old]] -= 1
                chunks = (size + 15) // 16
                own = gathers.document_sums(listed, counts, chunks, by_topic, inverse, beta[w], sums, ends)
                j = table_of[w]
                place = table_start[j]
                stale_word = table_sum[j]
                mass = <double> own + stale_word + <double> (beta[w] * smooth_sum)
                for m in range(steps):
                    x = tx_rng_double(&rng) * mass
                    new = -1
                    if x < own:
                        k = tx_document_find(sums, ends, chunks, <float> x)
                        if k >= 0:
                            new = listed[k]
                    elif x < <double> own + stale_word:
                        k = place + walker_draw(keep + place, other + place, table_len[j], tx_rng_double(&rng))
                        new = stale[k] & mask
                    if new < 0:
                        new = walker_draw(smooth_keep, smooth_other, K, tx_rng_double(&rng))
                    x = tx_rng_double(&rng)
                    if new == now:
                        continue
                    named += 1
                    p_now = (<float> <int32_t> by_topic[now] + beta[w]) * inverse[now]
                    q_now = <float> in_doc[now] * p_now + smooth[now] * (
                        <float> <int32_t> tx_sparse_count(stale + place, table_len[j], topic_bits, <uint32_t> now)
                        + beta[w])
                    p_now = p_now * (<float> in_doc[now] + prior[now])
                    p_new = (<float> <int32_t> by_topic[new] + beta[w]) * inverse[new]
                    q_new = <float> in_doc[new] * p_new + smooth[new] * (
                        <float> <int32_t> tx_sparse_count(stale + place, table_len[j], topic_bits, <uint32_t> new)
                        + beta[w])
                    p_new = p_new * (<float> in_doc[new] + prior[new])
                    if x * (<double> p_now * q_new) < <double> p_new * q_now:
                        accepted += 1
                        now = new
                by_topic[old] += 1
                if by_topic == spread:
                    for j in range(row_len[w]):
                        spread[row[j] & mask] = 0
                if now == old:
                    inverse[old] = inverse_old
                    in_doc[old] += 1
                    counts[position[old]] += 1
                    continue
                changed += 1
                row_remove(row, &row_len[w], topic_bits, <uint32_t> old)
                row_add(row, &row_len[w], topic_bits, <uint32_t> now, 1)
                totals[old] -= 1
                totals[now] += 1
                inverse[now] = <float> (1.0 / (<double> totals[now] + beta_sum))
                if in_doc[old] == 0:  # the last of the list takes its place
                    size -= 1
                    j = position[old]
                    listed[j] = listed[size]
                    counts[j] = counts[size]
                    position[listed[j]] = <uint32_t> j
                    listed[size] = 0
                    counts[size] = 0
                if in_doc[now] == 0:
                    position[now] = <uint32_t> size
                    listed[size] = <uint32_t> now
                    counts[size] = 0
                    size += 1
                in_doc[now] += 1
                counts[position[now]] += 1
                z[t] = <uint16_t> now
            for j in range(size):
                in_doc[listed[j]] = 0
                listed[j] = 0
                counts[j] = 0
        for i in range(n_tables):
            table_of[table_word[i]] = NO_TABLE
    tally[0] += named
    tally[1] += accepted
    release(memory, 10)
    return changed
