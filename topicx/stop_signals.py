"""An end that is asked for: signals are heard while something runs, which then ends after the sweep at hand."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a training after its sweep."""
HANGUP = getattr(signal, "SIGHUP", None)


def tell_nobody() -> None:
    """Nobody is told of the first signal."""


class Stopper:
    """Signals heard in a `with` block: the first one asks for an end, the second one stops at once.

    Parameters
    ----------
    signals
        The signals to hear. A hang-up that is ignored (`nohup`) stays ignored.
    told
        Called when the first one has come.
    yielding
        Whether nothing is heard where handlers are the program's own matter: outside the main thread, and where the
        program has a handler already.

    Attributes
    ----------
    asked
        Whether an end is asked for, by a signal or by whoever sets this.
    interrupted
        Whether a signal has come.
    """

    def __init__(
        self,
        signals: Sequence[int] = STOPPING,
        told: Callable[[], object] = tell_nobody,
        *,
        yielding: bool = False,
    ) -> None:
        self.asked = self.interrupted = False
        self._signals, self._told, self._yielding = signals, told, yielding
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Stopper:
        self._previous = {number: signal.signal(number, self._hear) for number in self._signals if self._heard(number)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _heard(self, number: int) -> bool:
        if self._yielding:
            alone = threading.current_thread() is threading.main_thread()
            return alone and signal.getsignal(number) is signal.default_int_handler
        return number != HANGUP or signal.getsignal(number) != signal.SIG_IGN

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = self.asked = True
        self._told()
