"""What compilers have different names for: see portable.h."""


cdef extern from "portable.h" nogil:
    void tx_prefetch(const void *p) noexcept  # ask for a cache line before it is read
    void *tx_zeroed(size_t size) noexcept  # zero bytes for `free`, of which any may be read and written
