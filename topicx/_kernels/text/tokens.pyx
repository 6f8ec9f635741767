"""Text to word ids: the inner loops of import and of streaming inference.

`Words` is a hash table from a word (as UTF-8) to its id, numbered by first appearance, and the scanner that fills it.
A word is a maximal run of characters of one class, where a joiner (an apostrophe, a zero-width joiner) is part of the
word between two characters that allow it; or, for MALLET's rule, such a run from its first letter to its last, if
those are at least two places apart. Words that are too short or have no letter can be told apart on the way: they all
get the one id `noise`, and no place in the table. topicx/corpus/text/tokenizer.py gives the classes, states the same rule as a
`regex` pattern, and the tests hold the two equal. ASCII text is read where CPython keeps it; other text is copied first,
four bytes a character, because the limited API shows no other form of it, and what is not ASCII is brought into its form
(`Forms`), a piece at a time.

What becomes of the ids is in ids.pyx.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

import sys

import numpy as np

from topicx._kernels.base.portable cimport tx_eight, tx_first_bit, tx_zeroed
from topicx._kernels.base.room cimport grown

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    Py_ssize_t PyUnicode_GetLength(object text) except -1
    uint32_t *PyUnicode_AsUCS4(object text, uint32_t *to, Py_ssize_t room, bint null) except NULL
    object PyUnicode_DecodeUTF32(const char *data, Py_ssize_t size, const char *errors, int *order)

cdef enum:
    WORD = 1  # part of a word
    BEFORE = 2  # may stand before a joiner
    AFTER = 4  # may stand after a joiner
    JOINER = 8  # joins
    FOLD = 16  # written as a straight apostrophe
    WIDE = 32  # a word even when alone: an ideograph, a syllable
    ASKED = 128  # the class is known

cdef int ORDER = -1 if sys.byteorder == "little" else 1  # of bytes, as PyUnicode_DecodeUTF32 tells it
cdef uint32_t NONE = 0xFFFFFFFF
cdef uint64_t EVERY = 0xFFFFFFFFFFFFFFFFULL

ctypedef fused unit:  # a character of ASCII text, or of any text
    uint8_t
    uint32_t


cdef class Characters:
    """The class of every character, asked for a page of 256 at a time: `classify(page) -> 256 bytes`."""

    cdef uint8_t *bits
    cdef object classify

    cdef bint trimmed, plain  # plain: ASCII runs are words as they stand

    def __cinit__(self, classify, bint trimmed=False):
        self.classify = classify
        self.trimmed = trimmed
        self.bits = <uint8_t *>calloc(0x110000, 1)  # pages that no text touches cost nothing
        if self.bits == NULL:
            raise MemoryError
        self.fill(0)
        self.plain = not trimmed
        for i in range(128):
            self.plain = self.plain and not self.bits[i] & (FOLD | WIDE)

    def __dealloc__(self):
        free(self.bits)

    cdef int fill(self, uint32_t page) except -1:
        cdef bytes values = self.classify(page)
        cdef int i
        for i in range(256):
            self.bits[256 * page + i] = <uint8_t>values[i] | ASKED
        return 0

    cdef inline int of(self, uint32_t character) except -1 nogil:
        if not self.bits[character]:
            with gil:
                self.fill(character >> 8)
        return self.bits[character]


cdef enum:
    FORM = 21  # bits of a character in its form
    JOINED = 0x1FFFFF  # no character: the form depends on the neighbours

cdef uint64_t KNOWN = 1ULL << 63


cdef class Forms:
    """What every character becomes before words are looked for: `spell(page) -> 256 strings`, of at most three
    characters, or None where it depends on the neighbours. A piece of text with such a one is given to
    `prepare(text) -> text`. Pieces are some `piece` characters long and end before a blank that follows a visible ASCII
    character, where `prepare` must not look beyond."""

    cdef uint64_t *forms  # three characters, the first in the lowest bits; 0: not asked for yet
    cdef uint8_t[256] ascii
    cdef object spell, prepare
    cdef Py_ssize_t piece

    def __cinit__(self, spell, prepare, Py_ssize_t piece):
        self.spell, self.prepare, self.piece = spell, prepare, piece
        self.forms = <uint64_t *>calloc(0x110000, sizeof(uint64_t))
        if self.forms == NULL:
            raise MemoryError
        for i, form in enumerate(spell(0)):
            self.ascii[i] = <uint8_t>ord(form) if i < 128 else 0

    def __dealloc__(self):
        free(self.forms)

    cdef int fill(self, uint32_t page) except -1:
        cdef uint64_t value
        for i, form in enumerate(self.spell(page)):
            value = JOINED
            if form is not None and len(form) <= 3 and "\0" not in form:
                value = sum(<uint64_t>ord(c) << (FORM * at) for at, c in enumerate(form))
            self.forms[256 * page + i] = KNOWN | value
        return 0

    cdef Py_ssize_t end(self, const uint32_t *text, Py_ssize_t begin, Py_ssize_t n) noexcept nogil:
        """Where the piece that begins here ends."""
        cdef Py_ssize_t at = begin + self.piece
        while at < n:
            if text[at] == 32 and 32 < text[at - 1] < 127:
                return at
            at += 1
        return n

    cdef Py_ssize_t form(self, const uint32_t *text, Py_ssize_t n, uint32_t *to) except -2 nogil:
        """The forms of these characters, and how many characters they are; -1 where neighbours matter."""
        cdef Py_ssize_t i, at = 0
        cdef uint64_t value
        for i in range(n):
            value = self.forms[text[i]]
            if value == 0:
                with gil:
                    self.fill(text[i] >> 8)
                value = self.forms[text[i]]
            value ^= KNOWN
            if value == JOINED:
                return -1
            while value:
                to[at] = <uint32_t>(value & JOINED)
                at += 1
                value >>= FORM
        return at


cdef inline uint64_t _hash(const uint8_t *word, Py_ssize_t length) noexcept nogil:
    """Eight bytes a step; `word` has eight readable bytes behind it."""
    cdef uint64_t h = 0x9E3779B97F4A7C15ULL ^ <uint64_t>length
    while length > 8:
        h = (h ^ tx_eight(word)) * 0xD6E8FEB86659FD93ULL
        h ^= h >> 32
        word += 8
        length -= 8
    if length:
        h = (h ^ (tx_eight(word) & _first(length))) * 0xD6E8FEB86659FD93ULL
        h ^= h >> 32
    return h * 0xD6E8FEB86659FD93ULL


cdef inline uint64_t _first(Py_ssize_t n) noexcept nogil:
    """What is left of eight bytes where n (1 to 8) of them count."""
    return <uint64_t>0xFFFFFFFFFFFFFFFFULL >> (64 - 8 * n)


cdef inline bint _same(const uint8_t *a, const uint8_t *b, Py_ssize_t length) noexcept nogil:
    """Whether these bytes are equal; eight more behind them can be read. Most words are of eight letters at most."""
    if 0 < length <= 8:
        return (tx_eight(a) ^ tx_eight(b)) & _first(length) == 0
    return memcmp(a, b, length) == 0


cdef inline Py_ssize_t _next_bit(const uint64_t *bits, Py_ssize_t i, uint64_t flip) noexcept nogil:
    """The next place from i on where a bit is set (with `flip` all ones: is not set)."""
    cdef uint64_t found = (bits[i >> 6] ^ flip) >> (i & 63)
    if found:
        return i + tx_first_bit(found)
    i >>= 6
    while True:
        i += 1
        if bits[i] ^ flip:
            return 64 * i + tx_first_bit(bits[i] ^ flip)


cdef inline Py_ssize_t _put(uint8_t *buffer, Py_ssize_t at, uint32_t c) noexcept nogil:
    """Append a character as UTF-8."""
    if c < 0x80:
        buffer[at] = <uint8_t>c
        return at + 1
    if c < 0x800:
        buffer[at] = <uint8_t>(0xC0 | (c >> 6))
        buffer[at + 1] = <uint8_t>(0x80 | (c & 0x3F))
        return at + 2
    if 0xD800 <= c < 0xE000:  # half of a pair alone: nothing can write it
        buffer[at] = 63
        return at + 1
    if c < 0x10000:
        buffer[at] = <uint8_t>(0xE0 | (c >> 12))
        buffer[at + 1] = <uint8_t>(0x80 | ((c >> 6) & 0x3F))
        buffer[at + 2] = <uint8_t>(0x80 | (c & 0x3F))
        return at + 3
    buffer[at] = <uint8_t>(0xF0 | (c >> 18))
    buffer[at + 1] = <uint8_t>(0x80 | ((c >> 12) & 0x3F))
    buffer[at + 2] = <uint8_t>(0x80 | ((c >> 6) & 0x3F))
    buffer[at + 3] = <uint8_t>(0x80 | (c & 0x3F))
    return at + 4


cdef inline uint64_t _gathered(uint64_t bytes) noexcept nogil:
    """The lowest bits of eight bytes, side by side."""
    return ((bytes & 0x0101010101010101ULL) * 0x0102040810204080ULL) >> 56


cdef inline bint _narrowed(const uint32_t *text, Py_ssize_t n, uint8_t *to) noexcept nogil:
    """Whether this is ASCII; it is copied, a byte a character."""
    cdef Py_ssize_t i
    cdef uint32_t any_bits = 0
    for i in range(n):
        any_bits |= text[i]
        to[i] = <uint8_t>text[i]
    return any_bits < 128


cdef uint8_t[256] SAME
for _i in range(256):
    SAME[_i] = _i


cdef inline uint32_t _character(const unit *text, Py_ssize_t i, const uint8_t *fold) noexcept nogil:
    if unit is uint8_t:
        return fold[text[i]]
    return text[i]


cdef class Words:
    """Words and their ids. After `freeze()` no word is added, and unknown ones get the id 0xFFFFFFFF."""

    cdef uint8_t *arena      # all words, one after the other
    cdef int64_t *starts     # word i is arena[starts[i]:starts[i + 1]]
    cdef uint64_t *slots     # hash (upper half) and id + 1 (lower half); 0 is free
    cdef uint8_t *buffer     # the word being read
    cdef uint32_t *out       # ids of the batch being read
    cdef uint32_t *wide      # the texts of the batch that are not ASCII
    cdef uint32_t *formed    # the piece of text being read
    cdef const uint8_t *ascii  # the forms of characters of one byte
    cdef uint8_t *letters    # ASCII text in its form,
    cdef uint8_t *kinds      # its classes,
    cdef uint64_t *in_word   # a bit for every character that is part of a word,
    cdef uint64_t *is_letter # and for every letter
    cdef Py_ssize_t ascii_room
    cdef Py_ssize_t arena_room, starts_room, buffer_room, out_room, wide_room, formed_room, n_out
    cdef uint64_t mask
    cdef Py_ssize_t count
    cdef bint frozen, borrowed
    cdef Words owner         # where `borrowed`: whose arena, starts and slots these are
    cdef readonly int64_t noise  # the id of all words that are left out for their form; -1: none was asked for
    cdef readonly Py_ssize_t least
    cdef readonly bint numbers

    def __cinit__(self):
        self.arena_room, self.starts_room, self.buffer_room, self.out_room = 1 << 16, 1 << 12, 1 << 10, 1 << 16
        self.mask = (1 << 13) - 1
        self.arena = <uint8_t *>malloc(self.arena_room)
        self.starts = <int64_t *>malloc(self.starts_room * sizeof(int64_t))
        self.slots = <uint64_t *>calloc(self.mask + 1, sizeof(uint64_t))
        self.buffer = <uint8_t *>malloc(self.buffer_room)
        self.out = <uint32_t *>malloc(self.out_room * sizeof(uint32_t))
        self.wide = self.formed = NULL
        self.wide_room = self.formed_room = 0
        self.letters = self.kinds = NULL
        self.in_word = self.is_letter = NULL
        self.ascii_room = 0
        if not (self.arena and self.starts and self.slots and self.buffer and self.out):
            raise MemoryError
        self.starts[0] = 0
        self.noise, self.least, self.numbers = -1, 1, True

    def __dealloc__(self):
        if not self.borrowed:
            free(self.arena)
            free(self.starts)
            free(self.slots)
        free(self.buffer)
        free(self.out)
        free(self.wide)
        free(self.formed)
        free(self.letters)
        free(self.kinds)
        free(self.in_word)
        free(self.is_letter)

    def __len__(self):
        return self.count

    def leave_out(self, Py_ssize_t shorter_than, bint numbers):
        """From now on words of fewer characters (unless one is WIDE), and words without a letter, are noise."""
        self.least, self.numbers = shorter_than, not numbers
        if self.noise < 0:
            self.noise = self._text_id("\0")  # a place of its own, that no text can name

    def freeze(self):
        self.frozen = True

    def shared(self):
        """The same words for another thread: one table, to which neither adds a word from now on, and scratch of its
        own."""
        cdef Words other = Words()
        free(other.arena)
        free(other.starts)
        free(other.slots)
        self.frozen = other.frozen = other.borrowed = True
        other.owner = self.owner if self.borrowed else self
        other.arena, other.starts, other.slots = self.arena, self.starts, self.slots
        other.mask, other.count = self.mask, self.count
        other.noise, other.least, other.numbers = self.noise, self.least, self.numbers
        return other

    def word(self, Py_ssize_t index):
        """The word of an id."""
        return self.arena[self.starts[index] : self.starts[index + 1]].decode("utf-8")

    def arrays(self, Py_ssize_t first=0):
        """All words from one on: their UTF-8 bytes and their offsets (copies)."""
        cdef int64_t begin = self.starts[first]
        data = np.empty(self.starts[self.count] - begin, dtype=np.uint8)
        offsets = np.empty(self.count - first + 1, dtype=np.int64)
        cdef uint8_t[::1] to_data = data
        cdef int64_t[::1] to_offsets = offsets
        if len(data):
            memcpy(&to_data[0], self.arena + begin, len(data))
        memcpy(&to_offsets[0], self.starts + first, (self.count - first + 1) * sizeof(int64_t))
        offsets -= begin
        return data, offsets

    def add(self, str word):
        """The id of a word, which is added if it is new (unless frozen: then 0xFFFFFFFF)."""
        return self._text_id(word)

    def find(self, str word):
        """The id of a word, or 0xFFFFFFFF."""
        cdef bint frozen = self.frozen
        self.frozen = True
        try:
            return self._text_id(word)
        finally:
            self.frozen = frozen

    def encode(self, list texts, Characters characters, Forms forms=None):
        """The ids of all words of these texts, and the number of words of each. Without `forms` texts are read as they
        are."""
        lengths = np.empty(len(texts), dtype=np.int64)
        cdef int64_t[::1] counts = lengths
        cdef Py_ssize_t i, before, size, n_texts = len(texts)
        cdef bint formed = forms is not None
        cdef str text
        places = np.empty((n_texts, 2), dtype=np.int64)  # where ASCII text is (else 0), and its length
        cdef int64_t[:, ::1] place = places
        cdef uint32_t *wide = self._widened(texts, place)
        for i in range(n_texts):
            text = texts[i]
            if text.isascii():
                place[i, 0] = <int64_t>PyUnicode_AsUTF8AndSize(text, &size)
        self.n_out = 0
        self.ascii = &forms.ascii[0] if formed else &SAME[0]
        with nogil:
            for i in range(n_texts):
                before = self.n_out
                if place[i, 0]:
                    self._scan_text[uint8_t](<const uint8_t *>place[i, 0], place[i, 1], characters)
                else:
                    if formed:
                        self._scan_pieces(wide, place[i, 1], characters, forms)
                    else:
                        self._scan_text[uint32_t](wide, place[i, 1], characters)
                    wide += place[i, 1]
                counts[i] = self.n_out - before
        return self._taken(), lengths

    cdef uint32_t *_widened(self, list texts, int64_t[:, ::1] place) except NULL:
        """The characters of all texts that are not ASCII, one text after the other; the lengths of all go to `place`."""
        cdef Py_ssize_t i, length, room = 1
        cdef uint32_t *to
        cdef str text
        for i in range(len(texts)):
            text = texts[i]
            place[i, 0], place[i, 1] = 0, PyUnicode_GetLength(text)
            room += 0 if text.isascii() else place[i, 1]
        if room > self.wide_room:
            self.wide_room = 2 * room
            self.wide = <uint32_t *>grown(self.wide, self.wide_room * sizeof(uint32_t))
        to = self.wide
        for i in range(len(texts)):
            text = texts[i]
            length = place[i, 1]
            if not text.isascii():
                PyUnicode_AsUCS4(text, to, length, False)
                to += length
        return self.wide

    cdef int _scan_pieces(
        self, const uint32_t *text, Py_ssize_t n, Characters characters, Forms forms
    ) except -1 nogil:
        """The words of a text that must be formed. No word has a blank in it."""
        cdef Py_ssize_t begin = 0, end, got
        cdef int order = ORDER
        while begin < n:
            end = forms.end(text, begin, n)
            self._reserve_formed(3 * (end - begin))
            if _narrowed(text + begin, end - begin, <uint8_t *>self.formed):
                self._scan_text[uint8_t](<const uint8_t *>self.formed, end - begin, characters)
                begin = end
                continue
            got = forms.form(text + begin, end - begin, self.formed)
            if got < 0:
                with gil:
                    ready = forms.prepare(
                        PyUnicode_DecodeUTF32(<const char *>(text + begin), 4 * (end - begin), b"surrogatepass", &order)
                    )
                    got = len(ready)
                    self._reserve_formed(got)
                    PyUnicode_AsUCS4(ready, self.formed, got, False)
            self._scan_text[uint32_t](self.formed, got, characters)
            begin = end
        return 0

    cdef int _reserve_formed(self, Py_ssize_t size) except -1 nogil:
        if size > self.formed_room:
            self.formed_room = 2 * size
            self.formed = <uint32_t *>grown(self.formed, self.formed_room * sizeof(uint32_t))
        return 0

    cdef int _scan_text(self, const unit *text, Py_ssize_t n, Characters characters) except -1 nogil:
        if unit is uint8_t:
            if characters.plain and self._classify(text, n, characters):
                return self._scan_ascii(n)
        self._reserve_buffer(4 * n)
        if characters.trimmed:
            return self._scan_trimmed(text, n, characters)
        return self._scan(text, n, characters)

    def add_all(self, const uint8_t[::1] data, const int64_t[::1] offsets):
        """The ids of words that another table has (`arrays`); those that are new are added, in their order."""
        cdef Py_ssize_t i, n = offsets.shape[0] - 1, length
        found = np.empty(n, dtype=np.uint32)
        cdef uint32_t[::1] ids = found
        with nogil:
            for i in range(n):
                length = offsets[i + 1] - offsets[i]
                self._reserve_buffer(length)
                if length:
                    memcpy(self.buffer, &data[offsets[i]], length)
                ids[i] = self._id(self.buffer, length)
        return found

    def ranked(self, const int64_t[::1] words, const int64_t[::1] counts):
        """These words by falling count (`counts` of all words), equal ones by their bytes: a merge sort."""
        cdef Py_ssize_t n = words.shape[0], run = 1, begin, middle, end, i, j, at
        from_array, to_array = np.array(words), np.empty(n, dtype=np.int64)
        cdef int64_t[::1] source = from_array, to = to_array
        with nogil:
            while run < n:
                begin = 0
                while begin < n:
                    middle, end = min(begin + run, n), min(begin + 2 * run, n)
                    i, j = begin, middle
                    for at in range(begin, end):
                        if j == end or (i < middle and not self._before(source[j], source[i], counts)):
                            to[at] = source[i]
                            i += 1
                        else:
                            to[at] = source[j]
                            j += 1
                    begin = end
                source, to = to, source
                run *= 2
        return np.asarray(source)

    cdef inline bint _before(self, int64_t a, int64_t b, const int64_t[::1] counts) noexcept nogil:
        cdef int64_t a_length, b_length
        cdef int order
        if counts[a] != counts[b]:
            return counts[a] > counts[b]
        a_length, b_length = self.starts[a + 1] - self.starts[a], self.starts[b + 1] - self.starts[b]
        order = memcmp(self.arena + self.starts[a], self.arena + self.starts[b], min(a_length, b_length))
        return order < 0 or (order == 0 and a_length < b_length)

    def encode_words(self, list documents):
        """The same for documents that are already lists of words."""
        lengths = np.empty(len(documents), dtype=np.int64)
        cdef int64_t[::1] counts = lengths
        cdef Py_ssize_t i
        self.n_out = 0
        for i in range(len(documents)):
            for word in documents[i]:
                self._emit(self._text_id(word))
            counts[i] = len(documents[i])
        return self._taken(), lengths

    cdef _taken(self):
        ids = np.empty(self.n_out, dtype=np.uint32)
        cdef uint32_t[::1] to = ids
        if self.n_out:
            memcpy(&to[0], self.out, self.n_out * sizeof(uint32_t))
        return ids

    cdef int _reserve_buffer(self, Py_ssize_t size) except -1 nogil:
        if size + 16 > self.buffer_room:
            self.buffer_room = 2 * size + 16
            self.buffer = <uint8_t *>grown(self.buffer, self.buffer_room)
        return 0

    cdef uint32_t _text_id(self, str word) except? 0xFFFFFFFE:
        cdef Py_ssize_t size
        cdef const char *data = PyUnicode_AsUTF8AndSize(word, &size)
        self._reserve_buffer(size)
        memcpy(self.buffer, data, size)
        return self._id(self.buffer, size)

    cdef bint _classify(self, const uint8_t *text, Py_ssize_t n, Characters characters) except -1 nogil:
        """The forms and classes of ASCII characters, and as bits: parts of words, letters. False: there are others. Where
        words end no branch can foresee: it costs more than all their characters."""
        cdef Py_ssize_t i, j, room = 64 * (n // 64 + 2)
        cdef uint8_t met = 0, c
        cdef uint64_t eight
        cdef const uint8_t *fold = self.ascii
        cdef const uint8_t *bits = characters.bits
        if room > self.ascii_room:
            self.ascii_room = 2 * room
            self.letters = <uint8_t *>grown(self.letters, self.ascii_room)
            self.kinds = <uint8_t *>grown(self.kinds, self.ascii_room)
            self.in_word = <uint64_t *>grown(self.in_word, self.ascii_room // 8)
            self.is_letter = <uint64_t *>grown(self.is_letter, self.ascii_room // 8)
        for i in range(n):
            met |= text[i]
            self.letters[i] = c = fold[text[i]]
            self.kinds[i] = bits[c]
        if met > 127:
            return False
        memset(self.letters + n, 0, room - n)
        memset(self.kinds + n, 0, room - n)
        for i in range(room // 64):
            self.in_word[i] = self.is_letter[i] = 0
            for j in range(0, 64, 8):
                eight = tx_eight(self.kinds + 64 * i + j)
                self.in_word[i] |= _gathered(eight) << j
                self.is_letter[i] |= _gathered(eight >> 2) << j
        self.in_word[room // 64 - 1] = 1 << 62  # a word behind the end, so that searches end
        self.is_letter[room // 64 - 1] = 1 << 62
        return True

    cdef int _scan_ascii(self, Py_ssize_t n) except -1 nogil:
        """As `_scan`, of what `_classify` found."""
        cdef Py_ssize_t begin = _next_bit(self.in_word, 0, 0), end
        cdef const uint8_t *kinds = self.kinds
        while begin < n:
            end = _next_bit(self.in_word, begin, EVERY)
            while kinds[end] & JOINER and kinds[end - 1] & BEFORE and kinds[end + 1] & AFTER:
                end = _next_bit(self.in_word, end + 1, EVERY)
            if end - begin < self.least or not (self.numbers or _next_bit(self.is_letter, begin, 0) < end):
                self._emit(<uint32_t>self.noise)
            else:
                self._emit(self._id(self.letters + begin, end - begin))
            begin = _next_bit(self.in_word, end, 0)
        return 0

    cdef int _scan(self, const unit *text, Py_ssize_t n, Characters characters) except -1 nogil:
        cdef Py_ssize_t i = 0, length, characters_read
        cdef uint32_t c
        cdef int kind, last, seen
        cdef const uint8_t *bits = characters.bits
        cdef uint8_t *buffer = self.buffer
        cdef const uint8_t *fold = self.ascii
        while i < n:
            c = _character(text, i, fold)
            i += 1
            if unit is uint8_t:
                kind = bits[c]
            else:
                kind = characters.of(c)
            if not kind & WORD:
                continue
            length = characters_read = seen = 0
            while True:
                length = _put(buffer, length, c)
                characters_read += 1
                seen |= kind
                if i >= n:
                    break
                last = kind
                c = _character(text, i, fold)
                if unit is uint8_t:
                    kind = bits[c]
                else:
                    kind = characters.of(c)
                if kind & WORD:
                    i += 1
                    continue
                if kind & JOINER and last & BEFORE and i + 1 < n and characters.of(_character(text, i + 1, fold)) & AFTER:
                    length = _put(buffer, length, 39 if kind & FOLD else c)
                    characters_read += 1
                    c = _character(text, i + 1, fold)
                    kind = characters.of(c)
                    i += 2
                    continue
                i += 1
                break
            self._emit(self._kept(length, characters_read, seen))
        return 0

    cdef inline uint32_t _kept(self, Py_ssize_t length, Py_ssize_t characters, int seen) except? 0xFFFFFFFE nogil:
        """The id of the word in the buffer, or of noise. `seen` are the classes of its characters."""
        if (characters < self.least and not seen & WIDE) or not (self.numbers or seen & AFTER):
            return <uint32_t>self.noise
        return self._id(self.buffer, length)

    cdef int _scan_trimmed(self, const unit *text, Py_ssize_t n, Characters characters) except -1 nogil:
        """Runs of WORD characters, from the first AFTER character to the last, at least three characters long."""
        cdef Py_ssize_t i = 0, j, length, first, last
        cdef int kind, seen
        cdef const uint8_t *fold = self.ascii
        while i < n:
            first = last = -1
            seen = 0
            while i < n:
                kind = characters.of(_character(text, i, fold))
                if not kind & WORD:
                    break
                seen |= kind
                if kind & AFTER:
                    last = i
                    if first < 0:
                        first = i
                i += 1
            i += 1
            if last - first >= 2:
                length = 0
                for j in range(first, last + 1):
                    length = _put(self.buffer, length, _character(text, j, fold))
                self._emit(self._kept(length, last + 1 - first, seen))
        return 0

    cdef inline int _emit(self, uint32_t word) except -1 nogil:
        if self.n_out == self.out_room:
            self.out_room *= 2
            self.out = <uint32_t *>grown(self.out, self.out_room * sizeof(uint32_t))
        self.out[self.n_out] = word
        self.n_out += 1
        return 0

    cdef uint32_t _id(self, const uint8_t *letters, Py_ssize_t length) except? 0xFFFFFFFE nogil:
        """The id of a word, which has eight readable bytes behind it."""
        cdef uint64_t h = _hash(letters, length), at = _place(h, self.mask), slot
        cdef uint64_t upper = h & 0xFFFFFFFF00000000ULL
        cdef Py_ssize_t word
        while True:
            slot = self.slots[at]
            if slot == 0:
                break
            if slot & 0xFFFFFFFF00000000ULL == upper:
                word = <Py_ssize_t>(slot & 0xFFFFFFFFULL) - 1
                if self.starts[word + 1] - self.starts[word] == length:
                    if _same(self.arena + self.starts[word], letters, length):
                        return <uint32_t>word
            at = (at + 1) & self.mask
        if self.frozen:
            return NONE
        word = self.count
        if word >= 0xFFFFFF00LL:
            with gil:
                raise OverflowError("more than four thousand million different words")
        if word + 2 > self.starts_room:
            self.starts_room *= 2
            self.starts = <int64_t *>grown(self.starts, self.starts_room * sizeof(int64_t))
        if self.starts[word] + length + 8 > self.arena_room:
            self.arena_room = 2 * (self.starts[word] + length + 8)
            self.arena = <uint8_t *>grown(self.arena, self.arena_room)
        memcpy(self.arena + self.starts[word], letters, length)
        self.starts[word + 1] = self.starts[word] + length
        self.slots[at] = upper | <uint64_t>(word + 1)
        self.count = word + 1
        if 2 * <uint64_t>self.count > self.mask:
            self._rehash()
        return <uint32_t>word

    cdef int _rehash(self) except -1 nogil:
        cdef uint64_t mask = 2 * self.mask + 1, at, i
        cdef uint64_t *slots = <uint64_t *>tx_zeroed((mask + 1) * sizeof(uint64_t))
        if slots == NULL:
            with gil:
                raise MemoryError
        for i in range(self.mask + 1):
            if self.slots[i]:
                at = _place(self.slots[i], mask)
                while slots[at]:
                    at = (at + 1) & mask
                slots[at] = self.slots[i]
        free(self.slots)
        self.slots, self.mask = slots, mask
        return 0


cdef inline uint64_t _place(uint64_t h, uint64_t mask) noexcept nogil:
    """Where the search for a word begins, by the half of its hash that slots keep."""
    return (h >> 32) & mask
