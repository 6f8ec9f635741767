"""From a state to a model: the counts themselves (`cgs`), or their expectation under one more draw (`cgsp`)."""

from __future__ import annotations

from topicx.estimate.cgsp import MAX_ENTRIES, Counts, Soft
from topicx.estimate.estimate import ESTIMATORS, document_topics, estimate, theta

__all__ = [
    "ESTIMATORS", "MAX_ENTRIES", "Counts", "Soft", "document_topics", "estimate", "theta",
]  # fmt: skip
