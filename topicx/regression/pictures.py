"""Pictures of effects: points with intervals, curves with bands, a small panel for each topic."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from topicx.errors import InputError
from topicx.regression.predictions import value_as_text
from topicx.views.picture_files import check_plot, write_picture

if TYPE_CHECKING:
    import pandas

    from topicx.regression.results import Effects

MOST_PANELS, MOST_COLUMNS, MOST_LINES = 12, 6, 6
"""Panels of topics; panels of coefficients in a row; curves in a panel."""
SMOOTH = ("s(", "bs(", "poly(")
"""Terms whose single coefficients say little: curves show them."""


@dataclass(frozen=True)
class Predictions:
    """Predicted shares: rows of topic, covariate, value, share, conf_low, conf_high, documents, tokens."""

    effects: Effects = field(repr=False)
    rows: list[dict[str, Any]]
    values: dict[str, list[Any]]

    def to_dataframe(self) -> pandas.DataFrame:
        """The rows as a pandas frame."""
        from topicx.regression.results import as_frame

        return as_frame(self.rows)

    def plot(self, path: str | os.PathLike[str], topics: list[int] | None = None) -> None:
        """A panel for each topic (the twelve that vary most, or those asked for)."""
        check_plot(path)
        from matplotlib.figure import Figure

        known = {row["topic"] for row in self.rows}
        for topic in topics or ():
            if topic not in known:
                raise InputError(f"plot: there are no predictions of topic {topic}")
        shown = list(topics or _liveliest(self.rows))
        across = min(len(shown), 3)
        down = -(-len(shown) // across)
        layout = _Layout.of(self.values)
        high = 2.5 if layout.along else 0.8 + 0.26 * len(layout.labels)
        figure = Figure(figsize=(1 + 3.6 * across, high * down + 0.5), layout="constrained")
        panels = figure.subplots(down, across, squeeze=False, sharex=bool(layout.along), sharey=not layout.along)
        words = self.effects.model.top_words(4)
        for place, panel in enumerate(panels.ravel()):
            if place >= len(shown):
                panel.set_visible(False)
                continue
            topic = shown[place]
            layout.draw(panel, [row for row in self.rows if row["topic"] == topic])
            panel.set_title(f"{topic}: " + " ".join(word for word, _ in words[topic]), fontsize=9)
            panel.tick_params(labelbottom=True)
        if layout.along:
            figure.supxlabel(layout.along, fontsize=9)
            figure.supylabel("share of the topic", fontsize=9)
            if len(layout.lines) > 1:
                handles, labels = panels[0, 0].get_legend_handles_labels()
                figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=9)
        else:
            figure.supxlabel("share of the topic", fontsize=9)
        write_picture(figure, path)


@dataclass(frozen=True)
class _Layout:
    """How predictions of one topic are drawn: curves along a column of numbers, or a point for each combination."""

    along: str
    """The column of curves; empty: points."""
    at: list[float]
    lines: list[str]
    """The curves' names."""
    labels: list[str]
    """The points' names."""
    inner: bool
    """Whether the values of a curve follow one another, not the curves'."""

    @classmethod
    def of(cls, values: dict[str, list[Any]]) -> _Layout:
        names = list(values)
        curved = [name for name in names if _is_curve(values[name])]
        if curved and len(names) <= 2:
            along = curved[-1]
            other = [name for name in names if name != along]
            lines = [str(value) for value in values[other[0]]] if other else [""]
            if len(lines) <= MOST_LINES:
                return cls(along, [float(one) for one in values[along]], lines, [], names[-1] == along)
        labels = [""]
        for name in names:
            told = [value_as_text(one, digits=6) for one in values[name]]
            labels = [f"{label}, {one}" if label else one for label in labels for one in told]
        return cls("", [], [], labels, True)

    def draw(self, panel: Any, rows: list[dict[str, Any]]) -> None:
        from matplotlib.ticker import MaxNLocator

        share, low, high = (
            np.array([np.nan if row[name] is None else row[name] for row in rows])
            for name in ("share", "conf_low", "conf_high")
        )
        panel.spines[["top", "right"]].set_visible(False)
        if self.along:
            shape = (len(self.lines), len(self.at)) if self.inner else (len(self.at), len(self.lines))
            turned = [one.reshape(shape) if self.inner else one.reshape(shape).T for one in (share, low, high)]
            for number, (name, *line) in enumerate(zip(self.lines, *turned, strict=True)):
                panel.plot(self.at, line[0], color=f"C{number}", label=name)
                panel.fill_between(self.at, line[1], line[2], color=f"C{number}", alpha=0.2, linewidth=0)
            panel.set_ylim(bottom=min(0.0, float(np.nanmin(low))))
            panel.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
            panel.yaxis.set_major_formatter(_percent)
            panel.grid(axis="y", color="0.9", linewidth=0.6)
        else:
            places = range(len(rows))
            panel.errorbar(share, places, xerr=[share - low, high - share], fmt="o", markersize=4)
            panel.set_yticks(places, self.labels, fontsize=8)
            panel.set_ylim(len(rows) - 0.4, -0.6)
            panel.set_xlim(left=min(0.0, float(np.nanmin(low))))
            panel.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
            panel.xaxis.set_major_formatter(_percent)
            panel.grid(axis="x", color="0.9", linewidth=0.6)
        panel.tick_params(labelsize=8)
        panel.set_axisbelow(True)


def _is_curve(values: list[Any]) -> bool:
    return len(values) > 2 and all(isinstance(value, int | float) for value in values) and values == sorted(values)


def _percent(share: float, _: int) -> str:
    """A mark of an axis."""
    return f"{100 * share:.4g}%"


def _liveliest(rows: list[dict[str, Any]]) -> list[int]:
    shares: dict[int, list[float]] = {}
    for row in rows:
        shares.setdefault(row["topic"], []).append(row["share"] or 0.0)
    order = sorted(shares, key=lambda topic: (min(shares[topic]) - max(shares[topic]), topic))
    return sorted(order[:MOST_PANELS])


def plot_coefficients(effects: Effects, path: str | os.PathLike[str], term: str | None = None) -> None:
    """Points with intervals: a panel for each coefficient, a line for each topic. Gray: the interval holds 0."""
    check_plot(path)
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    names = _drawn_coefficients(effects, term)
    rows, topics = effects.rows(), effects.chosen
    words = effects.model.top_words(3)
    linear = effects.settings.family == "linear"
    figure = Figure(figsize=(2.4 * len(names) + 2.2, 0.2 * len(topics) + 1.3), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for panel, name in zip(panels, names):
        mine = [row for row in rows if row["term"] == name]
        places = np.arange(len(mine))
        middle, low, high = (
            np.array([np.nan if row[key] is None else row[key] for row in mine]) * (100 if linear else 1)
            for key in ("estimate", "conf_low", "conf_high")
        )
        sure = (low > 0) | (high < 0)
        for which, color in ((~sure, "0.65"), (sure, "C0")):
            panel.errorbar(
                middle[which], places[which], xerr=[(middle - low)[which], (high - middle)[which]], fmt="o",
                markersize=3, linewidth=1.2, color=color,
            )  # fmt: skip
        panel.axvline(0, color="0.4", linewidth=0.8)
        panel.set_title(name, fontsize=9)
        panel.spines[["top", "right"]].set_visible(False)
        panel.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        panel.tick_params(labelsize=8)
        panel.grid(axis="y", color="0.93", linewidth=0.6)
        panel.set_axisbelow(True)
    panels[0].set_yticks(
        range(len(topics)), [f"{' '.join(word for word, _ in words[k])}  {k}" for k in topics], fontsize=7
    )
    panels[0].set_ylim(len(topics) - 0.4, -0.6)
    figure.supxlabel("percentage points" if linear else "log odds", fontsize=9)
    write_picture(figure, path)


def _drawn_coefficients(effects: Effects, term: str | None) -> list[str]:
    """The coefficients of a term; else those that say something by themselves."""
    design, columns = effects.draws.arranged.design, effects.columns
    if term is not None:
        if term not in design.terms:
            raise InputError(f"plot: there is no term {term!r}, but {', '.join(design.terms)}")
        return [name for name in design.columns[design.terms[term]] if name in columns][:MOST_PANELS]
    some = [name for name in columns if name != "Intercept"]
    plain = [name for name in some if not any(function in name for function in SMOOTH)]
    return (plain or some or columns)[:MOST_COLUMNS]
