"""Gibbs sampling in which each document has topics of its own: its labels (Ramage et al. 2009; Papanikolaou et al. 2017,
eq. 5), and the estimators of such states.

    p(z = k) ∝ (alpha_gk + n_dk) (n_kw + beta_w) / (n_k + B)  for k among the document's topics, else 0

with every count leaving the token out. A token costs as many steps as its document has topics, never K; a word's counts
take memory in proportion to its tokens (restricted.h). Arithmetic is double. The weights are summed in the order of the
document's topics, so nothing depends on how a row is stored.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from topicx._kernels.gibbs.cell cimport UNPLACED as NONE
from topicx._kernels.gibbs.cell cimport Arena
from topicx._kernels.base.rng cimport tx_rng, tx_rng_double, tx_rng_seed
from topicx._kernels.base.sorting cimport sort_topics

cdef extern from "restricted.h" nogil:
    uint32_t tx_row_count(const uint32_t *row, int64_t mask, uint32_t topic) noexcept
    void tx_row_put(uint32_t *row, int64_t mask, uint32_t topic, uint32_t number) noexcept
    void tx_row_take(uint32_t *row, int64_t mask, uint32_t topic) noexcept


cdef struct Document:
    # A document at work: its topics, their counts and weights. place[k] is where topic k stands among them.
    const uint16_t *topics
    int64_t number
    int32_t *counts
    double *prior
    double *q
    double *p
    int32_t *place


cdef int64_t most_topics(const int64_t[::1] allowed_offsets) noexcept nogil:
    """The topics of the document with the most of them."""
    cdef int64_t d, most = 1
    for d in range(allowed_offsets.shape[0] - 1):
        most = max(most, allowed_offsets[d + 1] - allowed_offsets[d])
    return most


cdef Document document_room(Arena arena, int64_t most, int64_t n_topics):
    """Room for a document of so many topics."""
    cdef Document s
    s.prior, s.q, s.p = arena.doubles(most), arena.doubles(most), arena.doubles(most)
    s.counts, s.place = arena.ints(most), arena.ints(n_topics)
    return s


cdef double *inverses(Arena arena, const int64_t[::1] totals, double beta_sum) except NULL:
    """1 / (n_k + B)."""
    cdef int64_t k
    cdef double *inverse = arena.doubles(totals.shape[0] + 1)
    for k in range(totals.shape[0]):
        inverse[k] = 1.0 / (<double> totals[k] + beta_sum)
    return inverse


cdef void document_enter(Document *s, const uint16_t *topics, int64_t number, const uint16_t *z, int64_t length,
                         const double *alpha, const double *inverse) noexcept nogil:
    """Count the document's topics and weigh them: q_j = (alpha + n_dj) / (n_j + B)."""
    cdef int64_t j, t
    s.topics, s.number = topics, number
    for j in range(number):
        s.place[topics[j]] = <int32_t> j
        s.counts[j] = 0
        s.prior[j] = alpha[topics[j]]
    for t in range(length):
        if z[t] != NONE:
            s.counts[s.place[z[t]]] += 1
    for j in range(number):
        s.q[j] = (s.prior[j] + s.counts[j]) * inverse[topics[j]]


cdef class AllowedCell:
    """Tokens of documents that have topics of their own, and what their weights are made of. Where a sweep is at work,
    its tokens, rows and documents belong to nobody else."""

    # -- the corpus
    cdef const uint32_t[::1] words
    cdef const int64_t[::1] offsets
    """Document d is words[offsets[d] : offsets[d + 1]],"""
    cdef const int64_t[::1] segments
    cdef int64_t blocks
    """and those of block b begin at segments[d * (blocks + 1) + b] (a sweep's)."""
    cdef uint16_t[::1] assigned
    """The topic of each token."""
    cdef const int64_t[::1] allowed_offsets
    cdef const uint16_t[::1] allowed
    """The topics of document d, ascending: allowed[allowed_offsets[d] : allowed_offsets[d + 1]]."""

    # -- the counts: seeds' pseudo-counts are in them
    cdef const int64_t[::1] row_start
    cdef const int64_t[::1] row_mask
    cdef uint32_t[::1] row_cells
    """n_kw: see restricted.h."""
    cdef int64_t[::1] totals
    """n_k; a sweep's is its own copy."""

    # -- the priors
    cdef const double[:, ::1] alpha
    """A row a group,"""
    cdef const uint32_t[::1] groups
    """and the group of each document; empty: all are in the first."""
    cdef const double[::1] beta
    cdef double beta_sum

    def __init__(self, *, words, offsets, assigned, allowed_offsets, allowed, row_start, row_mask, row_cells, totals,
                 alpha, groups, beta, beta_sum, segments=None, blocks=1):
        self.words, self.offsets, self.assigned = words, offsets, assigned
        self.segments, self.blocks = offsets[:0] if segments is None else segments, blocks
        self.allowed_offsets, self.allowed = allowed_offsets, allowed
        self.row_start, self.row_mask, self.row_cells, self.totals = row_start, row_mask, row_cells, totals
        self.alpha, self.groups, self.beta, self.beta_sum = alpha, groups, beta, beta_sum

    cdef const double *prior(self, int64_t d) noexcept nogil:
        """α of a document."""
        return &self.alpha[self.groups[d] if self.groups.shape[0] > 0 else 0, 0]

    cdef void enter(self, Document *s, int64_t d, const double *inverse) noexcept nogil:
        """Count a document's topics and weigh them."""
        cdef int64_t begin = self.allowed_offsets[d]
        document_enter(s, &self.allowed[begin], self.allowed_offsets[d + 1] - begin, &self.assigned[self.offsets[d]],
                       self.offsets[d + 1] - self.offsets[d], self.prior(d), inverse)

    cdef const uint32_t *row(self, uint32_t word) noexcept nogil:
        return &self.row_cells[self.row_start[word]]


cdef inline void weigh(Document *s, const uint32_t *row, int64_t mask, double beta, int64_t old,
                       double inverse_less) noexcept nogil:
    """p_j = q_j (n_jw + beta), the token itself (on topic `old`, -1: on none) left out of every count."""
    cdef int64_t j
    cdef uint32_t k
    if mask < 0:
        for j in range(s.number):
            s.p[j] = s.q[j] * (<double> row[s.topics[j]] + beta)
    else:
        for j in range(s.number):
            s.p[j] = s.q[j] * (<double> tx_row_count(row, mask, s.topics[j]) + beta)
    if old >= 0:
        k = s.topics[old]
        s.p[old] = (s.prior[old] + (s.counts[old] - 1)) * inverse_less * (
            <double> (tx_row_count(row, mask, k) - 1) + beta)


cdef inline int64_t draw(double *p, int64_t number, double u) noexcept nogil:
    """The place that u, uniform on [0, 1), falls on; p becomes its running sums."""
    cdef int64_t j, found = 0
    cdef double total = 0
    for j in range(number):
        total += p[j]
        p[j] = total
    u *= total
    for j in range(number - 1):
        found += p[j] <= u
    return found


cdef inline bint all_placed(const uint16_t[::1] z, int64_t first, int64_t last) noexcept nogil:
    cdef int64_t t
    for t in range(first, last):
        if z[t] == NONE:
            return False
    return True


cdef inline int64_t heaviest(const double *p, int64_t number) noexcept nogil:
    cdef int64_t j, found = 0
    for j in range(1, number):
        if p[j] > p[found]:
            found = j
    return found


def fill_row_cells(const uint32_t[::1] words, const uint16_t[::1] topics, const int64_t[::1] numbers,
                   const int64_t[::1] row_start, const int64_t[::1] row_mask, uint32_t[::1] cells):
    """Add tokens to the rows: one each, or (not empty) so many. Topics of 65535 are left out."""
    cdef int64_t i
    cdef bint single = numbers.shape[0] == 0
    with nogil:
        for i in range(words.shape[0]):
            if topics[i] != NONE:
                tx_row_put(&cells[row_start[words[i]]], row_mask[words[i]], topics[i],
                           1 if single else <uint32_t> numbers[i])


def sweep(AllowedCell cell, const uint32_t[::1] documents, int64_t block, uint64_t key, bint maximise=False) -> int:
    """Draw every token of one cell (these documents, this block of words) once, or (`maximise`) take the most probable
    topic; returns how many changed their topic."""
    cdef int64_t[::1] totals = cell.totals
    cdef uint16_t[::1] z = cell.assigned
    cdef int64_t i, d, t, k, first, last, old, new, mask, changed = 0
    cdef double inverse_less = 0, beta_sum = cell.beta_sum
    cdef uint32_t w
    cdef uint32_t *row
    cdef Arena arena = Arena()
    cdef Document s = document_room(arena, most_topics(cell.allowed_offsets), totals.shape[0])
    cdef double *inverse = inverses(arena, totals, beta_sum)
    cdef tx_rng rng = tx_rng_seed(key)
    with nogil:
        for i in range(documents.shape[0]):
            d = documents[i]
            first = cell.segments[d * (cell.blocks + 1) + block]
            last = cell.segments[d * (cell.blocks + 1) + block + 1]
            if first == last:
                continue
            if cell.allowed_offsets[d + 1] - cell.allowed_offsets[d] == 1 and all_placed(z, first, last):
                continue  # there is no choice
            cell.enter(&s, d, inverse)
            for t in range(first, last):
                w = cell.words[t]
                row, mask = &cell.row_cells[cell.row_start[w]], cell.row_mask[w]
                old = -1
                if z[t] != NONE:
                    old = s.place[z[t]]
                    inverse_less = 1.0 / (<double> (totals[z[t]] - 1) + beta_sum)
                weigh(&s, row, mask, cell.beta[w], old, inverse_less)
                new = heaviest(s.p, s.number) if maximise else draw(s.p, s.number, tx_rng_double(&rng))
                if new == old:
                    continue
                changed += 1
                if old >= 0:
                    k = s.topics[old]
                    tx_row_take(row, mask, <uint32_t> k)
                    totals[k] -= 1
                    s.counts[old] -= 1
                    inverse[k] = inverse_less
                    s.q[old] = (s.prior[old] + s.counts[old]) * inverse_less
                k = s.topics[new]
                tx_row_put(row, mask, <uint32_t> k, 1)
                totals[k] += 1
                s.counts[new] += 1
                inverse[k] = 1.0 / (<double> totals[k] + beta_sum)
                s.q[new] = (s.prior[new] + s.counts[new]) * inverse[k]
                z[t] = <uint16_t> k
    return changed


def allowed_topic_counts(const uint16_t[::1] z, const int64_t[::1] offsets, const int64_t[::1] allowed_offsets,
                         const uint16_t[::1] allowed, int64_t n_topics, int32_t[::1] counts):
    """counts[j]: how many tokens the document has on its topic allowed[j]."""
    cdef int64_t d, j, t
    cdef Arena arena = Arena()
    cdef int32_t *place = arena.ints(n_topics)
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for j in range(allowed_offsets[d], allowed_offsets[d + 1]):
                counts[j] = 0
                place[allowed[j]] = <int32_t> (j - allowed_offsets[d])
            for t in range(offsets[d], offsets[d + 1]):
                if z[t] != NONE:
                    counts[allowed_offsets[d] + place[z[t]]] += 1


def find_stray_document(const uint16_t[::1] z, const int64_t[::1] offsets, const int64_t[::1] allowed_offsets,
                        const uint16_t[::1] allowed) -> int:
    """The first document with a token on a topic that it may not have; -1: there is none."""
    cdef int64_t d, j, t, found = -1
    cdef Arena arena = Arena()
    cdef int64_t *last = arena.longs(NONE + 1)
    with nogil:
        for d in range(offsets.shape[0] - 1):
            for j in range(allowed_offsets[d], allowed_offsets[d + 1]):
                last[allowed[j]] = d + 1
            for t in range(offsets[d], offsets[d + 1]):
                if z[t] != NONE and last[z[t]] != d + 1:
                    found = d
                    break
            if found >= 0:
                break
    return found


def soft_documents(AllowedCell cell, int64_t first, int64_t last, double[::1] out):
    """out[j] += the probability of topic allowed[j], summed over the tokens of its document (eq. 40 without prior)."""
    cdef int64_t d, t, j, begin, old
    cdef uint32_t w
    cdef double total
    cdef Arena arena = Arena()
    cdef Document s = document_room(arena, most_topics(cell.allowed_offsets), cell.totals.shape[0])
    cdef double *inverse = inverses(arena, cell.totals, cell.beta_sum)
    with nogil:
        for d in range(first, last):
            begin = cell.allowed_offsets[d]
            if cell.offsets[d] == cell.offsets[d + 1]:
                continue
            cell.enter(&s, d, inverse)
            for t in range(cell.offsets[d], cell.offsets[d + 1]):
                if cell.assigned[t] == NONE:
                    continue
                w, old = cell.words[t], s.place[cell.assigned[t]]
                weigh(&s, cell.row(w), cell.row_mask[w], cell.beta[w], old,
                      1.0 / (<double> (cell.totals[cell.assigned[t]] - 1) + cell.beta_sum))
                total = 0
                for j in range(s.number):
                    total += s.p[j]
                total = 1.0 / total
                for j in range(s.number):
                    out[begin + j] += s.p[j] * total


def word_pairs(int64_t first, int64_t last, const int64_t[::1] word_offsets, const uint32_t[::1] documents,
               const int64_t[::1] allowed_offsets, const uint16_t[::1] allowed, int64_t[::1] indptr,
               uint16_t[::1] topics):
    """The topics that each word may have, in any of its documents (those of its tokens, word after word).

    With `topics` empty: indptr[w + 1] = their number. Else: their list, ascending, from indptr[w] on.
    """
    cdef int64_t w, i, j, at, number
    cdef bint counting = topics.shape[0] == 0
    cdef Arena arena = Arena()
    cdef int64_t *seen = arena.longs(NONE + 1)
    with nogil:
        for w in range(first, last):
            at = 0 if counting else indptr[w]
            number = 0
            for i in range(word_offsets[w], word_offsets[w + 1]):
                if i > word_offsets[w] and documents[i] == documents[i - 1]:
                    continue
                for j in range(allowed_offsets[documents[i]], allowed_offsets[documents[i] + 1]):
                    if seen[allowed[j]] != w + 1:
                        seen[allowed[j]] = w + 1
                        if not counting:
                            topics[at + number] = allowed[j]
                        number += 1
            if counting:
                indptr[w + 1] = number
            elif number > 1:
                sort_topics(&topics[at], number)


def soft_words(AllowedCell cell, int64_t first, int64_t last, const int64_t[::1] word_offsets,
               const uint32_t[::1] documents, const uint16_t[::1] z, const int32_t[::1] document_counts,
               const int64_t[::1] indptr, const uint16_t[::1] topics, double[::1] values):
    """values: the probabilities of a word's tokens summed by topic (eq. 41 without prior), beside `topics`.

    documents and z are those of the tokens, word after word; document_counts are aligned with `allowed`.
    """
    cdef int64_t n_topics = cell.totals.shape[0], w, i, j, d, k, begin, number
    cdef double total, count
    cdef const double *alpha
    cdef Arena arena = Arena()
    cdef double *inverse = inverses(arena, cell.totals, cell.beta_sum)
    cdef double *of_word = arena.doubles(n_topics)
    cdef double *p = arena.doubles(most_topics(cell.allowed_offsets))
    cdef int32_t *place = arena.ints(n_topics)
    with nogil:
        for w in range(first, last):
            for j in range(indptr[w], indptr[w + 1]):
                k = topics[j]
                place[k] = <int32_t> (j - indptr[w])
                of_word[k] = tx_row_count(cell.row(<uint32_t> w), cell.row_mask[w], <uint32_t> k) + cell.beta[w]
                values[j] = 0
            for i in range(word_offsets[w], word_offsets[w + 1]):
                if z[i] == NONE:
                    continue
                d = documents[i]
                begin, number = cell.allowed_offsets[d], cell.allowed_offsets[d + 1] - cell.allowed_offsets[d]
                alpha = cell.prior(d)
                total = 0
                for j in range(number):
                    k = cell.allowed[begin + j]
                    count = document_counts[begin + j] + alpha[k]
                    if k == z[i]:
                        p[j] = (count - 1) * (of_word[k] - 1) / (<double> (cell.totals[k] - 1) + cell.beta_sum)
                    else:
                        p[j] = count * of_word[k] * inverse[k]
                    total += p[j]
                total = 1.0 / total
                for j in range(number):
                    values[indptr[w] + place[cell.allowed[begin + j]]] += p[j] * total
