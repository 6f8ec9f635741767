/* The hot loops of the dense and the sparse sampler over 16 lanes: see vectors.h; the loops are in lanes_body.h. */
#ifndef TOPICX_LANES_H
#define TOPICX_LANES_H

#include "portable.h"
#include "rng.h"
#include "vectors.h"

/* What a sampler of tokens works on: one cell, and the document at hand. */
typedef struct {
    const uint32_t *words;
    uint16_t *z;
    const int64_t *row_start;
    uint32_t *cells;
    int32_t *row_len;
    int64_t *totals;
    const float *beta;
    double beta_sum;
    int64_t topics, chunks; /* K, ceil16(K) / 16 */
    int topic_bits;
    /* ceil16(K) each: alpha, n_dk (whole numbers), q = (alpha + n_dk) / (n_k + B); 1 / (n_k + B) for n_k - 1, n_k, n_k + 1 */
    float *prior, *counts, *q, *inverse_less, *inverse, *inverse_more;
    /* sums of q over 16 topics, over 256, over all */
    double *blocks, *supers, q_sum;
    /* weights of the row at hand and of the next one: ceil16(K) each, then 16 for each group of 8 chunks */
    float *scratch[2];
    uint16_t *list; /* if listed: the topics that the document has had */
    int64_t found, changed;
    int listed, maximise;
    tx_rng rng;
} tx_cell;

typedef struct {
    const char *name;
    int64_t (*dense_draw)(const float *q, const uint32_t *row, float beta, int64_t chunks, int64_t old, float q_old,
                          double u, float *scratch);
    void (*weights)(float *q, const float *alpha, const float *counts, const float *inverse, int64_t chunks);
    void (*sparse_sums)(tx_cell *cell);
    void (*sparse_enter)(tx_cell *cell, int64_t first, int64_t last);
    void (*sparse_leave)(tx_cell *cell);
    void (*sparse_tokens)(tx_cell *cell, int64_t first, int64_t last);
} tx_lanes;

#define TX_BODY "lanes_body.h"
#include "instruction_sets.h"

static inline const tx_lanes *tx_lanes_choose(void) { return TX_CHOOSE(lanes); }

#endif
