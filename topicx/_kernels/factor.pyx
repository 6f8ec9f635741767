"""Topics of documents with targets (MedLDA and its relatives): a factor f_d(k) stands beside the counts.

    p(z = k) ∝ (n_dk + alpha_gk) (n_kw + beta_w) / (n_k + B) f_d(k)                 the token left out of all counts

Zheng, Yu & Xing 2015, "Linear Time Samplers for Supervised Topic Models using Compositional Proposals", eq. 15-21, for
any loss whose augmentation makes log f a parabola in each task's score (eq. 31), and for many tasks at once (§4.1); see
factor.h. `pull` (b - curve s of each document and task) is kept while tokens move, as the paper keeps m_d.

`sweep_cell` walks by three Metropolis-Hastings proposals, in O(1) a step and task; what departs from the paper:
document and word proposals ask another token, as LightLDA does here (light.pyx), so that they are never stale. The
paper's exp-proposal is a table made from the document as it was, and so it knows where the token under it was, and the
correction is not quite one. Here a document's tokens are cut into runs, at least two, and a run's table is made from the
tokens outside of it: while the run is sampled it depends on nothing that moves.

`dense_cell` weighs all topics (Zhu, Chen, Perkins & Zhang 2014), in O(K) a token: what a topic would gain is kept for
all topics, and what its moving away takes back is kept for the topics met in the document.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from topicx._kernels.rng cimport tx_rng, tx_rng_double, tx_rng_next, tx_rng_seed
from topicx._kernels.rows cimport DENSE, row_add, row_remove
from topicx._kernels.walker cimport walker_build, walker_draw

cdef extern from "factor.h" nogil:
    uint32_t tx_sparse_count(const uint32_t *row, int64_t length, int bits, uint32_t topic) noexcept
    int64_t tx_draw_dense(const float *q, const float *phi, int64_t chunks, int64_t old, float q_old, double u,
                          float *sums) noexcept
    float tx_expf(float x) noexcept
    float tx_gain(const float *source, const float *to, const float *lin, const float *half, int64_t width) noexcept
    void tx_moved(const float *source, const float *to, float *lin, const float *half, int64_t width) noexcept
    void tx_frozen(const float *eta, const int32_t *counts, int64_t tokens, int64_t K, const float *constant,
                   const float *half, double length, int64_t width, float *frozen) noexcept
    void tx_exp_weights(const float *eta, const float *lin, const float *half, int64_t K, int64_t width, float *logs,
                        float *weights) noexcept
    void tx_overlap(const float *eta, int64_t k, const float *half, int64_t K, int64_t width, float *out) noexcept
    void tx_factor_weights(const float *prior, const int32_t *counts, const float *inverse, const float *reach,
                           const float *overlap, int64_t K, float *q) noexcept

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define tx_prefetch(p) __builtin_prefetch((p), 0, 3)
    #else
    #define tx_prefetch(p) ((void)(p))
    #endif
    """
    void tx_prefetch(const void *p) noexcept nogil

cdef enum:
    RUN = 32  # tokens whose proposals are drawn together
    DOCUMENT = 0
    WORD = 1
    EXP = 2
    MIXTURE = 0  # of all three at equal odds; the others: `modes`
    CYCLE = 1

modes = {"mixture": MIXTURE, "cycle": CYCLE, "doc": 2 + DOCUMENT, "word": 2 + WORD, "exp": 2 + EXP}
"""The numbers of the ways to combine proposals."""


cdef struct Document:
    # The document under work. The arrays belong to the cell.
    int64_t first, end, length, width, K
    bint supervised
    float *lin
    float *half
    float *constant
    int32_t *counts


cdef struct Table:
    # The exp-proposal of a run of tokens.
    int64_t begin, end
    int32_t *outside
    float *frozen
    float *logs
    float *weights
    float *keep
    uint32_t *other
    double *scaled
    uint32_t *stack


cdef inline void enter(Document *doc, const uint16_t *z, const float *pull, const float *curve,
                       const float *eta) noexcept nogil:
    """Count the document and scale its pull and curve by its length."""
    cdef int64_t t, c, k
    cdef float scale = <float> (1.0 / doc.length)
    for t in range(doc.first, doc.end):
        doc.counts[z[t]] += 1
    if not doc.supervised:
        return
    for c in range(doc.width):
        doc.lin[c] = pull[c] * scale
        doc.half[c] = curve[c] * (<float> 0.5 * scale * scale)
        doc.constant[c] = 0
    for k in range(doc.K):  # b / N: what lin would be if no token had a weight
        if doc.counts[k]:
            for c in range(doc.width):
                doc.constant[c] += <float> doc.counts[k] * eta[k * doc.width + c]
    for c in range(doc.width):
        doc.constant[c] = doc.lin[c] + 2 * doc.half[c] * doc.constant[c]


cdef inline void leave(Document *doc, const uint16_t *z, float *pull) noexcept nogil:
    cdef int64_t t, c
    for t in range(doc.first, doc.end):
        doc.counts[z[t]] = 0
    if doc.supervised:
        for c in range(doc.width):
            pull[c] = doc.lin[c] * <float> doc.length


cdef void make_table(Table *table, const Document *doc, const uint16_t *z, const float *eta, int64_t begin,
                     int64_t last) noexcept nogil:
    """The exp-proposal of the tokens from `begin`: as many as there are topics, but never most of a document."""
    cdef int64_t t, k, size = doc.K if doc.K > RUN else RUN
    if size > last - begin:
        size = last - begin
    if 2 * size > doc.length:
        size = (doc.length + 1) // 2
    table.begin = begin
    table.end = begin + size
    for k in range(doc.K):
        table.outside[k] = doc.counts[k]
    for t in range(table.begin, table.end):
        table.outside[z[t]] -= 1
    tx_frozen(eta, table.outside, doc.length - size, doc.K, doc.constant, doc.half, <double> doc.length, doc.width,
              table.frozen)
    tx_exp_weights(eta, table.frozen, doc.half, doc.K, doc.width, table.logs, table.weights)
    walker_build(table.weights, doc.K, table.keep, table.other, table.scaled, table.stack)


cdef inline float word_weight(const uint32_t *row, int32_t length, int bits, int64_t topic) noexcept nogil:
    """n_kw."""
    if length == DENSE:
        return <float> <int32_t> row[topic]
    return <float> <int32_t> tx_sparse_count(row, length, bits, <uint32_t> topic)


cdef struct Proposals:
    # What the tokens of a run will be asked, drawn ahead: which proposal each step makes, the same for all tokens of the
    # run (so that the processor can guess it; a token's steps are independent draws all the same), and for each token
    # and step a place in word_places or z, or -1 - topic, and a number for the acceptance.
    uint8_t *kind
    int64_t *place
    float *chance


cdef inline uint8_t kind_of(int mode, bint supervised, int64_t step, uint64_t bits) noexcept nogil:
    """Which proposal a step makes; a document without target has no exp-proposal, and makes another in its stead."""
    cdef int64_t kind
    if mode == MIXTURE:
        kind = <int64_t> (((bits & 0xFFFFFF) * (3 if supervised else 2)) >> 24)
    elif mode == CYCLE:
        kind = step % (3 if supervised else 2)
    else:
        kind = mode - 2
        if kind == EXP and not supervised:
            kind = step % 2
    return <uint8_t> kind


cdef void draw_ahead(Proposals *drawn, const Document *doc, const Table *table, const uint32_t *words,
                     const int64_t *word_start, const uint32_t *word_places, const int64_t *row_start,
                     const uint32_t *row_cells, const float *beta, const float *keep, const uint32_t *other,
                     float alpha_sum, int64_t begin, int64_t end, int steps, int mode,
                     tx_rng *rng) noexcept nogil:
    """The proposals of tokens begin to end, but for what other tokens have: that is looked up when it is needed."""
    cdef int64_t t, m, k, slot = 0, own = doc.length - 1
    cdef uint32_t w, others
    cdef double x, word_mass, document_mass = own + <double> alpha_sum
    for m in range(steps):
        drawn.kind[m] = kind_of(mode, doc.supervised, m, tx_rng_next(rng))
    for t in range(begin, end):
        w = words[t]
        tx_prefetch(&row_cells[row_start[w]])
        others = <uint32_t> (word_start[w + 1] - word_start[w]) - 1
        word_mass = others + <double> doc.K * beta[w]
        for m in range(steps):
            drawn.chance[slot] = <float> <int32_t> (tx_rng_next(rng) >> 40) * <float> 5.9604645e-08  # 2^-24
            x = tx_rng_double(rng)
            if drawn.kind[m] == WORD:
                x *= word_mass
                if x < others:
                    k = word_start[w] + <int64_t> x
                    tx_prefetch(&word_places[k])
                    drawn.place[slot] = k
                else:
                    k = <int64_t> ((x - others) / beta[w])
                    drawn.place[slot] = -1 - (k if k < doc.K else doc.K - 1)
            elif drawn.kind[m] == DOCUMENT:
                x *= document_mass
                if x < own:
                    k = doc.first + <int64_t> x
                    drawn.place[slot] = k + (k >= t)
                else:
                    drawn.place[slot] = -1 - walker_draw(keep, other, doc.K, tx_rng_double(rng))
            else:
                drawn.place[slot] = -1 - walker_draw(table.keep, table.other, doc.K, x)
            slot += 1


def sweep_cell(const uint32_t[::1] words, uint16_t[::1] z, const int64_t[::1] offsets, const int64_t[::1] segments,
               int n_blocks, const uint32_t[::1] docs, int block, const int64_t[::1] row_start,
               uint32_t[::1] row_cells, int32_t[::1] row_len, int topic_bits, int64_t[::1] totals,
               const double[:, ::1] alpha, const uint32_t[::1] groups, const float[::1] beta, double beta_sum,
               uint64_t key, const float[:, ::1] eta, float[:, ::1] pull, const float[:, ::1] curve,
               const uint8_t[::1] supervised, const int64_t[::1] word_start, const uint32_t[::1] word_places,
               int steps, int mode, int64_t[::1] tally) -> int:
    """As `topicx._kernels.light.sweep_cell`, with f_d: rows of eta (a topic each), pull, curve (a document each) and
    whether a document has a target. mode: one of `modes`. tally gains, for document, word and exp-proposals: how many
    name another topic, how many of these were accepted.
    """
    cdef int64_t K = totals.shape[0], width = eta.shape[1], n_docs = docs.shape[0], changed = 0
    cdef int64_t i, d, t, m, k, first, last, begin, end, group, current = -1, old, now, new, slot
    cdef uint32_t w
    cdef uint32_t *row
    cdef bint grouped = groups.shape[0] > 0
    cdef float inverse_less, q_now, q_new, alpha_sum = 0, gain_now, gain_new, exponent
    cdef float by_topic, by_doc, by_word, to_topic, to_doc, to_word
    cdef uint8_t kind
    cdef tx_rng rng = tx_rng_seed(key)
    cdef Document doc
    cdef Table table
    cdef Proposals drawn
    cdef const float *beta_p = &beta[0]
    cdef int64_t size = (RUN * steps) * (8 + 4) + steps + K * 4 * 10 + K * 8 + width * 4 * 4 + 1024
    cdef char *memory = <char *> malloc(size)
    if memory == NULL:
        raise MemoryError
    drawn.place = <int64_t *> memory
    table.scaled = <double *> (drawn.place + RUN * steps)
    doc.lin = <float *> (table.scaled + K)
    doc.half, doc.constant, table.frozen = doc.lin + width, doc.lin + 2 * width, doc.lin + 3 * width
    cdef float *inverse = doc.lin + 4 * width
    cdef float *prior = inverse + K
    cdef float *keep = inverse + 2 * K
    table.logs, table.weights, table.keep = inverse + 3 * K, inverse + 4 * K, inverse + 5 * K
    table.other = <uint32_t *> (inverse + 6 * K)
    table.stack = table.other + K
    table.outside = <int32_t *> (table.other + 2 * K)
    doc.counts = table.outside + K
    cdef uint32_t *other = <uint32_t *> (doc.counts + K)
    drawn.chance = <float *> (other + K)
    drawn.kind = <uint8_t *> (drawn.chance + RUN * steps)
    doc.width, doc.K = width, K
    cdef int64_t named[3]
    cdef int64_t accepted[3]
    with nogil:
        memset(named, 0, sizeof(named))
        memset(accepted, 0, sizeof(accepted))
        memset(doc.counts, 0, K * sizeof(int32_t))
        for k in range(K):
            inverse[k] = <float> (1.0 / (<double> totals[k] + beta_sum))
        for i in range(n_docs):
            d = docs[i]
            first = segments[d * (n_blocks + 1) + block]
            last = segments[d * (n_blocks + 1) + block + 1]
            if first == last:
                continue
            group = groups[d] if grouped else 0
            if group != current:
                current = group
                for k in range(K):
                    prior[k] = <float> alpha[group, k]
                alpha_sum = <float> walker_build(prior, K, keep, other, table.scaled, table.stack)
            doc.first, doc.end, doc.length = offsets[d], offsets[d + 1], offsets[d + 1] - offsets[d]
            doc.supervised = supervised[d]
            enter(&doc, &z[0], &pull[d, 0], &curve[d, 0], &eta[0, 0])
            begin = table.end = first
            while begin < last:
                if begin == table.end:
                    if doc.supervised and mode < 2 or mode == 2 + EXP:
                        make_table(&table, &doc, &z[0], &eta[0, 0], begin, last)
                    else:
                        table.end = last
                end = min(begin + RUN, table.end)
                draw_ahead(&drawn, &doc, &table, &words[0], &word_start[0], &word_places[0], &row_start[0],
                           &row_cells[0], beta_p, keep, other, alpha_sum, begin, end, steps, mode, &rng)
                slot = 0
                for t in range(begin, end):
                    w = words[t]
                    for m in range(steps):
                        if drawn.kind[m] == WORD and drawn.place[slot] >= 0:
                            k = word_places[drawn.place[slot]]
                            if k == t:  # any other token in its stead: the last one was not drawn
                                k = word_places[word_start[w + 1] - 1]
                            drawn.place[slot] = k
                            tx_prefetch(&z[k])
                        slot += 1
                slot = 0
                for t in range(begin, end):
                    w = words[t]
                    row = &row_cells[row_start[w]]
                    old = now = z[t]
                    inverse_less = <float> (1.0 / (<double> (totals[old] - 1) + beta_sum))
                    by_doc = prior[old] + <float> (doc.counts[old] - 1)
                    by_word = word_weight(row, row_len[w], topic_bits, old) - 1 + beta[w]
                    by_topic = inverse_less
                    gain_now = 0
                    for m in range(steps):
                        kind = drawn.kind[m]
                        new = z[drawn.place[slot]] if drawn.place[slot] >= 0 else -1 - drawn.place[slot]
                        slot += 1
                        if new == now:
                            continue
                        named[kind] += 1
                        to_topic = inverse_less if new == old else inverse[new]
                        to_doc = prior[new] + <float> (doc.counts[new] - (new == old))
                        to_word = word_weight(row, row_len[w], topic_bits, new) - (new == old) + beta[w]
                        q_now, q_new = by_topic, to_topic
                        if kind != DOCUMENT:
                            q_now *= by_doc
                            q_new *= to_doc
                        if kind != WORD:
                            q_now *= by_word
                            q_new *= to_word
                        gain_new = 0
                        if doc.supervised:
                            if new != old:
                                gain_new = tx_gain(&eta[old, 0], &eta[new, 0], doc.lin, doc.half, width)
                            exponent = gain_new - gain_now
                            if kind == EXP:
                                exponent -= table.logs[new] - table.logs[now]
                            q_new *= tx_expf(exponent)
                        if drawn.chance[slot - 1] * q_now < q_new:
                            accepted[kind] += 1
                            now = new
                            by_topic, by_doc, by_word, gain_now = to_topic, to_doc, to_word, gain_new
                    if now != old:
                        changed += 1
                        row_remove(row, &row_len[w], topic_bits, <uint32_t> old)
                        row_add(row, &row_len[w], topic_bits, <uint32_t> now, 1)
                        totals[old] -= 1
                        totals[now] += 1
                        inverse[old] = inverse_less
                        inverse[now] = <float> (1.0 / (<double> totals[now] + beta_sum))
                        doc.counts[old] -= 1
                        doc.counts[now] += 1
                        z[t] = <uint16_t> now
                        if doc.supervised:
                            tx_moved(&eta[old, 0], &eta[now, 0], doc.lin, doc.half, width)
                begin = end
            leave(&doc, &z[0], &pull[d, 0])
    for k in range(3):
        tally[2 * k] += named[k]
        tally[2 * k + 1] += accepted[k]
    free(memory)
    return changed


def dense_cell(const uint32_t[::1] words, uint16_t[::1] z, const int64_t[::1] offsets, const int64_t[::1] segments,
               int n_blocks, const uint32_t[::1] docs, int block, const int64_t[::1] row_start,
               uint32_t[::1] row_cells, int32_t[::1] row_len, int topic_bits, int64_t[::1] totals,
               const double[:, ::1] alpha, const uint32_t[::1] groups, const float[::1] beta, double beta_sum,
               uint64_t key, const float[:, ::1] eta, float[:, ::1] pull, const float[:, ::1] curve,
               const uint8_t[::1] supervised) -> int:
    """As `sweep_cell`, every token from all topics: the exact conditional."""
    cdef int64_t K = totals.shape[0], width = eta.shape[1], n_docs = docs.shape[0], changed = 0
    cdef int64_t chunks = (K + 15) // 16, padded = 16 * chunks
    cdef int64_t i, d, t, j, k, first, last, group, current = -1, old, new
    cdef uint32_t w, mask = (<uint32_t> 1 << topic_bits) - 1
    cdef uint32_t *row
    cdef const float *taken
    cdef bint grouped = groups.shape[0] > 0
    cdef float own_inverse
    cdef tx_rng rng = tx_rng_seed(key)
    cdef Document doc
    # met[k]: the last document in whose overlap row k is (in overlap + K k)
    cdef char *memory = <char *> malloc(padded * 4 * 7 + (width * 3 + K * padded) * 4 + K * 8)
    if memory == NULL:
        raise MemoryError
    cdef int64_t *met = <int64_t *> memory
    cdef float *prior = <float *> (met + K)
    cdef float *inverse = prior + padded
    cdef float *reach = inverse + padded
    cdef float *q = reach + padded
    cdef float *phi = q + padded
    cdef float *sums = phi + padded
    doc.counts = <int32_t *> (sums + padded)
    doc.lin = sums + 2 * padded
    doc.half, doc.constant = doc.lin + width, doc.lin + 2 * width
    cdef float *overlap = doc.lin + 3 * width
    doc.width, doc.K = width, K
    with nogil:
        memset(met, 0xFF, K * 8)
        memset(prior, 0, padded * 4 * 7)
        for k in range(K):
            inverse[k] = <float> (1.0 / (<double> totals[k] + beta_sum))
        for i in range(n_docs):
            d = docs[i]
            first = segments[d * (n_blocks + 1) + block]
            last = segments[d * (n_blocks + 1) + block + 1]
            if first == last:
                continue
            group = groups[d] if grouped else 0
            if group != current:
                current = group
                for k in range(K):
                    prior[k] = <float> alpha[group, k]
            doc.first, doc.end, doc.length = offsets[d], offsets[d + 1], offsets[d + 1] - offsets[d]
            doc.supervised = supervised[d]
            enter(&doc, &z[0], &pull[d, 0], &curve[d, 0], &eta[0, 0])
            if doc.supervised:  # sum_c eta_kc (lin_c - half_c eta_kc)
                for k in range(K):
                    reach[k] = 0
                    for j in range(width):
                        reach[k] += eta[k, j] * (doc.lin[j] - doc.half[j] * eta[k, j])
            else:
                memset(reach, 0, K * 4)
                memset(overlap, 0, K * 4)
            for t in range(first, last):
                w = words[t]
                row = &row_cells[row_start[w]]
                old = z[t]
                taken = overlap
                if doc.supervised:
                    taken = take(&doc, &eta[0, 0], overlap, met, old, d)
                own_inverse = inverse[old]
                doc.counts[old] -= 1
                inverse[old] = <float> (1.0 / (<double> (totals[old] - 1) + beta_sum))
                tx_factor_weights(prior, doc.counts, inverse, reach, taken, K, q)
                for k in range(K):
                    phi[k] = beta[w]
                if row_len[w] == DENSE:
                    for k in range(K):
                        phi[k] += <float> <int32_t> row[k]
                else:
                    for k in range(row_len[w]):
                        phi[row[k] & mask] += <float> <int32_t> (row[k] >> topic_bits)
                phi[old] -= 1
                new = tx_draw_dense(q, phi, chunks, -1, 0, tx_rng_double(&rng), sums)
                if new < 0 or new >= K:  # no weight in single precision
                    new = old
                doc.counts[new] += 1
                if new == old:
                    inverse[old] = own_inverse
                    continue
                changed += 1
                row_remove(row, &row_len[w], topic_bits, <uint32_t> old)
                row_add(row, &row_len[w], topic_bits, <uint32_t> new, 1)
                totals[old] -= 1
                totals[new] += 1
                inverse[new] = <float> (1.0 / (<double> totals[new] + beta_sum))
                z[t] = <uint16_t> new
                if doc.supervised:
                    tx_moved(&eta[old, 0], &eta[new, 0], doc.lin, doc.half, width)
                    for k in range(K):
                        reach[k] += taken[k]
                    taken = take(&doc, &eta[0, 0], overlap, met, new, d)
                    for k in range(K):
                        reach[k] -= taken[k]
            leave(&doc, &z[0], &pull[d, 0])
    free(memory)
    return changed


cdef inline const float *take(const Document *doc, const float *eta, float *overlap, int64_t *met, int64_t topic,
                              int64_t d) noexcept nogil:
    """2 sum_c half_c eta_jc eta_kc for all j, of a topic k: made when the document first has a token of it."""
    cdef float *row = overlap + topic * doc.K
    if met[topic] != d:
        met[topic] = d
        tx_overlap(eta, topic, doc.half, doc.K, doc.width, row)
    return row


def gains(const float[:, ::1] eta, const float[::1] lin, const float[::1] half, int64_t old) -> list:
    """log f of a token in every topic less that in `old` (what tests compare)."""
    cdef int64_t k
    return [tx_gain(&eta[old, 0], &eta[k, 0], &lin[0], &half[0], eta.shape[1]) for k in range(eta.shape[0])]
