/* Loops over lists of topics, a document's or a row's, 16 entries at a time, and the draw of a topic given phi: see
 * vectors.h; the loops are in gathers_body.h, and gathers.pxd says what they do. */
#ifndef TOPICX_GATHERS_H
#define TOPICX_GATHERS_H

#include "vectors.h"

typedef struct {
    float (*own_sums)(const uint32_t *topics, const float *counts, int64_t chunks, const float *c, int32_t old,
                      float c_old, float *sums, float *ends);
    float (*document_sums)(const uint32_t *topics, const int32_t *counts, int64_t chunks, const uint32_t *words,
                           const float *inverse, float beta, float *sums, float *ends);
    int64_t (*find)(const float *sums, const float *ends, int64_t chunks, float r);
    int64_t (*position)(const uint32_t *topics, int64_t n, uint32_t topic);
    uint32_t (*count)(const uint32_t *row, int64_t length, int bits, uint32_t topic);
    int64_t (*draw_sparse)(const float *q, const uint32_t *topics, const float *phi, int64_t chunks, double u,
                           float *sums);
    int64_t (*draw_dense)(const float *q, const float *phi, int64_t chunks, int64_t old, float q_old, double u,
                          float *sums);
} tx_gathers;

#define TX_BODY "gathers_body.h"
#include "instruction_sets.h"

static inline const tx_gathers *tx_gathers_choose(void) { return TX_CHOOSE(gathers); }

#endif
