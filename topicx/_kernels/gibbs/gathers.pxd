"""Loops over lists of topics, 16 entries at a time, and the draw of a topic given phi: see gathers.h."""

from libc.stdint cimport int32_t, int64_t, uint32_t


cdef extern from "gathers.h" nogil:
    ctypedef struct tx_gathers:
        # Running sums of n_dk c_k over a document's topics (topic old: (n_dk - 1) c_old), and their scan over the lanes.
        float (*own_sums)(const uint32_t *topics, const float *counts, int64_t chunks, const float *c, int32_t old,
                          float c_old, float *sums, float *ends) noexcept nogil
        # The same of n_dk (n_kw + beta) / (n_k + B).
        float (*document_sums)(const uint32_t *topics, const int32_t *counts, int64_t chunks, const uint32_t *words,
                               const float *inverse, float beta, float *sums, float *ends) noexcept nogil
        # The entry of a list with these sums on which r falls, or -1.
        int64_t (*find)(const float *sums, const float *ends, int64_t chunks, float r) noexcept nogil
        # Where a topic stands in a list of n, or -1.
        int64_t (*position)(const uint32_t *topics, int64_t n, uint32_t topic) noexcept nogil
        # The count of a topic in a sparse row (rows.pxd).
        uint32_t (*count)(const uint32_t *row, int64_t length, int bits, uint32_t topic) noexcept nogil
        # An entry of a sparse row of phi from q_k phi_k, or -1.
        int64_t (*draw_sparse)(const float *q, const uint32_t *topics, const float *phi, int64_t chunks, double u,
                               float *sums) noexcept nogil
        # A topic from q_k phi_k, topic `old` (-1: none) weighing q_old, or -1.
        int64_t (*draw_dense)(const float *q, const float *phi, int64_t chunks, int64_t old, float q_old, double u,
                              float *sums) noexcept nogil

    const tx_gathers *tx_gathers_choose() noexcept
