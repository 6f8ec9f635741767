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

cimport cython
from libc.math cimport INFINITY, exp, frexp, log, sqrt
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from topicx._kernels.gibbs.cell cimport Arena
from topicx._kernels.base.portable cimport tx_prefetch
from topicx._kernels.base.rng cimport tx_mix, tx_rng, tx_rng_double, tx_rng_seed

cdef extern from "infer.h" nogil:
    enum:
        TX_AHEAD
        TX_UNPLACED
        TX_WALKS

    ctypedef struct tx_sampling:
        const uint32_t *words
        const int64_t *offsets
        const uint64_t *keys
        const float *rows
        const float *alphas
        const uint32_t *groups
        int64_t documents, topics, width, burn_in, samples, lag, step
        bint soft
        float *theta
        uint16_t *z

    ctypedef struct tx_walk:
        int32_t *counts
        float *alpha
        float *q
        float *sums
        double *theta

    ctypedef struct tx_infer:
        int64_t (*draw)(const float *q, const float *row, int64_t chunks, int64_t old, float q_old, double u,
                        float *scratch) noexcept nogil
        void (*sample)(const tx_sampling *job, tx_walk *walks, int64_t number, float *weights,
                       float *soft) noexcept nogil

    const tx_infer *tx_infer_choose() noexcept

cdef double LN2 = 0.693147180559945309417
cdef const tx_infer *lanes = tx_infer_choose()


@cython.final
cdef class Walk:
    """Some documents, one after another, and the Gibbs chain of the one at hand. Rows of scratch are `width` (a multiple
    of 16) entries."""

    cdef const uint32_t[::1] words
    cdef const int64_t[::1] offsets
    cdef const uint64_t[::1] keys
    cdef const float[:, ::1] alphas
    cdef const uint32_t[::1] groups
    cdef const float *rows
    cdef int64_t topics, width, longest
    cdef Arena arena
    cdef int64_t d
    """The document at hand,"""
    cdef const uint32_t *doc
    cdef int64_t length
    """its words and how many there are,"""
    cdef tx_rng rng
    """its random numbers, and beside its counts: α, q = n + α, and room for a draw."""
    cdef int32_t *counts
    cdef float *alpha
    cdef float *q
    cdef float *sums

    def __init__(self, words, offsets, keys, const float[:, ::1] rows, alpha, groups):
        cdef int64_t d
        self.words, self.offsets, self.keys, self.alphas, self.groups = words, offsets, keys, alpha, groups
        self.topics, self.width, self.d = self.alphas.shape[1], rows.shape[1], -1
        self.rows = &rows[0, 0] if rows.shape[0] else NULL
        self.longest = 1
        for d in range(self.offsets.shape[0] - 1):
            self.longest = max(self.longest, self.offsets[d + 1] - self.offsets[d])
        self.arena = Arena()
        self.alpha, self.q = self.arena.floats(self.width), self.arena.floats(self.width)
        self.sums, self.counts = self.arena.floats(self.width), self.arena.ints(self.width)

    cdef uint16_t *path(self) except NULL:
        """Room for the topics of any of the documents."""
        return <uint16_t *> self.arena.room(2 * self.longest)

    cdef bint next(self) noexcept nogil:
        """Whether there is another document; none of its tokens is placed."""
        self.d += 1
        if self.d + 1 >= self.offsets.shape[0]:
            return False
        self.length = self.offsets[self.d + 1] - self.offsets[self.d]
        self.doc = &self.words[self.offsets[self.d]] if self.length else NULL
        self.rng = tx_rng_seed(self.keys[self.d])
        self.clear()
        return True

    cdef void clear(self) noexcept nogil:
        """No token is placed: counts 0, q = alpha, and a positive q in the padding too, where every row is 0."""
        cdef int64_t k
        cdef const float *alpha = &self.alphas[self.groups[self.d], 0]
        memset(self.counts, 0, self.width * 4)
        for k in range(self.width):
            self.alpha[k] = alpha[k] if k < self.topics else 1
            self.q[k] = self.alpha[k]

    cdef const float *row(self, int64_t i) noexcept nogil:
        """Of the document's word i."""
        return self.rows + self.doc[i] * self.width

    cdef void sweep(self, uint16_t *z, int64_t length, bint forward) noexcept nogil:
        """One Gibbs sweep over the first `length` tokens, first to last or last to first."""
        cdef int64_t i, j, old, new, width = self.width, chunks = width // 16, lines = min(chunks, 32)
        cdef const uint32_t *words = self.doc
        cdef const float *rows = self.rows
        cdef const float *alpha = self.alpha
        cdef float *q = self.q
        cdef int32_t *counts = self.counts
        cdef const float *row
        for j in range(length):
            i = j if forward else length - 1 - j
            if forward and i + TX_AHEAD < length:
                row = rows + words[i + TX_AHEAD] * width
                for new in range(lines):
                    tx_prefetch(row + 16 * new)
            if z[i] == TX_UNPLACED:
                old = -1
                new = lanes.draw(q, rows + words[i] * width, chunks, -1, 0, tx_rng_double(&self.rng), self.sums)
            else:
                old = z[i]
                new = lanes.draw(q, rows + words[i] * width, chunks, old, alpha[old] + <float> (counts[old] - 1),
                                 tx_rng_double(&self.rng), self.sums)
            if new != old:
                if old >= 0:
                    counts[old] -= 1
                    q[old] = alpha[old] + <float> counts[old]
                counts[new] += 1
                q[new] = alpha[new] + <float> counts[new]
                z[i] = <uint16_t> new

    cdef double joint(self, const uint16_t *z) noexcept nogil:
        """log p(w, z), token by token: the Pólya urn of z and the rows."""
        cdef int64_t i, k
        cdef double norm = 0, total = 0
        for k in range(self.topics):
            norm += self.alpha[k]
        memset(self.counts, 0, self.width * 4)
        for i in range(self.length):
            total += log((self.alpha[z[i]] + <double> self.counts[z[i]]) / (norm + i) * self.row(i)[z[i]])
            self.counts[z[i]] += 1
        return total

    cdef void restore(self, const uint16_t *z) noexcept nogil:
        """The counts of these topics."""
        cdef int64_t i, k
        memset(self.counts, 0, self.width * 4)
        for i in range(self.length):
            self.counts[z[i]] += 1
        for k in range(self.topics):
            self.q[k] = self.alpha[k] + <float> self.counts[k]


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


def sample_theta(const uint32_t[::1] words, const int64_t[::1] offsets, const uint64_t[::1] keys,
                 const float[:, ::1] rows, const float[:, ::1] alpha, const uint32_t[::1] groups, int64_t burn_in,
                 int64_t samples, int64_t lag, bint soft, float[:, ::1] theta, uint16_t[::1] z):
    """theta of every document: `burn_in` sweeps, then `samples` samples `lag` sweeps apart; soft: theta^p.

    words are numbers of rows; z is written (the last state). theta_dk = (mean n_dk + alpha_k) / (N_d + sum alpha).
    """
    cdef tx_sampling job
    cdef tx_walk walks[TX_WALKS]
    cdef Arena arena = Arena()
    cdef int64_t i, k, number = min(<int64_t> TX_WALKS, keys.shape[0])
    cdef float *weights
    cdef float *summed
    job.documents, job.topics, job.width = keys.shape[0], alpha.shape[1], rows.shape[1]
    job.step = <int64_t> sqrt(job.width // 16) + 1
    job.burn_in, job.samples, job.lag, job.soft = burn_in, samples, lag, soft
    if job.documents == 0:
        return
    job.words, job.z = &words[0] if words.shape[0] else NULL, &z[0] if z.shape[0] else NULL
    job.offsets, job.keys, job.rows = &offsets[0], &keys[0], &rows[0, 0] if rows.shape[0] else NULL
    job.alphas, job.groups, job.theta = &alpha[0, 0], &groups[0], &theta[0, 0]
    for i in range(number):
        walks[i].counts, walks[i].theta = arena.ints(job.width), arena.doubles(job.width)
        walks[i].alpha, walks[i].q = arena.floats(job.width), arena.floats(job.width)
        walks[i].sums = arena.floats(job.width + 16 * job.step)
        for k in range(job.width, job.width + 16 * job.step):
            walks[i].sums[k] = INFINITY
    weights, summed = arena.floats(4 * job.width), arena.floats(job.width)
    with nogil:
        lanes.sample(&job, walks, number, weights, summed)


def advance(const uint32_t[::1] words, const int64_t[::1] offsets, const uint64_t[::1] keys, const float[:, ::1] rows,
            const float[:, ::1] alpha, const uint32_t[::1] groups, int64_t sweeps, bint anew, uint16_t[::1] z):
    """`sweeps` more sweeps of every document's chain from the topics z, which change; anew: tokens have none yet."""
    cdef int64_t i
    cdef Walk at = Walk(words, offsets, keys, rows, alpha, groups)
    cdef uint16_t *topic
    with nogil:
        while at.next():
            if at.length > 0:
                topic = &z[at.offsets[at.d]]
                if anew:
                    for i in range(at.length):
                        topic[i] = TX_UNPLACED
                else:
                    at.restore(topic)
                for i in range(sweeps):
                    at.sweep(topic, at.length, True)


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


def score_documents(const uint32_t[::1] words, const int64_t[::1] offsets, const float[:, ::1] theta,
                    const float[:, ::1] rows, double[::1] result):
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
    cdef int64_t k, n, r, new
    cdef Walk at = Walk(words, offsets, keys, rows, alpha, groups)
    cdef double p, norm, total
    cdef double *means = at.arena.doubles(at.longest)
    cdef uint16_t *z = at.path()
    cdef const float *row
    with nogil:
        while at.next():
            memset(means, 0, at.length * sizeof(double))
            for r in range(particles):
                at.clear()
                norm = 0
                for k in range(at.topics):
                    norm += at.alpha[k]
                total = 0
                for n in range(at.length):
                    if resample:
                        at.sweep(z, n, True)
                    row = at.row(n)
                    p = 0
                    for k in range(at.topics):
                        p += <double> at.q[k] * row[k]
                    p /= norm + n
                    means[n] += p
                    total += log(p)
                    new = lanes.draw(at.q, row, at.width // 16, -1, 0, tx_rng_double(&at.rng), at.sums)
                    at.counts[new] += 1
                    at.q[new] = at.alpha[new] + <float> at.counts[new]
                    z[n] = <uint16_t> new
                sequential[at.d, r] = total
            averaged[at.d] = 0
            for n in range(at.length):
                averaged[at.d] += log(means[n] / particles)


cdef double chib_step(Walk at, const uint16_t *z, const uint16_t *mode) noexcept nogil:
    """log T(z -> z*), leaving z and its counts as they were.

    The sweep's counts run from those of z to those of z*; they are set back afterwards.
    """
    cdef int64_t i, k
    cdef double total = 0, sum, weight
    cdef const float *row
    for i in range(at.length):
        row = at.row(i)
        at.counts[z[i]] -= 1
        sum = 0
        for k in range(at.topics):
            sum += (at.alpha[k] + <double> at.counts[k]) * row[k]
        weight = (at.alpha[mode[i]] + <double> at.counts[mode[i]]) * row[mode[i]]
        total += log(weight / sum)
        at.counts[mode[i]] += 1
    at.restore(z)
    return total


cdef void climb(Walk at, uint16_t *z) noexcept nogil:
    """The best single changes until none helps."""
    cdef int64_t i, k, best, rounds = 0
    cdef double most, weight
    cdef bint changed = True
    while changed and rounds < 100:
        changed = False
        rounds += 1
        for i in range(at.length):
            at.counts[z[i]] -= 1
            best, most = z[i], (at.alpha[z[i]] + <double> at.counts[z[i]]) * at.row(i)[z[i]]
            for k in range(at.topics):
                weight = (at.alpha[k] + <double> at.counts[k]) * at.row(i)[k]
                if weight > most:
                    best, most, changed = k, weight, True
            at.counts[best] += 1
            z[i] = <uint16_t> best


def chib_likelihoods(const uint32_t[::1] words, const int64_t[::1] offsets, const uint64_t[::1] keys,
                     const float[:, ::1] rows, const float[:, ::1] alpha, const uint32_t[::1] groups, int64_t burn_in,
                     int64_t samples, double[::1] result):
    """log p(w) = log p(w, z*) - log p(z* | w) (Murray & Salakhutdinov 2009; Wallach et al. 2009, section 4.2).

    z*: `burn_in` sweeps, then the best single changes until none helps. p(z* | w) is the mean of T(z^(s) -> z*) over a
    chain of `samples` states grown from z* itself, forwards and backwards from a position drawn at random.
    """
    cdef int64_t i, t, middle
    cdef Walk at = Walk(words, offsets, keys, rows, alpha, groups)
    cdef double top, log_mean
    cdef uint16_t *z = at.path()
    cdef uint16_t *mode = at.path()
    cdef uint16_t *copy = at.path()
    cdef double *logs = at.arena.doubles(samples)
    with nogil:
        while at.next():
            result[at.d] = 0
            if at.length == 0:
                continue
            for i in range(at.length):
                z[i] = TX_UNPLACED
            for t in range(burn_in):
                at.sweep(z, at.length, True)
            climb(at, z)
            memcpy(mode, z, 2 * at.length)
            # The chain of states around z*: position `middle` first, by one backward sweep from z*.
            middle = <int64_t> (tx_rng_double(&at.rng) * samples)
            at.restore(mode)
            at.sweep(z, at.length, False)
            memcpy(copy, z, 2 * at.length)
            logs[middle] = chib_step(at, z, mode)
            for t in range(middle + 1, samples):
                at.sweep(z, at.length, True)
                logs[t] = chib_step(at, z, mode)
            memcpy(z, copy, 2 * at.length)
            at.restore(z)
            for t in range(middle - 1, -1, -1):
                at.sweep(z, at.length, False)
                logs[t] = chib_step(at, z, mode)
            top = logs[0]
            for t in range(samples):
                top = max(top, logs[t])
            log_mean = 0
            for t in range(samples):
                log_mean += exp(logs[t] - top)
            log_mean = top + log(log_mean / samples)
            result[at.d] = at.joint(mode) - log_mean
