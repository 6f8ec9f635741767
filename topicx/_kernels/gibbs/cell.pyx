"""Arena, factor and cell: the header, cell.pxd, is the documentation."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from topicx._kernels.base.portable cimport tx_prefetch

cdef enum:
    SOON = 2      # documents between the prefetch of one and its turn
    WORDS = 64    # tokens of it whose words are prefetched
    TOPICS = 256  # and whose topics are


cdef class Arena:
    def __cinit__(self):
        self.count = 0
        self.used = 0

    def __dealloc__(self):
        cdef int i
        for i in range(self.count):
            free(self.blocks[i])

    cdef void *take(self, size_t bytes) except NULL:
        cdef void *place = self.room(bytes)
        memset(place, 0, bytes)
        return place

    cdef void *room(self, size_t bytes) except NULL:
        cdef size_t size = (bytes + 127) // 64 * 64, more, total = 0
        cdef char *place
        cdef int i
        if self.count == 0 or self.used + size > self.sizes[self.count - 1]:
            for i in range(self.count):
                total += self.sizes[i]
            more = max(size, max(total, <size_t> 16384))
            if self.count == 48:
                raise MemoryError
            self.blocks[self.count] = <char *> malloc(more + 64)
            if self.blocks[self.count] == NULL:
                raise MemoryError
            self.sizes[self.count] = more
            self.count += 1
            self.used = 0
        place = self.blocks[self.count - 1]
        place += (-<size_t> place) % 64 + self.used
        self.used += size
        return place

    cdef float *floats(self, int64_t n) except NULL:
        return <float *> self.take(n * sizeof(float))

    cdef double *doubles(self, int64_t n) except NULL:
        return <double *> self.take(n * sizeof(double))

    cdef int32_t *ints(self, int64_t n) except NULL:
        return <int32_t *> self.take(n * sizeof(int32_t))

    cdef uint32_t *words(self, int64_t n) except NULL:
        return <uint32_t *> self.take(n * sizeof(uint32_t))

    cdef int64_t *longs(self, int64_t n) except NULL:
        return <int64_t *> self.take(n * sizeof(int64_t))

    cdef void clear(self) noexcept:
        # The last block is the largest: where one was too small, the next time one may do.
        while self.count > 1:
            self.count -= 1
            free(self.blocks[self.count - 1])
            self.blocks[self.count - 1] = self.blocks[self.count]
            self.sizes[self.count - 1] = self.sizes[self.count]
        self.used = 0


cdef class Factor:
    cdef void enter(self, int64_t number, const uint16_t *z, int64_t begin, int64_t end) noexcept nogil:
        pass

    cdef float times(self, int64_t old, const float *q, float q_old, int64_t topics, float *weighed) noexcept nogil:
        cdef int64_t k
        for k in range(topics):
            weighed[k] = q[k]
        return q_old if old >= 0 else 0

    cdef void move(self, int64_t old, int64_t new) noexcept nogil:
        pass


cdef class FixedFactor(Factor):
    """Factors that stand still during a sweep: a row a document number, a column a topic."""

    cdef const float[:, ::1] rows
    cdef int64_t number

    def __init__(self, rows):
        self.rows = np.ascontiguousarray(rows, np.float32)

    cdef void enter(self, int64_t number, const uint16_t *z, int64_t begin, int64_t end) noexcept nogil:
        self.number = number

    cdef float times(self, int64_t old, const float *q, float q_old, int64_t topics, float *weighed) noexcept nogil:
        cdef int64_t k
        for k in range(topics):
            weighed[k] = q[k] * self.rows[self.number, k]
        return q_old * self.rows[self.number, old] if old >= 0 else 0


cdef given(array, kind):
    """The array itself, or an empty one where there is none."""
    return np.zeros(0, kind) if type(array) is tuple else array


cdef class Cell:
    def __init__(self, *, words, assigned, offsets, segments, blocks, alpha, groups, row_start=(), row_cells=(),
                 row_len=(), topic_bits=0, totals=(), beta=(), beta_sum=0.0, maximise=False, steps=1, tally=None, word_start=(), word_places=(),
                 factor=None):
        """The arrays of the header by name. What a kernel does not look at may be left out."""
        self.words, self.assigned, self.offsets, self.segments = words, assigned, offsets, segments
        self.row_start, self.row_cells = given(row_start, np.int64), given(row_cells, np.uint32)
        self.row_len, self.totals = given(row_len, np.int32), given(totals, np.int64)
        self.alpha, self.groups, self.beta, self.beta_sum = alpha, groups, given(beta, np.float32), beta_sum
        self.blocks, self.topic_bits, self.maximise, self.steps = blocks, topic_bits, maximise, steps
        self.tally = np.zeros(4, np.int64) if tally is None else tally
        self.word_start, self.word_places = given(word_start, np.int64), given(word_places, np.uint32)
        self.factor = factor
        self.arena = Arena()
        self._documents = self.offsets.shape[0] - 1
        self._tokens = self.words.shape[0]

    cdef int start(self, const uint32_t[::1] documents, int64_t block) except -1:
        self.arena.clear()
        self.prior = self.arena.floats((self.alpha.shape[1] + 15) // 16 * 16)
        self._list = &documents[0] if documents.shape[0] else NULL
        self._listed = documents.shape[0] if self._tokens else 0
        self._block = block
        self.rewind()
        return self._listed > 0

    cdef void rewind(self) noexcept nogil:
        self.at = -1
        self._group = -1

    cdef bint seek(self) noexcept nogil:
        cdef int64_t path
        cdef const int64_t *segment
        while True:
            self.at += 1
            if self.at >= self._listed:
                return False
            self.number = self._list[self.at]
            path = 0
            self.document = self.number
            if self.number >= self._documents:
                path = self.number // self._documents
                self.document = self.number - path * self._documents
            segment = &self.segments[self.document * (self.blocks + 1) + self._block]
            if segment[0] < segment[1]:
                break
        self.first = segment[0]
        self.last = segment[1]
        self.begin = self.offsets[self.document]
        self.end = self.offsets[self.document + 1]
        self.shift = path * self._tokens
        self.z = &self.assigned[0] + self.shift
        return True

    cdef bint next(self) noexcept nogil:
        cdef int64_t k, group
        if not self.seek():
            return False
        group = self.groups[self.document] if self.groups.shape[0] > 0 else 0
        self.expect()
        self.regrouped = group != self._group
        if self.regrouped:
            self._group = group
            for k in range(self.alpha.shape[1]):
                self.prior[k] = <float> self.alpha[group, k]
        return True

    cdef void expect(self) noexcept nogil:
        cdef int64_t at = self.at + SOON, path, document, t
        cdef const int64_t *segment
        if at + SOON < self._listed:
            document = self._list[at + SOON] % self._documents
            tx_prefetch(&self.segments[document * (self.blocks + 1) + self._block])
            tx_prefetch(&self.offsets[document])
        if at >= self._listed:
            return
        path = self._list[at] // self._documents
        document = self._list[at] - path * self._documents
        segment = &self.segments[document * (self.blocks + 1) + self._block]
        for t in range(segment[0], min(segment[1], segment[0] + WORDS), 16):
            tx_prefetch(&self.words[0] + t)
        for t in range(self.offsets[document], min(self.offsets[document + 1], self.offsets[document] + TOPICS), 32):
            tx_prefetch(&self.assigned[0] + path * self._tokens + t)

    cdef int64_t size(self) noexcept nogil:
        cdef int64_t tokens = 0
        self.rewind()
        while self.seek():
            tokens += self.last - self.first
        self.rewind()
        return tokens
