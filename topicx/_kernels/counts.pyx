"""Counts of topics per row (a row is a document, or a word's tokens), in linear time and memory.

A row's topics are collected in a scratch array of K counters and a list of the topics met, then sorted; so the cost
of a row is its tokens, never K.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, qsort

cdef enum:
    NONE = 0xFFFF


cdef int _ascending(const void* a, const void* b) noexcept nogil:
    return <int>(<uint16_t*>a)[0] - <int>(<uint16_t*>b)[0]


def count_distinct(const uint16_t[::1] z, const int64_t[::1] offsets, Py_ssize_t topics, int64_t[::1] distinct):
    """distinct[r + 1] = the number of different topics in row r."""
    cdef Py_ssize_t row, rows = offsets.shape[0] - 1
    cdef int64_t i, found
    cdef uint32_t* seen = <uint32_t*>calloc(NONE + 1, sizeof(uint32_t))
    if seen == NULL:
        raise MemoryError
    with nogil:
        seen[NONE] = 0xFFFFFFFF
        for row in range(rows):
            found = 0
            for i in range(offsets[row], offsets[row + 1]):
                if z[i] != NONE and seen[z[i]] != <uint32_t>(row + 1):
                    seen[z[i]] = <uint32_t>(row + 1)
                    found += 1
            distinct[row + 1] = found
    free(seen)


def fill_counts(const uint16_t[::1] z, const int64_t[::1] offsets, Py_ssize_t topics, const int64_t[::1] indptr,
                uint16_t[::1] columns, int64_t[::1] values):
    """The topics of each row, ascending, and how often each occurs."""
    cdef Py_ssize_t row, rows = offsets.shape[0] - 1
    cdef int64_t i, j, at
    cdef int64_t* counter = <int64_t*>calloc(NONE + 1, sizeof(int64_t))
    if counter == NULL:
        raise MemoryError
    with nogil:
        for row in range(rows):
            at = indptr[row]
            for i in range(offsets[row], offsets[row + 1]):
                if z[i] != NONE:
                    if counter[z[i]] == 0:
                        columns[at] = z[i]
                        at += 1
                    counter[z[i]] += 1
            if at - indptr[row] > 1:
                qsort(&columns[indptr[row]], at - indptr[row], sizeof(uint16_t), &_ascending)
            for j in range(indptr[row], at):
                values[j] = counter[columns[j]]
                counter[columns[j]] = 0
    free(counter)


def group_by_word(const uint32_t[::1] words, const uint16_t[::1] z, int64_t[::1] position, uint16_t[::1] grouped):
    """grouped = z in the order of word ids; `position` starts as the words' offsets and is used up."""
    cdef Py_ssize_t i, n = words.shape[0]
    with nogil:
        for i in range(n):
            grouped[position[words[i]]] = z[i]
            position[words[i]] += 1


def document_frequencies(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t[::1] last_seen,
                         int64_t[::1] frequencies):
    """frequencies[w] = documents in which word w occurs; `last_seen` starts as -1 everywhere."""
    cdef Py_ssize_t d
    cdef int64_t i
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                if last_seen[words[i]] != d:
                    last_seen[words[i]] = d
                    frequencies[words[i]] += 1
