"""From soft assignments to topics: every token's is drawn from the probabilities of its pair.

A pair is a distinct word of a document (`soft.pyx`); its tokens are drawn independently of each other. Every document has
a stream of its own, so that any documents may be drawn at the same time.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

from topicx._kernels.cell cimport Arena
from topicx._kernels.rng cimport tx_key, tx_rng, tx_rng_double, tx_rng_seed


def draw(const float[::1] gamma, int64_t K, const uint32_t[::1] pair_words, const int64_t[::1] pair_offsets,
         const uint32_t[::1] words, const int64_t[::1] offsets, int64_t first, int64_t last, int64_t n_words,
         uint64_t key, uint16_t[::1] z):
    """z of the tokens (in the order of the text) of documents first to last. gamma: K numbers a pair, which add up to 1;
    the pairs of a document may be in any order."""
    cdef Arena arena = Arena()
    cdef uint32_t *place = arena.words(n_words)  # of a word of the document: which of its pairs
    cdef tx_rng rng
    cdef int64_t d, i
    with nogil:
        for d in range(first, last):
            rng = tx_rng_seed(tx_key(key, <uint64_t> d))
            for i in range(pair_offsets[d], pair_offsets[d + 1]):
                place[pair_words[i]] = <uint32_t> (i - pair_offsets[d])
            for i in range(offsets[d], offsets[d + 1]):
                z[i] = find(&gamma[(pair_offsets[d] + place[words[i]]) * K], K, tx_rng_double(&rng))


cdef inline uint16_t find(const float *row, int64_t K, double left) noexcept nogil:
    """The topic on which `left` of the way through the row falls: eight topics at a time, then one by one."""
    cdef int64_t k = 0
    cdef double sum
    while k + 8 < K:
        sum = ((<double> row[k] + <double> row[k + 1]) + (<double> row[k + 2] + <double> row[k + 3])) + (
            (<double> row[k + 4] + <double> row[k + 5]) + (<double> row[k + 6] + <double> row[k + 7]))
        if left < sum:
            break
        left -= sum
        k += 8
    while k < K - 1:
        if left < <double> row[k]:
            break
        left -= <double> row[k]
        k += 1
    while k > 0 and row[k] <= 0:  # rounding has led to a topic without weight
        k -= 1
    return <uint16_t> k


def count_pairs(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t n_words) -> int:
    """How many pairs there are."""
    cdef Arena arena = Arena()
    cdef int64_t *seen = arena.longs(n_words)  # the last document that had the word, and one more
    cdef int64_t d, i, pairs = 0
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                if seen[words[i]] != d + 1:
                    seen[words[i]] = d + 1
                    pairs += 1
    return pairs
