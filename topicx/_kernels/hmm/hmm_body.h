/* The sweep over two states, 64 sites at once: included once for each instruction set (see hmm.h). */

#if TX_SET == 2
TX_INLINE uint64_t HMM_(states)(const uint8_t *z) { return _mm512_test_epi8_mask(_mm512_loadu_si512(z), _mm512_set1_epi8(1)); }
TX_INLINE void HMM_(store)(uint64_t bits, uint8_t *z) { _mm512_storeu_si512(z, _mm512_maskz_set1_epi8(bits, 1)); }

/* Of each site and both previous states: whether it is certainly 1 (zero, one), and whether it is not certainly 0. */
TX_INLINE void HMM_(decide)(const hmm_two *t, const uint32_t *words, const uint8_t *z, const uint32_t *u, uint64_t *zero,
                            uint64_t *one, uint64_t *some0, uint64_t *some1) {
    const uint32_t *table0 = t->table, *table1 = t->table + 2 * t->V;
    const int small = t->V <= 16; /* a table fits in two registers: it has room for 32 entries */
    __m512i a0, a1, b0, b1;
    if (small) {
        a0 = _mm512_loadu_si512(table0), a1 = _mm512_loadu_si512(table0 + 16);
        b0 = _mm512_loadu_si512(table1), b1 = _mm512_loadu_si512(table1 + 16);
    }
    const __m512i half = _mm512_set1_epi32(65535);
    *zero = *one = *some0 = *some1 = 0;
    for (int i = 0; i < HMM_BLOCK; i += 16) {
        const __m512i w = _mm512_loadu_si512(words + i);
        const __m512i next = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(z + i + 1)));
        const __m512i at = _mm512_add_epi32(_mm512_add_epi32(w, w), next);
        const __m512i v = _mm512_srli_epi32(_mm512_loadu_si512(u + i), 32 - HMM_BITS);
        __m512i a, b;
        if (small) a = _mm512_permutex2var_epi32(a0, at, a1), b = _mm512_permutex2var_epi32(b0, at, b1);
        else a = _mm512_i32gather_epi32(at, (const int *)table0, 4), b = _mm512_i32gather_epi32(at, (const int *)table1, 4);
        *zero |= (uint64_t)_mm512_cmpge_epu32_mask(v, _mm512_srli_epi32(a, 16)) << i;
        *some0 |= (uint64_t)_mm512_cmpge_epu32_mask(v, _mm512_and_si512(a, half)) << i;
        *one |= (uint64_t)_mm512_cmpge_epu32_mask(v, _mm512_srli_epi32(b, 16)) << i;
        *some1 |= (uint64_t)_mm512_cmpge_epu32_mask(v, _mm512_and_si512(b, half)) << i;
    }
}
#else
TX_INLINE uint64_t HMM_(states)(const uint8_t *z) { return hmm_pack(z, 0); }
TX_INLINE void HMM_(store)(uint64_t bits, uint8_t *z) { hmm_unpack(bits, z); }

TX_INLINE void HMM_(decide)(const hmm_two *t, const uint32_t *words, const uint8_t *z, const uint32_t *u, uint64_t *zero,
                            uint64_t *one, uint64_t *some0, uint64_t *some1) {
    uint8_t codes[HMM_BLOCK];
    const uint32_t *table0 = t->table, *table1 = t->table + 2 * t->V;
    for (int i = 0; i < HMM_BLOCK; i++) {
        const uint32_t at = 2 * words[i] + z[i + 1], v = u[i] >> (32 - HMM_BITS), a = table0[at], b = table1[at];
        codes[i] = (uint8_t)((v >= a >> 16) | (v >= (a & 65535)) << 1 | (v >= b >> 16) << 2 | (v >= (b & 65535)) << 3);
    }
    *zero = hmm_pack(codes, 0), *some0 = hmm_pack(codes, 1), *one = hmm_pack(codes, 2), *some1 = hmm_pack(codes, 3);
}
#endif

/* The states of 64 sites whose answers are `zero` and `one` for a previous state of 0 and 1. */
TX_INLINE uint64_t HMM_(compose)(uint64_t zero, uint64_t one, int before) {
    for (int k = 1; k < 64; k *= 2) {
        const uint64_t z = zero << k, o = one << k | ((UINT64_C(1) << k) - 1), differ = zero ^ one;
        one = zero ^ (o & differ);
        zero = zero ^ (z & differ);
    }
    return before ? one : zero;
}

/* The sites `flips` have changed to their states in `fresh`: counts of symbols follow. */
TX_INLINE void HMM_(flip)(hmm_two *t, const uint32_t *words, uint64_t flips, uint64_t fresh) {
    hmm_model *m = &t->m;
    while (flips) {
        const int i = __builtin_ctzll(flips);
        flips &= flips - 1;
        const int64_t w = words[i], by = (int64_t)(fresh >> i & 1) * 2 - 1;
        m->emit[2 * w] -= by;
        const int64_t now = m->emit[2 * w + 1] += by;
        if ((uint64_t)(now - t->low[w]) > (uint64_t)t->limit[w]) t->stale_words[t->stale++ & 63] = w;
    }
}

#if TX_SET == 2
/* Of few symbols, one after another: its sites are a mask. */
TX_INLINE void HMM_(emissions)(hmm_two *t, const uint32_t *words, uint64_t flips, uint64_t fresh) {
    if (t->V > 16 || __builtin_popcountll(flips) < 8) {
        HMM_(flip)(t, words, flips, fresh);
        return;
    }
    __m512i bytes = _mm512_castsi128_si512(_mm512_cvtepi32_epi8(_mm512_loadu_si512(words)));
    bytes = _mm512_inserti64x2(bytes, _mm512_cvtepi32_epi8(_mm512_loadu_si512(words + 16)), 1);
    bytes = _mm512_inserti64x2(bytes, _mm512_cvtepi32_epi8(_mm512_loadu_si512(words + 32)), 2);
    bytes = _mm512_inserti64x2(bytes, _mm512_cvtepi32_epi8(_mm512_loadu_si512(words + 48)), 3);
    for (int64_t w = 0; w < t->V; w++) {
        const uint64_t sites = _mm512_mask_cmpeq_epi8_mask(flips, bytes, _mm512_set1_epi8((char)w));
        const int64_t by = 2 * __builtin_popcountll(sites & fresh) - __builtin_popcountll(sites);
        t->m.emit[2 * w] -= by;
        const int64_t now = t->m.emit[2 * w + 1] += by;
        if ((uint64_t)(now - t->low[w]) > (uint64_t)t->limit[w]) t->stale_words[t->stale++ & 63] = w;
    }
}
#else
TX_INLINE void HMM_(emissions)(hmm_two *t, const uint32_t *words, uint64_t flips, uint64_t fresh) {
    HMM_(flip)(t, words, flips, fresh);
}
#endif

/* Sites begin..end-1 of a block get their new states in the counts. `fresh`, `old`: states; `before`: the one before the
 * block; `follow`: the old state after the block; `first`, `last`: sites that begin and end a sequence. */
TX_INLINE void HMM_(commit)(hmm_two *t, const uint32_t *words, uint64_t fresh, uint64_t old, int before, int follow,
                          uint64_t first, uint64_t last, int begin, int end) {
    const uint64_t mask = hmm_upto(end) & ~hmm_upto(begin);
    uint64_t flips = (fresh ^ old) & mask;
    if (!flips) return;
    hmm_model *m = &t->m;
    const int64_t ups = __builtin_popcountll(flips & fresh), number = __builtin_popcountll(flips);
    m->total[1] += 2 * ups - number;
    m->total[0] -= 2 * ups - number;
    const uint64_t starts = flips & first;
    if (starts) {
        const int64_t to_one = __builtin_popcountll(starts & fresh), all = __builtin_popcountll(starts);
        m->start[1] += 2 * to_one - all;
        m->start[0] -= 2 * to_one - all;
    }
    /* pairs (site before, site), both states as they were and as they are; the sites before `begin` are new already */
    const uint64_t done = hmm_upto(begin), was = (old & ~done) | (fresh & done);
    const uint64_t prev_new = fresh << 1 | (uint64_t)before, prev_was = was << 1 | (uint64_t)before, pairs = mask & ~first;
    int64_t n11 = __builtin_popcountll(prev_new & fresh & pairs) - __builtin_popcountll(prev_was & was & pairs);
    int64_t n10 = __builtin_popcountll(prev_new & ~fresh & pairs) - __builtin_popcountll(prev_was & ~was & pairs);
    int64_t n01 = __builtin_popcountll(~prev_new & fresh & pairs) - __builtin_popcountll(~prev_was & was & pairs);
    int64_t n00 = -n11 - n10 - n01;
    const int last_flipped = flips >> (end - 1) & 1; /* the pair with the site after them */
    if (last_flipped && !(last >> (end - 1) & 1)) {
        const int x = end < HMM_BLOCK ? (int)(old >> end & 1) : follow, up = fresh >> (end - 1) & 1;
        const int64_t to = up ? 1 : -1;
        if (x) n11 += to, n01 -= to;
        else n10 += to, n00 -= to;
    }
    m->trans[0] += n00, m->trans[1] += n01, m->trans[2] += n10, m->trans[3] += n11;
    m->out[0] += n00 + n01;
    m->out[1] += n10 + n11;
    HMM_(emissions)(t, words, flips, fresh);
}

TX_INLINE int64_t HMM_(block)(hmm_two *t, int collapsed, const uint32_t *words, uint8_t *z, int n, const uint32_t *u, int before,
                            uint64_t first, uint64_t last) {
    const uint64_t old = HMM_(states)(z), all = hmm_upto(n), edge = first | last;
    const int follow = z[HMM_BLOCK];
    uint64_t zero, one, open0, open1, fresh;
    HMM_(decide)(t, words, z, u, &zero, &one, &open0, &open1);
    open0 = ((open0 & ~zero) | edge) & all;
    open1 = ((open1 & ~one) | edge) & all;
    int begin = 0;
    for (;;) {
        fresh = HMM_(compose)(zero, one, before);
        const uint64_t prev = fresh << 1 | (uint64_t)before, open = (open0 & ~prev) | (open1 & prev);
        if (!open) break;
        const int j = __builtin_ctzll(open);
        const uint64_t bit = UINT64_C(1) << j;
        const int p = first & bit ? HMM_NONE : (int)(prev >> j & 1);
        const int x = last & bit ? HMM_NONE : j + 1 < HMM_BLOCK ? (int)(old >> (j + 1) & 1) : follow, was = old >> j & 1;
        double sums[2];
        int s;
        if (collapsed) {
            if (j > begin) HMM_(commit)(t, words, fresh, old, before, follow, first, last, begin, j);
            begin = j;
            const double w0 = hmm_weight_without(&t->m, words[j], p, x, was, 0);
            const double sum = w0 + hmm_weight_without(&t->m, words[j], p, x, was, 1);
            s = !((double)u[j] * 0x1.0p-32 * sum < w0);
        } else
            s = hmm_draw(&t->m, 0, words[j], p, x, was, u[j], sums);
        zero = s ? zero | bit : zero & ~bit;
        one = s ? one | bit : one & ~bit;
        open0 &= ~(hmm_upto(j) | bit);
        open1 &= ~(hmm_upto(j) | bit);
    }
    fresh &= all;
    HMM_(commit)(t, words, fresh, old, before, follow, first, last, begin, n);
    if (collapsed) hmm_catch_up(t);
    HMM_(store)(fresh, z);
    return __builtin_popcountll((fresh ^ old) & all);
}

/* A sweep over one path of two states. `firsts`, `lasts`: a bit a site, which sites begin and end a sequence. */
TX_INLINE int64_t HMM_(sweep)(hmm_two *t, int collapsed, const uint32_t *words, int64_t N, uint8_t *z,
                                const uint64_t *firsts, const uint64_t *lasts, uint64_t key) {
    hmm_rng rng;
    uint32_t u[HMM_BLOCK], w[HMM_BLOCK];
    uint8_t states[HMM_BLOCK + 1];
    int64_t changed = 0, i = 0;
    int before = 0;
    hmm_seed(&rng, key);
    t->stale = 0;
    if (collapsed) hmm_refresh_all(t);
    else hmm_fill_partial(t);
    for (; i + HMM_BLOCK < N; i += HMM_BLOCK) {
        hmm_uniforms(&rng, u);
        changed += HMM_(block)(t, collapsed, words + i, z + i, HMM_BLOCK, u, before, firsts[i / 64], lasts[i / 64]);
        before = z[i + HMM_BLOCK - 1];
    }
    if (i < N) {
        memset(w, 0, sizeof w);
        memset(states, 0, sizeof states);
        memcpy(w, words + i, (size_t)(N - i) * sizeof *w);
        memcpy(states, z + i, (size_t)(N - i));
        hmm_uniforms(&rng, u);
        changed += HMM_(block)(t, collapsed, w, states, (int)(N - i), u, before, firsts[i / 64], lasts[i / 64]);
        memcpy(z + i, states, (size_t)(N - i));
    }
    return changed;
}

static int64_t HMM_(collapsed)(hmm_two *t, const uint32_t *words, int64_t N, uint8_t *z, const uint64_t *firsts,
                               const uint64_t *lasts, uint64_t key) {
    return HMM_(sweep)(t, 1, words, N, z, firsts, lasts, key);
}

static int64_t HMM_(partial)(hmm_two *t, const uint32_t *words, int64_t N, uint8_t *z, const uint64_t *firsts,
                             const uint64_t *lasts, uint64_t key) {
    return HMM_(sweep)(t, 0, words, N, z, firsts, lasts, key);
}

static const hmm_sweeps TX(hmm) = {HMM_(collapsed), HMM_(partial)};
