"""Priors of groups of documents that are drawn between sweeps, given numbers of tables and exposures
(`topicx.regression.prior_draws`)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from topicx.regression.crossed_sums import crossed, factored, predicted, solved_above, solved_below
from topicx.regression.prior_draws import STEEPEST, PoissonRegression, draw_coefficients
from topicx.sampling.special_functions import exp

Floats = NDArray[np.float64]

SIGMA, SIGMA_LEVEL = 1.0, 3.0
"""Prior standard deviations of coefficients, of columns of mean square 1, and of the constant one's."""
SPREAD_SHAPE, SPREAD_SCALE = 1.0, 0.25
"""The inverse gamma prior of the variance of groups about their regression."""


class DrawnPrior(Protocol):
    """α of each group, which is drawn."""

    def alpha(self) -> Floats:
        """Groups × topics."""
        ...

    def draw(self, tables: Floats, exposures: Floats, random: np.random.Generator) -> float:
        """Draw the prior anew given tables (groups × topics) and exposures (groups × 1); the share of proposals that
        were accepted."""
        ...


class LogLinearPrior:
    """α_gk = exp(o_k + z_g·λ_k)."""

    def __init__(self, rows: Floats, level: Floats) -> None:
        """Make the prior. rows: z, columns of mean square 1 over the documents, the first constant. level: o."""
        self.rows, self.level = rows, level
        self.coefficients = np.zeros((len(level), rows.shape[1]))
        self.variances = np.full(rows.shape[1], SIGMA**2)
        self.variances[0] = SIGMA_LEVEL**2

    def alpha(self) -> Floats:
        """Groups × topics."""
        return _bounded_exp(self.level + predicted(self.rows, self.coefficients))

    def draw(self, tables: Floats, exposures: Floats, random: np.random.Generator) -> float:
        """Draw λ."""
        regression = PoissonRegression(self.rows, self.level, tables, exposures, self.variances)
        self.coefficients, share = draw_coefficients(regression, self.coefficients, random)
        return share


class HierarchicalPrior:
    """α_gk = exp(o_k + z_g·c_k + δ_gk), δ ~ N(0, τ²): each group has a prior of its own, near what its row says. c, δ
    and τ are drawn one after another; groups and topics are independent given c and τ, so that there can be many."""

    def __init__(self, rows: Floats, level: Floats, spread: float | None = None) -> None:
        """Make the prior, with the arguments of `LogLinearPrior`. spread: τ, if it is known: a drawn one makes groups
        of few tokens more alike than they are, which is meant where their rows say what they have in common."""
        self.rows, self.level, self.drawn = rows, level, spread is None
        self.coefficients = np.zeros((len(level), rows.shape[1]))
        self.departures = np.zeros((len(rows), len(level)))
        self.spread = spread or 0.5
        self.variances = np.full(rows.shape[1], SIGMA**2)
        self.variances[0] = SIGMA_LEVEL**2

    def alpha(self) -> Floats:
        """Groups × topics."""
        return _bounded_exp(self.level + predicted(self.rows, self.coefficients) + self.departures)

    def draw(self, tables: Floats, exposures: Floats, random: np.random.Generator) -> float:
        """Draw δ, c and τ."""
        offsets = self.level + predicted(self.rows, self.coefficients)
        many = np.broadcast_to(exposures, tables.shape).reshape(1, -1)
        regression = PoissonRegression(
            np.ones((1, 1)), offsets.reshape(1, -1), tables.reshape(1, -1), many, np.array([self.spread**2])
        )
        found, share = draw_coefficients(regression, self.departures.reshape(-1, 1), random)
        logs = predicted(self.rows, self.coefficients) + found.reshape(self.departures.shape)
        self._draw_coefficients(logs, random)
        self.departures = logs - predicted(self.rows, self.coefficients)
        if not self.drawn:
            return share
        scale = SPREAD_SCALE + float((self.departures**2).sum()) / 2
        self.spread = float(np.sqrt(scale / random.standard_gamma(SPREAD_SHAPE + self.departures.size / 2)))
        return share

    def _draw_coefficients(self, logs: Floats, random: np.random.Generator) -> None:
        """Draw c given log α - o: a linear regression, whose curvature all topics share."""
        groups, columns = self.rows.shape
        precision = crossed(self.rows, np.full((groups, 1), self.spread**-2)) + np.diag(1 / self.variances)
        lower = np.broadcast_to(factored(precision), (len(self.level), columns, columns))
        score = np.column_stack([(self.rows[:, j, None] * logs).sum(axis=0) for j in range(columns)]) / self.spread**2
        noise = random.standard_normal(score.shape)
        self.coefficients = solved_above(lower, solved_below(lower, score) + noise)


def _bounded_exp(logs: Floats) -> Floats:
    small = np.clip(logs, -STEEPEST, STEEPEST)
    found: Floats = exp(small.ravel()).reshape(small.shape)
    return found
