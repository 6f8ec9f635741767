"""Lines of other programs' states, parsed in large buffers: MALLET's tokens, and the `a:b` pairs of everyone else.

A buffer holds whole lines. What a line must look like is checked here, field by field, and every fault is an InputError
that names the file and the line; nothing is skipped in silence. Memory is the result's.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy

import numpy as np

from topicx.errors import InputError

cdef enum:
    LONGEST_GAP = 10_000_000



cdef inline int64_t _number(const unsigned char* text, Py_ssize_t length) noexcept nogil:
    """The decimal number, or -1 where it is none (or has more than 18 digits)."""
    cdef Py_ssize_t i
    cdef int64_t value = 0
    if length < 1 or length > 18:
        return -1
    for i in range(length):
        if text[i] < 48 or text[i] > 57:
            return -1
        value = 10 * value + (text[i] - 48)
    return value


cdef class Growing:
    """A C array that doubles."""

    cdef char* data
    cdef Py_ssize_t size, capacity, item

    def __cinit__(self, Py_ssize_t item):
        self.item = item
        self.capacity = 1024
        self.data = <char*>malloc(self.capacity * item)
        if self.data == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.data)

    cdef int reserve(self, Py_ssize_t more) except -1 nogil:
        cdef Py_ssize_t capacity = self.capacity
        cdef char* data
        if self.size + more <= capacity:
            return 0
        while capacity < self.size + more:
            capacity *= 2
        data = <char*>realloc(self.data, capacity * self.item)
        if data == NULL:
            with gil:
                raise MemoryError
        self.data, self.capacity = data, capacity
        return 0

    def array(self, dtype):
        """A copy as a numpy array; the memory here is given back."""
        cdef Py_ssize_t number = self.size * self.item
        result = np.empty(self.size, dtype)
        cdef unsigned char[::1] view = result.view(np.uint8)
        if number:
            memcpy(&view[0], self.data, number)
        free(self.data)
        self.data = NULL
        self.size = self.capacity = 0
        return result


cdef struct Name:
    int64_t begin
    int64_t length
    int64_t line


cdef class MalletTokens:
    """The token lines of a MALLET state: `doc source pos typeindex type topic`, single spaces.

    A source may hold spaces, so a line is read from its right end. Documents ascend, positions count from 0 without a
    gap, a document has one source, and a type index has one type: whatever breaks that is an error.
    """

    cdef object name
    cdef int64_t line, topics, document, position
    cdef Growing words, z, offsets, names, types, source, ids, id_ends
    cdef Py_ssize_t seen

    def __init__(self, name, int64_t first_line, int64_t topics):
        self.name = name
        self.line = first_line
        self.topics = topics
        self.document = -1
        self.words, self.z, self.offsets = Growing(4), Growing(2), Growing(8)
        self.names, self.types = Growing(1), Growing(sizeof(Name))
        self.source, self.ids, self.id_ends = Growing(1), Growing(1), Growing(8)

    def fail(self, what):
        raise InputError(f"{self.name}:{self.line}: {what}")

    def feed(self, const unsigned char[::1] data):
        """Read these whole lines."""
        cdef const unsigned char* at
        cdef const unsigned char* end
        cdef const unsigned char* stop
        if not data.shape[0]:
            return
        at = &data[0]
        end = at + data.shape[0]
        # a line has at least 12 bytes; room for all tokens of the buffer
        self.words.reserve(data.shape[0] // 8 + 1)
        self.z.reserve(data.shape[0] // 8 + 1)
        with nogil:
            while at < end:
                stop = <const unsigned char*>memchr(at, 10, end - at)
                if stop == NULL:
                    stop = end
                self._line(at, stop)
                at = stop + 1
                self.line += 1

    cdef int _line(self, const unsigned char* begin, const unsigned char* end) except -1 nogil:
        cdef const unsigned char* field[5]
        cdef const unsigned char* right[5]
        cdef const unsigned char* p
        cdef int fields = 0
        cdef int64_t document, position, kind, topic
        cdef Name* known
        if end > begin and (end - 1)[0] == 13:
            end -= 1
        p = end
        # topic, type, typeindex, pos from the right
        while fields < 4:
            right[fields] = p
            while p > begin and (p - 1)[0] != 32:
                p -= 1
            field[fields] = p
            fields += 1
            if p == begin:
                break
            p -= 1
        cdef const unsigned char* first = <const unsigned char*>memchr(begin, 32, end - begin)
        if fields < 4 or first == NULL or p <= first:
            with gil:
                self.fail(f"not `doc source pos typeindex type topic`: {_shown(begin, end)}")
        document = _number(begin, first - begin)
        position = _number(field[3], right[3] - field[3])
        kind = _number(field[2], right[2] - field[2])
        topic = _number(field[0], right[0] - field[0])
        if document < 0 or position < 0 or kind < 0 or topic < 0 or right[1] == field[1]:
            with gil:
                self.fail(f"not `doc source pos typeindex type topic`: {_shown(begin, end)}")
        if topic >= self.topics:
            with gil:
                self.fail(f"topic {topic} is beyond the {self.topics} topics that #alpha lists")
        if document != self.document:
            if document < self.document:
                with gil:
                    self.fail(f"document {document} comes after document {self.document}")
            if document - self.document > LONGEST_GAP:
                with gil:
                    self.fail(f"document {document} comes after document {self.document}: a gap of more than "
                              f"{LONGEST_GAP:,}")
            self._start(document, first + 1, p - first - 1)
        elif p - first - 1 != self.source.size or memcmp(first + 1, self.source.data, self.source.size):
            with gil:
                self.fail(f"document {document} has two sources: {_shown(first + 1, p)}")
        if position != self.position:
            with gil:
                self.fail(f"position {position} of document {document} where {self.position} is expected")
        self.position += 1
        if kind >= self.types.size:
            if kind - self.seen > LONGEST_GAP:
                with gil:
                    self.fail(f"type index {kind} after {self.seen:,} types: a gap of more than {LONGEST_GAP:,}")
            self.types.reserve(kind + 1 - self.types.size)
            while self.types.size <= kind:
                (<Name*>self.types.data)[self.types.size].line = 0
                self.types.size += 1
        known = <Name*>self.types.data + kind
        if known.line == 0:
            known.line, known.begin, known.length = self.line, self.names.size, right[1] - field[1]
            self.names.reserve(known.length)
            memcpy(self.names.data + self.names.size, field[1], known.length)
            self.names.size += known.length
            self.seen += 1
        elif known.length != right[1] - field[1] or memcmp(self.names.data + known.begin, field[1], known.length):
            with gil:
                self.fail(f"type index {kind} is {_shown(field[1], right[1])} here and "
                          f"{_shown(<unsigned char*>self.names.data + known.begin, <unsigned char*>self.names.data + known.begin + known.length)}"
                          f" in line {known.line}")
        (<uint32_t*>self.words.data)[self.words.size] = <uint32_t>kind
        (<uint16_t*>self.z.data)[self.z.size] = <uint16_t>topic
        self.words.size += 1
        self.z.size += 1
        return 0

    cdef int _start(self, int64_t document, const unsigned char* source, Py_ssize_t length) except -1 nogil:
        """A new document (and the empty ones before it, which have no lines)."""
        cdef int64_t d
        self.offsets.reserve(document - self.document)
        self.id_ends.reserve(document - self.document)
        for d in range(self.document + 1, document + 1):
            (<int64_t*>self.offsets.data)[self.offsets.size] = self.words.size
            (<int64_t*>self.id_ends.data)[self.id_ends.size] = self.ids.size
            self.offsets.size += 1
            self.id_ends.size += 1
        self.source.size = 0
        self.source.reserve(length)
        memcpy(self.source.data, source, length)
        self.source.size = length
        self.ids.reserve(length)
        memcpy(self.ids.data + self.ids.size, source, length)
        self.ids.size += length
        (<int64_t*>self.id_ends.data)[self.id_ends.size - 1] = self.ids.size
        self.document, self.position = document, 0
        return 0

    def finish(self):
        """words (type indices), z, document begins, type names (begins, lengths, first lines, bytes), sources (ends, bytes)."""
        types = _names(self.types)
        return (
            self.words.array(np.uint32), self.z.array(np.uint16), self.offsets.array(np.int64), types,
            self.names.array(np.uint8), self.id_ends.array(np.int64), self.ids.array(np.uint8),
        )


cdef object _names(Growing types):
    cdef Py_ssize_t i
    result = np.empty((types.size, 3), np.int64)
    cdef int64_t[:, ::1] view = result
    cdef Name* name = <Name*>types.data
    for i in range(types.size):
        view[i, 0], view[i, 1], view[i, 2] = name[i].begin, name[i].length, name[i].line
        if name[i].line == 0:
            view[i, 0] = view[i, 1] = 0
    return result


cdef object _shown(const unsigned char* begin, const unsigned char* end):
    cdef Py_ssize_t length = end - begin
    text = (<const char*>begin)[:min(length, 60)].decode("utf-8", "replace")
    return repr(text + ("…" if length > 60 else ""))


def parse_pairs(name, int64_t first_line, const unsigned char[::1] data, Py_ssize_t lead, int64_t left_limit,
                int64_t right_limit, left_name, right_name):
    """Lines of `lead` numbers and then `left:right` pairs, apart by blanks.

    Returns the leading numbers (lines × lead), the pairs' two sides and each line's first pair; with the number of pairs
    at the end. A side must be below its limit.
    """
    cdef Growing leads = Growing(8), left = Growing(8), right = Growing(8), begins = Growing(8)
    cdef const unsigned char* at
    cdef const unsigned char* end
    cdef const unsigned char* p
    cdef const unsigned char* colon
    cdef int64_t line = first_line, a = 0, b = 0
    cdef Py_ssize_t number
    cdef int fault = 0
    cdef const unsigned char* field = NULL
    if data.shape[0]:
        at = &data[0]
        end = at + data.shape[0]
        with nogil:
            while at < end and not fault:
                begins.reserve(1)
                (<int64_t*>begins.data)[begins.size] = left.size
                begins.size += 1
                number = 0
                while True:
                    while at < end and (at[0] == 32 or at[0] == 9 or at[0] == 13):
                        at += 1
                    if at == end or at[0] == 10:
                        at += 1
                        break
                    field = at
                    colon = NULL
                    while at < end and at[0] != 32 and at[0] != 9 and at[0] != 10 and at[0] != 13:
                        if at[0] == 58 and colon == NULL:
                            colon = at
                        at += 1
                    if number < lead:
                        a = _number(field, at - field)
                        if a < 0:
                            fault = 1
                            break
                        leads.reserve(1)
                        (<int64_t*>leads.data)[leads.size] = a
                        leads.size += 1
                        number += 1
                        continue
                    if colon == NULL:
                        fault = 2
                        break
                    a = _number(field, colon - field)
                    b = _number(colon + 1, at - colon - 1)
                    if a < 0 or b < 0:
                        fault = 2
                        break
                    if a >= left_limit:
                        fault = 3
                        break
                    if b >= right_limit:
                        fault = 4
                        break
                    left.reserve(1)
                    right.reserve(1)
                    (<int64_t*>left.data)[left.size] = a
                    (<int64_t*>right.data)[right.size] = b
                    left.size += 1
                    right.size += 1
                if not fault:
                    if number < lead:
                        fault = 5
                        break
                    line += 1
        if fault:
            where = f"{name}:{line}: "
            if fault == 1:
                raise InputError(where + f"a number is expected, not {_shown(field, at)}")
            if fault == 2:
                raise InputError(where + f"`{left_name}:{right_name}` is expected, not {_shown(field, at)}")
            if fault == 3:
                raise InputError(where + f"{left_name} {a} is beyond the last, {left_limit - 1}")
            if fault == 4:
                raise InputError(where + f"{right_name} {b} is beyond the last, {right_limit - 1}")
            raise InputError(where + "a number is missing at the beginning of the line")
    begins.reserve(1)
    (<int64_t*>begins.data)[begins.size] = left.size
    begins.size += 1
    return (leads.array(np.int64).reshape(-1, lead) if lead else np.zeros((begins.size - 1, 0), np.int64),
            left.array(np.int64), right.array(np.int64), begins.array(np.int64))
