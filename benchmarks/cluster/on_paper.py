"""Seconds a sweep on clusters that nobody has here: from measured parts (`topicx.sampling.ring.estimates`).

    python benchmarks/cluster/on_paper.py [--token 5e-8] [--task 1e-3] [--step 5e-3] [--topics 1000] [--cores 16]

The parts: seconds a token on one thread, seconds of the scheduler a task, seconds from a task to the next. Words follow
a law of Zipf with exponent 1; a vocabulary has so many words as there are tokens to the power .65, 50 million at most.
A dash: what a machine would hold does not fit in its memory.
"""

from __future__ import annotations

import argparse

import numpy as np

from topicx.sampling.ring.estimates import Parts, bytes_of_rows, bytes_that_travel, estimate_sweep
from topicx.sampling.schedule import ScheduleLevels

TOKENS = (10**9, 10**10, 10**11, 10**12)
MACHINES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
NETWORKS = (1, 10, 100)
LENGTH = 250


def rows_of(tokens: int, topics: int) -> tuple[int, int]:
    """The bytes of the word counts of such a corpus, where they are worked on and where they travel."""
    words = int(min(tokens**0.65, 50e6))
    ranks = np.unique(np.geomspace(1, words, 20_000).astype(np.int64))
    each = np.diff(np.append(ranks, words + 1))  # words that are about as frequent
    frequencies = (tokens / (np.log(words) + 0.577) / ranks).astype(np.int64)
    counted = [(number, np.array([f])) for number, f in zip(each.tolist(), frequencies.tolist())]
    held, sent = (
        sum(number * count(f, topics) for number, f in counted) for count in (bytes_of_rows, bytes_that_travel)
    )
    return held, sent


def told(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Parts()
    for name in ("token", "task", "step"):
        parser.add_argument(f"--{name}", type=float, default=getattr(default, name))
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--memory", type=float, default=256, help="GB of a machine")
    given = parser.parse_args()
    for network in NETWORKS:
        print(f"\n{network} Gbit/s, {given.topics} topics, machines of {given.cores} cores and {given.memory:g} GB\n")
        print("| machines | " + " | ".join(f"{tokens:.0e} tokens" for tokens in TOKENS) + " |")
        print("|---|" + "---|" * len(TOKENS))
        for machines in MACHINES:
            cells = []
            for tokens in TOKENS:
                parts = Parts(given.token, given.task, given.step, network * 1e9 / 8)
                levels = ScheduleLevels(machines, given.cores)
                found = estimate_sweep(
                    tokens, tokens // LENGTH, rows_of(tokens, given.topics), levels, machines, given.cores, parts
                )
                if found.worker_bytes > given.memory * 1e9:
                    cells.append("–")
                    continue
                most = max(("sampling", found.compute), ("tasks", found.scheduling), ("network", found.sending),
                           key=lambda part: part[1])[0]  # fmt: skip
                cells.append(f"{told(found.sweep)} ({most})")
            print(f"| {machines} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
