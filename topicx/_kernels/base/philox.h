/* Philox4x64-10 (Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"), with a key of 64 bits
 * and a counter of 64: the stream of NumPy's Philox(key=key), whose first block is number 1. */
#ifndef TOPICX_PHILOX_H
#define TOPICX_PHILOX_H

#include <stdint.h>

static inline uint64_t tx_multiply(uint64_t a, uint64_t b, uint64_t *high) {
#if defined(__SIZEOF_INT128__)
    const unsigned __int128 product = (unsigned __int128)a * b;
    *high = (uint64_t)(product >> 64);
    return (uint64_t)product;
#else
    const uint64_t low = (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF), one = (a >> 32) * (b & 0xFFFFFFFF) + (low >> 32);
    const uint64_t two = (a & 0xFFFFFFFF) * (b >> 32) + (one & 0xFFFFFFFF);
    *high = (a >> 32) * (b >> 32) + (one >> 32) + (two >> 32);
    return a * b;
#endif
}

/* The four numbers of a block of the stream. */
static inline void tx_philox(uint64_t key, uint64_t block, uint64_t *numbers) {
    uint64_t c0 = block, c1 = 0, c2 = 0, c3 = 0, other = 0;
    for (int round = 0; round < 10; round++) {
        uint64_t high0, high1;
        const uint64_t low0 = tx_multiply(c0, UINT64_C(0xD2E7470EE14C6C93), &high0);
        const uint64_t low1 = tx_multiply(c2, UINT64_C(0xCA5A826395121157), &high1);
        c0 = high1 ^ c1 ^ key;
        c1 = low1;
        c2 = high0 ^ c3 ^ other;
        c3 = low0;
        key += UINT64_C(0x9E3779B97F4A7C15);
        other += UINT64_C(0xBB67AE8584CAA73B);
    }
    numbers[0] = c0, numbers[1] = c1, numbers[2] = c2, numbers[3] = c3;
}

#endif
