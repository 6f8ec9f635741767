/* Loops that gather 16 numbers at a time. Compilers do not find the instruction for it, so that target_clones do not
 * help: three spellings of the gather, the loops written once in gathers_body.h. The bits are the same. */
#ifndef TOPICX_GATHERS_H
#define TOPICX_GATHERS_H

#include <stdlib.h>

#include "clones.h"

typedef struct {
    float (*own_sums)(const uint32_t *topics, const float *counts, int64_t chunks, const float *c, int32_t old,
                      float c_old, float *sums, float *ends);
    float (*document_sums)(const uint32_t *topics, const int32_t *counts, int64_t chunks, const uint32_t *words,
                           const float *inverse, float beta, float *sums, float *ends);
    int64_t (*draw_sparse)(const float *q, const uint32_t *topics, const float *phi, int64_t chunks, double u,
                           float *sums);
} tx_gathers;

TX_INLINE tx_f16 tx_gather_plain(const float *p, tx_i16 i) {
    int32_t at[16];
    float t[16];
    memcpy(at, &i, 64);
    for (int l = 0; l < 16; l++) t[l] = p[at[l]];
    return tx_load(t);
}
#define TX_NAME(name) name##_plain
#define TX_GATHER(p, i) tx_gather_plain(p, i)
#include "gathers_body.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#pragma GCC push_options
#pragma GCC target("avx2")
static inline __attribute__((always_inline)) tx_f16 tx_gather_avx2(const float *p, tx_i16 i) {
    __m256i a, b;
    memcpy(&a, &i, 32);
    memcpy(&b, (const char *)&i + 32, 32);
    const __m256 x = _mm256_i32gather_ps(p, a, 4), y = _mm256_i32gather_ps(p, b, 4);
    tx_f16 v;
    memcpy(&v, &x, 32);
    memcpy((char *)&v + 32, &y, 32);
    return v;
}
#define TX_NAME(name) name##_avx2
#define TX_GATHER(p, i) tx_gather_avx2(p, i)
#include "gathers_body.h"
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,avx512f")
#define TX_NAME(name) name##_avx512
#define TX_GATHER(p, i) (tx_f16) _mm512_i32gather_ps((__m512i)(i), p, 4)
#include "gathers_body.h"
#pragma GCC pop_options
#endif

/* The widest spelling that this CPU has, or the narrower one that TOPICX_LANES names (avx512, avx2 or plain). */
static inline const tx_gathers *tx_gathers_choose(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    const char *wanted = getenv("TOPICX_LANES");
    const int widest = !wanted || !*wanted || !strcmp(wanted, "avx512") ? 2 : !strcmp(wanted, "avx2") ? 1 : 0;
    __builtin_cpu_init();
    if (widest == 2 && __builtin_cpu_supports("avx512f")) return &gathers_avx512;
    if (widest >= 1 && __builtin_cpu_supports("avx2")) return &gathers_avx2;
#endif
    return &gathers_plain;
}

#endif
