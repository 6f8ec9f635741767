"""The hot loops over 16 lanes, compiled for several CPUs with the same bits on each: see lanes.h and lanes_body.h."""

from libc.stdint cimport int32_t, int64_t, uint32_t


cdef extern from "lanes.h" nogil:
    ctypedef struct tx_lanes:
        const char *name
        # One draw from q_k (n_k + beta), topic `old` (-1: none) weighing q_old (n_old - 1 + beta).
        int64_t (*dense_draw)(const float *q, const uint32_t *row, float beta, int64_t chunks, int64_t old,
                              float q_old, double u, float *scratch) noexcept nogil
        # q_k = (alpha_k + n_dk) inverse_k
        void (*weights)(float *q, const float *alpha, const int32_t *counts, const float *inverse,
                        int64_t chunks) noexcept nogil

    const tx_lanes *tx_lanes_choose() noexcept
