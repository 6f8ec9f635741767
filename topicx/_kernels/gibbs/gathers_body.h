/* The functions of gathers.h. */

/* Running sums of n_dk c_k over a document's topics, topic `old` (-1: none) weighing (n_dk - 1) c_old; their scan goes to
 * `ends`; returns the whole sum. topics, counts: the list, `chunks` times 16 entries, unused ones count nothing. */
static float TX(own_sums)(const uint32_t *topics, const float *counts, int64_t chunks, const float *c, int32_t old,
                          float c_old, float *sums, float *ends) {
    const v16 one = v_all(1), less = v_all(c_old);
    v16 sum = v_all(0);
    for (int64_t i = 0; i < 16 * chunks; i += 16) {
        const i16 k = i_load(topics + i);
        const v16 n = v_load(counts + i);
        const v16 weight = v_choose(i_same(k, i_all(old)), v_mul(v_sub(n, one), less), v_mul(n, v_gather(c, k)));
        sum = v_add(sum, v_mask(v_greater(n, v_all(0)), weight)); /* an unused entry looks like topic 0 */
        v_store(sums + i, sum);
    }
    const v16 scan = v_scan(sum);
    v_store(ends, scan);
    return v_last(scan);
}

/* The same of n_dk (n_kw + beta) / (n_k + B), n_kw by topic, all counts without the token. */
static float TX(document_sums)(const uint32_t *topics, const int32_t *counts, int64_t chunks, const uint32_t *words,
                               const float *inverse, float beta, float *sums, float *ends) {
    const v16 smooth = v_all(beta);
    v16 sum = v_all(0);
    for (int64_t i = 0; i < 16 * chunks; i += 16) {
        const i16 k = i_load(topics + i);
        const v16 n = v_of(i_bits(v_gather((const float *)words, k)));
        sum = v_add(sum, v_mul(v_of(i_load(counts + i)), v_mul(v_add(n, smooth), v_gather(inverse, k))));
        v_store(sums + i, sum);
    }
    const v16 scan = v_scan(sum);
    v_store(ends, scan);
    return v_last(scan);
}

/* The entry on which r falls, of a list whose sums these are. */
static int64_t TX(list_find)(const float *sums, const float *ends, int64_t chunks, float r) {
    return v_find(v_load(ends), sums, chunks, r);
}

/* Where a topic stands in a list of n, or -1. */
static int64_t TX(list_position)(const uint32_t *topics, int64_t n, uint32_t topic) {
    const i16 wanted = i_all((int32_t)topic);
    for (int64_t i = 0; i < n; i += 16) {
        const uint32_t hit = i_equal(i_load(topics + i), wanted);
        if (hit) return i + __builtin_ctz(hit) < n ? i + __builtin_ctz(hit) : -1;
    }
    return -1;
}

/* The count of one topic in a sparse row of packed entries (count << bits | topic). What is read beyond the length, up to
 * the next multiple of 16 entries, counts nothing, so it does not matter that it looks like topic 0. */
static uint32_t TX(row_count_of)(const uint32_t *row, int64_t length, int bits, uint32_t topic) {
    const i16 topics = i_all((1 << bits) - 1), wanted = i_all((int32_t)topic);
    for (int64_t i = 0; i < length; i += 16) {
        const uint32_t hit = i_equal(i_and(i_load(row + i), topics), wanted);
        for (uint32_t rest = hit; rest; rest &= rest - 1) {
            const uint32_t count = row[i + __builtin_ctz(rest)] >> bits;
            if (count) return count;
        }
    }
    return 0;
}

/* The entry j of a sparse row of phi (topics and values, padded with zero values) from q_k phi_k; -1: no weight. */
static int64_t TX(draw_sparse)(const float *q, const uint32_t *topics, const float *phi, int64_t chunks, double u,
                               float *sums) {
    v16 sum = v_all(0);
    for (int64_t i = 0; i < 16 * chunks; i += 16) {
        sum = v_add(sum, v_mul(v_gather(q, i_load(topics + i)), v_load(phi + i)));
        v_store(sums + i, sum);
    }
    return v_draw(sum, sums, chunks, u);
}

/* A topic k from q_k phi_k, topic `old` (-1: none) weighing q_old. sums: room for 16 numbers a chunk. -1: no weight. */
static int64_t TX(draw_dense)(const float *q, const float *phi, int64_t chunks, int64_t old, float q_old, double u,
                              float *sums) {
    const v16 less = v_all(q_old);
    v16 sum = v_all(0);
    for (int64_t i = 0; i < 16 * chunks; i += 16) {
        sum = v_add(sum, v_mul(v_replace(v_load(q + i), old - i, less), v_load(phi + i)));
        v_store(sums + i, sum);
    }
    return v_draw(sum, sums, chunks, u);
}

static const tx_gathers TX(gathers) = {TX(own_sums),     TX(document_sums), TX(list_find), TX(list_position),
                                       TX(row_count_of), TX(draw_sparse),   TX(draw_dense)};
