"""Training for the Python classes: progress, callbacks that stop it, and Ctrl-C that keeps the model so far."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

from topicx.chain_series import ChainListener, ChainSeries
from topicx.errors import InputError
from topicx.progress import Progress, for_person, for_terminal
from topicx.sampling.chain import BEFORE
from topicx.sampling.sweep_loop import Event, Interrupted
from topicx.stop_signals import Stopper

Callback = Callable[[Event], object]


class Fitting(ChainListener):
    """The time of a `fit`: `with Fitting(callbacks, verbose) as fitting: series.train(fitting)`.

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
        self._stopper = Stopper((signal.SIGINT,), yielding=True)

    def __enter__(self) -> Fitting:
        self._stopper.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopper.__exit__(*error)

    def _progress(self, total: float) -> Progress:
        if self.verbose is None:
            return for_person("training", total, "sweeps")
        return for_terminal("training", total, "sweeps", quiet=not self.verbose)

    def train_chain(self, series: ChainSeries) -> bool:
        """Train what is left of the run's plan, or as much of it as is wanted."""
        run, stopper = series.run, self._stopper
        chain = run.chain
        placed = stopped = False

        def hear(event: Event) -> None:
            nonlocal placed
            note = f"score {event.score:.4f}" if event.score is not None else ""
            progress.replan(chain.work)
            progress.advance(event.work, note)
            placed = event.step.kind not in BEFORE
            shown = replace(event, look=run.glance)
            for callback in self.callbacks:
                if callback(shown) is True:
                    stopper.asked = True

        with self._progress(chain.work) as progress:
            try:
                # While a start grows or is soft, not every token has a topic: there is no model yet.
                run.train([hear], stop=lambda: stopper.asked and placed)
            except Interrupted:
                stopped = True
        if stopped:
            done = chain.steps[chain.position - 1].sweep
            chain.state.meta["stopped_after"] = done
            if stopper.interrupted:
                warnings.warn(
                    f"interrupted after {done} of {chain.sweeps} iterations; the model is of what was done",
                    RuntimeWarning, stacklevel=4,
                )  # fmt: skip
        return not stopped
