/* The loop of keyword.h. Running sums of the lanes stand in scratch, as v_draw wants them. */
static int64_t TX(keyword_draw)(const float *counts, const float *alpha, const float *c, const int32_t *row, float beta,
                                int64_t chunks, const double *extra, int64_t extras, double u, float *scratch) {
    const v16 smooth = v_all(beta);
    v16 sum = v_all(0);
    for (int64_t i = 0; i < chunks; i++) {
        const v16 own = v_mul(v_add(v_load(counts + 16 * i), v_load(alpha + 16 * i)), v_load(c + 16 * i));
        sum = v_add(sum, v_mul(own, v_add(v_of(i_load(row + 16 * i)), smooth)));
        v_store(scratch + 16 * i, sum);
    }
    if (extras) {
        const double regular = (double)v_last(v_scan(sum));
        double total = regular;
        for (int64_t e = 0; e < extras; e++) total += extra[e];
        double r = u * total;
        if (r >= regular) {
            r -= regular;
            for (int64_t e = 0; e < extras - 1; e++) {
                if (r < extra[e]) return -1 - e;
                r -= extra[e];
            }
            return -extras;
        }
        u = r / regular;
    }
    const int64_t k = v_draw(sum, scratch, chunks, u);
    return k < 0 ? 0 : k; /* no weight at all */
}

static const tx_keyword TX(keyword) = {TX(keyword_draw)};
