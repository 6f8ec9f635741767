"""What comes out with no option but the number of topics, and what it costs: ours, MALLET's and tomotopy's.

Each program trains on the same documents in a process of its own, with one thread and its own defaults; seconds are of
the processor, from the start of the process to its end, files read and written included. One evaluator judges every
program's own φ and α: perplexity by completion of documents held out, and NPMI of the ten top words in the documents
trained on (whole documents).

    python benchmarks/speed/default_run.py --data DIR --mallet DIR --part default   each program's default
    python benchmarks/speed/default_run.py --data DIR --mallet DIR --part curve     after 1, 20 … sweeps
    python benchmarks/speed/default_run.py --data DIR --part ten        what ten times as many sweeps would gain
    python benchmarks/speed/default_run.py --data DIR --mallet DIR --part sooner    when ours has MALLET's 200 sweeps
    python benchmarks/speed/default_run.py --figure FILE                               a picture of the curves

Results are kept by corpus, topics, program and seed: it goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np

from topicx.bench import bench_runs, comparison
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.evaluate.coherence import coherence
from topicx.evaluate.completion import completion_perplexity
from topicx.model import Model
from topicx.run import Run
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Event, Interrupted

CORPORA = (
    "20news-3000", "imdb-3000", "uci-kos", "reuters21578", "nips0-12", "20news-bydate", "20news-lda", "imdb",
)  # fmt: skip
HELD_OUT = 800
"""Documents held out, a tenth of the corpus at most."""
OURS = (1, 20, 60, 200, 1000)
MALLET = (50, 200, 1000)
"""The sweeps at which a curve is looked at."""
TOMOTOPY = """
import sys, time, numpy, tomotopy
topics, words, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
model = tomotopy.LDAModel(k=topics, seed=int(sys.argv[4]))
for line in open(words):
    model.add_doc(line.split())
model.train(1000, workers=1)
phi = numpy.stack([model.get_topic_word_dist(k) for k in range(topics)]).astype(numpy.float32)
numpy.savez(out, phi=phi, alpha=model.alpha, vocabulary=numpy.array(model.used_vocabs))
"""
"""Its default is no number of sweeps: it has MALLET's here; the priors are its own (α learnt every 10)."""


class Documents:
    """A corpus cut in two, and what programs read of it, in one folder."""

    def __init__(self, name: str, given: common.Bench) -> None:
        folder = given.out / "default_run"
        folder.mkdir(exist_ok=True)
        self.name, self.folder, self.quick = name, folder, given.quick
        train, test = folder / f"{name}.train.corpus", folder / f"{name}.test.corpus"
        if not train.exists():
            corpus = given.corpus(name)
            settings = comparison.Settings(held_out=min(0.1, HELD_OUT / corpus.n_documents))
            for part, path in zip(bench_runs.split_held_out(corpus, settings), (train, test), strict=True):
                part.save(path)
        self.path, self.train, self.test = train, Corpus.load(train), Corpus.load(test)

    def lines(self, head: str = "") -> Path:
        """The documents as lines of words w0, w1 …, for other programs."""
        path = self.folder / f"{self.name}{'.named' if head else ''}.txt"
        if not path.exists():
            train = self.train
            with path.open("w") as out:
                for number, (begin, end) in enumerate(zip(train.offsets[:-1], train.offsets[1:], strict=True)):
                    words = " ".join(f"w{word}" for word in train.words[begin:end])
                    out.write(head.format(number) + words + "\n")
        return path

    def judge(self, phi: Any, alpha: Any) -> dict[str, float]:
        """Perplexity and NPMI of a program's own φ and α."""
        vocabulary = list(self.train.vocabulary)
        tops = [[vocabulary[word] for word in np.argsort(-row, kind="stable")[:10]] for row in phi]
        settings = {"burn_in": 5, "samples": 5} if self.quick else {"burn_in": 30, "samples": 20}
        perplexity = completion_perplexity(phi, alpha, self.test, share=0.5, seed=1, **settings)
        return {"perplexity": perplexity, "npmi": coherence(tops, self.train, "npmi", window=0).mean}


def spent(command: Sequence[str], hear: Callable[[str], object] = lambda line: None, **more: str) -> dict[str, float]:
    """Seconds of the processor and of the clock that a command takes; `hear` gets its lines."""
    begun = time.monotonic()
    process = subprocess.Popen(
        command, env=os.environ | {"MALLET_MEMORY": "3g"} | more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    for line in process.stdout or ():
        hear(line)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {process.returncode}")
    return {"seconds": usage.ru_utime + usage.ru_stime, "wall": time.monotonic() - begun}


def ours(documents: Documents, topics: int, seed: int, *options: str) -> dict[str, float]:
    """`topicx train` with these options."""
    with tempfile.TemporaryDirectory() as place:
        path = str(Path(place) / "model")
        command = [sys.executable, "-m", "topicx", "train", str(documents.path), "-k", str(topics), "-o", path]
        row = spent([*command, "--seed", str(seed), "--threads", "1", *options])
        model = Model.load(path)
        found = documents.judge(model.topic_word, model.alpha[0])
        return row | found | {"sweeps": model.meta["iterations"]}


def mallet(
    folder: Path, documents: Documents, topics: int, seed: int, sweeps: int = 1000, interval: int = 0
) -> dict[str, float]:
    """`mallet train-topics` with its defaults but for these."""
    call, imported = str(folder / "bin" / "mallet"), documents.folder / f"{documents.name}.mallet"
    if not imported.exists():
        texts = str(documents.lines("{} - "))
        reading = ["--input", texts, "--output", str(imported), "--keep-sequence", "--token-regex", r"\S+"]
        spent([call, "import-file", *reading])
    with tempfile.TemporaryDirectory() as place:
        counts, keys = str(Path(place) / "counts"), str(Path(place) / "keys")
        beta = 0.01

        def hear(line: str) -> None:
            nonlocal beta
            if said := re.search(r"\[beta: ([\d.E-]+)\]", line):
                beta = float(said[1])

        row = spent(
            [call, "train-topics", "--input", str(imported), "--num-topics", str(topics), "--num-iterations",
             str(sweeps), "--optimize-interval", str(interval), "--num-threads", "1", "--random-seed", str(seed),
             "--word-topic-counts-file", counts, "--output-topic-keys", keys], hear,
        )  # fmt: skip
        phi = np.full((topics, documents.train.n_words), beta)
        for line in Path(counts).read_text().splitlines():
            _, word, *entries = line.split()
            for entry in entries:
                topic, _, count = entry.partition(":")
                phi[int(topic), int(word[1:])] += int(count)
        alpha = np.array([float(line.split("\t")[1]) for line in Path(keys).read_text().splitlines()])
        alpha = np.maximum(alpha, 5e-6)  # it prints five decimals
    return row | documents.judge(phi / phi.sum(axis=1, keepdims=True), alpha) | {"sweeps": sweeps}


def tomotopy(python: str, documents: Documents, topics: int, seed: int) -> dict[str, float]:
    """tomotopy with its own priors."""
    with tempfile.TemporaryDirectory() as place:
        path = str(Path(place) / "found.npz")
        row = spent([python, "-c", TOMOTOPY, str(topics), str(documents.lines()), path, str(seed)])
        with np.load(path) as found:
            phi = np.full((topics, documents.train.n_words), 1e-12)
            phi[:, [int(word[1:]) for word in found["vocabulary"]]] = found["phi"]
            return row | documents.judge(phi / phi.sum(axis=1, keepdims=True), found["alpha"]) | {"sweeps": 1000}


def ten_times(documents: Documents, topics: int, seed: int) -> dict[str, float]:
    """What a run that ended by itself would have gained in ten times as many sweeps: it goes on."""
    with tempfile.TemporaryDirectory() as place:
        model, saved = str(Path(place) / "model"), str(Path(place) / "saved")
        call = [sys.executable, "-m", "topicx", "train"]
        kept = ["--checkpoint", saved, "--checkpoint-interval", "1000000", "--threads", "1", "-o", model]
        row = spent([*call, str(documents.path), "-k", str(topics), "--seed", str(seed), *kept])
        first = Model.load(model)
        sweeps = int(first.meta["iterations"])
        found = documents.judge(first.topic_word, first.alpha[0])
        spent([*call, "--resume", saved, "--iterations", str(10 * sweeps), *kept])
        last = Model.load(model)
        later = documents.judge(last.topic_word, last.alpha[0])
        return row | found | {"sweeps": sweeps, "later": later["perplexity"], "later_npmi": later["npmi"]}


def when_it_has(documents: Documents, topics: int, seed: int, goal: float) -> dict[str, float]:
    """When a default run has no more than this perplexity: it is looked at on its way, every second step (with many
    topics: every fifth), by the counts of one state. The seconds are of the processor, those of the program's start
    included, those of the looks not."""
    start = "import sys, topicx.cli.train; from topicx.corpus.corpus import Corpus; Corpus.load(sys.argv[1])"
    seconds = spent([sys.executable, "-c", start, str(documents.path)])["seconds"]
    begun, looking = time.process_time(), 0.0
    found: dict[str, float] = {}
    run = Run.start(documents.train, Options(topics=topics, seed=seed), Threads(1))

    def look(event: Event) -> None:
        nonlocal looking
        step, made = event.step, event.position
        if found or step.kind not in ("soft", "hot", "sweep") or made % (2 if topics <= 100 else 5):
            return
        now = time.process_time()
        model = run.glance()
        judged = documents.judge(model.topic_word, model.alpha[0])
        if judged["perplexity"] <= goal:
            place = f"{step.kind} {step.sweep or made - run.chain.hardens + run.chain.soft * (step.kind == 'soft')}"
            found.update(judged, goal=goal, seconds=seconds + now - begun - looking, step=place)
        looking += time.process_time() - now

    with contextlib.suppress(Interrupted):
        run.train([look], stop=lambda: bool(found))
    return found or {"goal": goal}


def arguments_of(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--mallet", type=Path, metavar="DIR", help="MALLET's folder (with bin/mallet)")
    parser.add_argument("--peer", metavar="PYTHON", help="a Python that has tomotopy")
    parser.add_argument("--part", choices=["default", "curve", "ten", "sooner"], default="default")
    parser.add_argument("--cases", default="", metavar="NAME:K,…", help="these corpora and numbers of topics alone")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw the curves that are known")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing more after so many")
    return parser.parse_known_args(arguments)


def measurements(
    own: argparse.Namespace, documents: Documents, topics: int, seeds: list[int], store: common.Store
) -> dict[str, Any]:
    """What is to be measured: by key, how, one after the other; `store` has what was before."""
    key = f"{documents.name} K={topics}"
    if own.part == "ten":
        return {f"{key} ten seed={seed}": lambda seed=seed: ten_times(documents, topics, seed) for seed in seeds}
    if own.part == "sooner":
        theirs = f"{key} mallet 0 200 seed=1"
        return {theirs: lambda: mallet(own.mallet, documents, topics, 1, 200)} | {
            f"{key} sooner seed={seed}": lambda seed=seed: when_it_has(
                documents, topics, seed, store.values[theirs]["perplexity"]
            )
            for seed in seeds
        }
    found: dict[str, Any] = {
        f"{key} topicx auto seed={seed}": lambda seed=seed: ours(documents, topics, seed) for seed in seeds
    }
    if own.part == "curve":
        for sweeps in OURS:
            found[f"{key} topicx {sweeps} seed=1"] = lambda sweeps=sweeps: ours(
                documents, topics, 1, "--iterations", str(sweeps)
            )
    if own.mallet:
        for interval in (0, 10):
            for sweeps in MALLET if own.part == "curve" else (1000,):
                found[f"{key} mallet {interval} {sweeps} seed=1"] = lambda sweeps=sweeps, interval=interval: mallet(
                    own.mallet, documents, topics, 1, sweeps, interval
                )
    if own.peer:
        found[f"{key} tomotopy seed=1"] = lambda: tomotopy(own.peer, documents, topics, 1)
    return found


def table(values: dict[str, dict[str, float]], cases: Sequence[tuple[str, int]]) -> None:
    """Lines of docs: seconds, perplexity and NPMI of each program's default."""
    print("| corpus, K | program | seconds | perplexity | NPMI |\n|---|---|---|---|---|")
    for name, topics in cases:
        key = f"{name} K={topics}"
        for label, start in {
            "topicx": "topicx auto", "MALLET": "mallet 0 1000", "MALLET, priors learnt": "mallet 10 1000",
            "tomotopy": "tomotopy",
        }.items():  # fmt: skip
            rows = [row for known, row in values.items() if known.startswith(f"{key} {start} ")]
            if rows:
                told = [common.spread([row[what] for row in rows], form)
                        for what, form in (("seconds", ".1f"), ("perplexity", ".1f"), ("npmi", ".4f"))]  # fmt: skip
                print(f"| {key} | {label} | {' | '.join(told)} |")


def ten_table(values: dict[str, dict[str, float]]) -> None:
    """Lines of docs: what ten times as many sweeps gain."""
    print("| corpus, K | seed | sweeps | perplexity | after ten times as many | gained |\n|---|---|---|---|---|---|")
    for key, row in values.items():
        if " ten " in key:
            case, _, seed = key.partition(" ten seed=")
            gained = 1 - row["later"] / row["perplexity"]
            numbers = f"{row['sweeps']:.0f} | {row['perplexity']:.1f} | {row['later']:.1f} | {gained:.2%}"
            print(f"| {case} | {seed} | {numbers} |")


def draw(values: dict[str, dict[str, float]], path: Path) -> None:
    """Perplexity and NPMI against seconds, a row a corpus."""
    import matplotlib

    matplotlib.use("svg" if path.suffix == ".svg" else "agg")
    from matplotlib import pyplot, ticker

    cases = list(dict.fromkeys(key.split(" topicx ")[0] for key in values if " topicx 20 " in key))
    figure, axes = pyplot.subplots(len(cases), 2, figsize=(9, 3.4 * len(cases) + 0.5), squeeze=False)
    lines = {"topicx, --iterations N": (" topicx ", "C0"), "MALLET": (" mallet 0 ", "C1"),
             "MALLET, priors learnt": (" mallet 10 ", "C3")}  # fmt: skip
    for case, pair in zip(cases, axes, strict=True):
        for axis, (what, title) in zip(pair, (("perplexity", "perplexity"), ("npmi", "NPMI")), strict=True):
            for label, (mark, colour) in lines.items():
                seeds: dict[str, list[tuple[float, float]]] = {}
                for key, one in values.items():
                    if key.startswith(case + mark) and " auto " not in key:
                        seeds.setdefault(key.partition(" seed=")[0], []).append((one["seconds"], one[what]))
                points = sorted(tuple(np.mean(several, axis=0)) for several in seeds.values())
                if points:
                    axis.plot(*zip(*points, strict=True), "o-", color=colour, label=label, ms=5)
            found = [one for key, one in values.items() if key.startswith(f"{case} topicx auto ")]
            axis.plot([one["seconds"] for one in found], [one[what] for one in found], "*", color="C2", ms=13,
                      label="topicx, the default (a star a seed)")  # fmt: skip
            axis.set_xscale("log")
            axis.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
            axis.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
            axis.xaxis.set_minor_formatter(ticker.NullFormatter())
            axis.grid(alpha=0.3)
            axis.set_title(f"{case}: {title}", fontsize=11)
            axis.set_xlabel("seconds of the processor")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), fontsize=9, frameon=False)
    figure.tight_layout(rect=(0, 0.09 / len(cases), 1, 1))
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> list[common.Figure]:
    own, rest = arguments_of(arguments)
    given = common.start(__doc__ or "", rest)
    store = given.store("default_run")
    if own.figure:
        draw(store.values, own.figure)
        return []
    cases = [(name, topics) for topics in (100, 1000) for name in CORPORA]
    if own.cases:
        cases = [(name, int(topics)) for name, topics in (case.split(":") for case in own.cases.split(","))]
    if given.quick:
        cases = [("quick", 5)]
    begun = time.monotonic()
    for name, topics in cases:
        documents = Documents(name, given)
        for key, measure in measurements(own, documents, topics, given.seeds, store).items():
            if time.monotonic() - begun < own.seconds or key in store.values:
                print(key, json.dumps(store.get(key, measure)), flush=True)
    table(store.values, cases)
    ten_table(store.values)
    return []


if __name__ == "__main__":
    main()
