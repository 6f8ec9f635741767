"""When a growing start pays, and which stages are best: seconds to a given held-out perplexity, by schedule.

Each schedule is timed to the perplexity that a random start has after 200 sweeps (a stand-in for any other sampler's),
and to that after 50. Ratios are the random start's seconds divided by the schedule's: above 1 the schedule pays.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common

from topicx.bench import bench_runs, comparison, peer_programs
from topicx.sampling import chain

SCHEDULES: dict[str, tuple[tuple[float, int], ...] | None] = {
    "random": None,
    "design": ((0.02, 100), (0.04, 60), (0.08, 50), (0.16, 40), (0.32, 20), (0.6, 10)),
    "half": ((0.02, 50), (0.04, 30), (0.08, 25), (0.16, 20), (0.32, 10), (0.6, 5)),
    "from 1%": ((0.01, 150), (0.02, 100), (0.04, 60), (0.08, 50), (0.16, 40), (0.32, 20), (0.6, 10)),
    "long": ((0.01, 200), (0.02, 200), (0.04, 120), (0.08, 100), (0.16, 60), (0.32, 30), (0.6, 10)),
    "steps of 4": ((0.02, 150), (0.08, 100), (0.32, 30)),
}
CASES = [
    ("nips0-12", 100), ("20news-lda", 100), ("20news-bydate", 100), ("uci-kos", 100), ("reuters21578", 100),
    ("imdb", 100),
    ("nips0-12", 20), ("20news-bydate", 20), ("uci-kos", 20), ("reuters21578", 20),
    ("nips0-12", 1000), ("20news-bydate", 1000), ("uci-kos", 1000),
]  # fmt: skip
SWEEPS = 200


class Here(peer_programs.Recorder):
    """Judges at once, in this process."""

    def __init__(self, task: peer_programs.Task, test: Any, settings: comparison.Settings) -> None:
        super().__init__(task, sys.stderr, sys.stdin)
        self.test, self.settings = test, settings
        self.rows: list[comparison.Row] = []

    def say(self, **what: Any) -> None:
        pass

    def at(
        self,
        sweep: int,
        phi: peer_programs.Phi | None,
        assignments: peer_programs.Assignments | None,
        *,
        work: float | None = None,
    ) -> None:
        seconds = self.seconds
        if phi is not None:
            folder = Path(self.task.folder)
            phi(folder / "phi")
            row = {"sweep": sweep, "work": sweep if work is None else work, "seconds": seconds, "phi": "phi"}
            self.rows.append(bench_runs.judge_result(self.task, row, self.test, folder, self.settings))
        self.skip(self.seconds - seconds)


def run(train: Any, test: Any, settings: comparison.Settings, growth: Any, sampler: str = "auto") -> list[list[float]]:
    """A trajectory: sweep, work, seconds, perplexity."""
    # A schedule has what it is timed to long before the end.
    points = [point for point in settings.points() if not growth or 4 * point <= 3 * settings.iterations]
    with tempfile.TemporaryDirectory() as folder:
        task = peer_programs.Task(
            sampler, {"start": "growing" if growth else "random"}, "", folder, settings.topics, settings.alpha,
            settings.beta, settings.seed, settings.threads, points, settings.limit, settings.clock,
        )  # fmt: skip
        before = chain.GROWTH
        chain.GROWTH = growth or before
        try:
            recorder = Here(task, test, settings)
            peer_programs.run_topicx(task, recorder, train)
        finally:
            chain.GROWTH = before
    return [[row.sweep, row.work, row.seconds, row.perplexity or 0.0] for row in recorder.rows]


def seconds_to(rows: Sequence[Sequence[float]], target: float) -> float | None:
    return comparison.seconds_to(
        [comparison.Row(int(r[0]), r[1], r[2], r[3], None) for r in rows], "perplexity", target
    )


def main(arguments: Sequence[str] | None = None) -> list[common.Figure]:
    given = common.start(__doc__ or "", arguments)
    store = given.store("starts")
    for name, topics in [("uci-kos", 20)] if given.quick else CASES:
        for seed in given.seeds:
            settings = comparison.Settings(
                topics=topics,
                iterations=20 if given.quick else SWEEPS,
                seed=seed,
                limit=1e9,
                density=1.7,
                burn_in=20,
                samples=10,
                clock=given.clock,
            )
            train, test = bench_runs.split_held_out(given.corpus(name), settings)
            rows = {}
            for label, growth in SCHEDULES.items():
                key = f"{name} K={topics} seed={seed} {label}"
                rows[label] = store.get(key, functools.partial(run, train, test, settings, growth))
            print(f"\n{name} ({train.n_tokens:,} tokens), K={topics}, seed {seed}")
            for sweeps in (50, settings.iterations):
                at = [r for r in rows["random"] if r[0] <= sweeps][-1]
                found = []
                for label, those in rows.items():
                    seconds = seconds_to(those, at[3])
                    found.append(f"{label} {at[2] / seconds:.2f}" if seconds else f"{label} -")
                print(f"  to {at[3]:.1f} (random at {at[0]:.0f} sweeps, {at[2]:.2f} s): " + ", ".join(found))
            last = (f"{label} {r[-1][3]:.1f} ({r[-1][2]:.1f} s)" for label, r in rows.items())
            print("  last: " + ", ".join(last), flush=True)
    return []


if __name__ == "__main__":
    common.show(main())
