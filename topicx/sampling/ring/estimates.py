"""What a sweep takes on a cluster, from measured parts: asked before a run begins, and by `benchmarks/cluster`.

sweep = tokens · (seconds a token) / threads                     every machine at once
      + outer² · (tasks a cell) · (seconds a task)               the scheduler, one after another
      + outer · (tasks a cell) · (seconds from a task to the next)
      + bytes of all blocks / (bytes a second)                   every link at once
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicx.sampling.schedule import ScheduleLevels

TASKS_A_CELL = 4
"""A cell, and its three parts."""
TOKEN = 1 / 20e6
"""Seconds a token on one thread, where nothing was measured (K = 100 to 1000: docs/performance.md)."""


@dataclass(frozen=True)
class Parts:
    """What was measured, or is taken for granted."""

    token: float = TOKEN
    """Seconds a token on one thread."""
    task: float = 1e-3
    """Seconds of the scheduler a task."""
    step: float = 5e-3
    """Seconds from the end of a task to the begin of the next."""
    rate: float = 1e9 / 8
    """Bytes a second between two machines."""


@dataclass(frozen=True)
class Estimate:
    """What a run takes."""

    compute: float
    scheduling: float
    sending: float
    worker_bytes: int
    """Bytes of memory that a machine takes, at most."""
    sent_bytes: int
    """Bytes that go from machine to machine in a sweep."""

    @property
    def sweep(self) -> float:
        """Seconds a sweep."""
        return self.compute + self.scheduling + self.sending


def bytes_of_rows(frequencies: NDArray[np.int64], topics: int) -> int:
    """The word rows of a vocabulary: four bytes for each topic that a word may have, rounded up."""
    return int(4 * ((np.minimum(frequencies, topics) + 15) // 16 * 16).sum())


def bytes_that_travel(frequencies: NDArray[np.int64], topics: int) -> int:
    """The word rows as they go from machine to machine, without the room of topics to come: at most four bytes for each
    topic that a word may have, and six a word."""
    dense = -(-topics // 16) * 16
    return int((4 * np.where(frequencies > dense - 16, dense, np.minimum(frequencies, topics)) + 6).sum())


def estimate_sweep(
    tokens: int, documents: int, rows: tuple[int, int], levels: ScheduleLevels, workers: int, threads: int, parts: Parts
) -> Estimate:
    """A sweep over machines of so many threads; `rows`: `bytes_of_rows` and `bytes_that_travel`."""
    outer, inner = levels
    busy = min(outer, workers)
    held = -(-outer // busy)  # shards of a machine
    used = min(threads, inner * held) * busy
    compute = tokens * parts.token / used
    tasks = TASKS_A_CELL * outer * outer
    sent = rows[1] if busy > 1 else 0  # after the last round a block goes on to where the next sweep begins
    worker = held * (
        tokens * (4 + 2 * 3) // outer + 8 * (levels.partitions + 3) * documents // outer + 3 * rows[0] // outer
    )
    scheduling = tasks * parts.task + TASKS_A_CELL * outer * parts.step
    return Estimate(compute, scheduling, sent * held / parts.rate if busy > 1 else 0.0, worker, sent * outer)
