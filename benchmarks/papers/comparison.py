"""Papanikolaou, Foulds, Rubin & Tsoumakas 2017: CGS and CGS_p beside CVB0 and VB.

    python benchmarks/papers/comparison.py --data DIR --out DIR [--part topics|longer|convergence|all] [--quick]

Figures 4 and 14 (§5.5, Appendix E): perplexity of the second halves of test documents against the number of topics.
200 sweeps of training; 200 sweeps over the first halves with φ fixed, by the method that trained (CGS and CGS_p: the
last state of a chain; CVB0 and VB: their own fixed point). `longer` lets the sampler run on to where it has converged.
Figure 5 (§5.6): training log likelihood against sweeps.

α = 0.1, β = 0.01, random starts. Departures from the paper: its corpora but Reuters are not public; its VB was lda-c,
which does not smooth φ, and ours does (β), as in Teh, Newman & Welling 2006. Every finished run is a line of
comparison.jsonl: a killed script continues.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from cgsp import CORPORA, Runs, four_likelihoods, halves, load
from numpy.typing import NDArray
from scipy.special import digamma

from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.estimate import estimate
from topicx.model import Model
from topicx.models.definition import initial_state
from topicx.predict.documents import Documents
from topicx.predict.inference import Inference
from topicx.predict.topic_rows import FixedTopics
from topicx.run import expected_shares, model_of_expected_counts
from topicx.sampling.chain import Chain
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Event

METHODS = ("CGS", "CGSp", "CVB0", "VB")
MARKS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 400)


# -- Figures 4 and 14 ------------------------------------------------------------------------------------------------


def chain_of(corpus: Corpus, sampler: str, topics: int, run: int, sweeps: int, engine: Threads) -> Chain:
    options = Options(
        topics=topics, sampler=sampler, iterations=sweeps, seed=run, alpha=0.1, beta=0.01, start="random",
        trace_interval=10_000,
    )  # fmt: skip
    return Chain(initial_state(corpus, options), options, engine)


def perplexities(
    train: Corpus, first: Documents, second: Documents, topics: int, run: int, args: argparse.Namespace
) -> dict[str, float]:
    found: dict[str, float] = {}
    with Threads(args.threads) as engine:
        chain = chain_of(train, "sparse", topics, run, args.sweeps, engine)
        chain.run()
        state = chain.method.sync()
        for label, estimator in (("CGS", "cgs"), ("CGSp", "cgsp")):
            model = estimate(state, phi=estimator, max_entries=1 << 40, examples=0, threads=args.threads)
            inference = Inference(
                model, burn_in=args.sweeps, samples=1, theta=estimator, seed=run, threads=args.threads
            )
            theta = np.concatenate([part.theta for part in inference.stream([first])])
            found[label] = perplexity(model, theta, second)
        for label, sampler in (("CVB0", "cvb0"), ("VB", "vb")):
            chain = chain_of(train, sampler, topics, run, args.sweeps, engine)
            chain.run()
            model = model_of_expected_counts(chain.method.word_topics(), chain.method.sync(), "cgs")
            found[label] = perplexity(model, fold_in(model, first, label, args.sweeps), second)
    return found


def perplexity(model: Model, theta: NDArray[Any], second: Documents) -> float:
    logs = FixedTopics(model).log_probabilities(second.words, second.offsets, np.ascontiguousarray(theta, np.float32))
    return math.exp(-logs.sum() / len(second.words))


def fold_in(model: Model, documents: Documents, method: str, sweeps: int) -> NDArray[np.float64]:
    """θ of documents with φ fixed, by the updates of CVB0 (eq. 6) or VB; a soft assignment for each distinct word."""
    alpha = model.alpha[0]
    phi = model.phi_of(np.arange(model.n_words))
    result = np.empty((len(documents.offsets) - 1, model.n_topics))
    for d in range(len(result)):
        words, counts = np.unique(documents.words[documents.offsets[d] : documents.offsets[d + 1]], return_counts=True)
        rows = phi[words]
        soft = np.full_like(rows, 1 / model.n_topics)
        weights = alpha + counts @ soft
        for _ in range(sweeps):
            before = weights
            own = rows * (weights - soft) if method == "CVB0" else rows * np.exp(digamma(weights))
            soft = own / own.sum(axis=1, keepdims=True)
            weights = alpha + counts @ soft
            if np.abs(weights - before).max() < 1e-4:
                break
        result[d] = weights / weights.sum()
    return result


def by_topics(args: argparse.Namespace, runs: Runs) -> None:
    table: dict[str, dict[int, dict[str, tuple[float, float]]]] = {}
    for name in args.corpora:
        parts = halves(*load(args.data, name))
        for topics in args.topics:
            rows = [
                runs.get(
                    f"topics {name} K={topics} run={run} sweeps={args.sweeps}",
                    lambda topics=topics, run=run, parts=parts: perplexities(*parts, topics, run, args),
                )
                for run in range(1, args.runs + 1)
            ]
            table.setdefault(name, {})[topics] = {m: interval([row[m] for row in rows]) for m in METHODS}
        print(f"\n§5.5 {name}: perplexity by the number of topics (Figures 4 and 14), {args.runs} runs, ± 1.96 s.e.")
        print("      K " + "".join(f"{method:>18}" for method in METHODS) + "   best")
        for topics, row in table[name].items():
            cells = "".join(f"{row[m][0]:>10.1f} ± {row[m][1]:<5.1f}" for m in METHODS)
            print(f"  {topics:>5} {cells}   {min(METHODS, key=lambda m: row[m][0])}", flush=True)
    draw(
        args.out / "perplexity-by-topics.png", {name: {m: {k: row[m][0] for k, row in rows.items()} for m in METHODS}
                                                for name, rows in table.items()}, "topics", "perplexity",
    )  # fmt: skip


def interval(values: list[float]) -> tuple[float, float]:
    spread = 1.96 * float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(np.mean(values)), spread


def longer(args: argparse.Namespace, runs: Runs) -> None:
    """Perplexity when the sampler may run on: one run, thirty samples of θ^p, beside CVB0 after its usual sweeps."""
    marks = [args.sweeps * times // 2 for times in (2, 5, 10, 20)]
    for name in args.corpora:
        parts = halves(*load(args.data, name))
        for topics in args.topics:
            row = runs.get(
                f"longer {name} K={topics} sweeps={marks}",
                lambda topics=topics, parts=parts: run_on(*parts, topics, marks, args),
            )
            print(
                f"{name}, K={topics}: " + ", ".join(f"{label} {value:.1f}" for label, value in row.items()), flush=True
            )


def run_on(
    train: Corpus, first: Documents, second: Documents, topics: int, marks: list[int], args: argparse.Namespace
) -> dict[str, float]:
    found: dict[str, float] = {}
    with Threads(args.threads) as engine:
        chain = chain_of(train, "sparse", topics, 1, marks[-1], engine)

        def watch(event: Event) -> None:
            if event.step.sweep in marks:
                state = chain.method.sync()
                model = estimate(state, phi="cgsp", max_entries=1 << 40, examples=0, threads=args.threads)
                inference = Inference(model, burn_in=50, samples=30, lag=5, theta="cgsp", seed=1, threads=args.threads)
                theta = np.concatenate([part.theta for part in inference.stream([first])])
                found[f"CGSp after {event.step.sweep}"] = perplexity(model, theta, second)

        chain.run([watch])
        soft = chain_of(train, "cvb0", topics, 1, args.sweeps, engine)
        soft.run()
        model = model_of_expected_counts(soft.method.word_topics(), soft.state, "cgs")
        found[f"CVB0 after {args.sweeps}"] = perplexity(model, fold_in(model, first, "CVB0", args.sweeps), second)
    return found


# -- Figure 5 --------------------------------------------------------------------------------------------------------


def curves(corpus: Corpus, topics: int, run: int, args: argparse.Namespace) -> dict[str, list[float]]:
    """Training log likelihood per token at each mark."""
    found: dict[str, list[float]] = {"CGS": [], "CGSp": [], "CVB0": []}
    with Threads(args.threads) as engine:
        chain = chain_of(corpus, "sparse", topics, run, args.marks[-1], engine)

        def watch(event: Event) -> None:
            if event.step.sweep in args.marks:
                values = four_likelihoods(chain.method.sync(), args.threads)
                found["CGS"].append(values["φ+θ"] / corpus.n_tokens)
                found["CGSp"].append(values["φp+θp"] / corpus.n_tokens)

        chain.run([watch])
        soft = chain_of(corpus, "cvb0", topics, run, args.marks[-1], engine)

        def look(event: Event) -> None:
            if event.step.sweep in args.marks:
                model = model_of_expected_counts(soft.method.word_topics(), soft.state, "cgs")
                theta = expected_shares(soft.method.document_topics(), soft.state).astype(np.float32)
                logs = FixedTopics(model).log_probabilities(corpus.words, corpus.offsets, theta)
                found["CVB0"].append(float(logs.sum()) / corpus.n_tokens)

        soft.run([look])
    return found


def convergence(args: argparse.Namespace, runs: Runs) -> None:
    pictures: dict[str, dict[str, dict[int, float]]] = {}
    for name in args.corpora:
        corpus, _ = load(args.data, name)
        for topics in args.topics:
            rows = [
                runs.get(
                    f"convergence {name} K={topics} run={run} sweeps={args.marks[-1]}",
                    lambda topics=topics, run=run, corpus=corpus: curves(corpus, topics, run, args),
                )
                for run in range(1, args.runs + 1)
            ]
            means = {m: np.mean([row[m] for row in rows], axis=0) for m in rows[0]}
            print(f"\n§5.6 {name}, K={topics}: training log likelihood per token (Figure 5), {args.runs} runs")
            print("   sweep " + "".join(f"{method:>10}" for method in means))
            for at, mark in enumerate(args.marks):
                print(f"  {mark:>6} " + "".join(f"{values[at]:>10.4f}" for values in means.values()), flush=True)
            pictures[f"{name}, K={topics}"] = {m: dict(zip(args.marks, values)) for m, values in means.items()}
    draw(args.out / "convergence.png", pictures, "sweeps", "log likelihood per token")


def draw(path: Path, panels: dict[str, dict[str, dict[int, float]]], across: str, up: str) -> None:
    """A panel for each name, a line for each method."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("no pictures: matplotlib is not installed")
        return
    columns = min(len(panels), 4)
    lines = -(-len(panels) // columns)
    figure, axes = pyplot.subplots(lines, columns, figsize=(4.5 * columns, 3.4 * lines), squeeze=False)
    for axis, (title, methods) in zip(axes.flat, panels.items()):
        for method, values in methods.items():
            axis.plot(list(values), list(values.values()), marker="o", markersize=3, label=method)
        axis.set(title=title, xlabel=across, ylabel=up, xscale="log")
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of corpora")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/comparison"))
    parser.add_argument("--part", choices=["topics", "longer", "convergence", "all"], default="all")
    parser.add_argument("--corpora", default="kos,reuters", help="of " + ", ".join(CORPORA))
    parser.add_argument("--topics", default="20,50,100,200,300,500,1000")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="minutes become seconds: a test that everything runs")
    args = parser.parse_args()
    args.corpora = args.corpora.split(",")
    args.topics = [int(k) for k in args.topics.split(",")]
    args.sweeps, args.marks = 200, MARKS
    if args.quick:
        args.corpora, args.topics, args.runs, args.sweeps, args.marks = ["kos"], [10, 20], 2, 5, MARKS[:4]
    args.out.mkdir(parents=True, exist_ok=True)
    runs = Runs(args.out / ("comparison-quick.jsonl" if args.quick else "comparison.jsonl"))
    if args.part in ("topics", "all"):
        by_topics(args, runs)
    if args.part in ("longer", "all"):
        longer(args, runs)
    if args.part in ("convergence", "all"):
        convergence(args, runs)


if __name__ == "__main__":
    main()
