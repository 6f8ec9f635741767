"""Effects from Python: `topicx.effects(model, documents, "~ party + s(year)")`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from topicx.corpus.any_documents import as_corpus, like_model
from topicx.corpus.table import Column, Names, Numbers, Table, Times
from topicx.design.design import Design
from topicx.design.formula import ColumnName, Formula
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.model import Model
from topicx.regression.estimation import EffectSettings, draw_effects
from topicx.regression.results import Effects
from topicx.state import State


def effects(
    model: Model | Sequence[Model], documents: Any, formula: Any, *, columns: Any = None, names: Sequence[str] = (),
    draws: int = 20, lag: int = 8, burn_in: int = 80, family: str = "linear", se: str = "robust",
    cluster: str | None = None, weights: str = "documents", uncertainty: str | None = None, missing: str = "drop",
    level: float = 0.95, adjust: str = "holm", topics: Sequence[int] = (), groups_max: int = 20_000, seed: int = 1,
    threads: int | Engine = 0, text: str = "text", correlations: bool = False,
) -> Effects:  # fmt: skip
    """Estimate how topics' shares depend on what documents have.

    The topics are held. The documents' words are given topics again and again, under a prior that depends on the
    formula's columns and is drawn, too; each draw is regressed on the columns, and the draws are pooled.

    Parameters
    ----------
    model : Model or sequence of Model
        The topics. Several models (of other seeds, or samples) for `uncertainty="global"`.
    documents : Corpus, State, data frame, …
        The documents, in any form that `Model.infer` takes.
    formula : str, Design, array or data frame
        Such as ``"~ party + s(year, df=4)"``, over the documents' columns; or the columns themselves: a 2-D array
        (with `names`), a data frame, or formulaic's ``ModelMatrix``, a row a document.
    columns : data frame or mapping, optional
        Further columns for the formula, a value a document (elsewhere `metadata`).
    names : sequence of str
        Names of an array's columns.
    draws, lag, burn_in : int
        Draws of the words' topics, sweeps between them, and before the first.
    family : {"linear", "logit"}
        Differences of shares, or a fractional logit.
    se : {"robust", "classical", "cluster:COLUMN"}
        Standard errors: HC1, of equal variances, or CR1 by a column's values; `cluster="COLUMN"` is the same.
    weights : {"documents", "tokens"} or str
        What each document weighs: the same, its tokens, or a column.
    uncertainty : {"local", "global", "none"}, optional
        Of the words' topics given the model's; of the model's topics as well; or none (the plug-in, which is biased).
        By default local, or global if there are several models.
    missing : {"drop", "refuse"}
        Documents that lack a value.
    level : float, default 0.95
        Confidence of intervals.
    adjust : {"holm", "bh", "none"}
        How p-values are adjusted for the number of tests.
    topics : sequence of int
        Topics of the tables (all, if there are none).
    groups_max : int, default 20,000
        Distinct rows of the design that have a prior each; of more, neighbours share one.
    seed, threads
        The same seed gives the same result with any number of threads.
    text : str
        The column of a data frame that holds the texts.
    correlations : bool, default False
        Whether correlations of topics are kept, for `Effects.correlations`.

    Returns
    -------
    Effects
        With `rows`, `to_dataframe`, `tests`, `predict`, `curve`, `difference`, `correlations`, `summary` and
        `plot`.

    Raises
    ------
    InputError
        If a formula, a column or an option is wrong.
    """
    models = [model] if isinstance(model, Model) else list(model)
    if not models:
        raise InputError("effects: there is no model")
    bag: Any = documents
    if not isinstance(documents, State):
        bag = as_corpus(documents, text=text, like=like_model(models[0].vocabulary, models[0].meta))
    given, further = _formula_of(formula, names)
    further |= columns_of_frame(columns) if columns is not None else {}
    table = bag.table
    if further:
        sizes = {len(column) for column in further.values()} - {len(bag.offsets) - 1}
        if sizes:
            raise InputError(f"effects: {len(bag.offsets) - 1:,} documents, but columns of {min(sizes):,} values")
        table = Table(dict(table) | further)
    settings = EffectSettings(
        family, f"cluster:{cluster}" if cluster else se, weights, draws, lag, burn_in,
        uncertainty or ("global" if len(models) > 1 else "local"), missing, groups_max, seed, correlations,
    )  # fmt: skip
    Effects.check(models[0], level, adjust, topics)
    found = draw_effects(models, _WithTable(bag, table), given, settings, threads)
    return Effects(models[0], found, settings, table, level, adjust, tuple(topics))


class _WithTable:
    """Documents with more columns than they came with."""

    def __init__(self, bag: Any, table: Table) -> None:
        self.words, self.offsets, self.vocabulary, self.table = bag.words, bag.offsets, bag.vocabulary, table


def _formula_of(formula: Any, names: Sequence[str]) -> tuple[str | Design | Formula, dict[str, Column]]:
    """A formula, and the columns that it is over where a matrix was given."""
    if isinstance(formula, str | Design):
        return formula, {}
    if hasattr(formula, "columns"):
        names = [str(name) for name in formula.columns]
    matrix = np.asarray(formula, dtype=np.float64)
    if matrix.ndim != 2 or not matrix.size:
        raise InputError("effects: the design is neither a formula nor a table of numbers with a row a document")
    names = list(names) or [f"x{place}" for place in range(matrix.shape[1])]
    if len(names) != matrix.shape[1] or len(set(names)) != len(names):
        raise InputError(f"effects: {len(names)} names for {matrix.shape[1]} columns; each needs one of its own")
    return Formula(tuple((ColumnName(name),) for name in names)), {
        name: Numbers(np.ascontiguousarray(column)) for name, column in zip(names, matrix.T)
    }


def columns_of_frame(columns: Any) -> dict[str, Column]:
    """The columns of a data frame or a mapping: numbers, times, or names."""
    found: dict[str, Column] = {}
    items: Mapping[str, Any] = {str(name): columns[name] for name in columns}
    for name, values in items.items():
        array = np.asarray(values)
        if array.dtype.kind == "M":
            days = array.astype("datetime64[us]").astype(np.float64) / 86_400e6
            found[name] = Times(np.where(np.isnat(array), np.nan, days), dates=True)
        elif array.dtype.kind in "iuf":
            found[name] = Numbers(array.astype(np.float64))
        else:
            listed = [None if value is None or value != value else str(value) for value in array.tolist()]
            found[name] = Names.of(listed)
    return found
