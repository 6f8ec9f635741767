"""Do the intervals of effects hold what they say? Documents are made with known topics and a known dependence on a
group or a year; `topicx effects` and `topicx topics --by` estimate it; it is counted how often intervals hold it.

    python benchmarks/statistics/effects_coverage.py --runs 200 -o coverage.jsonl
    python benchmarks/statistics/effects_coverage.py --show -o coverage.jsonl
    python benchmarks/statistics/effects_coverage.py --quick

groups: α of two groups of documents; the difference of each topic's share. curve: log α is a quadratic of the year;
the true share in five years, by a spline. by: shares by `topics --by`. phi known: the true topics; learnt: an LDA of as
many other documents, its topics matched with the true ones; more: of ten times as many; global: five of them, as
several models. plug-in: what ignores the groups when θ is drawn.

Runs go through the commands, in one process; --through python calls the functions that the commands call, with the same
numbers. A file that is there already is continued: what it has is not run again.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import topicx
from topicx.cli import cli
from topicx.corpus.corpus import Corpus
from topicx.estimate.topic_alignment import align_topics
from topicx.model import Model
from topicx.strings import Strings

WORDS, CONCENTRATION, SCALE = 500, 5.0, 1e7
FIRST, YEARS, PLACES = 1980, 40, [1982, 1990, 2000, 2009, 2017]
LEVEL = 0.95
MODELS = 5
Floats = NDArray[np.float64]
Cell = dict[str, Any]


def made_model(phi: Floats) -> Model:
    """A model with these topics, as if from many tokens."""
    topics, words = phi.shape
    return Model(
        Strings.of(f"w{word}" for word in range(words)), np.full((1, topics), 1.0 if topics < 20 else 0.1),
        np.full(words, 0.01), np.arange(0, phi.size + 1, topics), np.tile(np.arange(topics, dtype=np.uint16), words),
        np.ascontiguousarray(phi.T * SCALE).ravel(),
    )  # fmt: skip


def made_corpus(rng: np.random.Generator, phi: Floats, alpha: Floats, tokens: int, **columns: Any) -> Corpus:
    """Documents of so many tokens, one for each row of α."""
    theta = rng.standard_gamma(alpha) + 1e-300
    theta /= theta.sum(axis=1, keepdims=True)
    z = (rng.random((len(alpha), tokens, 1)) > np.cumsum(theta, axis=1)[:, None, :-1]).sum(axis=2).ravel()
    words = np.empty(len(z), np.uint32)
    for k in range(len(phi)):
        mine = z == k
        words[mine] = np.searchsorted(np.cumsum(phi[k])[:-1], rng.random(int(mine.sum())))
    vocabulary = Strings.of(f"w{word}" for word in range(phi.shape[1]))
    return Corpus(words, np.arange(len(alpha) + 1, dtype=np.int64) * tokens, vocabulary, columns=columns)


class Truth:
    """How α depends on the column."""

    def __init__(self, rng: np.random.Generator, topics: int, design: str) -> None:
        self.design = design
        self.level = np.log(CONCENTRATION * rng.dirichlet(np.full(topics, 5.0)))
        self.effects = [rng.normal(0, spread, topics) for spread in ((0.6, 0.6) if design == "curve" else (0.5,))]

    def alpha(self, column: NDArray[Any]) -> Floats:
        """α for each value of the column."""
        if self.design != "curve":
            return np.asarray(np.exp(self.level + column[:, None] * self.effects[0]))
        x = 2 * (column - FIRST) / (YEARS - 1) - 1
        return np.asarray(np.exp(self.level + np.outer(x, self.effects[0]) + np.outer(x * x, self.effects[1])))

    def shares(self, column: Any) -> Floats:
        """The true shares for each value."""
        alpha = self.alpha(np.asarray(column))
        return np.asarray(alpha / alpha.sum(axis=1, keepdims=True))

    def documents(self, rng: np.random.Generator, phi: Floats, number: int, tokens: int) -> Corpus:
        """Documents with their column."""
        if self.design == "curve":
            year = FIRST + np.arange(number) % YEARS
            return made_corpus(rng, phi, self.alpha(year), tokens, year=year.astype(float))
        group = np.arange(number) % 2
        return made_corpus(rng, phi, self.alpha(group), tokens, group=Strings.of("AB"[one] for one in group))


def learnt_model(phi: Floats, other: Corpus, seed: int) -> Model:
    """Topics of other documents, in the order of the true ones."""
    lda = topicx.LDA(topics=len(phi), iterations=150, optimize_interval=10, seed=seed, verbose=False, threads=1)
    model = lda.fit(other).model
    order = [pair.b for pair in align_topics(made_model(phi), model) if pair.a is not None]
    found = np.maximum(np.ascontiguousarray(model.topic_word[order]), 1e-9)
    return made_model(found / found.sum(axis=1, keepdims=True))


def one_run(cell: Cell, documents: int, run: int, folder: Path | None) -> dict[str, Floats]:
    """Estimates, truths, standard errors, and whether the intervals hold."""
    rng = np.random.Generator(np.random.Philox(key=[run, cell["topics"] * 1000 + cell["tokens"]]))
    phi = rng.dirichlet(np.full(WORDS, 0.05), cell["topics"]) + 1e-6
    phi /= phi.sum(axis=1, keepdims=True)
    truth = Truth(rng, cell["topics"], cell["design"])
    corpus = truth.documents(rng, phi, documents, cell["tokens"])
    models = [made_model(phi)]
    if cell["phi"] != "known":
        other = truth.documents(rng, phi, documents * (10 if cell["phi"] == "more" else 1), cell["tokens"])
        number = MODELS if cell["phi"] == "global" else 1
        models = [learnt_model(phi, other, run * MODELS + one) for one in range(number)]
    found, wanted = _estimates(models, corpus, cell["design"], cell["method"], run, folder), truth
    estimate, low, high = found
    if cell["design"] == "groups":
        a, b = wanted.shares([0, 1])
        true, middle = b - a, np.zeros(len(a))
    else:
        true = wanted.shares(PLACES if cell["design"] == "curve" else [0, 1])
        years = np.arange(FIRST, FIRST + YEARS) if cell["design"] == "curve" else [0, 1]
        middle = wanted.shares(years).mean(axis=0)
    return {
        "estimate": (estimate - middle).ravel(), "truth": (true - middle).ravel(),
        "error": ((high - low) / 3.92).ravel(), "inside": ((low <= true) & (true <= high)).ravel(),
    }  # fmt: skip


def _estimates(
    models: list[Model], corpus: Corpus, design: str, method: str, run: int, folder: Path | None
) -> tuple[Floats, Floats, Floats]:
    """The estimates with their intervals, places × topics; of groups: a row of topics."""
    topics = models[0].n_topics
    kind = "none" if method == "plug-in" else "global" if len(models) > 1 else "local"
    if folder is None:
        rows = _by_functions(models, corpus, design, kind, run)
    else:
        rows = _by_commands(models, corpus, design, kind, run, folder)
    names = ("estimate", "conf_low", "conf_high") if design == "groups" else ("share", "conf_low", "conf_high")
    if design == "by":
        names = ("share", "low", "high")
    estimate, low, high = (np.array([float(row[name]) for row in rows]).reshape(-1, topics) for name in names)
    if design == "groups":
        return estimate[0], low[0], high[0]
    return estimate, low, high


def _by_commands(
    models: list[Model], corpus: Corpus, design: str, kind: str, run: int, folder: Path
) -> list[dict[str, Any]]:
    names = [str(folder / f"{number}.model") for number in range(len(models))]
    for model, name in zip(models, names):
        model.save(name)
    corpus.save(str(folder / "c.corpus"))
    out = str(folder / "out.tsv")
    common = ["--seed", str(run), "--threads", "1"]
    if design == "by":
        _call("topics", names[0], "--by", "group", "--corpus", str(folder / "c.corpus"), "--table", out, "--level",
              str(LEVEL), "--shares", "plug-in" if kind == "none" else "effects", *common)  # fmt: skip
    elif design == "curve":
        _call("effects", *names, str(folder / "c.corpus"), "-f", "~ s(year, df=4)", "--uncertainty", kind,
              "--predictions", out, "--at", "year=" + ",".join(map(str, PLACES)), *common)  # fmt: skip
    else:
        _call("effects", *names, str(folder / "c.corpus"), "-f", "~ group", "--uncertainty", kind, "-o", out, *common)
    with Path(out).open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return [row for row in rows if row.get("term") != "Intercept"]


def _call(*arguments: str) -> None:
    """A command as the shell would run it, in this process."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        cli.main(list(arguments), standalone_mode=False)


def _by_functions(models: list[Model], corpus: Corpus, design: str, kind: str, run: int) -> list[dict[str, Any]]:
    from topicx.views.group_mixtures import rows_of
    from topicx.views.topics_by_column import by_documents

    if design == "by":
        found, _, _ = by_documents(
            models[0], "group", corpus=corpus, seed=run, threads=1, share=LEVEL,
            method="plug-in" if kind == "none" else "effects",
        )  # fmt: skip
        return rows_of(models[0], found, "group")
    formula = "~ group" if design == "groups" else "~ s(year, df=4)"
    effects = topicx.effects(models, corpus, formula, seed=run, threads=1, uncertainty=kind)
    if design == "curve":
        return effects.predict(year=PLACES).rows
    return [row for row in effects.rows() if row["term"] != "Intercept"]


KEYS = ("phi", "design", "method", "topics", "tokens", "documents")


def measured(cell: Cell, runs: range, folder: Path | None) -> Cell:
    """What some runs of one cell say, in sums."""
    begin = time.process_time()
    found = [one_run(cell, cell["documents"], run, folder) for run in runs]
    joined = {name: np.stack([one[name] for one in found]) for name in found[0]}
    estimate, truth, error, inside = (joined[name] for name in ("estimate", "truth", "error", "inside"))
    return cell | {
        "first": runs.start, "runs": len(runs), "held": [round(float(one), 6) for one in inside.mean(axis=1)],
        "product": float((estimate * truth).sum()), "square": float((truth * truth).sum()),
        "misses": float(((estimate - truth) ** 2).mean() * len(runs)), "errors": float((error**2).mean() * len(runs)),
        "seconds": time.process_time() - begin,
    }  # fmt: skip


def summed(pieces: list[Cell]) -> list[Cell]:
    """The pieces of each cell as one."""
    cells: dict[tuple[Any, ...], list[Cell]] = {}
    for piece in pieces:
        cells.setdefault(tuple(piece[key] for key in KEYS), []).append(piece)
    rows = []
    for key, parts in cells.items():
        held = np.concatenate([part["held"] for part in parts])
        total = {name: sum(part[name] for part in parts) for name in ("product", "square", "misses", "errors", "runs")}
        rows.append(dict(zip(KEYS, key)) | {
            "runs": total["runs"], "coverage": float(held.mean()),
            "coverage_error": float(held.std(ddof=1) / np.sqrt(len(held))) if len(held) > 1 else None,
            "ratio": total["product"] / total["square"],
            "error_ratio": float(np.sqrt(total["misses"] / total["errors"])),
            "seconds": sum(part["seconds"] for part in parts) / total["runs"],
        })  # fmt: skip
    return rows


def told(rows: list[Cell]) -> Iterator[str]:
    """A table of the cells."""
    yield "| φ | Asked | Method | Topics | Tokens | Estimate / truth | Coverage (standard error) | Runs | Seconds |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in sorted(rows, key=lambda row: tuple(row[key] for key in KEYS)):
        yield (
            f"| {row['phi']} | {row['design']} | {row['method']} | {row['topics']} | {row['tokens']} | "
            f"{row['ratio']:.2f} | {row['coverage']:.3f} ({row['coverage_error'] or 0:.3f}) | {row['runs']} | "
            f"{row['seconds']:.2f} |"
        )


def cells_of(chosen: argparse.Namespace) -> list[Cell]:
    """What is to be run."""
    return [
        {"tokens": int(tokens), "topics": int(topics), "phi": phi, "design": design, "method": method,
         "documents": chosen.documents}
        for phi, design, method, topics, tokens in product(
            chosen.phi.split(","), chosen.design.split(","), chosen.method.split(","), chosen.topics.split(","),
            chosen.tokens.split(","),
        )
        if (phi, design) != ("global", "by")  # takes one model
    ]  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--tokens", default="5,10,30,100,300")
    parser.add_argument("--topics", default="5,50")
    parser.add_argument("--phi", default="known,learnt", help="of known, learnt, more, global")
    parser.add_argument("--design", default="groups,curve,by")
    parser.add_argument("--method", default="effects", help="of effects, plug-in")
    parser.add_argument("--through", choices=["command", "python"], default="command")
    parser.add_argument("--piece", type=int, default=25, help="runs between two writings")
    parser.add_argument("--minutes", type=float, default=1e9, help="end after about so many")
    parser.add_argument("--quick", action="store_true", help="a few runs of one cell of each design")
    parser.add_argument("--show", action="store_true", help="print what the file has, and run nothing")
    parser.add_argument("-o", "--output", default="coverage.jsonl")
    chosen = parser.parse_args(arguments)
    if chosen.quick:
        chosen.runs, chosen.tokens, chosen.topics, chosen.documents = min(chosen.runs, 3), "10", "3", 60
    path, began = Path(chosen.output), time.monotonic()
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    pieces = [json.loads(line) for line in lines]
    done = {(*(piece[key] for key in KEYS), piece["first"]) for piece in pieces}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        folder = Path(place) if chosen.through == "command" else None
        for first, cell in product(range(1, chosen.runs + 1, chosen.piece), [] if chosen.show else cells_of(chosen)):
            if (*(cell[key] for key in KEYS), first) in done or time.monotonic() - began > 60 * chosen.minutes:
                continue
            piece = measured(cell, range(first, min(first + chosen.piece, chosen.runs + 1)), folder)
            pieces.append(piece)
            with path.open("a", encoding="utf-8") as out:
                out.write(json.dumps(piece) + "\n")
    print("\n".join(told(summed(pieces))))


if __name__ == "__main__":
    main()
