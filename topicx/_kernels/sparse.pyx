"""SparseLDA (Yao, Mimno & McCallum 2009), exact, 16 lanes at a time.

    p(z = k) ∝ q_k n_kw + q_k beta_w,      q_k = (alpha_gk + n_dk) / (n_k + B)

The first term has as many entries as the word has topics; the second is a draw from q, whatever the word.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from topicx._kernels.lanes cimport tx_cell, tx_lanes, tx_lanes_choose
from topicx._kernels.rng cimport tx_rng_seed

cdef enum:
    NONE = 0xFFFF
    REFRESH = 64  # documents between two summations of q from scratch

cdef const tx_lanes *lanes = tx_lanes_choose()


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
    cdef int64_t n_docs = docs.shape[0], i, d, t, first, last, k, group, current = -1, since = 0
    cdef bint grouped = groups.shape[0] > 0, listed
    cdef tx_cell s
    if row_cells.shape[0] == 0 or n_docs == 0:
        return 0
    # q, inverse, prior, counts; two scratches with their group sums; blocks and supers (double); the topic list
    cdef int64_t room = (chunks + 7) // 8 * (128 + 16)
    cdef size_t size = 4 * (6 * padded + 2 * room) + 8 * (2 * chunks + 2) + 4 * padded + 2 * 65536 * 2 + 64
    cdef char *memory = <char *> malloc(size)
    if memory == NULL:
        raise MemoryError
    memset(memory, 0, size)
    s.q = <float *> (memory + (-<size_t> memory) % 64)
    s.inverse = s.q + padded
    s.inverse_less = s.inverse + padded
    s.inverse_more = s.inverse_less + padded
    s.prior = s.inverse_more + padded
    s.counts = s.prior + padded
    s.scratch[0] = s.counts + padded
    s.scratch[1] = s.scratch[0] + room
    s.blocks = <double *> (s.scratch[1] + room)
    s.supers = s.blocks + chunks
    s.list = <uint16_t *> (s.supers + chunks + 1)
    s.words = &words[0]
    s.z = &z[0]
    s.row_start = &row_start[0]
    s.cells = &row_cells[0]
    s.row_len = &row_len[0]
    s.totals = &totals[0]
    s.beta = &beta[0]
    s.beta_sum = beta_sum
    s.topics = K
    s.chunks = chunks
    s.topic_bits = topic_bits
    s.found = 0
    s.changed = 0
    s.maximise = maximise
    s.rng = tx_rng_seed(key)
    with nogil:
        for k in range(K):
            s.inverse_less[k] = <float> (1.0 / (<double> (totals[k] - 1) + beta_sum))
            s.inverse[k] = <float> (1.0 / (<double> totals[k] + beta_sum))
            s.inverse_more[k] = <float> (1.0 / (<double> (totals[k] + 1) + beta_sum))
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
                    s.prior[k] = <float> alpha[group, k]
            memset(s.counts, 0, padded * 4)
            for t in range(offsets[d], offsets[d + 1]):
                if z[t] != NONE:
                    s.counts[z[t]] += 1
            lanes.weights(s.q, s.prior, s.counts, s.inverse, chunks)
            lanes.sparse_sums(&s)
            lanes.sparse_tokens(&s, first, last)
    free(memory)
    return s.changed
