/* Logarithm, exponential, digamma, log gamma and trigamma in double precision, and sums of them over rows.
 *
 * No libm: four operations in a fixed order, the same bits on every CPU. One number at a time and without branches, so
 * that compilers make vectors of the loops; TX_CLONED (clones.h) compiles those for several CPUs. */
#ifndef TOPICX_SPECIAL_H
#define TOPICX_SPECIAL_H

#include <stdint.h>
#include <string.h>

#include "clones.h"

TX_INLINE double d_log(double x) {
    uint64_t bits, e, m;
    memcpy(&bits, &x, 8);
    e = (bits - UINT64_C(0x3FE6A09E667F3BCD) + (UINT64_C(1023) << 52)) >> 52; /* exponent + 1023 */
    m = bits - (e << 52) + (UINT64_C(1023) << 52);
    e |= UINT64_C(0x4330000000000000); /* 2^52 + exponent + 1023, as a double */
    double f, n;
    memcpy(&f, &m, 8);
    memcpy(&n, &e, 8);
    n -= 4503599627370496.0 + 1023.0;
    const double s = (f - 1) / (f + 1), q = s * s;
    double y = 1.0 / 23;
    for (int n = 21; n >= 3; n -= 2) y = y * q + 1.0 / n;
    y = (y * q) * s + s;
    return n * 0.693147180369123816490 + (2 * y + n * 1.90821492927058770002e-10);
}
TX_INLINE double d_exp(double x) {
    x = x < -700 ? -700 : x > 700 ? 700 : x;
    const double magic = 6755399441055744.0, z = x * 1.4426950408889634 + magic, n = z - magic;
    const double r = x - n * 0.693147180369123816490 - n * 1.90821492927058770002e-10;
    double y = 1.0;
    for (int i = 15; i >= 1; i--) y = y * (r / i) + 1.0;
    int64_t bits;
    memcpy(&bits, &z, 8);
    bits = (bits - INT64_C(0x4338000000000000) + 1023) * (INT64_C(1) << 52);
    double scale;
    memcpy(&scale, &bits, 8);
    return y * scale;
}
/* psi, log gamma and psi' (x > 0): moved up by 8 with the recurrence, then their asymptotic series. */
TX_INLINE double d_digamma(double x) {
    double below = x, above = 1; /* above / below = 1/x + ... + 1/(x + 7) */
    for (int i = 1; i < 8; i++) {
        above = above * (x + i) + below;
        below = below * (x + i);
    }
    const double y = x + 8, f = 1 / y, q = f * f;
    static const double terms[] = {-691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12};
    double s = 1.0 / 12;
    for (int i = 0; i < 6; i++) s = terms[i] + s * q;
    return d_log(y) - 0.5 * f - s * q - above / below;
}
TX_INLINE double d_lgamma(double x) {
    double below = x;
    for (int i = 1; i < 8; i++) below *= x + i;
    const double y = x + 8, f = 1 / y, q = f * f;
    static const double terms[] = {-691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12};
    double s = 1.0 / 156;
    for (int i = 0; i < 6; i++) s = terms[i] + s * q;
    return (y - 0.5) * d_log(y) - y + 0.91893853320467274178 + s * f - d_log(below);
}
TX_INLINE double d_trigamma(double x) {
    double sum = 0;
    for (int i = 0; i < 8; i++) sum += 1 / ((x + i) * (x + i));
    const double f = 1 / (x + 8), q = f * f;
    static const double terms[] = {-691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6};
    double s = 7.0 / 6;
    for (int i = 0; i < 6; i++) s = terms[i] + s * q;
    return sum + f + 0.5 * q + s * q * f;
}
TX_INLINE double d_tetragamma(double x) { /* psi'' */
    double sum = 0;
    for (int i = 0; i < 8; i++) sum += 1 / ((x + i) * (x + i) * (x + i));
    const double f = 1 / (x + 8), q = f * f;
    static const double terms[] = {-691.0 / 210, 5.0 / 6, -3.0 / 10, 1.0 / 6, -1.0 / 6, 1.0 / 2};
    double s = 35.0 / 2;
    for (int i = 0; i < 6; i++) s = terms[i] + s * q;
    return -(2 * sum + q + f * q + s * q * q);
}
/* (sums of reciprocal powers need more terms for tiny x; the first of them dominates there and is exact) */

/* ---- digamma of rows ---- */
/* out[k] = psi(prior[k] + n[k]) - less */
TX_INLINE void digamma_row_body(float *restrict out, const double *restrict prior, const float *restrict n,
                                double less, int64_t K) {
    for (int64_t k = 0; k < K; k++) out[k] = (float)(d_digamma(prior[k] + (double)n[k]) - less);
}
TX_CLONED(void, digamma_row, (float *restrict out, const double *restrict prior, const float *restrict n,
          double less, int64_t K), (out, prior, n, less, K))
/* out[k] = psi(prior + n[k]) - less[k] */
TX_INLINE void digamma_word_body(float *restrict out, double prior, const float *restrict n,
                                 const double *restrict less, int64_t K) {
    for (int64_t k = 0; k < K; k++) out[k] = (float)(d_digamma(prior + (double)n[k]) - less[k]);
}
TX_CLONED(void, digamma_word, (float *restrict out, double prior, const float *restrict n,
          const double *restrict less, int64_t K), (out, prior, n, less, K))
/* sum[k] += psi(prior[k] + n[k]) - base[k] */
TX_INLINE void digamma_gain_body(double *restrict sum, const double *restrict prior, const float *restrict n,
                                 const double *restrict base, int64_t K) {
    for (int64_t k = 0; k < K; k++) sum[k] += d_digamma(prior[k] + (double)n[k]) - base[k];
}
TX_CLONED(void, digamma_gain, (double *restrict sum, const double *restrict prior, const float *restrict n,
          const double *restrict base, int64_t K), (sum, prior, n, base, K))
TX_INLINE void special_map_body(double *restrict out, const double *restrict x, int which, int64_t n) {
    if (which == 0)
        for (int64_t i = 0; i < n; i++) out[i] = d_digamma(x[i]);
    else if (which == 1)
        for (int64_t i = 0; i < n; i++) out[i] = d_lgamma(x[i]);
    else if (which == 2)
        for (int64_t i = 0; i < n; i++) out[i] = d_trigamma(x[i]);
    else if (which == 3)
        for (int64_t i = 0; i < n; i++) out[i] = d_log(x[i]);
    else if (which == 4)
        for (int64_t i = 0; i < n; i++) out[i] = d_tetragamma(x[i]);
    else
        for (int64_t i = 0; i < n; i++) out[i] = d_exp(x[i]);
}
TX_CLONED(void, special_map, (double *restrict out, const double *restrict x, int which, int64_t n), (out, x, which,
          n))

/* ---- sums of indicators ---- */
/* sum[k] += c g over pairs (order == NULL: in turn), square[k] += c g (1 - g) where it is given: in double precision. */
TX_INLINE void pair_sums_body(const float *restrict g, const uint32_t *restrict order,
                              const uint32_t *restrict counts, int64_t pairs, int64_t K, double *restrict sum,
                              double *restrict square) {
    for (int64_t i = 0; i < pairs; i++) {
        const int64_t at = order ? order[i] : i;
        const float *restrict p = g + at * K;
        const double c = counts[at];
        if (order && i + 4 < pairs) __builtin_prefetch(g + (int64_t)order[i + 4] * K);
        for (int64_t k = 0; k < K; k++) sum[k] += c * (double)p[k];
        if (square)
            for (int64_t k = 0; k < K; k++) square[k] += c * ((double)p[k] * (1 - (double)p[k]));
    }
}
TX_CLONED(void, pair_sums, (const float *restrict g, const uint32_t *restrict order, const uint32_t *restrict counts,
          int64_t pairs, int64_t K, double *restrict sum, double *restrict square), (g, order, counts, pairs, K, sum,
          square))

/* Sum over a row of E[log gamma(prior + n)] - log gamma(prior), n a sum of independent indicators with this mean and
 * variance and log P(n = 0) = none. The case n = 0 is taken apart; given n > 0, two terms of the Taylor series about the
 * conditional mean (Teh, Newman & Welling 2006, eq. 17; Teh, Kurihara & Welling 2008 for n = 0). variance NULL: n is its
 * mean. base = log gamma(prior). */
TX_INLINE double rising_mean(double prior, double base, double m, double v, double lp) {
    const double zero = d_exp(lp), some = lp > -1e-3 ? -lp * (1 + lp * (0.5 + lp / 6)) : 1 - zero;
    const double p = some > 1e-12 ? some : 1e-12, mean = m / p > 1 ? m / p : 1;
    const double square = (v + m * m) / p - mean * mean, vary = square > 0 ? square : 0;
    const double curve = d_lgamma(prior + mean) + 0.5 * vary * d_trigamma(prior + mean) - base;
    return m < 1e-5 ? m * d_log(prior) : p * curve;
}
TX_INLINE double rising_sum_body(const float *restrict mean, const float *restrict variance,
                                 const float *restrict none, const double *restrict prior,
                                 const double *restrict base, double *restrict scratch, int64_t K) {
    if (variance)
        for (int64_t k = 0; k < K; k++)
            scratch[k] = rising_mean(prior[k], base[k], mean[k] > 0 ? mean[k] : 0, variance[k], none[k]);
    else
        for (int64_t k = 0; k < K; k++) scratch[k] = d_lgamma(prior[k] + (double)mean[k]) - base[k];
    double sum = 0;
    for (int64_t k = 0; k < K; k++) sum += scratch[k];
    return sum;
}
TX_CLONED(double, rising_sum, (const float *restrict mean, const float *restrict variance,
          const float *restrict none, const double *restrict prior, const double *restrict base,
          double *restrict scratch, int64_t K), (mean, variance, none, prior, base, scratch, K))

#endif
