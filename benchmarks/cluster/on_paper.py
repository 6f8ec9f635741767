"""Seconds a sweep on clusters that nobody has here: from measured parts (`topicx.sampling.ring.estimates`).

    python benchmarks/cluster/on_paper.py [--topics 1000] [--cores 16] [--memory 256]
    python benchmarks/cluster/on_paper.py --measure --out DIR [--corpus big.corpus] [--topics 100,1000]

The parts stand in `measured_parts.json`: seconds a token on one thread by the number of topics, those of the scheduler
a task, seconds from a task to the next. `--measure` takes them anew on this machine, which shall do nothing else: a
synthetic corpus (benchmarks/speed/big.py) or one of yours, after ten sweeps; two local workers for the tasks. It looks
at what two workers send each other in a sweep beside what the estimate says, too.

Words follow a law of Zipf with exponent 1; a vocabulary has so many words as there are tokens to the power .65, 50
million at most. A dash: what a machine would hold does not fit in its memory.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from topicx.corpus.corpus import Corpus
from topicx.engines.dask_cluster import Dask
from topicx.engines.threads import Threads
from topicx.run import Run
from topicx.sampling.ring.estimates import Parts, bytes_of_rows, bytes_that_travel, estimate_sweep
from topicx.sampling.run_options import Options
from topicx.sampling.schedule import ScheduleLevels

TOKENS = (10**9, 10**10, 10**11, 10**12)
MACHINES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
NETWORKS = (1, 10, 100)
LENGTH = 250
MEASURED = Path(__file__).with_name("measured_parts.json")


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


def measure(corpus: Corpus, topics: list[int], sweeps: int, folder: Path) -> dict[str, Any]:
    """The parts, on this machine."""
    parts: dict[str, Any] = {"token": {}, "sent": {}}
    with Dask("local:2", shared=folder, threads=2) as engine:
        parts |= {name: engine.places.measured()[name] for name in ("task", "step")}
        client = engine.places.client
        for number in topics:
            parts["token"][str(number)] = _seconds_a_token(corpus, number, sweeps)
            run = _started(corpus, number, "2x1", engine)
            run.chain.advance(2)
            before = _sent_bytes(client)
            run.chain.advance(2)
            sent = (_sent_bytes(client) - before) // 2
            told = run.chain.method.estimates()[0].sent_bytes  # type: ignore[attr-defined]
            parts["sent"][str(number)] = {"measured": sent, "estimated": told}
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=MEASURED.parent)
    about = f"{corpus.n_tokens:,} tokens, {corpus.n_documents:,} documents, {corpus.n_words:,} words"
    return parts | {"corpus": about, "commit": head.stdout.strip(), "date": str(datetime.date.today())}


def _started(corpus: Corpus, topics: int, partitions: int | str, engine: Any) -> Run:
    options = Options(topics=topics, iterations=1000, start="random", partitions=partitions, trace_interval=10**6)
    run = Run.start(corpus, options, engine)
    run.chain.begin()
    return run


def _seconds_a_token(corpus: Corpus, topics: int, sweeps: int) -> float:
    """In cells as a machine of 16 cores has them, on one thread."""
    with Threads(1) as engine:
        run = _started(corpus, topics, 16, engine)
        run.chain.advance(2 * sweeps)
        taken = []
        for _ in range(sweeps):
            began = time.perf_counter()
            run.chain.advance(1)
            taken.append(time.perf_counter() - began)
    return statistics.median(taken) / corpus.n_tokens


def _sent_bytes(client: Any) -> int:
    return int(sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values()))


def print_tables(topics: int, token: float, task: float, step: float, cores: int, memory: float) -> None:
    print(f"\n{topics} topics: {token * 1e9:.0f} ns a token, {task * 1e3:.2f} ms a task, {step * 1e3:.1f} ms a step")
    for network in NETWORKS:
        print(f"\n{network} Gbit/s, {topics} topics, machines of {cores} cores and {memory:g} GB\n")
        print("| machines | " + " | ".join(f"{tokens:.0e} tokens" for tokens in TOKENS) + " |")
        print("|---|" + "---|" * len(TOKENS))
        parts = Parts(token, task, step, network * 1e9 / 8)
        for machines in MACHINES:
            cells = []
            for tokens in TOKENS:
                found = estimate_sweep(
                    tokens, tokens // LENGTH, rows_of(tokens, topics), ScheduleLevels(machines, cores), machines, cores,
                    parts,
                )  # fmt: skip
                if found.worker_bytes > memory * 1e9:
                    cells.append("–")
                    continue
                most = max(("sampling", found.compute), ("tasks", found.scheduling), ("network", found.sending),
                           key=lambda part: part[1])[0]  # fmt: skip
                cells.append(f"{told(found.sweep)} ({most})")
            print(f"| {machines} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", default="100,1000")
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--memory", type=float, default=256, help="GB of a machine")
    parser.add_argument("--measure", action="store_true", help="take the parts anew")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--tokens", type=float, default=2e7, help="of a synthetic corpus")
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--parts", type=Path, default=MEASURED)
    parser.add_argument("--out", type=Path, help="a folder for scratch files")
    given = parser.parse_args()
    topics = [int(number) for number in given.topics.split(",")]
    if given.measure:
        if given.out is None:
            parser.error("--measure needs --out")
        path = given.corpus or given.out / f"big.{int(given.tokens)}.corpus"
        if not path.exists():
            sys.path.insert(0, str(Path(__file__).parents[1] / "speed"))
            from big import make

            make(path, int(given.tokens))
        found = measure(Corpus.load(path), topics, given.sweeps, given.out)
        given.parts.write_text(json.dumps(found, indent=2) + "\n")
    parts = json.loads(given.parts.read_text())
    print(f"measured: {parts['corpus']}; commit {parts['commit']}, {parts['date']}")
    for number, sent in parts["sent"].items():
        print(
            f"sent a sweep, {number} topics: {sent['measured'] / 1e6:.0f} MB, estimated {sent['estimated'] / 1e6:.0f}"
        )
    for number in topics:
        print_tables(number, parts["token"][str(number)], parts["task"], parts["step"], given.cores, given.memory)


if __name__ == "__main__":
    main()
