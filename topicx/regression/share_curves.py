"""Topics' shares along a column of numbers or times, as smooth curves with bands: a spline regression under a prior
that knows the column (`topicx.regression.estimation`)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from topicx.design.covariates import is_factor, numbers_of
from topicx.design.formula import Call, ColumnName, Constant, Formula
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.model import Model
from topicx.regression.arrangement import Bag
from topicx.regression.crossed_sums import Floats
from topicx.regression.estimation import EffectSettings, draw_effects
from topicx.regression.group_shares import BURN_IN, DRAWS, LAG, QUICK
from topicx.regression.predictions import ShareForecast


@dataclass(frozen=True)
class ShareCurves:
    """Shares of topics at several points."""

    column: str
    at: Floats
    """Points: numbers, or years with their parts."""
    share: Floats
    """Points × topics; so are the ends of the bands."""
    low: Floats
    high: Floats
    documents: int
    """Documents that were used."""
    notes: list[str] = field(default_factory=list)
    """What was left out."""


def share_curves(
    model: Model, bag: Bag, column: str = "time", *, df: int = 5, points: int = 50, level: float = 0.9, seed: int = 1,
    threads: int | Engine = 0, quick: bool = False,
) -> ShareCurves:  # fmt: skip
    """Topics' shares along a column of numbers or times, with pointwise bands.

    Parameters
    ----------
    model : Model
        The topics.
    bag : Corpus or State
        The documents.
    column : str, default "time"
        The column.
    df : int, default 5
        Columns of the spline.
    points : int, default 50
        Points from the least to the greatest value.
    level : float, default 0.9
        Confidence of the bands, at each point by itself.
    seed : int, default 1
        Seed of the draws.
    threads : int or Engine, default 0
        Threads; 0: all cores. No result depends on it.
    quick : bool, default False
        96 sweeps instead of 240, and 8 draws instead of 20; bands are a little wider for it.

    Returns
    -------
    ShareCurves
        The curves.
    """
    if is_factor(bag.table, column):
        raise InputError(f"{column!r} is neither numbers nor times: there is no curve along it")
    values = numbers_of(bag.table, column)
    different = len(np.unique(values[np.isfinite(values)]))
    if different < df + 2:
        raise InputError(f"{column!r} has {different} different values: too few for a curve of {df} columns")
    if points < 2:
        raise InputError(f"points: {points} must be at least 2")
    clusters = "cluster:document" if {"document", "chunk"} <= set(bag.table) else "robust"
    number, lag, burn_in = QUICK if quick else (DRAWS, LAG, BURN_IN)
    settings = EffectSettings(se=clusters, seed=seed, draws=number, lag=lag, burn_in=burn_in)
    formula = Formula(((), (Call("s", (ColumnName(column),), (("df", Constant(df)),)),)))
    draws = draw_effects([model], bag, formula, settings, threads)
    forecast = ShareForecast(draws, bag.table)
    ends = forecast.points(column)
    at = np.linspace(ends[0], ends[-1], points)
    each = [forecast.shares({column: value}) for value in at.tolist()]
    low, high = (np.stack(side) for side in zip(*(one.share_intervals(level) for one in each)))
    share = np.stack([one.value for one in each])
    return ShareCurves(
        column, at, share, low, high, draws.arranged.cells.documents, draws.arranged.notes
    )  # fmt: skip
