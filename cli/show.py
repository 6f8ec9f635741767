"""How lines with many words look on a terminal: wrapped to its width with a hanging indent, their heads in colour. Into
files and pipes each goes as one line.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from typing import IO, Any

import click

from topicx.strings import one_line

LEAST = 30
"""A terminal narrower than this wraps as it likes."""


def print_hanging(head: str, text: str, *, colour: str | None = "cyan", stream: IO[str] | None = None) -> None:
    """Print a head and what belongs to it, to standard output unless told otherwise."""
    out = stream or sys.stdout
    lines = hang_text(one_line(head), one_line(text), terminal_width(out))
    if colour and out.isatty() and "NO_COLOR" not in os.environ:
        lines[0] = click.style(head, fg=colour) + lines[0][len(head) :]
    click.echo("\n".join(lines), file=out)


def told_topic(row: Mapping[str, Any], width: int = 4) -> str:
    """What a line calls the topic of a row: its number, and the name that it was given."""
    return f"{row['topic']:>{width}} {row.get('name', '')}".rstrip()


def told_words(row: Mapping[str, Any]) -> str:
    """The words of a topic after its name, where columns leave no room before them."""
    words = (word if isinstance(word, str) else word["word"] for word in row["words"])
    return " ".join([*([f"{row['name']}:"] if "name" in row else []), *words])


def terminal_width(stream: IO[str]) -> int | None:
    """The width of the terminal that a stream goes to; None: it goes elsewhere."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def hang_text(head: str, text: str, width: int | None) -> list[str]:
    """The head and the text in lines of at most this many columns (words are never cut): later lines begin where the
    text does."""
    if width is None or width < max(LEAST, 2 * len(head)):
        return [head + text]
    from rich.cells import cell_len  # letters of two columns

    lines, room = [head], width - cell_len(head)
    for word in text.split(" "):
        needed = cell_len(word)
        if needed > room and lines[-1].strip() and lines[-1] != head:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * cell_len(head))
            room = width - cell_len(head)
        lines[-1] += word + " "
        room -= needed + 1
    lines[-1] = lines[-1].rstrip()
    return lines
