"""From a state to a model: the counts themselves (`cgs`), or their expectation under one more draw (`cgsp`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicx.estimate.cgsp_counts import MAX_ENTRIES, Conditionals, DumpCounts
from topicx.estimate.estimators import ESTIMATORS, estimate, theta, theta_rows
from topicx.lazy_names import import_on_first_use

if TYPE_CHECKING:
    from topicx.estimate.averaging import average_models as average_models
    from topicx.estimate.averaging import topic_orders as topic_orders
    from topicx.estimate.topic_alignment import Pair as Pair
    from topicx.estimate.topic_alignment import align_topics as align_topics
    from topicx.estimate.topic_edits import edit_topics as edit_topics
    from topicx.estimate.topic_edits import hide_topics as hide_topics
    from topicx.estimate.topic_edits import merge_topics as merge_topics
    from topicx.estimate.topic_edits import name_topics as name_topics

_HOMES = {
    "Pair": "topicx.estimate.topic_alignment",
    "align_topics": "topicx.estimate.topic_alignment",
    "average_models": "topicx.estimate.averaging",
    "edit_topics": "topicx.estimate.topic_edits",
    "hide_topics": "topicx.estimate.topic_edits",
    "merge_topics": "topicx.estimate.topic_edits",
    "name_topics": "topicx.estimate.topic_edits",
    "topic_orders": "topicx.estimate.averaging",
}

__all__ = [
    "ESTIMATORS",
    "MAX_ENTRIES",
    "Conditionals",
    "DumpCounts",
    "Pair",
    "align_topics",
    "average_models",
    "edit_topics",
    "estimate",
    "hide_topics",
    "merge_topics",
    "name_topics",
    "theta",
    "theta_rows",
    "topic_orders",
]

__getattr__ = import_on_first_use(__name__, _HOMES)
