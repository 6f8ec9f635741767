"""Soft counts of a state: the expected count of every topic in every document and of every topic in every word, when
each token in turn is drawn once more from its full conditional (CGS_p: Papanikolaou, Foulds, Rubin & Tsoumakas 2017,
Algorithm 1, eq. 40 and 41).

For a token of word v in document d that stands in topic t, with every count leaving the token itself out,

    p_k = q'_k / Σ q',   q'_k = (n_dk + α_k) (n_kv + β_v) / (n_k + B).

The exclusion touches topic t alone, so all tokens of a (document, word) pair share q_k, computed from the full counts,
and differ in one entry: Σ q' = S − q_t + q'_t with S = Σ_k q_k. Let c = f / Σ q' for each group of f tokens of the pair in
the same topic, and C = Σ c over the pair's groups. Then the pair adds q_k C to topic k, except that a group's own topic t
gets q_t (C − c) + q'_t c.

q_k is a product of a document's vector and a word's vector, so the sums over pairs separate:

    document d:  Σ_v q_k C_dv = (n_dk + α_k)/(n_k + B) · (Σ_v C_dv n_kv + Σ_v C_dv β_v)
    word v:      Σ_d q_k C_dv = (n_kv + β_v)/(n_k + B) · (Σ_d C_dv n_dk + Σ_d C_dv α_k)

and S = Σ_k a_k n_kv + β_v Σ_k a_k with a_k = (n_dk + α_k)/(n_k + B). Only the counts that are not zero need work: no
pass over K topics per pair, although the result is the dense one. Rows of counts that are not sparse are kept dense and
run over 16 lanes; see estimate.h. In a group's own topic the sum is put back and given its own part (C − c is summed, not
subtracted, where it is small), so that nothing large is added only to be taken away again.

A document's sums and a word's sums are each made by one thread in one order, so the number of threads cannot change them.
Where the token itself carries nearly all of S (Σ q' below 2^-12 of it) the difference would lose digits: those groups are
summed over all topics instead.

`group` and `pairs` order the tokens by word, then document, then topic: a pair is a run, and so is a group in it. Tokens not
yet placed (topic 65535) are in no count and exclude nothing.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcpy, memset

from topicx._kernels.portable cimport tx_prefetch

cdef extern from "estimate.h" nogil:
    double est_sum(const double* a, Py_ssize_t size) noexcept
    double est_dot(const double* a, const int32_t* n, Py_ssize_t size) noexcept
    double est_dot_sparse(const double* a, const uint16_t* topic, const int32_t* n, Py_ssize_t length) noexcept
    void est_add(double* into, const int32_t* n, double weight, Py_ssize_t size) noexcept
    void est_add_sparse(double* into, const uint16_t* topic, const int32_t* n, double weight, Py_ssize_t length) noexcept
    void est_axpy(double* into, const double* a, double weight, Py_ssize_t size) noexcept
    void est_finish(double* out, const double* fix, const double* a, const double* sum, double shift,
                    Py_ssize_t size) noexcept

cdef enum:
    NONE = 0xFFFF

cdef double TINY = 1.0 / 4096


# -- ordering --------------------------------------------------------------------------------------------------------

def group(const uint32_t[::1] words, const uint16_t[::1] z, const int64_t[::1] offsets, int64_t[::1] position,
          uint32_t[::1] documents, uint16_t[::1] topics, int64_t[::1] pairs_of_word, int64_t[::1] pairs_of_document):
    """Tokens in the order of word, then document. `position` starts as the words' offsets and is used up.

    pairs_of_word[v + 1] and pairs_of_document[d + 1] count the distinct (document, word) pairs.
    """
    cdef Py_ssize_t d, i, at, v, vocabulary = position.shape[0]
    cdef uint32_t* last = <uint32_t*>calloc(vocabulary + 1, sizeof(uint32_t))
    if last == NULL:
        raise MemoryError
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for i in range(offsets[d], offsets[d + 1]):
                v = words[i]
                at = position[v]
                position[v] = at + 1
                documents[at] = <uint32_t>d
                topics[at] = z[i]
                if last[v] != <uint32_t>(d + 1):
                    last[v] = <uint32_t>(d + 1)
                    pairs_of_word[v + 1] += 1
                    pairs_of_document[d + 1] += 1
    free(last)


cdef int _ascending(const void* a, const void* b) noexcept nogil:
    return <int>(<uint16_t*>a)[0] - <int>(<uint16_t*>b)[0]


cdef void _sort(uint16_t* z, Py_ssize_t length) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef uint16_t value
    if length > 24:
        qsort(z, length, sizeof(uint16_t), &_ascending)
        return
    for i in range(1, length):
        value = z[i]
        j = i
        while j > 0 and z[j - 1] > value:
            z[j] = z[j - 1]
            j -= 1
        z[j] = value


def pairs(Py_ssize_t first, Py_ssize_t last, const int64_t[::1] word_offsets, const int64_t[::1] first_pair,
          const uint32_t[::1] documents, uint16_t[::1] topics, const int64_t[::1] indptr,
          const uint16_t[::1] row_topics, const int32_t[::1] row_counts, uint32_t[::1] pair_document,
          uint32_t[::1] pair_word, uint32_t[::1] pair_begin, int32_t[::1] own):
    """The runs of words first..last: pairs, the tokens of each by topic, and every token's n_kv in its own topic."""
    cdef Py_ssize_t v, i, begin, end, pair
    cdef int32_t* count = <int32_t*>calloc(NONE + 1, sizeof(int32_t))
    if count == NULL:
        raise MemoryError
    with nogil:
        for v in range(first, last):
            for i in range(indptr[v], indptr[v + 1]):
                count[row_topics[i]] = row_counts[i]
            pair = first_pair[v]
            begin = word_offsets[v]
            while begin < word_offsets[v + 1]:
                end = begin + 1
                while end < word_offsets[v + 1] and documents[end] == documents[begin]:
                    end += 1
                if end - begin > 1:
                    _sort(&topics[begin], end - begin)
                for i in range(begin, end):
                    own[i] = count[topics[i]]
                pair_document[pair] = documents[begin]
                pair_word[pair] = <uint32_t>v
                pair_begin[pair] = <uint32_t>begin
                pair += 1
                begin = end
            for i in range(indptr[v], indptr[v + 1]):
                count[row_topics[i]] = 0
    free(count)


def by_document(const uint32_t[::1] pair_document, int64_t[::1] position, uint32_t[::1] order):
    """The pairs of each document, by word. `position` starts as the documents' first pairs and is used up."""
    cdef Py_ssize_t pair
    with nogil:
        for pair in range(pair_document.shape[0]):
            order[position[pair_document[pair]]] = <uint32_t>pair
            position[pair_document[pair]] += 1


def fill_dense(const int64_t[::1] indptr, const uint16_t[::1] topics, const int32_t[::1] counts,
               const int64_t[::1] dense_at, int32_t[::1] dense):
    """Write the rows that have a place (dense_at >= 0) among the dense ones."""
    cdef Py_ssize_t row, i
    with nogil:
        for row in range(dense_at.shape[0]):
            if dense_at[row] >= 0:
                for i in range(indptr[row], indptr[row + 1]):
                    dense[dense_at[row] + topics[i]] = counts[i]


# -- rows: counts that are sparse or dense ------------------------------------------------------------------------------

cdef struct Rows:
    const int64_t* indptr
    const uint16_t* topics
    const int32_t* counts
    const int64_t* dense_at
    const int32_t* dense
    Py_ssize_t size


cdef inline double _dot(Rows* rows, Py_ssize_t row, const double* a) noexcept nogil:
    cdef int64_t begin = rows.indptr[row]
    if rows.dense_at[row] >= 0:
        return est_dot(a, rows.dense + rows.dense_at[row], rows.size)
    return est_dot_sparse(a, rows.topics + begin, rows.counts + begin, rows.indptr[row + 1] - begin)


cdef inline void _add(Rows* rows, Py_ssize_t row, double* into, double weight) noexcept nogil:
    cdef int64_t begin = rows.indptr[row]
    if rows.dense_at[row] >= 0:
        est_add(into, rows.dense + rows.dense_at[row], weight, rows.size)
    else:
        est_add_sparse(into, rows.topics + begin, rows.counts + begin, weight, rows.indptr[row + 1] - begin)


cdef inline void _prefetch(Rows* rows, Py_ssize_t row) noexcept nogil:
    if rows.dense_at[row] >= 0:
        tx_prefetch(rows.dense + rows.dense_at[row])
    else:
        tx_prefetch(rows.topics + rows.indptr[row])
        tx_prefetch(rows.counts + rows.indptr[row])


cdef Rows _rows(tuple arrays, Py_ssize_t size):
    """(indptr, topics, counts, dense_at, dense) as pointers; the caller keeps the arrays."""
    cdef Rows rows
    cdef const int64_t[::1] indptr = arrays[0]
    cdef const uint16_t[::1] topics = arrays[1]
    cdef const int32_t[::1] counts = arrays[2]
    cdef const int64_t[::1] dense_at = arrays[3]
    cdef const int32_t[::1] dense = arrays[4]
    rows.indptr = &indptr[0]
    rows.topics = &topics[0] if topics.shape[0] else NULL
    rows.counts = &counts[0] if counts.shape[0] else NULL
    rows.dense_at = &dense_at[0] if dense_at.shape[0] else NULL
    rows.dense = &dense[0] if dense.shape[0] else NULL
    rows.size = size
    return rows


cdef double _exact(double* q, const double* a, Rows* words, Py_ssize_t v, double beta, Py_ssize_t own,
                   double q_own) noexcept nogil:
    """q = q' of a token in topic `own`, over all topics; its sum."""
    cdef Py_ssize_t k
    for k in range(words.size):
        q[k] = a[k] * beta
    cdef int64_t i
    for i in range(words.indptr[v], words.indptr[v + 1]):
        k = words.topics[i]
        q[k] = a[k] * (beta + words.counts[i])
    q[own] = q_own
    return est_sum(q, words.size)


# -- the groups of a pair ----------------------------------------------------------------------------------------------

cdef inline double _others(const double* c, Py_ssize_t groups, Py_ssize_t own, double total) noexcept nogil:
    """The sum of the other groups' c, without cancellation."""
    cdef Py_ssize_t i
    cdef double others = 0
    if groups == 1:
        return 0
    if c[own] <= total / 2:
        return total - c[own]
    for i in range(groups):
        if i != own:
            others += c[i]
    return others


# -- documents -----------------------------------------------------------------------------------------------------

def soft_documents(Py_ssize_t first, Py_ssize_t last, Py_ssize_t topics, tuple document_rows, tuple word_rows,
                   const double[:, ::1] alpha, const uint32_t[::1] groups, const double[::1] beta,
                   const double[::1] inverse, const double[::1] inverse_less, const int64_t[::1] first_pair,
                   const uint32_t[::1] order, const uint32_t[::1] pair_word, const uint32_t[::1] pair_begin,
                   const uint16_t[::1] z, const int32_t[::1] own, double[::1] shares, int32_t[::1] own_document,
                   double[:, ::1] out, bint proportions):
    """Documents first..last: their soft counts (or θ) into `out`, and what the words need: at the first token of each
    group its c (negative: the group is summed exactly, and is in no C) and its n_dt. Both are optional (empty)."""
    cdef Py_ssize_t size = alpha.shape[1]
    cdef Rows documents = _rows(document_rows, size)
    cdef Rows words = _rows(word_rows, size)
    cdef bint keep = shares.shape[0] > 0, wanted = out.shape[0] > 0
    cdef Py_ssize_t d, k, v, i, j, t, position, pair, begin, end, g, n, m, ahead
    cdef int64_t entry, tokens
    cdef double a_sum, total, q, q_less, rest, weight, beta_sum, alpha_sum
    cdef double* a = <double*>malloc((8 * size + 32) * sizeof(double))
    cdef uint16_t* at = <uint16_t*>malloc((size + 16) * sizeof(uint16_t))
    if a == NULL or at == NULL:
        free(a)
        free(at)
        raise MemoryError
    cdef double* count = a + size
    cdef double* sums = a + 2 * size
    cdef double* fix = a + 3 * size
    cdef double* row = a + 4 * size
    cdef double* scratch = a + 5 * size
    cdef double* c = a + 6 * size
    cdef double* saved = a + 7 * size + 16
    with nogil:
        for d in range(first, last):
            g = groups[d] if groups.shape[0] else 0
            memset(count, 0, size * sizeof(double))
            memset(sums, 0, size * sizeof(double))
            memset(fix, 0, size * sizeof(double))
            tokens = 0
            for entry in range(documents.indptr[d], documents.indptr[d + 1]):
                count[documents.topics[entry]] = documents.counts[entry]
            for k in range(size):
                a[k] = (count[k] + alpha[g, k]) * inverse[k]
            a_sum = est_sum(a, size)
            beta_sum = 0
            for position in range(first_pair[d], first_pair[d + 1]):
                pair = order[position]
                # a document's pairs lie apart in the order of words: ask for them in time
                if position + 16 < first_pair[d + 1]:
                    ahead = order[position + 16]
                    tx_prefetch(&pair_word[ahead])
                    tx_prefetch(&pair_begin[ahead])
                if position + 8 < first_pair[d + 1]:
                    ahead = order[position + 8]
                    _prefetch(&words, pair_word[ahead])
                    ahead = pair_begin[ahead]
                    tx_prefetch(&z[ahead])
                    tx_prefetch(&own[ahead])
                    if keep:
                        tx_prefetch(&shares[ahead])
                        tx_prefetch(&own_document[ahead])
                v = pair_word[pair]
                begin = pair_begin[pair]
                end = pair_begin[pair + 1]
                tokens += end - begin
                total = _dot(&words, v, a) + beta[v] * a_sum
                weight = 0
                n = 0
                i = begin
                while i < end:
                    t = z[i]
                    j = i + 1
                    while j < end and z[j] == t:
                        j += 1
                    if t == NONE:
                        # in no count: all of Σ q, and nothing to leave out
                        c[n] = (j - i) / total
                        if keep:
                            shares[i] = c[n]
                        weight = weight + c[n]
                        at[n] = NONE
                        n += 1
                    else:
                        q = a[t] * (own[i] + beta[v])
                        q_less = ((count[t] - 1) + alpha[g, t]) * ((own[i] - 1) + beta[v]) * inverse_less[t]
                        if keep:
                            own_document[i] = <int32_t>count[t]
                        rest = total - q + q_less
                        if rest < total * TINY:
                            rest = _exact(scratch, a, &words, v, beta[v], t, q_less)
                            est_axpy(fix, scratch, (j - i) / rest, size)
                            if keep:
                                shares[i] = -((j - i) / rest)
                        else:
                            c[n] = (j - i) / rest
                            if keep:
                                shares[i] = c[n]
                            weight = weight + c[n]
                            fix[t] += c[n] * (q_less - a[t] * beta[v])
                            saved[n] = sums[t]
                            scratch[n] = own[i]
                            at[n] = <uint16_t>t
                            n += 1
                    i = j
                if wanted and n:
                    _add(&words, v, sums, weight)
                    beta_sum = beta_sum + weight * beta[v]
                    for m in range(n):
                        if at[m] != NONE:
                            sums[at[m]] = saved[m] + _others(c, n, m, weight) * scratch[m]
            if wanted:
                est_finish(row, fix, a, sums, beta_sum, size)
                if proportions:
                    alpha_sum = est_sum(&alpha[g, 0], size) + tokens
                    for k in range(size):
                        row[k] = (row[k] + alpha[g, k]) / alpha_sum
                memcpy(&out[d - first, 0], row, topics * sizeof(double))
    free(a)
    free(at)


# -- words ---------------------------------------------------------------------------------------------------------

def soft_words(Py_ssize_t first, Py_ssize_t last, Py_ssize_t topics, tuple document_rows, tuple word_rows,
               const double[:, ::1] alpha, const uint32_t[::1] groups, const double[::1] beta,
               const double[::1] inverse, const double[::1] inverse_less, const int64_t[::1] first_pair,
               const uint32_t[::1] pair_document, const uint32_t[::1] pair_begin, const uint16_t[::1] z,
               const int32_t[::1] own, const double[::1] shares, const int32_t[::1] own_document,
               double[:, ::1] out):
    """The soft counts of words first..last into `out`, from what `soft_documents` kept."""
    cdef Py_ssize_t size = alpha.shape[1], n_groups = alpha.shape[0]
    cdef Rows documents = _rows(document_rows, size)
    cdef Rows words = _rows(word_rows, size)
    cdef Py_ssize_t d, k, v, i, j, t, pair, g, begin, end, n, m
    cdef int64_t entry
    cdef double weight, q_less
    cdef bint pooled
    cdef double* factor = <double*>malloc((8 * size + 32 + n_groups) * sizeof(double))
    cdef uint16_t* at = <uint16_t*>malloc((size + 16) * sizeof(uint16_t))
    if factor == NULL or at == NULL:
        free(factor)
        free(at)
        raise MemoryError
    cdef double* sums = factor + size
    cdef double* fix = factor + 2 * size
    cdef double* scratch = factor + 3 * size
    cdef double* a = factor + 4 * size
    cdef double* count = factor + 5 * size
    cdef double* c = factor + 6 * size
    cdef double* saved = factor + 7 * size + 16
    cdef double* group_weight = factor + 8 * size + 32
    with nogil:
        for v in range(first, last):
            memset(sums, 0, size * sizeof(double))
            memset(fix, 0, size * sizeof(double))
            for k in range(size):
                factor[k] = beta[v]
            _add(&words, v, factor, 1)
            for k in range(size):
                factor[k] *= inverse[k]
            # Σ_d C_dv α_gk: by groups where there are fewer of them than pairs
            pooled = n_groups == 1 or n_groups < first_pair[v + 1] - first_pair[v]
            if pooled:
                memset(group_weight, 0, n_groups * sizeof(double))
            for pair in range(first_pair[v], first_pair[v + 1]):
                if pair + 4 < first_pair[v + 1]:
                    _prefetch(&documents, pair_document[pair + 4])
                d = pair_document[pair]
                g = groups[d] if groups.shape[0] else 0
                begin = pair_begin[pair]
                end = pair_begin[pair + 1]
                weight = 0
                n = 0
                i = begin
                while i < end:
                    t = z[i]
                    j = i + 1
                    while j < end and z[j] == t:
                        j += 1
                    if t == NONE:
                        c[n] = shares[i]
                        weight = weight + c[n]
                        at[n] = NONE
                        n += 1
                    else:
                        q_less = ((own_document[i] - 1) + alpha[g, t]) * ((own[i] - 1) + beta[v]) * inverse_less[t]
                        if shares[i] < 0:
                            for k in range(size):
                                a[k] = alpha[g, k] * inverse[k]
                            for entry in range(documents.indptr[d], documents.indptr[d + 1]):
                                k = documents.topics[entry]
                                a[k] = (documents.counts[entry] + alpha[g, k]) * inverse[k]
                            _exact(scratch, a, &words, v, beta[v], t, q_less)
                            est_axpy(fix, scratch, -shares[i], size)
                        else:
                            c[n] = shares[i]
                            weight = weight + c[n]
                            fix[t] += c[n] * (q_less - factor[t] * alpha[g, t])
                            saved[n] = sums[t]
                            count[n] = own_document[i]
                            at[n] = <uint16_t>t
                            n += 1
                    i = j
                if n:
                    _add(&documents, d, sums, weight)
                    for m in range(n):
                        if at[m] != NONE:
                            sums[at[m]] = saved[m] + _others(c, n, m, weight) * count[m]
                    if pooled:
                        group_weight[g] += weight
                    else:
                        est_axpy(sums, &alpha[g, 0], weight, size)
            if pooled:
                for g in range(n_groups):
                    if group_weight[g] != 0:
                        est_axpy(sums, &alpha[g, 0], group_weight[g], size)
            est_finish(scratch, fix, factor, sums, 0, size)
            memcpy(&out[v - first, 0], scratch, topics * sizeof(double))
    free(factor)
    free(at)


# -- keeping large entries only ----------------------------------------------------------------------------------------

def tally(const uint64_t[:, ::1] bits, int64_t[::1] histogram):
    """How many values (as bits of positive doubles) fall into each eighth of an octave: 16384 classes, ascending."""
    cdef Py_ssize_t i, k
    with nogil:
        for i in range(bits.shape[0]):
            for k in range(bits.shape[1]):
                histogram[(bits[i, k] >> 49) & 16383] += 1


def keep_large(const double[:, ::1] block, double least, int64_t[::1] length, uint16_t[::1] topics, double[::1] values,
               double[::1] left_of_word, double[::1] left_of_topic):
    """Copy the entries that are at least `least`; count them by row, and add up what is left out both ways."""
    cdef Py_ssize_t i, k, at = 0, begin
    cdef double left
    with nogil:
        for i in range(block.shape[0]):
            left = 0
            begin = at
            for k in range(block.shape[1]):
                if block[i, k] >= least:
                    topics[at] = <uint16_t>k
                    values[at] = block[i, k]
                    at += 1
                else:
                    left += block[i, k]
                    left_of_topic[k] += block[i, k]
            length[i] = at - begin
            left_of_word[i] = left
    return at
