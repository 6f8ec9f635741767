/* The functions of infer.h. */

/* q_k row_k of a chunk, topic `old` weighing q_old row_old (old = -1: nothing to take out). */
TX_ALWAYS v16 TX(infer_weights)(const float *q, const float *row, int64_t c, int64_t old, v16 q_old) {
    return v_mul(v_replace(v_load(q + 16 * c), old - 16 * c, q_old), v_load(row + 16 * c));
}

/* One draw from these weights. scratch: 16 floats a chunk, for the running sums of the lanes. Every row has an entry of 1
 * and every q is positive, so there is always one to draw. */
static int64_t TX(infer_draw)(const float *q, const float *row, int64_t chunks, int64_t old, float q_old, double u,
                              float *scratch) {
    const v16 q_less = v_all(q_old);
    v16 sum = v_all(0);
    for (int64_t c = 0; c < chunks; c++) {
        sum = v_add(sum, TX(infer_weights)(q, row, c, old, q_less));
        v_store(scratch + 16 * c, sum);
    }
    return v_draw(sum, scratch, chunks, u);
}

/* soft_k += p_k / sum p: the Gibbs probabilities themselves, not a draw (Papanikolaou et al. 2017, eq. 33). */
static void TX(infer_soft)(const float *q, const float *row, int64_t chunks, int64_t old, float q_old, float *scratch,
                           float *soft) {
    const v16 q_less = v_all(q_old);
    v16 sum = v_all(0);
    for (int64_t c = 0; c < chunks; c++) {
        const v16 p = TX(infer_weights)(q, row, c, old, q_less);
        sum = v_add(sum, p);
        v_store(scratch + 16 * c, p);
    }
    const v16 inverse = v_all(1.0f / v_last(v_scan(sum)));
    for (int64_t c = 0; c < chunks; c++) {
        const v16 p = v_mul(v_load(scratch + 16 * c), inverse);
        v_store(soft + 16 * c, v_add(v_load(soft + 16 * c), p));
    }
}

static const tx_infer TX(infer) = {TX(infer_draw), TX(infer_soft)};
