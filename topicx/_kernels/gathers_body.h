/* The functions of gathers.h, once for each spelling of TX_GATHER. */

/* Running sums of n_dk c_k over a document's topics, topic `old` (-1: none) weighing (n_dk - 1) c_old; their scan goes to
 * `ends`; returns the whole sum. topics, counts: the list, `chunks` times 16 entries, unused ones count nothing. */
static float TX_NAME(own_sums)(const uint32_t *topics, const float *counts, int64_t chunks, const float *c, int32_t old,
                               float c_old, float *sums, float *ends) {
    tx_f16 sum = {0};
    for (int64_t i = 0; i < 16 * chunks; i += 16) {
        const tx_i16 k = tx_load_int(topics + i);
        const tx_f16 n = tx_load(counts + i);
        const tx_f16 weight = tx_where(k == old, n * TX_GATHER(c, k), (n - 1) * c_old);
        sum += tx_where(n > 0, (tx_f16){0}, weight); /* an unused entry looks like topic 0 */
        tx_store(sums + i, sum);
    }
    const tx_f16 scan = tx_scan(sum);
    tx_store(ends, scan);
    return scan[15];
}

/* The same of n_dk (n_kw + beta) / (n_k + B), n_kw by topic, all counts without the token. */
static float TX_NAME(document_sums)(const uint32_t *topics, const int32_t *counts, int64_t chunks, const uint32_t *words,
                                    const float *inverse, float beta, float *sums, float *ends) {
    tx_f16 sum = {0};
    for (int64_t i = 0; i < 16 * chunks; i += 16) {
        const tx_i16 k = tx_load_int(topics + i);
        const tx_f16 n = tx_float((tx_i16)TX_GATHER((const float *)words, k));
        sum += tx_float(tx_load_int(counts + i)) * ((n + beta) * TX_GATHER(inverse, k));
        tx_store(sums + i, sum);
    }
    const tx_f16 scan = tx_scan(sum);
    tx_store(ends, scan);
    return scan[15];
}

/* The entry j of a sparse row of phi (topics and values, padded with zero values) from q_k phi_k; -1: no weight. */
static int64_t TX_NAME(draw_sparse)(const float *q, const uint32_t *topics, const float *phi, int64_t chunks, double u,
                                    float *sums) {
    tx_f16 sum = {0};
    for (int64_t i = 0; i < 16 * chunks; i += 16) {
        sum += TX_GATHER(q, tx_load_int(topics + i)) * tx_load(phi + i);
        tx_store(sums + i, sum);
    }
    const tx_f16 scan = tx_scan(sum);
    return tx_find(scan, sums, chunks, (float)(u * (double)scan[15]));
}

static const tx_gathers TX_NAME(gathers) = {TX_NAME(own_sums), TX_NAME(document_sums), TX_NAME(draw_sparse)};
#undef TX_NAME
#undef TX_GATHER
