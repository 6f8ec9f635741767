"""What a regression of topics' priors has found: coefficients with their spread, and the prior that follows from them
for the values of each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.table import Column, Numbers, Texts
from topicx.errors import InputError
from topicx.model import Model
from topicx.models.dmr import design_of
from topicx.sampling.updates.prior_regression import make_priors
from topicx.strings import Strings
from topicx.views.rounded_numbers import six_digits


def coefficient_rows(model: Model, words: int = 10) -> list[dict[str, Any]]:
    """A row a topic: its words, the coefficient of each term with its spread, and α and its share of Σα at the values
    of each column, the others being usual."""
    if "coefficients" not in model.side or "covariates" not in model.meta:
        raise InputError("the model has no coefficients: its priors depend on nothing (train --model dmr --formula …)")
    terms = list(design_of(model.meta).columns)
    estimates, spreads = model.side["coefficients"], model.side["spread"]
    predicted = predicted_priors(model)
    top = model.top_words(words)
    rows = []
    for topic in range(model.n_topics):
        rows.append({
            "topic": topic,
            **model.named(topic),
            "words": [word for word, _ in top[topic]],
            "coefficients": [
                {"term": term, "estimate": six_digits(estimate), "spread": six_digits(spread)}
                for term, estimate, spread in zip(terms, estimates[topic], spreads[topic], strict=True)
            ],
            "priors": [
                {"column": column, "value": value, "alpha": six_digits(alpha[topic]),
                 "share": six_digits(alpha[topic] / alpha.sum())}
                for column, value, alpha in predicted
            ],
        })  # fmt: skip
    return rows


def predicted_priors(model: Model) -> list[tuple[str, str | float, NDArray[np.float64]]]:
    """α for each value of each column that the design takes (levels, or quantiles of numbers), all others being usual:
    the most frequent level, the median."""
    known = model.meta["covariates"]
    values, usual = known["values"], known["usual"]
    cases = [(column, value) for column in values for value in values[column]]
    if not cases:
        return []
    columns = {
        name: _make_column([value if name == column else usual[name] for column, value in cases]) for name in values
    }  # fmt: skip
    rows = design_of(model.meta).rows(columns)
    alpha = make_priors(rows.distinct, model.side["coefficients"])
    found = zip(cases, rows.groups.tolist(), strict=True)
    return [(column, value, alpha[group]) for (column, value), group in found if group >= 0]


def _make_column(values: Sequence[str | float]) -> Column:
    if all(isinstance(value, str) for value in values):
        return Texts(Strings.of(str(value) for value in values))
    return Numbers(np.array(values, np.float64))
