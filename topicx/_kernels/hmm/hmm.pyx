"""Hidden Markov models with discrete emissions: Gibbs sweeps, and the forward, backward and Viterbi passes.

Kozdoba & Mannor, "Interdependent Gibbs samplers": Algorithm 1 (partial: the parameters are drawn, then each path site by
site) and Algorithm 2 (collapsed: the parameters are integrated out). One call renews one path; the paths of a multipath
sampler are calls over the same counts. `sweep` takes any number of states up to 256; `sweep_two` gives the same bits for two
states, 64 sites at once (hmm.h says how).

Counts: start (S), trans (S x S), emit (words x S). Parameters have the same shapes. States are bytes.
"""

from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from topicx._kernels.gibbs.cell cimport Arena

cdef extern from "hmm.h" nogil:
    ctypedef struct hmm_model:
        int64_t S
        int64_t *start
        int64_t *trans
        int64_t *emit
        int64_t *out
        int64_t *total
        double alpha0
        double alpha
        double beta
        double alpha_sum
        double beta_sum
        const double *p_start
        const double *p_trans
        const double *p_emit

    ctypedef struct hmm_two:
        hmm_model m
        int64_t V
        const uint8_t *most
        uint32_t *table
        int64_t *limit
        int64_t *low

    int64_t hmm_sweep_collapsed(hmm_model *m, const uint32_t *words, const int64_t *offsets, int64_t sequences,
                                uint8_t *z, uint64_t key, double *sums) noexcept
    int64_t hmm_sweep_partial(hmm_model *m, const uint32_t *words, const int64_t *offsets, int64_t sequences,
                              uint8_t *z, uint64_t key, double *sums) noexcept
    ctypedef struct hmm_sweeps:
        int64_t (*collapsed)(hmm_two *t, const uint32_t *words, int64_t N, uint8_t *z, const uint64_t *firsts,
                             const uint64_t *lasts, uint64_t key) noexcept nogil
        int64_t (*partial)(hmm_two *t, const uint32_t *words, int64_t N, uint8_t *z, const uint64_t *firsts,
                           const uint64_t *lasts, uint64_t key) noexcept nogil

    const hmm_sweeps *hmm_choose() noexcept

cdef extern from "hmm_passes.h" nogil:
    ctypedef struct hmm_parameters:
        int64_t S
        const double *start
        const double *trans
        const double *emit
        const double *turned

    double hmm_forward(const hmm_parameters *p, const uint32_t *words, int64_t n, double *rows) noexcept
    double hmm_expect(const hmm_parameters *p, const uint32_t *words, int64_t n, double *rows, double *start, double *trans,
                      double *emit, double *gamma, double *room) noexcept
    double hmm_viterbi(const hmm_parameters *p, const uint32_t *words, int64_t n, double *rows, uint8_t *came,
                       uint8_t *path) noexcept

cdef const hmm_sweeps *sweeps = hmm_choose()


cdef hmm_model counting(int64_t[::1] start, int64_t[:, ::1] trans, int64_t[:, ::1] emit, int64_t[::1] sums,
                        double alpha0, double alpha, double beta) noexcept nogil:
    """The collapsed model of these counts; `sums` (2 S) becomes the row sums of trans and the column sums of emit."""
    cdef hmm_model m
    cdef int64_t S = start.shape[0], s, r, w
    for s in range(2 * S):
        sums[s] = 0
    for s in range(S):
        for r in range(S):
            sums[s] += trans[s, r]
    for w in range(emit.shape[0]):
        for s in range(S):
            sums[S + s] += emit[w, s]
    m.S, m.start, m.trans, m.emit, m.out, m.total = S, &start[0], &trans[0, 0], &emit[0, 0], &sums[0], &sums[S]
    m.alpha0, m.alpha, m.beta = alpha0, alpha, beta
    m.alpha_sum, m.beta_sum = alpha * <double> S, beta * <double> emit.shape[0]
    m.p_start = m.p_trans = m.p_emit = NULL
    return m


cdef hmm_model given(const double[::1] start, const double[:, ::1] trans, const double[:, ::1] emit) noexcept nogil:
    """The partially collapsed model: these parameters."""
    cdef hmm_model m
    m.S, m.p_start, m.p_trans, m.p_emit = start.shape[0], &start[0], &trans[0, 0], &emit[0, 0]
    m.start = m.trans = m.emit = m.out = m.total = NULL
    m.alpha0 = m.alpha = m.beta = m.alpha_sum = m.beta_sum = 0
    return m


def count_path(const uint32_t[::1] words, const int64_t[::1] offsets, const uint8_t[::1] z, int64_t[::1] start,
               int64_t[:, ::1] trans, int64_t[:, ::1] emit):
    """Add the counts of one path."""
    cdef int64_t d, i
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                emit[words[i], z[i]] += 1
                if i == offsets[d]:
                    start[z[i]] += 1
                else:
                    trans[z[i - 1], z[i]] += 1


def sweep_collapsed(const uint32_t[::1] words, const int64_t[::1] offsets, uint8_t[::1] z, int64_t[::1] start,
                    int64_t[:, ::1] trans, int64_t[:, ::1] emit, double alpha0, double alpha, double beta, uint64_t key):
    """Renew one path, site by site; the counts follow. Returns how many sites changed."""
    cdef int64_t S = start.shape[0], changed
    cdef int64_t[::1] sums = np.empty(2 * S, np.int64)
    cdef double[::1] room = np.empty(S)
    cdef hmm_model m
    if z.shape[0] == 0:
        return 0
    with nogil:
        m = counting(start, trans, emit, sums, alpha0, alpha, beta)
        changed = hmm_sweep_collapsed(&m, &words[0], &offsets[0], offsets.shape[0] - 1, &z[0], key, &room[0])
    return changed


def sweep_partial(const uint32_t[::1] words, const int64_t[::1] offsets, uint8_t[::1] z, const double[::1] start,
                  const double[:, ::1] trans, const double[:, ::1] emit, uint64_t key):
    """Renew one path, site by site, under these parameters. Returns how many sites changed."""
    cdef int64_t changed
    cdef double[::1] room = np.empty(start.shape[0])
    cdef hmm_model m
    if z.shape[0] == 0:
        return 0
    with nogil:
        m = given(start, trans, emit)
        changed = hmm_sweep_partial(&m, &words[0], &offsets[0], offsets.shape[0] - 1, &z[0], key, &room[0])
    return changed


def layout_two(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t V):
    """What `sweep_two_*` need beside the words: bits of the sites that begin and that end a sequence, and the most sites that
    a word has in one block of 64."""
    cdef int64_t N = words.shape[0], i, d
    first, last = np.zeros(N // 64 + 1, np.uint64), np.zeros(N // 64 + 1, np.uint64)
    counts, largest = np.zeros(V, np.uint8), np.zeros(V, np.uint8)
    cdef uint64_t[::1] firsts = first, lasts = last
    cdef uint8_t[::1] number = counts, most = largest
    with nogil:
        for d in range(offsets.shape[0] - 1):
            if offsets[d] < offsets[d + 1]:
                i = offsets[d]
                firsts[i // 64] |= <uint64_t> 1 << (i % 64)
                i = offsets[d + 1] - 1
                lasts[i // 64] |= <uint64_t> 1 << (i % 64)
        for i in range(N):
            number[words[i]] += 1
            if number[words[i]] > most[words[i]]:
                most[words[i]] = number[words[i]]
            if i % 64 == 63 or i == N - 1:
                for d in range(i - i % 64, i + 1):
                    number[words[d]] = 0
    return first, last, largest


cdef hmm_two two_states(Arena arena, int64_t V, const uint8_t[::1] most) except *:
    """The work of a sweep over two states, its model still to be said. A table is read beyond its end."""
    cdef hmm_two t
    t.V, t.most = V, &most[0] if most is not None else NULL
    t.table, t.limit, t.low = arena.words(4 * V + 32), arena.longs(V), arena.longs(V)
    return t


def sweep_two_collapsed(const uint32_t[::1] words, const uint64_t[::1] firsts, const uint64_t[::1] lasts,
                        const uint8_t[::1] most, uint8_t[::1] z, int64_t[::1] start, int64_t[:, ::1] trans,
                        int64_t[:, ::1] emit, double alpha0, double alpha, double beta, uint64_t key):
    """`sweep_collapsed` for two states."""
    cdef int64_t changed
    cdef int64_t[::1] sums = np.empty(4, np.int64)
    cdef Arena arena = Arena()
    cdef hmm_two t
    if z.shape[0] == 0:
        return 0
    t = two_states(arena, emit.shape[0], most)
    with nogil:
        t.m = counting(start, trans, emit, sums, alpha0, alpha, beta)
        changed = sweeps.collapsed(&t, &words[0], words.shape[0], &z[0], &firsts[0], &lasts[0], key)
    return changed


def sweep_two_partial(const uint32_t[::1] words, const uint64_t[::1] firsts, const uint64_t[::1] lasts,
                      uint8_t[::1] z, int64_t[::1] starts, int64_t[:, ::1] pairs, int64_t[:, ::1] emits,
                      const double[::1] start, const double[:, ::1] trans, const double[:, ::1] emit, uint64_t key):
    """`sweep_partial` for two states; this path's own counts (starts, pairs, emits) follow."""
    cdef int64_t changed, i
    cdef Arena arena = Arena()
    cdef hmm_two t
    if z.shape[0] == 0:
        return 0
    t = two_states(arena, emit.shape[0], None)
    for i in range(t.V):
        t.limit[i] = INT64_MAX // 2  # its tables depend on no count
    t.m = given(start, trans, emit)
    t.m.start, t.m.trans, t.m.emit, t.m.out, t.m.total = &starts[0], &pairs[0, 0], &emits[0, 0], arena.longs(2), arena.longs(2)
    with nogil:
        changed = sweeps.partial(&t, &words[0], words.shape[0], &z[0], &firsts[0], &lasts[0], key)
    return changed


cdef hmm_parameters parameters(const double[::1] start, const double[:, ::1] trans, const double[:, ::1] emit,
                               Arena arena):
    cdef hmm_parameters p
    cdef int64_t r, s, S = start.shape[0]
    cdef double *turned = arena.doubles(S * S)
    for r in range(S):
        for s in range(S):
            turned[s * S + r] = trans[r, s]
    p.S, p.start, p.trans, p.emit, p.turned = S, &start[0], &trans[0, 0], &emit[0, 0], turned
    return p


cdef int64_t longest_of(const int64_t[::1] offsets, int64_t begin, int64_t end) noexcept nogil:
    cdef int64_t d, most = 0
    for d in range(begin, end):
        most = max(most, offsets[d + 1] - offsets[d])
    return most


def forward_likelihoods(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t begin, int64_t end,
                        const double[::1] start, const double[:, ::1] trans, const double[:, ::1] emit,
                        double[::1] log_likelihood):
    """log p of each of the sequences begin..end-1."""
    cdef int64_t d
    cdef Arena arena = Arena()
    cdef double *rows = arena.doubles(2 * start.shape[0])
    cdef hmm_parameters p = parameters(start, trans, emit, arena)
    cdef const uint32_t *text = &words[0] if words.shape[0] else NULL
    with nogil:
        for d in range(begin, end):
            log_likelihood[d] = hmm_forward(&p, text + offsets[d], offsets[d + 1] - offsets[d], rows)


def expected_counts(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t begin, int64_t end,
                    const double[::1] start, const double[:, ::1] trans, const double[:, ::1] emit,
                    double[::1] log_likelihood, double[::1] starts, double[:, ::1] pairs, double[:, ::1] emits,
                    double[:, ::1] gamma):
    """log p of the sequences begin..end-1 and their expected counts, added to starts, pairs and emits; the posterior of each
    site goes into `gamma` (a row a symbol of the corpus) if it has rows. A sequence of probability zero adds nothing."""
    cdef int64_t S = start.shape[0], d, r, s
    cdef Arena arena = Arena()
    cdef double *rows = arena.doubles(longest_of(offsets, begin, end) * S)
    cdef double *room = arena.doubles(3 * S)
    cdef double *found = arena.doubles(S * S)
    cdef double *sites = &gamma[0, 0] if gamma.shape[0] else NULL
    cdef hmm_parameters p = parameters(start, trans, emit, arena)
    cdef const uint32_t *text = &words[0] if words.shape[0] else NULL
    with nogil:
        for d in range(begin, end):
            log_likelihood[d] = hmm_expect(&p, text + offsets[d], offsets[d + 1] - offsets[d], rows, &starts[0], found,
                                           &emits[0, 0], sites + offsets[d] * S if sites != NULL else NULL, room)
        for r in range(S):
            for s in range(S):
                pairs[r, s] += found[r * S + s] * trans[r, s]


def viterbi_paths(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t begin, int64_t end,
                  const double[::1] start, const double[:, ::1] trans, const double[:, ::1] emit,
                  double[::1] log_likelihood, uint8_t[::1] path):
    """The most probable states of the sequences begin..end-1 and their log p; the parameters are logarithms."""
    cdef int64_t S = start.shape[0], d
    cdef Arena arena = Arena()
    cdef double *rows = arena.doubles(2 * S)
    cdef uint8_t *came = <uint8_t *> arena.room(longest_of(offsets, begin, end) * S)
    cdef hmm_parameters p = parameters(start, trans, emit, arena)
    cdef const uint32_t *text = &words[0] if words.shape[0] else NULL
    cdef uint8_t *states = &path[0] if path.shape[0] else NULL
    with nogil:
        for d in range(begin, end):
            log_likelihood[d] = hmm_viterbi(&p, text + offsets[d], offsets[d + 1] - offsets[d], rows, came,
                                            states + offsets[d])
