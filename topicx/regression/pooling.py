"""Estimates of several draws as one, with intervals and tests: Rubin's rules, nested where the draws are of several
models (Rubin 1987; Shen 2000; Barnard & Rubin 1999 for the degrees of freedom).

    T = Ū + (1 + 1/M) B + (1 - 1/S) W        of M models with S draws each; of one model Ū + (1 + 1/S) W

Ū: variance of one estimate given θ; W: of the draws of one model; B: of the models' means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtr, stdtrit

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pooled:
    """Values with a variance each (any shape), or with covariances."""

    value: Floats
    variance: Floats
    freedom: Floats
    between: Floats
    """The share of the variance that comes from not knowing the topics."""

    def intervals(self, level: float) -> tuple[Floats, Floats]:
        wide = stdtrit(self.freedom, 0.5 + level / 2) * self.errors
        return self.value - wide, self.value + wide

    def share_intervals(self, level: float) -> tuple[Floats, Floats]:
        """Intervals of values that are shares (`share_intervals`)."""
        return share_intervals(self.value, self.errors, stdtrit(self.freedom, 0.5 + level / 2))

    @property
    def errors(self) -> Floats:
        return np.sqrt(np.maximum(self.variance, 0))  # a variance of nothing may be rounded to less

    @property
    def p_values(self) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = np.abs(self.value / self.errors)
        found: Floats = 2 * stdtr(self.freedom, -statistic)
        return found


def pool_draws(values: Floats, variances: Floats, complete: float | Floats, models: int = 1) -> Pooled:
    """Draws × …: values and variances of each, `models` of equal numbers of draws one after another. `complete`:
    degrees of freedom that one draw has."""
    draws = len(values) // models
    inside = variances.mean(axis=0)
    each = values.reshape(models, draws, *values.shape[1:])
    means = each.mean(axis=1)
    within = each.var(axis=1, ddof=1).mean(axis=0) if draws > 1 else np.zeros(inside.shape)
    among = means.var(axis=0, ddof=1) if models > 1 else np.zeros(inside.shape)
    if models > 1:
        parts = [((1 + 1 / models) * among, models - 1), ((1 - 1 / draws) * within, models * (draws - 1))]
    else:
        parts = [((1 + 1 / draws) * within, draws - 1)]
    more = np.sum([part for part, _ in parts], axis=0)
    total = inside + more
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(total > 0, more / total, 0.0)
        spread = sum(np.where(total > 0, part / total, 0.0) ** 2 / max(free, 1) for part, free in parts)
        observed = (complete + 1) / (complete + 3) * complete * (1 - rate)
        freedom = 1 / (spread + 1 / np.maximum(observed, 1e-3))
    return Pooled(values.mean(axis=0), total, np.asarray(freedom), np.asarray(rate))


def share_intervals(shares: Floats, errors: Floats, wide: Floats) -> tuple[Floats, Floats]:
    """Intervals of `wide` standard errors around shares: Wilson's (1927), whose standard error is that of the share
    which is asked about, √(p (1 - p) / n), n from the share found. They are inside of 0 to 1 and longer toward the
    middle, as shares of rare topics are skewed: symmetric ones hold less than they say.

    A regression's share can be less than its error, or below 0: then n is taken as if it were as large as its error.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.clip(shares, np.minimum(errors, 0.5), 1 - np.minimum(errors, 0.5))
        lost = wide * wide * errors**2 / np.maximum(inside * (1 - inside), 1e-300)  # t² / n
        share = np.clip(shares, 0, 1)
        middle = (share + lost / 2) / (1 + lost)
        half = np.sqrt(share * (1 - share) * lost + lost * lost / 4) / (1 + lost)
        low, high = np.maximum(middle - half, 0), np.minimum(middle + half, 1)
    return np.minimum(low, shares), np.maximum(high, shares)


def wald_tests(values: Floats, variances: Floats, complete: float) -> tuple[Floats, Floats, Floats]:
    """Whether all of several coefficients are 0, topic by topic: F, its second degrees of freedom, p-values (Li,
    Raghunathan & Rubin 1991). values: draws × topics × coefficients; variances: … × coefficients × coefficients."""
    draws, topics, number = values.shape
    mean, inside = values.mean(axis=0), variances.mean(axis=0)
    distance = np.empty(topics)
    ratio = np.zeros(topics)
    for k in range(topics):
        scale = np.sqrt(np.maximum(np.diagonal(inside[k]), 1e-300))
        inverse = np.linalg.pinv(inside[k] / np.outer(scale, scale), hermitian=True) / np.outer(scale, scale)
        distance[k] = mean[k] @ inverse @ mean[k]
        if draws > 1:
            centred = values[:, k] - mean[k]
            ratio[k] = (1 + 1 / draws) * np.trace(centred.T @ centred / (draws - 1) @ inverse) / number
    statistic = distance / (number * (1 + ratio))
    size = number * (draws - 1)
    with np.errstate(divide="ignore"):
        if size > 4:
            freedom = 4 + (size - 4) * (1 + (1 - 2 / size) / np.maximum(ratio, 1e-100)) ** 2
        else:
            freedom = max(size, 1) * (1 + 1 / number) * (1 + 1 / np.maximum(ratio, 1e-100)) ** 2 / 2
    freedom = np.minimum(freedom, complete)
    return statistic, freedom, fdtrc(number, freedom, statistic)


def adjusted_p_values(p_values: Floats, method: str) -> Floats:
    """For as many tests as there are: holm (1979), bh (Benjamini & Hochberg 1995), or none."""
    flat = p_values.ravel()
    number = len(flat)
    if method == "none" or not number:
        return p_values
    order = np.argsort(flat, kind="stable")
    ranked = flat[order]
    if method == "holm":
        found = np.maximum.accumulate(ranked * (number - np.arange(number)))
    else:
        found = np.minimum.accumulate((ranked * number / np.arange(1, number + 1))[::-1])[::-1]
    adjusted = np.empty(number)
    adjusted[order] = np.minimum(found, 1)
    return adjusted.reshape(p_values.shape)
