/* The functions of factor.h. */

/* ---- over tasks ---- */

static float TX(factor_gain)(const float *from, const float *to, const float *lin, const float *half, int64_t width) {
    v16 sum = v_all(0);
    for (int64_t c = 0; c < width; c += 16) {
        const v16 step = v_sub(v_load(to + c), v_load(from + c));
        sum = v_add(sum, v_mul(step, v_sub(v_load(lin + c), v_mul(v_load(half + c), step))));
    }
    return v_sum(sum);
}

/* (a width of one has no padding: these loops are the compiler's to make vectors of) */
static void TX(factor_moved)(const float *from, const float *to, float *lin, const float *half, int64_t width,
                             float length, float *pull) {
    for (int64_t c = 0; c < width; c++) {
        lin[c] -= 2 * half[c] * (to[c] - from[c]);
        pull[c] = lin[c] * length;
    }
}

static void TX(factor_frozen)(const float *eta, const int32_t *counts, int64_t tokens, int64_t K, const float *constant,
                              const float *half, double length, int64_t width, float *frozen) {
    for (int64_t c = 0; c < width; c++) frozen[c] = 0;
    for (int64_t k = 0; k < K; k++)
        if (counts[k]) {
            const float n = (float)counts[k];
            for (int64_t c = 0; c < width; c++) frozen[c] += n * eta[k * width + c];
        }
    const float scale = tokens ? (float)(2 * length / (double)tokens) : 0.0f;
    for (int64_t c = 0; c < width; c++) frozen[c] = constant[c] - scale * half[c] * frozen[c];
}

/* ---- over topics ---- */

TX_ALWAYS float TX(factor_largest)(const float *x, int64_t K) {
    v16 most = v_all(-INFINITY);
    for (int64_t k = 0; k < K; k += 16) most = v_max(v_choose(i_below(K - k), v_load(x + k), most), most);
    return v_most(most);
}

TX_ALWAYS void TX(factor_gains)(const float *blocks, const float *lin, const float *half, int64_t K, int64_t tasks,
                                float *out) {
    for (int64_t k = 0; k < K; k += 16) {
        v16 sum = v_all(0);
        for (int64_t c = 0; c < tasks; c++, blocks += 16) {
            const v16 e = v_load(blocks);
            sum = v_add(sum, v_mul(e, v_sub(v_all(lin[c]), v_mul(v_all(half[c]), e))));
        }
        v_store(out + k, sum);
    }
}

/* e^x_k, 1 the largest (and of topics that are not there). */
TX_ALWAYS void TX(factor_exps)(const float *x, int64_t K, float *out) {
    const v16 most = v_all(TX(factor_largest)(x, K));
    for (int64_t k = 0; k < K; k += 16)
        v_store(out + k, v_exp(v_sub(v_choose(i_below(K - k), v_load(x + k), most), most)));
}

static void TX(factor_exp_weights)(const float *blocks, const float *lin, const float *half, int64_t K, int64_t tasks,
                                   float *logs, float *weights) {
    TX(factor_gains)(blocks, lin, half, K, tasks, logs);
    const v16 most = v_all(TX(factor_largest)(logs, K));
    for (int64_t k = 0; k < K; k += 16) {
        const v16 cut = v_max(v_sub(v_load(logs + k), most), v_all(-40.0f));
        v_store(logs + k, cut);
        v_store(weights + k, v_exp(cut));
    }
}

static void TX(factor_reach)(const float *blocks, const float *lin, const float *half, int64_t K, int64_t tasks,
                             float *reach, float *factors) {
    TX(factor_gains)(blocks, lin, half, K, tasks, reach);
    TX(factor_exps)(reach, K, factors);
}

static float TX(factor_overlap)(const float *blocks, const float *own, const float *half, int64_t K, int64_t tasks,
                                float *out, float *factors) {
    for (int64_t k = 0; k < K; k += 16) {
        v16 sum = v_all(0);
        for (int64_t c = 0; c < tasks; c++, blocks += 16)
            sum = v_add(sum, v_mul(v_all(2 * half[c] * own[c]), v_load(blocks)));
        v_store(out + k, sum);
    }
    TX(factor_exps)(out, K, factors);
    v16 least = v_all(INFINITY);
    for (int64_t k = 0; k < K; k += 16) {
        const v16 x = v_choose(i_below(K - k), v_load(out + k), least);
        least = v_choose(v_greater(least, x), x, least);
    }
    return TX(factor_largest)(out, K) + v_most(v_negative(least));
}

static void TX(factor_reach_moved)(const float *from, const float *to, int64_t K, float *reach, float *factors) {
    for (int64_t k = 0; k < K; k += 16)
        v_store(reach + k, v_add(v_load(reach + k), v_sub(v_load(from + k), v_load(to + k))));
    TX(factor_exps)(reach, K, factors);
}

static void TX(factor_times)(const float *q, const float *reached, const float *taken, int64_t K, float *out) {
    for (int64_t k = 0; k < K; k += 16)
        v_store(out + k, v_mul(v_load(q + k), v_mul(v_load(reached + k), v_load(taken + k))));
}

static void TX(factor_times_far)(const float *q, const float *reach, const float *overlap, int64_t K, float *f,
                                 float *out) {
    for (int64_t k = 0; k < K; k += 16) v_store(f + k, v_add(v_load(reach + k), v_load(overlap + k)));
    TX(factor_exps)(f, K, f);
    for (int64_t k = 0; k < K; k += 16) v_store(out + k, v_mul(v_load(q + k), v_load(f + k)));
}

static float TX(factor_times_anew)(const float *q, const float *blocks, int64_t old, const float *lin,
                                   const float *half, int64_t K, int64_t tasks, float *f, float *out) {
    const float *own = blocks + old / 16 * 16 * tasks + old % 16;
    float without[FACTOR_FEW], here = 0;
    for (int64_t c = 0; c < tasks; c++) {
        without[c] = lin[c] + 2 * half[c] * own[16 * c];
        here += own[16 * c] * (without[c] - half[c] * own[16 * c]);
    }
    /* Factors are those beside the topic that the token is in: nothing waits for the largest. */
    const v16 base = v_all(here), high = v_all(FACTOR_HIGH);
    const float *block = blocks;
    v16 most = v_all(0);
    for (int64_t k = 0; k < K; k += 16) {
        v16 sum = v_all(0);
        for (int64_t c = 0; c < tasks; c++, block += 16) {
            const v16 e = v_load(block);
            sum = v_add(sum, v_mul(e, v_sub(v_all(without[c]), v_mul(v_all(half[c]), e))));
        }
        const v16 x = v_mask(i_below(K - k), v_sub(sum, base));
        most = v_max(x, most);
        v_store(out + k, v_mul(v_load(q + k), v_exp(v_choose(v_greater(x, high), high, x))));
    }
    if (v_most(most) < FACTOR_HIGH) return 1;
    TX(factor_gains)(blocks, without, half, K, tasks, f);
    TX(factor_exps)(f, K, f);
    for (int64_t k = 0; k < K; k += 16) v_store(out + k, v_mul(v_load(q + k), v_load(f + k)));
    return f[old];
}

/* ---- over documents, for the weights ---- */

static void TX(factor_weight_sums)(const uint32_t *docs, const float *shares, int64_t n, const float *pull,
                                   const float *curve, int64_t width, int64_t c0, int64_t c1, double *linear,
                                   double *precision) {
    for (int64_t c = c0; c < c1; c++) linear[c] = precision[c] = 0;
    for (int64_t i = 0; i < n; i++) {
        const float *r = pull + docs[i] * width, *v = curve + docs[i] * width, z = shares[i], zz = z * z;
        for (int64_t c = c0; c < c1; c++) {
            linear[c] += z * r[c];
            precision[c] += zz * v[c];
        }
    }
}

static void TX(factor_weight_change)(const uint32_t *docs, const float *shares, int64_t n, float *pull,
                                     const float *curve, int64_t width, int64_t c0, int64_t c1, const float *change) {
    for (int64_t i = 0; i < n; i++) {
        float *r = pull + docs[i] * width;
        const float *v = curve + docs[i] * width, z = shares[i];
        for (int64_t c = c0; c < c1; c++) r[c] -= v[c] * (z * change[c]);
    }
}

static const tx_factor TX(factor) = {
    TX(factor_gain), TX(factor_moved), TX(factor_frozen), TX(factor_exp_weights), TX(factor_reach), TX(factor_overlap),
    TX(factor_reach_moved), TX(factor_times), TX(factor_times_far), TX(factor_times_anew), TX(factor_weight_sums),
    TX(factor_weight_change)};
