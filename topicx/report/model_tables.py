"""What a model knows of its topics beside words and shares: the keywords that they were given, coefficients of their
priors, weights for what is predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from topicx.model import Model
from topicx.report.figures import as_percent, bin_name

SLICE_WORDS = 8
"""Words of a topic in a slice."""


@dataclass(frozen=True)
class ModelTable:
    """A table a topic."""

    title: str
    note: str
    columns: list[str]
    rows: list[list[list[str | float]]]
    """Rows of each topic."""

    def facts(self) -> dict[str, Any]:
        """The table as plain data."""
        return {"title": self.title, "note": self.note, "columns": self.columns, "rows": self.rows}


def model_tables(model: Model) -> list[ModelTable]:
    """The tables that this kind of model has."""
    side = model.side
    if {"keyword_topics", "keyword_words"} <= side.keys():
        return [_keywords(model)]
    if "slice_bounds" in side:
        return [_slices(model)]
    if "coefficients" in side and "covariates" in model.meta:
        return [_coefficients(model)]
    if "eta" in side and "eta_spread" in side and model.meta.get("model") == "medlda":
        return [_weights(model)]
    return []


def _keywords(model: Model) -> ModelTable:
    given: list[list[list[str | float]]] = [[] for _ in range(model.n_topics)]
    shares = model.side.get("keyword_shares")
    pairs = zip(model.side["keyword_topics"].tolist(), model.side["keyword_words"].tolist(), strict=True)
    words: list[list[str]] = [[] for _ in range(model.n_topics)]
    for topic, word in pairs:
        words[topic].append(model.vocabulary[word])
    for topic, own in enumerate(words):
        if own:
            part = "" if shares is None else as_percent(float(shares[topic]))
            given[topic] = [[", ".join(own), part]]
    return ModelTable(
        "Its keywords", "The words that the topic was given, and the part of its words that it drew from them alone.",
        ["keywords", "part"], given,
    )  # fmt: skip


def _coefficients(model: Model) -> ModelTable:
    from topicx.views.prior_coefficients import coefficient_rows

    rows = coefficient_rows(model, 1)
    return ModelTable(
        "What its prior depends on",
        "Coefficients of the logarithm of the topic’s prior weight, and how much they varied while they were learnt.",
        ["term", "estimate", "spread"],
        [
            [[one["term"], round(one["estimate"], 4), round(one["spread"], 4)] for one in row["coefficients"]]
            for row in rows
        ],
    )  # fmt: skip


def _weights(model: Model) -> ModelTable:
    from topicx.models.medlda import classifiers_of

    learnt = classifiers_of(model)
    eta, spread, names = learnt.weights, learnt.spreads, list(learnt.classes)
    if len(names) == 2 and eta.shape[1] == 1:
        names = names[1:]
    names = names if len(names) == eta.shape[1] else ["the value"]
    return ModelTable(
        "What it speaks for", "The topic’s weight in what the model predicts, and the spread of its draws.",
        ["of", "weight", "spread"],
        [
            [[name, round(float(eta[k, j]), 4), round(float(spread[k, j]), 4)] for j, name in enumerate(names)]
            for k in range(model.n_topics)
        ],
    )  # fmt: skip


def _slices(model: Model) -> ModelTable:
    from topicx.views.slice_tables import describe_slices

    found: list[list[list[str | float]]] = [[] for _ in range(model.n_topics)]
    for topic in describe_slices(model, SLICE_WORDS):
        rows: list[list[str | float]] = []
        for part in topic["slices"]:
            moved = part["moved"]
            told = "" if moved is None else as_percent(moved["mean"])
            if moved is not None:
                told += f" ({as_percent(moved['low']).rstrip('%')} to {as_percent(moved['high']).rstrip('%')})"
            words = " ".join(one["word"] for one in part["words"])
            rows.append([bin_name(part["slice"]), words, " ".join(part["new"]), " ".join(part["gone"]), told])
        found[topic["topic"]] = rows
    note = (
        "The most probable words of each slice; which of them are new and which are gone since the slice that it comes "
        "from"
    )
    columns = ["slice", "words", "new", "gone"]
    if any(row[-1] for rows in found for row in rows):
        note += "; and the part of the topic’s words that is another than there"
        columns.append("moved")
    else:  # the run was too short to keep how far topics moved
        found = [[row[:-1] for row in rows] for rows in found]
    return ModelTable("Its words, slice by slice", f"{note}.", columns, found)
