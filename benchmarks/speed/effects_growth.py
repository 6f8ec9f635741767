"""What effects cost by documents, topics and columns: documents of 150 words with planted topics.

    python benchmarks/speed/effects_growth.py
    python benchmarks/speed/effects_growth.py --whole --documents 1000000 --threads 2

Processor seconds of a sweep (from runs of 6 and 16), of the rest (arranging, two fits), and what 240 sweeps with 20
draws come to; bytes that the process has held at most. --whole runs one of the default length and tells the clock, too.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.corpus.table import Numbers, Table
from topicx.design.formula import ColumnName, Formula
from topicx.model import Model
from topicx.regression.estimation import EffectSettings, draw_effects
from topicx.strings import Strings

LENGTH, WORDS, PART = 150, 5_000, 20_000
GRID = (
    (10_000, 100, 10), (20_000, 100, 10), (40_000, 100, 10), (20_000, 50, 10), (20_000, 200, 10), (20_000, 100, 5),
    (20_000, 100, 20),
)  # fmt: skip
Floats = NDArray[np.float64]


def planted(documents: int, topics: int, columns: int, threads: int) -> tuple[Model, Corpus, Formula]:
    """Topics of few words; documents of two levels a column, so that rows of the design repeat."""
    rng = np.random.Generator(np.random.Philox(1))
    phi = rng.dirichlet(np.full(WORDS, 0.02), topics) + 1e-7
    phi /= phi.sum(axis=1, keepdims=True)
    design = rng.integers(0, 2, (documents, columns - 1)).astype(np.float64)
    effects = rng.normal(0, 0.3, (columns - 1, topics))
    over = np.cumsum(phi, axis=1) + np.arange(topics)[:, None]
    words = np.empty(documents * LENGTH, np.uint32)
    for begin in range(0, documents, PART):
        theta = rng.standard_gamma(0.05 * np.exp(design[begin : begin + PART] @ effects)) + 1e-12
        share = np.cumsum(theta / theta.sum(axis=1, keepdims=True), axis=1) + np.arange(len(theta))[:, None]
        at = np.repeat(np.arange(len(theta)), LENGTH)
        z = np.searchsorted(share.ravel(), at + rng.random(len(at))) - at * topics
        z = np.clip(z, 0, topics - 1)
        found = np.searchsorted(over.ravel(), z + rng.random(len(z))) - z * WORDS
        words[begin * LENGTH : begin * LENGTH + len(z)] = np.clip(found, 0, WORDS - 1)
    names = [f"x{j}" for j in range(columns - 1)]
    table = Table({name: Numbers(np.ascontiguousarray(design[:, j])) for j, name in enumerate(names)})
    vocabulary = Strings.of(f"w{word}" for word in range(WORDS))
    corpus = Corpus(words, np.arange(documents + 1, dtype=np.int64) * LENGTH, vocabulary, columns=table.packed())
    model = Model(
        vocabulary, np.full((1, topics), 0.05), np.full(WORDS, 0.01), np.arange(0, phi.size + 1, topics),
        np.tile(np.arange(topics, dtype=np.uint16), WORDS), np.ascontiguousarray(phi.T * 1e7).ravel(),
    )  # fmt: skip
    return model, corpus, Formula(((), *((ColumnName(name),) for name in names)))


def measured(documents: int, topics: int, columns: int, threads: int) -> str:
    """A row of the table."""
    model, corpus, formula = planted(documents, topics, columns, threads)
    seconds = []
    for burn_in in (4, 14):
        begin = time.process_time()
        draw_effects([model], corpus, formula, EffectSettings(draws=2, lag=2, burn_in=burn_in), threads)
        seconds.append(time.process_time() - begin)
    sweep = (seconds[1] - seconds[0]) / 10
    rest = seconds[0] - 6 * sweep
    usual = 240 * sweep + 10 * rest
    return f"| {documents:,} | {topics} | {columns} | {sweep:.3f} | {rest:.2f} | {usual:.0f} | {held()} |"


def whole(documents: int, topics: int, columns: int, threads: int) -> str:
    """One run as the command does it."""
    model, corpus, formula = planted(documents, topics, columns, threads)
    before = held()
    begin, clock = time.process_time(), time.monotonic()
    draw_effects([model], corpus, formula, EffectSettings(), threads)
    spent, passed = time.process_time() - begin, time.monotonic() - clock
    return f"{documents:,} documents: {spent:.0f} s of processors, {passed:.0f} s; {before} before, {held()} at most"


def held() -> str:
    """The most memory so far."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6:,.0f} MB"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--documents", type=int, default=0)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--whole", action="store_true")
    chosen = parser.parse_args()
    if chosen.documents:
        run = whole if chosen.whole else measured
        print(run(chosen.documents, chosen.topics, chosen.columns, chosen.threads), flush=True)
        return
    print("| Documents | Topics | Columns | A sweep (s) | The rest (s) | 240 sweeps, 20 draws (s) | Memory |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for documents, topics, columns in GRID:  # a process each, for its memory
        given = ["--documents", str(documents), "--topics", str(topics), "--columns", str(columns)]
        subprocess.run([sys.executable, __file__, *given, "--threads", str(chosen.threads)], check=True)


if __name__ == "__main__":
    main()
