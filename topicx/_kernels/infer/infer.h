/* The loops of inference with fixed topics over 16 lanes: see vectors.h; the loops are in infer_body.h. */
#ifndef TOPICX_INFER_H
#define TOPICX_INFER_H

#include "../base/portable.h"
#include "../base/rng.h"
#include "vectors.h"

enum {
    TX_UNPLACED = 0xFFFF, /* the topic of a token that has none yet */
    TX_AHEAD = 4,         /* tokens between the prefetch of a row and its use */
    TX_FLUSH = 256,       /* tokens whose probabilities are summed in float32 before the sum moves on to double */
    TX_WALKS = 2          /* documents that are sampled by turns */
};

/* What is sampled: documents, the rows of their words, their priors, and where θ and the last topics go. */
typedef struct {
    const uint32_t *words;
    const int64_t *offsets;
    const uint64_t *keys;
    const float *rows;   /* `width` a word, a multiple of 16 */
    const float *alphas; /* `topics` a group */
    const uint32_t *groups;
    int64_t documents, topics, width, burn_in, samples, lag;
    int64_t step; /* chunks that a search passes over at once */
    int soft;     /* whether θ is made of probabilities instead of counts */
    float *theta;
    uint16_t *z;
} tx_sampling;

/* A document at hand and its chain: its counts, α, q = n + α and the sums of samples, `width` numbers each; `sums` has the
 * running sums of a draw, and `step` chunks of infinity after them. */
typedef struct {
    const uint32_t *words;
    uint16_t *z;
    int64_t number, length, at; /* of the document; its tokens; the token whose turn it is */
    int64_t sweeps, samples;    /* that are left: until the next sample; of all */
    tx_rng rng;
    int32_t *counts;
    float *alpha, *q, *sums;
    double *theta;
} tx_walk;

typedef struct {
    int64_t (*draw)(const float *q, const float *row, int64_t chunks, int64_t old, float q_old, double u, float *scratch);
    void (*sample)(const tx_sampling *job, tx_walk *walks, int64_t number, float *scratch, float *soft);
} tx_infer;

#define TX_BODY "infer_body.h"
#include "instruction_sets.h"

static inline const tx_infer *tx_infer_choose(void) { return TX_CHOOSE(infer); }

#endif
