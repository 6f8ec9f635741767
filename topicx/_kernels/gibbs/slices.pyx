"""Topics whose words differ by slice: the tokens of one slice, given a prior of each (word, topic); tables that a slice
hands to the one it comes from; and draws of its words, from which those of the next come.

    p(z = k) ∝ (n_dk + alpha_gk) (n_kw + p_kw) / (n_k + P_k),      p_kw = b_k m_kw + t_kw,    P_k = Σ_w p_kw

n counts the tokens of the slice without the token itself, m are the words of the slice before (or those common to all), b
says how closely they are followed, and t are the tables that the next slice hands back. A row has all topics of a
word, 16 at a time (slices_body.h); rows of words that no later slice has are not there, their sum is drawn alone.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from topicx._kernels.base.portable cimport tx_prefetch
from topicx._kernels.base.rng cimport tx_rng, tx_rng_double, tx_rng_seed
from topicx._kernels.gibbs.cell cimport UNPLACED, Arena, Cell, count_topics


cdef extern from "slices.h" nogil:
    ctypedef struct tx_slices:
        int64_t (*draw)(const float *q, const int32_t *row, const float *prior, int64_t chunks, double u,
                        float *scratch) noexcept nogil
    const tx_slices *tx_slices_choose() noexcept

cdef extern from "partial.h" nogil:
    double tx_log(double x) noexcept
    double tx_exp(double x) noexcept
    double tx_open(tx_rng *rng) noexcept
    double tx_gamma_from_one(tx_rng *rng, double a, double boost) noexcept

cdef enum:
    AHEAD = 4  # tokens between the prefetch of a row and its use

cdef const tx_slices *kernel = tx_slices_choose()
cdef uint64_t SPLIT = 0x9E3779B97F4A7C15
cdef double LEAST_SHAPE = 1e-14
cdef double VANISHES = 70  # a gamma variate of a shape below 1 is 0 where its logarithm is under -70


def sweep(Cell cell not None, const uint32_t[::1] documents, int64_t block, uint64_t key, const float[:, ::1] prior,
          int32_t[:, ::1] counts, const double[::1] base) -> int:
    """Draw every token of the cell once (see cell.pxd): `counts` and `prior` have a row a word, `base` is P_k."""
    cdef int64_t K = cell.totals.shape[0], width = counts.shape[1], chunks = width // 16
    cdef int64_t t, i, k, last, old, new, changed = 0
    cdef int32_t *row
    cdef uint16_t *z
    cdef const uint32_t *words
    cdef tx_rng rng = tx_rng_seed(key)
    if not cell.start(documents, block):
        return 0
    words = &cell.words[0]
    cdef int64_t *totals = &cell.totals[0]
    cdef const float *alpha = cell.prior
    cdef float *q = cell.arena.floats(width)
    cdef float *own = cell.arena.floats(width)
    cdef float *scratch = cell.arena.floats(width)
    cdef float *inverse = cell.arena.floats(width)
    with nogil:
        for k in range(K):
            inverse[k] = <float> (1.0 / (<double> totals[k] + base[k]))
        while cell.next():
            z, last = cell.z, cell.last
            memset(own, 0, width * 4)
            count_topics(z, cell.begin, cell.end, own)
            for k in range(K):
                q[k] = (own[k] + alpha[k]) * inverse[k]
            for t in range(cell.first, last):
                if t + AHEAD < last:
                    for i in range(min(chunks, 8)):
                        tx_prefetch(&prior[words[t + AHEAD], 16 * i])
                        tx_prefetch(&counts[words[t + AHEAD], 16 * i])
                row = &counts[words[t], 0]
                old = z[t]
                if old != UNPLACED:
                    row[old] -= 1
                    totals[old] -= 1
                    own[old] -= 1
                    inverse[old] = <float> (1.0 / (<double> totals[old] + base[old]))
                    q[old] = (own[old] + alpha[old]) * inverse[old]
                new = kernel.draw(q, row, &prior[words[t], 0], chunks, tx_rng_double(&rng), scratch)
                if new < 0:
                    new = 0 if old == UNPLACED else old
                row[new] += 1
                totals[new] += 1
                own[new] += 1
                inverse[new] = <float> (1.0 / (<double> totals[new] + base[new]))
                q[new] = (own[new] + alpha[new]) * inverse[new]
                changed += new != old
                z[t] = <uint16_t> new
    return changed


def count(const uint32_t[::1] words, const uint16_t[::1] z, int32_t[:, ::1] counts, int64_t[::1] totals):
    """Add all tokens that have a topic."""
    cdef int64_t i
    with nogil:
        for i in range(words.shape[0]):
            if z[i] != UNPLACED:
                counts[words[i], z[i]] += 1
                totals[z[i]] += 1


def find_entries(const int32_t[:, ::1] counts, int64_t rows, int64_t[::1] places, int64_t[::1] found) -> int:
    """Places (row times width plus topic) of the first rows that have a count, ascending, and the counts. Returns how many
    there are; only so many as there is room for are written."""
    cdef int64_t w, k, n = 0, width = counts.shape[1], room = places.shape[0]
    with nogil:
        for w in range(rows):
            for k in range(width):
                if counts[w, k] != 0:
                    if n < room:
                        places[n] = w * width + k
                        found[n] = counts[w, k]
                    n += 1
    return n


cdef inline double gamma_variate(tx_rng *rng, double a) noexcept nogil:
    """Gamma of shape a, scale 1; 0, where it is below e^-70."""
    cdef double u, level
    if a >= 1:
        return tx_gamma_from_one(rng, a, 1)
    if a < LEAST_SHAPE:
        return 0
    u = tx_open(rng)
    if u < 1 - VANISHES * a:  # and 1 - x <= exp(-x)
        return 0
    level = tx_log(u)
    if level < -VANISHES * a:
        return 0
    return tx_gamma_from_one(rng, a + 1, tx_exp(level / a))


def draw_gammas(const float[:, ::1] prior, const int32_t[:, ::1] counts, int64_t topics, int64_t begin, int64_t end,
                uint64_t key, float[:, ::1] out, double[::1] sums, double[::1] shapes):
    """out = gamma variates of shapes prior + counts, the rows from `begin` to `end`, each from a stream of its own; adds
    them, and their shapes, up by topic."""
    cdef int64_t w, k, n, i
    cdef double g
    cdef tx_rng rng
    cdef Arena arena = Arena()
    cdef double *shape = arena.doubles(topics)
    cdef int64_t *some = arena.longs(topics + 1)
    with nogil:
        for w in range(begin, end):
            rng = tx_rng_seed(key + SPLIT * (<uint64_t> w + 1))
            for k in range(topics):
                shape[k] = <double> prior[w, k] + <double> counts[w, k]
                shapes[k] += shape[k]
                out[w, k] = 0
            n = 0
            for k in range(topics):  # most words are of few topics: these are listed first, without a branch
                some[n] = k
                n += shape[k] >= LEAST_SHAPE
            for i in range(n):
                k = some[i]
                g = gamma_variate(&rng, shape[k])
                out[w, k] = <float> g
                sums[k] += g


def draw_gamma_each(const double[::1] shapes, uint64_t key, double[::1] out):
    """A gamma variate of each shape."""
    cdef int64_t k
    cdef tx_rng rng = tx_rng_seed(key)
    with nogil:
        for k in range(shapes.shape[0]):
            out[k] = gamma_variate(&rng, shapes[k])


def scale_rows(float[:, ::1] rows, const double[::1] factors, int64_t begin, int64_t end):
    """rows[:, k] *= factors[k], from `begin` to `end`."""
    cdef int64_t w, k
    with nogil:
        for w in range(begin, end):
            for k in range(factors.shape[0]):
                rows[w, k] = <float> (<double> rows[w, k] * factors[k])


def draw_tables(const int64_t[::1] own, const int64_t[::1] own_counts, const int64_t[::1] handed,
                const int64_t[::1] handed_counts, const float[:, ::1] base, const double[::1] scale, uint64_t key,
                int64_t[::1] places, int64_t[::1] customers, int64_t[::1] tables) -> int:
    """Tables of all customers of a slice, its tokens and what the next has handed it: both ascend by place (row times
    width plus topic). m = Σ_{l=1..n} Bernoulli(a / (a + l - 1)) with a = scale_k base_kw (Antoniak 1974). Returns
    how many places have customers."""
    cdef int64_t i = 0, j = 0, n = 0, width = base.shape[1], place, c, m, l, row, at = -1
    cdef double a
    cdef tx_rng rng = tx_rng_seed(key)
    with nogil:
        while i < own.shape[0] or j < handed.shape[0]:
            if j == handed.shape[0] or (i < own.shape[0] and own[i] < handed[j]):
                place, c = own[i], own_counts[i]
                i += 1
            elif i == own.shape[0] or handed[j] < own[i]:
                place, c = handed[j], handed_counts[j]
                j += 1
            else:
                place, c = own[i], own_counts[i] + handed_counts[j]
                i += 1
                j += 1
            row = place // width
            if row != at:
                at = row
                rng = tx_rng_seed(key + SPLIT * (<uint64_t> row + 1))
            a = scale[place - row * width] * <double> base[row, place - row * width]
            m = 1
            for l in range(1, c):
                m += tx_rng_double(&rng) * (a + <double> l) < a
            places[n] = place
            customers[n] = c
            tables[n] = m
            n += 1
    return n
