/* Gibbs sampling of hidden Markov models: one site for any number of states, and 64 sites at once for two states.
 *
 * A sweep visits the sites in order. Site i draws its state given the state before it (new), after it (old) and its symbol,
 * from weights that either count everything else (collapsed) or stand in tables (partial). Each site has 32 random bits.
 *
 * Two states. Of two states, each site needs one comparison, u against P(state 0), and that probability depends on little:
 * symbol, next state, previous state. The next state is known (it is the old one). The previous one is not, so both answers
 * are computed, and the 64 functions "previous state -> state" are composed by a parallel prefix over bits. Collapsed, P
 * depends on all counts, which each site changes; but they change slowly. A table holds, for each case, an interval in which
 * P must lie as long as no count has drifted further than a limit from the counts of the table. Where u is outside of the
 * interval, the decision is certain; where it is inside, the site is decided from the exact counts, after those of the sites
 * before it. So the result is bit for bit that of the site-by-site sampler, whatever the limits. */
#ifndef TOPICX_HMM_H
#define TOPICX_HMM_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clones.h"
#include "rng.h"
#include "vectors.h"

/* -- 16 uniforms of 32 bits at a time: eight xoshiro256++ streams side by side -- */

typedef uint64_t hmm_v8 __attribute__((vector_size(64)));
typedef struct {
    hmm_v8 s0, s1, s2, s3;
} hmm_rng;

TX_INLINE void hmm_seed(hmm_rng *rng, uint64_t key) {
    for (int l = 0; l < 8; l++) {
        const tx_rng lane = tx_rng_seed(tx_splitmix64(&key));
        rng->s0[l] = lane.s0, rng->s1[l] = lane.s1, rng->s2[l] = lane.s2, rng->s3[l] = lane.s3;
    }
}

TX_INLINE void hmm_uniforms(hmm_rng *rng, uint32_t *out) { /* 64 of them */
    for (int i = 0; i < 4; i++) {
        TX_RNG_STEP(hmm_v8, result, rng);
        memcpy(out + 16 * i, &result, 64); /* the low half of a lane first */
    }
}

/* -- one site -- */

enum { HMM_NONE = -1 }; /* no state before the first site of a sequence, none after its last */

/* What the weights come from. Collapsed: counts and priors. Partial: probabilities, words-major for the emissions. */
typedef struct {
    int64_t S;
    int64_t *start, *trans, *emit; /* S; S x S; words x S */
    int64_t *out, *total;          /* row sums of trans; column sums of emit */
    double alpha0, alpha, beta, alpha_sum, beta_sum;
    const double *p_start, *p_trans, *p_emit;
} hmm_model;

TX_INLINE double hmm_collapsed_weight(const hmm_model *m, int64_t word, int prev, int next, int s) {
    const int64_t S = m->S;
    double weight = (double)m->emit[word * S + s] + m->beta, below = (double)m->total[s] + m->beta_sum;
    weight *= prev == HMM_NONE ? (double)m->start[s] + m->alpha0 : (double)m->trans[prev * S + s] + m->alpha;
    if (next != HMM_NONE) {
        const int again = prev == s; /* the pair (prev, s) of this very choice */
        weight *= (double)(m->trans[s * S + next] + (again && s == next)) + m->alpha;
        below *= (double)(m->out[s] + again) + m->alpha_sum;
    }
    return weight / below;
}

TX_INLINE double hmm_partial_weight(const hmm_model *m, int64_t word, int prev, int next, int s) {
    const int64_t S = m->S;
    double weight = m->p_emit[word * S + s];
    weight *= prev == HMM_NONE ? m->p_start[s] : m->p_trans[prev * S + s];
    if (next != HMM_NONE) weight *= m->p_trans[s * S + next];
    return weight;
}

/* The same with the site itself still counted in state `was`: what hmm_collapsed_weight gives once it is taken out. */
TX_INLINE double hmm_weight_without(const hmm_model *m, int64_t word, int prev, int next, int was, int s) {
    const int64_t S = m->S, own = s == was;
    double weight = (double)(m->emit[word * S + s] - own) + m->beta, below = (double)(m->total[s] - own) + m->beta_sum;
    const int loop = prev == was && next != HMM_NONE && next == s; /* the pair (was, next) stands in the row of prev */
    weight *= prev == HMM_NONE ? (double)(m->start[s] - own) + m->alpha0 : (double)(m->trans[prev * S + s] - own - loop) + m->alpha;
    if (next != HMM_NONE) {
        const int again = prev == s, back = again && was == next; /* the pair (prev, was) stands in the row of s */
        weight *= (double)(m->trans[s * S + next] - own - back + (again && s == next)) + m->alpha;
        below *= (double)(m->out[s] - own) + m->alpha_sum; /* the pair (prev, was) goes, the pair (prev, s) comes */
    }
    return weight / below;
}

TX_INLINE void hmm_add(hmm_model *m, int64_t word, int prev, int next, int s, int64_t by) {
    const int64_t S = m->S;
    m->emit[word * S + s] += by;
    m->total[s] += by;
    if (prev == HMM_NONE) m->start[s] += by;
    else m->trans[prev * S + s] += by, m->out[prev] += by;
    if (next != HMM_NONE) m->trans[s * S + next] += by, m->out[s] += by;
}

/* The state that u picks; `sums` has room for S numbers. A site that no state can explain keeps its own. */
TX_INLINE int hmm_draw(const hmm_model *m, int collapsed, int64_t word, int prev, int next, int old, uint32_t u,
                       double *sums) {
    const int S = (int)m->S;
    double sum = 0;
    for (int s = 0; s < S; s++) {
        sum += collapsed ? hmm_collapsed_weight(m, word, prev, next, s) : hmm_partial_weight(m, word, prev, next, s);
        sums[s] = sum;
    }
    if (!(sum > 0)) return old;
    const double r = (double)u * 0x1.0p-32 * sum;
    int s = 0;
    while (s < S - 1 && !(r < sums[s])) s++;
    return s;
}

/* A sweep over one path, site by site, any number of states. Returns how many sites changed. */
TX_INLINE int64_t hmm_sweep_sites(hmm_model *m, int collapsed, const uint32_t *words, const int64_t *offsets,
                                  int64_t sequences, uint8_t *z, uint64_t key, double *sums) {
    hmm_rng rng;
    uint32_t u[64];
    int64_t changed = 0, site = offsets[0];
    hmm_seed(&rng, key);
    for (int64_t d = 0; d < sequences; d++)
        for (int64_t i = offsets[d]; i < offsets[d + 1]; i++, site++) {
            if (((site - offsets[0]) & 63) == 0) hmm_uniforms(&rng, u);
            const int prev = i > offsets[d] ? z[i - 1] : HMM_NONE, next = i + 1 < offsets[d + 1] ? z[i + 1] : HMM_NONE;
            const int old = z[i];
            if (collapsed) hmm_add(m, words[i], prev, next, old, -1);
            const int s = hmm_draw(m, collapsed, words[i], prev, next, old, u[(site - offsets[0]) & 63], sums);
            if (collapsed) hmm_add(m, words[i], prev, next, s, 1);
            z[i] = (uint8_t)s;
            changed += s != old;
        }
    return changed;
}

static int64_t hmm_sweep_collapsed(hmm_model *m, const uint32_t *words, const int64_t *offsets, int64_t sequences,
                                   uint8_t *z, uint64_t key, double *sums) {
    return hmm_sweep_sites(m, 1, words, offsets, sequences, z, key, sums);
}

static int64_t hmm_sweep_partial(hmm_model *m, const uint32_t *words, const int64_t *offsets, int64_t sequences,
                                 uint8_t *z, uint64_t key, double *sums) {
    return hmm_sweep_sites(m, 0, words, offsets, sequences, z, key, sums);
}

/* -- two states, 64 sites at once -- */

#define HMM_BITS 15 /* of u in the quick comparison; the tables' limits are multiples of 2^-15 */
#define HMM_BLOCK 64

typedef struct {
    hmm_model m;
    int64_t V;
    const uint8_t *most;  /* the most sites of each symbol in one block */
    uint32_t *table;      /* for previous state 0, then 1: [2 * word + next] = low | high << 16 */
    int64_t *limit;       /* how far the count of each symbol in state 1 may drift ... */
    int64_t *low;         /* ... above this */
    int64_t drift, seen[8]; /* the same for the counts of transitions and states */
    double odds_low[2][2], odds_high[2][2]; /* of state 1 by transitions and totals: [prev][next] */
    int64_t stale_words[HMM_BLOCK];
    int stale;
} hmm_two;

/* low, high: u's first bits below low mean state 0, from high on state 1; between them nothing is certain. */
TX_INLINE uint32_t hmm_interval(double odds_low, double odds_high) {
    const double unit = 1 << HMM_BITS;
    double low = 0, high = unit;
    if (odds_high > 0) low = floor(unit / (1 + odds_high) * (1 - 1e-9));
    if (odds_low > 0) high = ceil(unit / (1 + odds_low) * (1 + 1e-9));
    if (!(low >= 0)) low = 0;
    if (!(high <= unit)) high = unit;
    return (uint32_t)low | (uint32_t)high << 16;
}

static int64_t hmm_tolerance(double count, double cost) {
    return (int64_t)(1.25 * cbrt(count > 0 ? count * cost : 0));
}

/* The entries of one symbol from the counts as they are now. A count near zero has no limits: always exact. */
static void hmm_refresh_word(hmm_two *t, int64_t w) {
    const double c0 = (double)t->m.emit[2 * w], c1 = (double)t->m.emit[2 * w + 1], beta = t->m.beta;
    const double least = c0 < c1 ? c0 : c1;
    const int64_t limit = hmm_tolerance(least, 1);
    const double reach = (double)limit + t->most[w];
    t->limit[w] = 2 * limit;
    t->low[w] = t->m.emit[2 * w + 1] - limit;
    double low = 0, high = HUGE_VAL;
    if (least > 8 + 2 * reach) { /* else far off anyway: every drift is allowed */
        low = (c1 - reach - 1 + beta) / (c0 + reach + beta);
        high = (c1 + reach + beta) / (c0 - reach - 1 + beta);
    } else {
        t->limit[w] = INT64_MAX / 2;
        t->low[w] = 0;
        if (least > 64) t->limit[w] = 2 * limit, t->low[w] = t->m.emit[2 * w + 1] - limit;
    }
    for (int prev = 0; prev < 2; prev++)
        for (int next = 0; next < 2; next++)
            t->table[2 * t->V * prev + 2 * w + next] =
                hmm_interval(low * t->odds_low[prev][next], high * t->odds_high[prev][next]);
}

TX_INLINE void hmm_now(const hmm_two *t, int64_t *seen) {
    const hmm_model *m = &t->m;
    for (int i = 0; i < 4; i++) seen[i] = m->trans[i];
    seen[4] = m->out[0], seen[5] = m->out[1], seen[6] = m->total[0], seen[7] = m->total[1];
}

static void hmm_refresh_all(hmm_two *t) {
    const hmm_model *m = &t->m;
    double low[8], high[8];
    hmm_now(t, t->seen);
    int64_t least = t->seen[0];
    for (int i = 1; i < 8; i++) least = t->seen[i] < least ? t->seen[i] : least;
    t->drift = hmm_tolerance((double)least, 0.25 * (double)t->V);
    for (int i = 0; i < 8; i++) { /* a block moves a count by 66 at most; without the site itself, by two more */
        const double prior = i < 4 ? m->alpha : i < 6 ? m->alpha_sum : m->beta_sum;
        low[i] = (double)(t->seen[i] - t->drift - HMM_BLOCK - 4) + prior;
        high[i] = (double)(t->seen[i] + t->drift + HMM_BLOCK + 4) + prior;
        if (!(low[i] > 0)) low[i] = 0;
    }
    for (int p = 0; p < 2; p++)
        for (int x = 0; x < 2; x++) {
            t->odds_low[p][x] = low[2 * p + 1] / high[2 * p] * (low[2 + x] / high[x]) * (low[4] / high[5]) * (low[6] / high[7]);
            const double below = low[2 * p] * low[x] * low[5] * low[7];
            t->odds_high[p][x] = below > 0 ? high[2 * p + 1] / low[2 * p] * (high[2 + x] / low[x]) * (high[4] / low[5]) *
                                                 (high[6] / low[7])
                                           : HUGE_VAL;
        }
    for (int64_t w = 0; w < t->V; w++) hmm_refresh_word(t, w);
}

static void hmm_fill_partial(hmm_two *t) {
    for (int64_t w = 0; w < t->V; w++)
        for (int prev = 0; prev < 2; prev++)
            for (int next = 0; next < 2; next++) {
                const double w0 = hmm_partial_weight(&t->m, w, prev, next, 0), w1 = hmm_partial_weight(&t->m, w, prev, next, 1);
                const double odds = w1 / w0; /* 0 / 0: not above zero, so never certain */
                t->table[2 * t->V * prev + 2 * w + next] =
                    odds < 1e300 ? hmm_interval(odds, odds > 0 ? odds : HUGE_VAL) : hmm_interval(0, HUGE_VAL);
            }
}

TX_INLINE uint64_t hmm_pack(const uint8_t *bytes, int bit) { /* bit `bit` of 64 bytes */
    uint64_t result = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t x;
        memcpy(&x, bytes + 8 * i, 8);
        x = (x >> bit) & UINT64_C(0x0101010101010101);
        result |= (x * UINT64_C(0x0102040810204080) >> 56) << 8 * i;
    }
    return result;
}

TX_INLINE void hmm_unpack(uint64_t bits, uint8_t *bytes) {
    for (int i = 0; i < 8; i++) {
        uint64_t x = (bits >> 8 * i & 255) * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);
        x = (x + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_C(0x0101010101010101);
        memcpy(bytes + 8 * i, &x, 8);
    }
}

TX_INLINE uint64_t hmm_upto(int n) { return n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1; }

TX_INLINE void hmm_catch_up(hmm_two *t) {
    int64_t now[8], far = 0;
    hmm_now(t, now);
    for (int i = 0; i < 8; i++) far |= now[i] - t->seen[i] > t->drift || t->seen[i] - now[i] > t->drift;
    if (far) hmm_refresh_all(t);
    else
        for (int i = 0; i < t->stale; i++) hmm_refresh_word(t, t->stale_words[i]);
    t->stale = 0;
}

/* The sweep over two states, for several CPUs with the same bits on each (see vectors.h). */
typedef struct {
    int64_t (*collapsed)(hmm_two *t, const uint32_t *words, int64_t N, uint8_t *z, const uint64_t *firsts,
                         const uint64_t *lasts, uint64_t key);
    int64_t (*partial)(hmm_two *t, const uint32_t *words, int64_t N, uint8_t *z, const uint64_t *firsts,
                       const uint64_t *lasts, uint64_t key);
} hmm_sweeps;

#define HMM_(name) TX(hmm_two_##name)

#define TX_BODY "hmm_body.h"
#include "instruction_sets.h"

static inline const hmm_sweeps *hmm_choose(void) { return TX_CHOOSE(hmm); }

#endif
