"""What the speed scripts share: corpora, results that survive a kill, and the table they end in."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topicx.corpus.corpus import Corpus
from topicx.files.container import atomic_output

MIN_COUNT = {"nips0-12": 5}
"""Words with fewer tokens in the corpus are pruned (elsewhere: none)."""
CUT = {"20news-3000": ("20news-bydate", 3000), "imdb-3000": ("imdb", 3000)}
"""Corpora that are others' most frequent words alone: how many of them."""


@dataclass(frozen=True)
class Figure:
    """A line of docs/explanation/performance.md."""

    name: str
    target: str
    measured: str
    command: str

    def __str__(self) -> str:
        return f"| {self.name} | {self.target} | {self.measured} | `{self.command}` |"


class Store:
    """Results by key in one JSON file, written after each: a script that is run again goes on where it stopped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def get(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self.values:
            print(f"... {key}", file=sys.stderr, flush=True)
            self.values[key] = make()
            with atomic_output(self.path, binary=False) as out:
                json.dump(self.values, out, indent=1)
        return self.values[key]


@dataclass
class Bench:
    """The arguments of a script."""

    data: Path | None
    out: Path
    quick: bool
    seeds: list[int]
    clock: str
    samplers: list[str]
    """The samplers to measure, where a script measures all; empty: all."""

    def wants(self, sampler: str) -> bool:
        return not self.samplers or sampler in self.samplers

    def store(self, name: str) -> Store:
        return Store(self.out / f"{name}{'-quick' if self.quick else ''}.json")

    def corpus(self, name: str) -> Corpus:
        """A corpus of the data folder, pruned as MIN_COUNT says; kept in the output folder for the next time."""
        if self.quick:
            return quick_corpus()
        path = self.out / f"{name}.corpus"
        if not path.exists():
            if self.data is None:
                sys.exit(f"{name}: say where the corpora are with --data DIR")
            whole, most = CUT.get(name, (name, None))
            source = self.data / whole / "docs.tsv.gz"
            if not source.exists():
                sys.exit(f"{source}: no such file")
            with gzip.open(source, "rt", encoding="utf-8") as lines:
                texts = [line.rstrip("\n").split("\t", 2)[2].split() for line in lines]
            if most:
                kept = {word for word, _ in Counter(word for text in texts for word in text).most_common(most)}
                texts = [[word for word in text if word in kept] for text in texts]
            Corpus.from_documents(texts).prune(min_count=MIN_COUNT.get(name, 1)).save(path)
        return Corpus.load(path)


def quick_corpus() -> Corpus:
    """A few seconds' work, to see that a script runs."""
    from topicx import datasets

    return datasets.make("zipf", 1, documents=300, tokens=60, words=800, topics=20)


def start(description: str, arguments: Sequence[str] | None = None) -> Bench:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with NAME/docs.tsv.gz (id, label, text)")
    parser.add_argument(
        "--out", type=Path, default=Path("build/bench"), metavar="DIR", help="results (default: %(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="a tiny corpus and few sweeps: does it run?")
    parser.add_argument("--seeds", type=int, default=3, help="seeds where the spread matters (default: %(default)s)")
    parser.add_argument(
        "--clock", choices=["wall", "cpu"], default="wall", help="cpu: where other programs are running"
    )
    parser.add_argument("--samplers", default="", metavar="NAME,…", help="these alone, where all are measured")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    return Bench(
        given.data,
        given.out,
        given.quick,
        list(range(1, 2 if given.quick else given.seeds + 1)),
        given.clock,
        [name for name in given.samplers.split(",") if name],
    )


def note(text: str) -> None:
    """A line of progress."""
    print(f"    {text}", file=sys.stderr, flush=True)


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """The median, and the range if there are several."""
    if not values:
        return "-"
    text = format(median(values), form)
    return text if len(values) == 1 else f"{text} ({min(values):{form}} to {max(values):{form}})"


def show(figures: Sequence[Figure]) -> None:
    print("| figure | target | measured | command |\n|---|---|---|---|")
    for figure in figures:
        print(figure)
