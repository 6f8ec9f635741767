"""Passes over the ids of a batch's words, in plain arrays: joining pairs of words, dropping stop words, counting words,
documents and pairs, and giving words other numbers. Nothing is validated.

Tables of pairs: open addressing, `keys` (a power of two of them, 2**64 - 1 is free) and a value each.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef uint32_t NONE = 0xFFFFFFFF
cdef uint64_t FREE = 0xFFFFFFFFFFFFFFFF


cdef inline Py_ssize_t _slot(const uint64_t[::1] keys, uint64_t key) noexcept nogil:
    """Where a key is, or the free place where it would be."""
    cdef uint64_t mask = <uint64_t>keys.shape[0] - 1
    cdef uint64_t at = key * 0x9E3779B97F4A7C15ULL
    at = (at ^ (at >> 32)) & mask
    while keys[at] != key and keys[at] != FREE:
        at = (at + 1) & mask
    return <Py_ssize_t>at


cdef inline uint64_t _pair(uint32_t a, uint32_t b) noexcept nogil:
    return (<uint64_t>a << 32) | b


def settle_word_ids(const uint32_t[::1] ids, const int64_t[::1] lengths, const uint32_t[::1] numbers,
                    const uint8_t[::1] flags, const uint64_t[::1] pair_keys, const int64_t[::1] pair_words,
                    int64_t document, int64_t[::1] tokens, int64_t[::1] documents, int64_t[::1] last, uint32_t[::1] out,
                    int64_t[::1] out_lengths, int64_t[::1] out_unknown, ):
    """Join pairs, drop words with a flag (1: stop word, 2: unknown, 3: noise) and count the rest. Where there are
    `numbers`, they are the words that the ids stand for.

    `tokens` and `documents` grow by each word's frequency and document frequency; `last` remembers the last document
    of each word; of no length they are left alone. `out_lengths` and `out_unknown` are the kept and the unknown tokens of each document. Returns how many
    tokens were kept, how many were stop words, and how many were noise.
    """
    cdef Py_ssize_t d, i = 0, end = 0, kept = 0, before, at
    cdef Py_ssize_t n_pairs = pair_keys.shape[0]
    cdef int64_t unknown = 0, stopped = 0, noise = 0
    cdef bint named = numbers.shape[0] > 0, counted = tokens.shape[0] > 0
    cdef uint32_t w
    with nogil:
        for d in range(lengths.shape[0]):
            end += lengths[d]
            before = kept
            unknown = 0
            while i < end:
                w = numbers[ids[i]] if named else ids[i]
                i += 1
                if n_pairs and i < end:
                    at = _slot(pair_keys, _pair(w, numbers[ids[i]] if named else ids[i]))
                    if pair_keys[at] != FREE:
                        w = <uint32_t>pair_words[at]
                        i += 1
                if w == NONE or flags[w] == 2:
                    unknown += 1
                elif flags[w] == 1:
                    stopped += 1
                elif flags[w] == 3:
                    noise += 1
                else:
                    out[kept] = w
                    kept += 1
                    if counted:
                        tokens[w] += 1
                        if last[w] != document + d:
                            last[w] = document + d
                            documents[w] += 1
            out_lengths[d] = kept - before
            out_unknown[d] = unknown
    return kept, stopped, noise


def renumber_words(const uint32_t[::1] ids, const int64_t[::1] lengths, const uint32_t[::1] numbers, uint32_t[::1] out,
                   int64_t[::1] out_lengths, ):
    """The words' new numbers, without the words that have none (0xFFFFFFFF), and how many each document has left. Returns
    how many there are."""
    cdef Py_ssize_t d, i = 0, end = 0, kept = 0, before
    cdef uint32_t number
    with nogil:
        for d in range(lengths.shape[0]):
            end += lengths[d]
            before = kept
            while i < end:
                number = numbers[ids[i]]
                out[kept] = number
                kept += number != NONE
                i += 1
            out_lengths[d] = kept - before
    return kept


def count_pairs(
    const uint32_t[::1] ids, const int64_t[::1] lengths, const uint8_t[::1] wanted,
    uint64_t[::1] keys, int64_t[::1] counts, Py_ssize_t used, Py_ssize_t most, Py_ssize_t document,
):
    """Count adjacent pairs of wanted words from this document on, until the table holds `most` pairs.

    Returns the pairs in the table and the first document that was not counted.
    """
    cdef Py_ssize_t d, i, start = 0, at
    cdef uint64_t key
    with nogil:
        for d in range(document):
            start += lengths[d]
        d = document
        while d < lengths.shape[0] and used < most:
            for i in range(start, start + lengths[d] - 1):
                if wanted[ids[i]] and wanted[ids[i + 1]]:
                    key = _pair(ids[i], ids[i + 1])
                    at = _slot(keys, key)
                    if keys[at] == FREE:
                        if used + 2 >= keys.shape[0]:  # a document longer than the table: its further pairs wait
                            continue
                        keys[at] = key
                        used += 1
                    counts[at] += 1
            start += lengths[d]
            d += 1
    return used, d


def insert_pairs(const uint64_t[::1] new, const int64_t[::1] values, uint64_t[::1] keys, int64_t[::1] to):
    """Put pairs and their values into a table that has room."""
    cdef Py_ssize_t i, at
    for i in range(new.shape[0]):
        at = _slot(keys, new[i])
        keys[at] = new[i]
        to[at] = values[i]
