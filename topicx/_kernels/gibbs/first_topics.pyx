"""First topics at random: the bits of NumPy's Generator(Philox(key=key)).integers, from which they once came, written where
they stay, in half of the time, and whatever a later NumPy does.

A number of 64 bits gives four of 16, the lowest first. Lemire's method ("Fast random integer generation in an interval",
2019) makes one below K of each: the upper half of its product with K, unless the lower half is below 2^16 mod K.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

cdef extern from "philox.h" nogil:
    void tx_philox(uint64_t key, uint64_t block, uint64_t *numbers) noexcept

cdef enum:
    BLOCKS = 16  # of four numbers: several are drawn at once, since none waits for another


def draw_first_topics(uint64_t key, uint16_t number, uint16_t[::1] out):
    """Fills `out` with topics below `number`, from the beginning of the stream of `key`."""
    cdef int64_t at = 0, size = out.shape[0]
    cdef uint64_t block = 1
    cdef uint64_t[4 * BLOCKS] numbers
    cdef uint32_t product, least = 0x10000 % number
    cdef int i, part
    with nogil:
        while at < size:
            for i in range(BLOCKS):
                tx_philox(key, block + i, &numbers[4 * i])
            block += BLOCKS
            for i in range(4 * BLOCKS):
                for part in range(4):
                    if at < size:
                        product = <uint32_t>(numbers[i] >> 16 * part & 0xFFFF) * number
                        out[at] = <uint16_t>(product >> 16)
                        at += (product & 0xFFFF) >= least  # no branch: one that is refused is written over
