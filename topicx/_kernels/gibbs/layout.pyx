"""Tokens between the order of the text and the order of the schedule, without keeping an index.

The schedule keeps a document's tokens of one block of words together, and equal words side by side: a word's row is then
fetched and weighed once for all its tokens in the document (12% of a sweep at K = 100). The order of a systematic
scan is free. The permutation of a document is found again by sorting whenever it is needed; all work is over a run of
documents, so that threads can share it. Where the ranks of a document's tokens are kept, the way back needs no sort.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from topicx._kernels.gibbs.cell cimport Arena
from topicx._kernels.base.sorting cimport sort_few

ctypedef fused value:
    uint16_t
    uint32_t

cdef enum:
    SHORT = 40  # tokens of a document up to which they are sorted by insertion
    LONG = 2000  # tokens of a document from which on a pass of the other sort looks at LARGE bits of a rank
    DIGIT = 8  # bits that it looks at in shorter ones
    LARGE = 11


def find_segments(Py_ssize_t first, Py_ssize_t last, const uint32_t[::1] words, const int64_t[::1] offsets,
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


cdef inline void _count_digits(const uint64_t *keys, int64_t n, uint32_t *counts, int digit, int passes) noexcept nogil:
    """How often each digit occurs in each place; where `passes` is a constant the inner loop is none."""
    cdef uint32_t mask = (1 << digit) - 1, rank
    cdef int64_t i
    cdef int at
    for i in range(n):
        rank = <uint32_t>(keys[i] >> 32)
        for at in range(passes):
            counts[(at << digit) + (rank & mask)] += 1
            rank >>= digit


cdef class Sorter:
    """The documents first..last, one after another, each with its tokens in the schedule's order."""

    cdef const uint32_t[::1] words
    cdef const int64_t[::1] offsets
    cdef const uint32_t[::1] rank
    cdef Arena arena
    cdef Py_ssize_t document, last
    cdef int64_t longest
    cdef uint64_t *keys  # rank of the word, place in the document; sorted
    cdef uint64_t *spare
    cdef int bits  # of the largest rank
    # the document at hand: where its tokens begin, and how many there are
    cdef int64_t begin, n

    def __init__(self, Py_ssize_t first, Py_ssize_t last, words, offsets, rank):
        cdef Py_ssize_t d
        self.words, self.offsets, self.rank, self.document, self.last = words, offsets, rank, first, last
        for d in range(first, last):
            self.longest = max(self.longest, self.offsets[d + 1] - self.offsets[d])
        self.arena = Arena()
        self.keys = <uint64_t *> self.arena.room((self.longest + 1) * sizeof(uint64_t))
        self.spare = <uint64_t *> self.arena.room((self.longest + 1) * sizeof(uint64_t))
        self.bits = max(1, int(self.rank.shape[0] - 1).bit_length())

    cdef bint next(self) noexcept nogil:
        """Whether there is another document; its tokens."""
        cdef int64_t i
        if self.document == self.last:
            return False
        self.begin = self.offsets[self.document]
        self.n = self.offsets[self.document + 1] - self.begin
        self.document += 1
        for i in range(self.n):
            self.keys[i] = <uint64_t>self.rank[self.words[self.begin + i]] << 32 | <uint64_t>i
        if self.n <= SHORT:
            sort_few(self.keys, self.n)
        else:
            self.distribute()
        return True

    cdef void distribute(self) noexcept nogil:
        """Ascending by rank, equal ranks as they were: digit after digit, all counted before the first."""
        cdef int64_t i, n = self.n
        cdef int most = LARGE if n >= LONG else DIGIT
        cdef int passes = (self.bits + most - 1) // most
        cdef int digit = (self.bits + passes - 1) // passes, at
        cdef uint32_t mask = (1 << digit) - 1, place, size
        cdef uint32_t[4 << LARGE] begin  # at most four digits
        cdef uint32_t *own
        cdef uint64_t *keys = self.keys
        cdef uint64_t *spare = self.spare
        memset(begin, 0, passes * sizeof(uint32_t) << digit)
        if passes == 1:
            _count_digits(keys, n, begin, digit, 1)
        elif passes == 2:
            _count_digits(keys, n, begin, digit, 2)
        elif passes == 3:
            _count_digits(keys, n, begin, digit, 3)
        else:
            _count_digits(keys, n, begin, digit, 4)
        for at in range(passes):
            own = &begin[at << digit]
            place = 0
            for i in range(mask + 1):
                size = own[i]
                own[i] = place
                place += size
            for i in range(n):
                size = <uint32_t>(keys[i] >> (32 + at * digit)) & mask
                spare[own[size]] = keys[i]
                own[size] += 1
            keys, spare = spare, keys
        self.keys, self.spare = keys, spare


def arrange_tokens(Py_ssize_t first, Py_ssize_t last, const uint32_t[::1] words, const int64_t[::1] offsets,
                   const uint32_t[::1] rank, const value[::1] source, value[::1] target, bint back,
                   uint32_t[::1] ranks=None):
    """target = source in the schedule's order, or (back) from the schedule's order into the order of the text, for the
    documents first..last.

    rank orders the words: by block, then by word. Equal words keep the order of the text. Source and target may be one.
    ranks: takes the ranks of the tokens, in the schedule's order.
    """
    cdef int64_t i, at
    cdef bint ranked = ranks is not None
    cdef Sorter s = Sorter(first, last, words, offsets, rank)
    cdef value *own = <value *> s.arena.room((s.longest + 1) * sizeof(value))
    with nogil:
        while s.next():
            if s.n == 0:
                continue
            memcpy(own, &source[s.begin], s.n * sizeof(value))
            for i in range(s.n):
                at = <int64_t><uint32_t>s.keys[i]  # the lower half: where the token stands in the text
                if back:
                    target[s.begin + at] = own[i]
                else:
                    target[s.begin + i] = own[at]
            if ranked:
                for i in range(s.n):
                    ranks[s.begin + i] = <uint32_t>(s.keys[i] >> 32)


def restore_tokens(Py_ssize_t first, Py_ssize_t last, const uint32_t[::1] words, const int64_t[::1] offsets,
                   const uint32_t[::1] rank, const uint32_t[::1] ranks, const value[::1] source, value[::1] target):
    """As `arrange_tokens` (back), without a sort, where the ranks of the tokens in the schedule's order are known."""
    cdef Py_ssize_t d
    cdef int64_t i, begin
    cdef uint32_t own
    cdef Arena arena = Arena()
    cdef uint32_t *following = <uint32_t *> arena.room(rank.shape[0] * sizeof(uint32_t))  # where a rank's next token is
    with nogil:
        for d in range(first, last):
            begin = offsets[d]
            for i in range(offsets[d + 1] - begin - 1, -1, -1):
                following[ranks[begin + i]] = <uint32_t>i  # the first of them comes last
            for i in range(begin, offsets[d + 1]):
                own = rank[words[i]]
                target[i] = source[begin + following[own]]
                following[own] += 1
