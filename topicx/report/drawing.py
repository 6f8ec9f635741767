"""Pictures of topics, on axes that a caller gives: what the command line saves and the Python functions return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from topicx.model import Model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from topicx.report.collections import Mixtures


def topic_names(model: Model, words: int = 3) -> list[str]:
    """Each topic's number and its name, or its first words."""
    named = list(model.topic_names)
    top = model.top_words(words)
    return [f"{k} {named[k] if named and named[k] else ' '.join(word for word, _ in top[k])}" for k in range(len(top))]


def foremost(model: Model, found: Mixtures, number: int) -> list[int]:
    """The topics with the largest shares in any group, by number."""
    largest = np.where(model.shown, np.nan_to_num(found.mean).max(axis=0), -1)
    return sorted(np.argsort(-largest, kind="stable")[:number].tolist())


def lines(axes: Axes, found: Mixtures, topics: Sequence[int], names: Sequence[str]) -> None:
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
    axes.legend(fontsize=8)


def bars(axes: Axes, found: Mixtures, group: int, names: Sequence[str], named: int, chosen: Sequence[int]) -> None:
    """The shares of a group's topics with their intervals; the largest have their words."""
    low, high = found.intervals()
    topics = np.array(chosen)
    mean = np.nan_to_num(found.mean[group, topics])
    error = np.stack([mean - low[group, topics], high[group, topics] - mean])
    known = np.isfinite(error).all()
    axes.bar(np.arange(len(topics)), mean, yerr=np.maximum(error, 0) if known else None, color="C0", ecolor="0.3")
    axes.set_title(found.names[group], fontsize=9)
    step = max(len(topics) // 20, 1)
    axes.set_xticks(np.arange(len(topics))[::step], [str(k) for k in topics[::step].tolist()])
    for place in np.argsort(-mean, kind="stable")[:named].tolist():
        label = names[topics[place]]
        axes.annotate(label, (place, mean[place]), xytext=(0, 2), textcoords="offset points", fontsize=6, ha="center")
    axes.margins(y=0.2)


def shades(axes: Axes, found: Mixtures, topics: Sequence[int], names: Sequence[str]) -> None:
    """Groups × topics, darker where the share is larger."""
    image = axes.imshow(found.mean[:, topics], aspect="auto", cmap="Blues", vmin=0)
    axes.set_xticks(range(len(topics)), [names[k] for k in topics], rotation=45, ha="right", fontsize=8)
    axes.set_yticks(range(len(found.names)), found.names, fontsize=8)
    axes.figure.colorbar(image, ax=axes, label="share", shrink=0.6)
