"""`topicx infer` by two workers of one thread beside two threads of one process: seconds from call to end, same bytes.

    python benchmarks/cluster/infer_beside_threads.py --corpus imdb.corpus --model imdb.model --out DIR
    python benchmarks/cluster/infer_beside_threads.py --quick --out DIR

The documents of the corpus are repeated until there are so many as asked. Turns alternate; figures are medians, for a
machine that does nothing else.
"""

from __future__ import annotations

import argparse
import filecmp
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from topicx.corpus.corpus import Corpus
from topicx.datasets import make

TOPICX = [sys.executable, "-m", "topicx"]
WAYS = {"threads": ["--threads", "2"], "workers": ["--cluster", "local:2", "--threads", "2"]}


def repeated(corpus: Corpus, documents: int, path: Path) -> Path:
    """The documents again and again, as a file."""
    corpus.select(np.arange(documents) % corpus.n_documents).save(path)
    return path


def seconds_of(call: list[str]) -> tuple[float, float]:
    """Seconds by the clock, and of processors, until a command has ended with all of its processes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*TOPICX, *call, "--quiet"], check=True)
    taken, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="a corpus file; else a synthetic one")
    parser.add_argument("--model", type=Path, help="a model; else one of 100 topics is trained for 50 sweeps")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--format", default="tsv")
    parser.add_argument("--quick", action="store_true", help="a tiny corpus, once: does it run?")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.quick:
        given.documents, given.rounds = 3000, 1
    corpus = Corpus.load(given.corpus) if given.corpus else make("zipf", documents=500 if given.quick else 50_000)
    path = repeated(corpus, given.documents, given.out / "repeated.corpus")
    model = given.model or given.out / "beside.model"
    if not model.exists():
        topics, sweeps = ("5", "5") if given.quick else ("100", "50")
        subprocess.run([*TOPICX, "train", str(given.corpus or path), "-k", topics, "--iterations", sweeps, "-q", "-o",
                        str(model)], check=True)  # fmt: skip
    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    outputs = {way: given.out / f"{way}.{given.format}" for way in WAYS}
    for _ in range(given.rounds):
        for way, more in WAYS.items():
            taken[way].append(seconds_of(["infer", str(model), str(path), "-o", str(outputs[way]), *more]))
    assert filecmp.cmp(*outputs.values(), shallow=False), "the outputs differ"
    clock = {way: statistics.median(one[0] for one in each) for way, each in taken.items()}
    for way, each in taken.items():
        told = ", ".join(f"{one[0]:.1f}" for one in each)
        print(f"{way}: {clock[way]:.1f} s ({told}), {statistics.median(one[1] for one in each):.1f} of processors")
    print(f"{given.documents:,} documents, the same bytes; {clock['threads'] / clock['workers']:.2f} of the speed")


if __name__ == "__main__":
    main()
