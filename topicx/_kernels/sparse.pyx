"""SparseLDA (Yao, Mimno & McCallum 2009), exact, 16 lanes at a time.

    p(z = k) ∝ (alpha_gk + n_dk) / (n_k + B) * (n_kw + beta_w) = q_k n_kw + q_k beta_w

with every count leaving the token out. The first term has only as many entries as the word has topics; the second is a
draw from q whatever the word, which stands for the paper's document and smoothing buckets together: its sum is kept, and
so are the sums over each 16 and each 256 topics, so that a draw from it looks at a few of them.

What departs from the paper:
- A row of counts is a list, read by gathers, or dense, read in order, by what is cheaper (rows.pxd). A dense row of up
  to 128 topics weighs q_k (n_kw + beta_w) and needs no second term.
- The first question is whether the token stays: its own topic comes first in the order of the draw. Only a token that
  moves pays for the search, and only a token that moves writes to memory.
- The next token's row is weighed before this one is drawn from, and corrected at the two topics a move touches; both
  see exactly the counts of their turn, while the CPU does not wait for one to begin the other.
- No sum drifts: q is always computed from a topic's integers, a row's sums live for one visit, and the sums of q are
  taken anew for each document, or for each 64 where documents are so short beside K that their counts come and go by
  the list of their topics. A sum that a subtraction leaves with mostly rounding is taken anew at once.

The loop over tokens is in lanes_body.h (sparse_tokens); here is the loop over documents.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from topicx._kernels.lanes cimport tx_cell, tx_lanes, tx_lanes_choose
from topicx._kernels.rng cimport tx_rng_seed

cdef extern from *:
    """
    #include <assert.h>
    /* Debug builds: the sum that was kept is the sum. */
    static inline void tx_same_sum(double kept, double fresh) {
        assert(kept - fresh <= 1e-9 * fresh && fresh - kept <= 1e-9 * fresh);
        (void)kept;
        (void)fresh;
    }
    """
    void tx_same_sum(double kept, double fresh) noexcept nogil

cdef enum:
    NONE = 0xFFFF
    REFRESH = 64  # documents between two summations of q from scratch, where they are listed
    LISTED = 16   # topics per token of a document above which its counts come and go by a list

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
    cdef int64_t tokens = 0, busy = 0, longest = 0
    cdef bint grouped = groups.shape[0] > 0
    cdef double kept
    cdef tx_cell s
    if words.shape[0] == 0 or n_docs == 0:
        return 0
    for i in range(n_docs):
        d = docs[i]
        first = segments[d * (n_blocks + 1) + block]
        last = segments[d * (n_blocks + 1) + block + 1]
        if last > first:
            busy += 1
            tokens += last - first
            longest = max(longest, offsets[d + 1] - offsets[d] + last - first)
    # q, inverse, prior, counts; two scratches with their group sums; blocks and supers (double); the topic list
    cdef int64_t room = (chunks + 7) // 8 * (128 + 16)
    cdef size_t size = 4 * (6 * padded + 2 * room) + 8 * (2 * chunks + 2) + 2 * longest + 128
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
    s.listed = padded * busy > LISTED * tokens
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
                lanes.weights(s.q, s.prior, s.counts, s.inverse, chunks)
                since = 0
            if s.listed:
                if since % REFRESH == 0:
                    kept = s.q_sum
                    lanes.sparse_sums(&s)
                    if since > 0:
                        tx_same_sum(kept, s.q_sum)
                since += 1
                lanes.sparse_enter(&s, offsets[d], offsets[d + 1])
                lanes.sparse_tokens(&s, first, last)
                lanes.sparse_leave(&s)
            else:
                for t in range(offsets[d], offsets[d + 1]):
                    if z[t] != NONE:
                        s.counts[z[t]] += 1
                lanes.weights(s.q, s.prior, s.counts, s.inverse, chunks)
                lanes.sparse_sums(&s)
                lanes.sparse_tokens(&s, first, last)
                memset(s.counts, 0, padded * 4)
    free(memory)
    return s.changed
