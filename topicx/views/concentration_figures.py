"""Topics over time as a figure (see `topicx.evaluate.time_concentration`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from topicx.evaluate.time_concentration import TimeConcentration
from topicx.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 6
"""Topics whose weights are drawn."""


def draw_concentration(model: Model, several: Mapping[str, TimeConcentration]) -> Figure:
    """Weights of the first one's most concentrated topics (of those of at least mean weight); and of each, the entropy
    of the spans, the lengths of the buckets, and the topics' weights in falling order."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), layout="constrained")
    (first, second), (third, fourth) = figure.subplots(2, 2)
    found = next(iter(several.values()))
    axes = {name: one.begins.astype("datetime64[D]") if one.dates else one.begins for name, one in several.items()}
    axis = axes[next(iter(several))]
    begins, ends = found.densest()
    large = np.flatnonzero(found.totals >= found.totals.mean())
    names = [" ".join(word for word, _ in row) for row in model.top_words(3)]
    for k in large[np.argsort((ends - begins)[large], kind="stable")[:SHOWN]]:
        first.plot(axis, found.weights[:, k], linewidth=1, label=f"{k} {names[k]}")
    first.set(title="weights of the most concentrated topics", xlabel="time", ylabel="weight", ylim=(0, None))
    first.legend(fontsize=7)
    longest = max(float(np.nanquantile(one.lengths, 0.98)) for one in several.values())
    for name, one in several.items():
        label = name or None
        second.plot(axes[name], one.entropy, linewidth=1, label=label)
        buckets = one.edges.shape[1] - 1
        third.hist(one.lengths[one.totals > 0].reshape(-1), np.linspace(0, longest, 50), histtype="step", label=label)
        fourth.plot(np.sort(one.totals)[::-1], linewidth=1, label=label)
    third.axvline(len(found.names) / buckets, color="0.5", linestyle=":", label="mean")
    second.set(title="entropy of spans", xlabel="time", ylabel="nats")
    third.set(title=f"intervals with 1/{buckets} of a topic's weight", xlabel="length in spans", ylabel="intervals")
    fourth.set(title="weights of topics", xlabel="topics, by weight", ylabel="weight", yscale="log")
    third.legend(fontsize=7)
    if len(several) > 1:
        second.legend(fontsize=7)
        fourth.legend(fontsize=7)
    return figure
