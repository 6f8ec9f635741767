"""The topic proportions of groups of documents as a figure: lines over time, bars, or shades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from topicx.model import Model
from topicx.views import topic_pictures
from topicx.views.group_mixtures import Mixtures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MANY = 12
"""Groups, from which on a picture has shades instead of bars."""
BARS = 15
"""Topics that bars are of, if none are chosen: those with the largest shares in any group."""


def draw_mixtures(
    model: Model, found: Mixtures, by_time: bool, topics: int, chosen: Sequence[int] = ()
) -> Figure:  # fmt: skip
    """Lines over time of the topics that rise and fall most (or those chosen); else bars of each group's topics, or
    shades where there are many groups."""
    from matplotlib.figure import Figure

    names = topic_pictures.topic_names(model)
    if by_time and len(found.names) > 1:
        some = [list(chosen)]
        if not chosen:
            trends = [trend for trend in found.trends(True) if model.shown[trend.topic]]
            some = [[t.topic for t in trends[:topics]], [t.topic for t in trends[::-1][:topics]]]
        figure = Figure(figsize=(5.5 * len(some) + 1, 4.5), layout="constrained")
        panels = figure.subplots(1, len(some), squeeze=False, sharey=True)[0]
        for panel, title, each in zip(panels, ("rising", "falling") if not chosen else ("",), some, strict=True):
            topic_pictures.draw_lines(panel, found, each, names)
            panel.set_title(title)
    elif len(found.names) > MANY:
        figure = Figure(figsize=(9, 0.22 * len(found.names) + 2.5), layout="constrained")
        topic_pictures.draw_shades(
            figure.subplots(), found, list(chosen) or topic_pictures.largest_topics(model, found, 12), names
        )
    else:
        shown = list(chosen) or topic_pictures.largest_topics(model, found, BARS)
        figure = Figure(figsize=topic_pictures.bar_size(len(found.names), len(shown)), layout="constrained")
        topic_pictures.group_bars(figure, found, names, shown)
    return figure
