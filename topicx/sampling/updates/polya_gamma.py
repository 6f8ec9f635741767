"""Tables of the density of Pólya-Gamma variates of shape b >= 1 (what the draws in `_kernels/polya.h` go by).

The density of PG(b, 0) at w is that of its exponentially tilted self at its mean: with ψ such that PG(b, √ψ) has mean w
(a negative ψ for w > b / 4), p(w) = p_ψ(w) exp(ψ w / 2) / cosh(√ψ / 2)^b, and p_ψ is the Fourier integral of

    E exp(i t W) = (cosh(√ψ / 2) / cosh(√(ψ - 2 i t) / 2))^b                   (Polson, Scott & Windle 2013, eq. 5)

which is smooth and of one scale at the mean, so that the trapezoid rule has it to rounding. It falls slowly where b is
small: there the alternating series (Polson, Scott & Windle 2013, §2.3) is taken as far as it does not cancel.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

MOST = 1e6
"""The largest shape: of larger ones the integral's digits are lost, and in the end its sum has none."""
POINTS = 512
SMALLEST, LARGEST = 1 / 80, 4.0
"""Ends of the table, as w / b. Below, the series' first term is the density to rounding; above, a gamma tail is."""
SPREADS = 36
"""The Fourier integral's period, in standard deviations: what lies outside is none in double precision."""


SERIES = (8.0, 0.6)
"""Up to this shape and this w / b the series loses less than five digits."""


@lru_cache(maxsize=256)
def log_density_table(shape: float) -> NDArray[np.float64]:
    """log p(w) of PG(shape, 0) less that of the first term of its series, and the derivative by log w: a row a point,
    at equal steps of log w from shape · SMALLEST to shape · LARGEST. The constant of the first term is left out."""
    places = shape * np.exp(np.linspace(np.log(SMALLEST), np.log(LARGEST), POINTS))
    constant = shape * np.log(2) + np.log(shape / 2) - 0.5 * np.log(2 * np.pi)
    out = np.empty((POINTS, 2))
    for at, w in enumerate(places):
        by_series = shape < SERIES[0] and w < SERIES[1] * shape
        value, slope = log_series(shape, float(w)) if by_series else log_density(shape, float(w))
        first = constant - 1.5 * np.log(w) - shape**2 / (8 * w)
        out[at] = value - first, w * slope + 1.5 - shape**2 / (8 * w)
    return out


def log_density(shape: float, w: float) -> tuple[float, float]:
    """log p(w) of PG(shape, 0), and its derivative."""
    tilt = tilt_of(w / shape)
    step = 2 * np.pi / (SPREADS * _standard_deviation_at_tilt(shape, tilt))
    total, moment, begin = 0.5 + 0j, 0j, 1
    while True:
        t = step * np.arange(begin, begin + 2048)
        root = np.sqrt(tilt - 2j * t)
        logs = shape * (_log_cosh(np.sqrt(complex(tilt)) / 2) - _log_cosh(root / 2)) - 1j * t * w
        terms = np.exp(logs)
        total += terms.sum()
        moment += (-1j * t * terms).sum()
        begin += 2048
        if abs(terms[-1]) < 1e-15:
            break
    density = total.real * step / np.pi
    tilting = tilt * w / 2 - shape * _log_cosh(np.sqrt(complex(tilt)) / 2).real
    return float(np.log(density) + tilting), float(moment.real * step / np.pi / density + tilt / 2)


def log_series(shape: float, w: float) -> tuple[float, float]:
    """Log density by the series of inverse Gaussian densities with alternating signs."""
    from scipy.special import gammaln

    n = np.arange(64.0)
    square = (2 * n + shape) ** 2 / 8
    logs = gammaln(n + shape) - gammaln(n + 1) - gammaln(shape) + np.log(2 * n + shape) - square / w
    terms = (-1.0) ** n * np.exp(logs - logs.max())
    constant = shape * np.log(2) - np.log(2) - 0.5 * np.log(2 * np.pi) - 1.5 * np.log(w)
    slope = (terms * square).sum() / terms.sum() / w**2 - 1.5 / w
    return float(np.log(terms.sum()) + logs.max() + constant), float(slope)


def tilt_of(x: float) -> float:
    """ψ such that PG(b, √ψ) has mean b x, by bisection."""
    low, high = -(np.pi**2) * (1 - 1e-12), 1.0
    while _mean_at_tilt(high) > x:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean_at_tilt(middle) > x else (low, middle)
        if high - low <= 1e-13 * max(1.0, abs(high)):
            break
    return (low + high) / 2


def _mean_at_tilt(tilt: float) -> float:
    """Mean of PG(1, √ψ): tanh(z / 2) / (2 z), z = √ψ, real or imaginary."""
    if abs(tilt) < 1e-6:
        return 0.25 * (1 - tilt / 12)
    z = np.sqrt(abs(tilt))
    return float((np.tanh(z / 2) if tilt > 0 else np.tan(z / 2)) / (2 * z))


def _standard_deviation_at_tilt(shape: float, tilt: float) -> float:
    """Standard deviation of PG(shape, √ψ): the variance is -2 shape times the derivative of the mean by ψ."""
    h = 1e-4 * (abs(tilt) + 0.1)
    h = min(h, (tilt + np.pi**2) / 4)
    return float(np.sqrt(-2 * shape * (_mean_at_tilt(tilt + h) - _mean_at_tilt(tilt - h)) / (2 * h)))


def _log_cosh(w: NDArray[np.complex128] | complex) -> NDArray[np.complex128]:
    """log cosh of numbers right of the imaginary axis, continuous there."""
    return np.asarray(w + np.log1p(np.exp(-2 * np.asarray(w))) - np.log(2))
