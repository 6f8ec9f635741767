"""Topics of documents with targets (MedLDA and its relatives): a factor f_d(k) stands beside the counts.

    p(z = k) ∝ (n_dk + alpha_gk) (n_kw + beta_w) / (n_k + B) f_d(k)                 the token left out of all counts

Zheng, Yu & Xing 2015, "Linear Time Samplers for Supervised Topic Models using Compositional Proposals", eq. 15-21, for
any loss whose augmentation makes log f a parabola in each task's score (eq. 31), and for many tasks at once (§4.1); see
factor.h. `pull` (b - curve s of each document and task) is kept while tokens move, as the paper keeps m_d.

`sweep` walks by three Metropolis-Hastings proposals, in O(1) a step and task; what departs from the paper:
document and word proposals ask another token, as LightLDA does here (light.pyx), so that they are never stale. The
paper's exp-proposal is a table made from the document as it was, and so it knows where the token under it was, and the
correction is not quite one. Here a document's tokens are cut into runs, at least two, and a run's table is made from the
tokens outside of it: while the run is sampled it depends on nothing that moves.

The dense kernel asks `Margins` for the factors of all topics (Zhu, Chen, Perkins & Zhang 2014), in O(K) a token whatever
the number of tasks: what a topic would gain is kept for all topics, and what leaving a topic takes back is kept for the
topics met in the document (the paper's bookkeeping of §4.1, of the topics that are there), both as logarithms and as the
factors that they are; so a token is weighed by a multiplication a topic. Of one task or two, documents with fewer tokens
than there are topics keep nothing: each token takes an exponential a topic, which is less than rows for the topics met.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

import numpy as np

from topicx._kernels.gibbs.cell cimport Arena, Cell, Factor, count_topics, inverse_of
from topicx._kernels.gibbs.gathers cimport tx_gathers, tx_gathers_choose
from topicx._kernels.base.portable cimport tx_prefetch
from topicx._kernels.base.rng cimport tx_rng, tx_rng_double, tx_rng_next, tx_rng_seed
from topicx._kernels.gibbs.rows cimport DENSE, row_add, row_remove
from topicx._kernels.gibbs.walker cimport walker_build, walker_draw

cdef enum:
    RUN = 32  # tokens whose proposals are drawn together
    DOCUMENT = 0
    WORD = 1
    EXP = 2
    MIXTURE = 0  # of all three at equal odds; the others: `modes`
    CYCLE = 1

modes = {"mixture": MIXTURE, "cycle": CYCLE, "doc": 2 + DOCUMENT, "word": 2 + WORD, "exp": 2 + EXP}
"""The numbers of the ways to combine proposals."""


cdef float FAR = 30
"""Overlaps that are further apart than this are added to reach before the exponential is taken: else the heaviest topic's
factor could be lost below the smallest number."""


cdef class Margins(Factor):
    """The factor of documents with targets: eta has a row a topic, pull and curve a row a document."""

    cdef const float[:, ::1] eta
    cdef const float[:, :, ::1] blocks
    """The same, for all topics at a time (factor.h): of the tasks that there are."""
    cdef float[:, ::1] pull
    cdef const float[:, ::1] curve
    cdef const uint8_t[::1] supervised
    cdef int64_t width, topics, tasks, padded
    cdef int mode
    cdef Arena arena
    cdef const tx_factor *loops
    # the document at hand
    cdef int64_t document, length
    cdef bint known
    """Whether it has a target."""
    cdef public int64_t short
    """Of few tasks, documents of so many tokens keep nothing,"""
    cdef bint anew
    """and whether this is one."""
    cdef float *lin
    cdef float *half
    # for the dense kernel: of all topics, and a row a topic of those met in the document
    cdef float *reach
    cdef float *reached
    cdef float *overlap
    cdef float *taken
    cdef float *apart
    cdef float *scratch
    cdef int64_t *met

    def __init__(self, eta, pull, curve, supervised, mode=MIXTURE, tasks=0):
        """mode: one of `modes`, for the light kernel. tasks: the columns that are in use (0: all)."""
        self.eta, self.pull, self.curve, self.supervised = eta, pull, curve, supervised
        self.short = eta.shape[0]
        self.topics, self.width, self.mode = self.eta.shape[0], self.eta.shape[1], mode
        self.tasks, self.padded = tasks or self.width, (self.topics + 15) // 16 * 16
        every = np.zeros((self.padded, self.tasks), np.float32)
        every[: self.topics] = eta[:, : self.tasks]
        self.blocks = np.ascontiguousarray(every.reshape(-1, 16, self.tasks).transpose(0, 2, 1))
        self.arena, self.loops = Arena(), tx_factor_choose()
        self.lin, self.half = self.arena.floats(self.width), self.arena.floats(self.width)

    cdef void open(self, int64_t number, int64_t length) noexcept nogil:
        """The document's pull and curve, scaled by its length."""
        cdef int64_t c
        cdef float scale = <float> (1.0 / length)
        self.document, self.length, self.known = number, length, self.supervised[number]
        for c in range(self.width):
            self.lin[c] = self.pull[number, c] * scale
            self.half[c] = self.curve[number, c] * (<float> 0.5 * scale * scale)

    cdef void moved(self, int64_t old, int64_t new) noexcept nogil:
        """A token went from one topic to another."""
        self.loops.moved(&self.eta[old, 0], &self.eta[new, 0], self.lin, self.half, self.width, <float> self.length,
                         &self.pull[self.document, 0])

    cdef int64_t row(self, int64_t topic) noexcept nogil:
        """Where `overlap` and `taken` have a topic: made when the document first has a token of it."""
        cdef int64_t at = topic * self.padded
        if self.met[topic] != self.document:
            self.met[topic] = self.document
            self.apart[topic] = self.loops.overlap(&self.blocks[0, 0, 0], &self.eta[topic, 0], self.half, self.topics,
                                                   self.tasks, self.overlap + at, self.taken + at)
        return at

    def for_dense(self):
        """Room for what the dense kernel asks; returns the factor."""
        cdef Arena arena = self.arena
        self.reach, self.reached, self.scratch = (
            arena.floats(self.padded), arena.floats(self.padded), arena.floats(self.padded)
        )
        self.overlap, self.taken = arena.floats(self.topics * self.padded), arena.floats(self.topics * self.padded)
        self.apart, self.met = arena.floats(self.topics), arena.longs(self.topics)
        memset(self.met, 0xFF, self.topics * sizeof(int64_t))
        return self

    cdef void enter(self, int64_t number, const uint16_t *z, int64_t begin, int64_t end) noexcept nogil:
        self.open(number, end - begin)
        self.anew = self.tasks <= FACTOR_FEW and self.length <= self.short
        if self.known and not self.anew:
            self.loops.reach(&self.blocks[0, 0, 0], self.lin, self.half, self.topics, self.tasks, self.reach,
                             self.reached)

    cdef float times(self, int64_t old, const float *q, float q_old, int64_t topics, float *weighed) noexcept nogil:
        cdef int64_t k, at
        if not self.known:
            for k in range(topics):
                weighed[k] = q[k]
            return q_old
        if self.anew:
            return q_old * self.loops.times_anew(q, &self.blocks[0, 0, 0], old, self.lin, self.half, topics,
                                                 self.tasks, self.scratch, weighed)
        at = self.row(old)
        if self.apart[old] < FAR:
            self.loops.times(q, self.reached, self.taken + at, topics, weighed)
            return q_old * (self.reached[old] * self.taken[at + old])
        self.loops.times_far(q, self.reach, self.overlap + at, topics, self.scratch, weighed)
        return q_old * self.scratch[old]

    cdef void move(self, int64_t old, int64_t new) noexcept nogil:
        if self.known:
            self.moved(old, new)
            if not self.anew:
                self.loops.reach_moved(self.overlap + self.row(old), self.overlap + self.row(new), self.topics,
                                       self.reach, self.reached)


cdef struct Work:
    const tx_factor *loops
    const tx_gathers *gathers
    # The cell and the document at hand, as cell.pxd and Margins name them,
    const uint32_t *words
    uint16_t *z
    const uint16_t *assigned
    const int64_t *row_start
    uint32_t *row_cells
    int32_t *row_len
    int topic_bits
    int64_t *totals
    int64_t topics, begin, shift, length
    const float *beta
    double beta_sum
    const int64_t *word_start
    const uint32_t *word_places
    int steps, mode
    bint known
    const float *eta
    const float *blocks
    const float *lin
    const float *half
    int64_t width, tasks
    # the document's counts, 1 / (n_k + B), and alpha as weights and as a table,
    int32_t *counts
    float *inverse
    const float *prior
    float *keep
    uint32_t *other
    float alpha_sum
    # the exp-proposal of a run of tokens, up to table_end,
    int64_t table_end
    float *constant  # b / N: what lin would be if no token had a weight
    int32_t *outside
    float *frozen
    float *logs
    float *weights
    float *exp_keep
    uint32_t *exp_other
    double *scaled
    uint32_t *stack
    # what tokens will be asked, drawn ahead: which proposal each step makes, the same for some tokens at a time (so that
    # the processor can guess it; a token's steps are independent draws all the same); and for each token and step a
    # place in word_places or z, or -1 - topic, and a number for the acceptance
    uint8_t *kind
    int64_t *place
    float *chance
    # and what has happened.
    int64_t named[3]
    int64_t accepted[3]
    int64_t changed
    tx_rng rng


cdef inline float word_weight(const Work *s, const uint32_t *row, int32_t length, int64_t topic) noexcept nogil:
    """n_kw."""
    if length == DENSE:
        return <float> <int32_t> row[topic]
    return <float> <int32_t> s.gathers.count(row, length, s.topic_bits, <uint32_t> topic)


cdef inline float gain(const Work *s, int64_t old, int64_t new) noexcept nogil:
    """How log f changes when a token of one topic stands in another."""
    cdef const float *source = s.eta + old * s.width
    cdef const float *to = s.eta + new * s.width
    if s.width == 1:
        return (to[0] - source[0]) * (s.lin[0] - s.half[0] * (to[0] - source[0]))
    return s.loops.gain(source, to, s.lin, s.half, s.width)


cdef void make_constant(Work *s) noexcept nogil:
    cdef int64_t k, c
    for c in range(s.width):
        s.constant[c] = 0
    for k in range(s.topics):
        if s.counts[k]:
            for c in range(s.width):
                s.constant[c] += <float> s.counts[k] * s.eta[k * s.width + c]
    for c in range(s.width):
        s.constant[c] = s.lin[c] + 2 * s.half[c] * s.constant[c]


cdef void make_table(Work *s, int64_t begin, int64_t last) noexcept nogil:
    """The exp-proposal of the tokens from `begin`: as many as there are topics, but never most of a document."""
    cdef int64_t t, k, size = s.topics if s.topics > RUN else RUN
    size = min(size, last - begin)
    if 2 * size > s.length:
        size = (s.length + 1) // 2
    s.table_end = begin + size
    for k in range(s.topics):
        s.outside[k] = s.counts[k]
    for t in range(begin, s.table_end):
        s.outside[s.z[t]] -= 1
    s.loops.frozen(s.eta, s.outside, s.length - size, s.topics, s.constant, s.half, <double> s.length, s.width, s.frozen)
    s.loops.exp_weights(s.blocks, s.frozen, s.half, s.topics, s.tasks, s.logs, s.weights)
    walker_build(s.weights, s.topics, s.exp_keep, s.exp_other, s.scaled, s.stack)


cdef inline uint8_t kind_of(int mode, bint known, int64_t step, uint64_t bits) noexcept nogil:
    """Which proposal a step makes; a document without target has no exp-proposal, and makes another in its stead."""
    cdef int64_t kind
    if mode == MIXTURE:
        kind = <int64_t> (((bits & 0xFFFFFF) * (3 if known else 2)) >> 24)
    elif mode == CYCLE:
        kind = step % (3 if known else 2)
    else:
        kind = mode - 2
        if kind == EXP and not known:
            kind = step % 2
    return <uint8_t> kind


cdef void propose(Work *s, int64_t begin, int64_t end) noexcept nogil:
    """Draw what the tokens from begin to end will be asked, and fetch it."""
    cdef int64_t t, m, k, slot = 0, own = s.length - 1
    cdef uint32_t w, others
    cdef double x, word_mass, document_mass = own + <double> s.alpha_sum
    for m in range(s.steps):
        s.kind[m] = kind_of(s.mode, s.known, m, tx_rng_next(&s.rng))
    for t in range(begin, end):
        w = s.words[t]
        tx_prefetch(&s.row_cells[s.row_start[w]])
        others = <uint32_t> (s.word_start[w + 1] - s.word_start[w]) - 1
        word_mass = others + <double> s.topics * s.beta[w]
        for m in range(s.steps):
            s.chance[slot] = <float> <int32_t> (tx_rng_next(&s.rng) >> 40) * <float> 5.9604645e-08  # 2^-24
            x = tx_rng_double(&s.rng)
            if s.kind[m] == WORD:
                x *= word_mass
                if x < others:
                    # Any token of the word; if it is this one, any other in its stead (see below).
                    s.place[slot] = s.word_start[w] + <int64_t> x
                    tx_prefetch(&s.word_places[s.place[slot]])
                else:
                    k = <int64_t> ((x - others) / s.beta[w])
                    s.place[slot] = -1 - (k if k < s.topics else s.topics - 1)
            elif s.kind[m] == DOCUMENT:
                x *= document_mass
                if x < own:
                    k = s.begin + <int64_t> x
                    s.place[slot] = s.shift + k + (k >= t)
                else:
                    s.place[slot] = -1 - walker_draw(s.keep, s.other, s.topics, tx_rng_double(&s.rng))
            else:
                s.place[slot] = -1 - walker_draw(s.exp_keep, s.exp_other, s.topics, x)
            slot += 1
    slot = 0
    for t in range(begin, end):
        w = s.words[t]
        for m in range(s.steps):
            if s.kind[m] == WORD and s.place[slot] >= 0:
                k = s.word_places[s.place[slot]]
                if k == s.shift + t:  # the last token of the word was not drawn: it stands in for this one
                    k = s.word_places[s.word_start[w + 1] - 1]
                s.place[slot] = k
                tx_prefetch(&s.assigned[k])
            slot += 1


cdef void judge(Work *s, Margins margins, int64_t begin, int64_t end) noexcept nogil:
    """Walk the tokens from begin to end through their proposals."""
    cdef int64_t t, m, old, now, new, slot = 0
    cdef uint32_t w
    cdef uint32_t *row
    cdef uint8_t kind
    cdef float inverse_less, q_now, q_new, gain_now, gain_new, exponent
    cdef float by_topic, by_doc, by_word, to_topic, to_doc, to_word
    cdef float *inverse = s.inverse
    cdef int32_t *counts = s.counts
    cdef const float *prior = s.prior
    for t in range(begin, end):
        w = s.words[t]
        row = &s.row_cells[s.row_start[w]]
        old = now = s.z[t]
        inverse_less = inverse_of(s.totals[old] - 1, s.beta_sum)
        by_topic = inverse_less
        by_doc = prior[old] + <float> (counts[old] - 1)
        by_word = word_weight(s, row, s.row_len[w], old) - 1 + s.beta[w]
        gain_now = 0
        for m in range(s.steps):
            kind = s.kind[m]
            new = s.assigned[s.place[slot]] if s.place[slot] >= 0 else -1 - s.place[slot]
            slot += 1
            if new == now:
                continue
            s.named[kind] += 1
            to_topic = inverse_less if new == old else inverse[new]
            to_doc = prior[new] + <float> (counts[new] - (new == old))
            to_word = word_weight(s, row, s.row_len[w], new) - (new == old) + s.beta[w]
            q_now, q_new = by_topic, to_topic
            if kind != DOCUMENT:
                q_now *= by_doc
                q_new *= to_doc
            if kind != WORD:
                q_now *= by_word
                q_new *= to_word
            gain_new = 0
            if s.known:
                if new != old:
                    gain_new = gain(s, old, new)
                exponent = gain_new - gain_now
                if kind == EXP:
                    exponent -= s.logs[new] - s.logs[now]
                q_new *= tx_expf(exponent)
            if s.chance[slot - 1] * q_now < q_new:
                s.accepted[kind] += 1
                now = new
                by_topic, by_doc, by_word, gain_now = to_topic, to_doc, to_word, gain_new
        if now != old:
            s.changed += 1
            row_remove(row, &s.row_len[w], s.topic_bits, <uint32_t> old)
            row_add(row, &s.row_len[w], s.topic_bits, <uint32_t> now, 1)
            s.totals[old] -= 1
            s.totals[now] += 1
            inverse[old] = inverse_less
            inverse[now] = inverse_of(s.totals[now], s.beta_sum)
            counts[old] -= 1
            counts[now] += 1
            s.z[t] = <uint16_t> now
            if s.known:
                margins.moved(old, now)


def sweep(Cell cell not None, const uint32_t[::1] documents, int64_t block, uint64_t key) -> int:
    """Renew every token of the cell (see cell.pxd) by cell.steps proposals. cell.factor is a `Margins`; what stands in
    cell.assigned, cell.word_start and cell.word_places is as light.pyx has it. The tally gains, for document, word and
    exp-proposals, how many name another topic and how many of these were accepted."""
    cdef int64_t K = cell.totals.shape[0], k, begin, end
    cdef Margins margins = cell.factor
    cdef Work s
    if not cell.start(documents, block):
        return 0
    cdef Arena arena = cell.arena
    s.loops, s.gathers = margins.loops, tx_gathers_choose()
    s.words, s.assigned, s.beta, s.beta_sum = &cell.words[0], &cell.assigned[0], &cell.beta[0], cell.beta_sum
    s.row_start, s.row_cells, s.row_len = &cell.row_start[0], &cell.row_cells[0], &cell.row_len[0]
    s.topic_bits, s.totals, s.topics, s.steps = cell.topic_bits, &cell.totals[0], K, cell.steps
    s.word_start, s.word_places = &cell.word_start[0], &cell.word_places[0]
    s.mode, s.eta, s.lin, s.half, s.width = margins.mode, &margins.eta[0, 0], margins.lin, margins.half, margins.width
    s.blocks, s.tasks = &margins.blocks[0, 0, 0], margins.tasks
    s.prior, s.counts, s.outside = cell.prior, arena.ints(K), arena.ints(K)
    s.keep, s.inverse, s.other = arena.floats(K), arena.floats(K), arena.words(K)
    s.constant, s.frozen = arena.floats(s.width), arena.floats(s.width)
    s.logs, s.weights = arena.floats(margins.padded), arena.floats(margins.padded)
    s.exp_keep, s.exp_other = arena.floats(K), arena.words(K)
    s.scaled, s.stack = arena.doubles(K), arena.words(K)
    s.kind, s.place = <uint8_t *> arena.take(s.steps), arena.longs(RUN * s.steps)
    s.chance = arena.floats(RUN * s.steps)
    s.rng = tx_rng_seed(key)
    s.changed = 0
    s.alpha_sum = 0
    for k in range(3):
        s.named[k] = s.accepted[k] = 0
    with nogil:
        for k in range(K):
            s.inverse[k] = inverse_of(s.totals[k], s.beta_sum)
        while cell.next():
            s.z, s.shift, s.begin, s.length = cell.z, cell.shift, cell.begin, cell.end - cell.begin
            if cell.regrouped:
                s.alpha_sum = <float> walker_build(cell.prior, K, s.keep, s.other, s.scaled, s.stack)
            count_topics(s.z, cell.begin, cell.end, s.counts)
            margins.open(cell.number, s.length)
            s.known = margins.known
            if s.known:
                make_constant(&s)
            begin = s.table_end = cell.first
            while begin < cell.last:
                if begin == s.table_end:
                    if s.known and (s.mode < 2 or s.mode == 2 + EXP):
                        make_table(&s, begin, cell.last)
                    else:
                        s.table_end = cell.last
                end = min(begin + RUN, s.table_end)
                propose(&s, begin, end)
                judge(&s, margins, begin, end)
                begin = end
            for k in range(cell.begin, cell.end):
                s.counts[s.z[k]] = 0
    for k in range(3):
        cell.tally[2 * k] += s.named[k]
        cell.tally[2 * k + 1] += s.accepted[k]
    return s.changed
