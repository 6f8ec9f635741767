"""SCVB0: CVB0 on minibatches of documents, with running averages of the counts (Foulds et al. 2013).

Rows of counts are padded to Kp = 16 ceil(K / 16) numbers. The arithmetic is in soft.h: no libm, a fixed order of every
sum, the same bits on every CPU.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np

from topicx._kernels.gibbs.cell cimport Arena
from topicx._kernels.base.rng cimport tx_rng, tx_rng_seed
from topicx._kernels.soft.soft_loops cimport tx_soft, tx_soft_choose
from topicx._kernels.base.special cimport digamma_gain

cdef const tx_soft *soft = tx_soft_choose()

cdef enum:
    SPLIT = 0x9E37  # keeps a word's stream apart from its neighbours'


cdef class Batch:
    """A minibatch at work, and the words' counts."""

    # -- its pairs
    cdef const uint32_t[::1] words
    cdef const uint32_t[::1] counts
    cdef const int64_t[::1] offsets
    """Those of document d: words[offsets[d] : offsets[d + 1]], and how many tokens each has."""

    # -- the counts and the priors, in padded rows
    cdef const float[:, ::1] nw
    cdef double scale
    """A row a word, and what all are multiplied by."""
    cdef const float[::1] weight
    """1 / (n_k + B)."""
    cdef const float[:, ::1] alpha
    cdef const uint32_t[::1] groups
    """α of each group, and each document's group (empty: all are in the first)."""
    cdef const float[::1] beta

    # -- the passes over a document
    cdef const double[::1] rates
    cdef int passes

    # -- what comes of it
    cdef float[:, ::1] keep
    """A row a pair, for the last pass."""
    cdef float[:, ::1] nd
    """A row a document, for its counts after it."""
    cdef const double[:, ::1] base
    """ψ(α)."""

    def __init__(self, *, words, counts, offsets, nw, scale, weight, alpha, groups, beta, rates, passes, keep, nd, base):
        self.words, self.counts, self.offsets = words, counts, offsets
        self.nw, self.scale, self.weight = nw, scale, weight
        self.alpha, self.groups, self.beta = alpha, groups, beta
        self.rates, self.passes, self.keep, self.nd, self.base = rates, passes, keep, nd, base


def scvb0_documents(Batch s, int64_t begin, int64_t end, double[:, ::1] gain) -> float:
    """The assignments of some documents of a minibatch given the words' counts.

    gain, if it has rows (one a group): ψ(α + n_dk) - ψ(α) is added. Returns Σ log p(w) in the last pass, up to the
    normaliser of θ, which the caller knows.
    """
    cdef int64_t d, p, k, Kp = s.nw.shape[1], K = s.base.shape[1], group, first, n, i
    cdef double fit = 0, fit_of
    cdef float length
    cdef Arena arena = Arena()
    cdef float *scratch = arena.floats(1 * Kp)
    cdef float *keep
    cdef double[:, ::1] wide = np.asarray(s.alpha)[:, :K].astype(np.float64)
    with nogil:
        for d in range(begin, end):
            first, n = s.offsets[d], s.offsets[d + 1] - s.offsets[d]
            group = s.groups[d] if s.groups.shape[0] > 0 else 0
            length = 0
            for i in range(first, first + n):
                length += <float> s.counts[i]
            for k in range(Kp):
                s.nd[d, k] = length / <float> K if k < K else 0
            if n == 0:
                continue
            for p in range(s.passes):
                keep = &s.keep[first, 0] if p + 1 == s.passes else NULL
                fit_of = soft.scvb0(&s.words[first], &s.counts[first], n, Kp, &s.nd[d, 0], &s.alpha[group, 0], length,
                                    &s.nw[0, 0], <float> s.scale, &s.beta[0], &s.weight[0], &s.rates[0],
                                    s.rates.shape[0], p * n, keep, scratch)
                if keep != NULL:
                    fit += fit_of
            if gain.shape[0] > 0:
                digamma_gain(&gain[group, 0], &wide[group, 0], &s.nd[d, 0], &s.base[group, 0], K)
    return fit


def distinct_words(const uint32_t[::1] words, int64_t[::1] seen, uint32_t[::1] distinct) -> int:
    """How many different words there are: they become the first of `distinct`, and seen[w], which was zero, how often
    w is there."""
    cdef int64_t i, number = 0
    with nogil:
        for i in range(words.shape[0]):
            if seen[words[i]] == 0:
                distinct[number] = words[i]
                number += 1
            seen[words[i]] += 1
    return number


def order_by_word(const uint32_t[::1] words, const uint32_t[::1] distinct, int64_t[::1] seen, int64_t[::1] starts,
                  int64_t[::1] order):
    """The places of each distinct word, in order: those of the i-th are order[starts[i] : starts[i + 1]]. seen[w], how
    often w is there, becomes zero."""
    cdef int64_t i, at = 0, size
    with nogil:
        for i in range(distinct.shape[0]):
            starts[i], size = at, seen[distinct[i]]
            seen[distinct[i]] = at
            at += size
        starts[distinct.shape[0]] = at
        for i in range(words.shape[0]):
            order[seen[words[i]]] = i
            seen[words[i]] += 1
        for i in range(distinct.shape[0]):
            seen[distinct[i]] = 0


def scvb0_words(const uint32_t[::1] distinct, const int64_t[::1] starts, const int64_t[::1] order, int64_t begin,
                int64_t end, const uint32_t[::1] counts, const float[:, ::1] keep, double factor, float[:, ::1] nw,
                double[::1] total):
    """nw[w] += factor Σ c γ for some of the minibatch's distinct words; total (padded) += Σ c γ."""
    cdef int64_t i, Kp = nw.shape[1]
    cdef Arena arena = Arena()
    cdef float *scratch = arena.floats(1 * Kp)
    with nogil:
        for i in range(begin, end):
            soft.gather(&nw[distinct[i], 0], &keep[0, 0], &order[starts[i]], &counts[0], starts[i + 1] - starts[i], Kp,
                        factor, &total[0], scratch)


def scale_rows(float[:, ::1] nw, double factor):
    """nw *= factor."""
    cdef int64_t w, k
    cdef float by = <float> factor
    with nogil:
        for w in range(nw.shape[0]):
            for k in range(nw.shape[1]):
                nw[w, k] *= by


def random_words(float[:, ::1] nw, int64_t K, const double[::1] frequency, uint64_t key):
    """A random start of the words' counts: word w's tokens spread at random over the topics."""
    cdef int64_t w, k
    cdef tx_rng rng
    with nogil:
        for w in range(nw.shape[0]):
            rng = tx_rng_seed(key + <uint64_t> SPLIT * (<uint64_t> w + 1))
            soft.random(&nw[w, 0], K, &rng)
            for k in range(K):
                nw[w, k] = <float> (frequency[w] * <double> nw[w, k])
