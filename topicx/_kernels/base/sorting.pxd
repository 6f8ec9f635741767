"""Sorting a few topics, and many keys."""

from libc.stdint cimport int64_t, uint16_t, uint64_t
from libc.stdlib cimport qsort

cdef enum:
    SHORT = 48  # numbers up to which they are sorted by insertion


ctypedef fused sortable:
    uint16_t
    uint64_t


cdef inline void sort_few(sortable *keys, int64_t n) noexcept nogil:
    """Ascending, by insertion."""
    cdef int64_t i, j
    cdef sortable key
    for i in range(1, n):
        key = keys[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key


cdef inline int topics_ascend(const void *a, const void *b) noexcept nogil:
    return <int> (<const uint16_t *> a)[0] - <int> (<const uint16_t *> b)[0]


cdef inline void sort_topics(uint16_t *topics, int64_t n) noexcept nogil:
    """Ascending; most lists are short, and then a call of qsort costs more than what was done to make them."""
    if n > SHORT:
        qsort(topics, n, sizeof(uint16_t), topics_ascend)
    else:
        sort_few(topics, n)


cdef inline int keys_ascend(const void *a, const void *b) noexcept nogil:
    cdef uint64_t x = (<const uint64_t *> a)[0], y = (<const uint64_t *> b)[0]
    return (x > y) - (x < y)


cdef inline void sort_keys(uint64_t *keys, int64_t n) noexcept nogil:
    """Ascending, in the same way."""
    if n > SHORT:
        qsort(keys, n, sizeof(uint64_t), keys_ascend)
    else:
        sort_few(keys, n)
