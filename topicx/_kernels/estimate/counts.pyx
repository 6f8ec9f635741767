"""Counts of topics per row (a row is a document, or a word's tokens), in linear time and memory.

A row's topics are collected in a scratch array of K counters and a list of the topics met, then sorted (or, where they
are many, read off the counters); so the cost of a row is its tokens, never K.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t

from topicx._kernels.gibbs.cell cimport UNPLACED, Arena
from topicx._kernels.base.sorting cimport sort_topics

cdef enum:
    DENSE = 8  # of so many topics one in a row, and more: looking at all is quicker than sorting


cdef inline int64_t tally(const uint16_t[::1] z, int64_t begin, int64_t end, int64_t *counter,
                          uint16_t *met) noexcept nogil:
    """Counts the topics of these tokens in counters that are zero; returns how many are met, and writes one beyond."""
    cdef int64_t i, n = 0
    for i in range(begin, end):
        if z[i] != UNPLACED:
            met[n] = z[i]
            n += counter[z[i]] == 0  # no branch: whether a topic is new is hard to foretell
            counter[z[i]] += 1
    return n


def count_rows(const uint16_t[::1] z, const int64_t[::1] offsets, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t topics,
               int64_t[::1] distinct, uint16_t[::1] columns, int64_t[::1] values) -> int:
    """The topics of each of these rows, ascending, and how often each occurs; returns how many there are in all.

    columns and values have room for an entry a token; distinct[r - begin] is the number of row r's.
    """
    cdef Py_ssize_t row
    cdef int64_t i, j, at = 0, first
    cdef Arena arena = Arena()
    cdef int64_t *counter = arena.longs(topics + 1)
    cdef uint16_t *met = <uint16_t *> arena.room((topics + 1) * sizeof(uint16_t))
    with nogil:
        for row in range(begin, end):
            first = at
            at += tally(z, offsets[row], offsets[row + 1], counter, met)
            if DENSE * (at - first) >= topics:
                j = 0
                for i in range(topics):
                    met[j] = <uint16_t>i
                    j += counter[i] != 0
                    if j == at - first:
                        break
            elif at - first > 1:
                sort_topics(met, at - first)
            for j in range(first, at):
                columns[j] = met[j - first]
                values[j] = counter[columns[j]]
                counter[columns[j]] = 0
            distinct[row - begin] = at - first
    return at


def count_counts(const uint16_t[::1] z, const int64_t[::1] offsets, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t topics,
                 int64_t[::1] times, int64_t[::1] lengths):
    """times[n] += how many topics occur n > 0 times in one of these rows; lengths[r - begin] = the tokens placed in r."""
    cdef Py_ssize_t row
    cdef int64_t j, n, count
    cdef Arena arena = Arena()
    cdef int64_t *counter = arena.longs(topics + 1)
    cdef uint16_t *met = <uint16_t *> arena.room((topics + 1) * sizeof(uint16_t))
    with nogil:
        for row in range(begin, end):
            n = tally(z, offsets[row], offsets[row + 1], counter, met)
            lengths[row - begin] = 0
            for j in range(n):
                count = counter[met[j]]
                times[count] += 1
                lengths[row - begin] += count
                counter[met[j]] = 0


def representative_shares(const uint16_t[::1] z, const int64_t[::1] offsets, Py_ssize_t begin, Py_ssize_t end,
                          Py_ssize_t paths, const double[:, ::1] alpha, const uint32_t[::1] groups,
                          const int64_t[::1] lengths, const double[::1] alpha_sum, double shortest,
                          const double[::1] least, int64_t[::1] documents, uint16_t[::1] topics,
                          double[::1] shares) -> int:
    """θ of these documents in the topics that they have, but for documents with fewer tokens than `shortest` and shares
    below the topic's `least`; returns how many are left. Of several paths θ is that of their mean counts."""
    cdef Py_ssize_t d
    cdef int64_t j, n, at = 0, group
    cdef double share
    cdef Arena arena = Arena()
    cdef int64_t *counter = arena.longs(alpha.shape[1] + 1)
    cdef uint16_t *met = <uint16_t *> arena.room((alpha.shape[1] + 1) * sizeof(uint16_t))
    with nogil:
        for d in range(begin, end):
            if lengths[d] < shortest:
                continue
            group = groups[d] if groups.shape[0] > 0 else 0
            n = tally(z, offsets[d], offsets[d + 1], counter, met)
            for j in range(n):
                share = <double> counter[met[j]] / <double> paths + alpha[group, met[j]]
                share /= <double> lengths[d] + alpha_sum[d]
                counter[met[j]] = 0
                if share >= least[met[j]]:
                    documents[at], topics[at], shares[at] = d, met[j], share
                    at += 1
    return at


def group_by_word(const uint32_t[::1] words, const uint16_t[::1] z, int64_t[::1] position, uint16_t[::1] grouped):
    """grouped = z in the order of word ids; `position` starts as the words' offsets and is used up."""
    cdef Py_ssize_t i, n = words.shape[0]
    with nogil:
        for i in range(n):
            grouped[position[words[i]]] = z[i]
            position[words[i]] += 1


def document_frequencies(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t[::1] last_seen,
                         int64_t[::1] frequencies):
    """frequencies[w] = documents in which word w occurs; `last_seen` starts as -1 everywhere."""
    cdef Py_ssize_t d
    cdef int64_t i
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                if last_seen[words[i]] != d:
                    last_seen[words[i]] = d
                    frequencies[words[i]] += 1


def add_word_counts(const uint32_t[::1] words, int64_t[::1] tokens):
    """Adds to tokens[w] how many of these are word w."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(words.shape[0]):
            tokens[words[i]] += 1


def add_topic_counts(const uint16_t[::1] z, int64_t[::1] tokens):
    """Adds to tokens[k] how many of these have topic k; those without one are left out."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(z.shape[0]):
            if z[i] != UNPLACED:
                tokens[z[i]] += 1
