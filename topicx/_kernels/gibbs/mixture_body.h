/* The loop of mixture.h. A product of many factors leaves what single precision holds, and its logarithm would cost a
 * logarithm a word and topic: so every second word the power of 2 is taken out of it and counted apart, which is exact. */

#define split_power TX(split_power)
/* x >= 1e-37 becomes its mantissa, from 1 to 2; returns the power of 2 that was taken out. */
TX_ALWAYS i16 split_power(v16 *x) {
    const i16 bits = i_bits(*x);
    *x = v_bits(i_add(i_and(bits, i_all(0x007FFFFF)), i_all(0x3F800000)));
    return i_sub(i_down(bits, 23), i_all(127));
}

static int64_t TX(mixture_draw)(const int32_t *rows, int64_t width, const uint32_t *words, const float *prior, int64_t n,
                                const float *sizes, const float *totals, int64_t topics, const int32_t *open,
                                int64_t chunks, double u, float *weights, int32_t *powers, float *scratch) {
    v16 most = v_all(-1e30f);
    for (int64_t c = 0; c < chunks; c++) {
        const int64_t at = 16 * (int64_t)open[c];
        const i16 inside = i_below(topics - at);
        const v16 total = v_load(totals + at);
        v16 up = v_choose(inside, v_load(sizes + at), v_all(1)), down = v_all(1);
        i16 power = split_power(&up);
        for (int64_t i = 0; i < n; i++) {
            const v16 count = v_of(i_load(rows + (int64_t)words[i] * width + at));
            up = v_mul(up, v_add(count, v_all(prior[i])));
            down = v_mul(down, v_add(total, v_all((float)i)));
            if (i % 2) {
                power = i_add(power, split_power(&up));
                power = i_sub(power, split_power(&down));
            }
        }
        up = v_div(up, down);
        power = i_add(power, split_power(&up));
        v_store(weights + 16 * c, v_mask(inside, up));
        memcpy(powers + 16 * c, &power, sizeof power);
        most = v_max(most, v_choose(inside, v_of(power), v_all(-1e30f)));
    }
    const v16 highest = v_all(v_most(most)), lowest = v_all(-126);
    v16 sum = v_all(0);
    for (int64_t c = 0; c < chunks; c++) {
        const i16 power = i_load(powers + 16 * c);
        const v16 below = v_sub(v_of(power), highest);
        const i16 counts = v_greater(below, lowest);
        const i16 scale = i_up(i_add(i_sub(power, i_all((int32_t)v_most(most))), i_all(127)), 23);
        const v16 weight = v_mask(counts, v_mul(v_load(weights + 16 * c), v_bits(i_and(scale, counts))));
        sum = v_add(sum, weight);
        v_store(scratch + 16 * c, sum);
    }
    const int64_t drawn = v_draw(sum, scratch, chunks, u);
    return drawn < 0 ? drawn : 16 * (int64_t)open[drawn / 16] + drawn % 16;
}
#undef split_power

static const tx_mixture TX(mixture) = {TX(mixture_draw)};
