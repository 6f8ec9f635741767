"""From a state to a model: the counts themselves (`cgs`), or their expectation under one more draw (`cgsp`)."""

from __future__ import annotations

from topicx.estimate.cgsp_counts import MAX_ENTRIES, Conditionals, DumpCounts
from topicx.estimate.estimators import ESTIMATORS, estimate, theta, theta_rows

__all__ = [
    "ESTIMATORS",
    "MAX_ENTRIES",
    "Conditionals",
    "DumpCounts",
    "estimate",
    "theta",
    "theta_rows",
]  # fmt: skip
