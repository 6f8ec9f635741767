"""The inline generator: one stream per kernel call, made from a 64-bit key and never carried over."""

from libc.stdint cimport uint64_t


cdef extern from "rng.h" nogil:
    ctypedef struct tx_rng:
        pass

    uint64_t tx_mix(uint64_t x) noexcept
    uint64_t tx_key(uint64_t key, uint64_t part) noexcept  # one more number into a key, as streams.key does
    tx_rng tx_rng_seed(uint64_t key) noexcept
    uint64_t tx_rng_next(tx_rng *rng) noexcept
    double tx_rng_double(tx_rng *rng) noexcept  # uniform on [0, 1), 53 bits
