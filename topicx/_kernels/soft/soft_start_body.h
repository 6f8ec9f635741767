/* The functions of soft_start.h. */

#ifndef TX_SOON
#define TX_SOON 3 /* pairs between the prefetch of a word's row and its turn */
#endif

/* Renew the assignments of pairs of one document: γ ∝ (α + n_dk)(β + n_kw) / (B + n_k), each count without one token of the
 * pair (and never below 0, though rounding would have it so) but for n_k, of which `inverse` is 1 / (B + n_k). nd and nw
 * change with each pair. A pair whose γ has no sum in single precision stays as it is. Returns Σ c log of what the pairs
 * add up to; *moved gains the mass moved. */
static double TX(renew)(uint16_t *restrict g, const uint32_t *restrict words, const uint32_t *restrict counts,
                        int64_t pairs, int64_t Kp, float *restrict nd, float *restrict nw, const float *restrict alpha,
                        const float *restrict inverse, const float *restrict beta, float *restrict scratch,
                        double *moved) {
    v16 fit = v_all(0), change = v_all(0);
    TX_ALIGNED float sums[16], times[16];
    for (int64_t i = 0; i < pairs; i++, g += Kp) {
        const v16 c = v_all((float)counts[i]), smooth = v_all(beta[words[i]]);
        float *restrict row = nw + (int64_t)words[i] * Kp;
        v16 sum = v_all(0);
        if (i % 16 == 0) {
            v_store(sums, v_all(1));
            v_store(times, v_all(0));
        }
        if (i + TX_SOON < pairs)
            for (int64_t at = 0; at < Kp; at += 16) tx_prefetch(nw + (int64_t)words[i + TX_SOON] * Kp + at);
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 old = v_load_half(g + at);
            const v16 word = v_add(smooth, v_positive(v_sub(v_load(row + at), old)));
            const v16 document = v_add(v_load(alpha + at), v_positive(v_sub(v_load(nd + at), old)));
            const v16 p = v_mul(v_mul(document, word), v_load(inverse + at));
            v_store(scratch + at, p);
            sum = v_add(sum, p);
        }
        const float all = v_sum(sum);
        const int sound = all > 1e-38f && all < 1e38f;
        const v16 scale = v_all(1.0f / all);
        if (sound) {
            sums[i % 16] = all;
            times[i % 16] = (float)counts[i];
        }
        for (int64_t at = 0; at < Kp && sound; at += 16) {
            const v16 old = v_load_half(g + at), now = v_store_half(g + at, v_mul(v_load(scratch + at), scale));
            const v16 d = v_mul(v_sub(now, old), c);
            v_store(nd + at, v_add(v_load(nd + at), d));
            v_store(row + at, v_add(v_load(row + at), d));
            change = v_add(change, v_abs(d));
        }
        if (i % 16 == 15 || i == pairs - 1) fit = v_add(fit, v_mul(v_load(times), v_log(v_load(sums))));
    }
    *moved += 0.5 * (double)v_sum(change);
    return (double)v_sum(fit);
}

/* nd += c g, and the words' rows too. */
static void TX(count)(const uint16_t *restrict g, const uint32_t *restrict words, const uint32_t *restrict counts,
                      int64_t pairs, int64_t Kp, float *restrict nd, float *restrict nw) {
    for (int64_t i = 0; i < pairs; i++, g += Kp) {
        const v16 c = v_all((float)counts[i]);
        float *restrict row = nw + (int64_t)words[i] * Kp;
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 p = v_mul(c, v_load_half(g + at));
            v_store(nd + at, v_add(v_load(nd + at), p));
            v_store(row + at, v_add(v_load(row + at), p));
        }
    }
}

/* Returns what the row adds up to. */
static float TX(narrow)(const float *restrict row, uint16_t *restrict out, int64_t Kp) {
    v16 sum = v_all(0);
    for (int64_t at = 0; at < Kp; at += 16) sum = v_add(sum, v_store_half(out + at, v_load(row + at)));
    return v_sum(sum);
}

/* An entry in proportion to its number: u of the way through the row. */
static int64_t TX(draw)(const uint16_t *row, int64_t Kp, double u) {
    v16 sum = v_all(0);
    for (int64_t at = 0; at < Kp; at += 16) sum = v_add(sum, v_load_half(row + at));
    float left = (float)(u * (double)v_sum(sum));
    int64_t last = 0; /* the last 16 with any weight, for when rounding leads beyond */
    for (int64_t at = 0; at < Kp; at += 16) {
        const v16 scan = v_scan(v_load_half(row + at));
        const float all = v_last(scan);
        if (!(all > 0)) continue;
        last = at;
        if (left < all) {
            const int lane = v_count_le(scan, left);
            if (lane < 16 && row[at + lane] > 0) return at + lane;
        }
        left -= all;
    }
    for (last += 15; last > 0 && row[last] == 0;) last--;
    return last;
}

static const tx_opening TX(opening) = {TX(renew), TX(count), TX(narrow), TX(draw)};
