"""Learning the priors between sweeps: Minka's fixed points for the Dirichlet-multinomial (Minka 2000, eq. 55), which
climb the likelihood of the counts at hand (Gibbs-EM, Wallach 2006). For VB they climb the bound itself: with the
Dirichlet parameters at their optimum α + E n, the bound depends on the priors by Σ log Γ(α + E n) - log Γ(α) and the
sums, the same form. For CVB0 and CVB it is that with E[log Γ(α + n)] taken at the mean.

What the counts say is a `DocumentStatistics` and a `WordStatistics`: of sampled counts here, of expected ones in
`topicx.variational.expected_statistics`. The fixed points are here alone.

Learnt values are rounded to single precision: the samples are drawn from the rounded values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import bounds
from topicx.state import Csr, Seeds

if TYPE_CHECKING:
    from topicx.sampling.method import Method
    from topicx.sampling.run_options import Options

ROUNDS = 20
TOLERANCE = 1e-4
SMALLEST = 1e-6
LEAST = 1e-30
"""What no weight of a prior is below: single precision must hold it."""


class DocumentStatistics(ABC):
    """What n_dk says of α."""

    rounds: int = ROUNDS
    """How many rounds of the fixed point it is good for."""

    @abstractmethod
    def gain(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_d ψ(α_gk + n_dk) - ψ(α_gk), a row a group."""

    @abstractmethod
    def cost(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_d ψ(Σα_g + n_d) - ψ(Σα_g) of each group; a row a group, where not all documents may have all topics."""


class WordStatistics(ABC):
    """What n_kw, seeds included, says of β."""

    totals: NDArray[Any]
    """n_k, seeds included."""

    @abstractmethod
    def gain(self, factor: float) -> float:
        """Σ_kw β_w (ψ(n_kw + factor β_w) - ψ(factor β_w))."""

    @abstractmethod
    def psi(self, x: NDArray[Any]) -> NDArray[np.float64]:
        """ψ, by the arithmetic that `gain` uses."""


class LearnPriors:
    """The update between sweeps: every `interval` sweeps after `burn_in`, the priors named in `what`."""

    name = "priors"

    def __init__(self, interval: int, burn_in: int, what: frozenset[str]) -> None:
        self.interval, self.burn_in, self.what = interval, burn_in, what

    @classmethod
    def of(cls, options: Options) -> LearnPriors:
        return cls(options.optimize_interval, options.optimize_burn_in, frozenset(options.optimize.split("+")))

    def due(self, sweep: int) -> bool:
        return self.interval > 0 and sweep > self.burn_in and sweep % self.interval == 0

    def __call__(self, method: Method, key: int) -> dict[str, float]:
        state = method.state
        alpha, beta = state.alpha, state.beta
        if self.what & {"alpha", "symmetric-alpha"}:
            alpha = round_to_float32(learn_alpha(method.document_statistics(), alpha, "symmetric-alpha" in self.what))
        if "beta" in self.what:
            beta = round_to_float32(learn_beta(method.word_statistics(), beta, state.seeds))
        method.set_priors(alpha, beta)
        return {}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        pass  # it remembers nothing


class LearnScale(LearnPriors):
    """Learn the scale where α = γπ and π is another update's (its side arrays `scale` and `pi`): alpha is γ then."""

    def __call__(self, method: Method, key: int) -> dict[str, float]:
        state = method.state
        pi, beta = state.side["pi"], state.beta
        if "alpha" in self.what:
            scale = learn_scale(method.document_statistics(), pi, float(state.side["scale"][0]))
            state.side["scale"] = round_to_float32(np.array([scale]))
        if "beta" in self.what:
            beta = round_to_float32(learn_beta(method.word_statistics(), beta, state.seeds))
        method.set_priors(as_usable_prior(state.side["scale"][0] * pi), beta)
        return {"gamma": float(state.side["scale"][0])}


def as_usable_prior(prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """A prior that was drawn, rounded, with no weight below what a prior may be."""
    return round_to_float32(np.maximum(prior, LEAST))


def round_to_float32(prior: NDArray[np.float64]) -> NDArray[np.float64]:
    return prior.astype(np.float32).astype(np.float64)


def learn_alpha(statistics: DocumentStatistics, alpha: NDArray[np.float64], symmetric: bool) -> NDArray[np.float64]:
    """α of each group given n_dk; a group without tokens keeps its own."""
    alpha = alpha.copy()
    active = np.ones(len(alpha), bool)
    for _ in range(statistics.rounds):
        gain, cost = statistics.gain(alpha), statistics.cost(alpha).reshape(len(alpha), -1)
        if symmetric:
            gain = np.repeat(gain.mean(axis=1, keepdims=True), gain.shape[1], axis=1)
            cost = cost.mean(axis=1, keepdims=True)
        active &= (cost > 0).any(axis=1)
        known = active[:, None] & (cost > 0)
        updated = np.where(known, np.maximum(alpha * gain / np.where(known, cost, 1.0), SMALLEST), alpha)
        active &= np.max(np.abs(updated - alpha) / alpha, axis=1) >= TOLERANCE
        alpha = updated
        if not active.any():
            break
    return alpha


def learn_scale(statistics: DocumentStatistics, pi: NDArray[np.float64], scale: float) -> float:
    """γ of α = γπ given n_dk (George, Xia & Michailidis 2019, eq. 20): the same fixed point along a line."""
    for _ in range(statistics.rounds):
        gain, cost = float(np.sum(pi * statistics.gain(scale * pi))), float(np.sum(statistics.cost(scale * pi)))
        if not (gain > 0 and cost > 0):
            break
        updated = float(np.clip(scale * gain / cost, SMALLEST, 1 / SMALLEST))
        settled = abs(updated - scale) < TOLERANCE * scale
        scale = updated
        if settled:
            break
    return scale


def learn_beta(statistics: WordStatistics, beta: NDArray[np.float64], seeds: Seeds) -> NDArray[np.float64]:
    """β · s for the best factor s given n_kw; the proportions between words stay. Seeds' pseudo-counts are prior."""
    totals, psi = statistics.totals, statistics.psi
    before: NDArray[Any] = np.bincount(seeds.topics, seeds.counts, len(totals)) if len(seeds) else np.zeros(len(totals))
    factor, total = 1.0, float(beta.sum())
    for _ in range(ROUNDS):
        gain = statistics.gain(factor)
        if len(seeds):
            seeded = factor * beta[seeds.words]
            gain -= float(np.sum(beta[seeds.words] * (psi(seeds.counts + seeded) - psi(seeded))))
        cost = total * float(np.sum(psi(totals + factor * total) - psi(before + factor * total)))
        if not (gain > 0 and cost > 0):
            break
        updated = float(np.clip(factor * gain / cost, factor / 10, factor * 10))
        settled = abs(updated - factor) < TOLERANCE * factor
        factor = updated
        if settled:
            break
    return np.maximum(beta * factor, SMALLEST)


MOST_TABLE = 1 << 23
"""Whole numbers up to which they are counted in a table; larger ones are sorted."""


def distinct_numbers(numbers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct ones of numbers from 0 on, ascending, and how often each is there."""
    whole = np.issubdtype(numbers.dtype, np.integer)  # expected counts are not
    if not (whole and len(numbers)) or int(numbers.max()) >= min(MOST_TABLE, 16 * len(numbers) + 1024):
        return np.unique(numbers, return_counts=True)
    times = np.bincount(numbers)
    found = np.flatnonzero(times)
    return found.astype(numbers.dtype), times[found].astype(np.int64)


def digamma(x: NDArray[Any]) -> NDArray[np.float64]:
    """ψ by the kernels' own arithmetic: the same bits on every machine, without the fifth of a second that importing
    SciPy's takes."""
    result: NDArray[np.float64] = bounds.special_function("digamma", np.asarray(x, np.float64))
    return result


# -- of sampled counts -----------------------------------------------------------------------------------------


def add_equal(values: NDArray[Any], times: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct values, ascending, and the sum of the times of each."""
    distinct, which = np.unique(values, return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, which.reshape(-1), times)
    return distinct, total


class CountedDocuments(DocumentStatistics):
    """Documents with whole counts: only distinct ones are looked at, so a round costs little."""

    def __init__(self, document_topics: Csr, groups: NDArray[np.uint32], shape: tuple[int, int]) -> None:
        indptr, topics, counts = document_topics
        per_document = np.diff(indptr)
        running = np.concatenate([[0], np.cumsum(counts)])
        lengths = running[indptr[1:]] - running[indptr[:-1]]
        width = int(counts.max(initial=0)) + 1
        self.shape = shape
        self.groups: list[tuple[NDArray[Any], ...]] = []
        for group in range(shape[0]):
            member = lengths > 0 if not len(groups) else (groups == group) & (lengths > 0)
            entries = np.repeat(member, per_document)
            pairs = topics[entries].astype(np.int64) * width + counts[entries]
            pairs, times = distinct_numbers(pairs)
            length, length_times = distinct_numbers(lengths[member])
            self.groups.append((pairs // width, pairs % width, times, length, length_times))

    @classmethod
    def merged(cls, parts: Sequence[list[tuple[NDArray[Any], ...]]], shape: tuple[int, int]) -> CountedDocuments:
        """Statistics of all documents from the `groups` of parts of them: as if they were counted at once."""
        found = cls.__new__(cls)
        found.shape, found.groups = shape, []
        for group in range(shape[0]):
            topic, count, times, length, length_times = (
                np.concatenate([part[group][at] for part in parts]) for at in range(5)
            )
            width = int(count.max(initial=0)) + 1
            pairs, times = add_equal(topic * width + count, times)
            found.groups.append((pairs // width, pairs % width, times, *add_equal(length, length_times)))
        return found

    def gain(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        gain = np.zeros(self.shape)
        for row, (topic, count, times, *_), out in zip(alpha, self.groups, gain, strict=True):
            if len(topic):
                out[:] = np.bincount(topic, times * (digamma(count + row[topic]) - digamma(row[topic])), self.shape[1])
        return gain

    def cost(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        totals = [row.sum() for row in alpha]
        return np.array([
            float(np.sum(times * (digamma(length + total) - digamma(total))))
            for total, (*_, length, times) in zip(totals, self.groups, strict=True)
        ])  # fmt: skip


class CountedWords(WordStatistics):
    """Words with whole counts: equal (weight, count) pairs are computed once."""

    def __init__(self, word_topics: Csr, beta: NDArray[np.float64], topics: int) -> None:
        indptr, columns, counts = word_topics
        weight = beta[np.repeat(np.arange(len(beta)), np.diff(indptr))]
        self.totals = np.bincount(columns, counts, topics)
        if len(weight) and (beta == beta[0]).all():
            whole, self._times = distinct_numbers(counts)
            self._count = whole.astype(np.float64)
            self._weight = np.full(len(whole), beta[0])
        else:
            pairs, self._times = np.unique(np.stack([weight, counts.astype(np.float64)]), axis=1, return_counts=True)
            self._weight, self._count = pairs

    @property
    def parts(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The distinct pairs of a weight and a count (a column each), how often each occurs, and the totals."""
        return np.stack([self._weight, self._count]), self._times, self.totals

    @classmethod
    def merged(cls, parts: Sequence[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]) -> CountedWords:
        """Statistics of all words from the `parts` of some: as if they were counted at once."""
        found = cls.__new__(cls)
        pairs, which = np.unique(np.concatenate([part[0] for part in parts], axis=1), axis=1, return_inverse=True)
        found._times = np.zeros(pairs.shape[1], np.int64)
        np.add.at(found._times, which.reshape(-1), np.concatenate([part[1] for part in parts]))
        found._weight, found._count = pairs
        found.totals = np.sum([part[2] for part in parts], axis=0)
        return found

    def gain(self, factor: float) -> float:
        weight = self._weight
        inside = self.psi(self._count + factor * weight) - self.psi(factor * weight)
        return float(np.sum(self._times * weight * inside))

    def psi(self, x: NDArray[Any]) -> NDArray[np.float64]:
        return digamma(x)
