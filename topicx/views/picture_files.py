"""Files of pictures: whether they can be drawn, of what kind they are, and writing them."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from topicx.errors import InputError
from topicx.files.atomic_output import atomic_output
from topicx.strings import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


def write_picture(figure: Figure, path: str | os.PathLike[str], dpi: int = 120) -> None:
    """Write a figure as the picture that the name asks for. Control characters in its texts (words may have them) are
    marked, for no SVG has them."""
    kind = check_plot(path)
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if isinstance(text, Text) and not text.get_text().isprintable():
            text.set_text("\n".join(map(one_line, text.get_text().split("\n"))))
    with atomic_output(path) as out:
        figure.savefig(out, format=kind, dpi=dpi)
