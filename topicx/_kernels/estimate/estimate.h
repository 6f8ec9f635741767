/* The inner loops of the soft counts (see estimate.pyx): a row of counts times a vector of weights.

   Every sum runs over 16 lanes that are added in a fixed tree, and every function is compiled for several CPUs from the
   same plain loops; without contraction of a*b + c they all give the same bits. */
#ifndef TOPICX_ESTIMATE_H
#define TOPICX_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>
#include "clones.h"


#if defined(_MSC_VER)
#define EST_RESTRICT __restrict
#else
#define EST_RESTRICT restrict
#endif

enum { EST_LANES = 16 };

static inline double est_tree(const double *lane)
{
    double a[8], b[4];
    for (int i = 0; i < 8; i++) a[i] = lane[i] + lane[i + 8];
    for (int i = 0; i < 4; i++) b[i] = a[i] + a[i + 4];
    return (b[0] + b[2]) + (b[1] + b[3]);
}

/* sum of a[k] over k < size (a multiple of 16) */
TX_INLINE double est_sum_body(const double *EST_RESTRICT a, ptrdiff_t size) {
    double lane[EST_LANES] = {0};
    for (ptrdiff_t k = 0; k < size; k += EST_LANES)
        for (int i = 0; i < EST_LANES; i++) lane[i] += a[k + i];
    return est_tree(lane);
}
TX_CLONED(double, est_sum, (const double *EST_RESTRICT a, ptrdiff_t size), (a, size))

/* sum of a[k] n[k]; size is a multiple of 16 */
TX_INLINE double est_dot_body(const double *EST_RESTRICT a, const int32_t *EST_RESTRICT n, ptrdiff_t size) {
    double lane[EST_LANES] = {0};
    for (ptrdiff_t k = 0; k < size; k += EST_LANES)
        for (int i = 0; i < EST_LANES; i++) lane[i] += a[k + i] * (double)n[k + i];
    return est_tree(lane);
}
TX_CLONED(double, est_dot, (const double *EST_RESTRICT a, const int32_t *EST_RESTRICT n, ptrdiff_t size), (a, n,
          size))

/* sum of a[topic[i]] n[i] */
TX_INLINE double est_dot_sparse_body(const double *EST_RESTRICT a, const uint16_t *EST_RESTRICT topic,
                                     const int32_t *EST_RESTRICT n, ptrdiff_t length) {
    double lane[EST_LANES] = {0};
    ptrdiff_t at = 0;
    for (; at + EST_LANES <= length; at += EST_LANES)
        for (int i = 0; i < EST_LANES; i++) lane[i] += a[topic[at + i]] * (double)n[at + i];
    for (int i = 0; at + i < length; i++) lane[i] += a[topic[at + i]] * (double)n[at + i];
    return est_tree(lane);
}
TX_CLONED(double, est_dot_sparse, (const double *EST_RESTRICT a, const uint16_t *EST_RESTRICT topic,
          const int32_t *EST_RESTRICT n, ptrdiff_t length), (a, topic, n, length))

/* into[k] += weight n[k]; size is a multiple of 16 */
TX_INLINE void est_add_body(double *EST_RESTRICT into, const int32_t *EST_RESTRICT n, double weight, ptrdiff_t size) {
    for (ptrdiff_t k = 0; k < size; k += EST_LANES)
        for (int i = 0; i < EST_LANES; i++) into[k + i] += weight * (double)n[k + i];
}
TX_CLONED(void, est_add, (double *EST_RESTRICT into, const int32_t *EST_RESTRICT n, double weight, ptrdiff_t size),
          (into, n, weight, size))

/* into[topic[i]] += weight n[i]: the topics of a row differ, so the additions are independent */
static inline void est_add_sparse(double *EST_RESTRICT into, const uint16_t *EST_RESTRICT topic,
                                  const int32_t *EST_RESTRICT n, double weight, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++) into[topic[i]] += weight * (double)n[i];
}

/* into[k] += weight a[k]; size is a multiple of 16 */
TX_INLINE void est_axpy_body(double *EST_RESTRICT into, const double *EST_RESTRICT a, double weight, ptrdiff_t size) {
    for (ptrdiff_t k = 0; k < size; k += EST_LANES)
        for (int i = 0; i < EST_LANES; i++) into[k + i] += weight * a[k + i];
}
TX_CLONED(void, est_axpy, (double *EST_RESTRICT into, const double *EST_RESTRICT a, double weight, ptrdiff_t size),
          (into, a, weight, size))

/* out[k] = fix[k] + a[k] (sum[k] + shift), not below 0; size is a multiple of 16 */
TX_INLINE void est_finish_body(double *EST_RESTRICT out, const double *EST_RESTRICT fix,
                               const double *EST_RESTRICT a, const double *EST_RESTRICT sum, double shift,
                               ptrdiff_t size) {
    for (ptrdiff_t k = 0; k < size; k += EST_LANES)
        for (int i = 0; i < EST_LANES; i++) {
            double value = fix[k + i] + a[k + i] * (sum[k + i] + shift);
            out[k + i] = value > 0 ? value : 0;
        }
}
TX_CLONED(void, est_finish, (double *EST_RESTRICT out, const double *EST_RESTRICT fix, const double *EST_RESTRICT a,
          const double *EST_RESTRICT sum, double shift, ptrdiff_t size), (out, fix, a, sum, shift, size))

#endif
