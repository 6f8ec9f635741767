"""What is found of groups of documents in a sentence: the largest difference each way that intervals part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topicx.report.figures import as_percent
from topicx.report.trend_sentences import Sentence

Floats = NDArray[np.float64]


def largest_groups(documents: NDArray[np.int64]) -> list[int]:
    """Groups that have documents, those with the most first."""
    return [int(g) for g in np.lexsort((np.arange(len(documents)), -documents)) if documents[g] > 0]


def groups_sentence(
    names: list[str], documents: NDArray[np.int64], mean: Floats, low: Floats, high: Floats, shown: NDArray[np.bool_]
) -> Sentence:  # fmt: skip
    """The largest difference each way of the two groups with most documents; empty: there are no two."""
    order = largest_groups(documents)
    if len(order) < 2:
        return []
    a, b = order[:2]
    with np.errstate(invalid="ignore"):
        up = np.where(shown & (low[a] > high[b]), mean[a] - mean[b], 0.0)
        down = np.where(shown & (low[b] > high[a]), mean[b] - mean[a], 0.0)
    more, less = int(np.argmax(up)), int(np.argmax(down))
    of_a: Sentence = [more, f", {as_percent(mean[a, more])} against {as_percent(mean[b, more])}"]
    of_b: Sentence = [less, f", {as_percent(mean[b, less])} against {as_percent(mean[a, less])}"]
    if up[more] > 0 and down[less] > 0:
        return [f"{names[a]} has more of ", *of_a, f"; {names[b]} of ", *of_b]
    if up[more] > 0:
        return [f"{names[a]} has more of ", *of_a]
    if down[less] > 0:
        return [f"{names[b]} has more of ", *of_b]
    return [f"No topic differs between {names[a]} and {names[b]} by more than its interval"]
