"""Measures of a model, a module each: `topicx.evaluate.completion.completion(...)` needs no import of its own."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from topicx.evaluate import (
        chib,
        clusters,
        coherence,
        completion,
        diagnostics,
        heldout,
        infer,
        labels,
        left_to_right,
        likelihood,
        prediction,
        predictive,
    )

# Imported on first use.
__all__ = [
    "chib",
    "clusters",
    "coherence",
    "completion",
    "diagnostics",
    "heldout",
    "infer",
    "labels",
    "left_to_right",
    "likelihood",
    "prediction",
    "predictive",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"topicx.evaluate.{name}")
    raise AttributeError(f"module 'topicx.evaluate' has no attribute {name!r}")
