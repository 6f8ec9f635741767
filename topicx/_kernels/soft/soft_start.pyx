"""The kernels of a soft start: CVB0 for a few sweeps, as fast as it may be, and topics drawn from what it has found.

    γ ∝ (α + n_dk)(β + n_kw) / (B + n_k)        Asuncion et al. 2009 (zero-order CVB)

with n_dk and n_kw without the token. What departs from `soft.pyx`, which has CVB0 as its authors have it:

- n_k stands still while a document's pairs of a block are renewed, and has the token in it: it is in the thousands.
- An assignment takes two bytes, the upper half of a float: 8 bits of precision, and no padding is saved. Counts are
  those of the rounded numbers.
- Counts are not summed anew. What single precision loses in some tens of sweeps is far below what drawing topics does.

The order of every sum is fixed: the same bits on every CPU.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from topicx._kernels.gibbs.cell cimport Arena
from topicx._kernels.soft.pairs cimport Pairs
from topicx._kernels.base.rng cimport tx_key, tx_rng, tx_rng_double, tx_rng_seed


cdef extern from "soft_start.h" nogil:
    ctypedef struct tx_opening:
        # Renew the assignments of a document's pairs; returns Σ c log(Σ γ before it was scaled); *moved: mass moved.
        double (*renew)(uint16_t *g, const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t Kp, float *nd,
                        float *nw, const float *alpha, const float *inverse, const float *beta, float *scratch,
                        double *moved) noexcept nogil
        # Add assignments to the counts of a document and of words.
        void (*count)(const uint16_t *g, const uint32_t *words, const uint32_t *counts, int64_t pairs, int64_t Kp,
                      float *nd, float *nw) noexcept nogil
        float (*narrow)(const float *row, uint16_t *out, int64_t Kp) noexcept nogil
        int64_t (*draw)(const uint16_t *row, int64_t Kp, double u) noexcept nogil

    const tx_opening *tx_opening_choose() noexcept

cdef const tx_opening *opening = tx_opening_choose()


def sweep_cell(Pairs pairs, const uint32_t[::1] docs, int64_t block, uint16_t[:, ::1] gamma, float[:, ::1] nd,
               float[:, ::1] nw, double[::1] totals, const float[:, ::1] alpha, const float[::1] beta, double beta_sum):
    """Renew the cell's assignments: (tokens' worth of probability moved, Σ log p(token | all the others) + the
    logarithms of the documents' normalisers). alpha: a padded row a group. totals: the cell's own copy."""
    cdef Arena arena = Arena()
    cdef int64_t i, k, d, first, last, K = pairs.topics, Kp = pairs.padded
    cdef float *here = arena.floats(Kp)  # nd of the document
    cdef float *inverse = arena.floats(Kp)
    cdef float *scratch = arena.floats(Kp)
    cdef double moved = 0, fit = 0
    with nogil:
        for i in range(docs.shape[0]):
            d = docs[i]
            first, last = pairs.first(d, block), pairs.first(d, block + 1)
            if first == last:
                continue
            for k in range(K):
                here[k] = nd[d, k]
                inverse[k] = <float> (1.0 / (max(totals[k], 0.0) + beta_sum))
            fit += opening.renew(&gamma[first, 0], &pairs.words[first], &pairs.counts[first], last - first, Kp, here,
                                 &nw[0, 0], &alpha[pairs.group(d), 0], inverse, &beta[0], scratch, &moved)
            for k in range(K):
                totals[k] += <double> here[k] - <double> nd[d, k]
                nd[d, k] = here[k]
    return moved, fit


def count_cell(Pairs pairs, const uint32_t[::1] docs, int64_t block, const uint16_t[:, ::1] gamma, float[:, ::1] nd,
               float[:, ::1] nw):
    """Add the cell's assignments to the counts."""
    cdef int64_t i, d, first, last
    with nogil:
        for i in range(docs.shape[0]):
            d = docs[i]
            first, last = pairs.first(d, block), pairs.first(d, block + 1)
            if first < last:
                opening.count(&gamma[first, 0], &pairs.words[first], &pairs.counts[first], last - first, pairs.padded,
                              &nd[d, 0], &nw[0, 0])


def take_rows(const float[:, ::1] rows, const uint32_t[::1] order, int64_t K, uint16_t[:, ::1] gamma, int64_t begin):
    """These padded rows, one after the other, become those of gamma from `begin` on. One that does not add up to 1 (α and
    β beyond what single precision holds) becomes all topics alike, for every number here is a probability."""
    cdef int64_t i, k
    cdef float sum
    cdef uint16_t *row
    cdef float[1] equal = [1.0 / <float> K]
    with nogil:
        for i in range(order.shape[0]):
            row = &gamma[begin + i, 0]
            sum = opening.narrow(&rows[order[i], 0], row, gamma.shape[1])
            if not 0.9 < sum < 1.1:
                for k in range(gamma.shape[1]):
                    row[k] = <uint16_t> ((<uint32_t *> equal)[0] >> 16) if k < K else 0


def draw_topics(const uint16_t[:, ::1] gamma, const uint32_t[::1] pair_words, const int64_t[::1] pair_offsets,
                const uint32_t[::1] words, const int64_t[::1] offsets, int64_t first, int64_t last, int64_t n_words,
                uint64_t key, uint16_t[::1] z):
    """z of the tokens (in the order of the text) of documents first to last, each drawn from the probabilities of its
    pair, independently of the others. The pairs of a document may be in any order. Every document has a stream of its
    own, so that any documents may be drawn at the same time."""
    cdef Arena arena = Arena()
    cdef uint32_t *place = arena.words(n_words)  # of a word of the document: which of its pairs
    cdef tx_rng rng
    cdef int64_t d, i, Kp = gamma.shape[1]
    with nogil:
        for d in range(first, last):
            rng = tx_rng_seed(tx_key(key, <uint64_t> d))
            for i in range(pair_offsets[d], pair_offsets[d + 1]):
                place[pair_words[i]] = <uint32_t> (i - pair_offsets[d])
            for i in range(offsets[d], offsets[d + 1]):
                z[i] = <uint16_t> opening.draw(&gamma[pair_offsets[d] + place[words[i]], 0], Kp, tx_rng_double(&rng))
