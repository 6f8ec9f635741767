/* A document's weights for all topics of a mixture, 16 topics at a time: see vectors.h; the loop is in mixture_body.h. */
#ifndef TOPICX_MIXTURE_H
#define TOPICX_MIXTURE_H

#include "vectors.h"

typedef struct {
    /* A topic drawn from sizes[k] prod_i (rows[words[i]][k] + prior[i]) / (totals[k] + i), and the weights as they are:
     * weights[k] 2^powers[k]. It is one of `chunks` runs of 16 topics: run c are the topics from 16 open[c] on. Rows have
     * `width` entries, and so have sizes and totals, those from `topics` on without a meaning; weights, powers and scratch
     * are in the order of the runs. -1: none has a weight. */
    int64_t (*draw)(const int32_t *rows, int64_t width, const uint32_t *words, const float *prior, int64_t n,
                    const float *sizes, const float *totals, int64_t topics, const int32_t *open, int64_t chunks, double u,
                    float *weights, int32_t *powers, float *scratch);
} tx_mixture;

#define TX_BODY "mixture_body.h"
#include "instruction_sets.h"

static inline const tx_mixture *tx_mixture_choose(void) { return TX_CHOOSE(mixture); }

#endif
