"""Walker's alias tables (Walker 1977, by Vose's linear-time construction 1991): n weights, a draw in O(1).

Slot i holds its own number with probability keep[i], else the number other[i]: a uniform u picks the slot by the whole
part of u n and the number by the fraction. The table's own probabilities are those of the weights up to the rounding
of keep to single precision.
"""

from libc.stdint cimport int64_t, uint32_t


cdef inline double walker_build(const float *weights, int64_t n, float *keep, uint32_t *other, double *scaled,
                                uint32_t *stack) noexcept nogil:
    """Make a table of n weights, none negative; returns their sum. scaled and stack: room for n numbers each."""
    cdef double total = 0, scale
    cdef int64_t i, small = 0, large = n
    cdef uint32_t lesser, greater
    for i in range(n):
        total += weights[i]
    if not total > 0:
        for i in range(n):
            keep[i] = 1
            other[i] = <uint32_t> i
        return 0
    scale = n / total
    for i in range(n):  # one array holds both stacks: the small ones from the bottom, the large ones from the top
        scaled[i] = weights[i] * scale
        if scaled[i] < 1:
            stack[small] = <uint32_t> i
            small += 1
        else:
            large -= 1
            stack[large] = <uint32_t> i
    while small > 0 and large < n:
        small -= 1
        lesser = stack[small]
        greater = stack[large]
        keep[lesser] = <float> scaled[lesser]
        other[lesser] = greater
        scaled[greater] -= 1 - scaled[lesser]
        if scaled[greater] < 1:
            large += 1
            stack[small] = greater
            small += 1
    while large < n:
        keep[stack[large]] = 1
        other[stack[large]] = stack[large]
        large += 1
    while small > 0:  # only rounding leaves any
        small -= 1
        keep[stack[small]] = 1
        other[stack[small]] = stack[small]
    return total


cdef inline int64_t walker_draw(const float *keep, const uint32_t *other, int64_t n, double u) noexcept nogil:
    """The number that a uniform u of [0, 1) falls on."""
    cdef double x = u * n
    cdef int64_t i = <int64_t> x
    if i >= n:
        i = n - 1
    return i if x - i < keep[i] else other[i]
