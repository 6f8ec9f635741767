/* The inner loops of the variational methods over rows of K single-precision numbers, 16 lanes at a time: see vectors.h;
 * the loops are in soft_body.h.
 *
 * Rows of stored assignments are K long, without padding; all other rows are padded to Kp, a multiple of 16, and a lane
 * beyond K weighs nothing. */
#ifndef TOPICX_SOFT_H
#define TOPICX_SOFT_H

#include "rng.h"
#include "special.h"
#include "vectors.h"

/* Expected counts beside the assignments of pairs of one document: the document's, the words' (rows of Kp), and n_k + B as
 * near + moved, where moved is what this document has moved so far. CVB has the variances of all three in another one. */
typedef struct {
    float *nd, *nw, *moved;
    const float *near;
} tx_expected;

typedef struct {
    double (*cvb0)(float *g, const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t K,
                   const tx_expected *n, const float *beta, const float *alpha, float least, float *scratch);
    double (*cvb)(float *g, const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t K,
                  const tx_expected *n, const tx_expected *v, const float *beta, const float *alpha, float least,
                  float *scratch);
    void (*count)(const float *g, const uint32_t *counts, int64_t pairs, int64_t K, float *nd, float *vd);
    double (*moments)(const float *g, const uint32_t *order, const uint32_t *counts, int64_t pairs, int64_t K,
                      float *mean, float *variance, float *none, int entropies);
    double (*vb)(const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t Kp, const float *lt,
                 const float *lw, float *nd, float *nw, float *scratch);
    double (*scvb0)(const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t Kp, float *nd,
                    const float *alpha, float length, const float *nw, float scale, const float *beta,
                    const float *weight, const double *rates, int64_t n_rates, int64_t position, float *keep,
                    float *scratch);
    void (*gather)(float *row, const float *keep, const int64_t *order, const uint32_t *counts, int64_t pairs,
                   int64_t Kp, double factor, double *total, float *scratch);
    void (*random)(float *out, int64_t K, tx_rng *rng);
} tx_soft;

#define TX_BODY "soft_body.h"
#include "instruction_sets.h"

static inline const tx_soft *tx_soft_choose(void) { return TX_CHOOSE(soft); }

#endif
