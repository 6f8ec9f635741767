"""A cell: what a kernel works on that renews the topics of tokens. Its kernels are functions

    sweep(cell, documents, block, key) -> how many tokens changed their topic

over the tokens of these documents whose words are of this block. While it runs, the cell's tokens, documents and word
rows belong to nobody else. Every random number comes from the stream of `key`.

All arrays are in the schedule's order: within a document, tokens of one block of words stand together, and words are
numbered by rank. Whoever makes a cell promises what is said below; nothing here is checked.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

cdef enum:
    UNPLACED = 0xFFFF  # the topic of a token that has none yet


cdef class Arena:
    """Scratch memory that a kernel takes piece by piece, and that is given back all at once."""

    cdef char *blocks[48]  # each at least as large as all before it together
    cdef size_t sizes[48]
    cdef size_t used  # of the last block
    cdef int count

    cdef void *take(self, size_t bytes) except NULL
    """Zeroed memory on a 64-byte boundary, until `clear` or the arena's end. 64 more bytes may be read, not written."""

    cdef void *room(self, size_t bytes) except NULL
    """The same, with whatever is in it."""

    cdef float *floats(self, int64_t n) except NULL
    cdef double *doubles(self, int64_t n) except NULL
    cdef int32_t *ints(self, int64_t n) except NULL
    cdef uint32_t *words(self, int64_t n) except NULL
    cdef int64_t *longs(self, int64_t n) except NULL

    cdef void clear(self) noexcept
    """Take everything back; the memory is kept for what is taken next."""


cdef class Factor:
    """f_d(k): what a model multiplies into the weight of topic k in document d, given the document's other tokens.

    A subclass with state of its own (a max-margin model's discriminant, say) is told where the cell is; one object
    serves one cell. Only the dense kernel asks for it.
    """

    cdef void enter(self, int64_t number, const uint16_t *z, int64_t begin, int64_t end) noexcept nogil
    """The document of this number is next; its topics are z[begin] … z[end - 1]."""

    cdef float times(self, int64_t old, const float *q, float q_old, int64_t topics, float *weighed) noexcept nogil
    """q[k] f[k] of a token that now has topic `old` (-1: none) and is left out; returns q_old f[old] (0 if none). Of all
    arrays here the 16 numbers that hold the last topic may be read and written."""

    cdef void move(self, int64_t old, int64_t new) noexcept nogil
    """That token goes to another topic."""


cdef class Cell:
    # -- the corpus
    cdef readonly const uint32_t[::1] words
    """The word of each token, all documents one after another."""
    cdef readonly const int64_t[::1] offsets
    """Document d is words[offsets[d] : offsets[d + 1]]; one more than documents."""
    cdef readonly const int64_t[::1] segments
    """segments[d * (blocks + 1) + b]: where the tokens of document d begin whose words are of block b (and end: b + 1)."""
    cdef readonly int64_t blocks
    cdef readonly uint16_t[::1] assigned
    """The topic of each token. With several paths (Kozdoba & Mannor: the same documents, assigned independently, that
    share the words' counts) path after path, each of all tokens: document d of path m is number m * documents + d."""

    # -- the counts: seeds' pseudo-counts are in them
    cdef readonly const int64_t[::1] row_start
    cdef readonly uint32_t[::1] row_cells
    cdef readonly int32_t[::1] row_len
    cdef readonly int topic_bits
    """The word rows n_kw: see rows.pxd."""
    cdef readonly int64_t[::1] totals
    """n_k: the cell's own copy. Other cells of the epoch are seen at its end."""

    # -- the priors
    cdef readonly const double[:, ::1] alpha
    """α: a row a group of documents, a column a topic."""
    cdef readonly const uint32_t[::1] groups
    """The group of each document (not of each number); empty: all are in the first."""
    cdef readonly const float[::1] beta
    """β of each word,"""
    cdef readonly double beta_sum
    """and their sum."""

    # -- what is asked for
    cdef readonly bint maximise
    """Take the most probable topic instead of drawing one (dense and sparse)."""
    cdef readonly int steps
    """Metropolis-Hastings: proposals (or cycles of them) a token."""
    cdef readonly int64_t[::1] tally
    """Metropolis-Hastings: gains the proposals that name another topic, and how many were accepted, for each kind."""
    cdef readonly const int64_t[::1] word_start
    cdef readonly const uint32_t[::1] word_places
    """Where in `assigned` the tokens of each word stand (light; see its `index_words`)."""
    cdef readonly Factor factor
    """None: 1."""

    # -- scratch, for one call
    cdef Arena arena

    # -- the document at hand: `start`, then `next` until it says no
    cdef int64_t document
    """Its row in offsets and segments,"""
    cdef int64_t number
    """and its number, which counts the paths too."""
    cdef int64_t at
    """Its place in the list of documents."""
    cdef int64_t begin
    cdef int64_t end
    """Its tokens: words[begin : end],"""
    cdef int64_t first
    cdef int64_t last
    """and those of the block."""
    cdef uint16_t *z
    """Its topics: z[begin] … z[end - 1]."""
    cdef int64_t shift
    """Where z stands in `assigned`: the tokens of the paths before."""
    cdef float *prior
    """α of its group, in single precision; zero beyond K up to a multiple of 16."""
    cdef bint regrouped
    """Whether `prior` is another than that of the document before."""

    cdef const uint32_t *_list
    cdef int64_t _listed
    cdef int64_t _block
    cdef int64_t _group
    cdef int64_t _documents
    cdef int64_t _tokens

    cdef int start(self, const uint32_t[::1] documents, int64_t block) except -1
    """Clear the arena and stand before the first of these documents; 0: there is none, and nothing to do."""

    cdef void rewind(self) noexcept nogil
    """Before the first again; the first one is regrouped."""

    cdef bint next(self) noexcept nogil
    """Go on to the next document that has tokens of the block; False: there is none."""

    cdef void expect(self) noexcept nogil
    """Ask memory for the documents that come soon: they are in random order."""

    cdef bint seek(self) noexcept nogil
    """As `next`, leaving `prior` as it is: for a pass that only counts."""

    cdef int64_t size(self) noexcept nogil
    """The tokens of the block in all the documents; leaves the cell before the first."""


ctypedef fused number_type:
    float
    int32_t


cdef inline void count_topics(const uint16_t *z, int64_t begin, int64_t end, number_type *counts) noexcept nogil:
    """counts[k] += the tokens of topic k."""
    cdef int64_t t
    for t in range(begin, end):
        if z[t] != UNPLACED:
            counts[z[t]] += 1


cdef inline float inverse_of(int64_t total, double beta_sum) noexcept nogil:
    """1 / (n_k + B), rounded once."""
    return <float> (1.0 / (<double> total + beta_sum))
