/* The hot loop of alias.pyx, over 16 lanes: entry 16 c + l of a document's list belongs to lane l. */
#ifndef TOPICX_ALIAS_H
#define TOPICX_ALIAS_H

#include "clones.h"

/* Running sums, lane by lane, of n_dk (n_kw + beta) / (n_k + B) over the topics of a document; returns the whole sum.
 * topics, counts: the list, `chunks` times 16 entries, unused ones count nothing. words: n_kw by topic. */
TX_CLONES static float tx_document_sums(const uint32_t *topics, const int32_t *counts, int64_t chunks,
                                        const uint32_t *words, const float *inverse, float beta, float *sums) {
    float sum[16] = {0};
    for (int64_t i = 0; i < 16 * chunks; i += 16)
        TX_LANES_EACH {
            const uint32_t k = topics[i + l];
            sum[l] += (float)counts[i + l] * (((float)(int32_t)words[k] + beta) * inverse[k]);
            sums[i + l] = sum[l];
        }
    float total = 0;
    TX_LANES_EACH total += sum[l];
    return total;
}

/* The entry on which r, in [0, total), falls: lane after lane, then down the lane. */
static inline int64_t tx_document_find(const float *sums, int64_t chunks, float r) {
    const float *last = sums + 16 * (chunks - 1);
    int64_t found = -1;
    for (int l = 0; l < 16; l++) {
        if (last[l] > 0) {
            found = l;
            if (r < last[l]) break;
        }
        r -= last[l];
    }
    if (found < 0) return -1;
    int64_t c = 0, end = chunks - 1;
    while (c < end && !(r < sums[16 * c + found])) c++;
    while (c > 0 && !(sums[16 * (c - 1) + found] < sums[16 * c + found])) c--; /* by rounding, past the last weight */
    return 16 * c + found;
}

#endif
