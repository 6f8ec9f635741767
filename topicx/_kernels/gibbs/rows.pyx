"""Word rows: build, convert, export and check. The layout and the inline operations are in rows.pxd.

A row is dense or sparse by what is cheaper to read. A kernel reads a dense row in ceil16(K) / 16 contiguous vectors
and a sparse one in length / 16 gathers; one gather costs as much as several contiguous reads, so rows are converted
between sweeps by their occupancy, with some slack in between so that a row does not go to and fro. The decision
looks at the row alone: it is deterministic, and independent of threads.

The order of a sparse row is history (a removed entry is replaced by the last one) and the order of summation follows
it, so a checkpoint keeps these arrays as they are.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from topicx._kernels.gibbs.cell cimport Arena
from topicx._kernels.base.sorting cimport sort_keys

cdef uint16_t NONE = 0xFFFF

cdef enum:
    FEW = 48     # entries up to which a row is sorted,
    ONE_IN = 32  # and beyond, where it has fewer than one topic in so many: else it is spread, and read in order

PART = 1 << 15
"""Rows that a thread looks at together."""


def topic_bits_for(int n_topics) -> int:
    """Bits of a packed entry that hold the topic: enough for K - 1, at least one."""
    return max(1, (n_topics - 1).bit_length())


def aligned_zeros(int64_t n):
    """A zeroed uint32 array of n entries whose first byte is on a 64-byte boundary."""
    raw = np.zeros(n + 16, dtype=np.uint32)
    skip = (-raw.ctypes.data % 64) // 4
    return raw[skip : skip + n]


def aligned_empty(int64_t n):
    """A uint32 array of n entries whose first byte is on a 64-byte boundary; they hold anything."""
    raw = np.empty(n + 16, dtype=np.uint32)
    skip = (-raw.ctypes.data % 64) // 4
    return raw[skip : skip + n]


def as_aligned_cells(cells):
    """The array itself if it is aligned, else an aligned copy (arrays read from files usually are not)."""
    if cells.ctypes.data % 64 == 0 and cells.flags.c_contiguous and cells.flags.writeable:
        return cells
    copy = aligned_zeros(len(cells))
    copy[:] = cells
    return copy


def build_rows(const uint32_t[::1] words, const uint16_t[::1] z, int n_topics, word_freq, pseudo=None,
               double dense_above=0.125, double sparse_below=0.08, segments=None, Py_ssize_t blocks=1, share=map,
               Py_ssize_t threads=1):
    """Rows of an assignment: (row_start, row_cells, row_len, topic_bits).

    z holds an assignment of all tokens, or several (paths) one after another. word_freq holds each word's tokens in
    all of them, placed or not: it bounds how many topics the row can ever have.
    pseudo = (words uint32, topics uint16, counts int64) are prior counts added to the rows. Tokens with z = 0xFFFF
    are left out. The next two arguments are those of `rebalance_rows`. With the schedule's segments, `threads` runs of
    blocks
    are counted at the same time, as `share` (an engine's map) does them: they have no row in common.
    """
    allotted = allot_rows(word_freq, n_topics, pseudo)
    start, cells, length, bits = allotted
    if segments is None:
        segments = np.array([0, words.shape[0]], np.int64)
    edges = [blocks * part // threads for part in range(threads + 1)]
    list(share(lambda run: count_blocks(words, z, segments, blocks, *run, start, cells, length),
               [run for run in zip(edges, edges[1:]) if run[0] < run[1]]))
    finish_rows(start, cells, length, bits, n_topics, word_freq, pseudo, dense_above, sparse_below, share)
    return allotted


def entries_in_use(const int64_t[::1] start, const uint32_t[::1] cells, const int32_t[::1] length):
    """The entries of all rows without the room behind them: so many of a sparse row as it has, all of a dense one. With
    the lengths they are the rows (`rows_of_entries`), in a fraction of the bytes."""
    cdef int64_t w, n, at = 0, words = length.shape[0]
    with nogil:
        for w in range(words):
            at += start[w + 1] - start[w] if length[w] == DENSE else length[w]
    result = np.empty(at, dtype=np.uint32)
    cdef uint32_t[::1] out = result
    if at == 0:
        return result
    with nogil:
        at = 0
        for w in range(words):
            n = start[w + 1] - start[w] if length[w] == DENSE else length[w]
            memcpy(&out[0] + at, &cells[0] + start[w], n * sizeof(uint32_t))
            at += n
    return result


def rows_of_entries(const int64_t[::1] start, const uint32_t[::1] entries, const int32_t[::1] length):
    """The cells of rows whose entries in use are these; the room behind them is zero."""
    cdef int64_t w, n, at = 0, words = length.shape[0]
    result = aligned_empty(int(start[words]))
    cdef uint32_t[::1] cells = result
    if start[words] == 0:
        return result
    with nogil:
        for w in range(words):
            n = start[w + 1] - start[w] if length[w] == DENSE else length[w]
            if n:
                memcpy(&cells[0] + start[w], &entries[0] + at, n * sizeof(uint32_t))
            memset(&cells[0] + start[w] + n, 0, (start[w + 1] - start[w] - n) * sizeof(uint32_t))
            at += n
    return result


def allot_rows(word_freq, int n_topics, pseudo=None):
    """Rows with no token in them, as `build_rows` has them: (row_start, row_cells, row_len, topic_bits). `count_blocks`
    puts tokens in, all of them once; `finish_rows` makes counts of them."""
    cdef int64_t V = len(word_freq)
    cdef int bits = topic_bits_for(n_topics)
    cdef int64_t padded = (n_topics + 15) // 16 * 16
    freq = np.asarray(word_freq, dtype=np.int64)
    distinct = freq.copy()
    total = freq.copy()
    if pseudo is not None:
        np.add.at(distinct, pseudo[0], 1)
        np.add.at(total, pseudo[0], pseudo[2])
    capacity = (np.minimum(distinct, n_topics) + 15) // 16 * 16
    overflow = total >= (1 << (32 - bits))
    capacity[overflow] = padded
    start_array = np.zeros(V + 1, dtype=np.int64)
    np.cumsum(capacity, out=start_array[1:])
    cells_array = aligned_zeros(int(start_array[V]))
    return start_array, cells_array, np.where(capacity >= padded, DENSE, 0).astype(np.int32), bits


def finish_rows(start_array, cells_array, len_array, int bits, int n_topics, word_freq, pseudo=None,
                double dense_above=0.125, double sparse_below=0.08, share=map):
    """Counts of the tokens that `count_blocks` has put into the rows, and the pseudo-counts; in place."""
    cdef int64_t V = len(word_freq), t
    cdef const int64_t[::1] start = start_array
    cdef uint32_t[::1] cells = cells_array
    cdef int32_t[::1] length = len_array
    total = np.array(word_freq, dtype=np.int64)
    if pseudo is not None:
        np.add.at(total, pseudo[0], pseudo[2])
    list(share(lambda first: pack_rows(start_array, cells_array, len_array, bits, n_topics, first, min(first + PART, V)),
               range(0, V, PART)))
    cdef const uint32_t[::1] pseudo_words
    cdef const uint16_t[::1] pseudo_topics
    cdef const int64_t[::1] pseudo_counts
    if pseudo is not None:
        pseudo_words = np.ascontiguousarray(pseudo[0], dtype=np.uint32)
        pseudo_topics = np.ascontiguousarray(pseudo[1], dtype=np.uint16)
        pseudo_counts = np.ascontiguousarray(pseudo[2], dtype=np.int64)
        for t in range(pseudo_words.shape[0]):
            if pseudo_counts[t] > 0:
                row_add(&cells[start[pseudo_words[t]]], &length[pseudo_words[t]], bits, pseudo_topics[t],
                        <uint32_t> pseudo_counts[t])
    rebalance_rows(start, cells, length, bits, n_topics, total, dense_above, sparse_below)


def count_blocks(const uint32_t[::1] words, const uint16_t[::1] z, const int64_t[::1] segments, Py_ssize_t blocks,
                 Py_ssize_t first, Py_ssize_t last, const int64_t[::1] start, uint32_t[::1] cells, int32_t[::1] length):
    """Add the tokens of the blocks first..last of words to their rows, document after document: a sparse row, which has
    room for all its word's tokens, takes each topic as it comes. `pack_rows` makes counts of them."""
    cdef int64_t begin, t, d, documents = segments.shape[0] // (blocks + 1)
    cdef uint32_t *row
    if z.shape[0] == 0 or cells.shape[0] == 0:
        return
    with nogil:
        begin = 0
        while begin < z.shape[0]:
            for d in range(documents):
                for t in range(segments[d * (blocks + 1) + first], segments[d * (blocks + 1) + last]):
                    if z[begin + t] == NONE:
                        continue
                    row = &cells[start[words[t]]]
                    if length[words[t]] == DENSE:
                        row[z[begin + t]] += 1
                    else:
                        row[length[words[t]]] = z[begin + t]
                        length[words[t]] += 1
            begin += words.shape[0]


def pack_rows(const int64_t[::1] start, uint32_t[::1] cells, int32_t[::1] length, int bits, int n_topics, int64_t first,
              int64_t last):
    """Make packed entries of the topics that `count_blocks` left in the sparse rows first..last, in their order."""
    cdef int64_t w, i, n
    cdef uint32_t topic
    cdef uint32_t *row
    cdef Arena arena = Arena()
    cdef uint32_t *counts = arena.words(n_topics)
    with nogil:
        for w in range(first, last):
            if length[w] <= 0:
                continue
            row = &cells[start[w]]
            n = 0
            for i in range(length[w]):
                topic = row[i]
                row[n] = topic
                n += counts[topic] == 0
                counts[topic] += 1
            for i in range(n):
                topic = row[i]
                row[i] = counts[topic] << bits | topic
                counts[topic] = 0
            for i in range(n, length[w]):
                row[i] = 0
            length[w] = <int32_t> n


def rebalance_rows(const int64_t[::1] row_start, uint32_t[::1] row_cells, int32_t[::1] row_len, int topic_bits,
                   int n_topics, const int64_t[::1] word_total, double dense_above=0.125, double sparse_below=0.08):
    """Convert rows between sweeps: dense above the first share of occupied topics, sparse below the second.

    word_total is the largest count a row may ever hold (its tokens and pseudo-counts): a row whose count could
    overflow a packed entry stays dense. Only slots that hold ceil16(K) entries can be dense. Returns how many rows
    changed their form.
    """
    cdef int64_t V = row_len.shape[0], w, changed = 0
    cdef int64_t padded = (n_topics + 15) // 16 * 16
    cdef int64_t high = <int64_t> (dense_above * padded), low = <int64_t> (sparse_below * padded)
    cdef int64_t limit = <int64_t> 1 << (32 - topic_bits)
    cdef uint32_t *row
    cdef Arena arena = Arena()
    cdef uint32_t *scratch = arena.words(padded)
    with nogil:
        for w in range(V):
            if row_start[w + 1] - row_start[w] < padded:
                continue
            row = &row_cells[row_start[w]]
            if row_len[w] == DENSE:
                if word_total[w] < limit and occupied(row, padded) < low:
                    to_sparse(row, &row_len[w], padded, topic_bits)
                    changed += 1
            elif row_len[w] > high:
                to_dense(row, &row_len[w], padded, topic_bits, scratch)
                changed += 1
    return changed


cdef int64_t occupied(const uint32_t *row, int64_t padded) noexcept nogil:
    cdef int64_t k, n = 0
    for k in range(padded):
        n += row[k] != 0
    return n


cdef void to_sparse(uint32_t *row, int32_t *length, int64_t padded, int topic_bits) noexcept nogil:
    cdef int64_t k, n = 0
    cdef uint32_t count
    for k in range(padded):  # n <= k: entries are written behind the reader
        count = row[k]
        if count:
            row[k] = 0
            row[n] = count << topic_bits | <uint32_t> k
            n += 1
    length[0] = <int32_t> n


cdef void to_dense(uint32_t *row, int32_t *length, int64_t padded, int topic_bits, uint32_t *scratch) noexcept nogil:
    cdef int64_t i
    cdef uint32_t mask = (<uint32_t> 1 << topic_bits) - 1
    for i in range(padded):
        scratch[i] = 0
    for i in range(length[0]):
        scratch[row[i] & mask] = row[i] >> topic_bits
    for i in range(padded):
        row[i] = scratch[i]
    length[0] = DENSE


def to_csr(row_start, row_cells, row_len, int topic_bits, int n_topics, order=None, share=map):
    """The rows as compressed sparse rows: (indptr int64[V + 1], topics uint16, counts int64), topics ascending.

    `order`: which row comes first, which second, and so on (uint32[V]; None: as they are). `share`, an engine's map,
    does parts of them at the same time."""
    V = len(row_len)
    if order is None:
        order = np.arange(V, dtype=np.uint32)
    rows = row_start, row_cells, row_len, topic_bits, (n_topics + 15) // 16 * 16, order
    parts = [(begin, min(begin + PART, V)) for begin in range(0, V, PART)]
    indptr = np.zeros(V + 1, dtype=np.int64)
    list(share(lambda part: csr_lengths(*rows, *part, indptr[1:]), parts))
    np.cumsum(indptr, out=indptr)
    topics, counts = np.empty(indptr[V], dtype=np.uint16), np.empty(indptr[V], dtype=np.int64)
    list(share(lambda part: csr_entries(*rows, *part, indptr, topics, counts), parts))
    return indptr, topics, counts


def csr_lengths(const int64_t[::1] row_start, const uint32_t[::1] row_cells, const int32_t[::1] row_len, int topic_bits,
                int64_t padded, const uint32_t[::1] order, int64_t first, int64_t last, int64_t[::1] lengths):
    """How many topics each of the rows order[first:last] has."""
    cdef int64_t at, w
    with nogil:
        for at in range(first, last):
            w = order[at]
            lengths[at] = occupied(&row_cells[row_start[w]], padded) if row_len[w] == DENSE else row_len[w]


def csr_entries(const int64_t[::1] row_start, const uint32_t[::1] row_cells, const int32_t[::1] row_len, int topic_bits,
                int64_t padded, const uint32_t[::1] order, int64_t first, int64_t last, const int64_t[::1] indptr,
                uint16_t[::1] topics, int64_t[::1] counts):
    """The entries of the rows order[first:last], where indptr says, topics ascending."""
    cdef int64_t at, w, i, j
    cdef uint32_t mask = (<uint32_t> 1 << topic_bits) - 1
    cdef uint32_t *row
    cdef uint32_t *spread
    cdef Arena arena = Arena()
    cdef uint64_t *keys = <uint64_t *> arena.room(padded * sizeof(uint64_t))
    cdef uint32_t *room = arena.words(padded)
    with nogil:
        for at in range(first, last):
            w = order[at]
            j = indptr[at]
            row = <uint32_t *> &row_cells[row_start[w]] if row_len[w] else room
            if row_len[w] == DENSE or (row_len[w] > FEW and ONE_IN * row_len[w] >= padded):
                spread = row_spread(row, row_len[w], topic_bits, room)
                for i in range(padded):
                    if spread[i]:
                        topics[j] = <uint16_t> i
                        counts[j] = spread[i]
                        j += 1
                row_gather(row, row_len[w], topic_bits, room)
            else:
                for i in range(row_len[w]):
                    keys[i] = <uint64_t> (row[i] & mask) << 32 | (row[i] >> topic_bits)
                sort_keys(keys, row_len[w])
                for i in range(row_len[w]):
                    topics[j + i] = <uint16_t> (keys[i] >> 32)
                    counts[j + i] = <int64_t> <uint32_t> keys[i]


def topic_totals_of_rows(const int64_t[::1] row_start, const uint32_t[::1] row_cells, const int32_t[::1] row_len,
                         int topic_bits, int n_topics):
    """n_k, int64[K]: the sum of all rows, pseudo-counts included."""
    result = np.zeros(n_topics, dtype=np.int64)
    cdef int64_t[::1] sums = result
    cdef int64_t w, i, K = n_topics
    cdef uint32_t mask = (<uint32_t> 1 << topic_bits) - 1
    cdef const uint32_t *row
    with nogil:
        for w in range(row_len.shape[0]):
            if row_len[w] == DENSE:
                row = &row_cells[row_start[w]]
                for i in range(K):
                    sums[i] += row[i]
            elif row_len[w] > 0:
                row = &row_cells[row_start[w]]
                for i in range(row_len[w]):
                    sums[row[i] & mask] += row[i] >> topic_bits
    return result


def check_rows(row_start, row_cells, row_len, int topic_bits, int n_topics, words, z, word_freq, pseudo=None) -> str:
    """What is wrong with the rows, in one line; empty when they are exactly the counts of z.

    Looks at the form (bounds, alignment, unused entries zero, no topic twice) and at every count.
    """
    V = len(row_len)
    if topic_bits != topic_bits_for(n_topics):
        return f"topic_bits is {topic_bits}, but {n_topics} topics need {topic_bits_for(n_topics)}"
    if len(row_start) != V + 1 or row_start[0] != 0 or row_start[V] != len(row_cells):
        return "row_start does not fit row_len and row_cells"
    slots = np.diff(row_start)
    if (slots < 0).any() or (slots % 16).any():
        return f"word {int(np.argmax((slots < 0) | (slots % 16 != 0)))}: its slot is not a multiple of 16 entries"
    padded = (n_topics + 15) // 16 * 16
    bad = (row_len < DENSE) | (row_len > slots) | ((row_len == DENSE) & (slots < padded))
    if bad.any():
        return f"word {int(np.argmax(bad))}: row length {row_len[np.argmax(bad)]} does not fit its slot"
    if len(row_cells) and row_cells.ctypes.data % 64:
        return "row_cells is not on a 64-byte boundary"
    position = np.arange(len(row_cells)) - np.repeat(row_start[:V], slots)
    used = np.repeat(np.where(row_len == DENSE, n_topics, row_len), slots)
    if (row_cells[position >= used] != 0).any():
        return "an unused entry of a row is not zero"
    sparse = (position < used) & np.repeat(row_len != DENSE, slots)
    entries = np.asarray(row_cells)[sparse]
    if len(entries) and int((entries & ((1 << topic_bits) - 1)).max()) >= n_topics:
        return "a row names a topic that does not exist"
    if (entries >> topic_bits == 0).any():
        return "a row has an entry that counts nothing"
    have = to_csr(row_start, row_cells, row_len, topic_bits, n_topics)
    fresh = build_rows(words, z, n_topics, word_freq, pseudo)
    want = to_csr(*fresh, n_topics)
    if not np.array_equal(have[0], want[0]):
        word = int(np.argmax(have[0] != want[0])) - 1
        return f"word {word}: its row has {int(have[0][word + 1] - have[0][word])} topics, its tokens have " \
               f"{int(want[0][word + 1] - want[0][word])}"
    for what, mine, theirs in (("topics", have[1], want[1]), ("counts", have[2], want[2])):
        if not np.array_equal(mine, theirs):
            entry = int(np.argmax(mine != theirs))
            word = int(np.searchsorted(want[0], entry, side="right")) - 1
            return f"word {word}: the {what} of its row differ from those of its tokens"
    return ""


def strange_row(const int64_t[::1] row_start, const uint32_t[::1] row_cells, const int32_t[::1] row_len,
                const uint32_t[::1] cells, const int32_t[::1] length, const int64_t[::1] word_total, int topic_bits,
                int n_topics) -> int:
    """The first word whose row in `cells` and `length` is not its row in `row_cells` and `row_len` (which are right) in
    another order or form; -1: there is none. `cells` and `length` may hold anything."""
    cdef int64_t V = row_len.shape[0], w, i, slot, left, strange = -1
    cdef int64_t padded = (n_topics + 15) // 16 * 16, limit = <int64_t> 1 << (32 - topic_bits)
    cdef uint32_t mask = (<uint32_t> 1 << topic_bits) - 1, topic
    cdef const uint32_t *good
    cdef const uint32_t *row
    if cells.shape[0] != row_cells.shape[0] or length.shape[0] != V:
        return 0
    counts_array = np.zeros(padded, dtype=np.uint32)
    cdef uint32_t[::1] counts = counts_array
    with nogil:
        for w in range(V):
            slot = row_start[w + 1] - row_start[w]
            good = &row_cells[0] + row_start[w]
            row = &cells[0] + row_start[w]
            if length[w] < DENSE or length[w] > slot or (length[w] == DENSE and slot < padded):
                strange = w
                break
            if length[w] != DENSE and slot >= padded and word_total[w] >= limit:
                strange = w  # its counts may outgrow a packed entry
                break
            left = 0
            if row_len[w] == DENSE:
                for i in range(n_topics):
                    counts[i] = good[i]
                    left += good[i] != 0
            else:
                left = row_len[w]
                for i in range(left):
                    counts[good[i] & mask] = good[i] >> topic_bits
            if length[w] == DENSE:
                for i in range(slot):
                    if row[i] != (counts[i] if i < n_topics else 0):
                        strange = w
                    if i < n_topics:
                        counts[i] = 0
            else:
                if length[w] != left:
                    strange = w
                for i in range(slot):
                    if strange >= 0:
                        break
                    if i >= length[w]:
                        if row[i]:
                            strange = w
                        continue
                    topic = row[i] & mask
                    if topic >= <uint32_t> n_topics or not counts[topic] or counts[topic] != row[i] >> topic_bits:
                        strange = w
                    else:
                        counts[topic] = 0
            if strange >= 0:
                break
    return strange
