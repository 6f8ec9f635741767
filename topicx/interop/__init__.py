"""Other programs' states and models: `read_state` reads them, `topicx.interop.export` writes them."""

from __future__ import annotations

from topicx.interop.read import FORMATS, read_state

__all__ = ["FORMATS", "read_state"]
