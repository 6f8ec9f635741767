"""Topics' priors regressed on what documents carry (Mimno & McCallum 2008, "Topic models conditioned on arbitrary
features with Dirichlet-multinomial regression"):

    α_gk = exp(x_g·λ_k),    λ_kj ~ Normal(0, σ_j²)

g is a group of documents with one row x_g of the design. λ is fitted (`fit_coefficients`: the most probable one, by an
L-BFGS of our own) or drawn (`draw_coefficients`: a step of a Metropolis-adjusted Langevin chain) given how many tokens
of each topic the documents have. Both take the documents' counts as histograms, so that a step costs distinct counts
and groups, not documents; a group a document is as good as any.

The curvature (see the kernel) is what both measure distances by, a matrix a topic: the scale of a column of the design,
or how strongly columns hang together, makes no difference to either.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.updates import regression as kernel
from topicx.engines.threads import Engine
from topicx.sampling.special_functions import exp, log
from topicx.sampling.updates.table_counts import Occupancy
from topicx.state import Csr

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SIGMA, SIGMA_INTERCEPT = 0.5**0.5, 10.0
"""Standard deviations of a coefficient's prior, as MALLET has them: variances .5, and 100 for the intercept."""
PIECES, LEAST_PIECE = 64, 64
"""Ranges of groups that are worked on at once, and the groups of one at least: they are part of the order of sums."""
PAIRS = 5
"""Pairs of steps and changes of the gradient that L-BFGS remembers."""
ROUNDS = 50
"""Steps of a fit at most."""
TOLERANCE = 1e-6
"""A fit ends where a Newton step would gain less than this share of a unit of log-probability for each coefficient."""
DECREASE, HALVINGS = 1e-4, 30
"""What a step must gain of what its slope promises, and how often it is halved until it does."""
TARGET = 0.574
"""The share of Langevin proposals that shall be accepted (Roberts & Rosenthal 1998)."""


@dataclass(frozen=True)
class GroupCounts:
    """How many documents of each group have so many tokens of a topic, and how many have so many tokens at all.

    Entry e of group g, starts[g] ≤ e < starts[g + 1], says that times[e] documents of the group have counts[e] tokens
    of topics[e]; entries of lengths likewise. Equal entries may stand apart: they are added up.
    """

    starts: Ints
    topics: NDArray[np.uint16]
    counts: Ints
    times: Ints
    length_starts: Ints
    lengths: Ints
    length_times: Ints

    @property
    def groups(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def of_documents(cls, document_topics: Csr, groups: NDArray[np.uint32], shape: tuple[int, int]) -> GroupCounts:
        """Counts made of n_dk and the documents' groups (none: all in the first); `shape`: groups and topics."""
        indptr, topics, counts = document_topics
        running = np.concatenate([[0], np.cumsum(counts)])
        lengths = running[indptr[1:]] - running[indptr[:-1]]
        groups = groups if len(groups) else np.zeros(len(lengths), np.uint32)
        length_starts, *length_entries = _length_entries(groups, lengths, shape[0])
        few = shape[0] * shape[1] <= 4 * len(topics) + 4096
        found = _merged_entries if few else _single_entries
        return cls(*found(document_topics, groups, shape), length_starts, *length_entries)


def _length_entries(groups: NDArray[np.uint32], lengths: Ints, number: int) -> tuple[Ints, Ints, Ints]:
    """Where each group's lengths begin, the distinct ones ascending, and how often each is (empty documents: none)."""
    some = lengths > 0
    width = int(lengths.max(initial=0)) + 1
    pairs, times = np.unique(groups[some].astype(np.int64) * width + lengths[some], return_counts=True)
    return _group_begins(pairs // width, number), pairs % width, times.astype(np.int64)


def _merged_entries(
    document_topics: Csr, groups: NDArray[np.uint32], shape: tuple[int, int]
) -> tuple[Ints, NDArray[np.uint16], Ints, Ints]:
    """Every distinct count of a group's topic once: linear in the counts, with a place for each group and topic."""
    occupancy = Occupancy(document_topics, groups, shape)
    at_least, cells = occupancy.number, np.diff(occupancy.starts)
    cell = np.repeat(np.arange(len(cells)), cells)
    exactly = at_least.copy()
    follows = cell[1:] == cell[:-1]
    exactly[:-1][follows] -= at_least[1:][follows]
    at = np.flatnonzero(exactly)
    counts = at - occupancy.starts[cell[at]] + 1
    return _group_begins(cell[at] // shape[1], shape[0]), (cell[at] % shape[1]).astype(np.uint16), counts, exactly[at]


def _single_entries(
    document_topics: Csr, groups: NDArray[np.uint32], shape: tuple[int, int]
) -> tuple[Ints, NDArray[np.uint16], Ints, Ints]:
    """The documents' own entries, group after group: where groups are many, few counts of one are equal."""
    indptr, topics, counts = document_topics
    group = np.repeat(groups, np.diff(indptr))
    order = np.flatnonzero(counts > 0)
    order = order[np.argsort(group[order], kind="stable")]
    return _group_begins(group[order], shape[0]), topics[order], counts[order], np.ones(len(order), np.int64)


def _group_begins(group: NDArray[np.integer], number: int) -> Ints:
    return np.concatenate([[0], np.cumsum(np.bincount(group, minlength=number))]).astype(np.int64)


class Point(NamedTuple):
    """The log-probability of some coefficients, its derivatives, and the Cholesky factors of its curvature."""

    value: float
    gradient: Floats
    """Gradient: topics × terms."""
    lower: Floats
    """Lower triangles, topics × terms × terms; empty where it was not asked for."""


@dataclass(frozen=True)
class Regression:
    """The posterior of λ (topics × terms) given counts by group."""

    design: Floats
    """A row a group, a column a term."""
    counts: GroupCounts
    variances: Floats
    """σ² of each term's coefficients."""
    engine: Engine

    def at(self, coefficients: Floats, curved: bool = False) -> Point:
        """The posterior's logarithm, up to a constant, and its derivatives at λ."""
        topics, terms = coefficients.shape
        weights = np.ascontiguousarray(coefficients.T)
        pairs = terms * (terms + 1) // 2 if curved else 0

        def work(piece: tuple[int, int]) -> tuple[float, Floats, Floats]:
            gradient, curvature = np.zeros((terms, topics)), np.zeros((pairs, topics))
            counts = self.counts
            value = kernel.add_log_density(
                self.design, weights, counts.starts, counts.topics, counts.counts, counts.times, counts.length_starts,
                counts.lengths, counts.length_times, *piece, gradient, curvature,
            )  # fmt: skip
            return value, gradient, curvature

        found = self.engine.map(work, self._pieces())
        value, gradient, curvature = found[0]
        for more in found[1:]:  # in their order
            value, gradient, curvature = value + more[0], gradient + more[1], curvature + more[2]
        value -= float(np.sum(weights**2 / (2 * self.variances[:, None])))
        gradient = gradient - weights / self.variances[:, None]
        lower = np.zeros((topics if curved else 0, terms, terms))
        if curved:
            own = np.arange(terms)
            curvature[own * (own + 3) // 2] += 1 / self.variances[:, None]
            kernel.factor_cholesky(curvature, lower)
        return Point(value, np.ascontiguousarray(gradient.T), lower)

    def _pieces(self) -> list[tuple[int, int]]:
        groups = self.counts.groups
        number = max(1, min(PIECES, groups // LEAST_PIECE))
        return list(pairwise(groups * piece // number for piece in range(number + 1)))


def make_priors(design: Floats, coefficients: Floats) -> Floats:
    """α = exp(x·λ), a row a row of the design, a column a topic."""
    out = np.empty((len(design), len(coefficients)))
    kernel.priors_of_groups(np.ascontiguousarray(design), np.ascontiguousarray(coefficients.T), out)
    return out


def term_variances(
    intercepts: NDArray[np.bool_], sigma: float = SIGMA, sigma_intercept: float = SIGMA_INTERCEPT
) -> Floats:
    """σ² of each term, one for intercepts and one for all others."""
    return np.where(intercepts, sigma_intercept**2, sigma**2)


def spread_of(point: Point, back: Floats) -> Floats:
    """Standard deviations of each topic's `back` λ (a row of `back` a number), by the curvature there: given the other
    topics' coefficients, and the topics of the words."""
    found = np.empty((len(point.lower), len(back)))
    for j, row in enumerate(back):
        solved = np.tile(row, (len(found), 1))
        kernel.solve_cholesky(point.lower, solved, 1)
        found[:, j] = np.sqrt(np.maximum(np.sum(row * solved, axis=1), 0))
    return found


# -- the most probable λ ---------------------------------------------------------------------------------------


def fit_coefficients(regression: Regression, start: Floats, rounds: int = ROUNDS) -> Floats:
    """The λ that the posterior's logarithm is highest at, climbing from `start` (L-BFGS, Nocedal & Wright 2006, 7.2).

    Steps are measured by the curvature at the start, and halved until they climb enough.
    """
    here, point = start, regression.at(start, curved=True)
    lower = point.lower
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=PAIRS)
    for _ in range(rounds):
        direction = _ascent_direction(point.gradient, pairs, lower)
        slope = _dot_product(point.gradient, direction)
        if not slope > TOLERANCE * start.size:
            break
        found = _take_step(regression, here, point, direction, slope)
        if found is None:
            break
        there, better = found
        step, change = there - here, point.gradient - better.gradient
        bend = _dot_product(step, change)
        if bend > 1e-10 * slope:  # where it bends the other way there is nothing to remember
            pairs.append((step, change, bend))
        here, point = there, better
    return here


def _ascent_direction(gradient: Floats, pairs: deque[tuple[Floats, Floats, float]], lower: Floats) -> Floats:
    """The direction of L-BFGS: the gradient by the inverse of a curvature that agrees with the pairs."""
    direction, weights = gradient.copy(), []
    for step, change, bend in reversed(pairs):
        weight = _dot_product(step, direction) / bend
        direction = direction - weight * change
        weights.append(weight)
    direction = np.ascontiguousarray(direction)
    kernel.solve_cholesky(lower, direction, 1)
    for (step, change, bend), weight in zip(pairs, reversed(weights), strict=True):
        direction = direction + (weight - _dot_product(change, direction) / bend) * step
    return direction


def _take_step(
    regression: Regression, here: Floats, point: Point, direction: Floats, slope: float
) -> tuple[Floats, Point] | None:
    """The first of ever shorter steps that gains enough; None: none does, this is the top as far as numbers tell."""
    length = 1.0
    for _ in range(HALVINGS):
        there = here + length * direction
        found = regression.at(there)
        if found.value >= point.value + DECREASE * length * slope:
            return there, found
        length /= 2
    return None


def _dot_product(a: Floats, b: Floats) -> float:
    return float(np.sum(a * b))


# -- draws of λ ------------------------------------------------------------------------------------------------


def draw_coefficients(
    regression: Regression, coefficients: Floats, step: float, random: np.random.Generator
) -> tuple[Floats, float]:
    """A step of a Markov chain whose stationary distribution is the posterior of λ: the next λ, and the chance with
    which the proposal was accepted.

    The proposal is a normal with covariance ε² C(λ)^-1 about λ + ε²/2 C(λ)^-1 times the gradient, C the curvature
    (Girolami & Calderhead 2011, the simplified manifold Langevin step).
    """
    here = regression.at(coefficients, curved=True)
    noise = random.standard_normal(coefficients.shape)
    uniform = random.random()
    shift = noise.copy()
    kernel.solve_cholesky(here.lower, shift, 0)
    proposed = _proposal_mean(coefficients, here, step) + step * shift
    there = regression.at(proposed, curved=True)
    log_ratio = there.value - here.value
    log_ratio += _log_proposal(coefficients - _proposal_mean(proposed, there, step), there, step)
    log_ratio -= _log_proposal(proposed - _proposal_mean(coefficients, here, step), here, step)
    chance = float(exp(min(log_ratio, 0.0))) if np.isfinite(log_ratio) else 0.0
    return (proposed if uniform < chance else coefficients), chance


def _proposal_mean(coefficients: Floats, point: Point, step: float) -> Floats:
    """The mean of a proposal."""
    pull = point.gradient.copy()
    kernel.solve_cholesky(point.lower, pull, 1)
    return coefficients + step**2 / 2 * pull


def _log_proposal(distance: Floats, point: Point, step: float) -> float:
    """The logarithm of a proposal's density, up to a constant, so far from its mean."""
    scaled = np.empty_like(distance)
    kernel.multiply_by_factor(point.lower, np.ascontiguousarray(distance), scaled)
    terms = np.arange(distance.shape[1])
    return float(np.sum(log(point.lower[:, terms, terms])) - np.sum(scaled**2) / (2 * step**2))


def adapted_step(step: float, chance: float, steps: int) -> float:
    """The step after so many, moved towards TARGET acceptances, ever less."""
    return float(step * exp((chance - TARGET) * min(0.5, 10 / (steps + 10))))
