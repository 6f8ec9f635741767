"""George, Xia & Michailidis 2019, "Analyses of Multi-collection Corpora via Compound Topic Modeling".

    python benchmarks/papers/compound.py --data DIR --out DIR [--part NAME,…|all] [--quick]

recovery     Table 1 and Figure 3 (§3.2): sweeps until AGS, MGS and VEM come near the true π of a synthetic corpus
em           Figure 4 (§3.3): Gibbs-EM for (η, γ) on synthetic corpora
estimates    §4.2.3: Gibbs-EM on 16 Newsgroups and NIPS, for compound LDA and LDA
perplexity   Figure 5: perplexity of held-out words (eq. 21, 98-100) of LDA and of compound LDA with one and four
             collections
new          completion perplexity of new documents, each with its collection's α
ratios       Table 3: seconds of a sweep of AGS and MGS beside plain LDA's, by turns in one run
collections  Figures 1, 10 and 12: topic proportions of the collections, with intervals
antoniak     the draw of the number of tables beside a draw for each customer

Sizes and coherence of topics and silhouettes (Figures 6-8, 15-17) are in hdp.py, beside the hierarchical Dirichlet
process. The paper's NIPS corpus goes to 2005 and is not public in that form; here it is `nips0-12` (1987 to 1999),
four spans of years, words of less than ten documents left out. Every finished cell is a line of runs.jsonl: a killed
script continues.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cells import Runs
from numpy.typing import NDArray

from topicx import datasets
from topicx.corpus.corpus import Corpus
from topicx.corpus.corpus_split import with_tokens
from topicx.engines.threads import Threads
from topicx.evaluate.completion import completion
from topicx.evaluate.predictive import Predictive
from topicx.model import Model
from topicx.run import Run
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Event
from topicx.strings import Strings

SPANS = [(1987, 1989), (1990, 1992), (1993, 1995), (1996, 1999)]
PAPER_EM = {"news": "(η, γ) = (.05, 2.07); LDA (η, α) = (.053, .048)", "nips": "1988-2005: (.026, 6.72); (.027, .06)"}


@cache
def load(data: Path, name: str, collections: int = 4) -> Corpus:
    """16 Newsgroups with its four subject groups, or NIPS with four spans of years; or all in one collection."""
    folder = "news16-clda" if name == "news" else "nips0-12"
    with gzip.open(data / folder / "docs.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    of = [row[1] if name == "news" else next(f"{a}-{b}" for a, b in SPANS if a <= int(row[1]) <= b) for row in rows]
    corpus = Corpus.from_documents(
        [row[2].split() for row in rows], ids=[row[0] for row in rows],
        collections=of if collections > 1 else ["all"] * len(rows),
    )  # fmt: skip
    return corpus.prune(min_doc_freq=10) if name == "nips" else corpus


def train(
    corpus: Corpus, topics: int, model: str, args: argparse.Namespace, own: dict[str, Any] | None = None,
    each: Callable[[Event, Run], object] = lambda event, run: None, **options: Any,
) -> Run:  # fmt: skip
    """A run, `each` called after every sweep over the corpus."""
    engine = Threads(args.threads)
    settings = Options(topics=topics, model=model, own=own or {}, **{"start": "random"} | options)
    run = Run.start(corpus, settings, engine)
    return run.train([lambda event: each(event, run)])


# -- §3.2: Table 1, Figure 3 ------------------------------------------------------------------------------------------


def aligned(counts: NDArray[np.float64], truth: NDArray[np.float64]) -> tuple[int, ...]:
    """The model's topic of each true one: the permutation with the nearest φ."""
    phi = counts / counts.sum(axis=1, keepdims=True)
    distance = np.abs(truth[:, None] - phi[None]).sum(axis=2)
    return min(
        itertools.permutations(range(len(truth))), key=lambda order: sum(distance[k, o] for k, o in enumerate(order))
    )


def recover(pi: str, seed: int, sweeps: int, args: argparse.Namespace) -> dict[str, Any]:
    """Distances of π_1 and π_2 from the truth after each sweep."""
    corpus = datasets.make("compound", seed=seed)
    true_phi, true_pi = corpus.truth["topic_word"], corpus.truth["pi"]
    path: list[list[float]] = []
    values: list[NDArray[np.float64]] = []

    def watch(event: Event, run: Run) -> None:
        indptr, topics, counts = run.chain.method.word_topics()
        dense = np.full((3, corpus.n_words), 0.25)
        np.add.at(dense, (topics, np.repeat(np.arange(corpus.n_words), np.diff(indptr))), counts)
        found = run.chain.state.side["pi"][:, aligned(dense, true_phi)]
        values.append(found)
        path.append(np.abs(found - true_pi).sum(axis=1).tolist())

    own = {"pi": pi, "gamma": 1.0, "pi_alpha": 0.1, "pi_burn_in": sweeps // 4}
    train(corpus, 3, "compound", args, own, watch, iterations=sweeps, beta=0.25, seed=seed, trace_interval=sweeps)
    distances = np.array(path)
    half = np.array(values[len(values) // 2 :])
    return {
        "first": [int(np.argmax(distances[:, j] <= near)) + 1 if (distances[:, j] <= near).any() else None
                  for j, near in enumerate((0.003, 0.07))],
        "last": values[-1].tolist(), "end": distances[-1].tolist(), "closest": distances.min(axis=0).tolist(),
        "mean": half.mean(axis=0).tolist(), "mean distance": np.abs(half.mean(axis=0) - true_pi).sum(axis=1).tolist(),
        "lag 25": [_autocorrelation(half[:, j, j], 25) for j in range(2)],
        "path": [v[1].tolist() for v in values[:300]],
    }  # fmt: skip


def _autocorrelation(values: NDArray[np.float64], lag: int) -> float:
    centred = values - values.mean()
    return float(centred[:-lag] @ centred[lag:] / max(centred @ centred, 1e-300)) if len(values) > lag else 0.0


def recovery(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for pi in ("ags", "mgs", "vem"):
        sweeps = args.sweeps if pi != "vem" else min(args.sweeps, 400)
        rows = [
            runs.get(
                f"recovery {pi} corpus={seed} sweeps={sweeps}", lambda p=pi, s=seed, n=sweeps: recover(p, s, n, args)
            )
            for seed in range(1, args.runs + 1)
        ]
        results[pi] = rows
    print(f"\n§3.2, Table 1 and Figure 3: {args.runs} synthetic corpora, each with its own φ; L1 distances from π")
    for pi, rows in results.items():
        firsts = [[row["first"][j] for row in rows] for j in (0, 1)]
        for j, (near, found) in enumerate(zip((0.003, 0.07), firsts)):
            hit = sorted(f for f in found if f is not None)
            median = f"median {int(np.median(hit))}, from {hit[0]} to {hit[-1]}" if hit else "never"
            print(
                f"  {pi} π{j + 1}: within {near} in {len(hit)} of {len(rows)}, first sweep {median}; closest "
                f"{np.median([r['closest'][j] for r in rows]):.4f}; mean of the second half at "
                f"{np.median([r['mean distance'][j] for r in rows]):.4f} (medians); autocorrelation at lag 25 "
                f"{np.median([r['lag 25'][j] for r in rows]):.2f}"
            )
        print(f"  {pi} corpus 1: last π1 {_row(rows[0]['last'][0])}, π2 {_row(rows[0]['last'][1])}")
    print("  the paper (one corpus): AGS after 42 and 23 sweeps, MGS after 248 and 139, VEM never (0.08 and 0.18 away)")
    _plot_paths(results, args)
    return {pi: [{k: v for k, v in row.items() if k != "path"} for row in rows] for pi, rows in results.items()}


def _row(values: list[float]) -> str:
    return "(" + ", ".join(f"{value:.3f}" for value in values) + ")"


def _plot_paths(results: dict[str, Any], args: argparse.Namespace) -> None:
    pyplot = plotting()
    if pyplot is None:
        return
    figure, axes = pyplot.subplots(1, len(results), figsize=(4 * len(results), 3.6))
    for axis, (pi, rows) in zip(axes, results.items()):
        path = np.array(rows[0]["path"])
        axis.plot(path[:, 1] + path[:, 2] / 2, path[:, 2] * 3**0.5 / 2, marker=".", markersize=2, linewidth=0.5)
        axis.plot(0.386 + 0.030 / 2, 0.030 * 3**0.5 / 2, "r*", markersize=10)
        axis.plot([0, 1, 0.5, 0], [0, 0, 3**0.5 / 2, 0], "k", linewidth=0.5)
        axis.set_title(f"{pi}: π2, {len(path)} sweeps")
        axis.axis("off")
    figure.savefig(args.out / "compound-recovery.png", dpi=120)
    pyplot.close(figure)


def plotting() -> Any:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("no pictures: matplotlib is not installed")
        return None
    return pyplot


# -- §3.3: Figure 4 ---------------------------------------------------------------------------------------------------


def em(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    def one(seed: int, corpus_seed: int) -> list[float]:
        corpus = datasets.make("compound-drawn", seed=corpus_seed)
        run = train(corpus, 3, "compound", args, {"gamma": 1.0}, iterations=args.sweeps // 2, beta=1.0, seed=seed,
                    optimize_interval=1, optimize_burn_in=20, trace_interval=1)  # fmt: skip
        trace = run.chain.trace.arrays()
        half = slice(len(trace["beta"]) // 2, None)
        return [float(trace["beta"][half].mean()), float(trace["gamma"][half].mean())]

    results: dict[str, Any] = {}
    chains = args.runs * 2
    for label, seeds in (("as many corpora", [(1, s) for s in range(1, chains + 1)]),
                         ("one corpus", [(s, 1) for s in range(1, chains + 1)])):  # fmt: skip
        found = [
            runs.get(f"em seed={a} corpus={b} sweeps={args.sweeps // 2}", lambda a=a, b=b: one(a, b)) for a, b in seeds
        ]
        table = np.array(found)
        results[label] = found
        print(
            f"\n§3.3, Figure 4: {label}, {chains} runs: η {table[:, 0].mean():.3f} ± {table[:, 0].std():.3f}, "
            f"γ {table[:, 1].mean():.3f} ± {table[:, 1].std():.3f} (mean and standard deviation; the truth: 0.5, 0.8)"
        )
    return results


# -- §4.2.3: estimates ------------------------------------------------------------------------------------------------


def estimates(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name, topics in args.estimates:

        def one(model: str, name: str = name, topics: int = topics) -> dict[str, Any]:
            what = {"compound": "alpha+beta", "lda": "symmetric-alpha+beta"}[model]
            own = {"gamma": 1.0} if model == "compound" else None
            alpha = {} if model == "compound" else {"alpha": 0.1}
            run = train(load(args.data, name), topics, model, args, own, iterations=args.iterations, beta=0.1,
                        optimize=what, optimize_interval=5, optimize_burn_in=20, trace_interval=5, **alpha)  # fmt: skip
            trace = run.chain.trace.arrays()
            second = trace["gamma"] if model == "compound" else trace["alpha_sum"] / topics
            path = [[float(s), float(b), float(g)] for s, b, g in zip(trace["sweep"], trace["beta"], second)]
            return {"η": float(trace["beta"][-20:].mean()), "other": float(np.nanmean(second[-20:])), "path": path}

        for model in ("compound", "lda"):
            key = f"estimates {name} {model} K={topics} sweeps={args.iterations}"
            results[f"{name} {model}"] = runs.get(key, lambda m=model, one=one: one(m))
        cells = [results[f"{name} {model}"] for model in ("compound", "lda")]
        print(
            f"\n§4.2.3 Gibbs-EM, {name}, K={topics}, {args.iterations} sweeps: compound (η, γ) = ({cells[0]['η']:.4f}, "
            f"{cells[0]['other']:.3f}), LDA (η, α) = ({cells[1]['η']:.4f}, {cells[1]['other']:.4f})\n"
            f"  the paper: {PAPER_EM[name]}"
        )
    return results


# -- §4.2.3: Figure 5 -------------------------------------------------------------------------------------------------

LEARN = {"optimize_interval": 10, "optimize_burn_in": 20}
CURVES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "LDA, α = 0.5": ("lda", 1, {"alpha": 0.5, "beta": 0.25}),
    "compound, γ = 1, 1 collection": ("compound", 1, {"gamma": 1.0, "pi_alpha": 0.5, "beta": 0.25}),
    "compound, γ = 1, 4 collections": ("compound", 4, {"gamma": 1.0, "pi_alpha": 0.5, "beta": 0.25}),
    "LDA, Σα = 1": ("lda", 1, {"alpha_sum": 1.0, "beta": 0.25}),
    "LDA, learnt": ("lda", 1, {"alpha": 0.1, "beta": 0.1, "optimize": "symmetric-alpha+beta", **LEARN}),
    "compound, learnt, 4 collections": ("compound", 4, {"beta": 0.1, "optimize": "alpha+beta", **LEARN}),
}
"""Model, collections, options. The paper has `default` priors without a number. The first three have those of the
example in the authors' scripts (η = .25, α = .5, γ = 1: the R package clda, demo/run_clda_lda_news.R), which give LDA
a Σα that grows with K and compound LDA one that does not; the fourth is LDA with compound LDA's Σα; the last two are
learnt by the same steps."""


def held_out(name: str, topics: int, curve: str, args: argparse.Namespace) -> dict[str, float]:
    """As in the authors' scripts: a fifth of the words, drawn at random, of a fifth of the documents."""
    model, collections, options = CURVES[curve]
    own = {key: options[key] for key in ("gamma", "pi_alpha") if key in options}
    options = {key: value for key, value in options.items() if key not in own}
    corpus = load(args.data, name, collections)
    random = np.random.default_rng(0)
    of_token = np.repeat(random.random(corpus.n_documents) < 0.2, corpus.lengths)
    away = of_token & (random.random(corpus.n_tokens) < 0.2)
    train_part, rest = with_tokens(corpus, ~away), with_tokens(corpus, away)
    judge, last = Predictive(rest), 0.0

    def watch(event: Event, run: Run) -> None:
        nonlocal last
        if event.step.sweep > args.iterations // 2 and event.step.sweep % args.state_lag == 0:
            state = run.chain.method.sync()
            judge.add(state)
            if event.step.sweep == args.iterations:
                single = Predictive(rest)
                single.add(state)
                last = single.perplexity

    run = train(train_part, topics, model, args, own, watch, iterations=args.iterations, **options)
    return {"perplexity": judge.perplexity, "last state": last, "states": judge.states, "seconds": run.chain.seconds,
            "tokens": rest.n_tokens, "Σα": float(run.chain.state.alpha.sum(axis=1).mean()),
            "β": float(run.chain.state.beta.mean())}  # fmt: skip


def perplexity(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name in args.corpora:
        for topics in args.topics[name]:
            for curve in args.curves:
                key = f"perplexity {name} {curve} K={topics} sweeps={args.iterations}"
                value = runs.get(key, lambda n=name, c=curve, k=topics: held_out(n, k, c, args))
                results.setdefault(name, {}).setdefault(curve, {})[str(topics)] = value
        print(f"\nFigure 5, {name}: a fifth of the words of a fifth of the documents, {args.iterations} sweeps,")
        print("  mean p(w) over the states of the second half of the chain (in brackets: the last state alone)")
        print(f"  {'':42}" + "".join(f"{k:>16}" for k in args.topics[name]))
        for curve, cells in results[name].items():
            row = [f"{c['perplexity']:8.1f} ({c['last state']:.1f})" for c in cells.values()]
            print(f"  {curve:42}" + "".join(f"{value:>16}" for value in row))
        _plot_curves(name, results[name], args)
    return results


def _plot_curves(name: str, curves: dict[str, Any], args: argparse.Namespace) -> None:
    pyplot = plotting()
    if pyplot is None:
        return
    figure, axis = pyplot.subplots(figsize=(6, 4))
    for curve, cells in curves.items():
        axis.plot(
            [int(k) for k in cells], [c["perplexity"] for c in cells.values()], marker="o", markersize=3, label=curve
        )
    axis.set_xlabel("topics")
    axis.set_ylabel("perplexity")
    axis.legend(fontsize=7)
    figure.savefig(args.out / f"compound-perplexity-{name}.png", dpi=120)
    pyplot.close(figure)


# -- new documents ----------------------------------------------------------------------------------------------------

NEW: dict[str, tuple[str, dict[str, Any]]] = {
    "LDA, α = 0.1": ("lda", {"alpha": 0.1}),
    "compound, γ = 0.1 K": ("compound", {}),
    "LDA, a weight for each topic and β learnt": ("lda", {"alpha": 0.1, "optimize_interval": 10}),
    "compound, γ and β learnt": ("compound", {"optimize_interval": 10}),
}


def completed(name: str, topics: int, curve: str, args: argparse.Namespace) -> float:
    """Completion perplexity of a fifth of the documents, which are new; each with its collection's α."""
    model, options = NEW[curve]
    corpus = load(args.data, name)
    test = np.random.default_rng(0).random(corpus.n_documents) < 0.2
    own = {"gamma": 0.1 * topics, "pi_burn_in": args.iterations // 2} if model == "compound" else None
    run = train(corpus.select(~test), topics, model, args, own, iterations=args.iterations, beta=0.05, **options)
    return completion(run.result(phi="cgs", examples=0).model, None, corpus.select(test)).perplexity


def new(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name, topics in args.estimates:
        print(f"\n{name}, K={topics}, {args.iterations} sweeps: completion perplexity of new documents")
        for curve in NEW:
            key = f"new {name} {curve} K={topics} sweeps={args.iterations}"
            results[key] = runs.get(key, lambda n=name, k=topics, c=curve: completed(n, k, c, args))
            print(f"  {curve:44} {results[key]:8.1f}")
    return results


# -- Table 3 ----------------------------------------------------------------------------------------------------------


def ratios(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    """The processor time of this thread for each sweep with its update, the three chains by turns."""

    def one(name: str, topics: int, collections: int) -> dict[str, Any]:
        corpus = load(args.data, name, collections)
        with Threads(1) as engine:
            chains = {}
            for label, model, own in (
                ("plain", "lda", {}),
                ("ags", "compound", {"pi": "ags"}),
                ("mgs", "compound", {"pi": "mgs"}),
            ):
                options = Options(topics=topics, model=model, own=own, start="random", sampler=args.sampler,
                                  partitions=1, trace_interval=10**6)  # fmt: skip
                run = Run.start(corpus, options, engine)
                run.chain.method.start(random=True)
                chains[label] = run.chain
            seconds: dict[str, list[float]] = {label: [] for label in chains}
            for sweep in range(args.timed):
                for label, chain in chains.items():
                    begin = time.thread_time()
                    chain.method.sweep(sweep)
                    for update in chain.updates:
                        if update.due(sweep + 1):
                            update(chain.method, sweep)
                    seconds[label].append(time.thread_time() - begin)
        late = {label: float(np.mean(values[len(values) // 2 :])) for label, values in seconds.items()}
        return {"seconds": late, "ags": late["ags"] / late["plain"], "mgs": late["mgs"] / late["plain"]}

    results = {}
    print(
        f"\nTable 3: seconds a sweep of one thread, sampler {args.sampler}, by turns; means of the later half of "
        f"{args.timed} sweeps"
    )
    for name, topics in args.estimates:
        for collections in (1, 4):
            key = f"ratios {name} K={topics} J={collections} {args.sampler} {args.timed}"
            row = runs.get(key, lambda n=name, k=topics, j=collections: one(n, k, j))
            results[key] = row
            print(
                f"  {name}, K={topics}, J={collections}: plain {row['seconds']['plain']:.4f}, AGS {row['ags']:.2f} ×, "
                f"MGS {row['mgs']:.2f} ×"
            )
    print("  wanted: AGS at most 1.15 ×, MGS at most 2.5 ×")
    return results


# -- Figures 1, 10, 12 ------------------------------------------------------------------------------------------------


def collections(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    results = {}
    for name, topics in args.estimates:
        key = f"collections {name} K={topics} sweeps={args.iterations}"

        def make(name: str = name, topics: int = topics) -> dict[str, Any]:
            run = train(load(args.data, name), topics, "compound", args, {"pi_burn_in": args.iterations // 2},
                        iterations=args.iterations, beta=0.05, optimize_interval=10)  # fmt: skip
            model = run.result().model
            model.save(args.out / f"{name}.model")
            return _table(model)

        results[name] = runs.get(key, make)
        print(f"\nFigures 1, 10, 12, {name}, K={topics}: the collections' foremost topics (mean π, 90% of the draws)")
        for group, rows in results[name].items():
            for row in rows[:5]:
                low, high = row["interval"]
                print(f"  {group:>10}  {row['pi']:.3f} ({low:.3f}-{high:.3f})  topic {row['topic']:>3}: {row['words']}")
    return results


def _table(model: Model) -> dict[str, Any]:
    draws, words = model.side["pi_draws"], model.top_words(7)
    low, high = np.percentile(draws, [5, 95], axis=0)
    found: dict[str, Any] = {}
    names: Strings = model.group_names
    for j, name in enumerate(names):
        order = np.argsort(-model.side["pi"][j])
        found[str(name)] = [
            {"topic": int(k), "pi": float(model.side["pi"][j, k]), "interval": [float(low[j, k]), float(high[j, k])],
             "all": model.side["pi"][:, k].tolist(), "words": " ".join(w for w, _ in words[k])}
            for k in order
        ]  # fmt: skip
    return found


# -- the kernel -------------------------------------------------------------------------------------------------------


def antoniak(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    from topicx.sampling.updates.table_counts import Occupancy

    results = {}
    print("\nNumbers of tables, nanoseconds a draw, one thread, tables of chances included; beside NumPy")
    random = np.random.default_rng(1)
    for n in (1, 3, 10, 100, 1000, 10_000):
        for a in (0.01, 0.3, 10.0):
            documents = 10_000 if n <= 1000 else 1000
            csr = (
                np.arange(documents + 1, dtype=np.int64),
                np.zeros(documents, np.uint16),
                np.full(documents, n, np.int64),
            )
            with Threads(1) as engine:
                counts = Occupancy(csr, np.zeros(0, np.uint32), (1, 1))
                begin = time.thread_time()
                sums = counts.tables(np.array([[a]]), 1, engine)
                ours = (time.thread_time() - begin) / documents * 1e9
            some = max(2, min(documents, 2_000_000 // n))
            begin = time.thread_time()
            other = (random.random((some, n)) < a / (a + np.arange(n))).sum()
            each = (time.thread_time() - begin) / some * 1e9
            results[f"n={n} a={a}"] = {"ours": ours, "Bernoulli": each}
            print(
                f"  n={n:>6}, a={a:<5}: {ours:9.1f}, a Bernoulli draw a customer {each:11.1f}, {each / ours:8.1f} × "
                f"(mean tables {sums[0, 0] / documents:.3f}, {other / some:.3f})"
            )
    return results


PARTS: dict[str, Callable[[argparse.Namespace, Runs], dict[str, Any]]] = {
    "antoniak": antoniak, "recovery": recovery, "em": em, "ratios": ratios, "estimates": estimates,
    "collections": collections, "perplexity": perplexity, "new": new,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of corpora")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/compound"))
    parser.add_argument("--part", default="all", help="all, or some of " + ", ".join(PARTS))
    parser.add_argument("--corpora", default="news,nips")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--sweeps", type=int, default=2000, help="on the synthetic corpora")
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--topics", default="", help="perplexity: numbers of topics, joined by commas")
    parser.add_argument("--curves", default=";".join(CURVES), help="perplexity: curves, joined by semicolons")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sampler", default="sparse")
    parser.add_argument("--quick", action="store_true", help="a test that everything runs")
    args = parser.parse_args()
    args.corpora, args.curves = args.corpora.split(","), args.curves.split(";")
    args.topics_given, args.topics = args.topics, {"news": [10, 30, 60, 90, 150], "nips": [30, 90]}
    if args.topics_given:
        args.topics = {name: [int(k) for k in args.topics_given.split(",")] for name in args.topics}
    args.state_lag = min(args.iterations // 2, 5)
    args.estimates, args.timed = [(n, {"news": 30, "nips": 90}[n]) for n in args.corpora], 60
    if args.quick:
        args.runs, args.sweeps, args.iterations, args.timed = 2, 80, 40, 4
        args.corpora, args.topics, args.estimates = ["news"], {"news": [5]}, [("news", 5)]
    args.out.mkdir(parents=True, exist_ok=True)
    runs = Runs(args.out / ("runs-quick.jsonl" if args.quick else "runs.jsonl"))
    chosen = list(PARTS) if args.part == "all" else args.part.split(",")
    target = args.out / ("results-quick.json" if args.quick else "results.json")
    results = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    for name in chosen:
        results[name] = PARTS[name](args, runs)
        target.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
