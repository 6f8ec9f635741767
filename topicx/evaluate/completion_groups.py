"""What document completion found, group by group: by a column of the documents, or by the slices of a model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.corpus.slices import DocumentSlices, column_slices
from topicx.errors import InputError, list_first_names
from topicx.evaluate.completion import Completion
from topicx.model import Model
from topicx.models.slice_cuts import SliceCuts

__all__ = ["completion_by_group", "groups_of_column", "groups_of_model"]

NO_VALUE = "(none)"


def groups_of_column(corpus: Corpus, column: str, unit: str | None = None, every: int | None = None) -> DocumentSlices:
    """The groups of documents that a column makes.

    Parameters
    ----------
    corpus : Corpus
        Documents.
    column : str
        Name of a column: `time`, `label`, `collection`, or a further one.
    unit : str, optional
        Unit of the calendar: day, week, month, quarter, year, decade or century.
    every : int, optional
        So many units a group.

    Returns
    -------
    DocumentSlices
        Names of the groups, and which documents are in each.
    """
    found = corpus.table.get(column)
    if found is None:
        known = list_first_names(list(corpus.table)) if len(corpus.table) else "none"
        raise InputError(f"--by {column}: the documents have no such column; they have {known}")
    return column_slices(found, f"--by {column}", unit, every)


def groups_of_model(model: Model, corpus: Corpus) -> DocumentSlices | None:
    """The slices of a model in which documents are.

    Parameters
    ----------
    model : Model
        A model.
    corpus : Corpus
        Documents.

    Returns
    -------
    DocumentSlices or None
        None if the topics of the model have no slices.
    """
    if "slice_bounds" not in model.side:
        return None
    cuts = SliceCuts.of_meta(model.meta)
    slices, _ = cuts.of_documents(corpus.table.get(cuts.column), corpus.n_documents)
    inside = np.flatnonzero(slices >= 0)
    return DocumentSlices(list(cuts.names), inside, slices[inside])


def completion_by_group(found: Completion, groups: DocumentSlices) -> list[dict[str, Any]]:
    """Perplexity of each group of documents.

    Parameters
    ----------
    found : Completion
        What `completion` found.
    groups : DocumentSlices
        Groups of the same documents. A document may be in several.

    Returns
    -------
    list of dict
        A row a group that has documents with tokens to score: group, documents, tokens, log_likelihood, perplexity.
        Documents in no group come last, as "(none)".
    """
    rows = []
    for at, name in enumerate(groups.names):
        rows += _group_row(name, found, groups.documents[groups.slices == at])
    outside = np.ones(len(found.documents), bool)
    outside[groups.documents] = False
    return rows + _group_row(NO_VALUE, found, np.flatnonzero(outside))


def _group_row(name: str, found: Completion, documents: NDArray[np.int64]) -> list[dict[str, Any]]:
    scored = documents[found.scored[documents] > 0]
    tokens = int(found.scored[scored].sum())
    if not tokens:
        return []
    total = math.fsum(found.documents[scored])
    return [{
        "group": name, "documents": len(scored), "tokens": tokens, "log_likelihood": total,
        "perplexity": math.exp(-total / tokens),
    }]  # fmt: skip
