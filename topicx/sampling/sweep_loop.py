"""The one loop over sweeps: steps, the trace, callbacks, checkpoints, an end before the end.

Whatever is trained sweep by sweep is a `Training`: a chain of a topic model (`topicx.sampling.chain`), the restarts of
a hidden Markov model (`topicx.hmm.hmm_run`), a corpus that stays on disk (`topicx.variational.scvb0`).
"""

from __future__ import annotations

import os
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError, TopicxError
from topicx.files import container

if TYPE_CHECKING:
    from topicx.model import Model


@dataclass(frozen=True)
class Step:
    """One sweep of a plan, or several that are made together."""

    kind: str
    """Kind of the step: grow, soft, sweep or icm."""
    share: float
    """The share of the documents that it covers: what it costs, in sweeps over the whole corpus."""
    sweep: int
    """The number of the sweep over the whole corpus; 0 before the first."""


@dataclass(frozen=True)
class Event:
    """What callbacks are told after each step."""

    step: Step
    position: int
    total: int
    score: float | None
    """The objective, when it was computed at this step."""
    figures: dict[str, float]
    look: Callable[[], Model] | None = field(default=None, repr=False, compare=False)

    def model(self) -> Model:
        """The topics as they are after this step, from the counts alone: `event.model().top_words(10)`. It costs a pass
        over the counts each time, and is another one than what training ends with."""
        if self.look is None:
            raise InputError("this event has no model to look at: callbacks of LDA.fit and the other classes have")
        return self.look()

    @property
    def work(self) -> float:
        """What the step cost, in sweeps over the whole corpus."""
        return self.step.share


Callbacks = Sequence[Callable[[Event], object]]
Stop = Callable[[], bool]


def never_stop() -> bool:
    """Nobody asks for an end."""
    return False


@dataclass
class Trace:
    """Columns of numbers, a row each time the objective was computed."""

    columns: dict[str, list[float]] = field(default_factory=dict)

    def add(self, row: dict[str, float]) -> None:
        rows = len(next(iter(self.columns.values()), []))
        for name, value in row.items():
            self.columns.setdefault(name, [float("nan")] * rows).append(value)
        for values in self.columns.values():
            if len(values) == rows:
                values.append(float("nan"))

    def keep(self, wanted: Callable[[int], bool]) -> None:
        """Only the rows of these sweeps."""
        rows = [at for at, sweep in enumerate(self.columns.get("sweep", [])) if wanted(int(sweep))]
        self.columns = {name: [values[at] for at in rows] for name, values in self.columns.items()}

    @property
    def last(self) -> float | None:
        """The sweep of the last row."""
        return next(reversed(self.columns.get("sweep", [])), None)

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        return {name: np.array(values, np.float64) for name, values in self.columns.items()}

    def write(self, path: str | os.PathLike[str]) -> None:
        """A tab-separated table."""
        with container.atomic_output(path, binary=False) as out:
            out.write("\t".join(self.columns) + "\n")
            for row in zip(*self.columns.values(), strict=True):
                out.write("\t".join(f"{value:.10g}" for value in row) + "\n")


@dataclass
class Checkpoints:
    """Where and how often a training saves itself."""

    path: str
    interval: int = 0
    """Steps between checkpoints, those of a start included; 0: only when interrupted."""
    written: bool = False
    """Whether it has saved itself there."""
    warn: Callable[[str], object] = warnings.warn
    """Told when one could not be written (a full disk): the run goes on."""


class Interrupted(Exception):
    """The training was asked to stop; it has finished the sweep, and saved a checkpoint if it has a place for one."""


class Training(ABC):
    """Steps, and how far they have come."""

    position = 0
    seconds = 0.0

    @property
    @abstractmethod
    def total(self) -> int:
        """The steps of the plan."""

    @abstractmethod
    def begin(self) -> None:
        """Before the first step, or (position > 0) before going on."""

    @abstractmethod
    def advance(self, most: int) -> tuple[Step, dict[str, float]]:
        """Make the next step (where steps are short: up to `most` together), and move `position`; figures for the
        trace."""

    @abstractmethod
    def record(self, step: Step, figures: dict[str, float], last: bool) -> float | None:
        """A row of the trace where one is due after this step, or it is the last; the objective, if it was computed."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Everything that the next step depends on."""
        raise TypeError(f"{type(self).__name__} has no checkpoints")  # nobody can ask for one

    def run(self, callbacks: Callbacks = (), checkpoints: Checkpoints | None = None, stop: Stop = never_stop) -> None:
        """Make the rest of the steps. `stop` is asked after each; when it says yes, Interrupted is raised."""
        began = time.monotonic() - self.seconds
        interval = checkpoints.interval if checkpoints else 0
        self.begin()
        while self.position < self.total:
            left = self.total - self.position
            step, figures = self.advance(min(interval - self.position % interval, left) if interval else left)
            self.seconds = time.monotonic() - began
            last = self.position >= self.total
            score = self.record(step, figures, last)
            event = Event(step, self.position, self.total, score, figures)
            for callback in callbacks:
                callback(event)
            stopping = stop() and not last
            if checkpoints and (stopping or (interval and (last or self.position % interval == 0))):
                self._save(checkpoints, needed=stopping)
            if stopping:
                raise Interrupted

    def _save(self, checkpoints: Checkpoints, needed: bool) -> None:
        try:
            self.save(checkpoints.path)
            checkpoints.written = True
        except TopicxError as error:
            if needed:
                raise
            checkpoints.warn(f"warning: no checkpoint after step {self.position}: {error}; the run goes on")
