/* A token's weights for all topics of a slice, 16 topics at a time: see vectors.h; the loop is in slices_body.h. */
#ifndef TOPICX_SLICES_H
#define TOPICX_SLICES_H

#include "vectors.h"

typedef struct {
    /* A draw from q[k] (row[k] + prior[k]); -1: none has a weight. All arrays have 16 chunks entries; scratch: as many. */
    int64_t (*draw)(const float *q, const int32_t *row, const float *prior, int64_t chunks, double u, float *scratch);
} tx_slices;

#define TX_BODY "slices_body.h"
#include "instruction_sets.h"

static inline const tx_slices *tx_slices_choose(void) { return TX_CHOOSE(slices); }

#endif
