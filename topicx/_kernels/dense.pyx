"""The dense exact sampler: collapsed Gibbs (Griffiths & Steyvers 2004) over all K topics, 16 at a time.

    p(z = k) ∝ (alpha_gk + n_dk) / (n_k + B) * (n_kw + beta_w) = q_k (n_kw + beta_w)

with every count leaving the token out. q is kept for the current document, all K of it, and is always recomputed from
the integer counts of a topic when they change: there is no sum that could drift. The topic the token leaves is weighed
in passing instead of being stored, decremented and loaded back; a token that stays where it was changes nothing in
memory. A sparse row is spread over a scratch row first: same weights, same draw.

The draw itself (running sums within each of 16 lanes, sums across lanes, one column searched) is in lanes_body.h.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from topicx._kernels.lanes cimport tx_lanes, tx_lanes_choose
from topicx._kernels.rng cimport tx_rng, tx_rng_double, tx_rng_seed
from topicx._kernels.rows cimport DENSE, row_add, row_remove

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
    NONE = 0xFFFF
    AHEAD = 6  # tokens between the prefetch of a row and its use

cdef const tx_lanes *lanes = tx_lanes_choose()


def lanes_name() -> str:
    """The spelling of the lane functions in use: avx512, avx2 or plain."""
    return lanes.name.decode()


cdef int64_t best(const float *q, const uint32_t *row, float beta, int64_t n_topics, int64_t old, float q_old) noexcept nogil:
    """The heaviest topic, the lowest of equals: iterated conditional modes."""
    cdef int64_t k, found = 0
    cdef float p, most = -1
    for k in range(n_topics):
        if k == old:
            p = q_old * (<float> <int32_t> (row[k] - 1) + beta)
        else:
            p = q[k] * (<float> <int32_t> row[k] + beta)
        if p > most:
            most = p
            found = k
    return found


def sweep_cell(const uint32_t[::1] words, uint16_t[::1] z, const int64_t[::1] offsets, const int64_t[::1] segments,
               int n_blocks, const uint32_t[::1] docs, int block, const int64_t[::1] row_start,
               uint32_t[::1] row_cells, int32_t[::1] row_len, int topic_bits, int64_t[::1] totals,
               const double[:, ::1] alpha, const uint32_t[::1] groups, const float[::1] beta, double beta_sum,
               uint64_t key, bint maximise=False) -> int:
    """Draw every token of one cell once; returns how many changed their topic.

    The cell is (docs, block); its tokens, rows and documents belong to nobody else while this runs. totals is the
    cell's own copy of n_k. alpha has a row per group, groups a group per document (none: all in group 0). maximise
    takes the most probable topic instead of drawing one.
    """
    cdef int64_t K = totals.shape[0], chunks = (K + 15) // 16, padded = chunks * 16
    cdef int64_t n_docs = docs.shape[0], i, d, t, first, last, k, changed = 0, group, current = -1
    cdef int64_t old, new
    cdef uint32_t w, ahead
    cdef uint32_t *row
    cdef float q_old, inverse_less
    cdef double u
    cdef uint32_t mask = (<uint32_t> 1 << topic_bits) - 1
    cdef bint grouped = groups.shape[0] > 0
    cdef tx_rng rng = tx_rng_seed(key)
    cdef char *memory = <char *> malloc(padded * 4 * 6 + 64)
    if memory == NULL:
        raise MemoryError
    cdef float *q = <float *> (memory + (-<size_t> memory) % 64)
    cdef float *inverse = q + padded
    cdef float *prior = inverse + padded
    cdef float *scratch = prior + padded
    cdef float *counts = scratch + padded
    cdef uint32_t *spread = <uint32_t *> (counts + padded)
    cdef const uint32_t *source
    with nogil:
        memset(q, 0, padded * 4 * 6)
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
            memset(counts, 0, padded * 4)
            for t in range(offsets[d], offsets[d + 1]):
                if z[t] != NONE:
                    counts[z[t]] += 1
            lanes.weights(q, prior, counts, inverse, chunks)
            for t in range(first, last):
                if t + AHEAD < last:
                    ahead = words[t + AHEAD]
                    tx_prefetch(&row_cells[row_start[ahead]])
                w = words[t]
                row = &row_cells[row_start[w]]
                old = z[t]
                q_old = 0
                if old == NONE:
                    old = -1
                else:
                    inverse_less = <float> (1.0 / (<double> (totals[old] - 1) + beta_sum))
                    q_old = (prior[old] + (counts[old] - 1)) * inverse_less
                if row_len[w] == DENSE:
                    source = row
                else:
                    for k in range(row_len[w]):
                        spread[row[k] & mask] = row[k] >> topic_bits
                    source = spread
                if maximise:
                    new = best(q, source, beta[w], K, old, q_old)
                else:
                    u = tx_rng_double(&rng)
                    new = lanes.dense_draw(q, source, beta[w], chunks, old, q_old, u, scratch)
                if source == spread:
                    for k in range(row_len[w]):
                        spread[row[k] & mask] = 0
                if new == old:
                    continue
                changed += 1
                if old >= 0:
                    row_remove(row, &row_len[w], topic_bits, <uint32_t> old)
                    totals[old] -= 1
                    counts[old] -= 1
                    inverse[old] = inverse_less
                    q[old] = q_old
                row_add(row, &row_len[w], topic_bits, <uint32_t> new, 1)
                totals[new] += 1
                counts[new] += 1
                inverse[new] = <float> (1.0 / (<double> totals[new] + beta_sum))
                q[new] = (prior[new] + counts[new]) * inverse[new]
                z[t] = <uint16_t> new
    free(memory)
    return changed
