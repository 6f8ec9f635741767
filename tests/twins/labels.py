"""The measures of predicted labels, document by document and label by label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def f1(hits: int, given: int, wanted: int) -> float:
    return 2 * hits / (given + wanted)


def measures(scores: NDArray[Any], truth: NDArray[np.bool_], sets: NDArray[np.bool_]) -> dict[str, float]:
    labels = truth.shape[1]
    found: dict[str, list[float]] = {name: [] for name in ("example_f1", "ranking_loss", "one_error", "coverage",
                                                            "average_precision", "at_1", "at_3")}  # fmt: skip
    for s, t, p in zip(scores, truth, sets):
        found["example_f1"].append(f1(int((t & p).sum()), int(p.sum()), int(t.sum())))
        true, false = np.flatnonzero(t), np.flatnonzero(~t)
        wrong = [s[j] >= s[i] for i in true for j in false]
        found["ranking_loss"].append(sum(wrong) / max(len(wrong), 1))
        order = sorted(range(labels), key=lambda k: (-s[k], k))
        found["one_error"].append(float(order[0] not in true))
        rank = {i: sum(s[k] >= s[i] for k in range(labels)) for i in true}
        found["coverage"].append(max(rank.values()))
        precision = [sum(s[k] >= s[i] for k in true) / rank[i] for i in true]
        found["average_precision"].append(float(np.mean(precision)))
        for depth in (1, 3):
            found[f"at_{depth}"].append(sum(k in true for k in order[:depth]) / depth)
    result = {name: float(np.mean(values)) for name, values in found.items()}
    per_label = [f1(int((truth[:, k] & sets[:, k]).sum()), int(sets[:, k].sum()), int(truth[:, k].sum()))
                 for k in range(labels) if (truth[:, k] | sets[:, k]).any()]  # fmt: skip
    result["macro_f1"] = float(np.mean(per_label))
    result["micro_f1"] = f1(int((truth & sets).sum()), int(sets.sum()), int(truth.sum()))
    result["hamming_loss"] = float((truth != sets).mean())
    result["subset_accuracy"] = float(np.mean([np.array_equal(t, p) for t, p in zip(truth, sets)]))
    return result
