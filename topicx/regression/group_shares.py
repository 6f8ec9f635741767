"""Mean topic proportions of groups of documents, with intervals: the regression of `topicx.regression` where each group
has a mean of its own. θ is drawn under a prior that knows the groups, so that differences are not shrunk.

Groups may overlap (labels): documents that are in the same groups share a prior, which is near what the groups say one
by one. Groups that follow one another (spans of time) have priors near a smooth curve.

The documents of a group are a sample: the variance of the mean is s² / n, with s² shrunk toward what it is within all
groups, which counts as LENT documents more (the moderated t of Smyth 2004, doi:10.2202/1544-6115.1027, with a fixed
prior). The variance of θ given the words, and of its mean over draws, comes on top (Rubin's rules).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from topicx.design.transforms import spline_basis
from topicx.engines.threads import Engine, engine_of
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.topic_rows import FixedTopics, known_tokens, match_vocabulary
from topicx.regression.arrangement import Bag
from topicx.regression.cell_sums import Cells, by_number
from topicx.regression.crossed_sums import orthogonalised
from topicx.regression.drawn_priors import SIGMA, HierarchicalPrior
from topicx.regression.pooling import pool_draws
from topicx.regression.topic_chain import Draw, TopicChain
from topicx.strings import take_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LENT = 5
"""Degrees of freedom that the variance within all groups lends to each: of 2 to 12, with what groups of 5 to 30
documents came nearest to nine of ten, whatever the shares' skewness."""
DRAWS, LAG, BURN_IN = 20, 8, 80
QUICK = 8, 8, 40
"""Draws, sweeps between them and before the first; and where the reader waits."""
SMOOTH, INDICATORS = 5, 60
"""Columns of the curve that priors of spans of time are near; and of labels that a prior tells apart, at most."""


@dataclass(frozen=True)
class GroupShares:
    """Groups × topics."""

    documents: Ints
    tokens: Ints
    mean: Floats
    errors: Floats
    """NaN: a group of one document."""
    freedom: Floats
    """Degrees of freedom, of each mean."""
    drawn: Floats
    """Draws × groups × topics: the means of each draw."""
    sampling: Floats
    """The part of the variance that is not between draws."""


class Membership(NamedTuple):
    """Which groups documents are in."""

    names: list[str]
    documents: Ints
    """Pairs of a document and a group, documents ascending."""
    groups: Ints
    times: Floats
    """Times of groups that follow one another; NaN elsewhere."""
    ordered: bool


def group_shares(
    model: Model, bag: Bag, membership: Membership, seed: int = 1, threads: int | Engine = 0,
    clusters: Ints | None = None, quick: bool = False,
) -> GroupShares:  # fmt: skip
    """Mean shares of the groups' documents. clusters: a number for each document, where those of one are no sample by
    themselves (chunks of a text). quick: fewer draws and sweeps."""
    match = match_vocabulary(model.vocabulary, bag.vocabulary)
    words, offsets, _ = known_tokens(bag.words, bag.offsets, match)
    number = len(offsets) - 1
    member = scipy.sparse.csr_array(
        (np.ones(len(membership.groups), np.int64), (membership.documents, membership.groups)),
        shape=(number, len(membership.names)),
    )
    which, sets = _distinct_sets(member)
    used = np.flatnonzero((np.diff(offsets) > 0) & (np.diff(member.indptr) > 0))
    if not len(used):
        raise InputError("--by: no document has a word that the model knows")
    own = np.zeros(number, np.int64) if clusters is None else clusters
    order = used[np.lexsort((used, own[used], which[used]))]
    which, own = which[order], own[order]
    begins = np.ones(len(order), bool)
    begins[1:] = np.diff(which) != 0
    if clusters is not None:
        begins[1:] |= np.diff(own) != 0
    cells = Cells(np.cumsum(begins) - 1, which[begins], np.zeros(0, np.int64), np.ones(len(order)))
    taken, starts = take_rows(words, offsets, order)
    fixed = FixedTopics(model)
    present, prior_of = np.unique(which, return_inverse=True)
    rows = _prior_rows(sets[present], membership, by_number(prior_of.reshape(-1), np.ones(len(order)), len(present)))
    prior = HierarchicalPrior(rows, np.log(fixed.alpha.mean(axis=0)), SIGMA if rows.shape[1] == 1 else None)
    chain = TopicChain(
        fixed, taken, starts, prior, prior_of.reshape(-1).astype(np.uint32), engine_of(threads), seed
    )  # fmt: skip
    sums = _SetSums(cells, sets, clusters is not None)
    draws, lag, burn_in = QUICK if quick else (DRAWS, LAG, BURN_IN)
    return sums.pooled([sums.of_draw(draw, chain) for draw in chain.run(burn_in, draws, lag)], chain.lengths)


def _distinct_sets(member: scipy.sparse.csr_array) -> tuple[Ints, scipy.sparse.csr_array]:
    """The number of each document's set of groups, and the sets × groups."""
    member.sort_indices()
    sizes = np.diff(member.indptr)
    if sizes.max(initial=0) <= 1:
        found = np.zeros(member.shape[0], np.int64)
        found[sizes == 1] = member.indices[member.indptr[:-1][sizes == 1]]
        return found, scipy.sparse.eye_array(member.shape[1], format="csr")
    known: dict[bytes, int] = {}
    found = np.empty(member.shape[0], np.int64)
    first = []
    for row, (begin, end) in enumerate(zip(member.indptr[:-1], member.indptr[1:])):
        key = member.indices[begin:end].tobytes()
        if key not in known:
            known[key] = len(known)
            first.append(row)
        found[row] = known[key]
    return found, member[np.array(first)].astype(np.float64)


def _prior_rows(sets: scipy.sparse.csr_array, membership: Membership, weights: Floats) -> Floats:
    """What the priors of sets of groups are near: their common level; a curve; or the sum of what labels say."""
    columns = [np.ones(sets.shape[0])]
    if membership.ordered:
        at = sets @ np.nan_to_num(membership.times, nan=0.0)
        known = np.isfinite(membership.times)[np.asarray(sets.argmax(axis=1)).ravel()]
        different = len(np.unique(at[known]))
        if different > 2:
            inner = np.quantile(at[known], np.linspace(0, 1, max(min(SMOOTH, different - 1) - 1, 2)))
            curve = spline_basis(
                np.clip(at, inner[0], inner[-1]), np.pad(inner, 3, mode="edge"), 3
            ) if different > 4 else at[:, None]  # fmt: skip
            columns += list(np.where(known[:, None], curve, 0).T)
            if not known.all():
                columns.append(known.astype(np.float64))
    elif sets.nnz > sets.shape[0]:
        often = sets.T @ weights
        columns += [sets[:, [k]].toarray().ravel() for k in np.argsort(-often, kind="stable")[:INDICATORS]]
    return orthogonalised(np.column_stack(columns), weights)[0]


class _SetSums:
    """Sums of sets of groups, and of groups."""

    def __init__(self, cells: Cells, sets: scipy.sparse.csr_array, clustered: bool) -> None:
        self.cells, self.clustered = cells, clustered
        self.member = sets.T.tocsr()  # groups × sets
        self.size = by_number(cells.rows, cells.totals(), sets.shape[0])
        self.units = by_number(cells.rows, np.ones(len(cells)), sets.shape[0]) if clustered else self.size
        self.n, self.m = self.member @ self.size, self.member @ self.units

    def of_draw(self, draw: Draw, chain: TopicChain) -> tuple[Floats, Floats]:
        """The means of a draw, and their variances."""
        shape = (self.member.shape[1], draw.alpha.shape[1])
        total, square, spread, crossed = (np.zeros(shape) for _ in range(4))
        size = self.cells.totals()
        for part in self.cells.sums(draw.counts, draw.alpha, chain.groups, chain.lengths):
            own = slice(part.begin, part.begin + len(part.mean))
            rows = self.cells.rows[own]
            np.add.at(total, rows, part.mean)
            np.add.at(spread, rows, part.spread)
            if self.clustered:  # Σ (Σ θ)², and Σ n Σ θ, of clusters
                np.add.at(square, rows, part.mean**2 + part.spread)
                np.add.at(crossed, rows, size[own, None] * part.mean)
            else:
                np.add.at(square, rows, part.square)
        n, m = self.n[:, None], self.m[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (self.member @ total) / np.where(n > 0, n, np.nan)
            middle = n * mean**2
            if self.clustered:
                sizes = self.member @ by_number(self.cells.rows, size**2, self.member.shape[1])
                middle = 2 * mean * (self.member @ crossed) - mean**2 * sizes[:, None]
            squares = np.nan_to_num(np.maximum(self.member @ square - middle, 0))
            own_free, lent = np.maximum(m - 1, 0), self._lent()
            within = squares.sum(axis=0) / max(float(own_free.sum()), 1.0)
            variance = (squares + lent * within) / np.where(m > 1, own_free + lent, np.nan) * m / n**2
        return mean, variance + (self.member @ spread) / np.maximum(n, 1) ** 2

    def _lent(self) -> Floats:
        own = np.maximum(self.m[:, None] - 1, 0)
        return np.minimum(own.sum() - own, LENT)

    def pooled(self, draws: list[tuple[Floats, Floats]], lengths: Ints) -> GroupShares:
        """All draws as one."""
        means, variances = np.stack([mean for mean, _ in draws]), np.stack([one for _, one in draws])
        own = np.maximum(self.m[:, None] - 1, 0)
        complete = np.where(own > 0, own + self._lent(), np.nan)
        found = pool_draws(means, variances, complete)
        of_set = by_number(self.cells.rows[self.cells.of_document], lengths.astype(np.float64), self.member.shape[1])
        return GroupShares(
            np.rint(self.n).astype(np.int64), np.rint(self.member @ of_set).astype(np.int64), found.value, found.errors,
            found.freedom, means, variances.mean(axis=0),
        )  # fmt: skip
