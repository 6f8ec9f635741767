"""Tokens between the order of the text and the order of the schedule, without keeping an index.

The schedule keeps a document's tokens of one block of words together, and equal words side by side: a word's row is then
fetched and weighed once for all its tokens in the document (12% of a sweep at K = 100). The order of a systematic
scan is free. The permutation of a document is found again by sorting whenever it is needed.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort

ctypedef fused value:
    uint16_t
    uint32_t


cdef int _ascending(const void* a, const void* b) noexcept nogil:
    cdef uint64_t x = (<const uint64_t*>a)[0], y = (<const uint64_t*>b)[0]
    return (x > y) - (x < y)


def segment(const uint32_t[::1] words, const int64_t[::1] offsets, const uint16_t[::1] block_of_word,
            Py_ssize_t partitions, int64_t[::1] segments):
    """segments[d, b]: where document d's tokens of block b begin (and, at b = P, end)."""
    cdef Py_ssize_t d, b, stride = partitions + 1
    cdef int64_t i, at, size
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for b in range(stride):
                segments[d * stride + b] = 0
            for i in range(offsets[d], offsets[d + 1]):
                segments[d * stride + block_of_word[words[i]]] += 1
            at = offsets[d]
            for b in range(stride):
                size = segments[d * stride + b]
                segments[d * stride + b] = at
                at += size


def arrange(const uint32_t[::1] words, const int64_t[::1] offsets, const uint32_t[::1] rank, const value[::1] source,
            value[::1] target, bint back):
    """target = source in the schedule's order, or (back) from the schedule's order into the order of the text.

    rank orders the words: by block, then by word. Equal words keep the order of the text.
    """
    cdef Py_ssize_t d
    cdef int64_t i, at, begin, n, longest = 0
    cdef uint64_t* keys
    for d in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    keys = <uint64_t*>malloc((longest + 1) * sizeof(uint64_t))
    if keys == NULL:
        raise MemoryError
    with nogil:
        for d in range(offsets.shape[0] - 1):
            begin, n = offsets[d], offsets[d + 1] - offsets[d]
            for i in range(n):
                keys[i] = <uint64_t>rank[words[begin + i]] << 32 | <uint64_t>i
            qsort(keys, n, sizeof(uint64_t), &_ascending)
            for i in range(n):
                at = begin + <int64_t><uint32_t>keys[i]  # the lower half: where the token stands in the text
                if back:
                    target[at] = source[begin + i]
                else:
                    target[begin + i] = source[at]
    free(keys)
