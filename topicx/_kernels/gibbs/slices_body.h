/* The loop of slices.h. Running sums of the lanes stand in scratch, as v_draw wants them. */
static int64_t TX(slices_draw)(const float *q, const int32_t *row, const float *prior, int64_t chunks, double u,
                               float *scratch) {
    v16 sum = v_all(0);
    for (int64_t i = 0; i < chunks; i++) {
        const v16 weight = v_add(v_of(i_load(row + 16 * i)), v_load(prior + 16 * i));
        sum = v_add(sum, v_mul(v_load(q + 16 * i), weight));
        v_store(scratch + 16 * i, sum);
    }
    return v_draw(sum, scratch, chunks, u);
}

static const tx_slices TX(slices) = {TX(slices_draw)};
