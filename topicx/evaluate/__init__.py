"""Measures of a model, a module each: `topicx.evaluate.completion.completion(...)` needs no import of its own."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from topicx.evaluate import chib as chib
    from topicx.evaluate import coherence as coherence
    from topicx.evaluate import completion as completion
    from topicx.evaluate import completion_groups as completion_groups
    from topicx.evaluate import diagnostics as diagnostics
    from topicx.evaluate import held_out as heldout
    from topicx.evaluate import label_measures as labels
    from topicx.evaluate import left_to_right as left_to_right
    from topicx.evaluate import model_likelihood as likelihood
    from topicx.evaluate import path_agreement as path_agreement
    from topicx.evaluate import prediction_measures as prediction
    from topicx.evaluate import predictive as predictive
    from topicx.evaluate import search as search
    from topicx.evaluate import silhouettes as clusters
    from topicx.evaluate import time_concentration as time_concentration
    from topicx.predict import inference as infer

_HOME = {
    "chib": "topicx.evaluate.chib",
    "clusters": "topicx.evaluate.silhouettes",
    "coherence": "topicx.evaluate.coherence",
    "completion": "topicx.evaluate.completion",
    "completion_groups": "topicx.evaluate.completion_groups",
    "diagnostics": "topicx.evaluate.diagnostics",
    "heldout": "topicx.evaluate.held_out",
    "infer": "topicx.predict.inference",
    "labels": "topicx.evaluate.label_measures",
    "left_to_right": "topicx.evaluate.left_to_right",
    "likelihood": "topicx.evaluate.model_likelihood",
    "path_agreement": "topicx.evaluate.path_agreement",
    "prediction": "topicx.evaluate.prediction_measures",
    "predictive": "topicx.evaluate.predictive",
    "search": "topicx.evaluate.search",
    "time_concentration": "topicx.evaluate.time_concentration",
}
"""Imported on first use. The short names are public; the modules' own say more."""

__all__ = [
    "chib",
    "clusters",
    "coherence",
    "completion",
    "completion_groups",
    "diagnostics",
    "heldout",
    "infer",
    "labels",
    "left_to_right",
    "likelihood",
    "path_agreement",
    "prediction",
    "predictive",
    "search",
    "time_concentration",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return import_module(_HOME[name])
    raise AttributeError(f"module 'topicx.evaluate' has no attribute {name!r}")
