"""What a document means under a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicx.lazy_names import import_on_first_use

if TYPE_CHECKING:
    from topicx.predict.documents import Documents as Documents
    from topicx.predict.documents import source_of as source_of
    from topicx.predict.inference import Inference as Inference
    from topicx.predict.inference import infer as infer
    from topicx.predict.predictor import Predictor as Predictor
    from topicx.predict.reader import Reader as Reader

_HOMES = {
    "Documents": "topicx.predict.documents",
    "Inference": "topicx.predict.inference",
    "Predictor": "topicx.predict.predictor",
    "Reader": "topicx.predict.reader",
    "infer": "topicx.predict.inference",
    "source_of": "topicx.predict.documents",
}

__all__ = ["Documents", "Inference", "Predictor", "Reader", "infer", "source_of"]

__getattr__ = import_on_first_use(__name__, _HOMES)
