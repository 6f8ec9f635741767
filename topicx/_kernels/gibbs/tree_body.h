/* The functions of tree.h. */

/* Renew the sums above leaf k; returns the sum of all. */
static float TX(tree_renew)(const tx_tree *tree, int64_t k) {
    for (int i = 0; i < tree->levels - 1; i++) {
        k >>= 4;
        tree->level[i + 1][k] = v_sum(v_load(tree->level[i] + 16 * k));
    }
    return v_sum(v_load(tree->level[tree->levels - 1]));
}

/* Renew every sum. */
static float TX(tree_renew_all)(const tx_tree *tree) {
    for (int i = 0; i < tree->levels - 1; i++)
        for (int64_t b = 0; b < tree->blocks[i]; b++) tree->level[i + 1][b] = v_sum(v_load(tree->level[i] + 16 * b));
    return v_sum(v_load(tree->level[tree->levels - 1]));
}

/* The leaf on which r falls. */
static int64_t TX(tree_find)(const tx_tree *tree, float r) {
    int64_t k = 0;
    for (int i = tree->levels - 1; i >= 0; i--) {
        const float *weights = tree->level[i] + 16 * k;
        const v16 scan = v_scan(v_load(weights));
        float ends[17];
        ends[0] = 0;
        v_store(ends + 1, scan);
        int lane = v_count_le(scan, r);
        if (lane > 15) lane = 15;
        while (lane > 0 && !(weights[lane] > 0)) lane--; /* by rounding, past the last weight */
        r -= ends[lane];
        k = 16 * k + lane;
    }
    return k;
}

static const tx_trees TX(trees) = {TX(tree_renew), TX(tree_renew_all), TX(tree_find)};
