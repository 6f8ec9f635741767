"""The distinct (document, word) pairs of the variational methods, in the schedule's order."""

cimport cython
from libc.stdint cimport int64_t, uint32_t


@cython.final
cdef class Pairs:
    """The pairs in the schedule's order, and where each document's pairs of each block are."""

    cdef const uint32_t[::1] words
    cdef const uint32_t[::1] counts
    cdef const int64_t[::1] offsets
    cdef const int64_t[::1] segments
    cdef const uint32_t[::1] groups
    cdef int64_t blocks
    cdef int64_t topics
    cdef int64_t padded
    """ceil16(topics): the length of a row of expected counts."""

    cdef inline int64_t first(self, int64_t d, int64_t block) noexcept nogil:
        """Where a document's pairs of a block begin; they end where the next block's begin."""
        return self.segments[d * (self.blocks + 1) + block]

    cdef inline int64_t group(self, int64_t d) noexcept nogil:
        """Which row of α is the document's."""
        return self.groups[d] if self.groups.shape[0] > 0 else 0
