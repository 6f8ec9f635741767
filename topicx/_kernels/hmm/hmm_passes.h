/* Passes over sequences with fixed parameters: forward, forward-backward, Viterbi.
 *
 * Forward and backward values are kept away from underflow by exact powers of two, counted: no logarithm a symbol, and sequences
 * of any length. Posteriors are normalised site by site, so that the two directions need not agree about their scales. */
#ifndef TOPICX_HMM_PASSES_H
#define TOPICX_HMM_PASSES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "clones.h"
#include "partial.h"

#define HMM_STEP 64 /* a scale is 2^64 */

typedef struct {
    int64_t S;
    const double *start, *trans, *emit; /* S; S x S; words x S */
    const double *turned;               /* trans, columns as rows: what the backward values are made from */
} hmm_parameters;

/* Multiply by 2^64 until the sum is at least 2^-64; how often. A sum of zero stays. */
TX_INLINE int64_t hmm_rescale(double *values, int64_t S, double sum) {
    int64_t times = 0;
    if (!(sum > 0)) return 0;
    while (sum < 0x1p-64) {
        for (int64_t s = 0; s < S; s++) values[s] *= 0x1p64;
        sum *= 0x1p64;
        times++;
    }
    return times;
}

/* out = values times a matrix: a row at a time, so that the entries of `out` are added side by side. */
TX_INLINE void hmm_times(const double *restrict values, const double *restrict matrix, int64_t S,
                         double *restrict out) {
    for (int64_t s = 0; s < S; s++) out[s] = values[0] * matrix[s];
    for (int64_t r = 1; r < S; r++) {
        const double value = values[r], *restrict row = matrix + r * S;
        for (int64_t s = 0; s < S; s++) out[s] += value * row[s];
    }
}

/* log p of one sequence. `rows`: forward values, n x S if `keep`, else 2 x S. */
TX_INLINE double hmm_forward_of(const hmm_parameters *p, int64_t S, const uint32_t *words, int64_t n, int keep,
                                double *rows) {
    double sum = 0;
    int64_t scales = 0;
    if (n == 0) return 0;
    for (int64_t s = 0; s < S; s++) sum += rows[s] = p->start[s] * p->emit[words[0] * S + s];
    for (int64_t i = 1;; i++) {
        const double *from = rows + (keep ? i - 1 : (i - 1) & 1) * S;
        if (sum < 0x1p-64) {
            if (!(sum > 0)) return -HUGE_VAL;
            scales += hmm_rescale((double *)from, S, sum);
        }
        if (i == n) {
            sum = 0;
            for (int64_t s = 0; s < S; s++) sum += from[s];
            return tx_log(sum) - (double)scales * HMM_STEP * 0.69314718055994530942;
        }
        double *restrict to = rows + (keep ? i : i & 1) * S;
        const double *restrict emit = p->emit + words[i] * S;
        hmm_times(from, p->trans, S, to);
        sum = 0;
        for (int64_t s = 0; s < S; s++) to[s] *= emit[s];
        for (int64_t s = 0; s < S; s++) sum += to[s];
    }
}

/* Posteriors of one sequence from its forward values: expected counts are added to start, trans and emit (trans without
 * its factor p->trans), and written to `gamma` (n x S) if it is not NULL. `room`: 3 x S. */
TX_INLINE void hmm_backward_of(const hmm_parameters *p, int64_t S, const uint32_t *words, int64_t n,
                               const double *rows,
                               double *start, double *trans, double *emit, double *gamma, double *room) {
    double *restrict back = room, *restrict ahead = room + S, *restrict here = room + 2 * S;
    for (int64_t s = 0; s < S; s++) back[s] = 1;
    for (int64_t i = n - 1; i >= 0; i--) {
        const double *restrict forward = rows + i * S;
        double norm = 0, sum = 0;
        if (i < n - 1) {
            const double *e = p->emit + words[i + 1] * S;
            for (int64_t s = 0; s < S; s++) ahead[s] = e[s] * back[s];
            hmm_times(ahead, p->turned, S, here);
            for (int64_t s = 0; s < S; s++) sum += back[s] = here[s];
        }
        for (int64_t s = 0; s < S; s++) norm += forward[s] * back[s];
        const double inverse = 1 / norm;
        for (int64_t r = 0; r < S; r++) {
            const double weight = forward[r] * inverse;
            here[r] = weight * back[r];
            double *restrict row = trans + r * S;
            if (i < n - 1)
                for (int64_t s = 0; s < S; s++) row[s] += weight * ahead[s];
            emit[words[i] * S + r] += here[r];
        }
        if (gamma) memcpy(gamma + i * S, here, (size_t)S * sizeof *here);
        if (i == 0)
            for (int64_t s = 0; s < S; s++) start[s] += here[s];
        else if (i < n - 1 && sum < 0x1p-64) hmm_rescale(back, S, sum);
    }
}

TX_INLINE double hmm_forward_body(const hmm_parameters *p, const uint32_t *words, int64_t n, double *rows) {
    if (p->S == 2) return hmm_forward_of(p, 2, words, n, 0, rows);
    if (p->S == 4) return hmm_forward_of(p, 4, words, n, 0, rows);
    return hmm_forward_of(p, p->S, words, n, 0, rows);
}
TX_CLONED(double, hmm_forward, (const hmm_parameters *p, const uint32_t *words, int64_t n, double *rows), (p, words,
          n, rows))

TX_INLINE double hmm_expect_of(const hmm_parameters *p, int64_t S, const uint32_t *words, int64_t n, double *rows,
                               double *start, double *trans, double *emit, double *gamma, double *room) {
    const double found = hmm_forward_of(p, S, words, n, 1, rows);
    if (found > -HUGE_VAL) hmm_backward_of(p, S, words, n, rows, start, trans, emit, gamma, room);
    return found;
}

/* log p, and the expected counts. */
TX_INLINE double hmm_expect_body(const hmm_parameters *p, const uint32_t *words, int64_t n, double *rows,
                                 double *start, double *trans, double *emit, double *gamma, double *room) {
    if (p->S == 2) return hmm_expect_of(p, 2, words, n, rows, start, trans, emit, gamma, room);
    if (p->S == 4) return hmm_expect_of(p, 4, words, n, rows, start, trans, emit, gamma, room);
    return hmm_expect_of(p, p->S, words, n, rows, start, trans, emit, gamma, room);
}
TX_CLONED(double, hmm_expect, (const hmm_parameters *p, const uint32_t *words, int64_t n, double *rows,
          double *start, double *trans, double *emit, double *gamma, double *room), (p, words, n, rows, start, trans,
          emit, gamma, room))

/* The most probable states of one sequence and their log p(states, symbols); ties go to the lower state. All parameters are
 * logarithms. `rows`: 2 x S; `from`: n x S. */
TX_INLINE double hmm_viterbi_body(const hmm_parameters *p, const uint32_t *words, int64_t n, double *rows,
                                  uint8_t *from, uint8_t *path) {
    const int64_t S = p->S;
    if (n == 0) return 0;
    for (int64_t s = 0; s < S; s++) rows[s] = p->start[s] + p->emit[words[0] * S + s];
    for (int64_t i = 1; i < n; i++) {
        const double *before = rows + ((i - 1) & 1) * S;
        double *now = rows + (i & 1) * S;
        for (int64_t s = 0; s < S; s++) {
            double best = before[0] + p->trans[s];
            int64_t arg = 0;
            for (int64_t r = 1; r < S; r++) {
                const double value = before[r] + p->trans[r * S + s];
                if (value > best) best = value, arg = r;
            }
            now[s] = best + p->emit[words[i] * S + s];
            from[i * S + s] = (uint8_t)arg;
        }
    }
    const double *end = rows + ((n - 1) & 1) * S;
    int64_t s = 0;
    for (int64_t r = 1; r < S; r++)
        if (end[r] > end[s]) s = r;
    const double found = end[s];
    for (int64_t i = n - 1; i >= 0; i--) {
        path[i] = (uint8_t)s;
        if (i) s = from[i * S + s];
    }
    return found;
}
TX_CLONED(double, hmm_viterbi, (const hmm_parameters *p, const uint32_t *words, int64_t n, double *rows,
          uint8_t *from, uint8_t *path), (p, words, n, rows, from, path))

#endif
