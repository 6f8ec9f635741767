"""What a trained model is, and what differs from model to model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicx.lazy_names import import_on_first_use

if TYPE_CHECKING:
    from topicx.models.definition import Definition as Definition
    from topicx.models.definition import NoOptions as NoOptions
    from topicx.models.definition import initial_state as initial_state

_HOMES = {
    "Definition": "topicx.models.definition",
    "NoOptions": "topicx.models.definition",
    "initial_state": "topicx.models.definition",
}

__all__ = ["Definition", "NoOptions", "initial_state"]

__getattr__ = import_on_first_use(__name__, _HOMES)
