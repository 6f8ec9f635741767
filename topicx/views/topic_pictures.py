"""Pictures of topics, on axes that a caller gives: what the command line saves and the Python functions return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from topicx.errors import InputError
from topicx.model import Model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from topicx.views.group_mixtures import Mixtures


def topic_names(model: Model, words: int = 3) -> list[str]:
    """Each topic's number and its name, or its first words."""
    named = list(model.topic_names)
    top = model.top_words(words)
    return [f"{k} {named[k] if named and named[k] else ' '.join(word for word, _ in top[k])}" for k in range(len(top))]


def largest_topics(model: Model, found: Mixtures, number: int) -> list[int]:
    """The topics with the largest shares in any group, by number."""
    largest = np.where(model.shown, np.nan_to_num(found.mean).max(axis=0), -1)
    return sorted(np.argsort(-largest, kind="stable")[:number].tolist())


def draw_lines(axes: Axes, found: Mixtures, topics: Sequence[int], names: Sequence[str]) -> None:
    """Shares over time with their intervals; a gap where there are no documents."""
    low, high = found.intervals()
    order = np.argsort(found.times, kind="stable")
    order = order[np.isfinite(found.times[order])]
    times = found.times[order]
    marker = "o" if len(order) <= 60 else ""
    for number, k in enumerate(topics):
        style: dict[str, Any] = {"color": f"C{number % 10}"}
        axes.plot(times, found.mean[order, k], marker=marker, markersize=3, label=names[k], **style)
        axes.fill_between(times, low[order, k], high[order, k], alpha=0.2, linewidth=0, **style)
    axes.set(xlabel="time", ylabel="share", ylim=(0, None))
    if len(times) and np.ptp(times) > 3:
        axes.locator_params(axis="x", integer=True)
    axes.legend(fontsize=8)


def draw_bars(axes: Axes, found: Mixtures, group: int, names: Sequence[str], chosen: Sequence[int]) -> None:
    """The shares of a group's topics with their intervals: a bar a topic, the first on top, its words beside it."""
    low, high = found.intervals()
    topics = np.array(chosen)
    mean = np.nan_to_num(found.mean[group, topics])
    error = np.stack([mean - low[group, topics], high[group, topics] - mean])
    known = np.isfinite(error).all()
    places = np.arange(len(topics))
    axes.barh(places, mean, xerr=np.maximum(error, 0) if known else None, color="C0", ecolor="0.3")
    axes.set_title(found.names[group], fontsize=10)
    axes.set_yticks(places, [names[k] for k in chosen], fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.locator_params(axis="x", nbins=4)


def group_bars(figure: Any, found: Mixtures, names: Sequence[str], chosen: Sequence[int]) -> Any:
    """A panel a group, on the same axes: `draw_bars` of the same topics."""
    rows, columns = bar_grid(len(found.names))
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    panels = grid.ravel()
    for panel in panels[len(found.names) :]:
        panel.remove()
    panels = panels[: len(found.names)]
    for group, panel in enumerate(panels):
        draw_bars(panel, found, group, names, chosen)
        if group + columns >= len(panels):
            panel.tick_params(axis="x", labelbottom=True)
            panel.set_xlabel("share", fontsize=9)
    panels[0].set(xlim=(0, None), ylim=(len(chosen) - 0.4, -0.6))
    return panels


def bar_grid(groups: int) -> tuple[int, int]:
    """Rows and columns of `group_bars`."""
    columns = min(groups, 4 if groups % 4 == 0 or groups > 9 else 3)
    return -(-groups // columns), columns


def bar_size(groups: int, topics: int) -> tuple[float, float]:
    """Width and height of a figure of `group_bars`, in inches."""
    rows, columns = bar_grid(groups)
    return 2.2 * columns + 2.4, (0.2 * topics + 0.5) * rows + 0.4


def draw_shades(axes: Axes, found: Mixtures, topics: Sequence[int], names: Sequence[str]) -> None:
    """Groups × topics, darker where the share is larger."""
    image = axes.imshow(found.mean[:, topics], aspect="auto", cmap="Blues", vmin=0)
    axes.set_xticks(range(len(topics)), [names[k] for k in topics], rotation=45, ha="right", fontsize=8)
    axes.set_yticks(range(len(found.names)), found.names, fontsize=8)
    axes.figure.colorbar(image, ax=axes, label="share", shrink=0.6)


def new_figure(size: tuple[float, float]) -> Any:
    """A figure of pyplot's, which notebooks show by themselves; InputError without matplotlib."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise InputError("plots need matplotlib: pip install 'topicx[plot]'") from None
    return pyplot.figure(figsize=size, layout="constrained")


PANELS = (
    ("perplexity", "held-out perplexity (less is better)"), ("coherence", "coherence, NPMI (more is better)"),
    ("exclusivity", "exclusivity (more is better)"), ("stability", "stability over chains (more is better)"),
)  # fmt: skip


def search_panels(figure: Any, rows: Sequence[dict[str, Any]]) -> Any:
    """Four measures by the number of topics: a point a chain (of stability: a pair of chains), and the means."""
    axes = figure.subplots(2, 2, sharex=True).ravel()
    for panel, (name, title) in zip(axes, PANELS, strict=True):
        for row in rows:
            panel.plot([row["topics"]] * len(row[name]), row[name], "o", color="C0", alpha=0.4, markersize=4)
        known = [row for row in rows if row[name]]
        panel.plot([row["topics"] for row in known], [np.mean(row[name]) for row in known], color="C0")
        panel.set_title(title, fontsize=10)
        panel.set_xscale("log")
        numbers = [row["topics"] for row in rows]
        panel.set_xticks(numbers, [str(number) for number in numbers])
        panel.minorticks_off()
    for panel in axes[2:]:
        panel.set_xlabel("topics")
    return axes


def word_bars(axes: Any, model: Model, topics: Sequence[int], words: int) -> None:
    """A panel a topic: its most probable words, the first on top."""
    top, named, weights = model.top_words(words), list(model.topic_names), model.topic_weights
    for panel, k in zip(axes, topics, strict=True):
        panel.barh([word for word, _ in top[k]], [value for _, value in top[k]], color=f"C{k % 10}")
        panel.invert_yaxis()
        name = f" {named[k]}" if named and named[k] else ""
        panel.set_title(f"{k}{name} ({weights[k]:.1%})", fontsize=9)
        panel.tick_params(labelsize=7)
        panel.locator_params(axis="x", nbins=4)
