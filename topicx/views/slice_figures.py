"""Topics slice by slice as a figure: the words that changed most, as lines over time or as points of each group."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from topicx.model import Model
from topicx.views.picture_files import check_plot, write_picture
from topicx.views.slice_tables import slices_of_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Wong's colours, which people who do not see red and green tell apart, too."""
GAP = 0.062
"""The least distance between two words beside a panel, as a part of its height."""


def plot_slices(
    model: Model, path: str | os.PathLike[str], topics: Sequence[int] = (), panels: int = 4, words: int = 7
) -> None:
    """Draw topics' words over the slices into a file.

    Parameters
    ----------
    model : Model
        A model of the kind `slices`.
    path : str or path
        File to write: .png, .svg or .pdf.
    topics : sequence of int, optional
        Topics to draw. By default those that moved most of the larger half.
    panels : int, default 4
        How many topics are drawn if none are chosen.
    words : int, default 7
        Words of a topic, those whose share changes most.
    """
    check_plot(path)
    write_picture(draw_slices(model, list(topics) or moving_topics(model, panels), words), path)


def moving_topics(model: Model, number: int) -> list[int]:
    """The topics that moved furthest, of the larger half."""
    known = slices_of_model(model)
    phi = known.words_of_topics()
    first = 0 if known.drift else 1
    spread = (phi[first:].max(axis=0) - phi[first:].min(axis=0)).sum(axis=1)
    spread[model.topic_weights < np.median(model.topic_weights[model.shown])] = -1
    spread[~model.shown] = -2
    return [int(k) for k in np.argsort(-spread, kind="stable")[:number]]


def spread_heights(heights: Sequence[float], gap: float) -> list[float]:
    """The heights, moved up where they are nearer to the next below than the gap."""
    found, last = [0.0] * len(heights), -np.inf
    for at in np.argsort(heights, kind="stable").tolist():
        last = found[at] = max(float(heights[at]), last + gap)
    return found


def draw_slices(model: Model, topics: Sequence[int], words: int = 7) -> Figure:
    """A panel a topic: its words' probabilities, slice by slice."""
    from matplotlib.figure import Figure

    known = slices_of_model(model)
    phi, first = known.words_of_topics(), 0 if known.drift else 1
    columns = 1 if len(topics) == 1 else 2
    rows = -(-len(topics) // columns)
    figure = Figure(figsize=(6.2 * columns + 0.6, 3.4 * rows + 0.4), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).reshape(-1)
    names, places = known.names[first:], np.arange(len(known.names) - first)
    for panel, k in zip(panels, topics, strict=False):
        of_topic = 100 * phi[first:, k]
        heavy = known.tokens[first:, k]
        weight = heavy / max(float(heavy.max()), 1.0)
        change = (of_topic.max(axis=0) - of_topic.min(axis=0)) * (weight[:, None] * of_topic).max(axis=0) ** 0.5
        chosen = np.argsort(-change, kind="stable")[:words]
        top = float(of_topic[:, chosen].max()) if len(chosen) else 1.0
        ends: list[tuple[float, str, str]] = []
        for colour, w in zip(COLOURS, chosen.tolist(), strict=False):
            line = of_topic[:, w]
            panel.plot(places, line, color=colour, lw=1.8 if known.drift else 0, marker="o", ms=2.5)
            ends.append((float(line[-1]), model.vocabulary[w], colour))
        for height, (end, word, colour) in zip(spread_heights([end for end, *_ in ends], GAP * top), ends, strict=True):
            panel.annotate(word, (places[-1], end), xytext=(places[-1] + len(places) * 0.03, height), color=colour,
                           fontsize=9, va="center", annotation_clip=False)  # fmt: skip
        title = model.named(k).get("name") or " ".join(word for word, _ in model.top_words(5)[k])
        panel.set_title(f"{k}  {title}", fontsize=9.5, loc="left")
        step = max(1, -(-len(names) // 9))
        short = [name.split("-")[0] if known.drift and len(names) > 5 else name for name in names]
        panel.set_xticks(places[::step], short[::step], fontsize=8, rotation=0 if known.drift else 20)
        panel.set_ylim(0, top * 1.06)
        panel.set_xlim(places[0] - 0.3, places[-1] + len(places) * 0.26)
        panel.tick_params(axis="y", labelsize=8)
        panel.set_ylabel("% of the topic's words", fontsize=8)
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
    for panel in panels[len(topics) :]:
        panel.set_visible(False)
    return figure
