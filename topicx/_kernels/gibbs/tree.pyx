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

from topicx._kernels.gibbs.cell cimport UNPLACED, Arena, Cell, inverse_of
from topicx._kernels.gibbs.gathers cimport tx_gathers, tx_gathers_choose
from topicx._kernels.base.portable cimport tx_prefetch
from topicx._kernels.base.rng cimport tx_rng, tx_rng_double, tx_rng_seed
from topicx._kernels.gibbs.rows cimport DENSE

cdef extern from "tree.h" nogil:
    ctypedef struct tx_tree:
        float *level[6]
        int64_t blocks[6]
        int levels

    ctypedef struct tx_trees:
        # Renew the sums above leaf k, or every sum; return the sum of all.
        float (*renew)(const tx_tree *tree, int64_t k) noexcept nogil
        float (*renew_all)(const tx_tree *tree) noexcept nogil
        # The leaf on which r falls.
        int64_t (*find)(const tx_tree *tree, float r) noexcept nogil

    const tx_trees *tx_trees_choose() noexcept

cdef const tx_gathers *gathers = tx_gathers_choose()
cdef const tx_trees *trees = tx_trees_choose()

cdef enum:
    AHEAD = 8  # tokens between the prefetch of a document's list and its use
    TRIES = 1000  # refusals before a draw is made topic by topic (which is as exact, whatever went before)


cdef struct Lists:
    # By place in the list of documents: its topics begin at listed[start], room for so many; as much again behind them
    # for their counts (floats). Entries from size on are zero.
    int64_t *start
    int32_t *room
    int32_t *size
    uint32_t *group
    uint32_t *listed


cdef struct Tokens:
    # The cell's tokens by word: those of word w from the end of word w - 1 to end[w].
    int64_t *end
    uint32_t *place   # in cell.assigned
    uint32_t *owner   # its document, by place in the list
    int64_t number


cdef struct Word:
    # The tree and the word in it. c_k and the leaf A_k c_k of every topic; between words both are those of no count.
    tx_tree tree
    float *leaf
    float *c
    float *most         # A_k
    float *inverse      # 1 / (n_k + B)
    float total         # of the leaves
    float scale         # 1 / beta_w
    uint32_t *row
    uint32_t *counts    # n_kw by topic: the row itself, or a sparse row spread out
    uint32_t *spread
    uint32_t *touched   # the topics that have come up in a sparse row
    uint32_t *is_touched
    int64_t touched_size


cdef int make_lists(Cell cell, Lists *s, int64_t n) except -1:
    """Every document's list of topics: a vector or more of topics, as many of counts."""
    cdef Arena arena = cell.arena
    cdef int64_t K = cell.totals.shape[0], cells = 0, at = 0, t, j, k, i
    cdef uint32_t *counts = arena.words(K)
    cdef uint32_t *topics
    cdef float *numbers
    s.start, s.room, s.size, s.group = arena.longs(n), arena.ints(n), arena.ints(n), arena.words(n)
    with nogil:
        while cell.seek():
            s.room[cell.at] = <int32_t> ((min(cell.end - cell.begin, K) + 15) // 16 * 16)
            cells += s.room[cell.at]
        cell.rewind()
    s.listed = arena.words(2 * cells + 1)
    with nogil:
        while cell.seek():
            i = cell.at
            s.start[i] = at
            s.group[i] = cell.groups[cell.document] if cell.groups.shape[0] > 0 else 0
            topics = s.listed + at
            numbers = <float *> (topics + s.room[i])
            at += 2 * s.room[i]
            for t in range(cell.begin, cell.end):
                if cell.z[t] != UNPLACED:
                    k = cell.z[t]
                    if counts[k] == 0:
                        topics[s.size[i]] = <uint32_t> k
                        s.size[i] += 1
                    counts[k] += 1
            for j in range(s.size[i]):
                numbers[j] = <float> <int32_t> counts[topics[j]]
                counts[topics[j]] = 0
        cell.rewind()
    return 0


cdef int deal_out(Cell cell, Tokens *s) except -1:
    """The tokens of the cell by word (`end` is a cursor while they are dealt out)."""
    cdef int64_t t, w, V = cell.row_len.shape[0]
    s.number = cell.size()
    s.end = cell.arena.longs(V + 1)
    s.place, s.owner = cell.arena.words(s.number), cell.arena.words(s.number)
    with nogil:
        while cell.seek():
            for t in range(cell.first, cell.last):
                s.end[cell.words[t] + 1] += 1
        cell.rewind()
        for w in range(V):
            s.end[w + 1] += s.end[w]
        while cell.seek():
            for t in range(cell.first, cell.last):
                w = cell.words[t]
                s.place[s.end[w]] = <uint32_t> (t + cell.shift)
                s.owner[s.end[w]] = <uint32_t> cell.at
                s.end[w] += 1
        cell.rewind()
    return 0


cdef int make_tree(Cell cell, Word *s) except -1:
    cdef Arena arena = cell.arena
    cdef int64_t K = cell.totals.shape[0], padded = (K + 15) // 16 * 16, size = padded, k, i
    s.tree.levels = 0
    while True:
        s.tree.level[s.tree.levels] = arena.floats(size)
        s.tree.blocks[s.tree.levels] = size // 16
        s.tree.levels += 1
        if size == 16:
            break
        size = (size // 16 + 15) // 16 * 16
    s.leaf, s.c = s.tree.level[0], arena.floats(padded)
    s.most, s.inverse = arena.floats(padded), arena.floats(padded)
    s.spread, s.touched, s.is_touched = arena.words(padded), arena.words(padded), arena.words(padded)
    for k in range(K):
        s.inverse[k] = inverse_of(cell.totals[k], cell.beta_sum)
        for i in range(cell.alpha.shape[0]):
            if <float> cell.alpha[i, k] > s.most[k]:
                s.most[k] = <float> cell.alpha[i, k]
        s.c[k] = s.inverse[k]
        s.leaf[k] = s.most[k] * s.inverse[k]
    s.total = trees.renew_all(&s.tree)
    return 0


cdef inline void weigh(Word *s, int64_t k) noexcept nogil:
    """c and the leaf of a topic, from its counts."""
    s.c[k] = (1 + <float> <int32_t> s.counts[k] * s.scale) * s.inverse[k]
    s.leaf[k] = s.most[k] * s.c[k]


cdef void renew_tree_sums(Word *s, int64_t topics, bint all_of_them) noexcept nogil:
    """The sums, after the leaves of the touched topics (or of all) have changed."""
    cdef int64_t j
    if all_of_them or s.touched_size * 16 > topics:
        s.total = trees.renew_all(&s.tree)
    else:
        for j in range(s.touched_size):
            s.total = trees.renew(&s.tree, s.touched[j])


cdef void enter(Word *s, Cell cell, int64_t w) noexcept nogil:
    """A word comes into the tree."""
    cdef int64_t j, k, K = cell.totals.shape[0]
    cdef uint32_t mask = (<uint32_t> 1 << cell.topic_bits) - 1
    s.row = &cell.row_cells[cell.row_start[w]]
    s.scale = 1 / cell.beta[w]
    s.touched_size = 0
    if cell.row_len[w] == DENSE:
        s.counts = s.row
        for k in range(K):
            weigh(s, k)
    else:
        s.counts = s.spread
        for j in range(cell.row_len[w]):
            k = s.row[j] & mask
            s.spread[k] = s.row[j] >> cell.topic_bits
            s.touched[s.touched_size] = <uint32_t> k
            s.touched_size += 1
            s.is_touched[k] = 1
            weigh(s, k)
    renew_tree_sums(s, (K + 15) // 16 * 16, cell.row_len[w] == DENSE)


cdef void leave(Word *s, Cell cell, int64_t w) noexcept nogil:
    """The word leaves the tree, and its counts go back to its row."""
    cdef int64_t j, k, size = 0, K = cell.totals.shape[0]
    if s.counts == s.row:
        for k in range(K):
            s.c[k] = s.inverse[k]
            s.leaf[k] = s.most[k] * s.inverse[k]
    else:
        for j in range(s.touched_size):
            k = s.touched[j]
            if s.spread[k]:
                s.row[size] = s.spread[k] << cell.topic_bits | <uint32_t> k
                size += 1
            s.spread[k] = 0
            s.is_touched[k] = 0
            s.c[k] = s.inverse[k]
            s.leaf[k] = s.most[k] * s.inverse[k]
        for j in range(size, cell.row_len[w]):
            s.row[j] = 0
        cell.row_len[w] = <int32_t> size
    renew_tree_sums(s, (K + 15) // 16 * 16, s.counts == s.row)


cdef inline void list_move(Lists *s, int64_t i, int64_t old, int64_t new) noexcept nogil:
    """A token of document i goes from topic old (-1: none) to new."""
    cdef uint32_t *topics = s.listed + s.start[i]
    cdef float *numbers = <float *> (topics + s.room[i])
    cdef int64_t j
    if old >= 0:
        j = gathers.position(topics, s.size[i], <uint32_t> old)
        numbers[j] -= 1
        if numbers[j] == 0:  # the last of the list takes its place
            s.size[i] -= 1
            topics[j] = topics[s.size[i]]
            numbers[j] = numbers[s.size[i]]
            topics[s.size[i]] = 0
            numbers[s.size[i]] = 0
    j = gathers.position(topics, s.size[i], <uint32_t> new)
    if j < 0:
        j = s.size[i]
        topics[j] = <uint32_t> new
        s.size[i] += 1
    numbers[j] += 1


cdef double alpha_scan(Cell cell, Word *s, uint32_t group, int64_t old, float c_less, double x,
                       int64_t *found) noexcept nogil:
    """Σ_k α_gk c_k, topic by topic; `found`: where it passes x."""
    cdef int64_t k
    cdef double total = 0
    found[0] = -1
    for k in range(cell.totals.shape[0]):
        total += cell.alpha[group, k] * <double> (c_less if k == old else s.c[k])
        if x >= 0 and found[0] < 0 and x < total:
            found[0] = k
    if found[0] < 0:  # by rounding
        found[0] = cell.totals.shape[0] - 1
    return total


cdef int64_t renew_word(Cell cell, Word *s, Lists *lists, Tokens *tokens, int64_t first, int64_t last, float *sums,
                        tx_rng *rng) noexcept nogil:
    """Draw the tokens first … last - 1, all of the word in the tree."""
    cdef int64_t i, j, at, ahead, old, new, chunks, tries, changed = 0
    cdef uint32_t *topics
    cdef uint16_t *z
    cdef bint grouped = cell.groups.shape[0] > 0, taken
    cdef float own, c_less, inverse_less = 0, leaf_less = 0, weight, excess
    cdef float ends[16]
    cdef double x, mass
    for at in range(first, last):
        if at + AHEAD < tokens.number:
            ahead = lists.start[tokens.owner[at + AHEAD]]
            tx_prefetch(lists.listed + ahead)
            tx_prefetch(lists.listed + ahead + 16)
            tx_prefetch(&cell.assigned[tokens.place[at + AHEAD]])
        z = &cell.assigned[tokens.place[at]]
        i = tokens.owner[at]
        topics = lists.listed + lists.start[i]
        chunks = (lists.size[i] + 15) // 16
        old = -1 if z[0] == UNPLACED else z[0]
        c_less = 0
        taken = False
        if old >= 0:
            inverse_less = inverse_of(cell.totals[old] - 1, cell.beta_sum)
            c_less = (1 + <float> <int32_t> (s.counts[old] - 1) * s.scale) * inverse_less
            leaf_less = s.most[old] * c_less
        own = 0
        if chunks > 0:
            own = gathers.own_sums(topics, <float *> (topics + lists.room[i]), chunks, s.c, <int32_t> old, c_less, sums,
                                   ends)
        if old >= 0:
            excess = s.leaf[old] - leaf_less
            if excess + excess > own + s.total:
                taken = True
                s.leaf[old] = leaf_less
                s.total = trees.renew(&s.tree, old)
        mass = <double> own + s.total
        for tries in range(TRIES + 1):
            if tries == TRIES:  # groups far apart: this one has hardly any of what the largest α of all would have
                mass = own + alpha_scan(cell, s, lists.group[i], old, c_less, -1, &new)
            x = tx_rng_double(rng) * mass
            if x < own:
                j = gathers.find(sums, ends, chunks, <float> x)
                if j >= 0:
                    new = topics[j]
                    break
            if tries == TRIES:
                alpha_scan(cell, s, lists.group[i], old, c_less, max(x - own, 0), &new)
                break
            new = trees.find(&s.tree, <float> (x - own))
            if new != old and not grouped:
                break
            weight = <float> cell.alpha[lists.group[i], new] * (c_less if new == old else s.c[new])
            if tx_rng_double(rng) * s.leaf[new] < weight:
                break
        if new == old:
            if taken:
                s.leaf[old] = s.most[old] * s.c[old]
                s.total = trees.renew(&s.tree, old)
            continue
        changed += 1
        if old >= 0:
            s.counts[old] -= 1
            cell.totals[old] -= 1
            s.inverse[old] = inverse_less
            s.c[old] = c_less
            s.leaf[old] = leaf_less
            if not taken:
                s.total = trees.renew(&s.tree, old)
        s.counts[new] += 1
        cell.totals[new] += 1
        s.inverse[new] = inverse_of(cell.totals[new], cell.beta_sum)
        weigh(s, new)
        s.total = trees.renew(&s.tree, new)
        if s.counts == s.spread and not s.is_touched[new]:
            s.is_touched[new] = 1
            s.touched[s.touched_size] = <uint32_t> new
            s.touched_size += 1
        list_move(lists, i, old, new)
        z[0] = <uint16_t> new
    return changed


def sweep(Cell cell not None, const uint32_t[::1] documents, int64_t block, uint64_t key) -> int:
    """Draw every token of the cell once (see cell.pxd)."""
    cdef int64_t w, first, last = 0, changed = 0
    cdef Lists lists
    cdef Tokens tokens
    cdef Word word
    cdef float *sums
    cdef tx_rng rng = tx_rng_seed(key)
    if not cell.start(documents, block):
        return 0
    make_lists(cell, &lists, documents.shape[0])
    deal_out(cell, &tokens)
    make_tree(cell, &word)
    sums = cell.arena.floats((cell.totals.shape[0] + 15) // 16 * 16)
    with nogil:
        for w in range(cell.row_len.shape[0]):
            first, last = last, tokens.end[w]
            if first == last:
                continue
            enter(&word, cell, w)
            changed += renew_word(cell, &word, &lists, &tokens, first, last, sums, &rng)
            leave(&word, cell, w)
    return changed
