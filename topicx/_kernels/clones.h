/* Vectors of 16 lanes in GNU C, and functions compiled for several CPUs.
 *
 * TX_CLONES before a function: compile it for AVX-512, AVX2 and the baseline, and choose at load time. The lanes are part
 * of the algorithm (one register, two or four of them), every operation is a single IEEE one in a fixed order, and
 * contraction is off: each clone gives the same bits. */
#ifndef TOPICX_CLONES_H
#define TOPICX_CLONES_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && !defined(TX_NO_CLONES)
#define TX_CLONES __attribute__((noinline, unused, target_clones("avx512f", "avx2", "default")))
#else
#define TX_CLONES __attribute__((noinline, unused))
#endif
#define TX_INLINE static inline __attribute__((always_inline, unused))
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed to functions that are always inlined */

typedef float tx_f16 __attribute__((vector_size(64)));
typedef int32_t tx_i16 __attribute__((vector_size(64)));

TX_INLINE tx_f16 tx_load(const float *p) { tx_f16 v; memcpy(&v, p, 64); return v; }
TX_INLINE void tx_store(float *p, tx_f16 v) { memcpy(p, &v, 64); }
TX_INLINE tx_i16 tx_load_int(const void *p) { tx_i16 v; memcpy(&v, p, 64); return v; }
TX_INLINE tx_f16 tx_all(float x) { return x - (tx_f16){0}; }
TX_INLINE tx_f16 tx_float(tx_i16 n) { return __builtin_convertvector(n, tx_f16); }
/* y where the mask is set, else x */
TX_INLINE tx_f16 tx_where(tx_i16 mask, tx_f16 x, tx_f16 y) { return (tx_f16)(((tx_i16)x & ~mask) | ((tx_i16)y & mask)); }
/* the sum of the lanes up to each: steps of 1, 2, 4, 8 lanes */
TX_INLINE tx_f16 tx_scan(tx_f16 v) {
    const tx_f16 zero = {0};
    v = __builtin_shufflevector(zero, v, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30) + v;
    v = __builtin_shufflevector(zero, v, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29) + v;
    v = __builtin_shufflevector(zero, v, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27) + v;
    v = __builtin_shufflevector(zero, v, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23) + v;
    return v;
}
/* the lanes whose mask is set */
TX_INLINE int tx_number(tx_i16 mask) {
    typedef int32_t i8 __attribute__((vector_size(32)));
    typedef int32_t i4 __attribute__((vector_size(16)));
    i8 a, b;
    memcpy(&a, &mask, 32);
    memcpy(&b, (const char *)&mask + 32, 32);
    a += b;
    i4 c, d;
    memcpy(&c, &a, 16);
    memcpy(&d, (const char *)&a + 16, 16);
    c += d;
    return -(c[0] + c[1] + c[2] + c[3]);
}

/* The entry of a lane's running sums on which r falls; -1 if no lane has any weight. */
TX_INLINE int64_t tx_column(const float *sums, int64_t chunks, int lane, float r) {
    const float *last = sums + 16 * (chunks - 1);
    int64_t c = 0;
    for (int64_t i = 0; i < chunks - 1; i++) c += sums[16 * i + lane] <= r;
    if (r < last[lane]) return 16 * c + lane;
    /* By rounding past the end of the lane, or into an empty one: the last entry with weight of a lane nearby. */
    int near = lane;
    while (near < 16 && !(last[near] > 0)) near++;
    if (near == 16)
        for (near = lane; near >= 0 && !(last[near] > 0);) near--;
    if (near < 0) return -1;
    c = chunks - 1;
    while (c > 0 && !(sums[16 * (c - 1) + near] < last[near])) c--;
    return 16 * c + near;
}

/* Where r falls among running sums of 16 lanes (`sums`, 16 numbers a chunk; `scan`, the scan of the last chunk). */
TX_INLINE int64_t tx_find(tx_f16 scan, const float *sums, int64_t chunks, float r) {
    float ends[17];
    ends[0] = 0;
    tx_store(ends + 1, scan);
    int lane = tx_number(scan <= r);
    if (lane > 15) lane = 15;
    return tx_column(sums, chunks, lane, r - ends[lane]);
}

/* Count of one topic in a sparse row of packed entries (count << bits | topic), up to the next multiple of 16 entries:
 * an unused entry counts nothing, so it does not matter that it looks like topic 0. */
TX_CLONES static uint32_t tx_sparse_count(const uint32_t *row, int64_t length, int bits, uint32_t topic) {
    typedef uint32_t u16v __attribute__((vector_size(64)));
    const uint32_t mask = ((uint32_t)1 << bits) - 1;
    u16v sum = {0};
    for (int64_t i = 0; i < length; i += 16) {
        u16v entry;
        memcpy(&entry, row + i, 64);
        sum += (entry >> bits) & (u16v)((entry & mask) == topic);
    }
    uint32_t count = 0;
    for (int l = 0; l < 16; l++) count += sum[l];
    return count;
}

#endif
