/* The hot loops of tree.pyx: a radix-16 sum tree, and a document's own topics, over 16 lanes. */
#ifndef TOPICX_TREE_H
#define TOPICX_TREE_H

#include "clones.h"

/* Level 0 holds the leaves, level i + 1 the sum of each 16 entries of level i, the last one 16 entries at most; each is
 * padded by zeros to whole vectors. A sum is always computed from its 16 terms: nothing can drift. */
typedef struct {
    float *level[6];
    int64_t blocks[6]; /* vectors of a level */
    int levels;
} tx_tree;

TX_INLINE float tx_sum16(tx_f16 v) {
    typedef float f8 __attribute__((vector_size(32)));
    typedef float f4 __attribute__((vector_size(16)));
    f8 a, b;
    f4 c, d;
    memcpy(&a, &v, 32);
    memcpy(&b, (const char *)&v + 32, 32);
    a += b;
    memcpy(&c, &a, 16);
    memcpy(&d, (const char *)&a + 16, 16);
    c += d;
    return (c[0] + c[2]) + (c[1] + c[3]);
}

/* Renew the sums above leaf k; returns the sum of all. */
TX_CLONES static float tx_tree_renew(const tx_tree *tree, int64_t k) {
    for (int i = 0; i < tree->levels - 1; i++) {
        k >>= 4;
        tree->level[i + 1][k] = tx_sum16(tx_load(tree->level[i] + 16 * k));
    }
    return tx_sum16(tx_load(tree->level[tree->levels - 1]));
}

/* Renew every sum. */
TX_CLONES static float tx_tree_renew_all(const tx_tree *tree) {
    for (int i = 0; i < tree->levels - 1; i++)
        for (int64_t b = 0; b < tree->blocks[i]; b++)
            tree->level[i + 1][b] = tx_sum16(tx_load(tree->level[i] + 16 * b));
    return tx_sum16(tx_load(tree->level[tree->levels - 1]));
}

/* The leaf on which r falls. */
TX_CLONES static int64_t tx_tree_find(const tx_tree *tree, float r) {
    int64_t k = 0;
    for (int i = tree->levels - 1; i >= 0; i--) {
        const tx_f16 v = tx_load(tree->level[i] + 16 * k);
        const tx_f16 scan = tx_scan(v);
        float ends[17];
        ends[0] = 0;
        tx_store(ends + 1, scan);
        int lane = tx_number(scan <= r);
        if (lane > 15) lane = 15;
        while (lane > 0 && !(v[lane] > 0)) lane--; /* by rounding, past the last weight */
        r -= ends[lane];
        k = 16 * k + lane;
    }
    return k;
}

/* The entry of a document's list on which r falls: see own_sums in gathers.h. */
TX_CLONES static int64_t tx_own_find(const float *sums, const float *ends, int64_t chunks, float r) {
    return tx_find(tx_load(ends), sums, chunks, r);
}

/* Where a topic stands in a document's list of n, or -1. */
TX_CLONES static int64_t tx_own_position(const uint32_t *topics, int64_t n, uint32_t topic) {
    for (int64_t i = 0; i < n; i += 16) {
        const tx_i16 same = tx_load_int(topics + i) == (int32_t)topic;
        if (tx_number(same))
            for (int64_t l = i; l < n && l < i + 16; l++)
                if (topics[l] == topic) return l;
    }
    return -1;
}

#endif
