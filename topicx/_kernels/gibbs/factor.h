/* A document's factor f_d(k) of the supervised models, over tasks (classes) or over topics 16 lanes at a time: see vectors.h;
 * the loops are in factor_body.h, and factor.pxd says what they do.
 *
 * Given its augmentation, a task's loss on a document is a parabola in the score s_c = sum_k eta_kc n_dk / N_d:
 * log f = sum_c (b_c s_c - curve_c s_c^2 / 2). A document keeps lin = (b - curve s) / N and half = curve / (2 N^2); a token
 * that would stand in another topic than it does changes log f by sum_c step_c (lin_c - half_c step_c), where step is
 * the difference of the topics' rows of eta. Rows of eta are `width` numbers: one, or a multiple of 16 padded by 0. Where
 * all topics are asked, eta stands in `blocks` of 16 topics as well: the 16 numbers of task 0, of task 1 …; topics that
 * are not there have 0, in arrays of a multiple of 16 numbers. */
#ifndef TOPICX_FACTOR_H
#define TOPICX_FACTOR_H

#include "vectors.h"

enum { FACTOR_FEW = 2 }; /* tasks of which times_anew is asked */
#define FACTOR_HIGH 60.0f /* the logarithm of a factor that a weight can still be multiplied with */

typedef struct {
    float (*gain)(const float *from, const float *to, const float *lin, const float *half, int64_t width);
    void (*moved)(const float *from, const float *to, float *lin, const float *half, int64_t width, float length,
                  float *pull);
    void (*frozen)(const float *eta, const int32_t *counts, int64_t tokens, int64_t K, const float *constant,
                   const float *half, double length, int64_t width, float *frozen);
    void (*exp_weights)(const float *blocks, const float *lin, const float *half, int64_t K, int64_t tasks, float *logs,
                        float *weights);
    void (*reach)(const float *blocks, const float *lin, const float *half, int64_t K, int64_t tasks, float *reach,
                  float *factors);
    float (*overlap)(const float *blocks, const float *own, const float *half, int64_t K, int64_t tasks, float *out,
                     float *factors);
    void (*reach_moved)(const float *from, const float *to, int64_t K, float *reach, float *factors);
    void (*times)(const float *q, const float *reached, const float *taken, int64_t K, float *out);
    void (*times_far)(const float *q, const float *reach, const float *overlap, int64_t K, float *f, float *out);
    float (*times_anew)(const float *q, const float *blocks, int64_t old, const float *lin, const float *half, int64_t K,
                        int64_t tasks, float *f, float *out);
    void (*weight_sums)(const uint32_t *docs, const float *shares, int64_t n, const float *pull, const float *curve,
                        int64_t width, int64_t c0, int64_t c1, double *linear, double *precision);
    void (*weight_change)(const uint32_t *docs, const float *shares, int64_t n, float *pull, const float *curve,
                          int64_t width, int64_t c0, int64_t c1, const float *change);
} tx_factor;

#define TX_BODY "factor_body.h"
#include "instruction_sets.h"

static inline const tx_factor *tx_factor_choose(void) { return TX_CHOOSE(factor); }

/* e^x in single precision, as v_exp has it; x is cut off at -87 and 87. */
TX_ALWAYS float tx_expf(float x) {
    x = x < -87.0f ? -87.0f : x > 87.0f ? 87.0f : x;
    const float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f, r = x - n * 0.693359375f - n * -2.12194440e-4f;
    float y = 1.0f / 5040;
    y = y * r + 1.0f / 720, y = y * r + 1.0f / 120, y = y * r + 1.0f / 24, y = y * r + 1.0f / 6, y = y * r + 0.5f;
    y = y * (r * r) + r + 1.0f;
    const int32_t bits = ((int32_t)n + 127) << 23;
    float power;
    memcpy(&power, &bits, 4);
    return y * power;
}

#endif
