"""What `topicx effects` wrote, for a report: coefficients, and shares that the regression predicts for groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from topicx.errors import InputError
from topicx.report.given_tables import table_rows
from topicx.report.report_groups import Floats, GroupedShares

COEFFICIENTS = ("topic", "term", "estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high")
"""Columns that a table of coefficients has; `p_adjusted` may be there."""
PREDICTIONS = ("topic", "covariate", "value", "share", "conf_low", "conf_high")
"""Columns that a table of predicted shares has."""


@dataclass
class GivenEffects:
    """Coefficients, a row each; and shares by column and value, a row of topics each: share, low, high."""

    coefficients: list[dict[str, Any]] = field(default_factory=list)
    predictions: dict[str, dict[str, dict[int, tuple[float, float, float]]]] = field(default_factory=dict)


def read_effects(paths: Sequence[str], topics: int) -> GivenEffects:
    """The tables of a regression of topics' shares: of coefficients or of predictions, by their columns."""
    found = GivenEffects()
    for path in paths:
        for number, row in table_rows(path):
            predicts = "covariate" in row
            wanted = PREDICTIONS if predicts else COEFFICIENTS
            missing = [name for name in wanted if name not in row]
            if missing:
                raise InputError(f"{path}: has no column {missing[0]}; effects have {', '.join(wanted)}")
            numbers = _numbers_of(row, wanted[3:] if predicts else wanted[2:], topics, f"{path}:{number}")
            if numbers is None:
                continue
            topic, values = numbers
            if predicts:
                of_value = found.predictions.setdefault(str(row["covariate"]), {}).setdefault(str(row["value"]), {})
                of_value[topic] = (values["share"], values["conf_low"], values["conf_high"])
                continue
            one: dict[str, Any] = {**values, "term": str(row["term"]), "topic": topic}
            if row.get("p_adjusted") not in (None, ""):
                one["p_adjusted"] = float(row["p_adjusted"])
            found.coefficients.append(one)
    return found


def _numbers_of(
    row: dict[str, Any], names: Sequence[str], topics: int, place: str
) -> tuple[int, dict[str, float]] | None:  # fmt: skip
    """The topic and the numbers of a row; None: a number of it is not known."""
    try:
        topic, values = int(row["topic"]), {name: float(row[name]) for name in names if row[name] not in (None, "")}
    except (TypeError, ValueError):
        raise InputError(f"{place}: a number of it is not a number") from None
    if not 0 <= topic < topics:
        raise InputError(f"{place}: there is no topic {topic}; there are 0 to {topics - 1}")
    if len(values) < len(names) or not all(map(math.isfinite, values.values())):
        return None
    return topic, values


def use_predictions(given: GivenEffects, shown: Sequence[GroupedShares]) -> None:
    """Put predicted shares where means of the same groups or spans would stand."""
    used = False
    for one in shown:
        of_column = given.predictions.get(one.column)
        if of_column is None:
            continue
        if one.groups.ordered:
            one.predicted = _along_spans(of_column, one)
            used |= one.predicted is not None
            continue
        tables = tuple(np.full(one.found.mean.shape, np.nan) for _ in range(3))
        for g, name in enumerate(one.found.names):
            for topic, values in of_column.get(name, {}).items():
                for table, value in zip(tables, values, strict=True):
                    table[g, topic] = min(max(value, 0.0), 1.0)
        if np.isfinite(tables[0]).any():
            one.predicted, used = (tables[0], tables[1], tables[2]), True
    if given.predictions and not used:
        columns = ", ".join(sorted(given.predictions))
        raise InputError(
            f"--effects: predicts shares by {columns}, and the report shows no groups of that (--by names columns)"
        )


def _along_spans(
    of_column: Mapping[str, Mapping[int, tuple[float, float, float]]], shown: GroupedShares
) -> tuple[Floats, Floats, Floats] | None:
    """A curve of predicted shares, read at the middles of spans; None: it has no two numbers, or is elsewhere.

    Spans without documents stay empty, as do those that the curve does not reach (the middle of a span may lie half
    of its width beyond the curve, which goes from the least value to the greatest).
    """
    try:
        along = sorted((float(value), shares) for value, shares in of_column.items())
    except ValueError:
        return None
    middles = shown.found.times
    if len(along) < 2:
        return None
    points = np.array([value for value, _ in along])
    known = middles[np.isfinite(middles)]
    beyond = (np.diff(np.sort(known)).max() if len(known) > 1 else np.ptp(points)) / 2 * (1 + 1e-9)
    near = (middles >= points[0] - beyond) & (middles <= points[-1] + beyond) & (shown.found.documents > 0)
    tables = tuple(np.full(shown.found.mean.shape, np.nan) for _ in range(3))
    for topic in {topic for _, shares in along for topic in shares}:
        kept = np.array([topic in shares for _, shares in along])
        values = np.array([shares[topic] for _, shares in along if topic in shares]).clip(0.0, 1.0)
        for table, column in zip(tables, values.T, strict=True):
            table[near, topic] = np.interp(middles[near], points[kept], column)
    return (tables[0], tables[1], tables[2]) if near.any() else None
