"""Sliding windows: in how many windows over a corpus words and pairs of words occur (coherence measures).

The windows of a document of L tokens are its L - size + 1 runs of `size` tokens, or the document itself where it is
shorter. A token at position p lies in the windows that start at p - size + 1 ... p; a word's windows are the union of its
tokens' runs, and a pair's are the intersection of two words' unions. So a document costs its tokens and the runs of the
pairs asked for, never its windows times its pairs.

`forgetful`: a word leaves with its leftmost token even if another one stays in the window, as gensim counts.
"""

from libc.stdint cimport int32_t, int64_t

from topicx._kernels.gibbs.cell cimport Arena


cdef int64_t exact_runs(int64_t p, const int64_t *following, int64_t span, int64_t windows, int64_t *starts,
                        int64_t *ends, int64_t at) noexcept nogil:
    """The union of the tokens' runs of windows, written from `at` on; returns the end."""
    cdef int64_t first = at, enter
    while p >= 0:
        enter = max(p - span + 1, 0)
        if at > first and enter <= ends[at - 1]:
            ends[at - 1] = min(p + 1, windows)
        else:
            starts[at] = enter
            ends[at] = min(p + 1, windows)
            at += 1
        p = following[p]
    return at


cdef int64_t forgetful_runs(int64_t head, const int64_t *following, int64_t span, int64_t windows, int64_t *starts,
                            int64_t *ends, int64_t at) noexcept nogil:
    """The windows in which a word counts if any token of it that leaves takes it away."""
    cdef int64_t coming = head, going = head, arrival, departure
    cdef bint inside = head < span
    if inside:
        starts[at] = 0
    while coming >= 0 and coming < span:
        coming = following[coming]
    while True:
        departure = going + 1 if 0 <= going < windows - 1 else windows
        arrival = coming - span + 1 if coming >= 0 else windows
        if departure == windows and arrival == windows:
            break
        if departure < arrival:
            if inside:
                ends[at] = departure
                at += 1
            inside = False
        elif not inside:
            starts[at] = arrival
            inside = True
        if departure <= arrival:
            going = following[going]
        if arrival <= departure:
            coming = following[coming]
    if inside:
        ends[at] = windows
        at += 1
    return at


def count_windows(const int32_t[::1] words, const int64_t[::1] offsets, int64_t size, bint forgetful,
                  const int64_t[::1] partner_start, const int32_t[::1] partners, int64_t[::1] occurrences,
                  int64_t[::1] pairs):
    """Add to occurrences[w] and pairs[i] (pair i: word w and partners[i], partner_start[w] <= i < partner_start[w + 1]).

    words: numbers of the words of interest, -1 elsewhere. size <= 0: whole documents. Returns the number of windows.
    """
    cdef int64_t d, i, p, begin, length, span, windows, total = 0, longest = 0, found, at, a, b, both
    cdef int64_t low, high
    cdef int32_t w, other
    cdef int64_t n = occurrences.shape[0]
    for d in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    # For each word of a document: its tokens as a linked list, then its runs of windows.
    cdef Arena arena = Arena()
    cdef int64_t *head = arena.longs(n + 1)
    cdef int64_t *tail = arena.longs(n + 1)
    cdef int64_t *first = arena.longs(n + 1)
    cdef int64_t *last = arena.longs(n + 1)
    cdef int64_t *following = arena.longs(longest + 1)
    cdef int64_t *starts = arena.longs(longest + 1)
    cdef int64_t *ends = arena.longs(longest + 1)
    cdef int32_t *present = arena.ints(longest + 1)
    with nogil:
        for i in range(n):
            head[i] = -1
        for d in range(offsets.shape[0] - 1):
            begin = offsets[d]
            length = offsets[d + 1] - begin
            if length == 0:
                continue
            span = size if 0 < size < length else length
            windows = length - span + 1
            total += windows
            found = 0
            for p in range(length):
                w = words[begin + p]
                if w < 0:
                    continue
                following[p] = -1
                if head[w] < 0:
                    head[w] = p
                    present[found] = w
                    found += 1
                else:
                    following[tail[w]] = p
                tail[w] = p
            at = 0
            for i in range(found):
                w = present[i]
                first[w] = at
                if forgetful:
                    at = forgetful_runs(head[w], following, span, windows, starts, ends, at)
                else:
                    at = exact_runs(head[w], following, span, windows, starts, ends, at)
                last[w] = at
                for a in range(first[w], at):
                    occurrences[w] += ends[a] - starts[a]
            for i in range(found):
                w = present[i]
                for b in range(partner_start[w], partner_start[w + 1]):
                    other = partners[b]
                    if head[other] < 0:
                        continue
                    both = 0
                    a, p = first[w], first[other]
                    while a < last[w] and p < last[other]:
                        low = max(starts[a], starts[p])
                        high = min(ends[a], ends[p])
                        if low < high:
                            both += high - low
                        if ends[a] < ends[p]:
                            a += 1
                        else:
                            p += 1
                    pairs[b] += both
            for i in range(found):
                head[present[i]] = -1
    return total
