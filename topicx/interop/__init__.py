"""Other programs' states and models: `read_state` reads them, `topicx.interop.model_export` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from topicx.interop.format_names import READ as FORMATS

if TYPE_CHECKING:
    from topicx.interop.state_reader import read_state

__all__ = ["FORMATS", "read_state"]


def __getattr__(name: str) -> Any:
    if name == "read_state":  # on first use, so that the formats' names cost nothing
        from topicx.interop.state_reader import read_state

        return read_state
    raise AttributeError(f"module 'topicx.interop' has no attribute {name!r}")
