"""Training for the Python classes: progress, callbacks that stop it, and Ctrl-C that keeps the model so far."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FrameType, TracebackType
from typing import Any

from topicx.errors import InputError
from topicx.progress import Progress, for_person, for_terminal
from topicx.run import Run
from topicx.sampling.chain import BEFORE
from topicx.sampling.sweep_loop import Event, Interrupted

Callback = Callable[[Event], object]


class Fitting:
    """The time of a `fit`: `with Fitting(callbacks, verbose) as fitting: fitting.train(run)` for each of its chains.

    The first Ctrl-C ends the sweep and the training; the second one is an ordinary KeyboardInterrupt. Signals are
    heard where Python allows it (the main thread), and only if the program has no handler of its own.
    """

    def __init__(self, callbacks: Sequence[Callback] = (), verbose: bool | int | None = None) -> None:
        if callable(callbacks):
            callbacks = [callbacks]
        for callback in callbacks:
            if not callable(callback):
                raise InputError(f"callbacks must be functions that take an Event, not {callback!r}")
        self.callbacks, self.verbose = list(callbacks), verbose
        self.stopped = False
        """Whether training has ended before its plan, by Ctrl-C or a callback."""
        self._asked = self._interrupted = False
        self._previous: Any = None

    def __enter__(self) -> Fitting:
        heard = threading.current_thread() is threading.main_thread()
        if heard and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._previous = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = self._asked = True

    def _progress(self, total: float) -> Progress:
        if self.verbose is None:
            return for_person("training", total, "sweeps")
        return for_terminal("training", total, "sweeps", quiet=not self.verbose)

    def train(self, run: Run) -> Run:
        """Train what is left of the run's plan, or as much of it as is wanted."""
        chain = run.chain
        placed = False

        def hear(event: Event) -> None:
            nonlocal placed
            note = f"score {event.score:.4f}" if event.score is not None else ""
            progress.advance(event.work, note)
            placed = event.step.kind not in BEFORE
            shown = replace(event, look=run.glance)
            for callback in self.callbacks:
                if callback(shown) is True:
                    self._asked = True

        with self._progress(sum(step.share for step in chain.steps)) as progress:
            try:
                # While a start grows or is soft, not every token has a topic: there is no model yet.
                run.train([hear], stop=lambda: self._asked and placed)
            except Interrupted:
                self.stopped = True
        if self.stopped:
            done = chain.steps[chain.position - 1].sweep
            chain.state.meta["stopped_after"] = done
            if self._interrupted:
                warnings.warn(
                    f"interrupted after {done} of {chain.options.iterations} iterations; the model is of what was done",
                    RuntimeWarning, stacklevel=4,
                )  # fmt: skip
        return run
