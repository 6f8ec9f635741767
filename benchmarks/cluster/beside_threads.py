"""Two worker processes of one thread beside two threads of one process: sweeps, bytes sent, tasks held.

    python benchmarks/cluster/beside_threads.py --corpus big.corpus --topics 100,1000 --sweeps 6 --out DIR
    python benchmarks/cluster/beside_threads.py --tokens 2e7 --topics 100 --out DIR

Without --corpus one is drawn (benchmarks/speed/big.py). Both train by the same schedule (2x1) to the same topics, which
is looked at; turns alternate. Figures are for a machine that does nothing else. `infer_beside_threads.py` has
inference.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "speed"))
from big import make

from topicx.corpus.corpus import Corpus
from topicx.engines.dask_cluster import Dask
from topicx.engines.threads import Threads
from topicx.run import Run
from topicx.sampling.run_options import Options


def sent_bytes(client: Any) -> int:
    """Bytes that workers have sent to each other so far."""
    found = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
    return int(sum(found.values()))


def busy_seconds(client: Any) -> tuple[float, float]:
    """Processor seconds so far: of this process, which has the scheduler in it, and of all workers."""
    return time.process_time(), sum(client.run(time.process_time).values())


def train(corpus: Corpus, topics: int, sweeps: int, engines: dict[str, Any]) -> None:
    options = Options(topics=topics, iterations=3 * sweeps, start="random", partitions="2x1", trace_interval=10**6)
    runs = {name: Run.start(corpus, options, engine) for name, engine in engines.items()}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run.chain.begin()
    client = engines["workers"].places.client
    sent, held = 0, 0
    busy: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(sweeps):
        for name, run in runs.items():
            before = sent_bytes(client) if name == "workers" else 0
            used = busy_seconds(client)
            began = time.perf_counter()
            run.chain.advance(1)
            seconds[name].append(time.perf_counter() - began)
            busy[name].append(tuple(now - then for now, then in zip(busy_seconds(client), used, strict=True)))
            if name == "workers":
                sent = sent_bytes(client) - before
                held = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
    totals = [run.chain.method.totals for run in runs.values()]  # type: ignore[attr-defined]
    assert np.array_equal(*totals), "the runs differ"
    a, b = (statistics.median(seconds[name][1:]) for name in ("threads", "workers"))
    print(
        f"K={topics}: threads {a:.3f} s a sweep ({corpus.n_tokens / a / 1e6:.1f} M tokens/s), workers {b:.3f} s: "
        f"{a / b:.2f} of the speed; {sent / 1e6:.1f} MB sent a sweep, {held} tasks held",
        flush=True,
    )
    for name, each in busy.items():
        here, there = (statistics.median(part) for part in zip(*each[1:], strict=True))
        print(f"  {name}: processor seconds a sweep: this process {here:.3f}, workers {there:.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--tokens", type=float, default=2e7)
    parser.add_argument("--topics", default="100,1000")
    parser.add_argument("--sweeps", type=int, default=6)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    path = given.corpus or given.out / f"big.{int(given.tokens)}.corpus"
    if not path.exists():
        make(path, int(given.tokens))
    corpus = Corpus.load(path)
    engines = {"threads": Threads(2), "workers": Dask("local:2", shared=given.out, threads=2)}
    print(f"{corpus.n_tokens:,} tokens, {corpus.n_documents:,} documents, {corpus.n_words:,} words", flush=True)
    for topics in given.topics.split(","):
        train(corpus, int(topics), given.sweeps, engines)
    engines["workers"].close()


if __name__ == "__main__":
    main()
