"""Pictures of effects: points with intervals, curves with bands, a small panel for each topic."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from topicx.files.container import atomic_output
from topicx.views.picture_files import check_plot

if TYPE_CHECKING:
    import pandas

    from topicx.regression.results import Effects

MOST_PANELS = 12


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
        kind = check_plot(path)
        from matplotlib.figure import Figure

        shown = topics or _liveliest(self.rows)
        across = min(len(shown), 3)
        down = -(-len(shown) // across)
        figure = Figure(figsize=(4 * across, 2.8 * down), layout="constrained")
        panels = figure.subplots(down, across, squeeze=False).ravel()
        words = self.effects.model.top_words(4)
        for panel, topic in zip(panels, shown):
            _draw_predictions(panel, [row for row in self.rows if row["topic"] == topic], self.values)
            panel.set_title(f"{topic}: " + " ".join(word for word, _ in words[topic]), fontsize=9)
        for panel in panels[len(shown) :]:
            panel.set_visible(False)
        with atomic_output(path) as out:
            figure.savefig(out, format=kind, dpi=120)


def _liveliest(rows: list[dict[str, Any]]) -> list[int]:
    shares: dict[int, list[float]] = {}
    for row in rows:
        shares.setdefault(row["topic"], []).append(row["share"] or 0.0)
    order = sorted(shares, key=lambda topic: (min(shares[topic]) - max(shares[topic]), topic))
    return sorted(order[:MOST_PANELS])


def _draw_predictions(panel: Any, rows: list[dict[str, Any]], values: dict[str, list[Any]]) -> None:
    """A curve where one column of numbers has several values, else points."""
    shares = [row["share"] for row in rows]
    low, high = [row["conf_low"] for row in rows], [row["conf_high"] for row in rows]
    several = next(iter(values.values())) if len(values) == 1 else []
    if len(several) > 2 and all(isinstance(value, int | float) for value in several):
        panel.plot(several, shares)
        panel.fill_between(several, low, high, alpha=0.25, linewidth=0)
        panel.set_xlabel(next(iter(values)))
    else:
        places = list(range(len(rows)))
        panel.errorbar(
            shares, places, xerr=[[a - b for a, b in zip(shares, low)], [b - a for a, b in zip(shares, high)]], fmt="o"
        )
        panel.set_yticks(places, [row["value"] for row in rows], fontsize=8)
        panel.invert_yaxis()


def plot_coefficients(effects: Effects, path: str | os.PathLike[str], term: str | None = None) -> None:
    """Points with intervals: a panel for each coefficient, a line for each topic."""
    kind = check_plot(path)
    from matplotlib.figure import Figure

    from topicx.errors import InputError

    names = [name for name in effects.columns if name != "Intercept"] or effects.columns
    if term is not None:
        design = effects.draws.arranged.design
        if term not in design.terms:
            raise InputError(f"plot: there is no term {term!r}, but {', '.join(design.terms)}")
        names = [name for name in design.columns[design.terms[term]] if name in effects.columns]
    names = names[:MOST_PANELS]
    rows = effects.rows()
    topics = effects.chosen
    figure = Figure(figsize=(3 * len(names) + 1, 0.22 * len(topics) + 1.2), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for panel, name in zip(panels, names):
        mine = [row for row in rows if row["term"] == name]
        values = [row["estimate"] for row in mine]
        wide = [row["estimate"] - row["conf_low"] for row in mine]
        panel.errorbar(values, range(len(mine)), xerr=wide, fmt="o", markersize=3)
        panel.axvline(0, color="0.6", linewidth=0.8)
        panel.set_title(name, fontsize=9)
    panels[0].set_yticks(range(len(topics)), [str(topic) for topic in topics], fontsize=8)
    panels[0].invert_yaxis()
    with atomic_output(path) as out:
        figure.savefig(out, format=kind, dpi=120)
