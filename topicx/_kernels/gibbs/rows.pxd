"""Word rows: the topic counts of every word type in memory O(tokens).

Word w owns the slot cells[start[w] : start[w + 1]], a multiple of 16 entries that begins on a 64-byte boundary.
lengths[w] == DENSE: a row of ceil16(K) counts, indexed by topic.
lengths[w] >= 0:     that many packed entries (count << topic_bits | topic), in any order, each count positive;
                     the rest of the slot up to the next multiple of 16 entries is zero, so that whole vectors of
                     16 entries can be read and an unused entry weighs nothing.

Two cells of one epoch share no word, so they may change their rows at the same time.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t

cdef enum:
    DENSE = -1


cdef inline int64_t row_find(const uint32_t *row, int32_t length, int topic_bits, uint32_t topic) noexcept nogil:
    """Position of a topic in a sparse row, or -1."""
    cdef uint32_t mask = (<uint32_t> 1 << topic_bits) - 1
    cdef int64_t i
    for i in range(length):
        if row[i] & mask == topic:
            return i
    return -1


cdef inline uint32_t row_count(const uint32_t *row, int32_t length, int topic_bits, uint32_t topic) noexcept nogil:
    """n_kw of one topic."""
    cdef int64_t i
    if length == DENSE:
        return row[topic]
    i = row_find(row, length, topic_bits, topic)
    return row[i] >> topic_bits if i >= 0 else 0


cdef inline void row_drop(uint32_t *row, int32_t *length, int topic_bits, int64_t i) noexcept nogil:
    """Take one token off entry i of a sparse row; an entry that falls to zero is replaced by the last one."""
    row[i] -= <uint32_t> 1 << topic_bits
    if row[i] >> topic_bits == 0:
        length[0] -= 1
        row[i] = row[length[0]]
        row[length[0]] = 0


cdef inline void row_remove(uint32_t *row, int32_t *length, int topic_bits, uint32_t topic) noexcept nogil:
    """Take one token of a topic off a row; the topic must be there."""
    if length[0] == DENSE:
        row[topic] -= 1
    else:
        row_drop(row, length, topic_bits, row_find(row, length[0], topic_bits, topic))


cdef inline void row_add(uint32_t *row, int32_t *length, int topic_bits, uint32_t topic, uint32_t count) noexcept nogil:
    """Put tokens of a topic into a row; the slot's capacity is the caller's promise."""
    cdef int64_t i
    if length[0] == DENSE:
        row[topic] += count
        return
    i = row_find(row, length[0], topic_bits, topic)
    if i >= 0:
        row[i] += count << topic_bits
    else:
        row[length[0]] = count << topic_bits | topic
        length[0] += 1


cdef inline uint32_t *row_spread(uint32_t *row, int32_t length, int topic_bits, uint32_t *room) noexcept nogil:
    """The row's counts by topic: its own where it is dense; else they are spread over `room`, which has zeros."""
    cdef uint32_t mask = (<uint32_t> 1 << topic_bits) - 1
    cdef int64_t i
    if length == DENSE:
        return row
    for i in range(length):
        room[row[i] & mask] = row[i] >> topic_bits
    return room


cdef inline void row_gather(const uint32_t *row, int32_t length, int topic_bits, uint32_t *room) noexcept nogil:
    """Zeros again where `row_spread` has spread a row that is as it was."""
    cdef uint32_t mask = (<uint32_t> 1 << topic_bits) - 1
    cdef int64_t i
    for i in range(length):  # none of a dense row
        room[row[i] & mask] = 0
