/* The functions of lanes.h. */

#ifndef TX_SMOOTH_TO
#define TX_SMOOTH_TO 8 /* chunks up to which a dense row's weights include beta */
#define TX_AHEAD 8     /* tokens between the prefetch of a row and its preparation */
#define TX_LINES 2     /* cache lines of it */
#endif

/* q_k = (alpha_k + n_dk) / (n_k + B) for all topics. */
static void TX(weights)(float *q, const float *alpha, const float *counts, const float *inverse, int64_t chunks) {
    for (int64_t c = 0; c < chunks; c++) {
        v16 a = v_add(v_load(alpha + 16 * c), v_load(counts + 16 * c));
        v_store(q + 16 * c, v_mul(a, v_load(inverse + 16 * c)));
    }
}

/* One draw from p_k = q_k (n_k + beta), topic `old` at its weight without the token: q_old (n_old - 1 + beta).
 * old = -1: nothing to take out. scratch: 16 floats a chunk, for the running sums of the lanes. */
static int64_t TX(dense_draw)(const float *q, const uint32_t *row, float beta, int64_t chunks, int64_t old, float q_old,
                              double u, float *scratch) {
    const v16 smooth = v_all(beta), q_less = v_all(q_old);
    v16 sum = v_all(0);
    for (int64_t c = 0; c < chunks; c++) {
        const i16 n = i_less_one(i_load(row + 16 * c), old - 16 * c);
        sum = v_add(sum, v_mul(v_replace(v_load(q + 16 * c), old - 16 * c, q_less), v_add(v_of(n), smooth)));
        v_store(scratch + 16 * c, sum);
    }
    return v_draw(sum, scratch, chunks, u);
}

/* ---- SparseLDA ---- */

/* A row being drawn from: the weight of each entry, their sums by lane, and by lane and group of 8 chunks. */
typedef struct {
    uint32_t *row;
    int32_t *length;
    float *p, *groups;
    int64_t chunks;
    int dense;
    float smooth; /* beta_w if it is inside the weights, else 0 */
    float beta;
    v16 scan; /* inclusive sums across the lanes */
} TX(bucket);
#define bucket TX(bucket)

/* Block sums of q, from q itself: no history. */
static void TX(sparse_sums)(tx_cell *s) {
    double all = 0;
    for (int64_t a = 0; 16 * a < s->chunks; a++) {
        double super = 0;
        for (int64_t c = 16 * a; c < 16 * a + 16 && c < s->chunks; c++) {
            double x[4] = {0, 0, 0, 0};
            for (int l = 0; l < 16; l += 4)
                for (int j = 0; j < 4; j++) x[j] += (double)s->q[16 * c + l + j];
            s->blocks[c] = (x[0] + x[1]) + (x[2] + x[3]);
            super += s->blocks[c];
        }
        s->supers[a] = super;
        all += super;
    }
    s->q_sum = all;
}

/* Returns what is to be added to q_sum: a sum in memory would make each of several wait for the one before. */
static inline double TX(set_q)(tx_cell *s, int64_t k, float q) {
    const double step = (double)q - (double)s->q[k];
    s->q[k] = q;
    s->blocks[k >> 4] += step;
    s->supers[k >> 8] += step;
    return step;
}

/* A document's counts come in, by the topics it has (cell.listed: q then is that of an empty document in between). */
static void TX(sparse_enter)(tx_cell *s, int64_t first, int64_t last) {
    s->found = 0;
    for (int64_t t = first; t < last; t++)
        if (s->z[t] != 0xFFFF) {
            /* no branch: whether a topic is there already cannot be predicted */
            float *count = s->counts + s->z[t];
            s->list[s->found] = s->z[t];
            s->found += *count == 0;
            *count += 1;
        }
    double sum = s->q_sum;
    const int64_t found = s->found;
    for (int64_t i = 0; i < found; i++) {
        const int64_t k = s->list[i];
        sum += TX(set_q)(s, k, (s->prior[k] + s->counts[k]) * s->inverse[k]);
    }
    s->q_sum = sum;
}

/* And out; a topic may be listed twice. */
static void TX(sparse_leave)(tx_cell *s) {
    double sum = s->q_sum;
    const int64_t found = s->found;
    for (int64_t i = 0; i < found; i++) {
        const int64_t k = s->list[i];
        s->counts[k] = 0;
        sum += TX(set_q)(s, k, s->prior[k] * s->inverse[k]);
    }
    s->q_sum = sum;
}

/* One token less or more of a topic, in this document and in all; the inverses are always those of the integers. */
static inline void TX(count)(tx_cell *s, int64_t k, int step, float q) {
    if (step > 0 && s->counts[k] == 0 && s->listed) s->list[s->found++] = (uint16_t)k;
    s->counts[k] += (float)step;
    s->totals[k] += step;
    const float edge = (float)(1.0 / ((double)(s->totals[k] + step) + s->beta_sum));
    if (step > 0) {
        s->inverse_less[k] = s->inverse[k];
        s->inverse[k] = s->inverse_more[k];
        s->inverse_more[k] = edge;
    } else {
        s->inverse_more[k] = s->inverse[k];
        s->inverse[k] = s->inverse_less[k];
        s->inverse_less[k] = edge;
    }
    s->q_sum += TX(set_q)(s, k, q);
}

/* Weights of a row's entries: q_k n_kw, or q_k (n_kw + beta_w) for a short dense row, which then needs no second bucket. */
static inline void TX(prepare)(const tx_cell *s, bucket *b, float *scratch, uint32_t word) {
    uint32_t *row = s->cells + s->row_start[word];
    const int32_t length = s->row_len[word];
    v16 sum = v_all(0);
    b->row = row;
    b->length = s->row_len + word;
    b->groups = scratch;
    scratch += ((s->chunks + 7) >> 3) * 16;
    b->p = scratch;
    b->dense = length < 0;
    b->beta = s->beta[word];
    b->smooth = 0;
    if (length < 0) {
        const int64_t n = s->chunks;
        b->chunks = n;
        if (n <= TX_SMOOTH_TO) {
            const v16 beta = v_all(b->beta);
            b->smooth = b->beta;
            for (int64_t c = 0; c < n; c++) {
                const v16 p = v_mul(v_load(s->q + 16 * c), v_add(v_of(i_load(row + 16 * c)), beta));
                v_store(scratch + 16 * c, p);
                sum = v_add(sum, p);
            }
        } else {
            for (int64_t g = 0; 8 * g < n; g++) {
                const int64_t end = 8 * g + 8 < n ? 8 * g + 8 : n;
                v16 part = v_all(0);
                for (int64_t c = 8 * g; c < end; c++) {
                    const v16 p = v_mul(v_load(s->q + 16 * c), v_of(i_load(row + 16 * c)));
                    v_store(scratch + 16 * c, p);
                    part = v_add(part, p);
                }
                v_store(b->groups + 16 * g, part);
                sum = v_add(sum, part);
            }
        }
    } else {
        const i16 mask = i_all((1 << s->topic_bits) - 1);
        const int64_t n = (length + 15) >> 4;
        b->chunks = n;
        for (int64_t g = 0; 8 * g < n; g++) {
            const int64_t end = 8 * g + 8 < n ? 8 * g + 8 : n;
            v16 part = v_all(0);
            for (int64_t c = 8 * g; c < end; c++) {
                const i16 entry = i_load(row + 16 * c);
                const v16 p = v_mul(v_gather(s->q, i_and(entry, mask)),
                                        v_of(i_down(entry, s->topic_bits)));
                v_store(scratch + 16 * c, p);
                part = v_add(part, p);
            }
            v_store(b->groups + 16 * g, part);
            sum = v_add(sum, part);
        }
    }
    if (b->dense)
        for (int64_t c = b->chunks; c & 7; c++) v_store(scratch + 16 * c, v_all(0));
    else
        for (int64_t c = b->chunks; c < b->chunks + 7; c++) v_store(scratch + 16 * c, v_all(0));
    b->scan = v_scan(sum);
}

/* Where a topic is in a row: its entry, or -1. Unused entries look like topic 0, behind all others. Which of several chunks
 * has it cannot be predicted: where rows are longer than one, four are looked at before the first branch. */
static inline int64_t TX(find)(const tx_cell *s, const bucket *b, int64_t topic) {
    if (b->dense) return topic;
    const int64_t step = TX_SET > 0 && s->chunks > TX_SMOOTH_TO ? 4 : 1, last = b->chunks - 1;
    const i16 mask = i_all((1 << s->topic_bits) - 1), wanted = i_all((int32_t)topic);
    for (int64_t c = 0; c <= last; c += step) {
        uint64_t hits = i_equal(i_and(i_load(b->row + 16 * c), mask), wanted);
        for (int64_t j = 1; j < 4 && step > 1; j++) {
            const int64_t at = c + j < last ? c + j : last;
            hits |= (uint64_t)i_equal(i_and(i_load(b->row + 16 * at), mask), wanted) << 16 * j;
        }
        if (hits) {
            const int64_t i = 16 * c + tx_first_bit(hits);
            return i < *b->length ? i : -1;
        }
    }
    return -1;
}

static inline float TX(number)(const tx_cell *s, const bucket *b, int64_t i) {
    return (float)(int32_t)(b->dense ? b->row[i] : b->row[i] >> s->topic_bits);
}

/* Give entry i another weight. */
static inline void TX(adjust)(bucket *b, int64_t i, float p) {
    const float step = p - b->p[i];
    b->p[i] = p;
    b->scan = v_add_from(b->scan, (int)(i & 15), step);
    if (b->chunks > 8) b->groups[16 * (i >> 7) + (i & 15)] += step;
}

/* Sums across lanes from the weights alone: for when a difference would leave mostly rounding. */
static v16 TX(resum)(const bucket *b) {
    v16 sum = v_all(0);
    for (int64_t c = 0; c < b->chunks; c++) sum = v_add(sum, v_load(b->p + 16 * c));
    return v_scan(sum);
}

/* How many of eight running sums are at most r; the weights are 16 apart. Eight, if r is not below their sum. No branch:
 * where the draw falls cannot be predicted. */
static inline int TX(passed)(const float *p, float r) {
    const float s1 = p[0] + p[16], s3 = s1 + (p[32] + p[48]), s5 = s3 + (p[64] + p[80]), s7 = s5 + (p[96] + p[112]);
    return ((p[0] <= r) + (s1 <= r)) + ((s1 + p[32] <= r) + (s3 <= r)) + ((s3 + p[64] <= r) + (s5 <= r)) +
           ((s5 + p[96] <= r) + (s7 <= r));
}

/* The entry of a lane at which the running sum of weights passes r; -1: rounding found a place without weight. */
static inline int64_t TX(entry)(const bucket *b, int lane, float r) {
    int64_t c = 0;
    if (b->chunks > 8) {
        const int64_t last = (b->chunks - 1) >> 3;
        int64_t g = 0;
        for (; g < last; g++) {
            const float w = b->groups[16 * g + lane];
            if (r < w) break;
            r -= w;
        }
        c = 8 * g;
    }
    if (b->chunks > 1) c += TX(passed)(b->p + 16 * c + lane, r);
    c = 16 * c + lane;
    return c < 16 * b->chunks && b->p[c] > 0 ? c : -1;
}

/* The last entry with any weight. */
static int64_t TX(entry_any)(const bucket *b) {
    int64_t i = 16 * b->chunks - 1;
    while (i > 0 && !(b->p[i] > 0)) i--;
    return i;
}

/* A topic in proportion to q, topic old weighing q_less. 0 <= r < the sum. */
static int64_t TX(smooth_draw)(const tx_cell *s, double r, int64_t old, float q_less) {
    const double cut = old >= 0 ? (double)s->q[old] - (double)q_less : 0;
    int64_t a = 0, c, k;
    const int64_t last_super = (s->chunks - 1) >> 4;
    for (; a < last_super; a++) {
        const double w = s->supers[a] - (a == old >> 8 ? cut : 0);
        if (r < w) break;
        r -= w;
    }
    const int64_t end = 16 * a + 16 < s->chunks ? 16 * a + 16 : s->chunks;
    for (c = 16 * a; c < end - 1; c++) {
        const double w = s->blocks[c] - (c == old >> 4 ? cut : 0);
        if (r < w) break;
        r -= w;
    }
    const v16 q = v_replace(v_load(s->q + 16 * c), old - 16 * c, v_all(q_less));
    k = 16 * c + v_count_le(v_scan(q), (float)r);
    if (k < 16 * c + 16 && k < s->topics && (k == old ? q_less : s->q[k]) > 0) return k;
    for (k = s->topics - 1 < 16 * c + 15 ? s->topics - 1 : 16 * c + 15; k > 0; k--)
        if ((k == old ? q_less : s->q[k]) > 0) break;
    return k;
}

/* The heaviest topic, the lowest of equals, as the dense kernel weighs them. */
static int64_t TX(heaviest)(const tx_cell *s, const bucket *b, int64_t old, float q_less) {
    int64_t found = 0;
    float most = -1;
    for (int64_t k = 0; k < s->topics; k++) {
        const int64_t i = TX(find)(s, b, k);
        const float n = (i < 0 ? 0 : TX(number)(s, b, i)) - (k == old), p = (k == old ? q_less : s->q[k]) * (n + b->beta);
        if (p > most) {
            most = p;
            found = k;
        }
    }
    return found;
}

static void TX(sparse_tokens)(tx_cell *s, int64_t first, int64_t last) {
    const int bits = s->topic_bits;
    const uint32_t mask = ((uint32_t)1 << bits) - 1;
    bucket here, next;
    int64_t t = first, turn = 0;
    tx_rng rng = s->rng;
    TX_ALIGNED float ends[32]; /* sums across lanes from the 16th on; before them a zero */
    ends[15] = 0;
    if (first >= last) return;
    TX(prepare)(s, &here, s->scratch[0], s->words[first]);
    while (t < last) {
        int64_t end = t + 1;
        while (end < last && s->words[end] == s->words[t]) end++;
        const int more = end < last;
        turn ^= 1;
        if (more) {
            if (end + TX_AHEAD < last) {
                const char *row = (const char *)(s->cells + s->row_start[s->words[end + TX_AHEAD]]);
                for (int i = 0; i < TX_LINES; i++) tx_prefetch(row + 64 * i);
            }
            TX(prepare)(s, &next, s->scratch[turn], s->words[end]);
        }
        for (; t < end; t++) {
            const uint16_t z = s->z[t];
            int64_t old = -1, at = -1;
            float q_less = 0, p_less = 0, p_here = 0, rest = 0;
            v16 scan = here.scan;
            double q_sum = s->q_sum;
            if (z != 0xFFFF) {
                old = z;
                at = TX(find)(s, &here, old);
                q_less = (s->prior[old] + (s->counts[old] - 1.0f)) * s->inverse_less[old];
                p_less = q_less * (TX(number)(s, &here, at) - 1.0f + here.smooth);
                p_here = here.p[at];
                scan = v_add_from(scan, (int)(at & 15), -p_here);
                q_sum += (double)q_less - (double)s->q[old];
            }
            if (here.smooth == 0) rest = (float)((double)here.beta * q_sum);
            int64_t new, new_at = -1;
            if (s->maximise) {
                new = TX(heaviest)(s, &here, old, q_less);
                if (new == old) continue;
            } else {
                float others = v_last(scan);
                if (others + (p_less + rest) < p_here * 0.015625f) {
                    here.p[at] = 0;
                    scan = TX(resum)(&here);
                    here.p[at] = p_here;
                    others = v_last(scan);
                }
                const double u = tx_rng_double(&rng);
                float r = (float)u * (others + (p_less + rest));
                if (r < p_less) continue; /* it stays where it is */
                r -= p_less;
                if (old >= 0) {
                    here.p[at] = 0;
                    if (here.chunks > 8) here.groups[16 * (at >> 7) + (at & 15)] -= p_here;
                }
                if (r < rest || !(others > 0)) {
                    const double exact = u * ((double)others + (double)p_less + (double)here.beta * q_sum) - (double)p_less;
                    new = TX(smooth_draw)(s, exact > 0 ? exact / (double)here.beta : 0, old, q_less);
                } else {
                    r -= rest;
                    int lane = v_count_le(scan, r);
                    v_store(ends + 16, scan);
                    if (lane > 15) lane = 15;
                    new_at = TX(entry)(&here, lane, r - ends[15 + lane]);
                    if (new_at < 0) new_at = TX(entry_any)(&here);
                    new = here.dense ? new_at : (int64_t)(here.row[new_at] & mask);
                }
                if (new == old) {
                    if (t + 1 < end) TX(prepare)(s, &here, s->scratch[turn ^ 1], s->words[t]);
                    continue;
                }
            }
            s->changed++;
            if (new_at < 0) new_at = TX(find)(s, &here, new);
            int moved = 0;
            const float q_more = (s->prior[new] + (s->counts[new] + 1.0f)) * s->inverse_more[new];
            if (old >= 0) TX(count)(s, old, -1, q_less);
            TX(count)(s, new, 1, q_more);
            if (here.dense) {
                if (old >= 0) here.row[old]--;
                here.row[new]++;
            } else {
                if (new_at >= 0) here.row[new_at] += (uint32_t)1 << bits;
                if (old >= 0) {
                    here.row[at] -= (uint32_t)1 << bits;
                    if (here.row[at] >> bits == 0) {
                        const int32_t n = --*here.length;
                        here.row[at] = here.row[n];
                        here.row[n] = 0;
                        moved = 1;
                    }
                }
                if (new_at < 0) {
                    here.row[(*here.length)++] = (uint32_t)1 << bits | (uint32_t)new;
                    moved = 1;
                }
            }
            s->z[t] = (uint16_t)new;
            if (t + 1 < end) {
                if (moved) {
                    TX(prepare)(s, &here, s->scratch[turn ^ 1], s->words[t]);
                } else {
                    here.scan = scan;
                    if (old >= 0) TX(adjust)(&here, at, p_less);
                    TX(adjust)(&here, new_at, s->q[new] * (TX(number)(s, &here, new_at) + here.smooth));
                }
            }
            if (more) {
                const int64_t i = old >= 0 ? TX(find)(s, &next, old) : -1, j = TX(find)(s, &next, new);
                if (i >= 0) TX(adjust)(&next, i, s->q[old] * (TX(number)(s, &next, i) + next.smooth));
                if (j >= 0) TX(adjust)(&next, j, s->q[new] * (TX(number)(s, &next, j) + next.smooth));
            }
        }
        here = next;
    }
    s->rng = rng;
}
#undef bucket

static const tx_lanes TX(lanes) = {TX_STRING(TX_LANES), TX(dense_draw), TX(weights), TX(sparse_sums), TX(sparse_enter),
                                      TX(sparse_leave), TX(sparse_tokens)};
