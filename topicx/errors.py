"""The two ways in which something goes wrong, and the exit status that each has on the command line."""

from __future__ import annotations

from collections.abc import Sequence


class TopicxError(Exception):
    """A failure while running (a full disk, a lost worker): exit status 1. The message is one line."""

    exit_status = 1


class InputError(TopicxError, ValueError):
    """The user's mistake (an option, a file, a line in a file): exit status 2. The message names it."""

    exit_status = 2


def list_first_names(names: Sequence[str]) -> str:
    """The first of these names, for a message of one line."""
    shown = ", ".join(names[:12])
    return (shown if len(shown) <= 200 else shown[:200]) + (", …" if len(names) > 12 else "")
