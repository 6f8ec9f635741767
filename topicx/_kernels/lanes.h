/* The hot loops over 16 lanes, for several CPUs, with the same bits on each.
 *
 * Lane l of chunk c is entry 16 c + l. Additions run down the chunks within a lane, then across the lanes in the fixed
 * tree of vf_scan; every operation is a single IEEE one (no contraction, no reciprocal estimates), so SSE2, AVX2,
 * AVX-512 and plain C round alike. The vector type has three spellings below; the algorithms, in lanes_body.h, have one.
 *
 * tx_lanes_choose() picks the widest spelling the CPU has. TOPICX_LANES=avx512|avx2|plain asks for a narrower one. */
#ifndef TOPICX_LANES_H
#define TOPICX_LANES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "portable.h"
#include "rng.h"

/* What a sampler of tokens works on: one cell, and the document at hand. */
typedef struct {
    const uint32_t *words;
    uint16_t *z;
    const int64_t *row_start;
    uint32_t *cells;
    int32_t *row_len;
    int64_t *totals;
    const float *beta;
    double beta_sum;
    int64_t topics, chunks; /* K, ceil16(K) / 16 */
    int topic_bits;
    /* ceil16(K) each: alpha, n_dk (whole numbers), q = (alpha + n_dk) / (n_k + B); 1 / (n_k + B) for n_k - 1, n_k, n_k + 1 */
    float *prior, *counts, *q, *inverse_less, *inverse, *inverse_more;
    /* sums of q over 16 topics, over 256, over all */
    double *blocks, *supers, q_sum;
    /* weights of the row at hand and of the next one: ceil16(K) each, then 16 for each group of 8 chunks */
    float *scratch[2];
    uint16_t *list; /* if listed: the topics that the document has had */
    int64_t found, changed;
    int listed, maximise;
    tx_rng rng;
} tx_cell;

typedef struct {
    const char *name;
    int64_t (*dense_draw)(const float *q, const uint32_t *row, float beta, int64_t chunks, int64_t old, float q_old,
                          double u, float *scratch);
    void (*weights)(float *q, const float *alpha, const float *counts, const float *inverse, int64_t chunks);
    void (*sparse_sums)(tx_cell *cell);
    void (*sparse_enter)(tx_cell *cell, int64_t first, int64_t last);
    void (*sparse_leave)(tx_cell *cell);
    void (*sparse_tokens)(tx_cell *cell, int64_t first, int64_t last);
} tx_lanes;

#define TX_ALIGNED _Alignas(64)
#define TX_PASTE_(a, b) a##b
#define TX_PASTE(a, b) TX_PASTE_(a, b)
#define TX(name) TX_PASTE(TX_PASTE(name, _), TX_LANES)
#define TX_STRING_(a) #a
#define TX_STRING(a) TX_STRING_(a)

/* ---- plain C: what any compiler makes of loops over 16 ---- */
#define TX_LANES plain
typedef struct { float x[16]; } vf_plain;
typedef struct { int32_t x[16]; } vi_plain;
#define TX_EACH for (int l = 0; l < 16; l++)
static inline vf_plain vf_load_plain(const float *p) { vf_plain r; memcpy(r.x, p, 64); return r; }
static inline void vf_store_plain(float *p, vf_plain a) { memcpy(p, a.x, 64); }
static inline vf_plain vf_set1_plain(float a) { vf_plain r; TX_EACH r.x[l] = a; return r; }
static inline vf_plain vf_add_plain(vf_plain a, vf_plain b) { TX_EACH a.x[l] += b.x[l]; return a; }
static inline vf_plain vf_mul_plain(vf_plain a, vf_plain b) { TX_EACH a.x[l] *= b.x[l]; return a; }
static inline vi_plain vi_load_plain(const void *p) { vi_plain r; memcpy(r.x, p, 64); return r; }
static inline vi_plain vi_set1_plain(int32_t a) { vi_plain r; TX_EACH r.x[l] = a; return r; }
static inline vi_plain vi_iota_plain(void) { vi_plain r; TX_EACH r.x[l] = l; return r; }
static inline vi_plain vi_and_plain(vi_plain a, vi_plain b) { TX_EACH a.x[l] &= b.x[l]; return a; }
static inline vi_plain vi_shift_plain(vi_plain a, int n) { TX_EACH a.x[l] = (int32_t)((uint32_t)a.x[l] >> n); return a; }
static inline vf_plain vi_float_plain(vi_plain a) { vf_plain r; TX_EACH r.x[l] = (float)a.x[l]; return r; }
/* where a == b: n - 1, elsewhere n */
static inline vi_plain vi_less_one_plain(vi_plain n, vi_plain a, vi_plain b) { TX_EACH n.x[l] -= a.x[l] == b.x[l]; return n; }
/* where a == b: y, elsewhere x */
static inline vf_plain vf_where_plain(vi_plain a, vi_plain b, vf_plain x, vf_plain y) {
    TX_EACH x.x[l] = a.x[l] == b.x[l] ? y.x[l] : x.x[l];
    return x;
}
static inline vf_plain vf_gather_plain(const float *p, vi_plain i) { vf_plain r; TX_EACH r.x[l] = p[i.x[l]]; return r; }
/* inclusive sums: steps of 1, 2, 4, 8 lanes */
static inline vf_plain vf_scan_plain(vf_plain a) {
    for (int step = 1; step < 16; step *= 2) {
        vf_plain b = a;
        for (int l = step; l < 16; l++) a.x[l] = b.x[l - step] + b.x[l];
    }
    return a;
}
static inline int vf_count_le_plain(vf_plain a, float r) { int n = 0; TX_EACH n += a.x[l] <= r; return n; }
static inline uint32_t vi_equal_plain(vi_plain a, vi_plain b) { uint32_t m = 0; TX_EACH m |= (uint32_t)(a.x[l] == b.x[l]) << l; return m; }
/* lanes from this one on: a + x */
static inline vf_plain vf_add_from_plain(vf_plain a, int lane, float x) { TX_EACH a.x[l] += l >= lane ? x : 0.0f; return a; }
static inline float vf_last_plain(vf_plain a) { return a.x[15]; }
#include "lanes_body.h"
#undef TX_LANES

#if defined(__x86_64__) && defined(__GNUC__)
#define TX_X86 1
#include <immintrin.h>

/* ---- AVX2: two halves of 8 ---- */
#pragma GCC push_options
#pragma GCC target("avx2")
#define TX_LANES avx2
typedef struct { __m256 a, b; } vf_avx2;
typedef struct { __m256i a, b; } vi_avx2;
#define TX_F2(x, y) ((vf_avx2){(x), (y)})
#define TX_I2(x, y) ((vi_avx2){(x), (y)})
static inline vf_avx2 vf_load_avx2(const float *p) { return TX_F2(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)); }
static inline void vf_store_avx2(float *p, vf_avx2 v) { _mm256_storeu_ps(p, v.a); _mm256_storeu_ps(p + 8, v.b); }
static inline vf_avx2 vf_set1_avx2(float x) { return TX_F2(_mm256_set1_ps(x), _mm256_set1_ps(x)); }
static inline vf_avx2 vf_add_avx2(vf_avx2 x, vf_avx2 y) { return TX_F2(_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)); }
static inline vf_avx2 vf_mul_avx2(vf_avx2 x, vf_avx2 y) { return TX_F2(_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)); }
static inline vi_avx2 vi_load_avx2(const void *p) {
    return TX_I2(_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)p + 1));
}
static inline vi_avx2 vi_set1_avx2(int32_t x) { return TX_I2(_mm256_set1_epi32(x), _mm256_set1_epi32(x)); }
static inline vi_avx2 vi_iota_avx2(void) {
    return TX_I2(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15));
}
static inline vi_avx2 vi_and_avx2(vi_avx2 x, vi_avx2 y) { return TX_I2(_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)); }
static inline vi_avx2 vi_shift_avx2(vi_avx2 x, int n) {
    __m128i s = _mm_cvtsi32_si128(n);
    return TX_I2(_mm256_srl_epi32(x.a, s), _mm256_srl_epi32(x.b, s));
}
static inline vf_avx2 vi_float_avx2(vi_avx2 x) { return TX_F2(_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)); }
static inline vi_avx2 vi_less_one_avx2(vi_avx2 n, vi_avx2 x, vi_avx2 y) {
    return TX_I2(_mm256_add_epi32(n.a, _mm256_cmpeq_epi32(x.a, y.a)), _mm256_add_epi32(n.b, _mm256_cmpeq_epi32(x.b, y.b)));
}
static inline vf_avx2 vf_where_avx2(vi_avx2 i, vi_avx2 j, vf_avx2 x, vf_avx2 y) {
    return TX_F2(_mm256_blendv_ps(x.a, y.a, _mm256_castsi256_ps(_mm256_cmpeq_epi32(i.a, j.a))),
                 _mm256_blendv_ps(x.b, y.b, _mm256_castsi256_ps(_mm256_cmpeq_epi32(i.b, j.b))));
}
static inline vf_avx2 vf_gather_avx2(const float *p, vi_avx2 i) {
    return TX_F2(_mm256_i32gather_ps(p, i.a, 4), _mm256_i32gather_ps(p, i.b, 4));
}
static inline vf_avx2 vf_scan_avx2(vf_avx2 v) { /* steps of 1, 2, 4, 8 lanes over both halves */
    const __m256 zero = _mm256_setzero_ps();
    __m256 a = v.a, b = v.b, s, t;
    s = _mm256_permutevar8x32_ps(a, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
    t = _mm256_permutevar8x32_ps(b, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
    b = _mm256_add_ps(_mm256_blend_ps(t, s, 1), b);
    a = _mm256_add_ps(_mm256_blend_ps(s, zero, 1), a);
    s = _mm256_permutevar8x32_ps(a, _mm256_setr_epi32(6, 7, 0, 1, 2, 3, 4, 5));
    t = _mm256_permutevar8x32_ps(b, _mm256_setr_epi32(6, 7, 0, 1, 2, 3, 4, 5));
    b = _mm256_add_ps(_mm256_blend_ps(t, s, 3), b);
    a = _mm256_add_ps(_mm256_blend_ps(s, zero, 3), a);
    s = _mm256_permute2f128_ps(a, a, 0x01);
    t = _mm256_permute2f128_ps(a, b, 0x21);
    b = _mm256_add_ps(t, b);
    a = _mm256_add_ps(_mm256_blend_ps(s, zero, 15), a);
    b = _mm256_add_ps(a, b);
    return TX_F2(a, b);
}
static inline int vf_count_le_avx2(vf_avx2 v, float r) {
    __m256 x = _mm256_set1_ps(r);
    return __builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_cmp_ps(v.a, x, _CMP_LE_OQ)) |
                              (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(v.b, x, _CMP_LE_OQ)) << 8);
}
static inline uint32_t vi_equal_avx2(vi_avx2 x, vi_avx2 y) {
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(x.a, y.a))) |
           (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(x.b, y.b))) << 8;
}
static inline vf_avx2 vf_add_from_avx2(vf_avx2 v, int lane, float x) {
    const vi_avx2 i = vi_iota_avx2(), j = vi_set1_avx2(lane - 1);
    const __m256 y = _mm256_set1_ps(x);
    return TX_F2(_mm256_add_ps(v.a, _mm256_and_ps(y, _mm256_castsi256_ps(_mm256_cmpgt_epi32(i.a, j.a)))),
                 _mm256_add_ps(v.b, _mm256_and_ps(y, _mm256_castsi256_ps(_mm256_cmpgt_epi32(i.b, j.b)))));
}
static inline float vf_last_avx2(vf_avx2 v) {
    const __m128 x = _mm256_extractf128_ps(v.b, 1);
    return _mm_cvtss_f32(_mm_shuffle_ps(x, x, 0xFF));
}
#include "lanes_body.h"
#undef TX_LANES
#pragma GCC pop_options

/* ---- AVX-512: one register ---- */
#pragma GCC push_options
#pragma GCC target("avx2,avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi,bmi2")
#define TX_LANES avx512
typedef __m512 vf_avx512;
typedef __m512i vi_avx512;
static inline vf_avx512 vf_load_avx512(const float *p) { return _mm512_loadu_ps(p); }
static inline void vf_store_avx512(float *p, vf_avx512 v) { _mm512_storeu_ps(p, v); }
static inline vf_avx512 vf_set1_avx512(float x) { return _mm512_set1_ps(x); }
static inline vf_avx512 vf_add_avx512(vf_avx512 x, vf_avx512 y) { return _mm512_add_ps(x, y); }
static inline vf_avx512 vf_mul_avx512(vf_avx512 x, vf_avx512 y) { return _mm512_mul_ps(x, y); }
static inline vi_avx512 vi_load_avx512(const void *p) { return _mm512_loadu_si512(p); }
static inline vi_avx512 vi_set1_avx512(int32_t x) { return _mm512_set1_epi32(x); }
static inline vi_avx512 vi_iota_avx512(void) {
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
static inline vi_avx512 vi_and_avx512(vi_avx512 x, vi_avx512 y) { return _mm512_and_si512(x, y); }
static inline vi_avx512 vi_shift_avx512(vi_avx512 x, int n) { return _mm512_srl_epi32(x, _mm_cvtsi32_si128(n)); }
static inline vf_avx512 vi_float_avx512(vi_avx512 x) { return _mm512_cvtepi32_ps(x); }
static inline vi_avx512 vi_less_one_avx512(vi_avx512 n, vi_avx512 x, vi_avx512 y) {
    return _mm512_mask_sub_epi32(n, _mm512_cmpeq_epi32_mask(x, y), n, _mm512_set1_epi32(1));
}
static inline vf_avx512 vf_where_avx512(vi_avx512 i, vi_avx512 j, vf_avx512 x, vf_avx512 y) {
    return _mm512_mask_mov_ps(x, _mm512_cmpeq_epi32_mask(i, j), y);
}
static inline vf_avx512 vf_gather_avx512(const float *p, vi_avx512 i) { return _mm512_i32gather_ps(i, p, 4); }
static inline vf_avx512 vf_scan_avx512(vf_avx512 v) {
    const __m512i i = vi_iota_avx512();
    v = _mm512_add_ps(_mm512_maskz_permutexvar_ps(0xFFFE, _mm512_sub_epi32(i, _mm512_set1_epi32(1)), v), v);
    v = _mm512_add_ps(_mm512_maskz_permutexvar_ps(0xFFFC, _mm512_sub_epi32(i, _mm512_set1_epi32(2)), v), v);
    v = _mm512_add_ps(_mm512_maskz_permutexvar_ps(0xFFF0, _mm512_sub_epi32(i, _mm512_set1_epi32(4)), v), v);
    v = _mm512_add_ps(_mm512_maskz_permutexvar_ps(0xFF00, _mm512_sub_epi32(i, _mm512_set1_epi32(8)), v), v);
    return v;
}
static inline int vf_count_le_avx512(vf_avx512 v, float r) {
    return __builtin_popcount(_mm512_cmp_ps_mask(v, _mm512_set1_ps(r), _CMP_LE_OQ));
}
static inline uint32_t vi_equal_avx512(vi_avx512 x, vi_avx512 y) { return _mm512_cmpeq_epi32_mask(x, y); }
static inline vf_avx512 vf_add_from_avx512(vf_avx512 v, int lane, float x) {
    return _mm512_mask_add_ps(v, (__mmask16)(0xFFFFu << lane), v, _mm512_set1_ps(x));
}
static inline float vf_last_avx512(vf_avx512 v) {
    const __m128 x = _mm512_extractf32x4_ps(v, 3);
    return _mm_cvtss_f32(_mm_shuffle_ps(x, x, 0xFF));
}
#include "lanes_body.h"
#undef TX_LANES
#pragma GCC pop_options
#endif

/* The spelling to use: the widest this CPU has, or the narrower one that TOPICX_LANES names. */
static inline const tx_lanes *tx_lanes_choose(void) {
#ifdef TX_X86
    const char *wanted = getenv("TOPICX_LANES");
    int widest = wanted == NULL || *wanted == 0 || strcmp(wanted, "avx512") == 0 ? 2 : strcmp(wanted, "avx2") == 0 ? 1 : 0;
    __builtin_cpu_init();
    if (widest == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2"))
        return &lanes_avx512;
    if (widest >= 1 && __builtin_cpu_supports("avx2")) return &lanes_avx2;
#endif
    return &lanes_plain;
}

#endif
