"""For very many topics: word after word, with a sum tree over the topics (after Yu et al. 2015, F+LDA; they use a
binary tree). Exact, at O(K_d + log K) a token.

    p(z = k) ∝ n_dk c_k + alpha_gk c_k,   c_k = (1 + n_kw / beta_w) / (n_k + B)        the token left out of all counts

Within a cell all tokens of a word come together. c changes in two topics from one of its tokens to the next, so that
the second sum lives in a radix-16 tree: a few vector additions renew a path. The first sum runs over the topics that
the document has, of which every document of the cell keeps a list.

The tree holds A_k c_k with the token still in it, A being the largest alpha of any group. A draw from it is taken with
probability alpha_gk c_k / (A_k c_k), numerator without the token, and else all is drawn anew: exact, and only the topic
that the token leaves, or a group with a smaller alpha, can be refused. Where the token itself makes up most of
the sum (a rare word), it is taken out of the tree first.

Memory: 8 bytes a token of the cell for the order, at most 8 a token of its documents for the lists.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from topicx._kernels.gathers cimport tx_gathers, tx_gathers_choose
from topicx._kernels.rng cimport tx_rng, tx_rng_double, tx_rng_seed
from topicx._kernels.rows cimport DENSE

cdef extern from "tree.h" nogil:
    ctypedef struct tx_tree:
        float *level[6]
        int64_t blocks[6]
        int levels
    float tx_tree_renew(const tx_tree *tree, int64_t k) noexcept
    float tx_tree_renew_all(const tx_tree *tree) noexcept
    int64_t tx_tree_find(const tx_tree *tree, float r) noexcept
    int64_t tx_own_find(const float *sums, const float *ends, int64_t chunks, float r) noexcept
    int64_t tx_own_position(const uint32_t *topics, int64_t n, uint32_t topic) noexcept

cdef extern from *:
    """
    #define tx_prefetch(p) __builtin_prefetch((p), 0, 3)
    """
    void tx_prefetch(const void *p) noexcept nogil

cdef const tx_gathers *gathers = tx_gathers_choose()

cdef enum:
    NONE = 0xFFFF
    AHEAD = 8  # tokens between the prefetch of a document's list and its use


def sweep_cell(const uint32_t[::1] words, uint16_t[::1] z, const int64_t[::1] offsets, const int64_t[::1] segments,
               int n_blocks, const uint32_t[::1] docs, int block, const int64_t[::1] row_start,
               uint32_t[::1] row_cells, int32_t[::1] row_len, int topic_bits, int64_t[::1] totals,
               const double[:, ::1] alpha, const uint32_t[::1] groups, const float[::1] beta, double beta_sum,
               uint64_t key) -> int:
    """As `topicx._kernels.dense.sweep_cell`."""
    cdef int64_t K = totals.shape[0], padded = (K + 15) // 16 * 16, V = row_len.shape[0], n_docs = docs.shape[0]
    cdef int64_t i, j, k, d, t, w, at, first, last, n_tokens = 0, size, old, new, changed = 0, chunks, nodes, ahead
    cdef int64_t touched_size
    cdef uint32_t mask = (<uint32_t> 1 << topic_bits) - 1
    cdef uint32_t *row
    cdef uint32_t *counts
    cdef bint grouped = groups.shape[0] > 0, taken
    cdef float scale, total, own, c_less, inverse_less, leaf_less, weight, excess
    cdef double x, mass
    cdef tx_rng rng = tx_rng_seed(key)
    cdef tx_tree tree
    cdef float ends[16]
    cdef int64_t cells = 0
    for i in range(n_docs):
        d = docs[i]
        n_tokens += segments[d * (n_blocks + 1) + block + 1] - segments[d * (n_blocks + 1) + block]
        cells += (min(offsets[d + 1] - offsets[d], K) + 15) // 16 * 16
    nodes = 0
    size = padded
    tree.levels = 1
    while True:
        tree.blocks[tree.levels - 1] = size // 16
        nodes += size
        if size == 16:
            break
        size = (size // 16 + 15) // 16 * 16
        tree.levels += 1
    cdef int64_t *begin = <int64_t *> calloc(V + 1, sizeof(int64_t))
    cdef uint32_t *place = <uint32_t *> calloc(n_tokens + 1, sizeof(uint32_t))
    cdef uint32_t *owner = <uint32_t *> calloc(n_tokens + 1, sizeof(uint32_t))
    cdef int64_t *list_start = <int64_t *> calloc(n_docs + 1, sizeof(int64_t))
    cdef int32_t *list_size = <int32_t *> calloc(n_docs + 1, sizeof(int32_t))
    cdef uint32_t *listed = <uint32_t *> calloc(2 * cells + 1, sizeof(uint32_t))
    cdef float *floats = <float *> calloc(nodes + 4 * padded, sizeof(float))
    cdef uint32_t *ints = <uint32_t *> calloc(3 * padded, sizeof(uint32_t))
    if begin == NULL or place == NULL or owner == NULL or list_start == NULL or list_size == NULL or \
            listed == NULL or floats == NULL or ints == NULL:
        free(begin)
        free(place)
        free(owner)
        free(list_start)
        free(list_size)
        free(listed)
        free(floats)
        free(ints)
        raise MemoryError
    cdef float *c = floats
    cdef float *inverse = floats + padded
    cdef float *most = floats + 2 * padded
    cdef float *sums = floats + 3 * padded
    cdef float *leaf = floats + 4 * padded
    cdef uint32_t *spread = ints
    cdef uint32_t *touched = ints + padded
    cdef uint32_t *is_touched = ints + 2 * padded
    cdef uint32_t *topics
    cdef float *numbers
    with nogil:
        tree.level[0] = leaf
        for i in range(1, tree.levels):
            tree.level[i] = tree.level[i - 1] + 16 * tree.blocks[i - 1]
        for k in range(K):
            inverse[k] = <float> (1.0 / (<double> totals[k] + beta_sum))
            for i in range(alpha.shape[0]):
                if <float> alpha[i, k] > most[k]:
                    most[k] = <float> alpha[i, k]
            c[k] = inverse[k]
            leaf[k] = most[k] * inverse[k]
        total = tx_tree_renew_all(&tree)

        # Every document's list of topics: a vector or more of topics, as many of counts.
        at = 0
        for i in range(n_docs):
            d = docs[i]
            list_start[i] = at
            topics = listed + at
            size = (min(offsets[d + 1] - offsets[d], K) + 15) // 16 * 16
            numbers = <float *> (topics + size)
            at += 2 * size
            for t in range(offsets[d], offsets[d + 1]):
                if z[t] != NONE:
                    k = z[t]
                    if spread[k] == 0:
                        topics[list_size[i]] = <uint32_t> k
                        list_size[i] += 1
                    spread[k] += 1
            for j in range(list_size[i]):
                numbers[j] = <float> <int32_t> spread[topics[j]]
                spread[topics[j]] = 0
        # The tokens of the cell by word (begin is a cursor while they are dealt out).
        for i in range(n_docs):
            d = docs[i]
            for t in range(segments[d * (n_blocks + 1) + block], segments[d * (n_blocks + 1) + block + 1]):
                begin[words[t] + 1] += 1
        for w in range(V):
            begin[w + 1] += begin[w]
        for i in range(n_docs):
            d = docs[i]
            for t in range(segments[d * (n_blocks + 1) + block], segments[d * (n_blocks + 1) + block + 1]):
                w = words[t]
                place[begin[w]] = <uint32_t> t
                owner[begin[w]] = <uint32_t> i
                begin[w] += 1

        last = 0
        for w in range(V):
            first = last
            last = begin[w]
            if first == last:
                continue
            row = &row_cells[row_start[w]]
            scale = 1 / beta[w]
            touched_size = 0
            if row_len[w] == DENSE:
                counts = row
                for k in range(K):
                    c[k] = (1 + <float> <int32_t> row[k] * scale) * inverse[k]
                    leaf[k] = most[k] * c[k]
            else:
                counts = spread
                for j in range(row_len[w]):
                    k = row[j] & mask
                    spread[k] = row[j] >> topic_bits
                    touched[touched_size] = <uint32_t> k
                    touched_size += 1
                    is_touched[k] = 1
                    c[k] = (1 + <float> <int32_t> spread[k] * scale) * inverse[k]
                    leaf[k] = most[k] * c[k]
            if row_len[w] == DENSE or touched_size * 16 > padded:
                total = tx_tree_renew_all(&tree)
            else:
                for j in range(touched_size):
                    total = tx_tree_renew(&tree, touched[j])
            for at in range(first, last):
                if at + AHEAD < n_tokens:
                    ahead = list_start[owner[at + AHEAD]]
                    tx_prefetch(listed + ahead)
                    tx_prefetch(listed + ahead + 16)
                    tx_prefetch(&z[place[at + AHEAD]])
                t = place[at]
                i = owner[at]
                d = docs[i]
                size = (min(offsets[d + 1] - offsets[d], K) + 15) // 16 * 16
                topics = listed + list_start[i]
                numbers = <float *> (topics + size)
                chunks = (list_size[i] + 15) // 16
                old = -1 if z[t] == NONE else z[t]
                c_less = 0
                taken = False
                if old >= 0:
                    inverse_less = <float> (1.0 / (<double> (totals[old] - 1) + beta_sum))
                    c_less = (1 + <float> <int32_t> (counts[old] - 1) * scale) * inverse_less
                    leaf_less = most[old] * c_less
                own = 0
                if chunks > 0:
                    own = gathers.own_sums(topics, numbers, chunks, c, <int32_t> old, c_less, sums, ends)
                if old >= 0:
                    excess = leaf[old] - leaf_less
                    if excess + excess > own + total:
                        taken = True
                        leaf[old] = leaf_less
                        total = tx_tree_renew(&tree, old)
                mass = <double> own + total
                while True:
                    x = tx_rng_double(&rng) * mass
                    if x < own:
                        j = tx_own_find(sums, ends, chunks, <float> x)
                        if j >= 0:
                            new = topics[j]
                            break
                    new = tx_tree_find(&tree, <float> (x - own))
                    if new != old and not grouped:
                        break
                    weight = <float> alpha[groups[d] if grouped else 0, new] * (c_less if new == old else c[new])
                    if tx_rng_double(&rng) * leaf[new] < weight:
                        break
                if new == old:
                    if taken:
                        leaf[old] = most[old] * c[old]
                        total = tx_tree_renew(&tree, old)
                    continue
                changed += 1
                if old >= 0:
                    counts[old] -= 1
                    totals[old] -= 1
                    inverse[old] = inverse_less
                    c[old] = c_less
                    leaf[old] = leaf_less
                    if not taken:
                        total = tx_tree_renew(&tree, old)
                    j = tx_own_position(topics, list_size[i], <uint32_t> old)
                    numbers[j] -= 1
                    if numbers[j] == 0:  # the last of the list takes its place
                        list_size[i] -= 1
                        topics[j] = topics[list_size[i]]
                        numbers[j] = numbers[list_size[i]]
                        topics[list_size[i]] = 0
                        numbers[list_size[i]] = 0
                counts[new] += 1
                totals[new] += 1
                inverse[new] = <float> (1.0 / (<double> totals[new] + beta_sum))
                c[new] = (1 + <float> <int32_t> counts[new] * scale) * inverse[new]
                leaf[new] = most[new] * c[new]
                total = tx_tree_renew(&tree, new)
                if counts == spread and not is_touched[new]:
                    is_touched[new] = 1
                    touched[touched_size] = <uint32_t> new
                    touched_size += 1
                j = tx_own_position(topics, list_size[i], <uint32_t> new)
                if j < 0:
                    j = list_size[i]
                    topics[j] = <uint32_t> new
                    list_size[i] += 1
                numbers[j] += 1
                z[t] = <uint16_t> new
            # The word leaves the tree, and its counts go back to its row.
            if counts == row:
                for k in range(K):
                    c[k] = inverse[k]
                    leaf[k] = most[k] * inverse[k]
            else:
                size = 0
                for j in range(touched_size):
                    k = touched[j]
                    if spread[k]:
                        row[size] = spread[k] << topic_bits | <uint32_t> k
                        size += 1
                    spread[k] = 0
                    is_touched[k] = 0
                    c[k] = inverse[k]
                    leaf[k] = most[k] * inverse[k]
                for j in range(size, row_len[w]):
                    row[j] = 0
                row_len[w] = <int32_t> size
            if counts == row or touched_size * 16 > padded:
                total = tx_tree_renew_all(&tree)
            else:
                for j in range(touched_size):
                    total = tx_tree_renew(&tree, touched[j])
    free(begin)
    free(place)
    free(owner)
    free(list_start)
    free(list_size)
    free(listed)
    free(floats)
    free(ints)
    return changed
