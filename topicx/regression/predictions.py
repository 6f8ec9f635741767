"""Predicted shares of topics where documents had other values: marginal standardisation. The columns named get the
values asked for in every document, all others keep theirs, and what the regression predicts is averaged over documents.

A share at the end of a curve rests on few documents. A robust variance is the sum of their squared residuals: of a
rare topic most are near 0, and where by chance all are, share and variance are too small together. So the variance of a
share is mixed with one in which residuals vary with μ (1 - μ) (`Fit.shaped`), which counts as LENT documents, and
intervals have the degrees of freedom of the documents they rest on (Satterthwaite). Coefficients keep their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from topicx.corpus.table import Column, Names, Numbers, Table
from topicx.design.covariates import Columns, levels_of, numbers_of
from topicx.design.design import Design
from topicx.errors import InputError
from topicx.regression.crossed_sums import Floats, summed
from topicx.regression.estimation import EffectDraws
from topicx.regression.pooling import Pooled, pool_draws

POINTS = 50
"""Values of a curve."""
LENT = 25.0
"""Documents that the second variance counts as. Of 5 to 40, with 25 the intervals of curves of 100 to 2,000 documents
held 94 to 95 of 100 at every place, with 5 and 50 topics."""
Values = Mapping[str, Any]


class ShareForecast:
    """What a regression predicts for the documents that it was fitted to, with some of their values changed."""

    def __init__(self, draws: EffectDraws, table: Table) -> None:
        self.draws, self.table = draws, table
        arranged = draws.arranged
        self.design = arranged.design
        cells = arranged.cells
        rows = cells.rows[cells.of_document]
        first = np.unique(rows, return_index=True)[1]
        self.examples: Columns = table.take(arranged.order[first]).only(self.design.wants)
        self.weights = np.bincount(rows, cells.weights, len(first))

    def points(self, name: str) -> list[Any]:
        """The values of a curve: from the least to the greatest, or all levels."""
        check_values(self.design, name, ())
        if name in self.design.levels:
            return sorted(self.design.levels[name])
        values = numbers_of(self.examples, name)
        return np.linspace(values.min(), values.max(), POINTS).tolist()

    def shares(self, values: Values) -> Pooled:
        """The mean share of each topic where all documents have these values."""
        means, slopes, average = self._each(values)
        support = self.draws.regressions.supports(average)
        lent = LENT / (LENT + support) if self.draws.regressions.errors != "classical" else 0.0
        shaped = ((self.draws.shaped * slopes[:, :, None, :]).sum(axis=3) * slopes).sum(axis=2)
        variances = (1 - lent) * self._variances(slopes) + lent * shaped
        freedom = min(self.draws.freedom, support + LENT) if lent else self.draws.freedom
        return pool_draws(means, variances, freedom, self.draws.models)

    def difference(self, one: Values, other: Values) -> Pooled:
        """The first mean shares less the second ones."""
        (a, slopes_a, _), (b, slopes_b, _) = self._each(one), self._each(other)
        return pool_draws(a - b, self._variances(slopes_a - slopes_b), self.draws.freedom, self.draws.models)

    def counted(self, values: Values) -> tuple[int | None, int | None]:
        """Documents and tokens with just these values; None where a value is in none."""
        arranged = self.draws.arranged
        rows = arranged.cells.rows[arranged.cells.of_document]
        match = np.ones(len(self.weights), bool)
        for name, value in values.items():
            if name in self.design.levels:
                levels = levels_of(self.examples, name)
                match &= np.array([*(level == str(value) for level in levels.names), False])[levels.codes]
            else:
                match &= numbers_of(self.examples, name) == float(value)
        chosen = match[rows]
        if not chosen.any():
            return None, None
        return int(chosen.sum()), int(arranged.lengths[chosen].sum())

    def _changed(self, values: Values) -> Columns:
        found: dict[str, Column] = dict(self.examples)
        for name, value in values.items():
            check_values(self.design, name, [value])
            if name in self.design.levels:
                found[name] = Names.of([str(value)] * len(self.weights))
            else:
                found[name] = Numbers(np.full(len(self.weights), as_number(name, value)))
        return found

    def _each(self, values: Values) -> tuple[Floats, Floats, Floats]:
        """Mean predictions (draws × topics), their derivatives by the coefficients (draws × topics × columns), and the
        mean row."""
        design = self.design.rows(self._changed(values), len(self.weights))
        if not design.kept.all():
            raise InputError("the formula has no value there: " + "; ".join(design.notes))
        size = np.bincount(design.groups, self.weights, len(design.distinct)) / self.weights.sum()
        z = self.draws.regressions.basis.of_design(design.distinct)
        means, slopes = [], []
        for coefficients in self.draws.coefficients:
            means.append((size[:, None] * self.draws.regressions.means(z, coefficients)).sum(axis=0))
            slopes.append(summed(z, size[:, None] * self.draws.regressions.slopes(z, coefficients)))
        return np.stack(means), np.stack(slopes), (size[:, None] * z).sum(axis=0)

    def _variances(self, slopes: Floats) -> Floats:
        """Variances of each draw's means or differences."""
        found: Floats = ((self.draws.variances * slopes[:, :, None, :]).sum(axis=3) * slopes).sum(axis=2)
        return found


def check_values(design: Design, name: str, values: Sequence[Any]) -> None:
    """InputError where a formula has no such column, or its factor no such level."""
    if name not in design.wants:
        raise InputError(f"{name!r} is not in the formula, which has {', '.join(design.wants) or 'no column'}")
    for value in values:
        if name not in design.levels:
            as_number(name, value)
        elif str(value) not in design.levels[name]:
            raise InputError(f"{name}={value}: there is no such level, but {', '.join(design.levels[name][:20])}")


def as_number(name: str, value: Any) -> float:
    """A value of a column of numbers, or a date as a year."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        from topicx.corpus.time_texts import parse_time
        from topicx.design.covariates import in_years

        try:
            found = float(in_years(np.array([parse_time(str(value))[1]]))[0])
        except ValueError:
            raise InputError(f"{name}={value}: it is to be a number, or a date") from None
    if not np.isfinite(found):
        raise InputError(f"{name}={value}: it is to be a number")
    return found


def all_combinations(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Each value of each column with each of the others."""
    return [dict(zip(values, chosen)) for chosen in product(*values.values())]


def told_values(values: Values) -> str:
    """Values as a table has them: year=1990, party=A."""
    return ", ".join(f"{name}={value_as_text(value)}" for name, value in values.items())


def value_as_text(value: Any, digits: int = 10) -> str:
    """A value of a column; numbers with so many digits."""
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
