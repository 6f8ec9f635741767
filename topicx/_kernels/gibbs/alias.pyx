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
from libc.string cimport memset

import numpy as np

from topicx._kernels.gibbs.cell cimport Arena, Cell, inverse_of
from topicx._kernels.gibbs.gathers cimport tx_gathers, tx_gathers_choose
from topicx._kernels.base.rng cimport tx_key, tx_rng, tx_rng_double, tx_rng_seed
from topicx._kernels.gibbs.rows cimport DENSE, row_add, row_gather, row_remove, row_spread
from topicx._kernels.gibbs.walker cimport walker_build, walker_draw

cdef const tx_gathers *gathers = tx_gathers_choose()

cdef enum:
    BATCHES = 8  # of documents in a cell: more batches, fresher tables


cdef struct Tables:
    # The words of the batch have a table each: of (word + 1) is its number + 1, 0 if it has none.
    int32_t *of
    int64_t *start      # where it begins in the arrays below,
    int32_t *length     # how many topics it has,
    float *sum          # and their weight
    uint32_t *stale     # older counts: packed entries, as in a sparse row
    float *keep
    uint32_t *other
    # All topics: s_k, their sum and table.
    float *smooth
    float smooth_sum
    float *smooth_keep
    uint32_t *smooth_other


cdef struct Document:
    uint32_t *listed     # the document's topics,
    int32_t *counts      # their counts,
    uint32_t *position   # where a topic stands in the list,
    int32_t *in_doc      # n_dk by topic
    int64_t size         # of the list


def make_alias_table(const float[::1] weights):
    """Walker's table of these weights: (keep, other, their sum). What the tests look at."""
    cdef int64_t n = weights.shape[0]
    keep_array, other_array = np.empty(n, np.float32), np.empty(n, np.uint32)
    cdef float[::1] keep = keep_array
    cdef uint32_t[::1] other = other_array
    cdef double[::1] scaled = np.empty(n)
    cdef uint32_t[::1] stack = np.empty(n, np.uint32)
    return keep_array, other_array, walker_build(&weights[0], n, &keep[0], &other[0], &scaled[0], &stack[0])


def draw_from_alias_table(const float[::1] keep, const uint32_t[::1] other, double u) -> int:
    """The number that u falls on in a table."""
    return walker_draw(&keep[0], &other[0], keep.shape[0], u)


cdef void lend(Cell cell, bint back) noexcept nogil:
    """Take the cell's tokens out of the counts, or put them back."""
    cdef int64_t t
    cdef uint32_t w
    cell.rewind()
    while cell.seek():
        for t in range(cell.first, cell.last):
            w = cell.words[t]
            if back:
                row_add(&cell.row_cells[cell.row_start[w]], &cell.row_len[w], cell.topic_bits, cell.z[t], 1)
                cell.totals[cell.z[t]] += 1
            else:
                row_remove(&cell.row_cells[cell.row_start[w]], &cell.row_len[w], cell.topic_bits, cell.z[t])
                cell.totals[cell.z[t]] -= 1
    cell.rewind()


cdef int make_tables(Cell cell, Tables *s) except -1:
    """The tables of the batch's words and of all topics, from counts that leave the batch out."""
    cdef Arena arena = cell.arena
    cdef int64_t K = cell.totals.shape[0], padded = (K + 15) // 16 * 16, V = cell.row_len.shape[0]
    cdef int64_t i, j, k, t, size, place, n_tables = 0, cells = 0
    cdef uint32_t w, count
    cdef uint32_t mask = (<uint32_t> 1 << cell.topic_bits) - 1, most = (<uint32_t> 1 << (32 - cell.topic_bits)) - 1
    cdef uint32_t *row
    cdef int64_t distinct = min(cell.size(), V) + 1
    cdef uint32_t *word = arena.words(distinct)
    cdef uint32_t *stack = arena.words(padded)
    cdef double *scaled = arena.doubles(padded)
    cdef float *weights = arena.floats(padded)
    s.of, s.start, s.length, s.sum = arena.ints(V), arena.longs(distinct), arena.ints(distinct), arena.floats(distinct)
    s.smooth, s.smooth_keep, s.smooth_other = arena.floats(padded), arena.floats(padded), arena.words(padded)
    with nogil:
        for k in range(K):
            for i in range(cell.alpha.shape[0]):
                s.smooth[k] += <float> (cell.alpha[i, k] / cell.alpha.shape[0])
            s.smooth[k] = <float> (s.smooth[k] / (<double> cell.totals[k] + cell.beta_sum))
        s.smooth_sum = <float> walker_build(s.smooth, K, s.smooth_keep, s.smooth_other, scaled, stack)
        while cell.seek():
            for t in range(cell.first, cell.last):
                w = cell.words[t]
                if s.of[w] == 0:
                    word[n_tables] = w
                    s.start[n_tables] = cells
                    size = cell.row_len[w]
                    if size == DENSE:
                        size = 0
                        for k in range(K):
                            size += cell.row_cells[cell.row_start[w] + k] != 0
                    s.length[n_tables] = <int32_t> size
                    cells += (size + 15) // 16 * 16
                    n_tables += 1
                    s.of[w] = <int32_t> n_tables
        cell.rewind()
    s.stale, s.keep, s.other = arena.words(cells + 1), arena.floats(cells + 1), arena.words(cells + 1)
    with nogil:
        for i in range(n_tables):
            w = word[i]
            row = &cell.row_cells[cell.row_start[w]]
            place = s.start[i]
            size = s.length[i]
            if cell.row_len[w] == DENSE:
                j = 0
                for k in range(K):
                    if row[k]:
                        # A count too large for a packed entry is cut: the table has its own, known density.
                        count = row[k] if row[k] < most else most
                        s.stale[place + j] = count << cell.topic_bits | <uint32_t> k
                        j += 1
            else:
                for j in range(size):
                    s.stale[place + j] = row[j]
            for j in range(size):
                weights[j] = <float> <int32_t> (s.stale[place + j] >> cell.topic_bits) * s.smooth[s.stale[place + j] & mask]
            s.sum[i] = <float> walker_build(weights, size, s.keep + place, s.other + place, scaled, stack)
    return 0


cdef void enter(Document *s, Cell cell) noexcept nogil:
    """The topics of the document at hand."""
    cdef int64_t j, k, t
    for j in range(s.size):
        s.in_doc[s.listed[j]] = 0
        s.listed[j] = 0
        s.counts[j] = 0
    s.size = 0
    for t in range(cell.begin, cell.end):
        k = cell.z[t]
        if s.in_doc[k] == 0:
            s.position[k] = <uint32_t> s.size
            s.listed[s.size] = <uint32_t> k
            s.size += 1
        s.in_doc[k] += 1
    for j in range(s.size):
        s.counts[j] = s.in_doc[s.listed[j]]


cdef inline void move(Document *s, int64_t old, int64_t now) noexcept nogil:
    """A token that was left out of `old` comes to `now`."""
    cdef int64_t j
    if s.in_doc[old] == 0:  # the last of the list takes its place
        s.size -= 1
        j = s.position[old]
        s.listed[j] = s.listed[s.size]
        s.counts[j] = s.counts[s.size]
        s.position[s.listed[j]] = <uint32_t> j
        s.listed[s.size] = 0
        s.counts[s.size] = 0
    if s.in_doc[now] == 0:
        s.position[now] = <uint32_t> s.size
        s.listed[s.size] = <uint32_t> now
        s.counts[s.size] = 0
        s.size += 1
    s.in_doc[now] += 1
    s.counts[s.position[now]] += 1


cdef int64_t renew(Cell cell, Tables *tables, tx_rng *rng) except -1:
    """The batch's tokens, by proposals from its tables."""
    cdef int64_t K = cell.totals.shape[0], padded = (K + 15) // 16 * 16, steps = cell.steps
    cdef int64_t j, k, m, t, old, now, new, chunks, place, changed = 0, named = 0, accepted = 0
    cdef uint32_t w, mask = (<uint32_t> 1 << cell.topic_bits) - 1
    cdef uint32_t *row
    cdef uint32_t *by_topic
    cdef float own, inverse_old, inverse_less, p_now, p_new, q_now, q_new, stale_word, beta
    cdef double x, mass
    cdef int topic_bits = cell.topic_bits
    cdef int64_t[::1] totals = cell.totals
    cdef int32_t[::1] row_len = cell.row_len
    cdef float ends[16]
    cdef float *inverse = cell.arena.floats(padded)
    cdef float *sums = cell.arena.floats(padded)
    cdef uint32_t *spread = cell.arena.words(padded)
    cdef const float *prior = cell.prior
    cdef uint16_t *z
    cdef Document s
    s.listed, s.position = cell.arena.words(padded), cell.arena.words(padded)
    s.counts, s.in_doc, s.size = cell.arena.ints(padded), cell.arena.ints(padded), 0
    with nogil:
        for k in range(K):
            inverse[k] = inverse_of(totals[k], cell.beta_sum)
        while cell.next():
            enter(&s, cell)
            z = cell.z
            for t in range(cell.first, cell.last):
                w = cell.words[t]
                row = &cell.row_cells[cell.row_start[w]]
                beta = cell.beta[w]
                old = now = z[t]
                # The token leaves: everything below reads counts without it.
                by_topic = row_spread(row, row_len[w], topic_bits, spread)
                by_topic[old] -= 1
                inverse_old = inverse[old]
                inverse_less = inverse_of(totals[old] - 1, cell.beta_sum)
                inverse[old] = inverse_less
                s.in_doc[old] -= 1
                s.counts[s.position[old]] -= 1
                chunks = (s.size + 15) // 16
                own = gathers.document_sums(s.listed, s.counts, chunks, by_topic, inverse, beta, sums, ends)
                j = tables.of[w] - 1
                place = tables.start[j]
                stale_word = tables.sum[j]
                mass = <double> own + stale_word + <double> (beta * tables.smooth_sum)
                for m in range(steps):
                    x = tx_rng_double(rng) * mass
                    new = -1
                    if x < own:
                        k = gathers.find(sums, ends, chunks, <float> x)
                        if k >= 0:
                            new = s.listed[k]
                    elif x < <double> own + stale_word:
                        k = place + walker_draw(tables.keep + place, tables.other + place, tables.length[j],
                                                tx_rng_double(rng))
                        new = tables.stale[k] & mask
                    if new < 0:
                        new = walker_draw(tables.smooth_keep, tables.smooth_other, K, tx_rng_double(rng))
                    x = tx_rng_double(rng)
                    if new == now:
                        continue
                    named += 1
                    p_now = (<float> <int32_t> by_topic[now] + beta) * inverse[now]
                    q_now = <float> s.in_doc[now] * p_now + tables.smooth[now] * (
                        <float> <int32_t> gathers.count(tables.stale + place, tables.length[j], topic_bits,
                                                          <uint32_t> now) + beta)
                    p_now = p_now * (<float> s.in_doc[now] + prior[now])
                    p_new = (<float> <int32_t> by_topic[new] + beta) * inverse[new]
                    q_new = <float> s.in_doc[new] * p_new + tables.smooth[new] * (
                        <float> <int32_t> gathers.count(tables.stale + place, tables.length[j], topic_bits,
                                                          <uint32_t> new) + beta)
                    p_new = p_new * (<float> s.in_doc[new] + prior[new])
                    if x * (<double> p_now * q_new) < <double> p_new * q_now:
                        accepted += 1
                        now = new
                by_topic[old] += 1
                row_gather(row, row_len[w], topic_bits, spread)
                if now == old:
                    inverse[old] = inverse_old
                    s.in_doc[old] += 1
                    s.counts[s.position[old]] += 1
                    continue
                changed += 1
                row_remove(row, &row_len[w], topic_bits, <uint32_t> old)
                row_add(row, &row_len[w], topic_bits, <uint32_t> now, 1)
                totals[old] -= 1
                totals[now] += 1
                inverse[now] = inverse_of(totals[now], cell.beta_sum)
                move(&s, old, now)
                z[t] = <uint16_t> now
    cell.tally[0] += named
    cell.tally[1] += accepted
    return changed


def sweep(Cell cell not None, const uint32_t[::1] documents, int64_t block, uint64_t key) -> int:
    """Renew every token of the cell (see cell.pxd), every one of which is placed, by cell.steps proposals each. The
    tally gains proposals and acceptances."""
    cdef int64_t changed = 0, batch, n = documents.shape[0], first, last
    cdef Tables tables
    cdef tx_rng rng
    for batch in range(BATCHES):  # as many documents in each, give or take one: they come shuffled
        first, last = batch * n // BATCHES, (batch + 1) * n // BATCHES
        if not cell.start(documents[first:last], block):
            continue
        lend(cell, False)
        make_tables(cell, &tables)
        lend(cell, True)
        rng = tx_rng_seed(tx_key(tx_key(0, key), batch))
        changed += renew(cell, &tables, &rng)
    return changed
