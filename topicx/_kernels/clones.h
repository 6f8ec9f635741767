/* TX_CLONES before a function: compile it for several CPUs and choose at load time. For plain loops over 16 lanes only:
 * every operation is a single IEEE one in a fixed order, so each clone gives the same bits. */
#ifndef TOPICX_CLONES_H
#define TOPICX_CLONES_H

#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && !defined(TX_NO_CLONES)
#define TX_CLONES __attribute__((noinline, target_clones("avx512f", "avx2", "default")))
#else
#define TX_CLONES
#endif

#define TX_LANES_EACH for (int l = 0; l < 16; l++)

/* Count of one topic in a sparse row of packed entries (count << bits | topic), up to the next multiple of 16 entries:
 * an unused entry counts nothing, so it does not matter that it looks like topic 0. */
TX_CLONES static uint32_t tx_sparse_count(const uint32_t *row, int64_t length, int bits, uint32_t topic) {
    const uint32_t mask = ((uint32_t)1 << bits) - 1;
    uint32_t sum[16] = {0};
    for (int64_t i = 0; i < length; i += 16)
        TX_LANES_EACH sum[l] += (row[i + l] & mask) == topic ? row[i + l] >> bits : 0;
    uint32_t count = 0;
    TX_LANES_EACH count += sum[l];
    return count;
}

#endif
