"""What compilers have different names for: see portable.h."""


cdef extern from "portable.h" nogil:
    void tx_prefetch(const void *p) noexcept  # ask for a cache line before it is read
