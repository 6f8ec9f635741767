/* A document's factor f_d(k) of the supervised models, over tasks (classes) or over topics 16 lanes at a time, and the
 * draws of the augmentation's variables.
 *
 * Given its augmentation, a task's loss on a document is a parabola in the score s_c = sum_k eta_kc n_dk / N_d:
 * log f = sum_c (b_c s_c - curve_c s_c^2 / 2). A document keeps lin = (b - curve s) / N and half = curve / (2 N^2); a token
 * that would stand in another topic than it does changes log f by sum_c step_c (lin_c - half_c step_c), where step is
 * the difference of the topics' rows of eta. Rows of eta are `width` numbers: one, or a multiple of 16 padded by 0. Where
 * all topics are asked, eta stands in `blocks` of 16 topics as well: the 16 numbers of task 0, of task 1 …; topics that
 * are not there have 0, in arrays of `chunks` times 16 numbers. */
#ifndef TOPICX_FACTOR_H
#define TOPICX_FACTOR_H

#include <math.h>

#include "clones.h"
/* of what partial.h has, some is not used here */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "partial.h"

/* e^x in single precision, 2 units in the last place; x is cut off at -87 and 87. */
TX_INLINE tx_f16 tx_exp16(tx_f16 x) {
    const tx_f16 least = tx_all(-87.0f), most = tx_all(87.0f);
    x = tx_where(x < least, x, least);
    x = tx_where(x > most, x, most);
    const tx_f16 z = x * 1.44269504f + 12582912.0f, n = z - 12582912.0f;
    const tx_f16 r = x - n * 0.693359375f - n * -2.12194440e-4f;
    tx_f16 y = r * (1.0f / 5040) + 1.0f / 720;
    y = y * r + 1.0f / 120;
    y = y * r + 1.0f / 24;
    y = y * r + 1.0f / 6;
    y = y * r + 0.5f;
    y = y * (r * r) + r + 1.0f;
    return y * (tx_f16)((__builtin_convertvector(n, tx_i16) + 127) << 23);
}

TX_INLINE float tx_expf(float x) {
    x = x < -87.0f ? -87.0f : x;
    x = x > 87.0f ? 87.0f : x;
    const float z = x * 1.44269504f + 12582912.0f, n = z - 12582912.0f;
    const float r = x - n * 0.693359375f - n * -2.12194440e-4f;
    float y = r * (1.0f / 5040) + 1.0f / 720;
    y = y * r + 1.0f / 120;
    y = y * r + 1.0f / 24;
    y = y * r + 1.0f / 6;
    y = y * r + 0.5f;
    y = y * (r * r) + r + 1.0f;
    const int32_t bits = ((int32_t)n + 127) << 23;
    float power;
    memcpy(&power, &bits, 4);
    return y * power;
}

/* The largest of K numbers. */
TX_INLINE float tx_largest(const float *x, int64_t K) {
    float a[16], most = -INFINITY;
    tx_f16 m = tx_all(-INFINITY);
    int64_t k = 0;
    for (; k + 16 <= K; k += 16) {
        const tx_f16 v = tx_load(x + k);
        m = tx_where(v > m, m, v);
    }
    tx_store(a, m);
    for (int l = 0; l < 16; l++) most = a[l] > most ? a[l] : most;
    for (; k < K; k++) most = x[k] > most ? x[k] : most;
    return most;
}

TX_INLINE float tx_across(tx_f16 v) {
    float a[16];
    tx_store(a, v);
    for (int l = 0; l < 8; l++) a[l] += a[l + 8];
    for (int l = 0; l < 4; l++) a[l] += a[l + 4];
    return (a[0] + a[2]) + (a[1] + a[3]);
}

/* How log f changes when a token of one topic stands in another. */
TX_CLONES static float tx_gain_wide(const float *from, const float *to, const float *lin, const float *half,
                                    int64_t width) {
    tx_f16 sum = {0};
    for (int64_t c = 0; c < width; c += 16) {
        const tx_f16 step = tx_load(to + c) - tx_load(from + c);
        sum += step * (tx_load(lin + c) - tx_load(half + c) * step);
    }
    return tx_across(sum);
}

TX_INLINE float tx_gain(const float *from, const float *to, const float *lin, const float *half, int64_t width) {
    if (width == 1) {
        const float step = to[0] - from[0];
        return step * (lin[0] - half[0] * step);
    }
    return tx_gain_wide(from, to, lin, half, width);
}

/* A token moved: what lin becomes, and pull. */
TX_CLONES static void tx_moved(const float *from, const float *to, float *lin, const float *half, int64_t width,
                               float length, float *pull) {
    for (int64_t c = 0; c < width; c++) {
        lin[c] -= 2 * half[c] * (to[c] - from[c]);
        pull[c] = lin[c] * length;
    }
}

/* lin as it would be if the whole document were as `counts` (of `tokens` tokens) are: frozen_c = lin_c - 2 half_c N
 * (s~_c - s_c) is what an exp-proposal may know. `constant` is b_c / N less the bias's part. */
TX_CLONES static void tx_frozen(const float *eta, const int32_t *counts, int64_t tokens, int64_t K,
                                const float *constant, const float *half, double length, int64_t width, float *frozen) {
    for (int64_t c = 0; c < width; c++) frozen[c] = 0;
    for (int64_t k = 0; k < K; k++)
        if (counts[k]) {
            const float n = (float)counts[k];
            for (int64_t c = 0; c < width; c++) frozen[c] += n * eta[k * width + c];
        }
    const float scale = tokens ? (float)(2 * length / (double)tokens) : 0.0f;
    for (int64_t c = 0; c < width; c++) frozen[c] = constant[c] - scale * half[c] * frozen[c];
}

/* What a token would gain in each topic: sum_c eta_kc (lin_c - half_c eta_kc). */
TX_INLINE void tx_reach(const float *blocks, const float *lin, const float *half, int64_t chunks, int64_t tasks,
                        float *out) {
    for (int64_t b = 0; b < chunks; b++) {
        tx_f16 sum = {0};
        for (int64_t c = 0; c < tasks; c++) {
            const tx_f16 e = tx_load(blocks + (b * tasks + c) * 16);
            sum += e * (lin[c] - half[c] * e);
        }
        tx_store(out + 16 * b, sum);
    }
}

/* e^x_k, 1 the largest. */
TX_INLINE void tx_exps(const float *x, int64_t K, float *out) {
    const tx_f16 most = tx_all(tx_largest(x, K));
    for (int64_t k = 0; k < K; k += 16) tx_store(out + k, tx_exp16(tx_load(x + k) - most));
}

/* reach, and its factors e^reach. */
TX_CLONES static void tx_reach_all(const float *blocks, const float *lin, const float *half, int64_t K, int64_t tasks,
                                   float *reach, float *factors) {
    tx_reach(blocks, lin, half, (K + 15) / 16, tasks, reach);
    tx_exps(reach, K, factors);
}

/* What a token of a topic (`own`: its row of eta) takes from every topic's reach: 2 sum_c half_c eta_jc eta_kc for all
 * j, and the factors e^that. Returns how far the largest and the smallest of them are apart. */
TX_CLONES static float tx_overlap(const float *blocks, const float *own, const float *half, int64_t K, int64_t tasks,
                                  float *out, float *factors) {
    float least = INFINITY;
    for (int64_t b = 0; 16 * b < K; b++) {
        tx_f16 sum = {0};
        for (int64_t c = 0; c < tasks; c++) sum += 2 * half[c] * own[c] * tx_load(blocks + (b * tasks + c) * 16);
        tx_store(out + 16 * b, sum);
    }
    tx_exps(out, K, factors);
    for (int64_t k = 0; k < K; k++) least = out[k] < least ? out[k] : least;
    return tx_largest(out, K) - least;
}

/* A token left topic `from` for topic `to` (their overlaps): what reach becomes, and its factors. */
TX_CLONES static void tx_reach_moved(const float *from, const float *to, int64_t K, float *reach, float *factors) {
    for (int64_t k = 0; k < K; k += 16) tx_store(reach + k, tx_load(reach + k) + (tx_load(from + k) - tx_load(to + k)));
    tx_exps(reach, K, factors);
}

/* q_k f_k, f the product of two factors; */
TX_CLONES static void tx_times(const float *q, const float *reached, const float *taken, int64_t K, float *out) {
    for (int64_t k = 0; k < K; k += 16) tx_store(out + k, tx_load(q + k) * (tx_load(reached + k) * tx_load(taken + k)));
}

/* or e^(reach + overlap), 1 the largest, where the factors are too far apart to be multiplied. */
TX_CLONES static void tx_times_far(const float *q, const float *reach, const float *overlap, int64_t K, float *f,
                                   float *out) {
    for (int64_t k = 0; k < K; k += 16) tx_store(f + k, tx_load(reach + k) + tx_load(overlap + k));
    tx_exps(f, K, f);
    for (int64_t k = 0; k < K; k += 16) tx_store(out + k, tx_load(q + k) * tx_load(f + k));
}

/* log weights of the exp-proposal: as tx_reach, the largest 0, none under -40; and weights. */
TX_CLONES static void tx_exp_weights(const float *blocks, const float *lin, const float *half, int64_t K, int64_t tasks,
                                     float *logs, float *weights) {
    tx_reach(blocks, lin, half, (K + 15) / 16, tasks, logs);
    const tx_f16 most = tx_all(tx_largest(logs, K)), least = tx_all(-40.0f);
    for (int64_t k = 0; k < K; k += 16) {
        const tx_f16 x = tx_load(logs + k) - most, cut = tx_where(x < least, x, least);
        tx_store(logs + k, cut);
        tx_store(weights + k, tx_exp16(cut));
    }
}

/* Inverse Gaussian of shape 1 and mean 1 / a, a >= 0 (Michael, Schucany & Haas 1976). The smaller root is written so
 * that nothing cancels, and a = 0 (a Levy variate) is a case like any other. */
static inline double tx_wald(tx_rng *rng, double a) {
    double y = tx_normal(rng);
    y *= y;
    const double x = 2 / ((2 * a + y) + sqrt(y * (4 * a + y)));
    return tx_open(rng) * (1 + a * x) <= 1 ? x : 1 / (a * a * x);
}

/* One topic's weights in c0 <= c < c1 tasks: sums over its documents, in their order. */
TX_CLONES static void tx_weight_sums(const uint32_t *docs, const float *shares, int64_t n, const float *pull,
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

/* The documents' pull after the weights of one topic changed by `change`. */
TX_CLONES static void tx_weight_change(const uint32_t *docs, const float *shares, int64_t n, float *pull,
                                       const float *curve, int64_t width, int64_t c0, int64_t c1, const float *change) {
    for (int64_t i = 0; i < n; i++) {
        float *r = pull + docs[i] * width;
        const float *v = curve + docs[i] * width, z = shares[i];
        for (int64_t c = c0; c < c1; c++) r[c] -= v[c] * (z * change[c]);
    }
}

#endif
