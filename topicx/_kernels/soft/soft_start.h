/* The inner loops of a soft start (soft_start.pyx) over 16 lanes: see vectors.h; the loops are in soft_start_body.h.
 *
 * A row of assignments is Kp numbers of two bytes each, the upper halves of floats; beyond K they are zero, and so are all
 * counts there. */
#ifndef TOPICX_OPENING_H
#define TOPICX_OPENING_H

#include "portable.h"
#include "vectors.h"

typedef struct {
    double (*renew)(uint16_t *g, const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t Kp, float *nd,
                    float *nw, const float *alpha, const float *inverse, const float *beta, float *scratch,
                    double *moved);
    void (*count)(const uint16_t *g, const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t Kp, float *nd,
                  float *nw);
    float (*narrow)(const float *row, uint16_t *out, int64_t Kp);
    int64_t (*draw)(const uint16_t *row, int64_t Kp, double u);
} tx_opening;

#define TX_BODY "soft_start_body.h"
#include "instruction_sets.h"

static inline const tx_opening *tx_opening_choose(void) { return TX_CHOOSE(opening); }

#endif
