"""Other programs' states and models: `read_state` reads them, `topicx.interop.export` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from topicx.interop.formats import READ as FORMATS

if TYPE_CHECKING:
    from topicx.interop.read import read_state

__all__ = ["FORMATS", "read_state"]


def __getattr__(name: str) -> Any:
    if name == "read_state":  # on first use, so that the formats' names cost nothing
        from topicx.interop.read import read_state

        return read_state
    raise AttributeError(f"module 'topicx.interop' has no attribute {name!r}")
