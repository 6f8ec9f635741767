"""Tokens between the order of the text and the order of the schedule, without keeping an index.

The schedule keeps a document's tokens of one block of words together, and equal words side by side: a word's row is then
fetched and weighed once for all its tokens in the document (12% of a sweep at K = 100). The order of a systematic
scan is free. The permutation of a document is found again by sorting whenever it is needed; all work is over a run of
documents, so that threads can share it.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

ctypedef fused value:
    uint16_t
    uint32_t

cdef enum:
    SHORT = 40  # tokens of a document up to which they are sorted by insertion
    DIGIT = 8  # bits of a rank that one pass of the other sort looks at


def segment(Py_ssize_t first, Py_ssize_t last, const uint32_t[::1] words, const int64_t[::1] offsets,
            const uint16_t[::1] block_of_word, Py_ssize_t partitions, int64_t[::1] segments):
    """segments[d, b]: where the tokens of block b begin in document d of first..last (and, at b = P, end)."""
    cdef Py_ssize_t d, b, stride = partitions + 1
    cdef int64_t i, at, size
    with nogil:
        for d in range(first, last):
            for b in range(stride):
                segments[d * stride + b] = 0
            if partitions == 1:
                segments[d * stride] = offsets[d + 1] - offsets[d]
            else:
                for i in range(offsets[d], offsets[d + 1]):
                    segments[d * stride + block_of_word[words[i]]] += 1
            at = offsets[d]
            for b in range(stride):
                size = segments[d * stride + b]
                segments[d * stride + b] = at
                at += size


cdef struct Sorter:  # scratch of a pass over documents
    uint64_t *keys  # rank of the word, place in the document; sorted when `sort` returns
    uint64_t *spare
    int bits  # of the largest rank


cdef void sort(Sorter *s, int64_t n) noexcept nogil:
    """Ascending by rank, equal ranks as they were: by insertion, or digit after digit where there are many."""
    cdef int64_t i, j, at
    cdef int64_t begin[1 << DIGIT]
    cdef int low = 32
    cdef uint64_t key
    cdef uint64_t *other
    if n <= SHORT:
        for i in range(1, n):
            key = s.keys[i]
            j = i
            while j > 0 and s.keys[j - 1] > key:
                s.keys[j] = s.keys[j - 1]
                j -= 1
            s.keys[j] = key
        return
    while low < 32 + s.bits:
        memset(begin, 0, sizeof(begin))
        for i in range(n):
            begin[(s.keys[i] >> low) & ((1 << DIGIT) - 1)] += 1
        at = 0
        for i in range(1 << DIGIT):
            j = begin[i]
            begin[i] = at
            at += j
        for i in range(n):
            j = (s.keys[i] >> low) & ((1 << DIGIT) - 1)
            s.spare[begin[j]] = s.keys[i]
            begin[j] += 1
        other = s.keys
        s.keys = s.spare
        s.spare = other
        low += DIGIT


cdef int sorter(Sorter *s, Py_ssize_t first, Py_ssize_t last, const int64_t[::1] offsets, const uint32_t[::1] rank) except -1:
    """Room for the longest of these documents; `free` what `room` is."""
    cdef Py_ssize_t d
    cdef int64_t longest = 0
    for d in range(first, last):
        longest = max(longest, offsets[d + 1] - offsets[d])
    s.keys = <uint64_t*>malloc(2 * (longest + 1) * sizeof(uint64_t))
    if s.keys == NULL:
        raise MemoryError
    s.spare = s.keys + longest + 1
    s.bits = max(1, int(rank.shape[0] - 1).bit_length())
    return 0


cdef void by_rank(Sorter *s, const uint32_t[::1] words, int64_t begin, int64_t n, const uint32_t[::1] rank) noexcept nogil:
    """The tokens of a document in the schedule's order."""
    cdef int64_t i
    for i in range(n):
        s.keys[i] = <uint64_t>rank[words[begin + i]] << 32 | <uint64_t>i
    sort(s, n)


def arrange(Py_ssize_t first, Py_ssize_t last, const uint32_t[::1] words, const int64_t[::1] offsets,
            const uint32_t[::1] rank, const value[::1] source, value[::1] target, bint back):
    """target = source in the schedule's order, or (back) from the schedule's order into the order of the text, for the
    documents first..last.

    rank orders the words: by block, then by word. Equal words keep the order of the text.
    """
    cdef Py_ssize_t d
    cdef int64_t i, at, begin, n
    cdef Sorter s
    sorter(&s, first, last, offsets, rank)
    cdef void *room = s.keys
    with nogil:
        for d in range(first, last):
            begin, n = offsets[d], offsets[d + 1] - offsets[d]
            by_rank(&s, words, begin, n, rank)
            for i in range(n):
                at = begin + <int64_t><uint32_t>s.keys[i]  # the lower half: where the token stands in the text
                if back:
                    target[at] = source[begin + i]
                else:
                    target[begin + i] = source[at]
    free(room)


def ranks(Py_ssize_t first, Py_ssize_t last, const uint32_t[::1] words, const int64_t[::1] offsets,
          const uint32_t[::1] rank, uint32_t[::1] target):
    """The ranks of the tokens of the documents first..last, in the schedule's order."""
    cdef Py_ssize_t d
    cdef int64_t i, begin, n
    cdef Sorter s
    sorter(&s, first, last, offsets, rank)
    cdef void *room = s.keys
    with nogil:
        for d in range(first, last):
            begin, n = offsets[d], offsets[d + 1] - offsets[d]
            by_rank(&s, words, begin, n, rank)
            for i in range(n):
                target[begin + i] = <uint32_t>(s.keys[i] >> 32)
    free(room)
