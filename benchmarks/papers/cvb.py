"""Teh, Newman & Welling 2006: Figure 1 (bounds and test probabilities against sweeps, and their histograms
over random starts) and Figure 2 (both against the number of documents).

    python benchmarks/papers/cvb.py --data DIR --out DIR [--starts 50] [--corpora kos,nips] [--figure 1|2|all] [--quick]

DIR holds uci-kos/docs.tsv.gz and nips0-12/docs.tsv.gz. As in the paper: α = β = 0.1, K = 8 on KOS and K = 40 on NIPS, a
tenth of every document's words held out, test probabilities by eq. 19 (Gibbs: eq. 20, the samples of the latter half
of the sweeps so far). CVB0 (Asuncion et al. 2009) stands beside the paper's three. Every finished run is a line of
runs.jsonl: a killed script continues, and --starts can be raised later.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus, take_rows
from topicx.engines.threads import Threads
from topicx.sampling import sampler_registry
from topicx.sampling.run_options import Options
from topicx.state import NONE, State

METHODS = {"VB": "vb", "CVB": "cvb", "CVB0": "cvb0", "Gibbs": "dense"}
TOPICS = {"kos": 8, "nips": 40}
PAPER = {
    "CVB's bound is above VB's": "Figure 1, first and second row",
    "CVB's test probability is above VB's": "Figure 1, third and fourth row",
    "CVB is ahead of Gibbs at first": "section 4: 'CVB also converged faster than collapsed Gibbs sampling'",
    "Gibbs is ahead in the end": "section 4: 'but Gibbs sampling attains a better solution in the end'",
}
DOCUMENTS = (50, 100, 200, 400, 800, 1600, 3430)


@dataclass
class Split:
    """A corpus in two: the words to learn from, and the held-out tenth of every document."""

    train: Corpus
    document: NDArray[np.int64]
    word: NDArray[np.int64]

    @classmethod
    def of(cls, corpus: Corpus, seed: int = 1) -> Split:
        """The tenth is drawn without replacement, document by document."""
        rng = np.random.default_rng(seed)
        key = rng.random(corpus.n_tokens)
        document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
        place = np.empty(corpus.n_tokens, np.int64)
        place[np.lexsort((key, document))] = np.arange(corpus.n_tokens) - np.repeat(corpus.offsets[:-1], corpus.lengths)
        held = place < np.repeat(np.round(corpus.lengths * 0.1), corpus.lengths)
        offsets = np.zeros(corpus.n_documents + 1, np.int64)
        np.cumsum(np.bincount(document[~held], minlength=corpus.n_documents), out=offsets[1:])
        train = Corpus(corpus.words[~held], offsets, corpus.vocabulary)
        return cls(train, document[held], corpus.words[held].astype(np.int64))

    def first(self, documents: int, order: NDArray[np.int64]) -> Split:
        """The part of these documents."""
        chosen = np.sort(order[:documents])
        words, offsets = take_rows(self.train.words, self.train.offsets, chosen)
        place = np.full(self.train.n_documents, -1)
        place[chosen] = np.arange(documents)
        mine = place[self.document] >= 0
        return Split(Corpus(words, offsets, self.train.vocabulary), place[self.document[mine]], self.word[mine])


def load(data: Path, name: str) -> Corpus:
    """KOS as shipped. NIPS without words that are in fewer than 7 documents, which leaves about as many as the paper
    has (12,419; theirs is another scan, of 1,675 documents, so its numbers cannot be matched exactly)."""
    folder = {"kos": "uci-kos", "nips": "nips0-12"}[name]
    with gzip.open(data / folder / "docs.tsv.gz", "rt", encoding="utf-8") as lines:
        corpus = Corpus.from_documents([line.rstrip("\n").split("\t", 2)[2].split() for line in lines])
    return corpus.prune(min_doc_freq=7) if name == "nips" else corpus


def points(sweeps: int) -> list[int]:
    """Where the curves are measured."""
    wanted = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100]
    wanted += list(range(120, 1001, 20))
    return [p for p in wanted if p < sweeps] + [sweeps]


def run(split: Split, topics: int, method: str, start: int, sweeps: int, threads: int) -> dict[str, Any]:
    """One start of one method: the bound (variational methods) and the test probability at each point."""
    train = split.train
    state = State(
        words=train.words, offsets=train.offsets, z=np.full(train.n_tokens, NONE, np.uint16),
        alpha=np.full((1, topics), 0.1), beta=np.full(train.n_words, 0.1), vocabulary=train.vocabulary, ids=train.ids,
    )  # fmt: skip
    sampler = METHODS[method]
    options = Options(topics=topics, sampler=sampler, start="random", alpha=0.1, beta=0.1, seed=start)
    bounds, tests, seconds = [], [], []
    samples: list[tuple[int, NDArray[np.float64]]] = []
    with Threads(threads) as engine:
        running = sampler_registry.find_sampler(sampler).load()(state, options, engine)
        running.start(random=True)
        wanted, spent = set(points(sweeps)), 0.0
        for sweep in range(1, sweeps + 1):
            began = time.process_time()
            running.sweep(sweep - 1)
            spent += time.process_time() - began
            if method == "Gibbs" and (sweep in wanted or sweep % 5 == 0):
                samples.append((sweep, probabilities(running, split)))
                samples = [(at, p) for at, p in samples if 2 * at > sweep]
            if sweep not in wanted:
                continue
            if method == "Gibbs":
                p = np.mean([p for _, p in samples], axis=0)
            else:
                p = probabilities(running, split)
                bounds.append(running.score())
            tests.append(float(np.log(p).mean()))
            seconds.append(spent)
    return {"at": points(sweeps), "bound": bounds, "test": tests, "seconds": seconds}


def probabilities(running: Any, split: Split) -> NDArray[np.float64]:
    """Σ_k θ_dk φ_kw of every held-out token (eq. 19)."""
    state = running.state
    theta = dense(running.document_topics(), state.n_topics) + state.alpha[0]
    theta /= theta.sum(axis=1, keepdims=True)
    phi = dense(running.word_topics(), state.n_topics) + state.beta[:, None]
    phi /= phi.sum(axis=0)
    result: NDArray[np.float64] = np.einsum("ik,ik->i", theta[split.document], phi[split.word])
    return result


def dense(counts: Any, topics: int) -> NDArray[np.float64]:
    indptr, columns, values = counts
    result = np.zeros((len(indptr) - 1, topics))
    result[np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), columns] = values
    return result


class Runs:
    """The finished runs, a JSON line each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                self.found[row["key"]] = row

    def get(self, key: str, make: Any) -> dict[str, Any]:
        if key not in self.found:
            row = {"key": key} | make()
            with self.path.open("a") as out:
                out.write(json.dumps(row) + "\n")
            self.found[key] = row
            print(
                f"  {key}: test {row['test'][-1]:.4f}" + (f", bound {row['bound'][-1]:.4f}" if row["bound"] else ""),
                flush=True,
            )
        result: dict[str, Any] = self.found[key]
        return result


def figure_1(args: argparse.Namespace, runs: Runs, splits: dict[str, Split]) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for start in range(1, args.starts + 1):  # start by start, so that a stopped script has all methods alike
        for name, split in splits.items():
            for method in METHODS:
                key = f"{name} {method} start {start} sweeps {args.sweeps}"
                row = runs.get(
                    key,
                    lambda s=split, n=name, m=method, i=start: run(s, args.topics[n], m, i, args.sweeps, args.threads),
                )
                results.setdefault(name, defaultdict(list))[method].append(row)
    for name, methods in results.items():
        print(
            f"\nFigure 1, {name}: K={args.topics[name]}, {args.starts} starts, {args.sweeps} sweeps "
            "(mean ± standard deviation; seconds of processor time)"
        )
        print(f"  {'':6} {'bound per word':>20} {'test log p per word':>22} {'at 10 sweeps':>14} {'s a sweep':>10}")
        for method, rows in methods.items():
            final = np.array([row["test"][-1] for row in rows])
            bound = np.array([row["bound"][-1] for row in rows if row["bound"]])
            early = np.array([row["test"][row["at"].index(min(10, args.sweeps))] for row in rows])
            each = np.mean([row["seconds"][-1] for row in rows]) / args.sweeps
            shown = f"{bound.mean():12.4f} ± {bound.std():.4f}" if len(bound) else " " * 21
            print(
                f"  {method:6} {shown:>20} {final.mean():13.4f} ± {final.std():.4f} {early.mean():14.4f} {each:10.3f}"
            )
        print("  claims of the paper:")
        for claim, holds in claims(methods).items():
            print(f"    {'holds' if holds else 'DOES NOT HOLD'}: {claim} ({PAPER[claim]})")
    return results


def claims(methods: dict[str, Any]) -> dict[str, bool]:
    def mean(method: str, what: str, at: int = -1) -> float:
        return float(np.mean([row[what][at] for row in methods[method]]))

    curve = np.mean([row["test"] for row in methods["CVB"]], axis=0) > np.mean(
        [row["test"] for row in methods["Gibbs"]], axis=0
    )
    return {
        "CVB's bound is above VB's": mean("CVB", "bound") > mean("VB", "bound"),
        "CVB's test probability is above VB's": mean("CVB", "test") > mean("VB", "test"),
        "CVB is ahead of Gibbs at first": bool(curve[: len(curve) // 2].any()),
        "Gibbs is ahead in the end": mean("Gibbs", "test") > mean("CVB", "test"),
    }


def figure_2(args: argparse.Namespace, runs: Runs, split: Split) -> dict[str, Any]:
    order = np.random.default_rng(2).permutation(split.train.n_documents)
    results: dict[str, Any] = {}
    sizes = [n for n in DOCUMENTS if n <= split.train.n_documents] if not args.quick else [50, 100]
    for n in sizes:
        part = split.first(n, order)
        for start in range(1, args.starts_2 + 1):
            for method in ("VB", "CVB", "CVB0", "Gibbs"):
                key = f"figure 2: {n} documents {method} start {start} sweeps {args.sweeps}"
                row = runs.get(
                    key, lambda p=part, m=method, i=start: run(p, args.topics["kos"], m, i, args.sweeps, args.threads)
                )
                results.setdefault(method, defaultdict(list))[n].append(row)
    print(f"\nFigure 2, kos: test log p per word (bound per word), means of {args.starts_2} starts")
    print("  documents " + "".join(f"{method:>20}" for method in results))
    for n in sizes:
        cells = []
        for method in results:
            rows = results[method][n]
            bound = f" ({np.mean([row['bound'][-1] for row in rows]):.3f})" if rows[0]["bound"] else ""
            cells.append(f"{np.mean([row['test'][-1] for row in rows]):.3f}{bound}")
        print(f"  {n:9} " + "".join(f"{cell:>20}" for cell in cells))
    return results


def plots(folder: Path, first: dict[str, Any], second: dict[str, Any]) -> None:
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not there (the extra `plot`): no figures")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = dict(zip(METHODS, ("tab:blue", "tab:red", "tab:orange", "tab:green"), strict=True))
    if first:
        figure, axes = plt.subplots(4, len(first), figsize=(5 * len(first), 13), squeeze=False)
        for column, (name, methods) in enumerate(first.items()):
            for method, rows in methods.items():
                for row, what in ((0, "bound"), (2, "test")):
                    if rows[0][what]:
                        axes[row, column].plot(
                            rows[0]["at"], np.mean([r[what] for r in rows], axis=0), label=method, color=colours[method]
                        )
                        axes[row + 1, column].hist(
                            [r[what][-1] for r in rows], 15, label=method, color=colours[method], alpha=0.6
                        )
            axes[0, column].set_title(name.upper())
            for row, title in enumerate(("bound per word", "final bounds", "test log p per word", "final test log p")):
                axes[row, column].set_ylabel(title)
                axes[row, column].legend()
        figure.tight_layout()
        figure.savefig(folder / "figure-1.png", dpi=120)
    if second:
        figure, axes = plt.subplots(1, 2, figsize=(10, 4))
        for method, sizes in second.items():
            for axis, what in zip(axes, ("test", "bound"), strict=True):
                if all(rows[0][what] for rows in sizes.values()):
                    axis.plot(
                        list(sizes),
                        [np.mean([r[what][-1] for r in rows]) for rows in sizes.values()],
                        "o-",
                        label=method,
                        color=colours[method],
                    )
                axis.set_xscale("log")
                axis.set_xlabel("documents")
                axis.set_ylabel({"test": "test log p per word", "bound": "bound per word"}[what])
                axis.legend()
        figure.tight_layout()
        figure.savefig(folder / "figure-2.png", dpi=120)


def synthetic() -> Iterator[tuple[str, Corpus]]:
    """What --quick uses where there is no data."""
    rng = np.random.default_rng(0)
    for name, topics in (("kos", 4), ("nips", 6)):
        phi = rng.dirichlet(np.full(80, 0.1), topics)
        texts = [
            [
                f"w{w}"
                for k in rng.choice(topics, 40, p=rng.dirichlet(np.full(topics, 0.2)))
                for w in rng.choice(80, 1, p=phi[k])
            ]
            for _ in range(120)
        ]
        yield name, Corpus.from_documents(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("cvb-results"))
    parser.add_argument("--starts", type=int, default=50)
    parser.add_argument("--starts-2", type=int, default=5, help="starts of each point of Figure 2")
    parser.add_argument("--sweeps", type=int, default=100)
    parser.add_argument("--corpora", default="kos,nips")
    parser.add_argument("--figure", default="all", choices=["1", "2", "all"])
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="synthetic corpora, 2 starts, 10 sweeps: does it run?")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    args.topics = dict(TOPICS)
    if args.quick:
        args.starts, args.starts_2, args.sweeps, args.topics = 2, 1, 10, {"kos": 4, "nips": 6}
        corpora = dict(synthetic())
    elif args.data is None:
        parser.error("--data DIR is needed (or --quick)")
    else:
        corpora = {name: load(args.data, name) for name in args.corpora.split(",")}
    splits = {name: Split.of(corpus) for name, corpus in corpora.items()}
    for name, split in splits.items():
        print(f"{name}: {split.train}, {len(split.word):,} words held out, K={args.topics[name]}", flush=True)
    runs = Runs(args.out / ("quick.jsonl" if args.quick else "runs.jsonl"))
    first = figure_1(args, runs, splits) if args.figure in ("1", "all") else {}
    second = figure_2(args, runs, splits["kos"]) if args.figure in ("2", "all") and "kos" in splits else {}
    plots(args.out, first, second)
    summary = {name: claims(methods) for name, methods in first.items()}
    (args.out / "summary.json").write_text(
        json.dumps({"starts": args.starts, "sweeps": args.sweeps, "claims": summary}, indent=1)
    )


if __name__ == "__main__":
    main()
