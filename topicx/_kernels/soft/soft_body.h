/* The functions of soft.h. */

TX_ALWAYS void TX(add_to)(float *p, v16 a) { v_store(p, v_add(v_load(p), a)); }

/* 16 numbers of a row of K, or what is left of it. */
TX_ALWAYS v16 TX(load_of)(const float *row, int64_t at, int64_t K) {
    return at + 16 <= K ? v_load(row + at) : v_load_part(row + at, K - at);
}
TX_ALWAYS void TX(store_of)(float *row, int64_t at, int64_t K, v16 a) {
    if (at + 16 <= K) v_store(row + at, a);
    else v_store_part(row + at, a, K - at);
}

/* An expected count without the token itself: never below 0, though rounding would have it so. */
TX_ALWAYS v16 TX(without)(const float *n, v16 own) { return v_positive(v_sub(v_load(n), own)); }
TX_ALWAYS v16 TX(total_without)(const tx_expected *n, int64_t at, v16 own) {
    return v_sub(v_add(v_load(n->near + at), v_load(n->moved + at)), own);
}
/* The counts of the document, of the word (nw is its row here) and of the topics change by d. */
TX_ALWAYS void TX(change_by)(const tx_expected *n, int64_t at, v16 d) {
    TX(add_to)(n->nd + at, d);
    TX(add_to)(n->nw + at, d);
    TX(add_to)(n->moved + at, d);
}

/* ---- CVB0 ---- */
/* 16 topics of a pair: what its assignment is proportional to, into `out`; and the counts as they are with the assignment
 * renewed, returning how much of it moved. `old` is the assignment of before, of which one token is left out. */
TX_ALWAYS v16 TX(cvb0_weigh)(const tx_expected *n, int64_t at, const float *alpha, v16 smooth, v16 bottom,
                             v16 old, float *out) {
    const v16 a = v_add(v_load(alpha + at), TX(without)(n->nd + at, old));
    const v16 b = v_add(smooth, TX(without)(n->nw + at, old));
    const v16 p = v_div(v_mul(a, b), v_max(TX(total_without)(n, at, old), bottom));
    v_store(out + at, p);
    return p;
}
TX_ALWAYS v16 TX(cvb0_renew)(const tx_expected *n, int64_t at, v16 c, v16 now, v16 old) {
    const v16 d = v_mul(v_sub(now, old), c);
    TX(change_by)(n, at, d);
    return v_abs(d);
}

/* Renew the assignments of pairs of one document. g: their rows. One token of the pair is left out of every count; all
 * `counts` of them get the new assignment. n_k + B is never below B (`least`). Returns half the mass moved. */
static double TX(cvb0)(float *restrict g, const uint32_t *restrict words, const uint32_t *restrict counts, int64_t pairs,
                       int64_t K, const tx_expected *expected, const float *restrict beta, const float *restrict alpha,
                       float least, float *restrict scratch) {
    tx_expected n = *expected;
    const int64_t full = K / 16 * 16, rest = K % 16, Kp = (K + 15) / 16 * 16;
    const v16 bottom = v_all(least);
    double changed = 0;
    for (int64_t i = 0; i < pairs; i++, g += K) {
        const v16 c = v_all((float)counts[i]), smooth = v_all(beta[words[i]]);
        v16 sum = v_all(0), change = v_all(0);
        n.nw = expected->nw + (int64_t)words[i] * Kp;
        if (i + 4 < pairs) __builtin_prefetch(expected->nw + (int64_t)words[i + 4] * Kp);
        for (int64_t at = 0; at < full; at += 16)
            sum = v_add(sum, TX(cvb0_weigh)(&n, at, alpha, smooth, bottom, v_load(g + at), scratch));
        if (rest) sum = v_add(sum, TX(cvb0_weigh)(&n, full, alpha, smooth, bottom, v_load_part(g + full, rest), scratch));
        const v16 scale = v_all(1.0f / v_sum(sum));
        for (int64_t at = 0; at < full; at += 16) {
            const v16 now = v_mul(v_load(scratch + at), scale);
            change = v_add(change, TX(cvb0_renew)(&n, at, c, now, v_load(g + at)));
            v_store(g + at, now);
        }
        if (rest) {
            const v16 now = v_mul(v_load(scratch + full), scale);
            change = v_add(change, TX(cvb0_renew)(&n, full, c, now, v_load_part(g + full, rest)));
            v_store_part(g + full, now, rest);
        }
        changed += (double)v_sum(change);
    }
    return 0.5 * changed;
}

/* ---- CVB ---- */
/* (variance of a count without the token) / count^2. The square has a floor, so that no prior makes it infinite. */
TX_ALWAYS v16 TX(by_square)(v16 variance, v16 count) {
    return v_div(v_positive(variance), v_max(v_mul(count, count), v_all(1e-30f)));
}

/* As cvb0 with second-order corrections by the variances v. scratch: room for two rows. */
static double TX(cvb)(float *restrict g, const uint32_t *restrict words, const uint32_t *restrict counts, int64_t pairs,
                      int64_t K, const tx_expected *means, const tx_expected *variances, const float *restrict beta,
                      const float *restrict alpha, float least, float *restrict scratch) {
    tx_expected n = *means, v = *variances;
    const int64_t Kp = (K + 15) / 16 * 16;
    float *restrict power = scratch + Kp;
    const v16 half = v_all(0.5f), one = v_all(1.0f), bottom = v_all(least), lowest = v_all(-1e30f);
    double changed = 0;
    for (int64_t i = 0; i < pairs; i++, g += K) {
        const v16 c = v_all((float)counts[i]), smooth = v_all(beta[words[i]]);
        n.nw = means->nw + (int64_t)words[i] * Kp;
        v.nw = variances->nw + (int64_t)words[i] * Kp;
        v16 most = lowest, sum = v_all(0), change = v_all(0);
        if (i + 2 < pairs) {
            __builtin_prefetch(means->nw + (int64_t)words[i + 2] * Kp);
            __builtin_prefetch(variances->nw + (int64_t)words[i + 2] * Kp);
        }
        for (int64_t at = 0; at < Kp; at += 16) {
            const i16 in = i_below(K - at);
            const v16 o = TX(load_of)(g, at, K), h = v_mul(o, v_sub(one, o));
            const v16 a = v_add(v_load(alpha + at), TX(without)(n.nd + at, o));
            const v16 b = v_add(smooth, TX(without)(n.nw + at, o));
            const v16 t = v_max(TX(total_without)(&n, at, o), bottom);
            const v16 va = TX(by_square)(v_sub(v_load(v.nd + at), h), a);
            const v16 vb = TX(by_square)(v_sub(v_load(v.nw + at), h), b);
            const v16 e = v_mul(half, v_sub(v_sub(TX(by_square)(TX(total_without)(&v, at, h), t), va), vb));
            most = v_max(most, v_choose(in, e, lowest));
            v_store(scratch + at, v_mask(in, v_div(v_mul(a, b), t)));
            v_store(power + at, e);
        }
        const v16 top = v_all(v_most(most));
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 p = v_mul(v_load(scratch + at), v_exp(v_sub(v_load(power + at), top)));
            sum = v_add(sum, p);
            v_store(scratch + at, p);
        }
        const v16 scale = v_all(1.0f / v_sum(sum));
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 o = TX(load_of)(g, at, K), now = v_mul(v_load(scratch + at), scale), d = v_mul(v_sub(now, o), c);
            change = v_add(change, v_abs(d));
            TX(change_by)(&n, at, d);
            TX(change_by)(&v, at, v_mul(v_sub(v_mul(now, v_sub(one, now)), v_mul(o, v_sub(one, o))), c));
            TX(store_of)(g, at, K, now);
        }
        changed += (double)v_sum(change);
    }
    return 0.5 * changed;
}

/* ---- sums of stored assignments ---- */
/* nd += c g, and (vd != NULL) vd += c g (1 - g), over pairs of one document. */
static void TX(count_pairs)(const float *restrict g, const uint32_t *restrict counts, int64_t pairs, int64_t K,
                            float *restrict nd, float *restrict vd) {
    for (int64_t i = 0; i < pairs; i++, g += K) {
        const v16 c = v_all((float)counts[i]);
        for (int64_t at = 0; at < K; at += 16) {
            const v16 p = TX(load_of)(g, at, K);
            TX(add_to)(nd + at, v_mul(c, p));
            if (vd) TX(add_to)(vd + at, v_mul(c, v_mul(p, v_sub(v_all(1.0f), p))));
        }
    }
}

/* Mean, variance and log P(no token) of the sum over pairs (order == NULL: in turn). Returns the entropy of the pairs'
 * assignments where `entropies` asks for it. The three rows are padded. */
static double TX(moments)(const float *restrict g, const uint32_t *restrict order, const uint32_t *restrict counts,
                          int64_t pairs, int64_t K, float *restrict mean, float *restrict variance,
                          float *restrict none, int entropies) {
    const v16 zero = v_all(0), one = v_all(1.0f), tiny = v_all(1e-37f), small = v_all(0.02f);
    double entropy = 0;
    for (int64_t i = 0; i < pairs; i++) {
        const int64_t pair = order ? order[i] : i;
        const float *restrict row = g + pair * K;
        const float many = (float)counts[pair];
        const v16 c = v_all(many);
        v16 sum = zero;
        if (order && i + 4 < pairs) __builtin_prefetch(g + (int64_t)order[i + 4] * K);
        for (int64_t at = 0; at < K; at += 16) {
            const v16 p = TX(load_of)(row, at, K), q = v_positive(v_sub(one, p));
            v16 series = v_add(v_all(1.0f / 3), v_mul(p, v_all(0.25f)));
            series = v_add(v_all(0.5f), v_mul(p, series));
            series = v_mul(v_negative(p), v_add(one, v_mul(p, series)));
            const v16 lost = v_choose(v_greater(small, p), series, v_log(v_max(q, v_all(5.9604645e-8f))));
            TX(add_to)(mean + at, v_mul(c, p));
            TX(add_to)(variance + at, v_mul(c, v_mul(p, q)));
            TX(add_to)(none + at, v_mul(c, lost));
            if (entropies) sum = v_add(sum, v_mul(p, v_log(v_max(p, tiny))));
        }
        if (entropies) entropy -= (double)(many * v_sum(sum));
    }
    return entropy;
}

/* ---- VB ---- */
/* One update of the assignments of pairs of one document, eq. 6; lt = E log theta (up to a constant), lw = E log phi
 * (rows of Kp; -1e30 beyond K). Adds them to nd and to the words' rows; returns their entropy. */
static double TX(vb)(const uint32_t *restrict words, const uint32_t *restrict counts, int64_t pairs, int64_t Kp,
                     const float *restrict lt, const float *restrict lw, float *restrict nd, float *restrict nw,
                     float *restrict scratch) {
    double entropy = 0;
    for (int64_t i = 0; i < pairs; i++) {
        const int64_t w = (int64_t)words[i] * Kp;
        if (i + 4 < pairs) {
            __builtin_prefetch(lw + (int64_t)words[i + 4] * Kp);
            __builtin_prefetch(nw + (int64_t)words[i + 4] * Kp);
        }
        v16 most = v_all(-1e30f), sum = v_all(0), dot = v_all(0);
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 x = v_add(v_load(lt + at), v_load(lw + w + at));
            most = v_max(most, x);
            v_store(scratch + at, x);
        }
        const v16 top = v_all(v_most(most));
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 x = v_sub(v_load(scratch + at), top), p = v_mask(v_greater(x, v_all(-86.0f)), v_exp(x));
            sum = v_add(sum, p);
            dot = v_add(dot, v_mask(v_greater(p, v_all(0)), v_mul(p, x)));
            v_store(scratch + at, p);
        }
        const float total = v_sum(sum), c = (float)counts[i];
        const v16 scale = v_all(c / total);
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 p = v_mul(v_load(scratch + at), scale);
            TX(add_to)(nd + at, p);
            TX(add_to)(nw + w + at, p);
        }
        entropy += (double)c * (d_log((double)total) - (double)v_sum(dot) / (double)total);
    }
    return entropy;
}

/* ---- SCVB0 ---- */
/* weight_k = 1 / (n_k + B); one pass over a document's pairs (Foulds et al. 2013, Algorithm 1): each pair's assignment
 * given the document's running counts nd and the words' (scale * nw), then nd moves towards length * assignment by the
 * rate of the position, once for each of the pair's tokens. keep != NULL: the assignments go there (rows of Kp).
 * Returns sum c log p(w | running estimates) + length-dependent constant left to the caller. */
static double TX(scvb0)(const uint32_t *restrict words, const uint32_t *restrict counts, int64_t pairs, int64_t Kp,
                        float *restrict nd, const float *restrict alpha, float length, const float *restrict nw,
                        float scale, const float *restrict beta, const float *restrict weight,
                        const double *restrict rates, int64_t n_rates, int64_t position, float *restrict keep,
                        float *restrict scratch) {
    double fit = 0;
    for (int64_t i = 0; i < pairs; i++, position++) {
        const float *restrict row = nw + (int64_t)words[i] * Kp;
        const v16 smooth = v_all(beta[words[i]]), by = v_all(scale);
        float *restrict out = keep ? keep + i * Kp : scratch;
        if (i + 4 < pairs) __builtin_prefetch(nw + (int64_t)words[i + 4] * Kp);
        v16 sum = v_all(0);
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 a = v_add(v_load(alpha + at), v_load(nd + at)), b = v_add(smooth, v_mul(by, v_load(row + at)));
            const v16 p = v_mul(v_mul(a, b), v_load(weight + at));
            sum = v_add(sum, p);
            v_store(out + at, p);
        }
        const float total = v_sum(sum);
        const double stay = 1 - rates[position < n_rates ? position : n_rates - 1];
        double left = 1; /* stay ^ count */
        for (uint32_t n = counts[i], b = 0; n; n >>= 1, b++) {
            double power = stay;
            for (uint32_t j = 0; j < b; j++) power *= power;
            if (n & 1) left *= power;
        }
        const v16 norm = v_all(1.0f / total), old = v_all((float)left), new = v_all((float)((1 - left) * (double)length));
        for (int64_t at = 0; at < Kp; at += 16) {
            const v16 p = v_mul(v_load(out + at), norm);
            if (keep) v_store(out + at, p);
            v_store(nd + at, v_add(v_mul(old, v_load(nd + at)), v_mul(new, p)));
        }
        fit += (double)counts[i] * d_log((double)total);
    }
    return fit;
}

/* row += factor * sum of c g over pairs (rows of keep, in the order given); total += the same sum */
static void TX(gather_pairs)(float *restrict row, const float *restrict keep, const int64_t *restrict order,
                             const uint32_t *restrict counts, int64_t pairs, int64_t Kp, double factor,
                             double *restrict total, float *restrict scratch) {
    memset(scratch, 0, (size_t)Kp * 4);
    for (int64_t i = 0; i < pairs; i++) {
        const float *restrict p = keep + order[i] * Kp;
        const v16 c = v_all((float)counts[order[i]]);
        for (int64_t at = 0; at < Kp; at += 16) TX(add_to)(scratch + at, v_mul(c, v_load(p + at)));
    }
    for (int64_t k = 0; k < Kp; k++) {
        row[k] = row[k] + (float)(factor * (double)scratch[k]);
        total[k] += (double)scratch[k];
    }
}

/* ---- starts ---- */
/* A random assignment: normalised exponential numbers, uniform over the simplex. */
static void TX(random_row)(float *restrict out, int64_t K, tx_rng *rng) {
    const int64_t Kp = (K + 15) / 16 * 16;
    v16 sum = v_all(0);
    for (int64_t at = 0; at < Kp; at += 16) {
        float u[16];
        for (int l = 0; l < 16; l += 2) {
            const uint64_t bits = tx_rng_next(rng);
            u[l] = ((float)(int32_t)(bits >> 40) + 0.5f) * 0x1.0p-24f;
            u[l + 1] = ((float)(int32_t)((bits >> 8) & 0xFFFFFF) + 0.5f) * 0x1.0p-24f;
        }
        const v16 e = v_positive(v_mask(i_below(K - at), v_sub(v_all(0), v_log(v_load(u)))));
        sum = v_add(sum, e);
        v_store(out + at, e);
    }
    const v16 scale = v_all(1.0f / v_sum(sum));
    for (int64_t at = 0; at < Kp; at += 16) v_store(out + at, v_mul(v_load(out + at), scale));
}

static const tx_soft TX(soft) = {TX(cvb0), TX(cvb),   TX(count_pairs),  TX(moments),
                                 TX(vb),   TX(scvb0), TX(gather_pairs), TX(random_row)};
