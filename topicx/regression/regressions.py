"""Regressions of all topics' shares on the columns of a design, given a draw of the words' topics: coefficients, and
how far they would move with other documents and with other θ. Linear (least squares) or logit (Papke & Wooldridge 1996:
the quasi-likelihood of shares).

Both are linear in θ where it stands, so that E[θ] and V[θ] are all they need. The columns are made orthogonal first;
`Basis` leads back to the design's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicx.regression.cell_sums import Cells, Sums
from topicx.regression.crossed_sums import crossed, factored, orthogonalised, predicted, solved, summed
from topicx.sampling.special_functions import exp

Floats = NDArray[np.float64]

STEPS, NEAR = 100, 1e-10
"""Newton's steps of a logit fit at most, and the change at which they end."""
STEEPEST = 30.0
LEAST_SHARE = 0.05
"""Least share of a row, as a part of its topic's mean share, where variances go with shares."""


@dataclass(frozen=True)
class Basis:
    """Orthogonal columns for a design's, over the documents with their weights."""

    rows: Floats
    """Rows z of the design: columns of mean square 1."""
    used: NDArray[np.int64]
    """The columns of the design that are no sums of others."""
    back: Floats
    """Matrix, used × used: the design's columns times it are z; so coefficients of the design are it times those of
    z."""

    @classmethod
    def of(cls, design: Floats, weights: Floats) -> Basis:
        """`weights`: of each row, the sum over its documents."""
        rows, used = orthogonalised(design, weights)
        total = float(weights.sum())
        # X = Z R; R is upper triangular.
        over = np.array([
            [float((weights * rows[:, i] * design[:, column]).sum()) / total if place >= i else 0.0
             for place, column in enumerate(used)]
            for i in range(len(used))
        ]).reshape(len(used), len(used))  # fmt: skip
        return cls(rows, used, _upper_inverse(over))

    def of_design(self, design: Floats) -> Floats:
        """Rows z of other rows of the same design."""
        return predicted(design[:, self.used], np.ascontiguousarray(self.back.T))


def _upper_inverse(upper: Floats) -> Floats:
    size = len(upper)
    found = np.zeros((size, size))
    for j in range(size):
        found[j, j] = 1 / upper[j, j]
        for i in range(j - 1, -1, -1):
            found[i, j] = -float((upper[i, i + 1 : j + 1] * found[i + 1 : j + 1, j]).sum()) / upper[i, i]
    return found


class Fit(NamedTuple):
    """The coefficients of z for each topic, and their variances."""

    coefficients: Floats
    """Coefficients: topics × columns."""
    sampling: Floats
    """With other documents: topics × columns × columns."""
    within: Floats
    """With other θ, given the words' topics."""
    shaped: Floats
    """With other documents, if the variance of residuals went with μ (1 - μ): less local, so surer."""


@dataclass(frozen=True)
class Regressions:
    """What is regressed on what."""

    basis: Basis
    cells: Cells
    family: str
    """Family of the regressions: linear or logit."""
    errors: str
    """Standard errors: robust (HC1), classical, or cluster (CR1)."""

    @property
    def freedom(self) -> float:
        """Degrees of freedom of one fit."""
        if self.errors == "cluster":
            return float(self.cells.clusters[-1])
        return float(self.cells.documents - self.basis.rows.shape[1])

    def fit(self, draw: Callable[[], Iterable[Sums]]) -> Fit:
        """`draw` gives the sums of a draw, as often as it is called."""
        parts = list(draw())
        again: Callable[[], Iterable[Sums]] = draw if len(parts) > 1 else lambda: parts
        z, total = self.basis.rows[self.cells.rows], self.cells.weight_sums()
        score = sum(summed(z[part.begin : part.begin + len(part.mean)], part.mean) for part in parts)
        level = sum(part.mean.sum(axis=0) for part in parts) / float(total.sum())
        if len(parts) > 1:
            parts.clear()
        coefficients, bread = self._solve(np.asarray(score), z, total)
        meat, within, shape = self._meat(again, coefficients, z, total, np.asarray(level))
        sampling, more = _sandwich(bread, meat), 1.0
        documents, columns = self.cells.documents, z.shape[1]
        if self.errors == "robust":
            more = documents / (documents - columns)
        elif self.errors == "cluster":
            clusters = int(self.cells.clusters[-1]) + 1
            more = clusters / (clusters - 1) * (documents - 1) / (documents - columns)
        shaped = sampling if self.errors == "classical" else _sandwich(bread, shape)
        return Fit(coefficients, sampling * more, _sandwich(bread, within), shaped * more)

    def supports(self, average: Floats) -> float:
        """How many documents (or clusters) a prediction for rows whose mean is `average` rests on, by their parts in
        its variance: (Σ u)² / Σ u²."""
        cell = self.cells.of_document
        parts = (self.cells.weights * predicted(self.basis.rows, average[None, :])[self.cells.rows[cell], 0]) ** 2
        if self.errors == "cluster":
            clusters = self.cells.clusters[cell]
            parts = np.bincount(clusters, parts)
        return float(parts.sum() ** 2 / max(float((parts * parts).sum()), 1e-300))

    def means(self, z: Floats, coefficients: Floats) -> Floats:
        """μ of rows of z: rows × topics."""
        linear = predicted(z, coefficients)
        if self.family == "linear":
            return linear
        return _expit(linear)

    def slopes(self, z: Floats, coefficients: Floats) -> Floats:
        """Derivatives of μ by the linear predictor: rows × topics."""
        if self.family == "linear":
            return np.ones((len(z), len(coefficients)))
        mean = self.means(z, coefficients)
        return mean * (1 - mean)

    def _solve(self, score: Floats, z: Floats, total: Floats) -> tuple[Floats, Floats]:
        """Coefficients, and the inverse of the curvature."""
        topics, columns = score.shape
        whole = float(total.sum())
        if self.family == "linear":
            return score / whole, np.broadcast_to(np.eye(columns) / whole, (topics, columns, columns))
        coefficients = np.zeros((topics, columns))
        for _ in range(STEPS):
            lower = factored(crossed(z, total[:, None] * self.slopes(z, coefficients)))
            step = solved(lower, score - summed(z, total[:, None] * self.means(z, coefficients)))
            change = np.abs(predicted(z, step)).max(axis=0)
            coefficients = coefficients + step * np.minimum(1, 2 / np.maximum(change, 1e-300))[:, None]
            if change.max() < NEAR:
                break
        lower = factored(crossed(z, total[:, None] * self.slopes(z, coefficients)))
        bread = np.empty((topics, columns, columns))
        for j in range(columns):
            bread[:, :, j] = solved(lower, np.tile(np.eye(columns)[j], (topics, 1)))
        return coefficients, bread

    def _meat(
        self, draw: Callable[[], Iterable[Sums]], coefficients: Floats, z: Floats, total: Floats, level: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """The variance of the score with other documents, and with other θ; and the first in the shape of μ (1 - μ)
        and of the same trace."""
        twice = self.cells.weight_sums(2)
        meat: Floats = np.zeros((1, 1, 1))
        within: Floats = np.zeros((1, 1, 1))
        shape: Floats = np.zeros((1, 1, 1))
        pending: Floats = np.zeros((0, coefficients.shape[0], z.shape[1]))
        squares: Floats = np.zeros(1)
        for part in draw():
            own = slice(part.begin, part.begin + len(part.mean))
            mu = self.means(z[own], coefficients)
            within = within + crossed(z[own], part.spread)
            if self.errors != "classical":
                near = np.clip(mu, LEAST_SHARE * level, 1 - LEAST_SHARE * (1 - level))
                shape = shape + crossed(z[own], twice[own, None] * near * (1 - near))
            if self.errors == "cluster":
                meat = meat + crossed(z[own], part.spread)
                scores = self._cluster_scores(own, z[own], part.mean - total[own, None] * mu)
                if own.start and len(pending) and self.cells.clusters[own.start] == self.cells.clusters[own.start - 1]:
                    scores[0] += pending[0]
                elif len(pending):
                    meat = meat + _squared(pending)
                meat, pending = meat + _squared(scores[:-1]), scores[-1:]
            elif self.errors == "robust":
                meat = meat + crossed(z[own], part.square - 2 * mu * part.heavy + twice[own, None] * mu * mu)
            else:
                squares = squares + (part.square - 2 * mu * part.heavy + twice[own, None] * mu * mu).sum(axis=0)
        if self.errors == "cluster":
            meat = meat + _squared(pending)
        elif self.errors == "classical":
            variance = squares / (self.cells.documents - z.shape[1])
            meat = variance[:, None, None] * crossed(z, total[:, None])
        traces = [np.trace(one, axis1=1, axis2=2) for one in (meat, shape)]
        return meat, within, shape * (traces[0] / np.maximum(traces[1], 1e-300))[:, None, None]

    def _cluster_scores(self, own: slice, z: Floats, residuals: Floats) -> Floats:
        """Σ z e of each cluster that these cells are of: clusters × topics × columns."""
        clusters = self.cells.clusters[own]
        starts = np.flatnonzero(np.diff(clusters, prepend=clusters[0] - 1))
        return np.stack([np.add.reduceat(z[:, j, None] * residuals, starts) for j in range(z.shape[1])], axis=2)


def _squared(scores: Floats) -> Floats:
    """Σ_c u_c u_c' of each topic."""
    columns = scores.shape[2]
    found = np.empty((scores.shape[1], columns, columns))
    for i in range(columns):
        for j in range(i + 1):
            found[:, i, j] = found[:, j, i] = (scores[:, :, i] * scores[:, :, j]).sum(axis=0)
    return found


def _sandwich(bread: Floats, meat: Floats) -> Floats:
    """Sandwich of variances, bread × meat × bread, topic by topic."""
    half = (bread[:, :, :, None] * meat[:, None, :, :]).sum(axis=2)
    found: Floats = (half[:, :, :, None] * bread[:, None, :, :]).sum(axis=2)
    return found


def _expit(x: Floats) -> Floats:
    small = np.clip(x, -STEEPEST, STEEPEST)
    found: Floats = 1 / (1 + exp(-small.ravel()).reshape(small.shape))
    return found
