"""Room that grows."""

from libc.stdlib cimport realloc


cdef inline void *grown(void *block, size_t size) except NULL nogil:
    """A block of this size, with what was in it."""
    cdef void *new = realloc(block, size)
    if new == NULL:
        with gil:
            raise MemoryError
    return new
