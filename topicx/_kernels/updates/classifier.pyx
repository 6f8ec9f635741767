"""Classifiers over topic shares: the augmentation of a loss, and the weights eta given it.

A document d has shares n_dk / N_d and, for each task c, a score s = eta_c . shares + bias_c. A loss to the power of its
weight lambda is a mixture of parabolas in s: log f = b s - curve s^2 / 2 given the mixing variable. Kept is pull =
b - curve s, which says where the score is drawn to and cancels nothing where curve is large.

    hinge     exp(-2 lambda max(0, 1 - y s)):          xi ~ IG(1 / (lambda |1 - y s|), 1)           (eq. 10, 14)
              curve = lambda^2 xi, b = lambda y (1 + lambda xi)
    epsilon   exp(-2 lambda max(0, |y - s| - epsilon)): two hinges, of y - s - epsilon and s - y - epsilon
    logistic  (1 + exp(-y s))^-lambda:                 omega ~ PG(lambda, s), curve = omega, b = lambda y / 2
              (Polson, Scott & Windle 2013)

eq. numbers: Zheng, Yu & Xing 2015. Weights: normal with precision nu; one after another given the others (eq. 23, 24),
the documents' pull kept up to date, which costs an entry of n_dk a task; or all together (eq. 22).
"""

from libc.math cimport fabs, log, sqrt
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from topicx._kernels.gibbs.cell cimport Arena
from topicx._kernels.gibbs.factor cimport tx_factor, tx_factor_choose
from topicx._kernels.base.rng cimport tx_key, tx_rng, tx_rng_seed

cdef extern from "polya.h" nogil:
    ctypedef struct tx_polya:
        double shape
        double start
        double step
        int64_t points
        const double *at

    double tx_normal(tx_rng *rng) noexcept
    double tx_wald(tx_rng *rng, double a) noexcept
    double tx_polya_draw(tx_rng *rng, const tx_polya *table, double z) noexcept

cdef enum:
    HINGE = 0
    EPSILON = 1
    LOGISTIC = 2

losses = {"hinge": HINGE, "epsilon": EPSILON, "logistic": LOGISTIC}
"""The numbers of the losses."""


def draw_inverse_gaussians(double a, int64_t n, uint64_t key, double[::1] out) -> None:
    """n inverse Gaussian variates of mean 1 / a and shape 1 (what tests look at)."""
    cdef tx_rng rng = tx_rng_seed(key)
    cdef int64_t i
    for i in range(n):
        out[i] = tx_wald(&rng, a)


cdef inline tx_polya polya_table(double shape, const double[:, ::1] table, double smallest,
                                 double largest) noexcept nogil:
    """A table of `topicx.sampling.updates.polya_gamma`, from smallest to largest w / shape."""
    cdef tx_polya found
    found.shape = shape
    found.points = table.shape[0]
    found.start = log(smallest * shape)
    found.step = log(largest / smallest) / (found.points - 1)
    found.at = &table[0, 0]
    return found


def draw_polya_gammas(double shape, double z, const double[:, ::1] table, double smallest, double largest, uint64_t key,
                      double[::1] out) -> None:
    """Polya-Gamma variates (what tests look at)."""
    cdef tx_rng rng = tx_rng_seed(key)
    cdef tx_polya found = polya_table(shape, table, smallest, largest)
    cdef int64_t i
    for i in range(out.shape[0]):
        out[i] = tx_polya_draw(&rng, &found, z)


def document_scores(const int64_t[::1] indptr, const uint16_t[::1] topics, const float[::1] shares,
                    const double[:, ::1] eta, int64_t begin, int64_t end, double[:, ::1] out) -> None:
    """s of the documents begin to end, a row each: eta has a row per topic, and one more for the bias."""
    cdef int64_t width = out.shape[1], K = eta.shape[0] - 1, d, i, c
    with nogil:
        for d in range(begin, end):
            for c in range(width):
                out[d - begin, c] = eta[K, c]
            for i in range(indptr[d], indptr[d + 1]):
                for c in range(width):
                    out[d - begin, c] += shares[i] * eta[topics[i], c]


def draw_mixing_variables(int loss, const double[:, ::1] score, const float[:, ::1] targets,
                          const double[::1] weight_up, const double[::1] weight_down, const uint8_t[::1] supervised,
                          double epsilon, int64_t begin, uint64_t key, float[:, ::1] pull, float[:, ::1] curve,
                          const double[:, :, ::1] tables, const int64_t[:, ::1] table_of, double smallest,
                          double largest) -> None:
    """Draw the mixing variables of the documents that `score` has, from `begin` on: their pull and curve.

    targets: +1 or -1 of each task (or numbers, for epsilon). weight_up and weight_down: lambda of a task's documents
    with target above 0 and others. A stream a document. tables and table_of (logistic): the tables of the shapes, and
    which one each task's documents with target above 0 (a row) and others (the next) have.
    """
    cdef int64_t tasks = targets.shape[1], i, d, c
    cdef tx_polya table
    cdef double s, y, a, lam, xi, other
    cdef tx_rng rng
    with nogil:
        for i in range(score.shape[0]):
            d = begin + i
            if not supervised[d]:
                continue
            rng = tx_rng_seed(tx_key(key, <uint64_t> d))
            for c in range(tasks):
                s, y = score[i, c], targets[d, c]
                lam = weight_up[c] if y > 0 else weight_down[c]
                if loss == HINGE:
                    xi = tx_wald(&rng, lam * fabs(1 - y * s))
                    curve[d, c] = <float> (lam * lam * xi)
                    pull[d, c] = <float> (lam * y + lam * lam * xi * (y - s))
                elif loss == LOGISTIC:
                    table = polya_table(lam, tables[table_of[0 if y > 0 else 1, c]], smallest, largest)
                    xi = tx_polya_draw(&rng, &table, s)
                    curve[d, c] = <float> xi
                    pull[d, c] = <float> (lam * y / 2 - xi * s)
                else:
                    xi = tx_wald(&rng, lam * fabs(y - s - epsilon))
                    other = tx_wald(&rng, lam * fabs(s - y - epsilon))
                    curve[d, c] = <float> (lam * lam * (xi + other))
                    pull[d, c] = <float> (lam * lam * (xi * (y - epsilon - s) + other * (y + epsilon - s)))


def gibbs_weights(const int64_t[::1] indptr, const uint32_t[::1] docs, const float[::1] shares, const double[::1] nu,
                  int rounds, uint64_t key, int64_t c0, int64_t c1, float[:, ::1] pull, const float[:, ::1] curve,
                  double[:, ::1] eta) -> None:
    """Renew eta of the tasks c0 to c1, one weight after another, `rounds` times; pull follows.

    indptr, docs, shares: the documents of each topic and their shares of it (the last row: the bias, where it is to be
    had). nu: the prior precision of each row of eta. A stream a task.
    """
    cdef int64_t rows = indptr.shape[0] - 1, width = pull.shape[1], k, c, at, n
    cdef int r
    cdef double tau, fresh
    cdef Arena arena = Arena()
    cdef double *linear = arena.doubles(width)
    cdef double *precision = arena.doubles(width)
    cdef float *change = arena.floats(width)
    cdef tx_rng *rngs = <tx_rng *> arena.take((c1 - c0) * sizeof(tx_rng))
    cdef const tx_factor *loops = tx_factor_choose()
    with nogil:
        for c in range(c0, c1):
            rngs[c - c0] = tx_rng_seed(tx_key(key, <uint64_t> c))
        for r in range(rounds):
            for k in range(rows):
                at, n = indptr[k], indptr[k + 1] - indptr[k]
                if n == 0 and k == rows - 1:
                    continue  # no bias
                loops.weight_sums(&docs[0] + at, &shares[0] + at, n, &pull[0, 0], &curve[0, 0], width, c0, c1, linear,
                                  precision)
                for c in range(c0, c1):
                    tau = nu[k] + precision[c]
                    fresh = (linear[c] + precision[c] * eta[k, c]) / tau + tx_normal(&rngs[c - c0]) / sqrt(tau)
                    change[c] = <float> (fresh - eta[k, c])
                    eta[k, c] = fresh
                loops.weight_change(&docs[0] + at, &shares[0] + at, n, &pull[0, 0], &curve[0, 0], width, c0, c1,
                                    change)


def full_weights(const int64_t[::1] indptr, const uint16_t[::1] topics, const float[::1] shares,
                 const double[::1] nu, bint bias, int64_t task, uint64_t key, float[:, ::1] pull,
                 const float[:, ::1] curve, double[:, ::1] eta) -> None:
    """Renew eta of one task, all weights together: N(mu, Xi^-1) with Xi = nu I + sum_d curve_d x_d x_d' and
    mu = eta + Xi^-1 (sum_d pull_d x_d - nu eta); x_d: the shares of document d, and 1 for the bias.
    """
    cdef int64_t D = indptr.shape[0] - 1, K = eta.shape[0] - (0 if bias else 1), d, i, j, k, n
    cdef double x, v, r, s
    cdef tx_rng rng = tx_rng_seed(tx_key(key, <uint64_t> task))
    cdef Arena arena = Arena()
    cdef double *xi = arena.doubles(K * K)  # the lower half, then its Cholesky factor
    cdef double *g = arena.doubles(K)
    cdef double *row = arena.doubles(K)
    cdef double *noise = arena.doubles(K)
    with nogil:
        for i in range(K):
            g[i] = -nu[i] * eta[i, task]
            for j in range(K):
                xi[i * K + j] = nu[i] if i == j else 0
        for d in range(D):
            v, r = curve[d, task], pull[d, task]
            for i in range(indptr[d], indptr[d + 1]):
                k = topics[i]
                g[k] += shares[i] * r
                x = shares[i] * v
                for j in range(indptr[d], i + 1):  # topics ascend within a document
                    xi[k * K + topics[j]] += x * shares[j]
            if bias:
                g[K - 1] += r
                for j in range(indptr[d], indptr[d + 1]):
                    xi[(K - 1) * K + topics[j]] += v * shares[j]
                xi[K * K - 1] += v
        for i in range(K):
            for j in range(i + 1):
                s = xi[i * K + j]
                for n in range(j):
                    s -= xi[i * K + n] * xi[j * K + n]
                xi[i * K + j] = sqrt(s) if i == j else s / xi[j * K + j]
        for i in range(K):  # L y = g
            s = g[i]
            for n in range(i):
                s -= xi[i * K + n] * g[n]
            g[i] = s / xi[i * K + i]
            noise[i] = tx_normal(&rng)
        for i in range(K - 1, -1, -1):  # L' x = y + noise
            s = g[i] + noise[i]
            for n in range(i + 1, K):
                s -= xi[n * K + i] * row[n]
            row[i] = s / xi[i * K + i]
        for d in range(D):
            s = row[K - 1] if bias else 0
            for i in range(indptr[d], indptr[d + 1]):
                s += shares[i] * row[topics[i]]
            pull[d, task] -= <float> (curve[d, task] * s)
        for k in range(K):
            eta[k, task] += row[k]
