"""Special functions in double precision over rows: see special.h."""

from libc.stdint cimport int64_t, uint32_t


cdef extern from "special.h" nogil:
    # out = ψ(prior + n) - less, by one `less` or one prior for all
    void digamma_row(float *out, const double *prior, const float *n, double less, int64_t K) noexcept
    void digamma_word(float *out, double prior, const float *n, const double *less, int64_t K) noexcept
    # sum += ψ(prior + n) - base
    void digamma_gain(double *sum, const double *prior, const float *n, const double *base, int64_t K) noexcept
    # out = digamma (0), lgamma (1), trigamma (2), log (3), tetragamma (4) or exp (5) of x
    void special_map(double *out, const double *x, int which, int64_t n) noexcept
    # sum += c g, and (square != NULL) square += c g (1 - g), over pairs in the order given
    void pair_sums(const float *g, const uint32_t *order, const uint32_t *counts, int64_t pairs, int64_t K,
                   double *sum, double *square) noexcept
    # Σ E[log Γ(prior + n)] - log Γ(prior) over a row
    double rising_sum(const float *mean, const float *variance, const float *none, const double *prior,
                       const double *base, double *scratch, int64_t K) noexcept
