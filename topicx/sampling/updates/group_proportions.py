"""The topic proportions π_j of groups of documents (collections), renewed between sweeps given the topics of the words:

    π_j ~ Dirichlet(α, …, α),    θ_d ~ Dirichlet(γ π_j)

(George, Xia & Michailidis 2019, "Analyses of Multi-collection Corpora via Compound Topic Modeling"). Two Markov chains
with the same stationary distribution: AGS draws numbers of tables, given which π_j is a Dirichlet (eq. 12-15); MGS is a
Metropolis-adjusted Langevin step on the manifold of φ, π = |φ| / Σ|φ| (Algorithm 2, eq. 33-39).

π and γ are side arrays of the state (`pi`, `scale`); the sampler knows of them by its α = γ π alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx.sampling import random_streams
from topicx.sampling.special_functions import exp, log
from topicx.sampling.updates.kept_draws import DrawKeeper
from topicx.sampling.updates.prior_fixed_points import LEAST, as_usable_prior
from topicx.sampling.updates.table_counts import Occupancy, draw_dirichlet

if TYPE_CHECKING:
    from topicx.sampling.method import Method

Floats = NDArray[np.float64]

TARGET = 0.574
"""The share of Langevin proposals that shall be accepted (Roberts & Rosenthal 1998)."""


class Proportions(ABC):
    """The update between sweeps. Subclasses say how π is renewed.

    Draws of π after burn-in are kept in the side array `pi_draws` (draws × groups × topics). When there are too many,
    each second stays and they are taken half as often: what is kept depends on the number of the sweep alone.
    """

    name = "proportions"

    def __init__(self, concentration: float, burn_in: int) -> None:
        """`concentration`: α of the collections' Dirichlet. `burn_in`: sweeps before draws of π are kept."""
        self.concentration = concentration
        self.draws = DrawKeeper("pi_draws", burn_in)

    def due(self, sweep: int) -> bool:
        return True

    def __call__(self, method: Method, key: int) -> dict[str, float]:
        state = method.state
        keeps = self.draws.count_sweep()
        figures = self.renew(method, key)
        pi = state.side["pi"]
        method.set_priors(as_usable_prior(float(state.side["scale"][0]) * pi), state.beta)
        if keeps:
            self.draws.keep(state.side, pi)
        return figures

    @abstractmethod
    def renew(self, method: Method, key: int) -> dict[str, float]:
        """New `pi` in the state's side arrays; figures for the trace."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.draws.arrays()

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.draws.restore(arrays)


def count_occupancy(method: Method) -> Occupancy:
    """What the documents say of γπ at this moment."""
    return Occupancy(method.document_topics(), method.groups, method.state.alpha.shape)


class Auxiliary(Proportions):
    """AGS: numbers of tables given π (eq. 15), then π given them (eq. 14)."""

    def renew(self, method: Method, key: int) -> dict[str, float]:
        tables = count_occupancy(method).tables(method.state.alpha, key, method.engine)
        method.state.side["pi"] = draw_dirichlet(
            tables.astype(np.float64) + self.concentration, random_streams.stream_key(key, 1)
        )
        return {"tables": float(tables.sum()) / max(method.state.n_documents, 1)}


class Langevin(Proportions):
    """MGS: an MMALA step for each collection, all at once. Until the end of burn-in each collection's step size moves
    towards TARGET acceptances; then it stays, as a chain that goes on adapting has another stationary distribution."""

    def __init__(self, concentration: float, burn_in: int) -> None:
        super().__init__(concentration, burn_in)
        self.step: Floats = np.zeros(0)

    def renew(self, method: Method, key: int) -> dict[str, float]:
        side = method.state.side
        if "phi" not in side:
            side["phi"] = side["pi"] * max(self.concentration * side["pi"].shape[1], 1.0)
        if not len(self.step):
            self.step = np.full(len(side["pi"]), 0.2)
        target = Target(count_occupancy(method), float(side["scale"][0]), self.concentration)
        side["phi"], accepted = draw_langevin(target, side["phi"], self.step, random_streams.make_generator(key))
        side["pi"] = np.maximum(shares_of_phi(side["phi"]), LEAST)
        if self.draws.sweeps <= self.draws.burn_in:
            self.step = self.step * exp((accepted - TARGET) * min(0.5, 10 / (self.draws.sweeps + 10)))
        return {"acceptance": float(accepted.mean()), "step": float(self.step.mean())}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return super().arrays() | {"step": self.step}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(arrays)
        self.step = arrays["step"].copy()


def shares_of_phi(phi: Floats) -> Floats:
    """π = |φ| / Σ|φ|, a row a collection."""
    size = np.abs(phi)
    result: Floats = size / size.sum(axis=1, keepdims=True)
    return result


@dataclass(frozen=True)
class Target:
    """The density of φ_j given the topics of the words (eq. 33), each row a collection of its own."""

    counts: Occupancy
    scale: float
    """γ"""
    concentration: float
    """α"""

    def log_density(self, phi: Floats) -> Floats:
        """Logarithm of the density, up to a constant."""
        size = np.abs(phi)
        prior = (self.concentration - 1) * log(size) - size
        result: Floats = (prior + self.counts.log_rising(self._alpha(phi))).sum(axis=1)
        return result

    def gradient(self, phi: Floats) -> Floats:
        """Derivatives of the log density (eq. 39)."""
        size = np.abs(phi)
        result: Floats = np.sign(phi) * (self._pull(phi) + (self.concentration - 1)) / size - np.sign(phi)
        return result

    def drift(self, phi: Floats, step: Floats) -> Floats:
        """The mean μ of a proposal from φ (eq. 37): the gradient by G^-1 = diag |φ|, without dividing by |φ|."""
        by_metric = np.sign(phi) * (self._pull(phi) + (self.concentration - 1) - np.abs(phi))
        result: Floats = phi + step[:, None] ** 2 / 2 * (by_metric + np.sign(phi))
        return result

    def _alpha(self, phi: Floats) -> Floats:
        return self.scale * np.maximum(shares_of_phi(phi), LEAST)

    def _pull(self, phi: Floats) -> Floats:
        """|φ_k| times the derivative of the documents' part by |φ_k|."""
        pi, gain = shares_of_phi(phi), self.counts.gain(self._alpha(phi))
        result: Floats = self.scale * pi * (gain - (pi * gain).sum(axis=1, keepdims=True))
        return result


def log_proposal(to: Floats, mean: Floats, origin: Floats, step: Floats) -> Floats:
    """log q(to ← origin) up to a constant (eq. 38): a normal with variances ε² |origin|."""
    size = np.abs(origin)
    scaled = (to - mean) ** 2 / (step[:, None] ** 2 * size)
    result: Floats = -0.5 * (log(size) + scaled).sum(axis=1)
    return result


def draw_langevin(target: Target, phi: Floats, step: Floats, random: np.random.Generator) -> tuple[Floats, Floats]:
    """A Metropolis-Hastings step for each row with the proposal of eq. 34: the new φ, and the chances of acceptance."""
    with np.errstate(all="ignore"):  # a ratio that is no number is a chance of 0
        return _propose_langevin(target, phi, step, random)


def _propose_langevin(target: Target, phi: Floats, step: Floats, random: np.random.Generator) -> tuple[Floats, Floats]:
    mean = target.drift(phi, step)
    proposed = mean + step[:, None] * np.sqrt(np.abs(phi)) * random.standard_normal(phi.shape)
    proposed = np.where(np.abs(proposed) < 1e-300, 1e-300, proposed)
    back = target.drift(proposed, step)
    log_ratio = target.log_density(proposed) - target.log_density(phi)
    log_ratio += log_proposal(phi, back, proposed, step) - log_proposal(proposed, mean, phi, step)
    chance = exp(np.minimum(np.nan_to_num(log_ratio, nan=-np.inf), 0.0))
    taken = random.random(len(phi)) < chance
    return np.where(taken[:, None], proposed, phi), chance
