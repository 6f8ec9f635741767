"""The distinct (document, word) pairs of a corpus: made of tokens and spread over them again.

A pair has a count, and in the variational methods one soft assignment that all its tokens share.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from topicx._kernels.gibbs.cell cimport Arena


cdef class Pairs:
    def __init__(self, words, counts, offsets, segments, groups, blocks, topics):
        self.words, self.counts, self.offsets, self.segments, self.groups = words, counts, offsets, segments, groups
        self.blocks, self.topics, self.padded = blocks, topics, (topics + 15) // 16 * 16


def pair_up(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t[::1] seen, uint32_t[::1] pair_words,
            uint32_t[::1] pair_counts, int64_t[::1] pair_offsets) -> int:
    """The distinct words of each document in the order of their first appearance, and how often each is there.

    seen: a zero for each word (left so). pair_words and pair_counts have room for a pair a token; returns the number of
    pairs. Offsets may begin anywhere: words[0] is the token at offsets[0].
    """
    cdef int64_t d, i, at = 0, begin, shift = offsets[0]
    with nogil:
        pair_offsets[0] = 0
        for d in range(offsets.shape[0] - 1):
            begin = at
            for i in range(offsets[d] - shift, offsets[d + 1] - shift):
                if seen[words[i]] == 0:
                    pair_words[at] = words[i]
                    pair_counts[at] = 1
                    at += 1
                    seen[words[i]] = at
                else:
                    pair_counts[seen[words[i]] - 1] += 1
            for i in range(begin, at):
                seen[pair_words[i]] = 0
            pair_offsets[d + 1] = at
    return at


cdef void match(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t[::1] seen,
                const uint16_t *given, uint16_t *found, bint to_tokens) noexcept nogil:
    """found = each token's value, given its pair's; or each pair's, given its first token's. Pairs are numbered as by
    `pair_up`."""
    cdef int64_t d, i, at = 0
    for d in range(offsets.shape[0] - 1):
        for i in range(offsets[d], offsets[d + 1]):
            if seen[words[i]] == 0:
                if not to_tokens:
                    found[at] = given[i]
                at += 1
                seen[words[i]] = at
            if to_tokens:
                found[i] = given[seen[words[i]] - 1]
        for i in range(offsets[d], offsets[d + 1]):
            seen[words[i]] = 0


def spread_to_tokens(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t[::1] seen,
                     const uint16_t[::1] of_pair, uint16_t[::1] of_token):
    """of_token = the value of each token's pair. seen: a zero for each word (left so)."""
    if words.shape[0]:
        with nogil:
            match(words, offsets, seen, &of_pair[0], &of_token[0], True)


def first_topics(const uint32_t[::1] words, const int64_t[::1] offsets, int64_t[::1] seen, const uint16_t[::1] of_token,
                 uint16_t[::1] of_pair):
    """of_pair = the value of each pair's first token. seen: a zero for each word (left so)."""
    if words.shape[0]:
        with nogil:
            match(words, offsets, seen, &of_token[0], &of_pair[0], False)


def best_topics(const float[::1] gamma, int64_t K, uint16_t[::1] best):
    """The most probable topic of each pair, the lowest of equals."""
    cdef int64_t i, k, found
    with nogil:
        for i in range(best.shape[0]):
            found = 0
            for k in range(1, K):
                if gamma[i * K + k] > gamma[i * K + found]:
                    found = k
            best[i] = <uint16_t> found


def by_word(const uint32_t[::1] words, int64_t[::1] starts, uint32_t[::1] order):
    """The pairs of each word, in order: word w's are order[starts[w] : starts[w + 1]]. starts: a zero a word and one."""
    cdef int64_t i, w, n = starts.shape[0] - 1, at = 0, size
    with nogil:
        for i in range(words.shape[0]):
            starts[words[i]] += 1
        for w in range(n):
            size = starts[w]
            starts[w] = at
            at += size
        for i in range(words.shape[0]):
            order[starts[words[i]]] = <uint32_t> i
            starts[words[i]] += 1
        for w in range(n, 0, -1):
            starts[w] = starts[w - 1]
        starts[0] = 0


def one_hot(const uint16_t[::1] topics, int64_t K, float[::1] gamma):
    """Assignments that put every pair wholly on one topic."""
    cdef int64_t i
    with nogil:
        memset(&gamma[0], 0, gamma.shape[0] * 4)
        for i in range(topics.shape[0]):
            gamma[i * K + topics[i]] = 1


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


def copy_rows(const float[:, ::1] rows, const uint32_t[::1] order, int64_t K, float[::1] target, int64_t begin):
    """The first K numbers of these rows, one after the other, into target from row `begin` on."""
    cdef int64_t i
    with nogil:
        for i in range(order.shape[0]):
            memcpy(&target[(begin + i) * K], &rows[order[i], 0], K * sizeof(float))
