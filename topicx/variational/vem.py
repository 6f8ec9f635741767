"""VEM: variational expectation maximisation of the compound model (George, Xia & Michailidis 2019, Algorithm 3 and
Appendix E), with q(π_j) = Dirichlet(τ_j), τ_j = a_j ω_j, Σ_k ω_jk = 1.

Given τ the updates of words, documents and topics (eq. 79, 82, 85) are those of VB with the documents' α = γ ω_j: so
the sweep is VB's, and what is here is the rest: the bound, and Newton's steps for ω_j and a_j (eq. 67-76) and for γ
and the collections' α (eq. 86-94), each with a search along its line, so that the bound never falls. The expectation
of log Γ(γ π_jk) is bounded by eq. 65 (Kim, Voelker & Saul 2013, Theorem 3.1). In eq. 88 and 93 τ_jd and τ_jdk are τ_j
and τ_jk.

Side arrays of the state: `pi` (ω), `precision` (a), `scale` (γ), `concentration` (the collections' α).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import bounds
from topicx.files.schema import require_consistent
from topicx.sampling.method import Method
from topicx.sampling.special_functions import gammaln, log, polygamma, psi
from topicx.sampling.updates.prior_fixed_points import LEAST, as_usable_prior, learn_beta, round_to_float32
from topicx.variational.vb import Vb

Floats = NDArray[np.float64]

ROUNDS = 20
TOLERANCE = 1e-9


class Vem(Vb):
    """VB's sweep, and the bound of eq. 63."""

    objective: ClassVar[str] = "VEM bound per token"

    def score(self) -> float:
        side = self.state.side
        if "precision" not in side:  # without collections it is VB
            return super().score()
        more = sum(
            bound_of_collection(documents, omega, a, float(side["scale"][0]), float(side["concentration"][0]))
            for documents, omega, a in zip(self.documents(), side["pi"], side["precision"], strict=True)
        )
        return super().score() + float(more) / max(self.state.n_tokens, 1)

    def documents(self) -> NDArray[np.int64]:
        """How many documents with words each collection has (one without says nothing)."""
        state = self.state
        groups = state.groups if len(state.groups) else np.zeros(state.n_documents, np.uint32)
        return np.bincount(groups[state.lengths > 0], minlength=len(state.alpha)).astype(np.int64)

    def digammas(self) -> tuple[Floats, Floats]:
        """Σ_d Ψ(ρ_jdk), and Σ_d Ψ(ρ_jd.), of each collection."""
        state, alpha = self.state, np.ascontiguousarray(self.state.alpha)
        documents = self.documents()
        each = bounds.digamma_gain(self.nd, alpha, state.groups, self.topics)
        each = each + documents[:, None] * bounds.special_function("digamma", alpha)
        full = state.lengths > 0
        groups = state.groups[full] if len(state.groups) else np.zeros(int(full.sum()), np.uint32)
        sums = bounds.special_function("digamma", alpha.sum(axis=1)[groups] + state.lengths[full])
        return each, np.bincount(groups, sums, len(alpha)).astype(np.float64)


def bound_of_collection(documents: int, omega: Floats, a: float, scale: float, concentration: float) -> float:
    """What the bound has beyond VB's with α = γω: eq. 65 for each document, E log p(π_j) and the entropy of q(π_j)."""
    K, tau = len(omega), a * omega
    elog = psi(tau) - psi(a)
    each = scale / a * (1 - omega) + (1 - scale * omega) * (log(omega) - elog)
    prior = gammaln(K * concentration) - K * gammaln(concentration) + float(np.sum((concentration - 1) * elog))
    entropy = float(gammaln(tau).sum()) - gammaln(a) - float(np.sum((tau - 1) * elog))
    return float(prior + entropy - documents * each.sum())


@dataclass(frozen=True)
class Collection:
    """What the bound of one collection depends on beside τ."""

    documents: int
    digammas: Floats
    """Σ_d Ψ(ρ_jdk)"""
    scale: float
    concentration: float

    def of_omega(self, omega: Floats, a: float) -> float:
        """Eq. 68: the terms with ω."""
        D, g = self.documents, self.scale
        weight = self.concentration + D - a * omega - g * D * omega
        value = psi(a * omega) * weight + g * omega * self.digammas + gammaln(a * omega)
        value -= D * (gammaln(g * omega) + (1 - g * omega) * log(a * omega))
        return float(value.sum())

    def omega_slope(self, omega: Floats, a: float) -> Floats:
        """Eq. 69."""
        D, g = self.documents, self.scale
        weight = self.concentration + D - a * omega - g * D * omega
        slope = a * polygamma(1, a * omega) * weight - g * D * psi(a * omega) + g * self.digammas
        result: Floats = slope - D * (g * psi(g * omega) + 1 / omega - g - g * log(a * omega))
        return result

    def omega_curvature(self, omega: Floats, a: float) -> Floats:
        """Eq. 70."""
        D, g = self.documents, self.scale
        weight = self.concentration + D - a * omega - g * D * omega
        bend = a**2 * polygamma(2, a * omega) * weight - a * polygamma(1, a * omega) * (a + 2 * g * D)
        result: Floats = bend - D * (g**2 * polygamma(1, g * omega) - 1 / omega**2 - g / omega)
        return result

    def of_precision(self, omega: Floats, a: float) -> float:
        """Eq. 73: the terms with a."""
        D, g = self.documents, self.scale
        weight = self.concentration + D - a * omega - g * D * omega
        value = np.sum((psi(a * omega) - psi(a)) * weight) + np.sum(gammaln(a * omega)) - gammaln(a)
        return float(value - g * D * (len(omega) - 1) / a)

    def precision_slope(self, omega: Floats, a: float) -> float:
        """Eq. 74."""
        D, g = self.documents, self.scale
        weight = self.concentration + D - a * omega - g * D * omega
        slope = np.sum((omega * polygamma(1, a * omega) - polygamma(1, a)) * weight)
        return float(slope + (len(omega) - 1) * g * D / a**2)

    def precision_curvature(self, omega: Floats, a: float) -> float:
        """Eq. 75."""
        D, g = self.documents, self.scale
        weight = self.concentration + D - a * omega - g * D * omega
        bend = np.sum((omega**2 * polygamma(2, a * omega) - polygamma(2, a)) * weight)
        bend -= np.sum(omega * (omega * polygamma(1, a * omega) - polygamma(1, a)))
        return float(bend - 2 * (len(omega) - 1) * g * D / a**3)


def newton_direction(slope: Floats, curvature: Floats, omega: Floats) -> Floats:
    """Eq. 72, whose steps add up to 0; where the bound is not concave, the slope on the simplex in ω's own metric."""
    if np.all(curvature < 0):
        inverse = 1 / curvature
        result: Floats = np.sum(slope * inverse) / np.sum(inverse) * inverse - slope * inverse
    else:
        result = omega * (slope - np.sum(omega * slope))
    return result


def find_step_length(value: Callable[[float], float], longest: float, slope: float) -> float:
    """The first of t = longest, longest/2, … at which value(t) is above value(0) in proportion to its slope; else 0."""
    if not (slope > 0 and np.isfinite(slope)):
        return 0.0
    here, t = value(0.0), longest
    for _ in range(60):
        there = value(t)
        if there > here + 1e-4 * t * slope:
            return t
        t /= 2
    return 0.0


def renew_collection(known: Collection, omega: Floats, a: float) -> tuple[Floats, float]:
    """ω_j and a_j by turns until the bound no longer rises (Algorithm 3, lines 12-15)."""
    if known.documents == 0:  # q(π_j) is its prior
        return np.full(len(omega), 1 / len(omega)), known.concentration * len(omega)
    for _ in range(ROUNDS):
        before = omega, a
        slope = known.omega_slope(omega, a)
        along = newton_direction(slope, known.omega_curvature(omega, a), omega)
        falling = along < 0
        room = float(np.min(omega[falling] / -along[falling])) if falling.any() else 1.0
        longest, gain = min(1.0, 0.9 * room), float(np.sum(slope * along))
        t = find_step_length(lambda t: known.of_omega(omega + t * along, a), longest, gain)  # noqa: B023
        omega = np.maximum(omega + t * along, LEAST)
        omega = omega / omega.sum()
        a = _guarded_newton_step(
            a, lambda x: known.of_precision(omega, x), known.precision_slope(omega, a),  # noqa: B023
            known.precision_curvature(omega, a),
        )  # fmt: skip
        a = min(max(a, LEAST), 1 / LEAST)
        if np.max(np.abs(omega - before[0])) < TOLERANCE and abs(a - before[1]) < TOLERANCE * a:
            break
    return omega, a


def _guarded_newton_step(x: float, value: Callable[[float], float], slope: float, curvature: float) -> float:
    """A guarded Newton step of a positive number: at most to its double or its half."""
    step = -slope / curvature if curvature < 0 else np.sign(slope) * x
    step = float(np.clip(step, -x / 2, x))
    return x + step * find_step_length(lambda t: value(x + t * step), 1.0, slope * step)


@dataclass(frozen=True)
class Scale:
    """What the bound depends on γ by (eq. 88, its index corrected), over all collections."""

    documents: NDArray[np.int64]
    digammas: Floats
    """Σ_d Ψ(ρ_jdk)"""
    sums: Floats
    """Σ_d Ψ(ρ_jd.)"""
    omega: Floats
    a: Floats

    def value(self, g: float) -> float:
        result = gammaln(g) * self.documents.sum() - np.sum(self.documents[:, None] * gammaln(g * self.omega))
        return float(result + g * self._linear())

    def slope(self, g: float) -> float:
        """Eq. 93."""
        inner = np.sum(self.documents[:, None] * self.omega * psi(g * self.omega))
        return float(self.documents.sum() * psi(g) - inner + self._linear())

    def curvature(self, g: float) -> float:
        """Eq. 94."""
        inner = np.sum(self.documents[:, None] * self.omega**2 * polygamma(1, g * self.omega))
        return float(self.documents.sum() * polygamma(1, g) - inner)

    def _linear(self) -> float:
        D, K, tau = self.documents, self.omega.shape[1], self.a[:, None] * self.omega
        result = -np.sum(D * (K - 1) / self.a + D * (log(self.a) - psi(self.a)) + self.sums)
        result += np.sum(self.omega * (D[:, None] * (log(tau) - psi(tau)) + self.digammas))
        return float(result)


@dataclass(frozen=True)
class Concentration:
    """What the bound depends on the collections' α by (eq. 86)."""

    collections: int
    topics: int
    elog: float
    """Σ_jk Ψ(τ_jk) - Ψ(τ_j.)"""

    def value(self, c: float) -> float:
        return float(self.collections * (gammaln(self.topics * c) - self.topics * gammaln(c)) + c * self.elog)

    def slope(self, c: float) -> float:
        """Eq. 89."""
        return float(self.collections * self.topics * (psi(self.topics * c) - psi(c)) + self.elog)

    def curvature(self, c: float) -> float:
        """Eq. 90."""
        K = self.topics
        return float(self.collections * (K**2 * polygamma(1, K * c) - K * polygamma(1, c)))


class Maximise:
    """The update after each sweep: τ; and, when priors are due, γ, the collections' α and β."""

    name = "maximise"

    def __init__(self, interval: int, burn_in: int, what: frozenset[str]) -> None:
        self.interval, self.burn_in, self.what = interval, burn_in, what
        self.sweeps = 0

    def due(self, sweep: int) -> bool:
        return True

    def __call__(self, method: Method, key: int) -> dict[str, float]:
        assert isinstance(method, Vem)
        self.sweeps += 1
        side = method.state.side
        scale, concentration = float(side["scale"][0]), float(side["concentration"][0])
        documents, (digammas, sums) = method.documents(), method.digammas()
        pi, precision = side["pi"].copy(), side["precision"].copy()
        for j in range(len(pi)):
            known = Collection(int(documents[j]), digammas[j], scale, concentration)
            pi[j], precision[j] = renew_collection(known, pi[j], float(precision[j]))
        beta = method.state.beta
        if self.interval > 0 and self.sweeps > self.burn_in and self.sweeps % self.interval == 0:
            if "alpha" in self.what:
                scale = _maximise_prior(scale, Scale(documents, digammas, sums, pi, precision))
                tau = precision[:, None] * pi
                elog = float(np.sum(psi(tau) - psi(precision)[:, None]))
                concentration = _maximise_prior(concentration, Concentration(len(pi), pi.shape[1], elog))
            if "beta" in self.what:
                beta = round_to_float32(learn_beta(method.word_statistics(), beta, method.state.seeds))
        side["pi"], side["precision"] = pi, precision
        side["scale"], side["concentration"] = np.array([scale]), np.array([concentration])
        method.set_priors(as_usable_prior(scale * pi), beta)
        return {"gamma": scale, "concentration": concentration}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"sweeps": np.array([self.sweeps])}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        require_consistent(arrays["sweeps"].shape == (1,), "numbers of sweeps of another shape")
        self.sweeps = int(arrays["sweeps"][0])


def _maximise_prior(x: float, bound: Scale | Concentration) -> float:
    for _ in range(ROUNDS):
        new = float(np.clip(_guarded_newton_step(x, bound.value, bound.slope(x), bound.curvature(x)), 1e-6, 1e6))
        if abs(new - x) < 1e-6 * x:
            return new
        x = new
    return x
