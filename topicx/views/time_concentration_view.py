"""Topics over time as plain data and as a picture (see `topicx.evaluate.time_concentration`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from topicx.evaluate.time_concentration import TimeConcentration
from topicx.model import Model
from topicx.views.picture_files import check_plot, write_picture

SHOWN = 6
"""Topics whose weights are drawn."""


def describe_concentration(model: Model, found: TimeConcentration, words: int) -> dict[str, Any]:
    """Everything, as JSON has it; a topic without any weight has no intervals."""
    begins, ends = found.densest()
    totals, top = found.totals, model.top_words(words)
    topics: list[dict[str, Any]] = []
    for k in range(model.n_topics):
        some = totals[k] > 0
        half = None
        if some:
            first, last = found.between(begins[k], ends[k])
            half = {"from": first, "to": last, "length": float(ends[k] - begins[k])}
        topics.append({
            "topic": k, "weight": float(totals[k]), "share": float(totals[k] / len(found.names)), "half": half,
            "lengths": found.lengths[k].tolist() if some else [], "weights": found.weights[:, k].tolist(),
            "words": [word for word, _ in top[k]],
        })  # fmt: skip
    buckets = found.edges.shape[1] - 1
    return {
        "documents": int(found.documents.sum()), "left_out": found.untimed, "buckets": buckets,
        "expected": len(found.names) / buckets, "entropy": float(found.entropy.mean()),
        "quartiles": found.quartiles(), "weighted_quartiles": found.quartiles(weighted=True),
        "spans": [
            {"time": name, "documents": int(count), "entropy": float(entropy)}
            for name, count, entropy in zip(found.names, found.documents, found.entropy, strict=True)
        ],
        "topics": topics,
    }  # fmt: skip


def plot_concentration(model: Model, several: Mapping[str, TimeConcentration], path: str | os.PathLike[str]) -> None:
    """Draw the concentration of topics in time into a file.

    Weights of the most concentrated topics of the first model; of each model the entropies of spans, the lengths of
    buckets, and the topics' weights in falling order.

    Parameters
    ----------
    model : Model
        The first model.
    several : mapping of str to TimeConcentration
        What was measured, by name.
    path : str or path
        File to write: .png, .svg or .pdf.
    """
    kind = check_plot(path)
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
    write_picture(figure, path, kind)
