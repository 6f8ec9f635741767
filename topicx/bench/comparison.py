"""What a comparison of programs is: its settings, a row a look, a run a program, the result, and the result as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from topicx.common_methods import Summarized
from topicx.declare import check_all, positive_option, whole_option
from topicx.errors import InputError


@dataclass(frozen=True)
class Settings:
    """What all programs share."""

    topics: int = whole_option(100, 1, 65535, help="Number of topics.")
    iterations: int = whole_option(200, 1, help="Sweeps over the corpus.")
    held_out: float = 0.1
    """Share of the documents that no program sees."""
    alpha: float = positive_option(0.1, help="α of each topic.")
    beta: float = positive_option(0.01, help="β of each word.")
    threads: int = whole_option(1, 1, help="Threads of each program.")
    seed: int = 1
    """Seed of all random numbers."""
    limit: float = positive_option(300.0, help="Seconds of training after which a program is stopped.")
    density: float = 1.5
    """Each measured sweep is about this many times the one before."""
    share: float = 0.5
    """Share of a held-out document's words that estimates its θ; the others are scored."""
    burn_in: int = 50
    """Iterations before the first sample of θ of held-out documents."""
    samples: int = 25
    """Samples of θ of held-out documents."""
    clock: str = "wall"
    """Clock of the comparison: wall, or cpu: seconds of processor time, for a machine that has other work to do (one
    thread only)."""
    evaluate: bool = True
    """Measure quality too; False: times and memory alone."""

    def __post_init__(self) -> None:
        check_all(self)
        if not 0 < self.held_out < 1:
            raise InputError(f"held_out must be between 0 and 1, not {self.held_out}")
        if self.clock not in ("wall", "cpu"):
            raise InputError(f"clock must be wall or cpu, not {self.clock!r}")
        if self.clock == "cpu" and self.threads > 1:
            raise InputError("clock cpu is for one thread: with several, processor time is not what a user waits for")
        if not self.density > 1:
            raise InputError(f"density must be greater than 1, not {self.density}")

    def points(self) -> list[int]:
        """The sweeps after which quality is measured; among them those that bound the first and the last ten."""
        last = self.iterations
        found = {1, last, *(s for s in (10, last - 10) if 0 < s < last)}
        sweep = 1.0
        while sweep < last:
            found.add(int(sweep))
            sweep = max(sweep * self.density, sweep + 1)
        return sorted(found)


@dataclass(frozen=True)
class Row:
    """One look at a program while it trains."""

    sweep: int
    """Sweeps over the whole corpus (0: before the first)."""
    work: float
    """What it cost so far, in sweeps over the whole corpus (a growing start counts here)."""
    seconds: float
    """Seconds of training alone."""
    perplexity: float | None
    likelihood: float | None
    """Joint log-likelihood per token."""
    estimating: float = 0.0
    """Seconds that estimating φ takes here, once, for whoever ends training here."""

    @property
    def total(self) -> float:
        """Seconds until a user has the φ that is judged."""
        return self.seconds + self.estimating


@dataclass
class Trial:
    """What became of one program."""

    name: str
    about: dict[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    memory: int = 0
    """Peak bytes while training, above the process with its imports."""
    problem: str = ""
    """Why it did not finish ('' if it did)."""
    early: float | None = None
    """Tokens per second from the first to the tenth sweep."""
    late: float | None = None
    """Tokens per second in the last ten sweeps."""

    @property
    def measured(self) -> list[Row]:
        return [row for row in self.rows if row.perplexity is not None]


@dataclass(repr=False)
class Comparison(Summarized):
    """A whole comparison."""

    corpus: dict[str, Any]
    """What the corpus is: documents, tokens, words."""
    settings: Settings
    """What all programs shared."""
    machine: dict[str, Any]
    """Where the figures come from."""
    runs: list[Trial]
    """A trial for each program."""
    reference: str = ""
    """The program with which the others are compared: how soon do they have what it has at the end?"""
    missing: list[str] = field(default_factory=list)
    """Programs that are not installed."""

    def run_of(self, name: str) -> Trial | None:
        return next((run for run in self.runs if run.name == name), None)

    def comparison(self) -> list[dict[str, Any]]:
        """Per program: seconds until it has the reference's last perplexity (and likelihood), and the reference's
        seconds divided by them."""
        reference = self.run_of(self.reference)
        if reference is None or not reference.measured:
            return []
        goal = reference.measured[-1]
        found = []
        for run in self.runs:
            line: dict[str, Any] = {"program": run.name}
            for what in ("perplexity", "likelihood"):
                target = getattr(goal, what)
                seconds = None if target is None else seconds_to(run.rows, what, target)
                own = goal.total if what == "perplexity" else goal.seconds
                if run is reference and target is not None:
                    seconds = own
                line[what] = {"seconds": seconds, "ratio": own / seconds if seconds else None}
            found.append(line)
        return found

    def to_json(self) -> dict[str, Any]:
        return {
            "corpus": self.corpus,
            "settings": asdict(self.settings),
            "machine": self.machine,
            "reference": self.reference,
            "missing": self.missing,
            "programs": [asdict(run) for run in self.runs],
            "comparison": self.comparison(),
        }


def seconds_to(rows: Sequence[Row], what: str, target: float) -> float | None:
    """When a program first has this perplexity or less (likelihood or more), between two looks in proportion; None:
    never. A program that has it at its first look is given the time of that look."""
    sign = -1.0 if what == "perplexity" else 1.0
    before: tuple[float, float] | None = None
    for row in rows:
        value = getattr(row, what)
        if value is None:
            continue
        now = row.total if what == "perplexity" else row.seconds
        gained = sign * (math.log(value / target) if what == "perplexity" else value - target)
        if gained >= 0:
            if before is None:
                return now
            seconds, lacked = before
            return seconds + (now - seconds) * (-lacked / (gained - lacked))
        before = now, gained
    return None


def load_result(data: dict[str, Any]) -> Comparison:
    """A Comparison from its JSON form."""
    runs = [replace(Trial(**{**run, "rows": []}), rows=[Row(**row) for row in run["rows"]]) for run in data["programs"]]
    return Comparison(
        data["corpus"], Settings(**data["settings"]), data["machine"], runs, data["reference"], data["missing"]
    )
