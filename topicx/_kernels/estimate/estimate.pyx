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

`group_tokens_by_word` and `find_pairs` order the tokens by word, then document, then topic: a pair is a run, and so is
a group in it. Tokens not
yet placed (topic 65535) are in no count and exclude nothing.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from topicx._kernels.gibbs.cell cimport UNPLACED as NONE
from topicx._kernels.gibbs.cell cimport Arena
from topicx._kernels.base.portable cimport tx_prefetch
from topicx._kernels.base.sorting cimport sort_topics

cdef extern from "estimate.h" nogil:
    double est_sum(const double* a, Py_ssize_t size) noexcept
    double est_dot(const double* a, const int32_t* n, Py_ssize_t size) noexcept
    double est_dot_sparse(const double* a, const uint16_t* topic, const int32_t* n, Py_ssize_t length) noexcept
    void est_add(double* into, const int32_t* n, double weight, Py_ssize_t size) noexcept
    void est_add_sparse(double* into, const uint16_t* topic, const int32_t* n, double weight, Py_ssize_t length) noexcept
    void est_axpy(double* into, const double* a, double weight, Py_ssize_t size) noexcept
    void est_finish(double* out, const double* fix, const double* a, const double* sum, double shift,
                    Py_ssize_t size) noexcept

cdef double TINY = 1.0 / 4096


# -- ordering --------------------------------------------------------------------------------------------------------

def group_tokens_by_word(const uint32_t[::1] words, const uint16_t[::1] z, const int64_t[::1] offsets,
                         int64_t[::1] position, uint32_t[::1] documents, uint16_t[::1] topics,
                         int64_t[::1] pairs_of_word, int64_t[::1] pairs_of_document):
    """Tokens in the order of word, then document. `position` starts as the words' offsets and is used up.

    pairs_of_word[v + 1] and pairs_of_document[d + 1] count the distinct (document, word) pairs.
    """
    cdef Py_ssize_t d, i, at, v, vocabulary = position.shape[0]
    cdef Arena arena = Arena()
    cdef uint32_t *last = arena.words(vocabulary + 1)
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


def find_pairs(Py_ssize_t first, Py_ssize_t last, const int64_t[::1] word_offsets, const int64_t[::1] first_pair,
               const uint32_t[::1] documents, uint16_t[::1] topics, const int64_t[::1] indptr,
               const uint16_t[::1] row_topics, const int32_t[::1] row_counts, uint32_t[::1] pair_document,
               uint32_t[::1] pair_word, uint32_t[::1] pair_begin, int32_t[::1] own):
    """The runs of words first..last: pairs, the tokens of each by topic, and every token's n_kv in its own topic."""
    cdef Py_ssize_t v, i, begin, end, pair
    cdef Arena arena = Arena()
    cdef int32_t *count = arena.ints(NONE + 1)
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
                    sort_topics(&topics[begin], end - begin)
                for i in range(begin, end):
                    own[i] = count[topics[i]]
                pair_document[pair] = documents[begin]
                pair_word[pair] = <uint32_t>v
                pair_begin[pair] = <uint32_t>begin
                pair += 1
                begin = end
            for i in range(indptr[v], indptr[v + 1]):
                count[row_topics[i]] = 0


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

cdef struct Work:
    double *sums     # Σ C n over the pairs so far
    double *fix      # what groups' own topics get beside
    double *a        # (n_dk + α_k)/(n_k + B) of the document at hand
    double *row      # what the document or the word gets; a word's (n_kv + β)/(n_k + B)
    double *scratch
    # of the groups of the pair at hand: c, the topic, its n_kv or n_dk, and its sum before the pair
    double *c
    uint16_t *at
    double *own
    double *saved
    Py_ssize_t groups  # how many there are
    double weight      # Σ c


cdef Work work_of(Arena arena, Py_ssize_t size):
    cdef Work s
    s.sums, s.fix, s.a, s.row = arena.doubles(size), arena.doubles(size), arena.doubles(size), arena.doubles(size)
    s.scratch = arena.doubles(size + 16)
    s.c, s.own, s.saved = arena.doubles(size + 16), arena.doubles(size + 16), arena.doubles(size + 16)
    s.at = <uint16_t *> arena.room((size + 16) * sizeof(uint16_t))
    return s


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


cdef inline Py_ssize_t _group_end(const uint16_t* z, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
    """Where the tokens end that have the topic of token i."""
    cdef Py_ssize_t j = i + 1
    while j < end and z[j] == z[i]:
        j += 1
    return j


cdef inline void _add_group(Work* s, double c, Py_ssize_t topic, double own) noexcept nogil:
    """One more group of the pair, with this c (and n_kv or n_dk); of tokens not yet placed: topic NONE."""
    s.c[s.groups] = c
    s.weight += c
    s.at[s.groups] = <uint16_t>topic
    if topic != NONE:
        s.saved[s.groups] = s.sums[topic]
        s.own[s.groups] = own
    s.groups += 1


cdef inline void _add_pair(Work* s, Rows* rows, Py_ssize_t row) noexcept nogil:
    """Σ C n of the pair: in each group's own topic the sum is put back, and only the other groups' part added."""
    cdef Py_ssize_t m
    _add(rows, row, s.sums, s.weight)
    for m in range(s.groups):
        if s.at[m] != NONE:
            s.sums[s.at[m]] = s.saved[m] + _others(s.c, s.groups, m, s.weight) * s.own[m]


# -- what both passes share -----------------------------------------------------------------------------------------------

cdef class Given:
    """A state, as the passes over documents and over words read it."""

    cdef Rows documents, words
    """n_dk and n_kv."""
    cdef tuple kept
    cdef Py_ssize_t topics, size
    """K, and the next multiple of 16: rows of alpha, inverse and inverse_less are so long."""
    cdef const double[:, ::1] alpha
    cdef const uint32_t[::1] groups
    """The row of alpha of each document; empty: the first."""
    cdef const double[::1] beta
    cdef const double[::1] inverse
    cdef const double[::1] inverse_less
    """1 / (n_k + B), and the same without a token of the topic."""
    cdef const uint32_t[::1] pair_begin
    """Where each pair's tokens begin (and, after the last, end),"""
    cdef const uint16_t[::1] z
    cdef const int32_t[::1] own
    """their topics, and n_kv of each in its own topic."""

    def __init__(self, Py_ssize_t topics, tuple document_rows, tuple word_rows, alpha, groups, beta, inverse,
                 inverse_less, pair_begin, z, own):
        self.kept = document_rows, word_rows
        self.alpha, self.groups, self.beta, self.inverse, self.inverse_less = alpha, groups, beta, inverse, inverse_less
        self.topics, self.size = topics, self.alpha.shape[1]
        self.documents, self.words = _rows(document_rows, self.size), _rows(word_rows, self.size)
        self.pair_begin, self.z, self.own = pair_begin, z, own

    cdef Py_ssize_t group(self, Py_ssize_t d) noexcept nogil:
        return self.groups[d] if self.groups.shape[0] else 0


# -- documents -----------------------------------------------------------------------------------------------------

def soft_documents(Given given not None, Py_ssize_t first, Py_ssize_t last, const int64_t[::1] first_pair,
                   const uint32_t[::1] order, const uint32_t[::1] pair_word, double[::1] shares,
                   int32_t[::1] own_document, double[:, ::1] out, bint proportions):
    """Documents first..last: their soft counts (or θ) into `out`, and what the words need: at the first token of each
    group its c (negative: the group is summed exactly, and is in no C) and its n_dt. Both are optional (empty)."""
    cdef Py_ssize_t size = given.size
    cdef Rows documents = given.documents, words = given.words
    cdef bint keep = shares.shape[0] > 0, wanted = out.shape[0] > 0
    cdef Py_ssize_t d, k, v, i, j, t, position, pair, begin, end, g, ahead
    cdef int64_t entry, tokens
    cdef double a_sum, total, q, q_less, rest, share, beta_sum, alpha_sum
    cdef Arena arena = Arena()
    cdef Work s = work_of(arena, size)
    cdef double *count = arena.doubles(size)
    with nogil:
        for d in range(first, last):
            g = given.group(d)
            memset(count, 0, size * sizeof(double))
            memset(s.sums, 0, size * sizeof(double))
            memset(s.fix, 0, size * sizeof(double))
            tokens = 0
            for entry in range(documents.indptr[d], documents.indptr[d + 1]):
                count[documents.topics[entry]] = documents.counts[entry]
            for k in range(size):
                s.a[k] = (count[k] + given.alpha[g, k]) * given.inverse[k]
            a_sum = est_sum(s.a, size)
            beta_sum = 0
            for position in range(first_pair[d], first_pair[d + 1]):
                pair = order[position]
                # a document's pairs lie apart in the order of words: ask for them in time
                if position + 16 < first_pair[d + 1]:
                    ahead = order[position + 16]
                    tx_prefetch(&pair_word[ahead])
                    tx_prefetch(&given.pair_begin[ahead])
                if position + 8 < first_pair[d + 1]:
                    ahead = order[position + 8]
                    _prefetch(&words, pair_word[ahead])
                    ahead = given.pair_begin[ahead]
                    tx_prefetch(&given.z[ahead])
                    tx_prefetch(&given.own[ahead])
                    if keep:
                        tx_prefetch(&shares[ahead])
                        tx_prefetch(&own_document[ahead])
                v = pair_word[pair]
                begin = given.pair_begin[pair]
                end = given.pair_begin[pair + 1]
                tokens += end - begin
                total = _dot(&words, v, s.a) + given.beta[v] * a_sum
                s.weight, s.groups, i = 0, 0, begin
                while i < end:
                    t = given.z[i]
                    j = _group_end(&given.z[0], i, end)
                    if t == NONE:  # in no count: all of Σ q, and nothing to leave out
                        share = (j - i) / total
                        _add_group(&s, share, NONE, 0)
                    else:
                        q = s.a[t] * (given.own[i] + given.beta[v])
                        q_less = ((count[t] - 1) + given.alpha[g, t]) * ((given.own[i] - 1) + given.beta[v])
                        q_less = q_less * given.inverse_less[t]
                        if keep:
                            own_document[i] = <int32_t>count[t]
                        rest = total - q + q_less
                        if rest < total * TINY:
                            rest = _exact(s.scratch, s.a, &words, v, given.beta[v], t, q_less)
                            est_axpy(s.fix, s.scratch, (j - i) / rest, size)
                            share = -((j - i) / rest)
                        else:
                            share = (j - i) / rest
                            s.fix[t] += share * (q_less - s.a[t] * given.beta[v])
                            _add_group(&s, share, t, given.own[i])
                    if keep:
                        shares[i] = share
                    i = j
                if wanted and s.groups:
                    _add_pair(&s, &words, v)
                    beta_sum = beta_sum + s.weight * given.beta[v]
            if wanted:
                est_finish(s.row, s.fix, s.a, s.sums, beta_sum, size)
                if proportions:
                    alpha_sum = est_sum(&given.alpha[g, 0], size) + tokens
                    for k in range(size):
                        s.row[k] = (s.row[k] + given.alpha[g, k]) / alpha_sum
                memcpy(&out[d - first, 0], s.row, given.topics * sizeof(double))


# -- words ---------------------------------------------------------------------------------------------------------

def soft_words(Given given not None, Py_ssize_t first, Py_ssize_t last, const int64_t[::1] first_pair,
               const uint32_t[::1] pair_document, const double[::1] shares, const int32_t[::1] own_document,
               double[:, ::1] out):
    """The soft counts of words first..last into `out`, from what `soft_documents` kept."""
    cdef Py_ssize_t size = given.size, n_groups = given.alpha.shape[0]
    cdef Rows documents = given.documents, words = given.words
    cdef Py_ssize_t d, k, v, i, j, t, pair, g, begin, end
    cdef int64_t entry
    cdef double q_less
    cdef bint pooled
    cdef Arena arena = Arena()
    cdef Work s = work_of(arena, size)
    cdef double *group_weight = arena.doubles(n_groups)
    with nogil:
        for v in range(first, last):
            memset(s.sums, 0, size * sizeof(double))
            memset(s.fix, 0, size * sizeof(double))
            for k in range(size):
                s.row[k] = given.beta[v]
            _add(&words, v, s.row, 1)
            for k in range(size):
                s.row[k] *= given.inverse[k]
            # Σ_d C_dv α_gk: by groups where there are fewer of them than pairs
            pooled = n_groups == 1 or n_groups < first_pair[v + 1] - first_pair[v]
            if pooled:
                memset(group_weight, 0, n_groups * sizeof(double))
            for pair in range(first_pair[v], first_pair[v + 1]):
                if pair + 4 < first_pair[v + 1]:
                    _prefetch(&documents, pair_document[pair + 4])
                d = pair_document[pair]
                g = given.group(d)
                begin = given.pair_begin[pair]
                end = given.pair_begin[pair + 1]
                s.weight, s.groups, i = 0, 0, begin
                while i < end:
                    t = given.z[i]
                    j = _group_end(&given.z[0], i, end)
                    if t == NONE:
                        _add_group(&s, shares[i], NONE, 0)
                    else:
                        q_less = ((own_document[i] - 1) + given.alpha[g, t]) * ((given.own[i] - 1) + given.beta[v])
                        q_less = q_less * given.inverse_less[t]
                        if shares[i] < 0:
                            for k in range(size):
                                s.a[k] = given.alpha[g, k] * given.inverse[k]
                            for entry in range(documents.indptr[d], documents.indptr[d + 1]):
                                k = documents.topics[entry]
                                s.a[k] = (documents.counts[entry] + given.alpha[g, k]) * given.inverse[k]
                            _exact(s.scratch, s.a, &words, v, given.beta[v], t, q_less)
                            est_axpy(s.fix, s.scratch, -shares[i], size)
                        else:
                            s.fix[t] += shares[i] * (q_less - s.row[t] * given.alpha[g, t])
                            _add_group(&s, shares[i], t, own_document[i])
                    i = j
                if s.groups:
                    _add_pair(&s, &documents, d)
                    if pooled:
                        group_weight[g] += s.weight
                    else:
                        est_axpy(s.sums, &given.alpha[g, 0], s.weight, size)
            if pooled:
                for g in range(n_groups):
                    if group_weight[g] != 0:
                        est_axpy(s.sums, &given.alpha[g, 0], group_weight[g], size)
            est_finish(s.scratch, s.fix, s.row, s.sums, 0, size)
            memcpy(&out[v - first, 0], s.scratch, given.topics * sizeof(double))


# -- keeping large entries only ----------------------------------------------------------------------------------------

def tally_magnitudes(const uint64_t[:, ::1] bits, int64_t[::1] histogram):
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
