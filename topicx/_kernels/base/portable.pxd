"""What compilers have different names for: see portable.h."""


from libc.stdint cimport uint64_t

cdef extern from "portable.h" nogil:
    void tx_prefetch(const void *p) noexcept  # ask for a cache line before it is read
    int tx_first_bit(uint64_t bits) noexcept  # the place of the lowest bit; one is set
    uint64_t tx_eight(const void *p) noexcept  # eight bytes as a number, the first in its lowest bits
    void *tx_zeroed(size_t size) noexcept  # zero bytes for `free`, of which any may be read and written
