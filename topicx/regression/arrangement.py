"""Documents arranged for a regression: which are used and why others are not, their rows of the design, clusters,
weights, and the groups that share a prior."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.table import Table
from topicx.design.covariates import levels_of, numbers_of
from topicx.design.design import Design, DesignRows
from topicx.design.formula import Formula
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.topic_rows import known_tokens, match_vocabulary
from topicx.regression.cell_sums import Cells, by_number
from topicx.regression.crossed_sums import Floats, orthogonalised
from topicx.regression.regressions import Basis
from topicx.strings import Strings, take_rows

Ints = NDArray[np.int64]
BINS = (1000, 500, 200, 100, 50, 20, 10, 5, 2)
"""Into how many quantiles columns of the design are cut, where the prior would have too many groups."""


class Bag(Protocol):
    """Documents' words, and what the documents have: a corpus, or a state."""

    words: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    vocabulary: Strings

    @property
    def table(self) -> Table: ...


@dataclass(frozen=True)
class Arranged:
    """The documents that are used, sorted by their cells."""

    words: NDArray[np.uint32]
    """Words as ids of the model."""
    offsets: Ints
    order: Ints
    """The number of each document in the source."""
    design: Design
    rows: Floats
    """The distinct rows of the design."""
    cells: Cells
    prior_rows: Floats
    """Groups × columns of mean square 1, the first constant."""
    groups: NDArray[np.uint32]
    """The group of each document."""
    notes: list[str] = field(default_factory=list)
    """What was left out, and what else was noticed."""

    @property
    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    def basis(self) -> Basis:
        """Orthogonal columns for the design's."""
        return Basis.of(self.rows, by_number(self.cells.rows, self.cells.weight_sums(), len(self.rows)))


def arrange_documents(
    model: Model, bag: Bag, formula: str | Formula | Design, *, cluster: str | None = None, weights: str = "documents",
    missing: str = "drop", groups_max: int = 20_000,
) -> Arranged:  # fmt: skip
    """Documents with words that the model knows, and with values of all columns that are asked for."""
    match = match_vocabulary(model.vocabulary, bag.vocabulary)
    words, offsets, _ = known_tokens(bag.words, bag.offsets, match)
    lengths, number = np.diff(offsets), len(offsets) - 1
    kept: NDArray[np.bool_] = lengths > 0
    notes = [f"{number - int(kept.sum()):,} documents without a word that the model knows are left out"]
    if kept.all():
        notes = []
    design = formula if isinstance(formula, Design) else Design.fit(formula, bag.table, kept)
    rows = design.rows(bag.table, number)
    notes += [f"{note}: left out" if "have no value" in note else note for note in rows.notes]
    has = rows.kept
    clusters = np.zeros(0, np.int64)
    if cluster is not None:
        clusters = levels_of(bag.table, cluster).codes
        _note_missing(notes, clusters < 0, cluster)
        has = has & (clusters >= 0)
    weight = _document_weights(bag.table, weights, lengths)
    if weights not in ("documents", "tokens"):
        _note_missing(notes, ~(weight > 0), weights)
        has = has & (weight > 0)
    if missing == "refuse" and not has[kept].all():
        raise InputError(f"{int((kept & ~has).sum()):,} documents lack values: {'; '.join(notes)} (--missing drop)")
    kept &= has
    if not kept.any():
        raise InputError("no document is left: " + ("; ".join(notes) or "the corpus has none"))
    return _arranged(words, offsets, np.flatnonzero(kept), design, rows, clusters, weight, groups_max, notes)


def _note_missing(notes: list[str], lost: NDArray[np.bool_], name: str) -> None:
    if lost.any():
        notes.append(f"{int(lost.sum()):,} documents have no value of {name!r}: left out")


def _document_weights(table: Table, weights: str, lengths: Ints) -> Floats:
    if weights == "documents":
        return np.ones(len(lengths))
    found = lengths.astype(np.float64) if weights == "tokens" else np.nan_to_num(numbers_of(table, weights))
    if (found < 0).any():
        raise InputError(f"weights: {weights!r} has values below 0")
    return found


def _arranged(
    words: NDArray[np.uint32], offsets: Ints, order: Ints, design: Design, rows: DesignRows, clusters: Ints,
    weight: Floats, groups_max: int, notes: list[str],
) -> Arranged:  # fmt: skip
    used, row = np.unique(rows.groups[order], return_inverse=True)
    row = row.reshape(-1)
    distinct = rows.distinct[used]
    own = np.unique(clusters[order], return_inverse=True)[1].reshape(-1) if len(clusters) else np.zeros(len(row), int)
    place = np.lexsort((np.arange(len(order)), row, own))
    order, row, own = order[place], row[place], own[place]
    begins = np.ones(len(order), bool)
    begins[1:] = (np.diff(row) != 0) | (np.diff(own) != 0)
    cell = np.cumsum(begins) - 1
    mine = weight[order]
    cells = Cells(
        cell, row[begins], own[begins] if len(clusters) else np.zeros(0, np.int64), mine * (len(mine) / mine.sum())
    )
    group_of_row, prior = _prior_groups(distinct, np.bincount(row, minlength=len(distinct)), groups_max, notes)
    taken, starts = take_rows(words, offsets, order)
    return Arranged(
        taken, starts, order, design, distinct, cells, prior, group_of_row[row].astype(np.uint32), notes
    )  # fmt: skip


def _prior_groups(rows: Floats, documents: Ints, most: int, notes: list[str]) -> tuple[Ints, Floats]:
    """The group of each row of the design, and the groups' rows: the design's own, unless they are too many."""
    group, middles = np.arange(len(rows)), rows
    for bins in BINS if len(rows) > most else ():
        key = np.zeros(len(rows), np.int64)
        for column in rows.T:
            cuts = np.unique(np.quantile(column, np.linspace(0, 1, bins + 1)[1:-1]))
            place = np.searchsorted(cuts, column)
            key = np.unique(key * (bins + 1) + place, return_inverse=True)[1].reshape(-1)
        group = key
        if group.max() < most:
            break
    if len(rows) > most:
        size = np.bincount(group, documents)
        middles = np.column_stack([np.bincount(group, documents * column) / size for column in rows.T])
        notes.append(
            f"{len(rows):,} distinct rows of the design: for the prior {len(middles):,} groups of neighbours; the "
            "regression takes them as they are"
        )
    constant = np.column_stack([np.ones(len(middles)), middles])
    return group, orthogonalised(constant, np.bincount(group, documents).astype(np.float64))[0]
