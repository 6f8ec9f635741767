"""Random draws that are the same on every machine.

The bits come from PCG64 (whose stream NumPy guarantees), keyed by the seed, the dataset's name and a part
number. What is made of them uses only operations that IEEE 754 rounds in one way (+ - × ÷, comparisons, exact
scalings by powers of two): the logarithms and exponentials of C libraries, and of NumPy on processors with
other vector units, differ in the last bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LN2 = math.log(2.0)
_LN2_HIGH = math.ldexp(math.floor(math.ldexp(_LN2, 32)), -32)  # few bits: a whole multiple of it is exact
_LN2_LOW = 1.9082149292705877e-10  # ln 2 minus the above
_HALF_ROOT = math.sqrt(0.5)


def portable_log(x: Floats) -> Floats:
    """The natural logarithm of positive numbers: x = m 2^e, log m = 2 artanh((m - 1)/(m + 1)) as a series."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < _HALF_ROOT
    mantissa = np.where(small, 2.0 * mantissa, mantissa)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square = s * s
    series = np.full_like(s, 1.0 / 23.0)
    for odd in range(21, 0, -2):
        series *= square
        series += 1.0 / odd
    return (exponent - small) * _LN2 + 2.0 * s * series


def portable_exp(x: Floats) -> Floats:
    """The exponential function; 0 where it would be below 1e-304."""
    x = np.asarray(x, dtype=np.float64)
    inside = np.clip(x, -700.0, 700.0)
    k = np.rint(inside / _LN2)
    r = inside - k * _LN2_HIGH - k * _LN2_LOW
    series = np.ones_like(r)
    for term in range(14, 0, -1):
        series = 1.0 + series * r / term
    return np.where(x < -700.0, 0.0, np.ldexp(series, k.astype(np.int32)))


class Draws:
    """One stream of random numbers."""

    def __init__(self, seed: int, name: str, part: int = 0) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence([seed, *name.encode()], spawn_key=(part,)))

    def raw(self, size: int) -> NDArray[np.uint64]:
        """Random 64-bit words."""
        words: NDArray[np.uint64] = self._bits.random_raw(size)
        return words

    def uniform(self, size: int) -> Floats:
        """Numbers strictly between 0 and 1."""
        return ((self.raw(size) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52

    def exponential(self, size: int) -> Floats:
        return -portable_log(self.uniform(size))

    def log_gamma(self, shapes: Floats) -> Floats:
        """Logarithms of Gamma(shape, 1) variates. In logarithms because those of tiny shapes underflow.

        Shapes below 1: rejection after Ahrens & Dieter 1974, algorithm GS; whole parts: sums of exponentials.
        """
        shapes = np.asarray(shapes, dtype=np.float64)
        whole = np.floor(shapes)
        fraction = shapes - whole
        result = np.full(shapes.shape, -np.inf)
        pending = np.flatnonzero(fraction > 0)
        while len(pending):
            a = fraction[pending]
            scale = 1.0 + a / math.e
            p = scale * self.uniform(len(pending))
            second = portable_log(self.uniform(len(pending)))
            low = p <= 1.0
            log_p = portable_log(p) / a
            x = np.where(low, 1.0, -portable_log(np.where(low, 1.0, (scale - p) / a)))  # used where p > 1
            log_x = np.where(low, log_p, portable_log(np.maximum(x, 1e-300)))
            accepted = second <= np.where(low, -portable_exp(log_p), (a - 1.0) * log_x)
            result[pending[accepted]] = log_x[accepted]
            pending = pending[~accepted]
        large = np.flatnonzero(whole > 0)
        if len(large):
            sums = portable_exp(result[large])
            for step in range(int(whole.max())):
                active = whole[large] > step
                sums[active] += self.exponential(int(active.sum()))
            result[large] = portable_log(sums)
        return result

    def dirichlet(self, parameters: Floats) -> Floats:
        """A Dirichlet draw per row of parameters (zeros stay zero)."""
        rows, width = parameters.shape
        logs = self.log_gamma(parameters.ravel()).reshape(rows, width)
        values = portable_exp(logs - logs.max(axis=1, keepdims=True))
        return values / np.cumsum(values, axis=1)[:, -1:]

    def choose(self, probabilities: Floats, rows: NDArray[Any]) -> NDArray[np.int64]:
        """For each entry of `rows`, a column drawn with the probabilities of that row."""
        cumulative = np.cumsum(probabilities, axis=1)
        cumulative /= cumulative[:, -1:]
        u = self.uniform(len(rows))
        low = np.zeros(len(rows), dtype=np.int64)
        high = np.full(len(rows), probabilities.shape[1] - 1, dtype=np.int64)
        for _ in range(int(probabilities.shape[1] - 1).bit_length()):  # the first column whose sum exceeds u
            middle = (low + high) >> 1
            right = cumulative[rows, middle] <= u
            low = np.where(right, np.minimum(middle + 1, high), low)
            high = np.where(right, high, middle)
        return low
