"""How many tables: the Chinese restaurant process's number of tables given customers and concentration, drawn exactly.

    P(m | n, a) = S(n, m) a^m Γ(a) / Γ(a + n),      m = Σ_{l=1..n} Bernoulli(a / (a + l - 1))

(Antoniak 1974; George, Xia & Michailidis 2019, eq. 12-15; S: unsigned Stirling numbers of the first kind). The n
Bernoulli draws are not made. After a table has been opened, the chance that none of the customers up to i opens the next
is a product of l / (a + l), which is tabulated once for each (group, topic), as all documents of a group share a. The
next customer who opens a table is found by inversion: one uniform number and a search in that table; so a draw takes as
many numbers as it has tables, and for a count that is large beside a nearly all of them end at the first. (Only the first
7a customers, of whom many open one, are asked one by one: that is faster.)

Only sums over documents are needed for the posterior of a group's proportions; what they and the derivatives of the
Dirichlet-multinomial depend on is c_l, the number of documents of a group with at least l tokens of the topic:

    Σ_d log Γ(a + n_d) / Γ(a) = Σ_l c_l log(a + l - 1)        and its derivative Σ_l c_l / (a + l - 1)

A document has a stream of its own, made of the key and its number: pieces and threads change nothing. No libm: the same
bits on every machine.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.math cimport INFINITY

from topicx._kernels.base.rng cimport tx_rng, tx_rng_double, tx_rng_seed


cdef extern from "partial.h" nogil:
    double tx_log(double x) noexcept
    double tx_exp(double x) noexcept
    double tx_open(tx_rng *rng) noexcept
    double tx_gamma(tx_rng *rng, double a, double vanishes) noexcept

cdef int64_t WHOLE = <int64_t> 1 << 40  # a single segment
cdef uint64_t SPLIT = 0x9E3779B97F4A7C15
cdef double SMALLEST = 1e-30
cdef double OFTEN = 7  # up to customer OFTEN a a table is opened so often that each is asked


cdef inline int64_t segment_of(double a) noexcept nogil:
    """Steps over which the chances of one table are multiplied without leaving what a double holds."""
    return WHOLE if a <= 16 else 32 if a <= 1048576 else 1


# ---- what the counts say --------------------------------------------------------------------------------------------

def largest_counts(const int64_t[::1] indptr, const uint16_t[::1] topics, const int64_t[::1] counts,
                   const uint32_t[::1] groups, int64_t[:, ::1] most):
    """most[g, k] = the largest count of topic k in a document of group g (no groups: all in the first)."""
    cdef int64_t d, i, g
    with nogil:
        for d in range(indptr.shape[0] - 1):
            g = groups[d] if groups.shape[0] > 0 else 0
            for i in range(indptr[d], indptr[d + 1]):
                if counts[i] > most[g, topics[i]]:
                    most[g, topics[i]] = counts[i]


def documents_with_at_least(const int64_t[::1] indptr, const uint16_t[::1] topics, const int64_t[::1] counts,
                            const uint32_t[::1] groups, int64_t K, const int64_t[::1] starts, int64_t[::1] number):
    """number[starts[g K + k] + l - 1] = c_l, the documents of group g with at least l tokens of topic k."""
    cdef int64_t d, i, g, cell
    with nogil:
        for d in range(indptr.shape[0] - 1):
            g = groups[d] if groups.shape[0] > 0 else 0
            for i in range(indptr[d], indptr[d + 1]):
                if counts[i] > 0:
                    number[starts[g * K + topics[i]] + counts[i] - 1] += 1
        for cell in range(starts.shape[0] - 1):
            for i in range(starts[cell + 1] - 2, starts[cell] - 1, -1):
                number[i] += number[i + 1]


def sum_rising_terms(const int64_t[::1] starts, const int64_t[::1] number, const double[::1] a, int power,
                     double[::1] out):
    """out = Σ_l c_l log(a + l - 1) (power 0), or Σ_l c_l (a + l - 1)^-power, of each cell."""
    cdef int64_t cell, l, n
    cdef double total, x
    with nogil:
        for cell in range(starts.shape[0] - 1):
            total = 0
            for l in range(starts[cell + 1] - starts[cell]):
                n = number[starts[cell] + l]
                x = a[cell] + <double> l
                total += <double> n * (tx_log(x) if power == 0 else 1 / x if power == 1 else 1 / (x * x))
            out[cell] = total


# ---- tables ---------------------------------------------------------------------------------------------------------

def chances_of_no_table(const int64_t[::1] starts, const double[::1] a, double[::1] closed):
    """closed[starts[cell] + i] = the chance that no customer of this segment up to number i (from 0) opens a table."""
    cdef int64_t cell, i, length
    cdef double product
    with nogil:
        for cell in range(starts.shape[0] - 1):
            length = segment_of(a[cell])
            product = 1
            if starts[cell] < starts[cell + 1]:
                closed[starts[cell]] = 0  # the first always does
            for i in range(1, starts[cell + 1] - starts[cell]):
                if (i - 1) % length == 0:
                    product = 1
                product *= <double> i / (a[cell] + <double> i)
                closed[starts[cell] + i] = product


cdef inline int64_t tables_of(const double *closed, int64_t n, double a, int64_t length, tx_rng *rng) noexcept nogil:
    """The number of tables of n customers."""
    cdef int64_t m = 1, at, end, low, high, middle, leap, likely
    cdef double level
    if n == 0:
        return 0
    likely = n - 1 if OFTEN * a >= <double> (n - 1) else <int64_t> (OFTEN * a)
    for at in range(1, likely + 1):
        m += tx_rng_double(rng) * (a + <double> at) < a
    at = likely
    while at < n - 1:  # customers 0 .. at are seated
        end = min(at - at % length + length, n - 1)
        level = tx_rng_double(rng)
        if at % length > 0:
            level *= closed[at]
        if level < closed[end]:
            at = end
            continue
        low, high, leap = at, at + 1, 1  # closed[low] > level >= closed[high] is sought, from near to far
        while level < closed[high]:
            low = high
            leap *= 2
            high = min(high + leap, end)
        while high - low > 1:
            middle = (low + high) // 2
            if level < closed[middle]:
                low = middle
            else:
                high = middle
        m += 1
        at = high
    return m


def draw_tables(const int64_t[::1] indptr, const uint16_t[::1] topics, const int64_t[::1] counts,
                const uint32_t[::1] groups, int64_t begin, int64_t end, int64_t K, const int64_t[::1] starts,
                const double[::1] a, const double[::1] closed, uint64_t key, int64_t[:, ::1] sums, int64_t[::1] each):
    """The tables of these documents: added up by group and topic, and one by one in `each`, if it is not empty."""
    cdef int64_t d, i, g, m, cell
    cdef tx_rng rng
    with nogil:
        for d in range(begin, end):
            g = groups[d] if groups.shape[0] > 0 else 0
            rng = tx_rng_seed(key + SPLIT * (<uint64_t> d + 1))
            for i in range(indptr[d], indptr[d + 1]):
                cell = g * K + topics[i]
                m = tables_of(&closed[starts[cell]], counts[i], a[cell], segment_of(a[cell]), &rng)
                sums[g, topics[i]] += m
                if each.shape[0] > 0:
                    each[i] = m


# ---- proportions ----------------------------------------------------------------------------------------------------

cdef double log_gamma_variate(tx_rng *rng, double a) noexcept nogil:
    """The logarithm of a gamma variate, however small: Gamma(a) = Gamma(a + 1) U^(1/a)."""
    cdef double boost = 0
    if a < 1:
        boost = tx_log(tx_open(rng)) / a
        a += 1
    return tx_log(tx_gamma(rng, a, 0)) + boost


def draw_log_gammas(const double[::1] shapes, uint64_t key, double[::1] out):
    """Logarithms of gamma variates of these shapes (scale 1)."""
    cdef int64_t i
    cdef tx_rng rng = tx_rng_seed(key)
    with nogil:
        for i in range(shapes.shape[0]):
            out[i] = log_gamma_variate(&rng, shapes[i])


def draw_concentration_auxiliaries(const int64_t[::1] customers, double value, uint64_t key):
    """What makes the posterior of a concentration a gamma (Teh et al. 2006, Appendix A): Σ log w with
    w ~ Beta(value + 1, n) for each restaurant of n customers, and how many of s ~ Bernoulli(n / (n + value)) are 1."""
    cdef int64_t i, taken = 0
    cdef double n, low, high, swap, total = 0
    cdef tx_rng rng = tx_rng_seed(key)
    with nogil:
        for i in range(customers.shape[0]):
            n = <double> customers[i]
            low = log_gamma_variate(&rng, value + 1)
            high = log_gamma_variate(&rng, n)
            total += low
            if low > high:
                swap = low
                low = high
                high = swap
            total -= high + tx_log(1 + tx_exp(low - high))
            taken += tx_rng_double(&rng) * (n + value) < n
    return total, taken


def draw_dirichlet_rows(const double[:, ::1] shapes, uint64_t key, double[:, ::1] out):
    """A draw from the Dirichlet of each row. A share below 1e-30 is 1e-30: priors must be above 0."""
    cdef int64_t row, k
    cdef double most, total
    cdef tx_rng rng
    with nogil:
        for row in range(shapes.shape[0]):
            rng = tx_rng_seed(key + SPLIT * (<uint64_t> row + 1))
            most = -INFINITY
            for k in range(shapes.shape[1]):
                out[row, k] = log_gamma_variate(&rng, shapes[row, k])
                most = max(most, out[row, k])
            total = 0
            for k in range(shapes.shape[1]):
                out[row, k] = tx_exp(out[row, k] - most)
                total += out[row, k]
            for k in range(shapes.shape[1]):
                out[row, k] = max(out[row, k] / total, SMALLEST)
