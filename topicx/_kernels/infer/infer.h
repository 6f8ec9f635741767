/* The two loops of inference with fixed topics over 16 lanes: see vectors.h; the loops are in infer_body.h. */
#ifndef TOPICX_INFER_H
#define TOPICX_INFER_H

#include "vectors.h"

typedef struct {
    int64_t (*draw)(const float *q, const float *row, int64_t chunks, int64_t old, float q_old, double u, float *scratch);
    void (*soft)(const float *q, const float *row, int64_t chunks, int64_t old, float q_old, float *scratch, float *soft);
} tx_infer;

#define TX_BODY "infer_body.h"
#include "instruction_sets.h"

static inline const tx_infer *tx_infer_choose(void) { return TX_CHOOSE(infer); }

#endif
