/* A token's weights for all topics of a model with keywords, 16 topics at a time: see vectors.h and keyword_body.h. */
#ifndef TOPICX_KEYWORD_H
#define TOPICX_KEYWORD_H

#include "vectors.h"

typedef struct {
    /* A draw from (counts[k] + alpha[k]) c[k] (row[k] + beta) of all topics and the weights of `extras` keywords: the
     * topic, or -1 - e for keyword e. All arrays of topics have 16 chunks entries; scratch: as many. */
    int64_t (*draw)(const float *counts, const float *alpha, const float *c, const int32_t *row, float beta,
                    int64_t chunks, const double *extra, int64_t extras, double u, float *scratch);
} tx_keyword;

#define TX_BODY "keyword_body.h"
#include "instruction_sets.h"

static inline const tx_keyword *tx_keyword_choose(void) { return TX_CHOOSE(keyword); }

#endif
