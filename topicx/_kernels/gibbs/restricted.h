/* A word's counts of topics, where few of the K topics can occur: dense where that is smaller, else a hash row.
 *
 * A dense row (mask < 0) is K counts. A hash row has mask + 1 slots of (topic + 1, count), a power of two at least twice
 * the number of topics that can have a count at once; slots are probed one after another. A count of 0 leaves its slot,
 * and what was probed past it moves up: so there are no tombstones, and no row ever grows. */
#ifndef TOPICX_ALLOWED_H
#define TOPICX_ALLOWED_H

#include <stdint.h>

static inline int64_t tx_home(uint32_t topic, int64_t mask) {
    return (int64_t)((topic * UINT32_C(0x9E3779B1)) >> 8) & mask;
}

static inline int64_t tx_slot(const uint32_t *row, int64_t mask, uint32_t topic) {
    int64_t slot = tx_home(topic, mask);
    while (row[2 * slot] != 0 && row[2 * slot] != topic + 1) slot = (slot + 1) & mask;
    return slot;
}

static inline uint32_t tx_row_count(const uint32_t *row, int64_t mask, uint32_t topic) {
    return mask < 0 ? row[topic] : row[2 * tx_slot(row, mask, topic) + 1];
}

static inline void tx_row_put(uint32_t *row, int64_t mask, uint32_t topic, uint32_t number) {
    if (mask < 0) {
        row[topic] += number;
        return;
    }
    const int64_t slot = tx_slot(row, mask, topic);
    row[2 * slot] = topic + 1;
    row[2 * slot + 1] += number;
}

static inline void tx_row_take(uint32_t *row, int64_t mask, uint32_t topic) {
    if (mask < 0) {
        row[topic] -= 1;
        return;
    }
    int64_t hole = tx_slot(row, mask, topic), at = hole;
    if (--row[2 * hole + 1] > 0) return;
    for (;;) {
        at = (at + 1) & mask;
        if (row[2 * at] == 0) break;
        const int64_t home = tx_home(row[2 * at] - 1, mask);
        if (((at - home) & mask) >= ((at - hole) & mask)) { /* its probes pass the hole */
            row[2 * hole] = row[2 * at];
            row[2 * hole + 1] = row[2 * at + 1];
            hole = at;
        }
    }
    row[2 * hole] = 0;
    row[2 * hole + 1] = 0;
}

#endif
