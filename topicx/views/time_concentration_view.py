"""Topics over time as plain data (see `topicx.evaluate.time_concentration`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from topicx.evaluate.time_concentration import TimeConcentration
from topicx.model import Model
from topicx.views.picture_files import check_plot, write_picture


def describe_concentration(model: Model, found: TimeConcentration, words: int) -> dict[str, Any]:
    """Everything, as JSON has it; a topic without any weight has no intervals."""
    begins, ends = found.densest()
    totals, top = found.totals, model.top_words(words)
    topics: list[dict[str, Any]] = []
    for k in np.flatnonzero(model.shown).tolist():
        some = totals[k] > 0
        half = None
        if some:
            first, last = found.between(begins[k], ends[k])
            half = {"from": first, "to": last, "length": float(ends[k] - begins[k])}
        topics.append({
            "topic": k, **model.named(k), "weight": float(totals[k]), "share": float(totals[k] / len(found.names)),
            "half": half,
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
    check_plot(path)
    from topicx.views.concentration_figures import draw_concentration

    write_picture(draw_concentration(model, several), path)
