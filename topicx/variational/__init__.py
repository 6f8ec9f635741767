"""CVB0, CVB, VB and SCVB0: inference with soft assignments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicx.lazy_names import import_on_first_use

if TYPE_CHECKING:
    from topicx.variational.minibatches import Rate as Rate
    from topicx.variational.scvb0 import StochasticLDA as StochasticLDA
    from topicx.variational.scvb0 import train_file as train_file

_HOMES = {
    "Rate": "topicx.variational.minibatches",
    "StochasticLDA": "topicx.variational.scvb0",
    "train_file": "topicx.variational.scvb0",
}

__all__ = ["Rate", "StochasticLDA", "train_file"]

__getattr__ = import_on_first_use(__name__, _HOMES)
