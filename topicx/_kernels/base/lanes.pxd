"""The hot loops over 16 lanes, compiled for several CPUs with the same bits on each: see lanes.h and lanes_body.h."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

from topicx._kernels.base.rng cimport tx_rng


cdef extern from "lanes.h" nogil:
    ctypedef struct tx_cell:  # what a sampler of tokens works on: one cell, and the document at hand
        const uint32_t *words
        uint16_t *z
        const int64_t *row_start
        uint32_t *cells
        int32_t *row_len
        int64_t *totals
        const float *beta
        double beta_sum
        int64_t topics
        int64_t chunks
        int topic_bits
        float *prior
        float *counts
        float *q
        float *inverse_less
        float *inverse
        float *inverse_more
        double *blocks
        double *supers
        double q_sum
        float *scratch[2]
        uint16_t *list
        int64_t found
        int64_t changed
        int listed
        int maximise
        tx_rng rng

    ctypedef struct tx_lanes:
        const char *name
        # One draw from q_k (n_k + beta), topic `old` (-1: none) weighing q_old (n_old - 1 + beta).
        int64_t (*dense_draw)(const float *q, const uint32_t *row, float beta, int64_t chunks, int64_t old,
                              float q_old, double u, float *scratch) noexcept nogil
        # q_k = (alpha_k + n_dk) inverse_k
        void (*weights)(float *q, const float *alpha, const float *counts, const float *inverse,
                        int64_t chunks) noexcept nogil
        # The sums of q over 16 topics, over 256 and over all, from q itself.
        void (*sparse_sums)(tx_cell *cell) noexcept nogil
        # Counts of a document in and out by the topics it has, where K is large beside the documents.
        void (*sparse_enter)(tx_cell *cell, int64_t first, int64_t last) noexcept nogil
        void (*sparse_leave)(tx_cell *cell) noexcept nogil
        # SparseLDA over tokens first..last of the document at hand.
        void (*sparse_tokens)(tx_cell *cell, int64_t first, int64_t last) noexcept nogil

    const tx_lanes *tx_lanes_choose() noexcept
