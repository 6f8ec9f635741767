"""The Dirichlet-multinomial regression of topics on what documents carry (Mimno & McCallum 2008): α_gk = exp(x_g·λ_k).

    log p(n | λ) = Σ_gk Σ_c h_gk(c) [log Γ(α_gk + c) - log Γ(α_gk)] - Σ_g Σ_N h_g(N) [log Γ(A_g + N) - log Γ(A_g)]

g is a group of documents with one row x_g of the design, A_g = Σ_k α_gk, h_gk(c) the number of the group's documents that
have c tokens of topic k, and h_g(N) the number that have N tokens. By log α_gk it has the derivative

    r_gk = α_gk (gain_gk - cost_g),    gain_gk = Σ_c h_gk(c) [ψ(α_gk + c) - ψ(α_gk)],    cost_g = Σ_N h_g(N) [ψ(A_g + N) - ψ(A_g)]

and by λ_k Σ_g x_g r_gk. The curvature is the block of topic k in Fisher's information, at the counts at hand:
Σ_g w_gk x_g x_g', w_gk = α_gk² max(gain'_gk - cost'_g, 0) with the falls of ψ' in the place of the rises of ψ. It is never
negative, as the second derivatives themselves may be.

A group costs its topics once and its distinct counts; groups are worked on piece by piece, and pieces are added up in their
order. The arithmetic is in special.h: no libm, the same bits on every machine.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memset

from topicx._kernels.base.special cimport special_map
from topicx._kernels.gibbs.cell cimport Arena

cdef enum:
    DIGAMMA = 0
    LGAMMA = 1
    TRIGAMMA = 2
    EXP = 5

cdef double FARTHEST = 60  # what |log α| is at most


cdef void predict(const double *x, const double *weights, int64_t terms, int64_t K, double *scratch,
                  double *out) noexcept nogil:
    """out = exp(x·λ) of each topic; weights: terms × K."""
    cdef int64_t j, k
    memset(scratch, 0, K * sizeof(double))
    for j in range(terms):
        if x[j] != 0:
            for k in range(K):
                scratch[k] += x[j] * weights[j * K + k]
    for k in range(K):
        scratch[k] = min(max(scratch[k], -FARTHEST), FARTHEST)
    special_map(out, scratch, EXP, K)


def priors_of_groups(const double[:, ::1] design, const double[:, ::1] weights, double[:, ::1] out):
    """out[g, k] = exp(x_g·λ_k); weights: terms × topics."""
    cdef int64_t g, K = weights.shape[1], terms = weights.shape[0]
    cdef Arena arena = Arena()
    cdef double *scratch = arena.doubles(K)
    with nogil:
        for g in range(design.shape[0]):
            predict(&design[g, 0], &weights[0, 0], terms, K, scratch, &out[g, 0])


def longest_group(const int64_t[::1] starts, int64_t begin, int64_t end) -> int:
    """The most entries that one of these groups has."""
    cdef int64_t g, most = 1
    for g in range(begin, end):
        most = max(most, starts[g + 1] - starts[g])
    return most


def add_log_density(const double[:, ::1] design, const double[:, ::1] weights, const int64_t[::1] starts,
                    const uint16_t[::1] topics, const int64_t[::1] counts, const int64_t[::1] times,
                    const int64_t[::1] length_starts, const int64_t[::1] lengths, const int64_t[::1] length_times,
                    int64_t begin, int64_t end, double[:, ::1] gradient, double[:, ::1] curvature) -> float:
    """log p of these groups. gradient, terms × topics, and curvature, pairs of terms (j, i ≤ j) × topics, are added to; a
    curvature without rows is not asked for."""
    cdef int64_t g, j, i, k, pair, K = weights.shape[1], terms = weights.shape[0]
    cdef int64_t most = max(longest_group(starts, begin, end), longest_group(length_starts, begin, end))
    cdef bint curved = curvature.shape[0] > 0
    cdef double total = 0, whole, cost, fall, scale
    cdef Arena arena = Arena()
    cdef double *alpha = arena.doubles(K)
    cdef double *gain = arena.doubles(K)
    cdef double *falls = arena.doubles(K)
    cdef double *near = arena.doubles(most)
    cdef double *far = arena.doubles(most)
    cdef double *low = arena.doubles(most)
    cdef double *high = arena.doubles(most)
    with nogil:
        for g in range(begin, end):
            predict(&design[g, 0], &weights[0, 0], terms, K, gain, alpha)
            whole = 0
            for k in range(K):
                whole += alpha[k]
            memset(gain, 0, K * sizeof(double))
            memset(falls, 0, K * sizeof(double))
            i = 0
            for j in range(starts[g], starts[g + 1]):
                near[i] = alpha[topics[j]]
                far[i] = near[i] + <double> counts[j]
                i += 1
            total += rises(near, far, low, high, &times[starts[g]], i, LGAMMA, &topics[starts[g]], NULL)
            rises(near, far, low, high, &times[starts[g]], i, DIGAMMA, &topics[starts[g]], gain)
            if curved:
                rises(near, far, low, high, &times[starts[g]], i, TRIGAMMA, &topics[starts[g]], falls)
            i = 0
            for j in range(length_starts[g], length_starts[g + 1]):
                near[i] = whole
                far[i] = whole + <double> lengths[j]
                i += 1
            total -= rises(near, far, low, high, &length_times[length_starts[g]], i, LGAMMA, NULL, NULL)
            cost = rises(near, far, low, high, &length_times[length_starts[g]], i, DIGAMMA, NULL, NULL)
            for k in range(K):
                gain[k] = alpha[k] * (gain[k] - cost)
            for j in range(terms):
                if design[g, j] != 0:
                    for k in range(K):
                        gradient[j, k] += design[g, j] * gain[k]
            if curved:
                fall = -rises(near, far, low, high, &length_times[length_starts[g]], i, TRIGAMMA, NULL, NULL)
                for k in range(K):
                    falls[k] = alpha[k] * alpha[k] * max(-falls[k] - fall, 0.0)
                pair = 0
                for j in range(terms):
                    for i in range(j + 1):
                        scale = design[g, j] * design[g, i]
                        if scale != 0:
                            for k in range(K):
                                curvature[pair, k] += scale * falls[k]
                        pair += 1
    return total


cdef double rises(const double *near, const double *far, double *low, double *high, const int64_t *times, int64_t n,
                  int which, const uint16_t *topics, double *into) noexcept nogil:
    """Σ times (f(far) - f(near)) of a special function, in the order of the entries; each also into its topic's sum."""
    cdef int64_t i
    cdef double rise, total = 0
    if n == 0:
        return 0
    special_map(low, near, which, n)
    special_map(high, far, which, n)
    for i in range(n):
        rise = <double> times[i] * (high[i] - low[i])
        total += rise
        if into != NULL:
            into[topics[i]] += rise
    return total


# ---- small symmetric systems, one a topic ---------------------------------------------------------------------------

def factor_cholesky(const double[:, ::1] packed, double[:, :, ::1] lower):
    """Cholesky factors L of each topic's matrix, which is packed as `curvature` is; lower: topics × terms × terms."""
    cdef int64_t k, i, j, m, terms = lower.shape[1]
    cdef double x
    with nogil:
        for k in range(lower.shape[0]):
            for j in range(terms):
                for i in range(j + 1):
                    x = packed[j * (j + 1) // 2 + i, k]
                    for m in range(i):
                        x -= lower[k, j, m] * lower[k, i, m]
                    if i == j:
                        # What rounding makes of a direction that is hardly held is a small number, not a negative one.
                        lower[k, j, j] = sqrt(max(x, 1e-12 * packed[j * (j + 1) // 2 + j, k] + 1e-300))
                    else:
                        lower[k, j, i] = x / lower[k, i, i]
                for i in range(j + 1, terms):
                    lower[k, j, i] = 0


def solve_cholesky(const double[:, :, ::1] lower, double[:, ::1] x, int both):
    """x[k] = (L_k L_k')^-1 x[k] (both = 1), or L_k'^-1 x[k]; x: topics × terms."""
    cdef int64_t k, i, j, terms = lower.shape[1]
    with nogil:
        for k in range(lower.shape[0]):
            if both:
                for j in range(terms):
                    for i in range(j):
                        x[k, j] -= lower[k, j, i] * x[k, i]
                    x[k, j] /= lower[k, j, j]
            for j in range(terms - 1, -1, -1):
                for i in range(j + 1, terms):
                    x[k, j] -= lower[k, i, j] * x[k, i]
                x[k, j] /= lower[k, j, j]


def multiply_by_factor(const double[:, :, ::1] lower, const double[:, ::1] x, double[:, ::1] out):
    """out[k] = L_k' x[k]; topics × terms."""
    cdef int64_t k, i, j, terms = lower.shape[1]
    cdef double total
    with nogil:
        for k in range(lower.shape[0]):
            for j in range(terms):
                total = 0
                for i in range(j, terms):
                    total += lower[k, i, j] * x[k, i]
                out[k, j] = total
