/* The inner loops of the variational methods: rows of K single-precision numbers, 16 lanes at a time.
 *
 * Every value is made by single IEEE operations in a fixed order (no contraction, no reciprocal estimates, no libm), and
 * sums run down the chunks within a lane, then across the lanes in one fixed tree. So SSE2, AVX2, AVX-512 and other CPUs
 * give the same bits. GNU vector types spell this once; TX_CLONES (clones.h) compiles it for several CPUs.
 *
 * Rows of stored assignments are K long, without padding; all other rows are padded to a multiple of 16, and a lane
 * beyond K weighs nothing. */
#ifndef TOPICX_SOFT_H
#define TOPICX_SOFT_H

#include <stdint.h>
#include <string.h>

#include "clones.h"
#include "rng.h"

typedef tx_f16 v16;
typedef tx_i16 i16;
#define v_load tx_load
#define v_store tx_store

TX_INLINE v16 v_all(float x) { return (v16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
TX_INLINE i16 i_all(int32_t x) { return (i16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
TX_INLINE v16 v_mask(i16 m, v16 a) { return (v16)(m & (i16)a); }
TX_INLINE v16 v_where(i16 m, v16 a, v16 b) { return (v16)((m & (i16)a) | (~m & (i16)b)); }
TX_INLINE v16 v_max(v16 a, v16 b) { return v_where(a > b, a, b); }
TX_INLINE v16 v_positive(v16 a) { return v_mask(a > v_all(0), a); }
TX_INLINE v16 v_abs(v16 a) { return (v16)((i16)a & i_all(0x7FFFFFFF)); }
/* the lanes below n */
TX_INLINE i16 i_below(int64_t n) {
    return ((i16){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}) < i_all((int32_t)n);
}
TX_INLINE float v_sum(v16 v) {
    float a[16];
    v_store(a, v);
    for (int l = 0; l < 8; l++) a[l] += a[l + 8];
    for (int l = 0; l < 4; l++) a[l] += a[l + 4];
    return (a[0] + a[2]) + (a[1] + a[3]);
}
TX_INLINE float v_most(v16 v) {
    float a[16];
    v_store(a, v);
    for (int step = 8; step; step /= 2)
        for (int l = 0; l < step; l++) a[l] = a[l] > a[l + step] ? a[l] : a[l + step];
    return a[0];
}
/* Up to 16 numbers of an unpadded row. Reading beyond its end is harmless (the array has 16 numbers of slack). */
TX_INLINE v16 v_load_part(const float *p, int64_t n) { return v_mask(i_below(n), v_load(p)); }
TX_INLINE void v_store_part(float *p, v16 a, int64_t n) {
    float t[16];
    v_store(t, a);
    for (int64_t l = 0; l < n; l++) p[l] = t[l];
}

/* e^x for x <= 88, 2 units in the last place; below -87 it is e^-87. */
TX_INLINE v16 v_exp(v16 x) {
    const v16 magic = v_all(12582912.0f); /* 1.5 * 2^23: adding it rounds to a whole number */
    x = v_max(x, v_all(-87.0f));
    const v16 z = x * v_all(1.44269504f) + magic, n = z - magic;
    const v16 r = x - n * v_all(0.693359375f) - n * v_all(-2.12194440e-4f);
    v16 y = r * v_all(1.0f / 5040) + v_all(1.0f / 720);
    y = y * r + v_all(1.0f / 120);
    y = y * r + v_all(1.0f / 24);
    y = y * r + v_all(1.0f / 6);
    y = y * r + v_all(0.5f);
    y = y * (r * r) + r + v_all(1.0f);
    return y * (v16)(((i16)z - (i16)magic + i_all(127)) << 23);
}
/* log x for normal x > 0: x = m 2^e with m in [1/sqrt 2, sqrt 2), log m = 2 artanh((m - 1) / (m + 1)). */
TX_INLINE v16 v_log(v16 x) {
    const i16 bits = (i16)x, e = (bits - i_all(0x3F3504F3)) >> 23;
    const v16 m = (v16)(bits - (e << 23)), one = v_all(1.0f), s = (m - one) / (m + one), q = s * s;
    v16 y = q * v_all(1.0f / 11) + v_all(1.0f / 9);
    y = y * q + v_all(1.0f / 7);
    y = y * q + v_all(1.0f / 5);
    y = y * q + v_all(1.0f / 3);
    y = (y * q) * s + s;
    const v16 n = __builtin_convertvector(e, v16);
    return n * v_all(0.693359375f) + (y + y + n * v_all(-2.12194440e-4f));
}

/* ---- the same in double precision, one number at a time and without branches, so that loops of them vectorise ---- */
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
    y = y * q + 1.0 / 21;
    y = y * q + 1.0 / 19;
    y = y * q + 1.0 / 17;
    y = y * q + 1.0 / 15;
    y = y * q + 1.0 / 13;
    y = y * q + 1.0 / 11;
    y = y * q + 1.0 / 9;
    y = y * q + 1.0 / 7;
    y = y * q + 1.0 / 5;
    y = y * q + 1.0 / 3;
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
    double s = 1.0 / 12;
    s = -691.0 / 32760 + s * q;
    s = 1.0 / 132 + s * q;
    s = -1.0 / 240 + s * q;
    s = 1.0 / 252 + s * q;
    s = -1.0 / 120 + s * q;
    s = 1.0 / 12 + s * q;
    return d_log(y) - 0.5 * f - s * q - above / below;
}
TX_INLINE double d_lgamma(double x) {
    double below = x;
    for (int i = 1; i < 8; i++) below *= x + i;
    const double y = x + 8, f = 1 / y, q = f * f;
    double s = 1.0 / 156;
    s = -691.0 / 360360 + s * q;
    s = 1.0 / 1188 + s * q;
    s = -1.0 / 1680 + s * q;
    s = 1.0 / 1260 + s * q;
    s = -1.0 / 360 + s * q;
    s = 1.0 / 12 + s * q;
    return (y - 0.5) * d_log(y) - y + 0.91893853320467274178 + s * f - d_log(below);
}
TX_INLINE double d_trigamma(double x) {
    double sum = 0;
    for (int i = 0; i < 8; i++) sum += 1 / ((x + i) * (x + i));
    const double f = 1 / (x + 8), q = f * f;
    double s = 7.0 / 6;
    s = -691.0 / 2730 + s * q;
    s = 5.0 / 66 + s * q;
    s = -1.0 / 30 + s * q;
    s = 1.0 / 42 + s * q;
    s = -1.0 / 30 + s * q;
    s = 1.0 / 6 + s * q;
    return sum + f + 0.5 * q + s * q * f;
}
TX_INLINE double d_tetragamma(double x) { /* psi'' */
    double sum = 0;
    for (int i = 0; i < 8; i++) sum += 1 / ((x + i) * (x + i) * (x + i));
    const double f = 1 / (x + 8), q = f * f;
    double s = 35.0 / 2;
    s = -691.0 / 210 + s * q;
    s = 5.0 / 6 + s * q;
    s = -3.0 / 10 + s * q;
    s = 1.0 / 6 + s * q;
    s = -1.0 / 6 + s * q;
    s = 1.0 / 2 + s * q;
    return -(2 * sum + q + f * q + s * q * q);
}
/* (sums of reciprocal powers need more terms for tiny x; the first of them dominates there and is exact) */

/* ---- digamma of rows ---- */
/* out[k] = psi(prior[k] + n[k]) - less */
static TX_CLONES void soft_digamma_row(float *restrict out, const double *restrict prior, const float *restrict n,
                                         double less, int64_t K) {
    for (int64_t k = 0; k < K; k++) out[k] = (float)(d_digamma(prior[k] + (double)n[k]) - less);
}
/* out[k] = psi(prior + n[k]) - less[k] */
static TX_CLONES void soft_digamma_word(float *restrict out, double prior, const float *restrict n,
                                          const double *restrict less, int64_t K) {
    for (int64_t k = 0; k < K; k++) out[k] = (float)(d_digamma(prior + (double)n[k]) - less[k]);
}
/* sum[k] += psi(prior[k] + n[k]) - base[k] */
static TX_CLONES void soft_digamma_gain(double *restrict sum, const double *restrict prior, const float *restrict n,
                                          const double *restrict base, int64_t K) {
    for (int64_t k = 0; k < K; k++) sum[k] += d_digamma(prior[k] + (double)n[k]) - base[k];
}
static TX_CLONES void soft_map(double *restrict out, const double *restrict x, int which, int64_t n) {
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

/* ---- CVB0 ---- */
/* Renew the assignments of pairs of one document. g: their rows (K each). nd: the document's expected counts; nw: the
 * words' (rows of Kp); n_k + B is near + moved, where moved is what this document has moved so far. One token of the
 * pair is left out of every count; all `counts` of them get the new assignment. No expected count is below 0, so that
 * n_k + B is never below B (`least`): where little more than the token itself is in a topic, rounding would have it
 * otherwise. Returns half the mass moved. */
static TX_CLONES double soft_cvb0(float *restrict g, const uint32_t *restrict words, const uint32_t *restrict counts,
                                    int64_t pairs, int64_t K, float *restrict nd, float *restrict nw,
                                    const float *restrict beta, const float *restrict alpha, float least,
                                    const float *restrict near, float *restrict moved, float *restrict scratch) {
    const int64_t full = K / 16, rest = K % 16, Kp = (K + 15) / 16 * 16;
    const v16 bottom = v_all(least);
    double changed = 0;
    for (int64_t i = 0; i < pairs; i++, g += K) {
        float *restrict row = nw + (int64_t)words[i] * Kp;
        const float c = (float)counts[i];
        const v16 smooth = v_all(beta[words[i]]);
        v16 sum = v_all(0);
        if (i + 4 < pairs) __builtin_prefetch(nw + (int64_t)words[i + 4] * Kp);
#define FIRST(at, old)                                                                                                 \
    {                                                                                                                  \
        const v16 a = v_load(alpha + at) + v_positive(v_load(nd + at) - old);                                          \
        const v16 b = smooth + v_positive(v_load(row + at) - old);                                                     \
        const v16 p = a * b / v_max(v_load(near + at) + v_load(moved + at) - old, bottom);                             \
        sum += p;                                                                                                      \
        v_store(scratch + at, p);                                                                                      \
    }
        for (int64_t at = 0; at < 16 * full; at += 16) FIRST(at, v_load(g + at))
        if (rest) FIRST(16 * full, v_load_part(g + 16 * full, rest))
#undef FIRST
        const v16 scale = v_all(1.0f / v_sum(sum));
        v16 change = v_all(0);
#define SECOND(at, old, keep)                                                                                          \
    {                                                                                                                  \
        const v16 before = old, now = v_load(scratch + at) * scale, d = (now - before) * v_all(c);                     \
        change += v_abs(d);                                                                                            \
        v_store(nd + at, v_load(nd + at) + d);                                                                         \
        v_store(row + at, v_load(row + at) + d);                                                                       \
        v_store(moved + at, v_load(moved + at) + d);                                                                   \
        keep;                                                                                                          \
    }
        for (int64_t at = 0; at < 16 * full; at += 16) SECOND(at, v_load(g + at), v_store(g + at, now))
        if (rest) SECOND(16 * full, v_load_part(g + 16 * full, rest), v_store_part(g + 16 * full, now, rest))
#undef SECOND
        changed += (double)v_sum(change);
    }
    return 0.5 * changed;
}

/* ---- CVB ---- */
/* As soft_cvb0 with second-order corrections: vd, vw, and vnear + vmoved are the variances of nd, nw and n_k. The squares
 * in the corrections have a floor, so that no prior makes them infinite. */
static TX_CLONES double soft_cvb(float *restrict g, const uint32_t *restrict words, const uint32_t *restrict counts,
                                   int64_t pairs, int64_t K, float *restrict nd, float *restrict vd, float *restrict nw,
                                   float *restrict vw, const float *restrict beta, const float *restrict alpha,
                                   float least, const float *restrict near, float *restrict moved,
                                   const float *restrict vnear, float *restrict vmoved, float *restrict scratch) {
    const int64_t full = K / 16, rest = K % 16, Kp = (K + 15) / 16 * 16;
    float *restrict power = scratch + Kp;
    const v16 half = v_all(0.5f), one = v_all(1.0f), bottom = v_all(least), square = v_all(1e-30f);
    double changed = 0;
    for (int64_t i = 0; i < pairs; i++, g += K) {
        float *restrict row = nw + (int64_t)words[i] * Kp, *restrict vrow = vw + (int64_t)words[i] * Kp;
        const float c = (float)counts[i];
        const v16 smooth = v_all(beta[words[i]]);
        v16 most = v_all(-1e30f);
        if (i + 2 < pairs) {
            __builtin_prefetch(nw + (int64_t)words[i + 2] * Kp);
            __builtin_prefetch(vw + (int64_t)words[i + 2] * Kp);
        }
#define FIRST(at, old, in)                                                                                             \
    {                                                                                                                  \
        const v16 o = old, h = o * (one - o);                                                                          \
        const v16 a = v_load(alpha + at) + v_positive(v_load(nd + at) - o);                                            \
        const v16 b = smooth + v_positive(v_load(row + at) - o);                                                       \
        const v16 t = v_max(v_load(near + at) + v_load(moved + at) - o, bottom);                                       \
        const v16 va = v_positive(v_load(vd + at) - h) / v_max(a * a, square);                                         \
        const v16 vb = v_positive(v_load(vrow + at) - h) / v_max(b * b, square);                                       \
        const v16 vt = v_positive(v_load(vnear + at) + v_load(vmoved + at) - h) / v_max(t * t, square);                \
        const v16 e = half * (vt - va - vb);                                                                           \
        most = v_max(most, v_where(in, e, v_all(-1e30f)));                                                             \
        v_store(scratch + at, v_mask(in, a * b / t));                                                                  \
        v_store(power + at, e);                                                                                        \
    }
        for (int64_t at = 0; at < 16 * full; at += 16) FIRST(at, v_load(g + at), i_all(-1))
        if (rest) FIRST(16 * full, v_load_part(g + 16 * full, rest), i_below(rest))
#undef FIRST
        const v16 top = v_all(v_most(most));
        v16 sum = v_all(0);
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 p = v_load(scratch + at) * v_exp(v_load(power + at) - top);
            sum += p;
            v_store(scratch + at, p);
        }
        const v16 scale = v_all(1.0f / v_sum(sum));
        v16 change = v_all(0);
#define SECOND(at, old, keep)                                                                                          \
    {                                                                                                                  \
        const v16 o = old, now = v_load(scratch + at) * scale, d = (now - o) * v_all(c);                               \
        const v16 e = (now * (one - now) - o * (one - o)) * v_all(c);                                                  \
        change += v_abs(d);                                                                                            \
        v_store(nd + at, v_load(nd + at) + d);                                                                         \
        v_store(row + at, v_load(row + at) + d);                                                                       \
        v_store(moved + at, v_load(moved + at) + d);                                                                   \
        v_store(vd + at, v_load(vd + at) + e);                                                                         \
        v_store(vrow + at, v_load(vrow + at) + e);                                                                     \
        v_store(vmoved + at, v_load(vmoved + at) + e);                                                                 \
        keep;                                                                                                          \
    }
        for (int64_t at = 0; at < 16 * full; at += 16) SECOND(at, v_load(g + at), v_store(g + at, now))
        if (rest) SECOND(16 * full, v_load_part(g + 16 * full, rest), v_store_part(g + 16 * full, now, rest))
#undef SECOND
        changed += (double)v_sum(change);
    }
    return 0.5 * changed;
}

/* ---- sums of stored assignments ---- */
/* nd += c g, and (square != 0) vd += c g (1 - g), over pairs of one document; the same into the words' rows (stride Kp)
 * where nw is not NULL. */
static TX_CLONES void soft_count(const float *restrict g, const uint32_t *restrict words,
                                   const uint32_t *restrict counts, int64_t pairs, int64_t K, float *restrict nd,
                                   float *restrict vd, float *restrict nw, float *restrict vw) {
    const int64_t Kp = (K + 15) / 16 * 16;
    for (int64_t i = 0; i < pairs; i++, g += K) {
        const v16 c = v_all((float)counts[i]);
        const int64_t w = (int64_t)words[i] * Kp;
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 p = at + 16 <= K ? v_load(g + at) : v_load_part(g + at, K - at);
            const v16 q = p * (v_all(1.0f) - p);
            if (nd) v_store(nd + at, v_load(nd + at) + c * p);
            if (vd) v_store(vd + at, v_load(vd + at) + c * q);
            if (nw) v_store(nw + w + at, v_load(nw + w + at) + c * p);
            if (vw) v_store(vw + w + at, v_load(vw + w + at) + c * q);
        }
    }
}
/* sum[k] += c g over pairs (order == NULL: in turn), square[k] += c g (1 - g) where it is given: in double precision. */
static TX_CLONES void soft_sums(const float *restrict g, const uint32_t *restrict order,
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
/* The same with all that the bound needs: mean, variance and log P(no token) of the sum. Returns the entropy of the
 * pairs' assignments where `entropies` asks for it. The three rows are padded. */
static TX_CLONES double soft_moments(const float *restrict g, const uint32_t *restrict order,
                                       const uint32_t *restrict counts, int64_t pairs, int64_t K, float *restrict mean,
                                       float *restrict variance, float *restrict none, int entropies) {
    const int64_t Kp = (K + 15) / 16 * 16;
    const v16 one = v_all(1.0f), tiny = v_all(1e-37f);
    double entropy = 0;
    for (int64_t i = 0; i < pairs; i++) {
        const int64_t pair = order ? order[i] : i;
        const float *restrict row = g + pair * K;
        const float many = (float)counts[pair];
        const v16 c = v_all(many);
        v16 sum = v_all(0);
        if (order && i + 4 < pairs) __builtin_prefetch(g + (int64_t)order[i + 4] * K);
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 p = at + 16 <= K ? v_load(row + at) : v_load_part(row + at, K - at);
            const v16 q = v_positive(one - p);
            const v16 series = -p * (one + p * (v_all(0.5f) + p * (v_all(1.0f / 3) + p * v_all(0.25f))));
            const v16 lost = v_where(p < v_all(0.02f), series, v_log(v_max(q, v_all(5.9604645e-8f))));
            v_store(mean + at, v_load(mean + at) + c * p);
            v_store(variance + at, v_load(variance + at) + c * (p * q));
            v_store(none + at, v_load(none + at) + c * lost);
            if (entropies) sum += p * v_log(v_max(p, tiny));
        }
        if (entropies) entropy -= (double)(many * v_sum(sum));
    }
    return entropy;
}

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
static TX_CLONES double soft_rising(const float *restrict mean, const float *restrict variance,
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

/* ---- VB ---- */
/* One update of the assignments of pairs of one document, eq. 6; lt = E log theta (up to a constant), lw = E log phi
 * (rows of Kp; -1e30 beyond K). Adds them to nd and to the words' rows; returns their entropy. */
static TX_CLONES double soft_vb(const uint32_t *restrict words, const uint32_t *restrict counts, int64_t pairs,
                                  int64_t Kp, const float *restrict lt, const float *restrict lw, float *restrict nd,
                                  float *restrict nw, float *restrict scratch) {
    double entropy = 0;
    for (int64_t i = 0; i < pairs; i++) {
        const int64_t w = (int64_t)words[i] * Kp;
        if (i + 4 < pairs) {
            __builtin_prefetch(lw + (int64_t)words[i + 4] * Kp);
            __builtin_prefetch(nw + (int64_t)words[i + 4] * Kp);
        }
        v16 most = v_all(-1e30f), sum = v_all(0), dot = v_all(0);
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 x = v_load(lt + at) + v_load(lw + w + at);
            most = v_max(most, x);
            v_store(scratch + at, x);
        }
        const v16 top = v_all(v_most(most));
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 x = v_load(scratch + at) - top, p = v_mask(x > v_all(-86.0f), v_exp(x));
            sum += p;
            dot += v_mask(p > v_all(0), p * x);
            v_store(scratch + at, p);
        }
        const float total = v_sum(sum), c = (float)counts[i];
        const v16 scale = v_all(c / total);
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 p = v_load(scratch + at) * scale;
            v_store(nd + at, v_load(nd + at) + p);
            v_store(nw + w + at, v_load(nw + w + at) + p);
        }
        entropy += (double)c * (d_log((double)total) - (double)v_sum(dot) / (double)total);
    }
    return entropy;
}

/* ---- SCVB0 ---- */
/* weight_k = 1 / (n_k + B); one pass over a document's pairs (Foulds et al. 2013, Algorithm 1): each pair's assignment
 * given the document's running counts nd and the words' (scale * nw), then nd moves towards length * assignment by the
 * rate of the position, once for each of the pair's tokens. keep != NULL: the assignments go there (rows of Kp).
 * Returns sum c log p(w | running estimates) + length-dependent constant left to the caller. */
static TX_CLONES double soft_scvb0(const uint32_t *restrict words, const uint32_t *restrict counts, int64_t pairs,
                                     int64_t Kp, float *restrict nd, const float *restrict alpha, float length,
                                     const float *restrict nw, float scale, const float *restrict beta,
                                     const float *restrict weight, const double *restrict rates, int64_t n_rates,
                                     int64_t position, float *restrict keep, float *restrict scratch) {
    double fit = 0;
    for (int64_t i = 0; i < pairs; i++, position++) {
        const float *restrict row = nw + (int64_t)words[i] * Kp;
        const v16 smooth = v_all(beta[words[i]]), by = v_all(scale);
        float *restrict out = keep ? keep + i * Kp : scratch;
        if (i + 4 < pairs) __builtin_prefetch(nw + (int64_t)words[i + 4] * Kp);
        v16 sum = v_all(0);
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 p = (v_load(alpha + at) + v_load(nd + at)) * (smooth + by * v_load(row + at)) * v_load(weight + at);
            sum += p;
            v_store(out + at, p);
        }
        const float total = v_sum(sum);
        const double stay = 1 - rates[position < n_rates ? position : n_rates - 1];
        double left = 1; /* stay ^ count */
        for (uint32_t n = counts[i], b = 0; n; n >>= 1, b++) {
            double power = stay;
            for (uint32_t j = 0; j < b; j++) power *= power;
            if (n & 1) left *= power;
        }
        const v16 norm = v_all(1.0f / total), old = v_all((float)left), new = v_all((float)((1 - left) * (double)length));
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 p = v_load(out + at) * norm;
            if (keep) v_store(out + at, p);
            v_store(nd + at, old * v_load(nd + at) + new * p);
        }
        fit += (double)counts[i] * d_log((double)total);
    }
    return fit;
}
/* into = row + factor * sum of c g over pairs (rows of keep, in the order given); total += factor * the same */
static TX_CLONES void soft_gather(float *restrict row, const float *restrict keep, const int64_t *restrict order,
                                    const uint32_t *restrict counts, int64_t pairs, int64_t Kp, double factor,
                                    double *restrict total, float *restrict scratch) {
    memset(scratch, 0, (size_t)Kp * 4);
    for (int64_t i = 0; i < pairs; i++) {
        const float *restrict p = keep + order[i] * Kp;
        const v16 c = v_all((float)counts[order[i]]);
        for (int64_t at = 0; at < Kp; at += 16) v_store(scratch + at, v_load(scratch + at) + c * v_load(p + at));
    }
    for (int64_t k = 0; k < Kp; k++) {
        row[k] = row[k] + (float)(factor * (double)scratch[k]);
        total[k] += (double)scratch[k];
    }
}

/* ---- starts ---- */
/* A random assignment: normalised exponential numbers, uniform over the simplex. */
static TX_CLONES void soft_random(float *restrict out, int64_t K, tx_rng *rng) {
    const int64_t Kp = (K + 15) / 16 * 16;
    v16 sum = v_all(0);
    for (int64_t at = 0; at < Kp; at += 16) {
        float u[16];
        for (int l = 0; l < 16; l += 2) {
            const uint64_t bits = tx_rng_next(rng);
            u[l] = ((float)(int32_t)(bits >> 40) + 0.5f) * 0x1.0p-24f;
            u[l + 1] = ((float)(int32_t)((bits >> 8) & 0xFFFFFF) + 0.5f) * 0x1.0p-24f;
        }
        v16 e = v_mask(i_below(K - at), v_all(0) - v_log(v_load(u)));
        e = v_positive(e);
        sum += e;
        v_store(out + at, e);
    }
    const v16 scale = v_all(1.0f / v_sum(sum));
    for (int64_t at = 0; at < Kp; at += 16) v_store(out + at, v_load(out + at) * scale);
}

#endif
