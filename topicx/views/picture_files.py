"""Pictures: whether they can be drawn, and of what kind."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from topicx.errors import InputError


def can_plot() -> bool:
    return find_spec("matplotlib") is not None


def check_plot(path: str | os.PathLike[str]) -> str:
    """The kind of picture that a file's name asks for; InputError before any work if it cannot be made."""
    if not can_plot():
        raise InputError("plots need matplotlib: pip install 'topicx[plot]'")
    kind = Path(path).suffix.lstrip(".") or "png"
    if kind not in ("png", "svg", "pdf"):
        raise InputError(f"{os.fspath(path)}: plots are written as png, svg or pdf, by the file's name")
    return kind
