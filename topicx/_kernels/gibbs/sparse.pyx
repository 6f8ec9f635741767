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

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from topicx._kernels.gibbs.cell cimport Cell, count_topics, inverse_of
from topicx._kernels.base.lanes cimport tx_cell, tx_lanes, tx_lanes_choose
from topicx._kernels.base.rng cimport tx_rng_seed

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
    REFRESH = 64  # documents between two summations of q from scratch, where they are listed
    LISTED = 16   # topics per token of a document above which its counts come and go by a list

cdef const tx_lanes *lanes = tx_lanes_choose()


cdef int lay_out(Cell cell, tx_cell *s) except -1:
    """What the loop over tokens works on; leaves the cell before its first document."""
    cdef int64_t k, K = cell.totals.shape[0], chunks = (K + 15) // 16, padded = chunks * 16
    cdef int64_t busy = 0, tokens = 0, longest = 0, room = (chunks + 7) // 8 * (128 + 16) + 7 * 16
    with nogil:
        while cell.seek():
            busy += 1
            tokens += cell.last - cell.first
            longest = max(longest, cell.end - cell.begin + cell.last - cell.first)
        cell.rewind()
    s.prior = cell.prior
    s.q = cell.arena.floats(4 * padded)
    s.inverse, s.inverse_less, s.inverse_more = s.q + padded, s.q + 2 * padded, s.q + 3 * padded
    s.counts = cell.arena.floats(padded)
    s.scratch[0], s.scratch[1] = cell.arena.floats(room), cell.arena.floats(room)
    s.blocks, s.supers = cell.arena.doubles(chunks), cell.arena.doubles(chunks // 16 + 1)
    s.list = <uint16_t *> cell.arena.room(2 * longest)
    s.words, s.row_start, s.beta = &cell.words[0], &cell.row_start[0], &cell.beta[0]
    s.cells, s.row_len, s.totals = &cell.row_cells[0], &cell.row_len[0], &cell.totals[0]
    s.beta_sum, s.topics, s.chunks, s.topic_bits = cell.beta_sum, K, chunks, cell.topic_bits
    s.found = s.changed = 0
    s.listed = padded * busy > LISTED * tokens
    s.maximise = cell.maximise
    for k in range(K):
        s.inverse_less[k] = inverse_of(s.totals[k] - 1, s.beta_sum)
        s.inverse[k] = inverse_of(s.totals[k], s.beta_sum)
        s.inverse_more[k] = inverse_of(s.totals[k] + 1, s.beta_sum)
    return 0


def sweep(Cell cell not None, const uint32_t[::1] documents, int64_t block, uint64_t key) -> int:
    """Draw every token of the cell once (see cell.pxd)."""
    cdef int64_t since = 0
    cdef double kept
    cdef tx_cell s
    if not cell.start(documents, block):
        return 0
    lay_out(cell, &s)
    s.rng = tx_rng_seed(key)
    with nogil:
        while cell.next():
            s.z = cell.z
            if cell.regrouped:
                lanes.weights(s.q, s.prior, s.counts, s.inverse, s.chunks)
                since = 0
            if s.listed:
                if since % REFRESH == 0:
                    kept = s.q_sum
                    lanes.sparse_sums(&s)
                    if since > 0:
                        tx_same_sum(kept, s.q_sum)
                since += 1
                lanes.sparse_enter(&s, cell.begin, cell.end)
                lanes.sparse_tokens(&s, cell.first, cell.last)
                lanes.sparse_leave(&s)
            else:
                count_topics(s.z, cell.begin, cell.end, s.counts)
                lanes.weights(s.q, s.prior, s.counts, s.inverse, s.chunks)
                lanes.sparse_sums(&s)
                lanes.sparse_tokens(&s, cell.first, cell.last)
                memset(s.counts, 0, s.chunks * 64)
    return s.changed
