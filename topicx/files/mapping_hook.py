"""Who is told of every file that is mapped: apart from `mapped_arrays`, so that `topicx --help` needs no numpy."""

from __future__ import annotations

from collections.abc import Callable


class MappingHook:
    """The command line has a line for the error that a mapped file ends in when another program cuts it short."""

    hear: Callable[[str], object] = staticmethod(lambda name: None)
