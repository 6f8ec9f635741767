/* The functions of infer.h. */

/* q_k row_k of a chunk, topic `old` weighing q_old row_old (old = -1: nothing to take out). */
TX_ALWAYS v16 TX(infer_weights)(const float *q, const float *row, int64_t c, int64_t old, v16 q_old) {
    return v_mul(v_replace(v_load(q + 16 * c), old - 16 * c, q_old), v_load(row + 16 * c));
}

/* One draw from these weights. scratch: 16 floats a chunk, for the running sums of the lanes. Every row has an entry of 1
 * and every q is positive, so there is always one to draw. */
static int64_t TX(infer_draw)(const float *q, const float *row, int64_t chunks, int64_t old, float q_old, double u,
                              float *scratch) {
    const v16 q_less = v_all(q_old);
    v16 sum = v_all(0);
    for (int64_t c = 0; c < chunks; c++) {
        sum = v_add(sum, TX(infer_weights)(q, row, c, old, q_less));
        v_store(scratch + 16 * c, sum);
    }
    return v_draw(sum, scratch, chunks, u);
}

/* ---- θ of documents ----
 *
 * A draw is a long chain of additions and searches, each of which waits for the one before it, and the next draw of the
 * document waits for it. So some documents take turns, a token each: their chains have nothing to do with each other. */

/* The token whose turn it is leaves its topic, if it has one. */
TX_ALWAYS void TX(infer_take_out)(tx_walk *w) {
    const int64_t old = w->z[w->at];
    if (old != TX_UNPLACED) w->q[old] = w->alpha[old] + (float)--w->counts[old];
}

/* The sum before this lane's in a scan over the lanes; before the first: 0. */
TX_ALWAYS float TX(infer_before)(v16 scan, int lane) {
#if TX_SET == 2
    const __m512i at = _mm512_set1_epi32(lane - 1);
    return _mm512_cvtss_f32(_mm512_maskz_permutexvar_ps(lane > 0 ? 0xFFFF : 0, at, (__m512)scan.p[0]));
#else
    float ends[17];
    ends[0] = 0;
    v_store(ends + 1, scan);
    return ends[lane];
#endif
}

/* The entry on which u times the total of these sums falls: what v_draw finds, in fewer steps. A lane's sums never fall,
 * so that `step` chunks are passed over at once; beyond the last chunk stand `step` of infinity. */
TX_ALWAYS int64_t TX(infer_find)(v16 sum, const float *sums, int64_t chunks, int64_t step, double u) {
    const v16 scan = v_scan(sum);
    const float total = v_last(scan), below = total * 0.99999994f;
    float r = (float)(u * (double)total);
    if (r >= below) r = below;
    int lane = v_count_le(scan, r);
    if (lane > 15) lane = 15;
    r -= TX(infer_before)(scan, lane);
    const float *column = sums + lane, last = column[16 * (chunks - 1)];
    if (!(last > 0 && r < last)) return tx_repair(sums, chunks, lane);
    int64_t c = 0, more = 0;
    for (int64_t i = step - 1; i < chunks - 1; i += step) c += column[16 * i] <= r;
    column += 16 * step * c;
    for (int64_t i = 0; i < step - 1; i++) more += column[16 * i] <= r;
    return 16 * (step * c + more) + lane;
}

/* That token gets a topic, and it is the next one's turn. Whether that was the last one of a sweep. */
TX_ALWAYS int TX(infer_turn)(const tx_sampling *job, tx_walk *w) {
    const int64_t chunks = job->width / 16;
    const float *q = w->q, *row = job->rows + w->words[w->at] * job->width;
    float *sums = w->sums;
    if (w->at + TX_AHEAD < w->length) {
        const float *ahead = job->rows + w->words[w->at + TX_AHEAD] * job->width;
        const float *end = ahead + (job->width < 512 ? job->width : 512);
#pragma GCC unroll 8
        for (; ahead < end; ahead += 16) tx_prefetch(ahead);
    }
    v16 sum = v_all(0);
#pragma GCC unroll 4
    for (int64_t c = 0; c < chunks; c++) {
        sum = v_add(sum, v_mul(v_load(q + 16 * c), v_load(row + 16 * c)));
        v_store(sums + 16 * c, sum);
    }
    const int64_t k = TX(infer_find)(sum, sums, chunks, job->step, tx_rng_double(&w->rng));
    w->q[k] = w->alpha[k] + (float)++w->counts[k];
    w->z[w->at++] = (uint16_t)k;
    return w->at == w->length;
}

/* q with `less` in the lane whose entry is `old`; `at`: the entries of the lanes. */
TX_ALWAYS v16 TX(infer_replaced)(v16 q, i16 at, i16 old, v16 less) {
#if TX_SET == 2
    const __mmask16 here = _mm512_cmpeq_epi32_mask((__m512i)at.p[0], (__m512i)old.p[0]);
    return (v16){{(TX(f_part))_mm512_mask_mov_ps((__m512)q.p[0], here, (__m512)less.p[0])}};
#else
    return v_choose(i_same(at, old), less, q);
#endif
}

/* soft += the probabilities of a token given all others: p_k / sum p (Papanikolaou et al. 2017, eq. 33); of `number`
 * tokens, one after the other. weights: `width` numbers a token. */
TX_ALWAYS void TX(infer_soft)(const tx_sampling *job, const tx_walk *w, int64_t first, const int number, float *weights,
                              float *soft) {
    const int64_t width = job->width, chunks = width / 16;
    const float *rows[4];
    v16 sums[4], less[4];
    i16 old[4], at = i_lanes();
    for (int t = 0; t < number; t++) {
        const int64_t k = w->z[first + t];
        old[t] = i_all((int32_t)k);
        rows[t] = job->rows + w->words[first + t] * width;
        less[t] = v_all(w->alpha[k] + (float)(w->counts[k] - 1));
        sums[t] = v_all(0);
    }
    for (int64_t c = 0; c < chunks; c++, at = i_add(at, i_all(16))) {
        const v16 q = v_load(w->q + 16 * c);
        for (int t = 0; t < number; t++) {
            const v16 p = v_mul(TX(infer_replaced)(q, at, old[t], less[t]), v_load(rows[t] + 16 * c));
            sums[t] = v_add(sums[t], p);
            v_store(weights + t * width + 16 * c, p);
        }
    }
    for (int t = 0; t < number; t++) sums[t] = v_all(1.0f / v_last(v_scan(sums[t])));
    for (int64_t c = 0; c < chunks; c++) {
        v16 total = v_load(soft + 16 * c);
        for (int t = 0; t < number; t++)
            total = v_add(total, v_mul(v_load(weights + t * width + 16 * c), sums[t]));
        v_store(soft + 16 * c, total);
    }
}

/* theta += the probabilities of all tokens. */
static void TX(infer_add_soft)(const tx_sampling *job, tx_walk *w, float *weights, float *soft) {
    for (int64_t i = 0; i < w->length;) {
        const int64_t end = i + TX_FLUSH < w->length ? i + TX_FLUSH : w->length;
        memset(soft, 0, (size_t)job->width * sizeof(float));
        for (; i + 4 <= end; i += 4) TX(infer_soft)(job, w, i, 4, weights, soft);
        for (; i < end; i++) TX(infer_soft)(job, w, i, 1, weights, soft);
        for (int64_t k = 0; k < job->width; k++) w->theta[k] += (double)soft[k];
    }
}

/* θ of a document whose samples are summed. */
static void TX(infer_leave)(const tx_sampling *job, tx_walk *w) {
    float *theta = job->theta + w->number * job->topics;
    double norm = 0;
    for (int64_t k = 0; k < job->topics; k++) {
        w->theta[k] = w->theta[k] / (double)job->samples + (double)w->alpha[k];
        norm += w->theta[k];
    }
    for (int64_t k = 0; k < job->topics; k++) theta[k] = (float)(w->theta[k] / norm);
}

/* A document comes to hand: no token is placed; counts 0, q = alpha, and a positive q in the padding, where rows are 0. */
static void TX(infer_enter)(const tx_sampling *job, tx_walk *w, int64_t number) {
    const float *alpha = job->alphas + job->groups[number] * job->topics;
    const int64_t begin = job->offsets[number];
    w->number = number, w->at = 0, w->length = job->offsets[number + 1] - begin;
    w->words = job->words + begin, w->z = job->z + begin;
    w->sweeps = job->burn_in, w->samples = job->samples;
    w->rng = tx_rng_seed(job->keys[number]);
    memset(w->counts, 0, (size_t)job->width * sizeof(int32_t));
    memset(w->theta, 0, (size_t)job->width * sizeof(double));
    memset(w->z, 0xFF, (size_t)w->length * sizeof(uint16_t));
    for (int64_t k = 0; k < job->width; k++) w->q[k] = w->alpha[k] = k < job->topics ? alpha[k] : 1;
}

/* The next document with tokens, from *next on, comes to hand; whether there is one. θ of those without is α. */
static int TX(infer_next)(const tx_sampling *job, tx_walk *w, int64_t *next) {
    while (*next < job->documents) {
        TX(infer_enter)(job, w, (*next)++);
        if (w->length > 0) return 1;
        TX(infer_leave)(job, w);
    }
    return 0;
}

/* After a sweep: a sample, if it is time for one. Whether there is more to do for the document. */
static int TX(infer_after_sweep)(const tx_sampling *job, tx_walk *w, float *weights, float *soft) {
    w->at = 0;
    if (--w->sweeps > 0) return 1;
    if (job->soft) TX(infer_add_soft)(job, w, weights, soft);
    else
        for (int64_t k = 0; k < job->topics; k++) w->theta[k] += w->counts[k];
    w->sweeps = job->lag;
    if (--w->samples > 0) return 1;
    TX(infer_leave)(job, w);
    return 0;
}

/* θ of all documents: `burn_in` sweeps, then `samples` samples `lag` sweeps apart. weights: 4 `width` numbers; soft:
 * `width`. */
static void TX(infer_sample)(const tx_sampling *given, tx_walk *walks, int64_t number, float *weights, float *soft) {
    const tx_sampling here = *given, *job = &here; /* which no store can change */
    int64_t next = 0, open = 0;
    while (open < number && TX(infer_next)(job, &walks[open], &next)) open++;
    while (open > 0)
        for (int64_t i = 0; i < open; i++) {
            tx_walk *w = &walks[i];
            if (TX(infer_turn)(job, w) && !TX(infer_after_sweep)(job, w, weights, soft) &&
                !TX(infer_next)(job, w, &next)) {
                const tx_walk done = *w;
                *w = walks[--open], walks[open] = done;
                i--;
                continue;
            }
            TX(infer_take_out)(w);
        }
}

static const tx_infer TX(infer) = {TX(infer_draw), TX(infer_sample)};
