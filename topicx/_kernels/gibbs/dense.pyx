"""The dense exact sampler: collapsed Gibbs (Griffiths & Steyvers 2004) over all K topics, 16 at a time.

    p(z = k) ∝ (alpha_gk + n_dk) / (n_k + B) * (n_kw + beta_w) = q_k (n_kw + beta_w)

with every count leaving the token out. q is kept for the current document, all K of it, and is always recomputed from
the integer counts of a topic when they change: there is no sum that could drift. The topic the token leaves is weighed
in passing instead of being stored, decremented and loaded back; a token that stays where it was changes nothing in
memory. A sparse row is spread over a scratch row first: same weights, same draw.

Where a model has a factor f_d(k) (cell.pxd), a token is drawn from q_k f_d(k) (n_kw + beta_w), with f asked for anew for
each token; where it has none, nothing is asked.

The draw itself (running sums within each of 16 lanes, sums across lanes, one column searched) is in lanes_body.h.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from topicx._kernels.gibbs.cell cimport UNPLACED, Cell, count_topics, inverse_of
from topicx._kernels.base.lanes cimport tx_lanes, tx_lanes_choose
from topicx._kernels.base.portable cimport tx_prefetch
from topicx._kernels.base.rng cimport tx_rng, tx_rng_double, tx_rng_seed
from topicx._kernels.gibbs.rows cimport row_add, row_gather, row_remove, row_spread

cdef enum:
    AHEAD = 6  # tokens between the prefetch of a row and its use

cdef const tx_lanes *lanes = tx_lanes_choose()


def instruction_set() -> str:
    """The instruction set of the lane functions in use: avx512, avx2 or plain."""
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


def sweep(Cell cell not None, const uint32_t[::1] documents, int64_t block, uint64_t key) -> int:
    """Draw every token of the cell once (see cell.pxd)."""
    cdef int64_t K = cell.totals.shape[0], chunks = (K + 15) // 16, padded = chunks * 16
    cdef int64_t t, last, k, changed = 0, old, new
    cdef uint32_t w
    cdef int topic_bits = cell.topic_bits
    cdef bint maximise = cell.maximise, factored = cell.factor is not None
    cdef float q_old, weight_old, inverse_less = 0
    cdef double beta_sum = cell.beta_sum
    cdef uint32_t *row
    cdef const uint32_t *source
    cdef uint16_t *z
    if not cell.start(documents, block):
        return 0
    cdef const uint32_t *words = &cell.words[0]
    cdef const int64_t *row_start = &cell.row_start[0]
    cdef uint32_t *row_cells = &cell.row_cells[0]
    cdef int32_t *row_len = &cell.row_len[0]
    cdef int64_t *totals = &cell.totals[0]
    cdef const float *beta = &cell.beta[0]
    cdef float *prior = cell.prior
    cdef float *q = cell.arena.floats(padded)
    cdef float *inverse = cell.arena.floats(padded)
    cdef float *scratch = cell.arena.floats(padded)
    cdef float *counts = cell.arena.floats(padded)
    cdef uint32_t *spread = cell.arena.words(padded)
    cdef float *weighed = cell.arena.floats(padded)
    cdef const float *weights
    cdef tx_rng rng = tx_rng_seed(key)
    with nogil:
        for k in range(K):
            inverse[k] = inverse_of(totals[k], beta_sum)
        while cell.next():
            z, last = cell.z, cell.last
            memset(counts, 0, padded * 4)
            count_topics(z, cell.begin, cell.end, counts)
            lanes.weights(q, prior, counts, inverse, chunks)
            if factored:
                cell.factor.enter(cell.number, z, cell.begin, cell.end)
            for t in range(cell.first, last):
                if t + AHEAD < last:
                    tx_prefetch(&row_cells[row_start[words[t + AHEAD]]])
                w = words[t]
                row = &row_cells[row_start[w]]
                old = z[t]
                q_old = 0
                if old == UNPLACED:
                    old = -1
                else:
                    inverse_less = inverse_of(totals[old] - 1, beta_sum)
                    q_old = (prior[old] + (counts[old] - 1)) * inverse_less
                source = row_spread(row, row_len[w], topic_bits, spread)
                weights, weight_old = q, q_old
                if factored:
                    weights, weight_old = weighed, cell.factor.times(old, q, q_old, K, weighed)
                if maximise:
                    new = best(weights, source, beta[w], K, old, weight_old)
                else:
                    new = lanes.dense_draw(weights, source, beta[w], chunks, old, weight_old, tx_rng_double(&rng),
                                           scratch)
                row_gather(row, row_len[w], topic_bits, spread)
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
                inverse[new] = inverse_of(totals[new], beta_sum)
                q[new] = (prior[new] + counts[new]) * inverse[new]
                z[t] = <uint16_t> new
                if factored:
                    cell.factor.move(old, new)
    return changed
