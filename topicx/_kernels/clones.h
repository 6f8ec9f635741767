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
