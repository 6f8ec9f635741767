"""What a training says while it runs: lines for people, or a JSON object a line for programs (`--log json`)."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import print_note
from topicx.cli.show import hang_text, terminal_width
from topicx.errors import TopicxError
from topicx.progress import Progress, for_terminal
from topicx.strings import one_line

if TYPE_CHECKING:
    from topicx.sampling.sweep_loop import Event


class Log:
    """Lines for people on standard error, with a bar where it is a terminal."""

    is_json = False

    def __init__(self, quiet: bool = False, verbose: bool = False) -> None:
        self.quiet, self.verbose = quiet, verbose

    def tell(self, text: str, event: str = "note", *, always: bool = False, **facts: Any) -> None:
        """A message: its text for people; what happened, and the facts of it, for programs. `always`: though quiet."""
        print_note(text, quiet=self.quiet and not always)

    def tell_finishing(self) -> None:
        """A signal has asked for an end."""
        self.tell("finishing the sweep (once more: stop at once) …")

    def progress(self, total: float | None, title: str = "training", unit: str = "sweeps") -> Progress:
        return for_terminal(title, total, unit, quiet=self.quiet)

    def swept(self, progress: Progress, event: Event, objective: str, seconds: float) -> None:
        """After every step."""
        progress.advance(event.work, f"score {event.score:.4f}" if event.score is not None else "")
        if self.verbose and event.score is not None:
            figures = "".join(f", {name} {value:.4g}" for name, value in event.figures.items())
            progress.message(f"sweep {event.step.sweep}: {objective} {event.score:.4f}, {seconds:.1f} s{figures}")

    def topics(self, progress: Progress, sweep: int, rows: list[dict[str, Any]]) -> None:
        """The topics as they are after this sweep (see `topicx.views.topic_descriptions`)."""
        if self.quiet:
            return
        lines = [f"topics after {sweep} sweeps:"]
        for row in rows:
            head = f"{row.get('name', row['topic']):>{len(str(len(rows) - 1))}}  {row['weight']:6.2%}  "
            words = " ".join(word["word"] for word in row["words"])
            lines += hang_text(one_line(head), one_line(words), terminal_width(sys.stderr))
        progress.message("\n".join(lines))

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """A failure is said as everything else is."""
        yield


HEARTBEAT = 10.0
"""Seconds after which a log for programs says that the work goes on, if it has said nothing else."""


class _Heartbeat(Progress):
    """Progress for programs: a line where nothing else was said for a while."""

    def __init__(self, log: JsonLog, title: str, total: float | None, unit: str) -> None:
        super().__init__(title, total, unit)
        self._log = log

    def advance(self, amount: float = 1, note: str = "") -> None:
        super().advance(amount, note)
        if time.monotonic() - self._log.said >= HEARTBEAT:
            left = self.left()
            about: dict[str, Any] = {"done": round(self.done, 3), "of": self.total, "unit": self.unit}
            about |= {"seconds": round(time.monotonic() - self._start, 3)}
            self._log.tell("", "progress", **about, left=None if left is None else round(left, 3))


class JsonLog(Log):
    """A JSON object a line on standard error, and nothing else there."""

    is_json = True
    said = time.monotonic()

    def tell(self, text: str, event: str = "note", *, always: bool = False, **facts: Any) -> None:
        self._print({"event": event, **(facts or {"text": text.removeprefix("note: ")})})

    def progress(self, total: float | None, title: str = "training", unit: str = "sweeps") -> Progress:
        return _Heartbeat(self, title, total, unit)

    def swept(self, progress: Progress, event: Event, objective: str, seconds: float) -> None:
        if event.score is not None:
            self.said = time.monotonic()  # what follows says more
        progress.advance(event.work)
        if event.score is not None:
            left = progress.left()
            score = event.score if math.isfinite(event.score) else None
            about: dict[str, Any] = {"sweep": event.step.sweep, "score": score, "seconds": round(seconds, 3)}
            about |= {"left": None if left is None else round(left, 3)}
            known = {name: value for name, value in event.figures.items() if math.isfinite(value)}
            self._print({"event": "sweep", **about, "figures": known})

    def topics(self, progress: Progress, sweep: int, rows: list[dict[str, Any]]) -> None:
        told = [
            {"topic": row["topic"], "weight": row["weight"], "words": [word["word"] for word in row["words"]]}
            for row in rows
        ]
        self._print({"event": "topics", "sweep": sweep, "topics": told})

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        try:
            yield
        except TopicxError as error:
            from topicx.cli import spell_options

            self._print({"event": "error", "text": spell_options(str(error)), "status": error.exit_status})
            raise click.exceptions.Exit(error.exit_status) from None

    def _print(self, what: dict[str, Any]) -> None:
        self.said = time.monotonic()
        print(json.dumps(what, ensure_ascii=False, allow_nan=False), file=sys.stderr, flush=True)
