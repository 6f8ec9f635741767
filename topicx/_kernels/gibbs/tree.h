/* A radix-16 sum tree over 16 lanes: see vectors.h; the loops are in tree_body.h. */
#ifndef TOPICX_TREE_H
#define TOPICX_TREE_H

#include "vectors.h"

/* Level 0 holds the leaves, level i + 1 the sum of each 16 entries of level i, the last one 16 entries at most; each is
 * padded by zeros to whole vectors. A sum is always computed from its 16 terms: nothing can drift. */
typedef struct {
    float *level[6];
    int64_t blocks[6]; /* vectors of a level */
    int levels;
} tx_tree;

typedef struct {
    float (*renew)(const tx_tree *tree, int64_t k);
    float (*renew_all)(const tx_tree *tree);
    int64_t (*find)(const tx_tree *tree, float r);
} tx_trees;

#define TX_BODY "tree_body.h"
#include "instruction_sets.h"

static inline const tx_trees *tx_trees_choose(void) { return TX_CHOOSE(trees); }

#endif
