"""JSON records, one a line: the values of the wanted fields, and of nothing else.

A reader of JSON makes an object of every field of every line, under Python's lock. Most of the bytes of a corpus are the
insides of long strings, which are read here without the lock, in two passes: the first finds where every field's value
begins and ends, and what the widest character of a string will be; then Python makes room for the strings, and the second
pass writes them there. A value that is no string is left to `scan` (that of Python's `json`), which must end where the
first pass says. Whatever is not as usual (an error, a key with escapes) makes `columns` give None: then somebody else must
read these lines, who can also say what is wrong with them.

The grammar is RFC 8259's, as Python's `json` reads it: half of a surrogate pair alone is a character, and of two values of
one name the last counts.
"""

from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr

from topicx._kernels.base.room cimport grown

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, uint32_t widest)

ctypedef fused unit:
    uint8_t
    uint16_t
    uint32_t

ctypedef fused goal:
    uint8_t
    uint16_t
    uint32_t

cdef enum:
    ODD = -1  # not as usual
    STEP = 32  # characters looked at together
    HIGH = 0xD800 >> 10  # what the first half of a surrogate pair begins with
    LOW = 0xDC00 >> 10

cdef struct Span:
    Py_ssize_t begin, end  # of the value, without quotes
    Py_ssize_t size  # characters that the string has; ODD: it is no string
    void *to  # where they go
    int32_t record, column  # column -1: nobody wants it
    uint32_t widest  # no character has a bit that is not here
    bint escapes
    int32_t kind  # bytes a character there


cdef class Records:
    """Reads the fields of these names; the first `needed` of them must be in every record. `scan(text, at)` gives the value
    that begins there, and where it ends."""

    cdef list names
    cdef object scan
    cdef Py_ssize_t needed, n_names, n_spans, room, n_records, lines_room
    cdef Span *spans
    cdef int64_t *lines  # of the records
    cdef uint32_t *letters  # of all names, one after the other
    cdef Py_ssize_t *starts
    cdef Py_ssize_t *seen  # the last record that has the field

    def __cinit__(self, list names, Py_ssize_t needed, scan):
        cdef Py_ssize_t i, at = 0
        self.names, self.needed, self.scan = names, needed, scan
        self.n_names, self.room, self.lines_room = len(names), 1 << 10, 1 << 10
        self.spans = <Span *>malloc(self.room * sizeof(Span))
        self.lines = <int64_t *>malloc(self.lines_room * sizeof(int64_t))
        self.letters = <uint32_t *>malloc((sum(map(len, names)) + 1) * sizeof(uint32_t))
        self.starts = <Py_ssize_t *>malloc((self.n_names + 1) * sizeof(Py_ssize_t))
        self.seen = <Py_ssize_t *>malloc((self.n_names + 1) * sizeof(Py_ssize_t))
        if not (self.spans and self.lines and self.letters and self.starts and self.seen):
            raise MemoryError
        for i, name in enumerate(names):
            self.starts[i] = at
            for letter in name:
                self.letters[at] = ord(letter)
                at += 1
        self.starts[self.n_names] = at

    def __dealloc__(self):
        free(self.spans)
        free(self.lines)
        free(self.letters)
        free(self.starts)
        free(self.seen)

    def columns(self, str text):
        """For every name its value in each record (None where it has none), and the records' lines, counted from 0; blank
        lines have no record. None: something is unusual."""
        cdef const void *data = PyUnicode_DATA(text)
        cdef Py_ssize_t i, n = PyUnicode_GET_LENGTH(text)
        cdef int kind = PyUnicode_KIND(text)
        cdef list values
        cdef bint usual
        self.n_spans = self.n_records = 0
        for i in range(self.n_names):
            self.seen[i] = -1
        with nogil:
            if kind == 1:
                usual = self._find[uint8_t](<const uint8_t *>data, n)
            elif kind == 2:
                usual = self._find[uint16_t](<const uint16_t *>data, n)
            else:
                usual = self._find[uint32_t](<const uint32_t *>data, n)
        if not usual:
            return None
        values = [[None] * self.n_records for _ in range(self.n_names)]
        made = self._made(text, values)
        if made is None:
            return None
        with nogil:
            for i in range(self.n_spans):
                if kind == 1:
                    _write[uint8_t](<const uint8_t *>data, &self.spans[i])
                elif kind == 2:
                    _write[uint16_t](<const uint16_t *>data, &self.spans[i])
                else:
                    _write[uint32_t](<const uint32_t *>data, &self.spans[i])
        return values, [self.lines[i] for i in range(self.n_records)]

    cdef list _made(self, str text, list values):
        """Every value that was found, with nothing in the strings yet; those that are wanted are put in their places."""
        cdef Py_ssize_t i
        cdef Span *span
        cdef list made = []  # of two values of one name the first is in no place, and is written, too
        for i in range(self.n_spans):
            span = &self.spans[i]
            if span.size >= 0:
                value = PyUnicode_New(span.size, min(span.widest, <uint32_t>0x10FFFF))
                span.to, span.kind = PyUnicode_DATA(value), PyUnicode_KIND(value)
            else:
                span.to = NULL
                try:
                    value, end = self.scan(text, span.begin)
                except (ValueError, RecursionError):
                    return None
                if end != span.end:
                    return None
            made.append(value)
            if span.column >= 0:
                (<list>values[span.column])[span.record] = value
        return made

    cdef bint _find(self, const unit *text, Py_ssize_t n) except -1 nogil:
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

    cdef int _record(self, const unit *text, Py_ssize_t i, Py_ssize_t end) except -2 nogil:
        """1: there is a record on this line; 0: the line is blank."""
        cdef Span span
        cdef Py_ssize_t at
        cdef unit last = c","
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
                span.begin, span.size, span.end = i, ODD, _other(text, i, end)
                i = span.end
            if i == ODD:
                return ODD
            if span.column >= 0 or span.size == ODD:
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

    cdef int32_t _column(self, const unit *text, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        """Which of the names this is, or -1."""
        cdef Py_ssize_t i, length
        cdef int32_t name
        cdef const uint32_t *letters
        for name in range(self.n_names):
            letters, length = self.letters + self.starts[name], self.starts[name + 1] - self.starts[name]
            if length != end - begin:
                continue
            i = 0
            while i < length and text[begin + i] == letters[i]:
                i += 1
            if i == length:
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


cdef inline Py_ssize_t _solid(const unit *text, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
    """The next place without white space."""
    while i < end and (text[i] == 32 or text[i] == 9 or text[i] == 13):
        i += 1
    return i


cdef inline Py_ssize_t _next(const unit *text, Py_ssize_t i, Py_ssize_t end, unit character) noexcept nogil:
    """The next place of this character, or the end."""
    cdef const void *found
    if unit is uint8_t:
        found = memchr(text + i, character, end - i)
        return end if found == NULL else <const uint8_t *>found - text
    while i < end and text[i] != character:
        i += 1
    return i


cdef bint _string(const unit *text, Py_ssize_t i, Py_ssize_t end, Span *span) noexcept nogil:
    """The string whose first character is here, behind its quote; False: it is none."""
    cdef uint32_t c
    cdef Py_ssize_t at, saved = 0
    span.begin, span.widest, span.escapes = i, 0, False
    while True:
        i = _plain(text, i, end, &span.widest)
        if i == end or text[i] < 32:
            return False
        if text[i] == c'"':
            break
        at = i
        i = _escape(text, i, end, &c)
        if i == ODD:
            return False
        span.widest |= c
        span.escapes = True
        saved += i - at - 1
    span.end, span.size = i, i - span.begin - saved
    return True


cdef inline Py_ssize_t _plain(const unit *text, Py_ssize_t i, Py_ssize_t end, uint32_t *widest) noexcept nogil:
    """The next quote, backslash or control character."""
    cdef unit c, met, wide
    cdef int j
    while i + STEP <= end:
        met = wide = 0
        for j in range(STEP):
            c = text[i + j]
            met |= (c == c'"') | (c == c"\\") | (c < 32)
            wide |= c
        if met:
            break
        widest[0] |= wide
        i += STEP
    while i < end and text[i] != c'"' and text[i] != c"\\" and text[i] >= 32:
        widest[0] |= text[i]
        i += 1
    return i


cdef Py_ssize_t _escape(const unit *text, Py_ssize_t i, Py_ssize_t end, uint32_t *character) noexcept nogil:
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


cdef int _hexadecimal(const unit *text, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
    """The number of these four digits, or -1."""
    cdef int value = 0, j
    cdef unit c
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


cdef Py_ssize_t _other(const unit *text, Py_ssize_t i, Py_ssize_t end) noexcept nogil:
    """Where a value that is no string would end, if it is one."""
    cdef Span inner
    cdef Py_ssize_t begin = i, depth = 0
    cdef unit c
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


cdef void _write(const unit *text, const Span *span) noexcept nogil:
    """A string's characters into their place."""
    if span.to == NULL:
        return
    if span.kind == 1:
        _spell(text, span, <uint8_t *>span.to)
    elif span.kind == 2:
        _spell(text, span, <uint16_t *>span.to)
    else:
        _spell(text, span, <uint32_t *>span.to)


cdef void _spell(const unit *text, const Span *span, goal *to) noexcept nogil:
    cdef Py_ssize_t i = span.begin, j, run
    cdef uint32_t c = 0
    while i < span.end:
        run = _next(text, i, span.end, <unit>c"\\") - i if span.escapes else span.end - i
        for j in range(run):
            to[j] = <goal>text[i + j]
        to += run
        i += run
        if i < span.end:
            i = _escape(text, i, span.end, &c)
            to[0] = <goal>c
            to += 1
