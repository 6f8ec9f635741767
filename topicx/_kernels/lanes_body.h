/* The algorithms over 16 lanes, written once and included by lanes.h for each spelling of the vector type. */
#define vf TX(vf)
#define vi TX(vi)

#ifndef TX_CHAINS_FROM
/* From this many chunks on, the sums run in four independent chains, each over its quarter of the chunks. */
#define TX_CHAINS_FROM 12
#define TX_UP 1.0000001f
#endif

/* q_k = (alpha_k + n_dk) / (n_k + B) for all topics. */
static void TX(weights)(float *q, const float *alpha, const int32_t *counts, const float *inverse, int64_t chunks) {
    for (int64_t c = 0; c < chunks; c++) {
        vf a = TX(vf_add)(TX(vf_load)(alpha + 16 * c), TX(vi_float)(TX(vi_load)(counts + 16 * c)));
        TX(vf_store)(q + 16 * c, TX(vf_mul)(a, TX(vf_load)(inverse + 16 * c)));
    }
}

/* The first entry of a column of running sums that exceeds r. r must be below the last one. */
static inline int64_t TX(column)(const float *sums, int64_t chunks, float r) {
    int64_t c = 0;
    for (int64_t i = 0; i < chunks - 1; i++) c += sums[16 * i] <= r;
    return c;
}

/* Rounding can put r on or above the end of the lane found, or find an empty one: take the last entry with any weight
 * of the nearest lane that has some. (Reached about once in ten million draws.) */
static int64_t TX(repair)(const float *sums, int64_t chunks, int lane) {
    const float *last = sums + 16 * (chunks - 1);
    int found = lane;
    while (found < 16 && !(last[found] > 0)) found++;
    if (found == 16)
        for (found = lane; found > 0 && !(last[found] > 0);) found--;
    int64_t c = chunks - 1;
    while (c > 0 && !(sums[16 * (c - 1) + found] < last[found])) c--;
    return 16 * c + found;
}

/* One draw from p_k = q_k (n_k + beta), topic `old` at its weight without the token: q_old (n_old - 1 + beta).
 * old = -1: nothing to take out. scratch: 16 floats a chunk, for the running sums of the lanes. */
static int64_t TX(dense_draw)(const float *q, const uint32_t *row, float beta, int64_t chunks, int64_t old, float q_old,
                              double u, float *scratch) {
    const vf smooth = TX(vf_set1)(beta), q_less = TX(vf_set1)(q_old);
    const vi lanes = TX(vi_iota)();
    vf sum = TX(vf_set1)(0);
    for (int64_t c = 0; c < chunks; c++) {
        const vi target = TX(vi_set1)((int32_t)(old - 16 * c));
        const vi n = TX(vi_less_one)(TX(vi_load)(row + 16 * c), lanes, target);
        const vf w = TX(vf_where)(lanes, target, TX(vf_load)(q + 16 * c), q_less);
        sum = TX(vf_add)(sum, TX(vf_mul)(w, TX(vf_add)(TX(vi_float)(n), smooth)));
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
        if (r < scratch[16 * (chunks - 1) + lane]) return 16 * TX(column)(scratch + lane, chunks, r) + lane;
    }
    return TX(repair)(scratch, chunks, lane < 16 ? lane : 15);
}

static const tx_lanes TX(lanes) = {TX_STRING(TX_LANES), TX(dense_draw), TX(weights)};
#undef vf
#undef vi
