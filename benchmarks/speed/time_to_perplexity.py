"""Seconds to the held-out perplexity that the best peer has after 200 sweeps: tomotopy, and MALLET where given.

One thread, α=0.1, β=0.01, nothing learnt of them, our defaults (`auto`), and one evaluator for every program's φ. A
peer's run is measured once for each corpus and number of topics (its seconds hardly depend on the seed), ours with each
seed on the same documents. The goal is the perplexity of each peer; the figure is that of the peer harder to beat.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import common
import numpy as np

from topicx.bench import bench_runs, comparison
from topicx.corpus.corpus import Corpus
from topicx.evaluate.completion import completion_perplexity

CORPORA = (
    "20news-3000", "imdb-3000", "uci-kos", "reuters21578", "nips0-12", "20news-bydate", "20news-lda", "imdb",
)  # fmt: skip
LONG = ("nips0-12",)
"""Corpora of long documents, where more is asked."""
SWEEPS = 200
OURS = 200
"""Sweeps after which ours end, if they have not reached the goals before."""


def must(name: str, topics: int) -> str:
    """What is asked: of MALLET and tomotopy alike with few topics, of each apart with many."""
    return "10" if topics < 1000 and name in LONG else "6" if topics < 1000 else "4 (MALLET), 16 (tomotopy)"


def mallet(folder: Path, train: Corpus, test: Corpus, settings: comparison.Settings) -> dict[str, float]:
    """MALLET's seconds for its sweeps, from the line that says they begin, and the perplexity of the φ it leaves."""
    call = str(folder / "bin" / "mallet")
    environment = os.environ | {"MALLET_MEMORY": "3g"}
    with tempfile.TemporaryDirectory() as place:
        texts, imported, counts = (str(Path(place) / name) for name in ("texts", "imported", "counts"))
        with Path(texts).open("w") as out:
            for number, (begin, end) in enumerate(zip(train.offsets[:-1], train.offsets[1:], strict=True)):
                out.write(f"{number} - " + " ".join(f"w{word}" for word in train.words[begin:end]) + "\n")
        subprocess.run(
            [call, "import-file", "--input", texts, "--output", imported, "--keep-sequence", "--token-regex", r"\S+"],
            check=True, capture_output=True, env=environment,
        )  # fmt: skip
        process = subprocess.Popen(
            [
                call, "train-topics", "--input", imported, "--num-topics", str(settings.topics), "--num-iterations",
                str(SWEEPS), "--alpha", str(settings.alpha * settings.topics), "--beta", str(settings.beta),
                "--optimize-interval", "0", "--num-threads", "1", "--random-seed", str(settings.seed),
                "--show-topics-interval", "100000", "--word-topic-counts-file", counts,
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        began = seconds = 0.0
        for line in process.stderr or ():
            now = _spent(process.pid) if settings.clock == "cpu" else time.perf_counter()
            if "total tokens" in line:
                began = now
            elif "Total time" in line or f"<{SWEEPS}>" in line:
                seconds = seconds or now - began
        if process.wait() or not seconds:
            raise RuntimeError(f"MALLET ended with status {process.returncode}")
        phi = read_counts(Path(counts), settings.topics, train.n_words, settings.beta)
    return {"seconds": seconds, "perplexity": judge(phi, test, settings)}


def _spent(pid: int) -> float:
    """Processor seconds of a process and of its children that have ended, so far (Linux). `bin/mallet` becomes java."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = sum(int(value) for value in fields[11:15])
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        own += sum(int(value) for value in fields[11:15])
    return own / os.sysconf("SC_CLK_TCK")


def read_counts(path: Path, topics: int, words: int, beta: float) -> np.ndarray[Any, Any]:
    """φ of MALLET's word-topic counts: `number word topic:count …`, words as they were written above."""
    phi = np.full((topics, words), beta)
    for line in path.open():
        _, word, *entries = line.split()
        for entry in entries:
            topic, count = re.split(":", entry)
            phi[int(topic), int(word[1:])] += int(count)
    return np.asarray(phi / phi.sum(axis=1, keepdims=True))


def judge(phi: np.ndarray[Any, Any], test: Corpus, settings: comparison.Settings) -> float:
    """The perplexity, by the same call that judges every program (topicx.bench.bench_runs)."""
    return completion_perplexity(
        phi, np.full(settings.topics, settings.alpha), test, share=settings.share, seed=settings.seed,
        burn_in=settings.burn_in, samples=settings.samples,
    )  # fmt: skip


def library(name: str, train: Corpus, test: Corpus, settings: comparison.Settings) -> dict[str, float]:
    """Another program of `topicx bench`: the same of it."""
    run = run_of(name, train, test, replace(settings, iterations=SWEEPS if settings.iterations > 20 else 20))
    return {"seconds": run.rows[-1].total, "perplexity": run.rows[-1].perplexity or math.nan}


def run_of(name: str, train: Corpus, test: Corpus, settings: comparison.Settings) -> comparison.Trial:
    with tempfile.TemporaryDirectory() as folder:
        train.save(Path(folder) / "train.corpus")
        return bench_runs.run_program(name, train, test, Path(folder), settings, common.note)


def ours(
    train: Corpus, test: Corpus, settings: comparison.Settings, peers: dict[str, Any], seed: int
) -> dict[str, Any]:
    """Our default, as long as the slowest peer at most: seconds and perplexity at each look."""
    limit = max([peer["seconds"] for peer in peers.values()], default=settings.limit)
    run = run_of("auto", train, test, replace(settings, seed=seed, iterations=settings.iterations, limit=limit))
    if not run.measured:
        raise RuntimeError(f"nothing was measured: {run.problem}")
    return {"about": run.about, "rows": [[row.sweep, row.total, row.perplexity] for row in run.measured]}


def seconds_to(rows: Sequence[Sequence[Any]], goal: float) -> float | None:
    looks = [comparison.Row(int(sweep), sweep, seconds, perplexity, None) for sweep, seconds, perplexity in rows]
    return comparison.seconds_to(looks, "perplexity", goal)


def figure(name: str, topics: int, peers: dict[str, Any], found: list[dict[str, Any]]) -> common.Figure:
    """The line of a corpus and a number of topics."""
    told, hardest = [], math.inf
    for peer, goal in peers.items():
        times = [seconds_to(one["rows"], goal["perplexity"]) for one in found]
        known = [seconds for seconds in times if seconds]
        ratios = [goal["seconds"] / seconds for seconds in known]
        said = f"{peer} {goal['seconds']:.1f} s → {goal['perplexity']:.1f}"
        if known:
            told.append(f"{said}: {common.spread(ratios)}, ours {common.spread(known)} s")
        else:
            last = min(one["rows"][-1][2] for one in found)
            told.append(f"{said}: not reached in {found[0]['rows'][-1][1]:.0f} s ({last:.1f})")
        hardest = min(hardest, common.median(ratios) if len(known) == len(found) else 0.0)
    start = found[0]["about"].get("start", "")
    command = "python benchmarks/speed/time_to_perplexity.py --data DIR --mallet DIR"
    label = f"best peer's seconds for {SWEEPS} sweeps / ours to its perplexity, {name}, K={topics} ({start} start)"
    return common.Figure(label, must(name, topics), f"{hardest:.1f} ({'; '.join(told)})", command)


def arguments_of(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--mallet", type=Path, metavar="DIR", help="MALLET's folder (with bin/mallet)")
    parser.add_argument("--cases", default="", metavar="NAME:K,…", help="these corpora and numbers of topics alone")
    parser.add_argument("--peers", default="tomotopy,mallet", metavar="NAME,…", help="these peers alone")
    return parser.parse_known_args(arguments)


def main(arguments: Sequence[str] | None = None) -> list[common.Figure]:
    own, rest = arguments_of(arguments)
    given = common.start(__doc__ or "", rest)
    store = given.store("time_to_perplexity")
    cases = [(name, topics) for topics in (100, 1000) for name in CORPORA]
    if own.cases:
        cases = [(name, int(topics)) for name, topics in (case.split(":") for case in own.cases.split(","))]
    figures = []
    for name, topics in [("quick", 5)] if given.quick else cases:
        settings = comparison.Settings(topics=topics, iterations=OURS, limit=1e9, density=1.3, clock=given.clock)
        if given.quick:
            settings = replace(settings, iterations=20, burn_in=5, samples=5)
        elif topics >= 1000:
            settings = replace(settings, burn_in=30, samples=15)
        train, test = bench_runs.split_held_out(given.corpus(name), settings)
        key, peers = f"{name} K={topics}", {}
        for peer in own.peers.split(","):
            if peer == "mallet" and own.mallet:
                peers[peer] = store.get(f"{key} mallet", lambda: mallet(own.mallet, train, test, settings))  # noqa: B023
            elif peer != "mallet" and bench_runs.is_installed(peer):
                sparse = replace(settings, density=1e9)
                peers[peer] = store.get(f"{key} {peer}", lambda: library(peer, train, test, sparse))  # noqa: B023
        if not peers:  # nothing to compare with: our own slowest
            peers["dense"] = store.get(f"{key} dense", lambda: library("dense", train, test, settings))  # noqa: B023
        found = [
            store.get(f"{key} ours seed={seed}", lambda: ours(train, test, settings, peers, seed))  # noqa: B023
            for seed in given.seeds
        ]
        figures.append(figure(name, topics, peers, found))
        print(figures[-1], flush=True)
    return figures


if __name__ == "__main__":
    common.show(main())
