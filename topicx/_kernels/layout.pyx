"""Tokens between the order of the text and the order of the schedule, in linear time and without an index.

The schedule keeps a document's tokens of one block of words together, in the order of the text within the block. So a
walk over the text in order, with one cursor a block, visits the schedule's order too.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t

ctypedef fused value:
    uint16_t
    uint32_t


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


def arrange(const uint32_t[::1] words, const int64_t[::1] offsets, const uint16_t[::1] block_of_word,
            Py_ssize_t partitions, const int64_t[::1] segments, const value[::1] source, value[::1] target,
            int64_t[::1] cursor, bint back):
    """target = source in the schedule's order, or (back) from the schedule's order into the order of the text."""
    cdef Py_ssize_t d, b
    cdef int64_t i
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for b in range(partitions):
                cursor[b] = segments[d * (partitions + 1) + b]
            for i in range(offsets[d], offsets[d + 1]):
                b = block_of_word[words[i]]
                if back:
                    target[i] = source[cursor[b]]
                else:
                    target[cursor[b]] = source[i]
                cursor[b] += 1
