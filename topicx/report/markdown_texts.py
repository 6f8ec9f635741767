"""Texts and small lines of numbers as Markdown has them."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from topicx.strings import one_line

BLOCKS = "▁▂▃▄▅▆▇█"


def escape_markdown(text: str) -> str:
    """A text on one line whose characters mean nothing to Markdown or HTML."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", text)


def spark_blocks(values: NDArray[np.float64]) -> str:
    """A line of blocks, to its own peak."""
    known = np.nan_to_num(values)
    top = float(known.max()) if len(known) else 0.0
    return "".join(BLOCKS[min(int(8 * value / top), 7)] if top > 0 else BLOCKS[0] for value in known.tolist())
