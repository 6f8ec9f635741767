"""Draws of λ, the coefficients of a prior α_gk = exp(o_k + z_g·λ_k), given the topics of all words, θ integrated out:

    p(n | λ) = Π_d Γ(A_d) / Γ(A_d + N_d) Π_k Γ(α_dk + n_dk) / Γ(α_dk),     A_d = Σ_k α_dk,     λ_kj ~ N(0, σ_j²)

Two kinds of auxiliary variables make of it one Poisson regression a topic, independent of those of the others: numbers
of tables m_dk (Antoniak 1974), and η_d ~ Beta(A_d, N_d), as in Escobar & West 1995:

    p(m, η | n, λ) ∝ Π_k Π_g exp(T_gk log α_gk - E_g α_gk),     T_gk = Σ_d m_dk,  E_g = -Σ_d log η_d  (d in group g)

which is concave in λ_k. Each λ_k is drawn by an independence Metropolis step: a Student t about the mode with the
curvature there, which nine of ten times is accepted, whatever the numbers of topics and columns. So the chain over
topics of words and λ has the posterior of both as its stationary distribution, and moves as fast as the tables let it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicx.regression.crossed_sums import crossed, factored, predicted, solved, solved_above, summed
from topicx.sampling.special_functions import exp, log

Floats = NDArray[np.float64]

FREEDOM = 6.0
"""Degrees of freedom of proposals."""
STEPS, FARTHEST, NEAR = 40, 1.5, 1e-6
"""Newton's steps at most; what log α may change in one; and the change at which they end."""
STEEPEST = 60.0


@dataclass(frozen=True)
class PoissonRegression:
    """The log-posterior of λ given tables and exposures, up to a constant, topic by topic."""

    rows: Floats
    """Rows z: groups × columns."""
    offsets: Floats
    """Offsets o, a row for all groups or one each."""
    tables: Floats
    """T: groups × topics."""
    exposures: Floats
    """E: groups × 1, or × topics."""
    variances: Floats
    """σ² of each column."""

    def rates(self, coefficients: Floats) -> tuple[Floats, Floats]:
        """log α and E α."""
        logs = np.clip(self.offsets + predicted(self.rows, coefficients), -STEEPEST, STEEPEST)
        return logs, self.exposures * exp(logs.ravel()).reshape(logs.shape)

    def value(self, coefficients: Floats) -> Floats:
        logs, rates = self.rates(coefficients)
        inside: Floats = (self.tables * logs - rates).sum(axis=0) - (coefficients**2 / (2 * self.variances)).sum(axis=1)
        return inside

    def gradient(self, coefficients: Floats) -> Floats:
        """Topics × columns."""
        rates = self.rates(coefficients)[1]
        return summed(self.rows, self.tables - rates) - coefficients / self.variances

    def curvature(self, coefficients: Floats) -> Floats:
        """Minus the second derivatives: topics × columns × columns."""
        return crossed(self.rows, self.rates(coefficients)[1]) + np.diag(1 / self.variances)

    def mode(self, start: Floats) -> tuple[Floats, Floats]:
        """The λ at which it is highest, by Newton's steps, and the Cholesky factors of its curvature there."""
        here = start.copy()
        for _ in range(STEPS):
            step = solved(factored(self.curvature(here)), self.gradient(here))
            change = np.abs(predicted(self.rows, step)).max(axis=0, initial=0)
            here += step * np.minimum(1, FARTHEST / np.maximum(change, 1e-300))[:, None]
            if change.max(initial=0) < NEAR:
                break
        return here, factored(self.curvature(here))


def draw_coefficients(
    regression: PoissonRegression, coefficients: Floats, random: np.random.Generator
) -> tuple[Floats, float]:
    """The next λ, and the share of topics whose proposal was accepted."""
    mode, lower = regression.mode(coefficients)
    topics, columns = coefficients.shape
    normal, square = random.standard_normal((topics, columns)), random.chisquare(FREEDOM, topics)
    uniform = random.random(topics)
    proposed = mode + solved_above(lower, normal) * np.sqrt(FREEDOM / square)[:, None]
    ratio = regression.value(proposed) - regression.value(coefficients)
    ratio += _log_density(lower, coefficients - mode) - _log_density(lower, proposed - mode)
    taken = log(np.maximum(uniform, 1e-300)) < ratio
    return np.where(taken[:, None], proposed, coefficients), float(taken.mean())


def _log_density(lower: Floats, distance: Floats) -> Floats:
    """Log density of the proposals, up to a constant."""
    scaled = (lower * distance[:, :, None]).sum(axis=1)
    inside: Floats = -(FREEDOM + distance.shape[1]) / 2 * log(1 + (scaled * scaled).sum(axis=1) / FREEDOM)
    return inside
