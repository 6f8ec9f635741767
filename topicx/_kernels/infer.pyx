"""Documents under fixed topics: the Gibbs chain over a document's tokens, and what is estimated with it.

    p(z = k) ∝ (n_dk + alpha_gk) phi_kw,     n_dk without the token itself  (Papanikolaou et al. 2017, eq. 31)

phi comes as rows, one a word: float32, a multiple of 16 topics long (zeros at the end), divided by their largest entry,
which no draw can notice; so nothing underflows, and every row holds a 1. q_k = n_dk + alpha_k is always recomputed from
the integer count that changed. The first sweep places each token given those placed before it.

Every document has a stream of random numbers of its own, whose key the caller derives from what the document says:
nothing here depends on which documents share a call.

Departures from the papers: none in the distributions; arithmetic is float32 in draws and theta^p, double in likelihoods.
Likelihoods leave out the rows' divisors: the caller adds their logarithms.
"""

from libc.math cimport exp, frexp, log
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from topicx._kernels.cell cimport Arena
from topicx._kernels.portable cimport tx_prefetch
from topicx._kernels.rng cimport tx_mix, tx_rng, tx_rng_double, tx_rng_seed

cdef extern from "infer.h" nogil:
    ctypedef struct tx_infer:
        int64_t (*draw)(const float *q, const float *row, int64_t chunks, int64_t old, float q_old, double u,
                        float *scratch) noexcept nogil
        void (*soft)(const float *q, const float *row, int64_t chunks, int64_t old, float q_old, float *scratch,
                     float *soft) noexcept nogil

    const tx_infer *tx_infer_choose() noexcept

cdef enum:
    NONE = 0xFFFF
    AHEAD = 4  # tokens between the prefetch of a row and its use
    FLUSH = 256  # tokens whose probabilities are summed in float32 before the sum moves on to double

cdef double LN2 = 0.693147180559945309417
cdef const tx_infer *lanes = tx_infer_choose()


cdef struct Scratch:
    float *q
    float *alpha
    float *sums
    float *soft
    double *theta
    int32_t *counts


cdef Scratch scratch_of(Arena arena, int64_t width):
    """Arrays of `width` (a multiple of 16) entries."""
    cdef Scratch s
    s.q, s.alpha, s.sums, s.soft = arena.floats(width), arena.floats(width), arena.floats(width), arena.floats(width)
    s.theta, s.counts = arena.doubles(width), arena.ints(width)
    return s


cdef int64_t longest_of(const int64_t[::1] offsets) noexcept nogil:
    """The tokens of the longest document, and one."""
    cdef int64_t d, most = 0
    for d in range(offsets.shape[0] - 1):
        most = max(most, offsets[d + 1] - offsets[d])
    return most + 1


cdef void start_document(Scratch *s, const float *alpha, int64_t topics, int64_t width) noexcept nogil:
    """No token is placed: counts 0, q = alpha, and a positive q in the padding too, where every row is 0."""
    cdef int64_t k
    memset(s.counts, 0, width * 4)
    for k in range(width):
        s.alpha[k] = alpha[k] if k < topics else 1
        s.q[k] = s.alpha[k]


cdef inline void sweep(Scratch *s, const uint32_t *words, uint16_t *z, int64_t length, const float *rows,
                       int64_t width, tx_rng *rng, bint forward) noexcept nogil:
    """One Gibbs sweep over a document, first token to last or last to first."""
    cdef int64_t i, j, old, new, chunks = width // 16, lines = min(chunks, 32)
    cdef const float *row
    for j in range(length):
        i = j if forward else length - 1 - j
        if forward and i + AHEAD < length:
            row = rows + words[i + AHEAD] * width
            for new in range(lines):
                tx_prefetch(row + 16 * new)
        if z[i] == NONE:
            old = -1
            new = lanes.draw(s.q, rows + words[i] * width, chunks, -1, 0, tx_rng_double(rng), s.sums)
        else:
            old = z[i]
            new = lanes.draw(s.q, rows + words[i] * width, chunks, old, s.alpha[old] + <float> (s.counts[old] - 1),
                             tx_rng_double(rng), s.sums)
        if new != old:
            if old >= 0:
                s.counts[old] -= 1
                s.q[old] = s.alpha[old] + <float> s.counts[old]
            s.counts[new] += 1
            s.q[new] = s.alpha[new] + <float> s.counts[new]
            z[i] = <uint16_t> new


cdef void add_soft(Scratch *s, const uint32_t *words, const uint16_t *z, int64_t length, const float *rows,
                   int64_t width) noexcept nogil:
    """theta += the Gibbs probabilities of every token given the state of all others (eq. 33)."""
    cdef int64_t i, j, k, end, old
    cdef const float *row
    i = 0
    while i < length:
        end = min(i + FLUSH, length)
        memset(s.soft, 0, width * 4)
        for j in range(i, end):
            old = z[j]
            lanes.soft(s.q, rows + words[j] * width, width // 16, old, s.alpha[old] + <float> (s.counts[old] - 1),
                       s.sums, s.soft)
        for k in range(width):
            s.theta[k] += <double> s.soft[k]
        i = end


def document_keys(const uint32_t[::1] words, const int64_t[::1] offsets, uint64_t seed, uint64_t[::1] keys):
    """keys[d] = a hash of the seed and the document's words in order."""
    cdef Py_ssize_t d
    cdef int64_t i
    cdef uint64_t key
    with nogil:
        for d in range(offsets.shape[0] - 1):
            key = tx_mix(seed + <uint64_t> 0x9E3779B97F4A7C15)
            for i in range(offsets[d], offsets[d + 1]):
                key = tx_mix((key ^ words[i]) * <uint64_t> 0x9E3779B97F4A7C15 + 1)
            keys[d] = key


def gibbs(const uint32_t[::1] words, const int64_t[::1] offsets, const uint64_t[::1] keys, const float[:, ::1] rows,
          const float[:, ::1] alpha, const uint32_t[::1] groups, int64_t burn_in, int64_t samples, int64_t lag,
          bint soft, float[:, ::1] theta, uint16_t[::1] z):
    """theta of every document: `burn_in` sweeps, then `samples` samples `lag` sweeps apart; soft: theta^p.

    words are numbers of rows; z is written (the last state). theta_dk = (mean n_dk + alpha_k) / (N_d + sum alpha).
    """
    cdef int64_t d, k, sample, i, begin, length, group, sweeps
    cdef int64_t topics = alpha.shape[1], width = rows.shape[1]
    cdef double norm
    cdef Arena arena = Arena()
    cdef Scratch s = scratch_of(arena, width)
    cdef tx_rng rng
    cdef const uint32_t *doc
    cdef uint16_t *topic
    with nogil:
        for d in range(offsets.shape[0] - 1):
            begin = offsets[d]
            length = offsets[d + 1] - begin
            group = groups[d]
            start_document(&s, &alpha[group, 0], topics, width)
            memset(s.theta, 0, width * sizeof(double))
            if length > 0:
                doc = &words[begin]
                topic = &z[begin]
                rng = tx_rng_seed(keys[d])
                for i in range(length):
                    topic[i] = NONE
                for sample in range(samples):
                    sweeps = lag if sample > 0 else burn_in
                    for i in range(sweeps):
                        sweep(&s, doc, topic, length, &rows[0, 0], width, &rng, True)
                    if soft:
                        add_soft(&s, doc, topic, length, &rows[0, 0], width)
                    else:
                        for k in range(topics):
                            s.theta[k] += s.counts[k]
            norm = 0
            for k in range(topics):
                s.theta[k] = s.theta[k] / samples + <double> s.alpha[k]
                norm += s.theta[k]
            for k in range(topics):
                theta[d, k] = <float> (s.theta[k] / norm)


cdef inline double dot(const double *theta, const float *row, int64_t width) noexcept nogil:
    """Sums in 8 lanes, then across them in a fixed tree."""
    cdef double a0 = 0, a1 = 0, a2 = 0, a3 = 0, a4 = 0, a5 = 0, a6 = 0, a7 = 0
    cdef int64_t k
    k = 0
    while k < width:
        a0 += theta[k] * row[k]
        a1 += theta[k + 1] * row[k + 1]
        a2 += theta[k + 2] * row[k + 2]
        a3 += theta[k + 3] * row[k + 3]
        a4 += theta[k + 4] * row[k + 4]
        a5 += theta[k + 5] * row[k + 5]
        a6 += theta[k + 6] * row[k + 6]
        a7 += theta[k + 7] * row[k + 7]
        k += 8
    return ((a0 + a4) + (a2 + a6)) + ((a1 + a5) + (a3 + a7))


def score(const uint32_t[::1] words, const int64_t[::1] offsets, const float[:, ::1] theta, const float[:, ::1] rows,
          double[::1] result):
    """result[d] = sum over tokens of log sum_k theta_dk row_kw (eq. 55), -inf where a token has probability 0.

    The product is kept as a mantissa and an exponent: one logarithm a document.
    """
    cdef int64_t d, i, k, exponent
    cdef int64_t topics = theta.shape[1], width = rows.shape[1]
    cdef int shift
    cdef double mantissa
    cdef Arena arena = Arena()
    cdef double *wide = arena.doubles(width)
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for k in range(width):
                wide[k] = theta[d, k] if k < topics else 0
            mantissa, exponent = 1, 0
            for i in range(offsets[d], offsets[d + 1]):
                mantissa = frexp(mantissa * dot(wide, &rows[words[i], 0], width), &shift)
                exponent += shift
            result[d] = log(mantissa) + exponent * LN2


def left_to_right(const uint32_t[::1] words, const int64_t[::1] offsets, const uint64_t[::1] keys,
                  const float[:, ::1] rows, const float[:, ::1] alpha, const uint32_t[::1] groups, int64_t particles,
                  bint resample, double[::1] averaged, double[:, ::1] sequential):
    """Left-to-right likelihoods (Wallach et al. 2009, algorithm 3).

    A particle walks through the document: it samples the topics before position n anew (`resample`; without it the
    walk is plain importance sampling), takes p_n = sum_k p(w_n | k) p(k | topics so far), and draws topic n.
    averaged[d] = sum_n log mean_r p_n (Wallach et al.); sequential[d, r] = sum_n log p_n of particle r, whose
    exponential is unbiased for p(w) each by itself (Buntine 2009; it is annealed importance sampling).
    """
    cdef int64_t d, i, k, n, r, begin, length, new
    cdef int64_t topics = alpha.shape[1], width = rows.shape[1], chunks = width // 16
    cdef double p, norm, total
    cdef Arena arena = Arena()
    cdef Scratch s = scratch_of(arena, width)
    cdef double *means = arena.doubles(longest_of(offsets))
    cdef uint16_t *z = <uint16_t *> arena.room(2 * longest_of(offsets))
    cdef tx_rng rng
    cdef const uint32_t *doc
    cdef const float *row
    with nogil:
        for d in range(offsets.shape[0] - 1):
            begin = offsets[d]
            length = offsets[d + 1] - begin
            averaged[d] = 0
            if length == 0:
                for r in range(particles):
                    sequential[d, r] = 0
                continue
            doc = &words[begin]
            rng = tx_rng_seed(keys[d])
            memset(means, 0, length * sizeof(double))
            for r in range(particles):
                start_document(&s, &alpha[groups[d], 0], topics, width)
                norm = 0
                for k in range(topics):
                    norm += s.alpha[k]
                total = 0
                for n in range(length):
                    if resample:
                        sweep(&s, doc, z, n, &rows[0, 0], width, &rng, True)
                    row = &rows[doc[n], 0]
                    p = 0
                    for k in range(topics):
                        p += <double> s.q[k] * row[k]
                    p /= norm + n
                    means[n] += p
                    total += log(p)
                    new = lanes.draw(s.q, row, chunks, -1, 0, tx_rng_double(&rng), s.sums)
                    s.counts[new] += 1
                    s.q[new] = s.alpha[new] + <float> s.counts[new]
                    z[n] = <uint16_t> new
                sequential[d, r] = total
            for n in range(length):
                averaged[d] += log(means[n] / particles)


cdef double joint(Scratch *s, const uint32_t *words, const uint16_t *z, int64_t length, const float *rows,
                  int64_t topics, int64_t width) noexcept nogil:
    """log p(w, z), token by token: the Pólya urn of z and the rows."""
    cdef int64_t i, k
    cdef double norm = 0, total = 0
    for k in range(topics):
        norm += s.alpha[k]
    memset(s.counts, 0, width * 4)
    for i in range(length):
        total += log((s.alpha[z[i]] + <double> s.counts[z[i]]) / (norm + i) * rows[words[i] * width + z[i]])
        s.counts[z[i]] += 1
    return total


cdef void restore(Scratch *s, const uint16_t *z, int64_t length, int64_t topics, int64_t width) noexcept nogil:
    cdef int64_t i, k
    memset(s.counts, 0, width * 4)
    for i in range(length):
        s.counts[z[i]] += 1
    for k in range(topics):
        s.q[k] = s.alpha[k] + <float> s.counts[k]


cdef double chib_step(Scratch *s, const uint32_t *words, uint16_t *z, const uint16_t *mode, int64_t length,
                      const float *rows, int64_t topics, int64_t width) noexcept nogil:
    """log T(z -> z*), leaving z and its counts as they were.

    The sweep's counts run from those of z to those of z*; they are set back afterwards.
    """
    cdef int64_t i, k
    cdef double total = 0, sum, weight
    cdef const float *row
    for i in range(length):
        row = rows + words[i] * width
        s.counts[z[i]] -= 1
        sum = 0
        for k in range(topics):
            sum += (s.alpha[k] + <double> s.counts[k]) * row[k]
        weight = (s.alpha[mode[i]] + <double> s.counts[mode[i]]) * row[mode[i]]
        total += log(weight / sum)
        s.counts[mode[i]] += 1
    restore(s, z, length, topics, width)
    return total


def chib(const uint32_t[::1] words, const int64_t[::1] offsets, const uint64_t[::1] keys, const float[:, ::1] rows,
         const float[:, ::1] alpha, const uint32_t[::1] groups, int64_t burn_in, int64_t samples, double[::1] result):
    """log p(w) = log p(w, z*) - log p(z* | w) (Murray & Salakhutdinov 2009; Wallach et al. 2009, section 4.2).

    z*: `burn_in` sweeps, then the best single changes until none helps. p(z* | w) is the mean of T(z^(s) -> z*) over a
    chain of `samples` states grown from z* itself, forwards and backwards from a position drawn at random.
    """
    cdef int64_t d, i, k, t, begin, length, best, middle, rounds
    cdef int64_t topics = alpha.shape[1], width = rows.shape[1]
    cdef double most, weight, top, log_mean
    cdef bint changed
    cdef Arena arena = Arena()
    cdef Scratch s = scratch_of(arena, width)
    cdef uint16_t *z = <uint16_t *> arena.room(2 * longest_of(offsets))
    cdef uint16_t *mode = <uint16_t *> arena.room(2 * longest_of(offsets))
    cdef uint16_t *copy = <uint16_t *> arena.room(2 * longest_of(offsets))
    cdef double *logs = arena.doubles(samples)
    cdef tx_rng rng
    cdef const uint32_t *doc
    with nogil:
        for d in range(offsets.shape[0] - 1):
            begin = offsets[d]
            length = offsets[d + 1] - begin
            result[d] = 0
            if length == 0:
                continue
            doc = &words[begin]
            rng = tx_rng_seed(keys[d])
            start_document(&s, &alpha[groups[d], 0], topics, width)
            for i in range(length):
                z[i] = NONE
            for t in range(burn_in):
                sweep(&s, doc, z, length, &rows[0, 0], width, &rng, True)
            changed, rounds = True, 0
            while changed and rounds < 100:
                changed = False
                rounds += 1
                for i in range(length):
                    s.counts[z[i]] -= 1
                    best, most = z[i], (s.alpha[z[i]] + <double> s.counts[z[i]]) * rows[doc[i], z[i]]
                    for k in range(topics):
                        weight = (s.alpha[k] + <double> s.counts[k]) * rows[doc[i], k]
                        if weight > most:
                            best, most, changed = k, weight, True
                    s.counts[best] += 1
                    z[i] = <uint16_t> best
            for i in range(length):
                mode[i] = z[i]
            # The chain of states around z*: position `middle` first, by one backward sweep from z*.
            middle = <int64_t> (tx_rng_double(&rng) * samples)
            restore(&s, mode, length, topics, width)
            sweep(&s, doc, z, length, &rows[0, 0], width, &rng, False)
            for i in range(length):
                copy[i] = z[i]
            logs[middle] = chib_step(&s, doc, z, mode, length, &rows[0, 0], topics, width)
            for t in range(middle + 1, samples):
                sweep(&s, doc, z, length, &rows[0, 0], width, &rng, True)
                logs[t] = chib_step(&s, doc, z, mode, length, &rows[0, 0], topics, width)
            for i in range(length):
                z[i] = copy[i]
            restore(&s, z, length, topics, width)
            for t in range(middle - 1, -1, -1):
                sweep(&s, doc, z, length, &rows[0, 0], width, &rng, False)
                logs[t] = chib_step(&s, doc, z, mode, length, &rows[0, 0], topics, width)
            top = logs[0]
            for t in range(samples):
                top = max(top, logs[t])
            log_mean = 0
            for t in range(samples):
                log_mean += exp(logs[t] - top)
            log_mean = top + log(log_mean / samples)
            result[d] = joint(&s, doc, mode, length, &rows[0, 0], topics, width) - log_mean
