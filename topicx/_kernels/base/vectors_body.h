/* The operations of vectors.h: a vector is one, two or four registers. */
#if TX_SET == 2
#define TX_PARTS 1
#elif TX_SET == 1
#define TX_PARTS 2
#else
#define TX_PARTS 4
#endif
typedef float TX(f_part) __attribute__((vector_size(64 / TX_PARTS)));
typedef int32_t TX(i_part) __attribute__((vector_size(64 / TX_PARTS)));
typedef uint32_t TX(u_part) __attribute__((vector_size(64 / TX_PARTS)));
typedef struct { TX(f_part) p[TX_PARTS]; } v16;
typedef struct { TX(i_part) p[TX_PARTS]; } i16;
#define f_part TX(f_part)
#define i_part TX(i_part)
#define u_part TX(u_part)
#define EACH_PART for (int i = 0; i < TX_PARTS; i++)

/* ---- in and out ---- */
/* a register at a time: a copy of the whole would go through memory */
TX_ALWAYS v16 v_load(const float *p) {
    v16 r;
    EACH_PART memcpy(&r.p[i], p + i * 16 / TX_PARTS, sizeof r.p[i]);
    return r;
}
TX_ALWAYS void v_store(float *p, v16 a) { EACH_PART memcpy(p + i * 16 / TX_PARTS, &a.p[i], sizeof a.p[i]); }
TX_ALWAYS i16 i_load(const void *p) {
    i16 r;
    EACH_PART memcpy(&r.p[i], (const int32_t *)p + i * 16 / TX_PARTS, sizeof r.p[i]);
    return r;
}
TX_ALWAYS v16 v_all(float x) { v16 r; EACH_PART r.p[i] = x - (f_part){0}; return r; }
TX_ALWAYS i16 i_all(int32_t x) { i16 r; EACH_PART r.p[i] = x - (i_part){0}; return r; }
TX_ALWAYS i16 i_lanes(void) {
#if TX_SET == 2
    return (i16){{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}};
#elif TX_SET == 1
    return (i16){{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}};
#else
    return (i16){{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}};
#endif
}

/* the upper half of each float's bits, rounded: 8 bits of precision in two bytes */
typedef uint16_t TX(h_part) __attribute__((vector_size(32 / TX_PARTS)));
#define h_part TX(h_part)
TX_ALWAYS v16 v_load_half(const uint16_t *p) {
    v16 r;
    EACH_PART {
        h_part h;
        memcpy(&h, p + i * 16 / TX_PARTS, sizeof h);
        r.p[i] = (f_part)(__builtin_convertvector(h, u_part) << 16);
    }
    return r;
}
/* numbers that are not negative; returns what was stored */
TX_ALWAYS v16 v_store_half(uint16_t *p, v16 a) {
    EACH_PART {
        const u_part bits = (u_part)a.p[i] + 0x8000;
        const h_part h = __builtin_convertvector(bits >> 16, h_part);
        memcpy(p + i * 16 / TX_PARTS, &h, sizeof h);
        a.p[i] = (f_part)(bits & 0xFFFF0000u);
    }
    return a;
}

/* ---- lane by lane ---- */
TX_ALWAYS v16 v_add(v16 a, v16 b) { EACH_PART a.p[i] += b.p[i]; return a; }
TX_ALWAYS v16 v_sub(v16 a, v16 b) { EACH_PART a.p[i] -= b.p[i]; return a; }
TX_ALWAYS v16 v_mul(v16 a, v16 b) { EACH_PART a.p[i] *= b.p[i]; return a; }
TX_ALWAYS v16 v_div(v16 a, v16 b) { EACH_PART a.p[i] /= b.p[i]; return a; }
TX_ALWAYS v16 v_negative(v16 a) { EACH_PART a.p[i] = -a.p[i]; return a; }
/* a x + b, rounded twice */
TX_ALWAYS v16 v_horner(v16 a, v16 x, float b) { EACH_PART a.p[i] = a.p[i] * x.p[i] + b; return a; }
TX_ALWAYS i16 i_add(i16 a, i16 b) { EACH_PART a.p[i] += b.p[i]; return a; }
TX_ALWAYS i16 i_sub(i16 a, i16 b) { EACH_PART a.p[i] -= b.p[i]; return a; }
TX_ALWAYS i16 i_and(i16 a, i16 b) { EACH_PART a.p[i] &= b.p[i]; return a; }
TX_ALWAYS i16 i_up(i16 a, int n) { EACH_PART a.p[i] = (i_part)((u_part)a.p[i] << n); return a; }
TX_ALWAYS i16 i_down(i16 a, int n) { EACH_PART a.p[i] = (i_part)((u_part)a.p[i] >> n); return a; }
/* the sign is kept */
TX_ALWAYS i16 i_half_up(i16 a, int n) { EACH_PART a.p[i] >>= n; return a; }
/* floats of whole numbers; the bits of a float as a whole number, and back */
TX_ALWAYS v16 v_of(i16 a) { v16 r; EACH_PART r.p[i] = __builtin_convertvector(a.p[i], f_part); return r; }
TX_ALWAYS i16 i_bits(v16 a) { i16 r; EACH_PART r.p[i] = (i_part)a.p[i]; return r; }
TX_ALWAYS v16 v_bits(i16 a) { v16 r; EACH_PART r.p[i] = (f_part)a.p[i]; return r; }

/* ---- masks ---- */
TX_ALWAYS i16 v_greater(v16 a, v16 b) { i16 r; EACH_PART r.p[i] = a.p[i] > b.p[i]; return r; }
TX_ALWAYS i16 i_same(i16 a, i16 b) { EACH_PART a.p[i] = a.p[i] == b.p[i]; return a; }
/* the lanes below n */
TX_ALWAYS i16 i_below(int64_t n) { i16 r = i_lanes(); EACH_PART r.p[i] = r.p[i] < (int32_t)n; return r; }
TX_ALWAYS v16 v_mask(i16 m, v16 a) { EACH_PART a.p[i] = (f_part)(m.p[i] & (i_part)a.p[i]); return a; }
/* a where the mask is set, else b */
TX_ALWAYS v16 v_choose(i16 m, v16 a, v16 b) {
    EACH_PART a.p[i] = (f_part)((m.p[i] & (i_part)a.p[i]) | (~m.p[i] & (i_part)b.p[i]));
    return a;
}
/* a where it is greater, else b: what the instruction does, zeros of both signs and NaN included */
TX_ALWAYS v16 v_max(v16 a, v16 b) {
#if TX_SET == 2
    return (v16){{(f_part)_mm512_max_ps((__m512)a.p[0], (__m512)b.p[0])}};
#elif TX_SET == 1
    EACH_PART a.p[i] = (f_part)_mm256_max_ps((__m256)a.p[i], (__m256)b.p[i]);
    return a;
#else
    return v_choose(v_greater(a, b), a, b);
#endif
}
TX_ALWAYS v16 v_positive(v16 a) { return v_max(a, v_all(0)); }
TX_ALWAYS v16 v_abs(v16 a) { return v_bits(i_and(i_bits(a), i_all(0x7FFFFFFF))); }
/* b in this lane (of 0 to 15; any other: nowhere), else a */
TX_ALWAYS v16 v_replace(v16 a, int64_t lane, v16 b) {
#if TX_SET == 2
    const __mmask16 m = _mm512_cmpeq_epi32_mask((__m512i)i_lanes().p[0], _mm512_set1_epi32((int32_t)lane));
    return (v16){{(f_part)_mm512_mask_mov_ps((__m512)a.p[0], m, (__m512)b.p[0])}};
#elif TX_SET == 1
    const i16 at = i_lanes();
    EACH_PART a.p[i] = (f_part)_mm256_blendv_ps((__m256)a.p[i], (__m256)b.p[i], (__m256)(at.p[i] == (int32_t)lane));
    return a;
#else
    i16 m = i_lanes();
    EACH_PART m.p[i] = m.p[i] == (int32_t)lane;
    return v_choose(m, b, a);
#endif
}
/* n - 1 in this lane, else n */
TX_ALWAYS i16 i_less_one(i16 n, int64_t lane) {
#if TX_SET == 2
    const __mmask16 m = _mm512_cmpeq_epi32_mask((__m512i)i_lanes().p[0], _mm512_set1_epi32((int32_t)lane));
    return (i16){{(i_part)_mm512_mask_sub_epi32((__m512i)n.p[0], m, (__m512i)n.p[0], _mm512_set1_epi32(1))}};
#else
    const i16 at = i_lanes();
    EACH_PART n.p[i] += at.p[i] == (int32_t)lane;
    return n;
#endif
}
/* x added in the lanes from this one on */
TX_ALWAYS v16 v_add_from(v16 a, int lane, float x) {
#if TX_SET == 2
    const __m512 v = (__m512)a.p[0];
    return (v16){{(f_part)_mm512_mask_add_ps(v, (__mmask16)(0xFFFFu << lane), v, _mm512_set1_ps(x))}};
#else
    const i16 at = i_lanes();
    EACH_PART a.p[i] += (f_part)((at.p[i] > lane - 1) & (i_part)(x - (f_part){0}));
    return a;
#endif
}
/* p[i] for each lane's i */
TX_ALWAYS v16 v_gather(const float *p, i16 at) {
#if TX_SET == 2
    return (v16){{(f_part)_mm512_i32gather_ps((__m512i)at.p[0], p, 4)}};
#elif TX_SET == 1
    v16 r;
    EACH_PART r.p[i] = (f_part)_mm256_i32gather_ps(p, (__m256i)at.p[i], 4);
    return r;
#else
    v16 r;
    EACH_PART r.p[i] = (f_part){p[at.p[i][0]], p[at.p[i][1]], p[at.p[i][2]], p[at.p[i][3]]};
    return r;
#endif
}

/* ---- across the lanes ---- */
/* the sum of the lanes up to each: steps of 1, 2, 4 and 8 lanes */
TX_ALWAYS v16 v_scan(v16 v) {
#if TX_SET == 2
    const __m512i at = (__m512i)i_lanes().p[0];
    __m512 a = (__m512)v.p[0];
    a = _mm512_add_ps(_mm512_maskz_permutexvar_ps(0xFFFE, _mm512_sub_epi32(at, _mm512_set1_epi32(1)), a), a);
    a = _mm512_add_ps(_mm512_maskz_permutexvar_ps(0xFFFC, _mm512_sub_epi32(at, _mm512_set1_epi32(2)), a), a);
    a = _mm512_add_ps(_mm512_maskz_permutexvar_ps(0xFFF0, _mm512_sub_epi32(at, _mm512_set1_epi32(4)), a), a);
    a = _mm512_add_ps(_mm512_maskz_permutexvar_ps(0xFF00, _mm512_sub_epi32(at, _mm512_set1_epi32(8)), a), a);
    return (v16){{(f_part)a}};
#elif TX_SET == 1
    const __m256 zero = _mm256_setzero_ps();
    __m256 a = (__m256)v.p[0], b = (__m256)v.p[1], s, t;
    s = _mm256_permutevar8x32_ps(a, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
    t = _mm256_permutevar8x32_ps(b, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
    b = _mm256_add_ps(_mm256_blend_ps(t, s, 1), b);
    a = _mm256_add_ps(_mm256_blend_ps(s, zero, 1), a);
    s = _mm256_permutevar8x32_ps(a, _mm256_setr_epi32(6, 7, 0, 1, 2, 3, 4, 5));
    t = _mm256_permutevar8x32_ps(b, _mm256_setr_epi32(6, 7, 0, 1, 2, 3, 4, 5));
    b = _mm256_add_ps(_mm256_blend_ps(t, s, 3), b);
    a = _mm256_add_ps(_mm256_blend_ps(s, zero, 3), a);
    s = _mm256_permute2f128_ps(a, a, 0x01);
    t = _mm256_permute2f128_ps(a, b, 0x21);
    b = _mm256_add_ps(t, b);
    a = _mm256_add_ps(_mm256_blend_ps(s, zero, 15), a);
    b = _mm256_add_ps(a, b);
    return (v16){{(f_part)a, (f_part)b}};
#else
    const f_part zero = {0};
    f_part a = v.p[0], b = v.p[1], c = v.p[2], d = v.p[3];
    d += __builtin_shufflevector(c, d, 3, 4, 5, 6), c += __builtin_shufflevector(b, c, 3, 4, 5, 6);
    b += __builtin_shufflevector(a, b, 3, 4, 5, 6), a += __builtin_shufflevector(zero, a, 3, 4, 5, 6);
    d += __builtin_shufflevector(c, d, 2, 3, 4, 5), c += __builtin_shufflevector(b, c, 2, 3, 4, 5);
    b += __builtin_shufflevector(a, b, 2, 3, 4, 5), a += __builtin_shufflevector(zero, a, 2, 3, 4, 5);
    d += c, c += b, b += a;
    d += b, c += a;
    return (v16){{a, b, c, d}};
#endif
}
TX_ALWAYS float v_last(v16 a) { return a.p[TX_PARTS - 1][16 / TX_PARTS - 1]; }
/* the sum of the lanes: 8 to 8, 4 to 4, 2 to 2, 1 to 1 */
TX_ALWAYS float v_sum(v16 a) {
    typedef float four __attribute__((vector_size(16)));
#if TX_SET == 2
    const __m256 x = _mm256_add_ps(_mm512_castps512_ps256((__m512)a.p[0]), _mm512_extractf32x8_ps((__m512)a.p[0], 1));
#elif TX_SET == 1
    const __m256 x = (__m256)(a.p[0] + a.p[1]);
#endif
#if TX_SET > 0
    const four y = (four)_mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
#else
    const four y = (a.p[0] + a.p[2]) + (a.p[1] + a.p[3]);
#endif
    return (y[0] + y[2]) + (y[1] + y[3]);
}
TX_ALWAYS float v_most(v16 a) {
    float x[16];
    v_store(x, a);
    for (int step = 8; step; step /= 2)
        for (int l = 0; l < step; l++) x[l] = x[l] > x[l + step] ? x[l] : x[l + step];
    return x[0];
}
/* how many lanes are at most x */
TX_ALWAYS int v_count_le(v16 a, float x) {
#if TX_SET == 2
    return __builtin_popcount(_mm512_cmp_ps_mask((__m512)a.p[0], _mm512_set1_ps(x), _CMP_LE_OQ));
#elif TX_SET == 1
    const __m256 y = _mm256_set1_ps(x);
    return __builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_cmp_ps((__m256)a.p[0], y, _CMP_LE_OQ)) |
                              (unsigned)_mm256_movemask_ps(_mm256_cmp_ps((__m256)a.p[1], y, _CMP_LE_OQ)) << 8);
#else
    i_part n = {0};
    EACH_PART n -= a.p[i] <= x;
    return n[0] + n[1] + n[2] + n[3];
#endif
}
/* a bit for each lane in which they are equal */
TX_ALWAYS uint32_t i_equal(i16 a, i16 b) {
#if TX_SET == 2
    return _mm512_cmpeq_epi32_mask((__m512i)a.p[0], (__m512i)b.p[0]);
#elif TX_SET == 1
    return (uint32_t)_mm256_movemask_ps((__m256)(a.p[0] == b.p[0])) |
           (uint32_t)_mm256_movemask_ps((__m256)(a.p[1] == b.p[1])) << 8;
#else
    uint32_t bits = 0;
    for (int l = 0; l < 16; l++) bits |= (uint32_t)(a.p[l / 4][l % 4] == b.p[l / 4][l % 4]) << l;
    return bits;
#endif
}

/* ---- rows that are not padded ---- */
/* n numbers, else 0. Reading beyond them is harmless (the array has 16 numbers of slack). */
TX_ALWAYS v16 v_load_part(const float *p, int64_t n) { return v_mask(i_below(n), v_load(p)); }
TX_ALWAYS void v_store_part(float *p, v16 a, int64_t n) {
#if TX_SET == 2
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)a.p[0]);
#else
    float x[16];
    v_store(x, a);
    for (int64_t l = 0; l < n; l++) p[l] = x[l];
#endif
}

/* ---- functions ---- */
/* e^x for x <= 88, 2 units in the last place; below -87 it is e^-87 */
TX_ALWAYS v16 v_exp(v16 x) {
    const v16 magic = v_all(12582912.0f); /* 1.5 * 2^23: adding it rounds to a whole number */
    x = v_max(x, v_all(-87.0f));
    const v16 z = v_add(v_mul(x, v_all(1.44269504f)), magic), n = v_sub(z, magic);
    const v16 r = v_sub(v_sub(x, v_mul(n, v_all(0.693359375f))), v_mul(n, v_all(-2.12194440e-4f)));
    v16 y = v_horner(v_all(1.0f / 5040), r, 1.0f / 720);
    y = v_horner(y, r, 1.0f / 120);
    y = v_horner(y, r, 1.0f / 24);
    y = v_horner(y, r, 1.0f / 6);
    y = v_horner(y, r, 0.5f);
    y = v_add(v_add(v_mul(y, v_mul(r, r)), r), v_all(1.0f));
    return v_mul(y, v_bits(i_up(i_add(i_sub(i_bits(z), i_bits(magic)), i_all(127)), 23)));
}
/* log x for normal x > 0: x = m 2^e with m in [1/sqrt 2, sqrt 2), log m = 2 artanh((m - 1) / (m + 1)) */
TX_ALWAYS v16 v_log(v16 x) {
    const i16 e = i_half_up(i_sub(i_bits(x), i_all(0x3F3504F3)), 23);
    const v16 m = v_bits(i_sub(i_bits(x), i_up(e, 23))), one = v_all(1.0f);
    const v16 s = v_div(v_sub(m, one), v_add(m, one)), q = v_mul(s, s), n = v_of(e);
    v16 y = v_horner(v_all(1.0f / 11), q, 1.0f / 9);
    y = v_horner(y, q, 1.0f / 7);
    y = v_horner(y, q, 1.0f / 5);
    y = v_horner(y, q, 1.0f / 3);
    y = v_add(v_mul(v_mul(y, q), s), s);
    return v_add(v_mul(n, v_all(0.693359375f)), v_add(v_add(y, y), v_mul(n, v_all(-2.12194440e-4f))));
}

/* ---- scan, find, repair ---- */
/* Where r falls among running sums of 16 lanes: `sums` has 16 numbers a chunk, each lane's sum up to the chunk, and
 * `scan` is v_scan of the last chunk. Returns the entry, 16 c + lane; -1: no lane has any weight. */
TX_ALWAYS int64_t v_find(v16 scan, const float *sums, int64_t chunks, float r) {
    float ends[17];
    const float *last = sums + 16 * (chunks - 1);
    ends[0] = 0;
    v_store(ends + 1, scan);
    int lane = v_count_le(scan, r);
    if (lane > 15) lane = 15;
    r -= ends[lane];
    int64_t c = 0;
    /* The sums across lanes need not be monotone in their last bit: an empty lane can be found, with r < 0. */
    if (last[lane] > 0 && r < last[lane]) {
        for (int64_t i = 0; i < chunks - 1; i++) c += sums[16 * i + lane] <= r;
        return 16 * c + lane;
    }
    return tx_repair(sums, chunks, lane);
}
/* The same for u of [0, 1), given the last chunk's sums: the entry on which u times their total falls. */
TX_ALWAYS int64_t v_draw(v16 sum, const float *sums, int64_t chunks, double u) {
    const v16 scan = v_scan(sum);
    const float total = v_last(scan), below = total * 0.99999994f, r = (float)(u * (double)total);
    return v_find(scan, sums, chunks, r < below ? r : below);
}
#undef TX_PARTS
#undef f_part
#undef h_part
#undef i_part
#undef u_part
#undef EACH_PART
