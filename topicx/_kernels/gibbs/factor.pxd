"""A document's factor of the supervised models, over tasks or over topics, 16 entries at a time: see factor.h."""

from libc.stdint cimport int32_t, int64_t, uint32_t


cdef extern from "factor.h" nogil:
    ctypedef struct tx_factor:
        # How log f changes when a token of one topic stands in another (rows of eta of a multiple of 16).
        float (*gain)(const float *source, const float *to, const float *lin, const float *half,
                      int64_t width) noexcept nogil
        # A token moved: what lin becomes, and pull.
        void (*moved)(const float *source, const float *to, float *lin, const float *half, int64_t width, float length,
                      float *pull) noexcept nogil
        # lin as it would be if the whole document were as `counts` (of `tokens` tokens) are: frozen_c = lin_c -
        # 2 half_c N (s~_c - s_c) is what an exp-proposal may know. `constant` is b_c / N less the bias's part.
        void (*frozen)(const float *eta, const int32_t *counts, int64_t tokens, int64_t K, const float *constant,
                       const float *half, double length, int64_t width, float *frozen) noexcept nogil
        # log weights of the exp-proposal: as reach, the largest 0, none under -40; and weights.
        void (*exp_weights)(const float *blocks, const float *lin, const float *half, int64_t K, int64_t tasks,
                            float *logs, float *weights) noexcept nogil
        # What a token would gain in each topic: sum_c eta_kc (lin_c - half_c eta_kc); and the factors e^reach, the
        # largest 1.
        void (*reach)(const float *blocks, const float *lin, const float *half, int64_t K, int64_t tasks, float *reach,
                      float *factors) noexcept nogil
        # What a token of a topic (`own`: its row of eta) takes from every topic's reach: 2 sum_c half_c eta_jc eta_kc
        # for all j, and the factors e^that. Returns how far the largest and the smallest of them are apart.
        float (*overlap)(const float *blocks, const float *own, const float *half, int64_t K, int64_t tasks, float *out,
                         float *factors) noexcept nogil
        # A token left a topic for another one (their overlaps): what reach becomes, and its factors.
        void (*reach_moved)(const float *source, const float *to, int64_t K, float *reach, float *factors) noexcept nogil
        # q_k f_k, f the product of two factors;
        void (*times)(const float *q, const float *reached, const float *taken, int64_t K, float *out) noexcept nogil
        # or e^(reach + overlap), 1 the largest, where the factors are too far apart to be multiplied.
        void (*times_far)(const float *q, const float *reach, const float *overlap, int64_t K, float *f,
                          float *out) noexcept nogil
        # The same of a token of topic `old`, of at most FACTOR_FEW tasks, with nothing kept from token to token; returns
        # the factor of `old`. f: room for K numbers.
        float (*times_anew)(const float *q, const float *blocks, int64_t old, const float *lin, const float *half,
                            int64_t K, int64_t tasks, float *f, float *out) noexcept nogil
        # One topic's weights in c0 <= c < c1 tasks: sums over its documents, in their order;
        void (*weight_sums)(const uint32_t *docs, const float *shares, int64_t n, const float *pull, const float *curve,
                            int64_t width, int64_t c0, int64_t c1, double *linear, double *precision) noexcept nogil
        # and the documents' pull after these weights changed by `change`.
        void (*weight_change)(const uint32_t *docs, const float *shares, int64_t n, float *pull, const float *curve,
                              int64_t width, int64_t c0, int64_t c1, const float *change) noexcept nogil

    int64_t FACTOR_FEW
    const tx_factor *tx_factor_choose() noexcept
    # e^x; x is cut off at -87 and 87.
    float tx_expf(float x) noexcept
