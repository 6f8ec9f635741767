"""Progress for people: a bar on a terminal, a line per interval elsewhere, nothing when asked to be quiet.

Everything goes to standard error; results alone go to standard output.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

NOTE = 16
"""Columns that a bar leaves to its note."""


def spell_duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


class Progress:
    """Reports on one task at a time: `with Progress("training", total=1000) as progress: progress.advance(1, ...)`.

    The base class says nothing; `for_terminal` picks the right one.
    """

    def __init__(self, title: str, total: float | None = None, unit: str = "") -> None:
        self.title = title
        self.total = total
        self.unit = unit
        self.done = self._before = 0.0
        self._start = time.monotonic()

    def begin(self, done: float) -> None:
        """So much was done before (a run goes on)."""
        self._before = self.done = done

    def left(self) -> float | None:
        """Seconds until the end, if it goes on as it has gone; None: there is no telling."""
        did = self.done - self._before
        return (time.monotonic() - self._start) * (self.total - self.done) / did if self.total and did > 0 else None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Say that this much more is done; `note` is shown beside it."""
        self.done += amount

    def replan(self, total: float) -> None:
        """There is so much to do now: what is planned as it goes has no total from the start."""
        self.total = total

    def message(self, text: str) -> None:
        """A line of its own that does not disturb the bar."""


class LineProgress(Progress):
    """A line per interval: for log files and pipes."""

    def __init__(self, title: str, total: float | None = None, unit: str = "", interval: float = 10.0) -> None:
        super().__init__(title, total, unit)
        self.interval = interval
        self._last, self._note = self._start, ""

    def advance(self, amount: float = 1, note: str = "") -> None:
        super().advance(amount, note)
        self._note = note or self._note
        now = time.monotonic()
        if now - self._last >= self.interval:
            self._last = now
            of = f" of {self.total:,.0f}" if self.total else ""
            unit = f" {self.unit}" if self.unit else ""
            extra = f", {self._note}" if self._note else ""
            left = self.left()
            to_go = f", {spell_duration(left)} left" if left else ""
            self.message(f"{self.title}: {self.done:,.0f}{of}{unit}{extra}, {spell_duration(now - self._start)}{to_go}")

    def message(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class BarProgress(Progress):
    """A bar that redraws itself: for terminals."""

    def __enter__(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True)
        done = f"{self.total:,.0f}/{self.total:,.0f}" if self.total else f"{0:16}"
        room = console.width - len(f"{self.title} {done} {self.unit} 0:00:00 ") - NOTE
        columns: list[Any] = [TextColumn("{task.description}"), BarColumn(bar_width=min(max(room, 4), 30))]
        columns += [MofNCompleteColumn()] if self.total else [TextColumn("{task.completed:,.0f}")]
        columns += [TextColumn(self.unit), TextColumn("{task.fields[note]}", style="cyan"), TimeRemainingColumn()]
        self._bar = Bar(*columns, console=console, transient=True)
        self._note = ""
        self._bar.start()
        self._task = self._bar.add_task(self.title, total=self.total, completed=int(self.done), note="")
        return self

    def begin(self, done: float) -> None:
        super().begin(done)
        self._bar.update(self._task, completed=int(done))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def advance(self, amount: float = 1, note: str = "") -> None:
        super().advance(amount, note)
        self._note = note or self._note
        self._bar.update(self._task, total=self.total, completed=int(self.done), note=self._note)

    def message(self, text: str) -> None:
        self._bar.console.print(text, highlight=False, markup=False, soft_wrap=True)


class NotebookProgress(Progress):
    """A bar in a notebook's output, drawn anew a few times a second."""

    def __enter__(self) -> Progress:
        from IPython.display import display

        self._note, self._last = "", 0.0
        self._shown = display(self._bar(), display_id=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shown.update(self._bar())

    def advance(self, amount: float = 1, note: str = "") -> None:
        super().advance(amount, note)
        self._note = note or self._note
        now = time.monotonic()
        if now - self._last >= 0.3:
            self._last = now
            self._shown.update(self._bar())

    def _bar(self) -> NotebookBar:
        of = f" of {self.total:,.0f}" if self.total else ""
        note = f", {self._note}" if self._note else ""
        text = f"{self.title}: {self.done:,.0f}{of} {self.unit}{note}, {time.monotonic() - self._start:.0f} s"
        return NotebookBar(text, self.done, self.total)


class NotebookBar:
    """What a notebook shows of a progress."""

    def __init__(self, text: str, done: float, total: float | None) -> None:
        self.text, self.done, self.total = text, done, total

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from html import escape

        state = f'value="{self.done:g}" max="{self.total:g}"' if self.total else ""
        return f"<progress {state}></progress> {escape(self.text)}"


def in_notebook() -> bool:
    """Whether this program is run by a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def for_person(title: str, total: float | None = None, unit: str = "") -> Progress:
    """Progress where somebody looks on, at a terminal or in a notebook; nothing elsewhere."""
    return for_terminal(title, total, unit, quiet=not (in_notebook() or sys.stderr.isatty()))


def for_terminal(title: str, total: float | None = None, unit: str = "", *, quiet: bool = False) -> Progress:
    """The kind of progress that suits where standard error goes."""
    if quiet:
        return Progress(title, total, unit)
    if in_notebook():
        return NotebookProgress(title, total, unit)
    if sys.stderr.isatty():
        return BarProgress(title, total, unit)
    return LineProgress(title, total, unit)
