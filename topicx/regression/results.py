"""Estimated effects: tables, tests, predictions, pictures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from topicx.corpus.table import Table
from topicx.errors import InputError
from topicx.model import Model
from topicx.regression.correlations import pooled_correlations
from topicx.regression.crossed_sums import Floats
from topicx.regression.estimation import EffectDraws, EffectSettings
from topicx.regression.pooling import Pooled, adjusted_p_values, pool_draws, wald_tests
from topicx.regression.predictions import ShareForecast, all_combinations, told_values

if TYPE_CHECKING:
    import pandas

    from topicx.regression.pictures import Predictions

Row = dict[str, Any]


@dataclass(frozen=True, repr=False)
class Effects:
    """How topics' shares depend on what documents have.

    Attributes
    ----------
    model
        The topics (of several models the first, whose topics the others' are matched with).
    draws
        The fits of each draw: `draws.coefficients` and `draws.variances` are of orthogonal columns;
        `coefficient_draws` has those of the formula.
    level
        The confidence of intervals.
    adjust
        How p-values are adjusted for the number of tests: holm, bh or none.
    topics
        The topics that tables are of.
    """

    model: Model
    draws: EffectDraws
    settings: EffectSettings
    table: Table = field(repr=False)
    level: float = 0.95
    adjust: str = "holm"
    topics: tuple[int, ...] = ()

    def __repr__(self) -> str:
        terms = " + ".join(name for name in self.draws.arranged.design.terms if name != "Intercept")
        topics, draws = len(self.chosen), len(self.draws.coefficients)
        return f"Effects(~ {terms or '1'}: {topics} topics, {draws} draws, intervals of {self.level:.4g})"

    def __post_init__(self) -> None:
        self.check(self.model, self.level, self.adjust, self.topics)

    @staticmethod
    def check(model: Model, level: float, adjust: str, topics: Sequence[int]) -> None:
        """InputError where one of these cannot be."""
        if not 0 < level < 1:
            raise InputError(f"level: {level} must be between 0 and 1")
        if adjust not in ("holm", "bh", "none"):
            raise InputError(f"adjust: {adjust!r} must be holm, bh or none")
        for topic in topics:
            if not 0 <= topic < model.n_topics:
                raise InputError(f"topics: {topic} is not from 0 to {model.n_topics - 1}")

    # -- coefficients -------------------------------------------------------------------------------------------

    @property
    def chosen(self) -> list[int]:
        """The topics that tables are of: those asked for, or all that are not hidden."""
        return list(self.topics) or np.flatnonzero(self.model.shown).tolist()

    @property
    def columns(self) -> list[str]:
        """The coefficients' names; columns that are sums of others have none."""
        design = self.draws.arranged.design
        return [design.columns[place] for place in self.draws.regressions.basis.used.tolist()]

    @property
    def dropped(self) -> list[str]:
        """Columns of the design that are sums of others."""
        design, used = self.draws.arranged.design, set(self.columns)
        return [name for name in design.columns if name not in used]

    @cached_property
    def coefficient_draws(self) -> Floats:
        """Draws × topics × columns."""
        back = self.draws.regressions.basis.back
        found: Floats = (self.draws.coefficients[:, :, None, :] * back).sum(axis=3)
        return found

    @cached_property
    def covariance_draws(self) -> Floats:
        """The covariances of each draw's coefficients: draws × topics × columns × columns."""
        back = self.draws.regressions.basis.back
        half = (back[:, :, None] * self.draws.variances[:, :, None, :, :]).sum(axis=3)
        found: Floats = (half[:, :, :, None, :] * back).sum(axis=4)
        return found

    @cached_property
    def pooled(self) -> Pooled:
        """Coefficients: topics × columns."""
        variances = np.diagonal(self.covariance_draws, axis1=2, axis2=3)
        return pool_draws(self.coefficient_draws, variances, self.draws.freedom, self.draws.models)

    def rows(self) -> list[Row]:
        """A row for each topic and coefficient: topic, name, term, estimate, std_error, statistic, p_value,
        p_adjusted, conf_low, conf_high."""
        chosen, names, found = self.chosen, self.model.called, self.pooled
        low, high = found.intervals(self.level)
        errors, p_values = found.errors, found.p_values
        tested = [place for place, name in enumerate(self.columns) if name != "Intercept"]
        adjusted = np.full(p_values.shape, np.nan)
        grid = np.ix_(chosen, tested)
        adjusted[grid] = adjusted_p_values(p_values[grid], self.adjust)
        return [
            {
                "topic": k, "name": names[k] if names else f"topic_{k}", "term": term,
                "estimate": finite_number(found.value[k, j]), "std_error": finite_number(errors[k, j]),
                "statistic": finite_number(found.value[k, j] / errors[k, j]) if errors[k, j] > 0 else None,
                "p_value": finite_number(p_values[k, j]), "p_adjusted": finite_number(adjusted[k, j]),
                "conf_low": finite_number(low[k, j]), "conf_high": finite_number(high[k, j]),
            }
            for k in chosen for j, term in enumerate(self.columns)
        ]  # fmt: skip

    def to_dataframe(self) -> pandas.DataFrame:
        """`rows` as a pandas frame."""
        return as_frame(self.rows())

    def tests(self) -> list[Row]:
        """A Wald test of each topic and term: whether all of the term's coefficients are 0."""
        design, used = self.draws.arranged.design, self.draws.regressions.basis.used.tolist()
        parts = {
            term: [place for place, column in enumerate(used) if part.start <= column < part.stop]
            for term, part in design.terms.items() if term != "Intercept"
        }  # fmt: skip
        rows = []
        for term, places in parts.items():
            if not places:
                continue
            values = self.coefficient_draws[:, :, places]
            variances = self.covariance_draws[:, :, places][:, :, :, places]
            statistic, freedom, p_values = wald_tests(values, variances, self.draws.freedom)
            adjusted = np.full(len(p_values), np.nan)
            adjusted[self.chosen] = adjusted_p_values(p_values[self.chosen], self.adjust)
            rows += [
                {"topic": k, "term": term, "statistic": finite_number(statistic[k]), "df": len(places),
                 "df_residual": finite_number(freedom[k]), "p_value": finite_number(p_values[k]),
                 "p_adjusted": finite_number(adjusted[k])}
                for k in self.chosen
            ]  # fmt: skip
        return rows

    # -- predictions --------------------------------------------------------------------------------------------

    @cached_property
    def forecast(self) -> ShareForecast:
        """What predicts shares."""
        return ShareForecast(self.draws, self.table)

    def predict(self, **values: Any) -> Predictions:
        """Shares where all documents have these values, averaged over what else they have.

        Each keyword is a column, with a value or several; several columns: each value with each. `by="party"`: each
        with each level of that factor, too (unless the formula has a column of the name `by`).
        """
        from topicx.regression.pictures import Predictions

        several = {name: list_of(value) for name, value in values.items()}
        design = self.draws.arranged.design
        if "by" in several and "by" not in design.wants:
            factor = several.pop("by")
            if len(factor) != 1 or factor[0] not in design.levels:
                known = ", ".join(design.levels) or "no factor"
                raise InputError(f"by={values['by']!r}: is no factor of the formula, which has {known}")
            several = {factor[0]: self.forecast.points(factor[0])} | several
        rows = []
        for point in all_combinations(several):
            rows += self._prediction(
                self.forecast.shares(point), ", ".join(several), point, self.forecast.counted(point)
            )
        return Predictions(self, rows, several)

    def curve(self, name: str) -> Predictions:
        """Shares along a column of numbers (50 points from its least to its greatest value), or for each level."""
        return self.predict(**{name: self.forecast.points(name)})

    def difference(self, **values: Sequence[Any]) -> list[Row]:
        """The share under the first value less that under the second, of each column named: `party=("A", "B")`."""
        rows = []
        for name, pair in values.items():
            if len(pair) != 2:
                raise InputError(f"difference: {name} needs two values, the second of which is taken from the first")
            found = self.forecast.difference({name: pair[0]}, {name: pair[1]})
            told = f"{told_values({name: pair[0]})} - {told_values({name: pair[1]})}"
            low, high = found.intervals(self.level)
            adjusted = np.full(len(low), np.nan)
            adjusted[self.chosen] = adjusted_p_values(found.p_values[self.chosen], self.adjust)
            rows += [
                {"topic": k, "difference": told, "estimate": finite_number(found.value[k]),
                 "std_error": finite_number(found.errors[k]), "p_value": finite_number(found.p_values[k]),
                 "p_adjusted": finite_number(adjusted[k]), "conf_low": finite_number(low[k]),
                 "conf_high": finite_number(high[k])}
                for k in self.chosen
            ]  # fmt: skip
        return rows

    def _prediction(
        self, found: Pooled, covariate: str, point: Mapping[str, Any], counted: tuple[int | None, int | None]
    ) -> list[Row]:
        low, high = found.share_intervals(self.level)
        told = told_values(point)
        value = told if len(point) > 1 else told.partition("=")[2]
        return [
            {"topic": k, "covariate": covariate, "value": value, "share": finite_number(found.value[k]),
             "conf_low": finite_number(low[k]), "conf_high": finite_number(high[k]),
             "documents": counted[0], "tokens": counted[1]}
            for k in self.chosen
        ]  # fmt: skip

    def correlations(self) -> list[Row]:
        """Which topics go together: a row for each pair and kind, with topic, other, of, correlation, conf_low,
        conf_high. `shares`: over documents; `columns`: of what the formula's columns alone say of the documents."""
        found = self.draws.correlations
        if found is None:
            raise InputError("correlations: ask for them before the draws: effects(…, correlations=True)")
        cells = self.draws.arranged.cells
        units = float(cells.clusters[-1] + 1 if len(cells.clusters) else cells.documents)
        more = cells.documents / units
        kinds = {"shares": (np.stack(found.shares), np.mean(found.variances, axis=0) * more),
                 "columns": (np.stack(found.priors), 0.0)}  # fmt: skip
        rows = []
        for kind, (draws, sampling) in kinds.items():
            value, low, high = pooled_correlations(draws, sampling, units, self.level, self.draws.models)
            rows += [
                {"topic": j, "other": k, "of": kind, "correlation": finite_number(value[j, k]),
                 "conf_low": finite_number(low[j, k]), "conf_high": finite_number(high[j, k])}
                for place, j in enumerate(self.chosen) for k in self.chosen[place + 1 :] if np.isfinite(value[j, k])
            ]  # fmt: skip
        return rows

    # -- for people ---------------------------------------------------------------------------------------------

    def footer(self) -> list[str]:
        """What was used, what was left out and why."""
        draws, cells = self.draws, self.draws.arranged.cells
        lines = [f"{cells.documents:,} documents, {len(draws.arranged.words):,} tokens"]
        lines += draws.arranged.notes
        if self.dropped:
            lines.append(f"columns that are sums of others are left out: {', '.join(self.dropped)}")
        if self.settings.uncertainty == "none":
            length = len(draws.arranged.words) / cells.documents
            share = length / (length + draws.prior_weight)
            lines.append(
                f"warning: topics are inferred without what documents have: differences shrink to about {share:.2f} of "
                f"what they are (N / (N + Σα), N = {length:.0f} tokens, Σα = {draws.prior_weight:.1f}), and intervals "
                "leave out that topics are not known"
            )
        else:
            kinds = f"{draws.models} × {self.settings.draws}" if draws.models > 1 else f"{self.settings.draws}"
            between = float(np.mean(self.pooled.between[self.chosen]))
            lines.append(
                f"{kinds} draws of topics; Σα {draws.prior_weight:.2f}; {between:.0%} of the variance is theirs"
            )
        return lines

    def summary(self, topics: Iterable[int] | None = None) -> str:
        """A block for each topic: its words, and its coefficients."""
        wanted = self.chosen if topics is None else list(topics)
        words = self.model.top_words(8)
        wide = max(map(len, self.columns))
        lines: list[str] = []
        for row in self.rows():
            if row["topic"] not in wanted:
                continue
            if row["term"] == self.columns[0]:
                lines += ["", f"topic {row['topic']}  " + " ".join(word for word, _ in words[row["topic"]])]
            lines.append(f"  {row['term']:<{wide}}  {told_estimate(row)}")
        return "\n".join([*lines[1:], "", *self.footer()])

    def plot(self, path: str | os.PathLike[str], term: str | None = None) -> None:
        """Points with intervals for each topic and coefficient (or those of one term), as png, svg or pdf."""
        from topicx.regression.pictures import plot_coefficients

        plot_coefficients(self, path, term)


def told_estimate(row: Row) -> str:
    """An estimate with its interval and p-value, as the terminal shows it."""
    p_value = row["p_adjusted"] if row["p_adjusted"] is not None else row["p_value"]
    p = "" if p_value is None else f"  p {p_value:.3g}"
    return f"{row['estimate']:+.4f} ({row['conf_low']:+.4f} to {row['conf_high']:+.4f}){p}"


def list_of(value: Any) -> list[Any]:
    """One value, or several, as a list."""
    return [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)


def finite_number(value: float) -> float | None:
    """A number of a table; None where there is none."""
    return float(f"{value:.12g}") if np.isfinite(value) else None


def as_frame(rows: list[Row]) -> pandas.DataFrame:
    """Rows as a pandas frame."""
    try:
        import pandas
    except ImportError:
        raise InputError("data frames need pandas: pip install 'topicx[dataframe]'") from None
    return pandas.DataFrame(rows)
