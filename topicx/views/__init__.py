"""What people look at: topics by column, in pictures and in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicx.lazy_names import import_on_first_use

if TYPE_CHECKING:
    from topicx.views.class_weights import strongest_topics as strongest_topics
    from topicx.views.group_mixtures import Mixtures as Mixtures
    from topicx.views.group_mixtures import contrast_words as contrast_words
    from topicx.views.group_mixtures import describe_mixtures as describe_mixtures
    from topicx.views.group_mixtures import mixtures_of_model as mixtures_of_model
    from topicx.views.group_mixtures import plot_mixtures as plot_mixtures
    from topicx.views.slice_figures import plot_slices as plot_slices
    from topicx.views.slice_tables import describe_slices as describe_slices
    from topicx.views.slice_tables import describe_word as describe_word
    from topicx.views.slice_tables import slice_rows as slice_rows
    from topicx.views.slice_tables import slices_of_model as slices_of_model
    from topicx.views.time_concentration_view import plot_concentration as plot_concentration
    from topicx.views.topic_passages import typical_passages as typical_passages
    from topicx.views.topic_tables import similar_topics as similar_topics
    from topicx.views.topic_tables import topic_table as topic_table
    from topicx.views.topics_by_column import by_documents as by_documents

_HOMES = {
    "Mixtures": "topicx.views.group_mixtures",
    "by_documents": "topicx.views.topics_by_column",
    "describe_slices": "topicx.views.slice_tables",
    "describe_word": "topicx.views.slice_tables",
    "contrast_words": "topicx.views.group_mixtures",
    "describe_mixtures": "topicx.views.group_mixtures",
    "mixtures_of_model": "topicx.views.group_mixtures",
    "plot_concentration": "topicx.views.time_concentration_view",
    "plot_mixtures": "topicx.views.group_mixtures",
    "plot_slices": "topicx.views.slice_figures",
    "similar_topics": "topicx.views.topic_tables",
    "slice_rows": "topicx.views.slice_tables",
    "slices_of_model": "topicx.views.slice_tables",
    "strongest_topics": "topicx.views.class_weights",
    "topic_table": "topicx.views.topic_tables",
    "typical_passages": "topicx.views.topic_passages",
}

__all__ = [
    "Mixtures",
    "by_documents",
    "contrast_words",
    "describe_mixtures",
    "describe_slices",
    "describe_word",
    "mixtures_of_model",
    "plot_concentration",
    "plot_mixtures",
    "plot_slices",
    "similar_topics",
    "slice_rows",
    "slices_of_model",
    "strongest_topics",
    "topic_table",
    "typical_passages",
]

__getattr__ = import_on_first_use(__name__, _HOMES)
