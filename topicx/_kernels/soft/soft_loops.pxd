"""The loops of the variational methods over 16 lanes: see soft.h."""

from libc.stdint cimport int64_t, uint32_t

from topicx._kernels.base.rng cimport tx_rng


cdef extern from "soft.h" nogil:
    ctypedef struct tx_expected:  # expected counts beside the assignments of one document's pairs
        float *nd
        float *nw
        float *moved
        const float *near

    ctypedef struct tx_soft:
        # Renew the assignments of one document's pairs by CVB0 and by CVB; return half the mass moved.
        double (*cvb0)(float *g, const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t K,
                       const tx_expected *n, const float *beta, const float *alpha, float least,
                       float *scratch) noexcept nogil
        double (*cvb)(float *g, const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t K,
                      const tx_expected *n, const tx_expected *v, const float *beta, const float *alpha, float least,
                      float *scratch) noexcept nogil
        # nd += c g, and (vd != NULL) vd += c g (1 - g)
        void (*count)(const float *g, const uint32_t *counts, int64_t pairs, int64_t K, float *nd,
                      float *vd) noexcept nogil
        # Mean, variance and log P(no token) of the sum over pairs; returns the entropy if it is asked for.
        double (*moments)(const float *g, const uint32_t *order, const uint32_t *counts, int64_t pairs, int64_t K,
                          float *mean, float *variance, float *none, int entropies) noexcept nogil
        # One update by VB, added to nd and nw; returns the entropy.
        double (*vb)(const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t Kp, const float *lt,
                     const float *lw, float *nd, float *nw, float *scratch) noexcept nogil
        # One pass of SCVB0 over a document's pairs; returns Σ c log p(w) up to a constant.
        double (*scvb0)(const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t Kp, float *nd,
                        const float *alpha, float length, const float *nw, float scale, const float *beta,
                        const float *weight, const double *rates, int64_t n_rates, int64_t position, float *keep,
                        float *scratch) noexcept nogil
        # row += factor Σ c g, total += Σ c g, over pairs in the order given.
        void (*gather)(float *row, const float *keep, const int64_t *order, const uint32_t *counts, int64_t pairs,
                       int64_t Kp, double factor, double *total, float *scratch) noexcept nogil
        # A point of the simplex, uniformly.
        void (*random)(float *out, int64_t K, tx_rng *rng) noexcept nogil

    const tx_soft *tx_soft_choose() noexcept
