"""JSON records, one a line: the values of the wanted fields, and of nothing else.

A reader of JSON makes an object of every field of every line, under Python's lock. Most of the bytes of a corpus are the
insides of long strings, which are read here without the lock, as UTF-8: where every field's value begins and ends, and
what strings with escapes stand for. Then Python makes the strings, each in one copy. A value that is no string is left to
`scan` (that of Python's `json`), which must take all of it. Whatever is not as usual (an error, a key with escapes) makes
`columns` give None: then somebody else must read these lines, who can also say what is wrong with them.

The grammar is RFC 8259's, as Python's `json` reads it: half of a surrogate pair alone is a character, and of two values of
one name the last counts.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp, memcpy

from topicx._kernels.base.room cimport grown

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)

cdef enum:
    ODD = -1  # not as usual
    STEP = 32  # characters looked at together
    HIGH = 0xD800 >> 10  # what the first half of a surrogate pair begins with
    LOW = 0xDC00 >> 10

cdef struct Span:
    Py_ssize_t begin, end  # of the value, without quotes
    Py_ssize_t at, size  # with escapes: where it begins among those that were spelt out, and its bytes there
    int32_t record, column  # column -1: nobody wants it
    bint string, escapes


cdef class Records:
    """Reads the fields of these names; the first `needed` of them must be in every record. `scan(text, at)` gives the value
    that begins there, and where it ends."""

    cdef list names
    cdef object scan
    cdef Py_ssize_t needed, n_names, n_spans, room, n_records, lines_room
    cdef Span *spans
    cdef int64_t *lines  # of the records
    cdef uint8_t *letters  # of all names, one after the other
    cdef Py_ssize_t *starts
    cdef Py_ssize_t *seen  # the last record that has the field
    cdef uint8_t *spelt  # strings with escapes, as they are meant
    cdef Py_ssize_t spelt_room

    def __cinit__(self, list names, Py_ssize_t needed, scan):
        cdef Py_ssize_t i, at = 0
        cdef list encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        self.names, self.needed, self.scan = names, needed, scan
        self.n_names, self.room, self.lines_room = len(names), 1 << 10, 1 << 10
        self.spans = <Span *>malloc(self.room * sizeof(Span))
        self.lines = <int64_t *>malloc(self.lines_room * sizeof(int64_t))
        self.letters = <uint8_t *>malloc(sum(map(len, encoded)) + 1)
        self.starts = <Py_ssize_t *>malloc((self.n_names + 1) * sizeof(Py_ssize_t))
        self.seen = <Py_ssize_t *>malloc((self.n_names + 1) * sizeof(Py_ssize_t))
        if not (self.spans and self.lines and self.letters and self.starts and self.seen):
            raise MemoryError
        for i, name in enumerate(encoded):
            self.starts[i] = at
            for letter in name:
                self.letters[at] = letter
                at += 1
        self.starts[self.n_names] = at

    def __dealloc__(self):
        free(self.spans)
        free(self.lines)
        free(self.letters)
        free(self.starts)
        free(self.seen)
        free(self.spelt)

    def columns(self, str text):
        """For every name its value in each record (None where it has none), and the records' lines, counted from 0; blank
        lines have no record. None: something is unusual."""
        cdef Py_ssize_t i, n
        cdef const uint8_t *data
        cdef bytes encoded
        cdef list values
        cdef bint usual
        try:
            data = <const uint8_t *>PyUnicode_AsUTF8AndSize(text, &n)
        except UnicodeEncodeError:  # half of a surrogate pair
            encoded = text.encode("utf-8", "surrogatepass")
            data, n = <const uint8_t *><const char *>encoded, len(encoded)
        self.n_spans = self.n_records = 0
        for i in range(self.n_names):
            self.seen[i] = -1
        with nogil:
            usual = self._find(data, n)
            if usual:
                self._spell(data)
        if not usual:
            return None
        values = [[None] * self.n_records for _ in range(self.n_names)]
        if not self._make(data, values):
            return None
        return values, [self.lines[i] for i in range(self.n_records)]

    cdef bint _make(self, const uint8_t *data, list values) except -1:
        """Put every wanted value in its place; False: one is unusual."""
        cdef Py_ssize_t i
        cdef Span *span
        for i in range(self.n_spans):
            span = &self.spans[i]
            if span.escapes:
                value = PyUnicode_DecodeUTF8(<const char *>(self.spelt + span.at), span.size, b"surrogatepass")
            else:
                value = PyUnicode_DecodeUTF8(<const char *>(data + span.begin), span.end - span.begin, b"surrogatepass")
            if not span.string:
                written = value
                try:
                    value, end = self.scan(written, 0)
                except (ValueError, RecursionError):
                    return False
                if end != len(written):
                    return False
            if span.column >= 0:
                (<list>values[span.column])[span.record] = value
        return True

    cdef int _spell(self, const uint8_t *text) except -1 nogil:
        """The bytes of all strings with escapes: never more than they are written with."""
        cdef Py_ssize_t i, room = 0
        cdef Span *span
        for i in range(self.n_spans):
            if self.spans[i].escapes:
                room += self.spans[i].end - self.spans[i].begin
        if room > self.spelt_room:
            self.spelt_room = room + room // 4
            self.spelt = <uint8_t *>grown(self.spelt, self.spelt_room)
        room = 0
        for i in range(self.n_spans):
            span = &self.spans[i]
            if span.escapes:
                span.at, span.size = room, _unescape(text, span, self.spelt + room)
                room += span.size
        return 0

    cdef bint _find(self, const uint8_t *text, Py_ssize_t n) except -1 nogil:
        """Where all values are; False: not all lines are usual."""
        cdef Py_ssize_t begin = 0, end
        cdef int64_t line = 0
        cdef int found
        while begin <= n:
            end = _next(text, begin, n, c"\n")
            found = self._record(text, begin, end)
            if found == ODD:
                return False
            if found:
                if self.n_records == self.lines_room:
                    self.lines_room *= 2
                    self.lines = <int64_t *>grown(self.lines, self.lines_room * sizeof(int64_t))
                self.lines[self.n_records] = line
                self.n_records += 1
            begin = end + 1
            line += 1
        return True

    cdef int _record(self, const uint8_t *text, Py_ssize_t i, Py_ssize_t end) except -2 nogil:
        """1: there is a record on this line; 0: the line is blank."""
        cdef Span span
        cdef Py_ssize_t at
        cdef uint8_t last = c","
        i = _solid(text, i, end)
        if i == end:
            return 0
        if text[i] != c"{":
            return ODD
        i = _solid(text, i + 1, end)
        if i < end and text[i] == c"}":
            i, last = _solid(text, i + 1, end), c"}"
        while last == c",":
            if i == end or text[i] != c'"' or not _string(text, i + 1, end, &span) or span.escapes:
                return ODD
            span.column = self._column(text, span.begin, span.end)
            i = _solid(text, span.end + 1, end)
            if i == end or text[i] != c":":
                return ODD
            i = _solid(text, i + 1, end)
            if i < end and text[i] == c'"':
                if not _string(text, i + 1, end, &span):
                    return ODD
                i = span.end + 1
            else:
                span.begin, span.string, span.escapes, span.end = i, False, False, _other(text, i, end)
                i = span.end
            if i == ODD:
                return ODD
            if span.column >= 0 or not span.string:
                self._add(&span)
            i = _solid(text, i, end)
            if i == end:
                return ODD
            last = text[i]
            i = _solid(text, i + 1, end)
        if last != c"}" or i < end:
            return ODD
        for at in range(self.needed):
            if self.seen[at] != self.n_records:
                return ODD
        return 1

    cdef int32_t _column(self, const uint8_t *text, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        """Which of the names this is, or -1."""
        cdef Py_ssize_t length
        cdef int32_t name
        for name in range(self.n_names):
            length = self.starts[name + 1] - self.starts[name]
            if length == end - begin and memcmp(text + begin, self.letters + self.starts[name], length) == 0:
                self.seen[name] = self.n_records
                return name
        return -1

    cdef int _add(self, Span *span) except -1 nogil:
        if self.n_spans == self.room:
            self.room *= 2
            self.spans = <Span *>grown(self.spans, self.room * sizeof(Span))
        self.spans[self.n_spans] = span[0]
        self.spans[self.n_spans].record = self.n_records
        self.n_spans += 1
        return 0


cdef inline Py_ssize_t _solid(const uint8_t *text, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
    """The next place without white space."""
    while i < end and (text[i] == 32 or text[i] == 9 or text[i] == 13):
        i += 1
    return i


cdef inline Py_ssize_t _next(const uint8_t *text, Py_ssize_t i, Py_ssize_t end, uint8_t character) noexcept nogil:
    """The next place of this character, or the end."""
    cdef const void *found = memchr(text + i, character, end - i)
    return end if found == NULL else <const uint8_t *>found - text


cdef bint _string(const uint8_t *text, Py_ssize_t i, Py_ssize_t end, Span *span) noexcept nogil:
    """The string whose first character is here, behind its quote; False: it is none."""
    cdef uint32_t c
    span.begin, span.string, span.escapes = i, True, False
    while True:
        i = _plain(text, i, end)
        if i == end or text[i] < 32:
            return False
        if text[i] == c'"':
            break
        i = _escape(text, i, end, &c)
        if i == ODD:
            return False
        span.escapes = True
    span.end = i
    return True


cdef inline Py_ssize_t _plain(const uint8_t *text, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
    """The next quote, backslash or control character."""
    cdef uint8_t c, met
    cdef int j
    while i + STEP <= end:
        met = 0
        for j in range(STEP):
            c = text[i + j]
            met |= (c == c'"') | (c == c"\\") | (c < 32)
        if met:
            break
        i += STEP
    while i < end and text[i] != c'"' and text[i] != c"\\" and text[i] >= 32:
        i += 1
    return i


cdef Py_ssize_t _escape(const uint8_t *text, Py_ssize_t i, Py_ssize_t end, uint32_t *character) noexcept nogil:
    """What the escape that begins here stands for, and where it ends."""
    cdef int first, second
    if i + 1 == end:
        return ODD
    character[0] = text[i + 1]
    if text[i + 1] == c"u":
        first = _hexadecimal(text, i + 2, end)
        i += 6
        character[0] = first
        if first >> 10 == HIGH and i + 1 < end and text[i] == c"\\" and text[i + 1] == c"u":
            second = _hexadecimal(text, i + 2, end)
            if second >> 10 == LOW:
                character[0] = 0x10000 + ((first & 0x3FF) << 10) + (second & 0x3FF)
                i += 6
        return ODD if first < 0 else i
    if text[i + 1] == c"n":
        character[0] = 10
    elif text[i + 1] == c"t":
        character[0] = 9
    elif text[i + 1] == c"r":
        character[0] = 13
    elif text[i + 1] == c"b":
        character[0] = 8
    elif text[i + 1] == c"f":
        character[0] = 12
    elif text[i + 1] != c'"' and text[i + 1] != c"\\" and text[i + 1] != c"/":
        return ODD
    return i + 2


cdef int _hexadecimal(const uint8_t *text, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
    """The number of these four digits, or -1."""
    cdef int value = 0, j
    cdef uint8_t c
    if i + 4 > end:
        return ODD
    for j in range(4):
        c = text[i + j]
        if c"0" <= c <= c"9":
            value = 16 * value + c - c"0"
        elif c"a" <= c <= c"f" or c"A" <= c <= c"F":
            value = 16 * value + (c & 7) + 9
        else:
            return ODD
    return value


cdef Py_ssize_t _other(const uint8_t *text, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
    """Where a value that is no string would end, if it is one."""
    cdef Span inner
    cdef Py_ssize_t begin = i, depth = 0
    cdef uint8_t c
    while i < end:
        c = text[i]
        if c == c'"':
            if not _string(text, i + 1, end, &inner):
                return ODD
            i = inner.end
        elif c == c"[" or c == c"{":
            depth += 1
        elif depth and (c == c"]" or c == c"}"):
            depth -= 1
            if depth == 0:
                return i + 1
        elif depth == 0 and (c == c"," or c == c"}" or c == 32 or c == 9 or c == 13):
            break
        i += 1
    return i if depth == 0 and i > begin else ODD


cdef Py_ssize_t _unescape(const uint8_t *text, const Span *span, uint8_t *to) noexcept nogil:
    """A string's bytes into their place, and how many they are."""
    cdef Py_ssize_t i = span.begin, run, at = 0
    cdef uint32_t c = 0
    while i < span.end:
        run = _next(text, i, span.end, c"\\") - i
        memcpy(to + at, text + i, run)
        at += run
        i += run
        if i < span.end:
            i = _escape(text, i, span.end, &c)
            at = _put(to, at, c)
    return at


cdef inline Py_ssize_t _put(uint8_t *to, Py_ssize_t at, uint32_t c) noexcept nogil:
    """Append a character as UTF-8, half of a surrogate pair too."""
    if c < 0x80:
        to[at] = <uint8_t>c
        return at + 1
    if c < 0x800:
        to[at] = <uint8_t>(0xC0 | (c >> 6))
        to[at + 1] = <uint8_t>(0x80 | (c & 0x3F))
        return at + 2
    if c < 0x10000:
        to[at] = <uint8_t>(0xE0 | (c >> 12))
        to[at + 1] = <uint8_t>(0x80 | ((c >> 6) & 0x3F))
        to[at + 2] = <uint8_t>(0x80 | (c & 0x3F))
        return at + 3
    to[at] = <uint8_t>(0xF0 | (c >> 18))
    to[at + 1] = <uint8_t>(0x80 | ((c >> 12) & 0x3F))
    to[at + 2] = <uint8_t>(0x80 | ((c >> 6) & 0x3F))
    to[at + 3] = <uint8_t>(0x80 | (c & 0x3F))
    return at + 4
