"""Assignments, the schedule and the one chain loop; which samplers there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicx.lazy_names import import_on_first_use

if TYPE_CHECKING:
    from topicx.sampling.run_options import Options as Options

_HOMES = {
    "Options": "topicx.sampling.run_options",
}

__all__ = ["Options"]

__getattr__ = import_on_first_use(__name__, _HOMES)
