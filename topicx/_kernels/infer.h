/* The two loops of inference with fixed topics, for several CPUs with the same bits on each (see lanes.h). */
#ifndef TOPICX_INFER_H
#define TOPICX_INFER_H

#include "lanes.h"

typedef struct {
    int64_t (*draw)(const float *q, const float *row, int64_t chunks, int64_t old, float q_old, double u, float *scratch);
    void (*soft)(const float *q, const float *row, int64_t chunks, int64_t old, float q_old, float *scratch, float *soft);
} tx_infer;

#define TX_LANES plain
#include "infer_body.h"
#undef TX_LANES

#ifdef TX_X86
#pragma GCC push_options
#pragma GCC target("avx2")
#define TX_LANES avx2
#include "infer_body.h"
#undef TX_LANES
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi,bmi2")
#define TX_LANES avx512
#include "infer_body.h"
#undef TX_LANES
#pragma GCC pop_options
#endif

/* The spelling that tx_lanes_choose() picked. */
static inline const tx_infer *tx_infer_choose(void) {
#ifdef TX_X86
    const char *name = tx_lanes_choose()->name;
    if (strcmp(name, "avx512") == 0) return &infer_avx512;
    if (strcmp(name, "avx2") == 0) return &infer_avx2;
#endif
    return &infer_plain;
}

#endif
