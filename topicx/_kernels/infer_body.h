/* Inference with fixed topics over 16 lanes, written once and included by infer.h for each spelling of lanes.h. */
#define vf TX(vf)
#define vi TX(vi)

/* One draw from p_k = q_k row_k, topic `old` weighing q_old row_old (old = -1: nothing to take out).
 * scratch: 16 floats a chunk, for the running sums of the lanes. */
static int64_t TX(infer_draw)(const float *q, const float *row, int64_t chunks, int64_t old, float q_old, double u,
                              float *scratch) {
    const vf q_less = TX(vf_set1)(q_old);
    const vi lanes = TX(vi_iota)();
    vf sum = TX(vf_set1)(0);
    for (int64_t c = 0; c < chunks; c++) {
        const vf w = TX(vf_where)(lanes, TX(vi_set1)((int32_t)(old - 16 * c)), TX(vf_load)(q + 16 * c), q_less);
        sum = TX(vf_add)(sum, TX(vf_mul)(w, TX(vf_load)(row + 16 * c)));
        TX(vf_store)(scratch + 16 * c, sum);
    }
    float ends[17];
    const vf scan = TX(vf_scan)(sum);
    ends[0] = 0;
    TX(vf_store)(ends + 1, scan);
    const float total = ends[16], below = total * 0.99999994f;
    float r = (float)(u * (double)total);
    r = r < below ? r : below;
    const int lane = TX(vf_count_le)(scan, r);
    if (lane < 16) {
        r -= ends[lane];
        const float *sums = scratch + lane;
        /* The sums across lanes need not be monotone in their last bit: an empty lane can be found with r < 0. */
        if (sums[16 * (chunks - 1)] > 0 && r < sums[16 * (chunks - 1)]) {
            int64_t c = 0;
            for (int64_t i = 0; i < chunks - 1; i++) c += sums[16 * i] <= r;
            return 16 * c + lane;
        }
    }
    /* Rounding put r on the end of the lane, or found an empty one: the last entry with weight of the nearest lane that
     * has some. Every row has an entry of 1 and every q is positive, so there is one. */
    const float *last = scratch + 16 * (chunks - 1);
    int found = lane < 16 ? lane : 15;
    while (found > 0 && !(last[found] > 0)) found--;
    while (found < 15 && !(last[found] > 0)) found++;
    int64_t c = chunks - 1;
    while (c > 0 && !(scratch[16 * (c - 1) + found] < last[found])) c--;
    return 16 * c + found;
}

/* soft_k += p_k / sum p, p as above: the Gibbs probabilities themselves, not a draw (Papanikolaou et al. 2017, eq. 33). */
static void TX(infer_soft)(const float *q, const float *row, int64_t chunks, int64_t old, float q_old, float *scratch,
                           float *soft) {
    const vf q_less = TX(vf_set1)(q_old);
    const vi lanes = TX(vi_iota)();
    vf sum = TX(vf_set1)(0);
    for (int64_t c = 0; c < chunks; c++) {
        const vf w = TX(vf_where)(lanes, TX(vi_set1)((int32_t)(old - 16 * c)), TX(vf_load)(q + 16 * c), q_less);
        const vf p = TX(vf_mul)(w, TX(vf_load)(row + 16 * c));
        sum = TX(vf_add)(sum, p);
        TX(vf_store)(scratch + 16 * c, p);
    }
    float ends[16];
    TX(vf_store)(ends, TX(vf_scan)(sum));
    const vf inverse = TX(vf_set1)(1.0f / ends[15]);
    for (int64_t c = 0; c < chunks; c++) {
        const vf p = TX(vf_mul)(TX(vf_load)(scratch + 16 * c), inverse);
        TX(vf_store)(soft + 16 * c, TX(vf_add)(TX(vf_load)(soft + 16 * c), p));
    }
}

static const tx_infer TX(infer) = {TX(infer_draw), TX(infer_soft)};
#undef vf
#undef vi
