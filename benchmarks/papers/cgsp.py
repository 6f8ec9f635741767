"""Papanikolaou, Foulds, Rubin & Tsoumakas 2017: how much better the CGS_p estimators are, and their cost.

    python benchmarks/papers/cgsp.py --data DIR --out DIR [--part figures|table4|words|overhead|all] [--quick]

Figures 1, 2 and 10-13 (§5.3): perplexity of the second halves of test documents for the four combinations of φ and θ,
against the number of samples of θ, with one and five chains. Table 4 (§5.7): training log likelihood of the same four
on MALLET's and WarpLDA's states (--samples DIR) and our own. Figure 3 (§5.4): word association, on `usf-norms`.
Figure 6 (§5.8): the time that the estimators take beside dense sweeps, and likelihood against time.

As in the paper: α = 0.1 for each topic, β = 0.01, 200 sweeps for training, 50 of burn-in for prediction, a lag of 5,
means over five runs; an interval is 1.96 standard errors. Its corpora are not public, except for Reuters: the others
here are KOS, NIPS and 20 Newsgroups. Every finished cell is a line of runs.jsonl: a killed script continues.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cells import Runs
from numpy.typing import NDArray

from topicx.classes.lda_class import LDA
from topicx.corpus.corpus import Corpus, take_rows
from topicx.engines.threads import Threads
from topicx.estimate import Conditionals, estimate
from topicx.estimate import theta as theta_of
from topicx.interop import read_state
from topicx.models.definition import initial_state
from topicx.predict.documents import Documents
from topicx.predict.inference import Inference
from topicx.predict.topic_rows import FixedTopics
from topicx.sampling.chain import Chain
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Event
from topicx.state import State
from topicx.strings import Strings

CORPORA = {"reuters": "reuters21578", "kos": "uci-kos", "nips": "nips0-12", "20news": "20news-bydate"}
COMBINATIONS = [("cgs", "cgs"), ("cgsp", "cgs"), ("cgs", "cgsp"), ("cgsp", "cgsp")]  # (φ, θ), in Table 4's order
SIGNS = {("cgs", "cgs"): "φ+θ", ("cgsp", "cgs"): "φp+θ", ("cgs", "cgsp"): "φ+θp", ("cgsp", "cgsp"): "φp+θp"}
PAPER_TABLE_4 = "φ+θ < φp+θ < φ+θp < φp+θp in every column (MALLET and WarpLDA, four corpora)"
PAPER_FIGURE = "one θp sample decisively beats one θ sample; φp has a short, steady lead; both θ meet with many samples"
PAPER_COST = "about one dense sweep ('roughly equivalent to a single dense standard CGS update')"
HELD_OUT_LIMIT = 1000


# -- corpora -------------------------------------------------------------------------------------------------------


def load(data: Path, name: str, least: int = 1) -> tuple[Corpus, NDArray[np.bool_]]:
    """A corpus of `docs.tsv.gz` (words seen `least` times), and which documents are for testing.

    Where there is no split, a tenth of the documents, by a fixed seed.
    """
    folder = data / CORPORA[name]
    with gzip.open(folder / "docs.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    corpus = Corpus.from_documents([row[2].split() for row in rows], ids=[row[0] for row in rows])
    if least > 1:
        corpus = corpus.prune(min_count=least)
    if (folder / "split.tsv.gz").exists():
        with gzip.open(folder / "split.tsv.gz", "rt", encoding="utf-8") as lines:
            split = dict(line.rstrip("\n").split("\t") for line in lines)
        return corpus, np.array([split.get(name) == "test" for name in corpus.ids])
    return corpus, np.random.default_rng(0).random(corpus.n_documents) < 0.1


def halves(corpus: Corpus, test: NDArray[np.bool_]) -> tuple[Corpus, Documents, Documents]:
    """Training documents with a vocabulary of their own, and the two halves of (at most 1,000) test documents."""
    words, offsets = take_rows(corpus.words, corpus.offsets, np.flatnonzero(~test))
    used = np.bincount(words, minlength=corpus.n_words) > 0
    new = np.cumsum(used) - 1
    train = Corpus(new[words].astype(np.uint32), offsets, corpus.vocabulary.take(np.flatnonzero(used)))
    chosen = np.flatnonzero(test)
    if len(chosen) > HELD_OUT_LIMIT:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, HELD_OUT_LIMIT, replace=False))
    parts: list[list[NDArray[np.uint32]]] = [[], []]
    for d in chosen:
        tokens = corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]]
        tokens = new[tokens[used[tokens]]].astype(np.uint32)
        if len(tokens) >= 2:
            parts[0].append(tokens[: len(tokens) // 2])
            parts[1].append(tokens[len(tokens) // 2 :])
    first, second = (_documents(part) for part in parts)
    return train, first, second


def _documents(rows: list[NDArray[np.uint32]]) -> Documents:
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    ids = Strings.of(str(at) for at in range(len(rows)))
    return Documents(ids, np.concatenate(rows), offsets, np.zeros(len(rows), np.int64))


# -- §5.3: perplexity against samples --------------------------------------------------------------------------------


def perplexities(
    train: Corpus, first: Documents, second: Documents, topics: int, run: int, args: argparse.Namespace
) -> dict[str, Any]:
    """One run: a training chain, then prediction chains with fixed φ, whose samples serve θ and θ^p alike."""
    lda = LDA(topics, seed=run, iterations=args.iterations, alpha=0.1, beta=0.01, start="random", threads=args.threads)
    state = lda.fit(train).state
    found: dict[str, Any] = {}
    for phi in ("cgs", "cgsp"):
        model = estimate(state, phi=phi, max_entries=1 << 40, examples=0, threads=args.threads)
        fixed = FixedTopics(model)
        for name in ("cgs", "cgsp"):
            for samples in args.counts:
                total: NDArray[np.float64] | None = None
                for chain in range(1, args.chains + 1):
                    # A document's stream depends on its words and this seed: fewer samples are a prefix of more.
                    inference = Inference(
                        model, burn_in=args.burn_in, samples=samples, lag=5, theta=name,
                        seed=1000 * run + chain, threads=args.threads,
                    )  # fmt: skip
                    rows = np.concatenate([part.theta for part in inference.stream([first])]).astype(np.float64)
                    total = rows if total is None else total + rows
                    if chain in (1, args.chains):
                        mean = np.ascontiguousarray(total / chain, np.float32)
                        logs = fixed.log_probabilities(second.words, second.offsets, mean)
                        value = math.exp(-logs.sum() / len(second.words))
                        found.setdefault(f"{SIGNS[phi, name]} {chain}", {})[str(samples)] = value
    return {"perplexity": found}


def figures(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for topics in args.topics:
        for name in args.corpora:
            train = first = second = None
            rows = []
            for run in range(1, args.runs + 1):
                key = f"figures {name} K={topics} run={run} sweeps={args.iterations} counts={args.counts}"

                def make(run: int = run, topics: int = topics, name: str = name) -> dict[str, Any]:
                    nonlocal train, first, second
                    if train is None:
                        train, first, second = halves(*load(args.data, name))
                    assert first is not None and second is not None
                    return perplexities(train, first, second, topics, run, args)

                rows.append(runs.get(key, make)["perplexity"])
            results[f"{name} {topics}"] = summarise(rows, args)
            _print_figure(name, topics, results[f"{name} {topics}"], args)
    if results:
        _draw(results, args)
    return results


def summarise(rows: list[dict[str, Any]], args: argparse.Namespace) -> dict[str, Any]:
    """Means over runs with 1.96 standard errors, paired differences, and what one θ^p sample is worth."""
    cells = {
        label: {count: _interval([row[label][count] for row in rows]) for count in rows[0][label]} for label in rows[0]
    }
    paired, worth = {}, {}
    one = str(args.counts[0])
    last = str(args.counts[-1])
    for chains in sorted({1, args.chains}):
        for sign in ("φ", "φp"):
            differences = [row[f"{sign}+θ {chains}"][one] - row[f"{sign}+θp {chains}"][one] for row in rows]
            paired[f"θ - θp with {sign}, {chains} chains, {one} sample"] = _interval(differences)
            differences = [row[f"{sign}+θ {chains}"][last] - row[f"{sign}+θp {chains}"][last] for row in rows]
            paired[f"θ - θp with {sign}, {chains} chains, {last} samples"] = _interval(differences)
        for sign in ("θ", "θp"):
            differences = [row[f"φ+{sign} {chains}"][last] - row[f"φp+{sign} {chains}"][last] for row in rows]
            paired[f"φ - φp with {sign}, {chains} chains, {last} samples"] = _interval(differences)
    for sign in ("φ", "φp"):
        worth[sign] = _worth([cells[f"{sign}+θ 1"][str(c)][0] for c in args.counts], args.counts,
                             cells[f"{sign}+θp 1"][one][0])  # fmt: skip
    return {"cells": cells, "paired": paired, "worth": worth, "runs": len(rows)}


def _interval(values: list[float]) -> tuple[float, float]:
    spread = 1.96 * float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(np.mean(values)), spread


def _worth(curve: list[float], counts: list[int], target: float) -> float:
    """How many θ samples reach this perplexity: between two counts by the line in 1/S; inf: more than the last."""
    if curve[0] <= target:
        return 1.0
    for (s, a), (t, b) in zip(zip(counts, curve), zip(counts[1:], curve[1:])):
        if b <= target:
            x = 1 / s + (1 / t - 1 / s) * (a - target) / (a - b)
            return 1 / x
    return math.inf


def _print_figure(name: str, topics: int, result: dict[str, Any], args: argparse.Namespace) -> None:
    print(f"\n§5.3 {name}, K={topics}, {result['runs']} runs: perplexity by samples (Figures 1, 2, 10-13)")
    print(f"  {'chains':>6} {'':6}" + "".join(f"{count:>17}" for count in args.counts))
    for chains in sorted({1, args.chains}):
        for sign in SIGNS.values():
            cells = result["cells"][f"{sign} {chains}"]
            values = [cells[str(c)] for c in args.counts]
            print(f"  {chains:>6} {sign:6}" + "".join(f"{mean:>9.1f} ± {spread:<5.1f}" for mean, spread in values))
    for label, (mean, spread) in result["paired"].items():
        print(f"  {label}: {mean:+.2f} ± {spread:.2f}")
    print(f"  one θp sample is worth {result['worth']['φ']:.1f} θ samples with φ, {result['worth']['φp']:.1f} with φp")
    print(f"  the paper: {PAPER_FIGURE}", flush=True)


def _draw(results: dict[str, Any], args: argparse.Namespace) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("no pictures: matplotlib is not installed")
        return
    for chains in sorted({1, args.chains}):
        rows, columns = len(args.topics), len(args.corpora)
        figure, axes = pyplot.subplots(rows, columns, figsize=(4 * columns, 3.2 * rows), squeeze=False)
        for at, topics in enumerate(args.topics):
            for across, name in enumerate(args.corpora):
                axis = axes[at][across]
                for sign in SIGNS.values():
                    cells = results[f"{name} {topics}"]["cells"][f"{sign} {chains}"]
                    means = [cells[str(c)][0] for c in args.counts]
                    spreads = [0.0 if math.isnan(cells[str(c)][1]) else cells[str(c)][1] for c in args.counts]
                    axis.errorbar(args.counts, means, yerr=spreads, label=sign, marker="o", markersize=3, capsize=2)
                axis.set_title(f"{name}, K={topics}")
                axis.set_xlabel("samples")
                axis.set_ylabel("perplexity")
        axes[0][0].legend()
        figure.tight_layout()
        figure.savefig(args.out / f"cgsp-perplexity-{chains}-chains.png", dpi=120)
        pyplot.close(figure)


# -- §5.7: Table 4 ---------------------------------------------------------------------------------------------------


def four_likelihoods(state: State, threads: int) -> dict[str, float]:
    """Training log likelihood (eq. 55) of the four combinations."""
    thetas = {name: theta_of(state, name, threads=threads).astype(np.float32) for name in ("cgs", "cgsp")}
    found = {}
    for phi in ("cgs", "cgsp"):
        fixed = FixedTopics(estimate(state, phi=phi, max_entries=1 << 40, examples=0, threads=threads))
        for name, rows in thetas.items():
            found[SIGNS[phi, name]] = float(fixed.log_probabilities(state.words, state.offsets, rows).sum())
    return {SIGNS[pair]: found[SIGNS[pair]] for pair in COMBINATIONS}


def table4(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    results: dict[str, Any] = {}
    names = ["mallet-kos/state.gz", "mallet-web/state.gz", "warplda-kos", "warplda-small", "lightlda-tiny"]
    for name in names[: 2 if args.quick else None]:
        path = args.samples / name
        if path.exists():
            results[name] = runs.get(
                f"table4 {name}", lambda path=path: four_likelihoods(read_state(path), args.threads)
            )
    for name in args.corpora:
        topics = 20 if args.quick else 100

        def make(name: str = name, topics: int = topics) -> dict[str, float]:
            corpus, _ = load(args.data, name)
            lda = LDA(topics, seed=1, iterations=args.iterations, start="random", threads=args.threads)
            return four_likelihoods(lda.fit(corpus).state, args.threads)

        results[f"topicx {name}"] = runs.get(f"table4 topicx {name} K={topics} sweeps={args.iterations}", make)
    print("\n§5.7 Table 4: training log likelihood, × 10^5")
    print(f"  {'':24}" + "".join(f"{sign:>12}" for sign in SIGNS.values()) + "   in the paper's order")
    for name, row in results.items():
        values = [row[sign] for sign in SIGNS.values()]
        order = all(a < b for a, b in zip(values, values[1:]))
        print(f"  {name:24}" + "".join(f"{v / 1e5:>12.4f}" for v in values) + f"   {'yes' if order else 'no'}")
    print(f"  the paper: {PAPER_TABLE_4}", flush=True)
    return results


# -- §5.4: word association ------------------------------------------------------------------------------------------


def words(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    """Figure 3: the median of rank(φ) - rank(φ^p) of the first five associates, by the cue's frequency."""
    pairs_file = args.data / "usf-norms" / "pairs.tsv.gz"
    if not pairs_file.exists():
        print("\n§5.4: no usf-norms in --data")
        return {}
    associates: dict[str, list[tuple[float, str]]] = {}
    with gzip.open(pairs_file, "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if len(fields) >= 6 and fields[5].replace(".", "", 1).isdigit():
                associates.setdefault(fields[0].lower(), []).append((-float(fields[5]), fields[1].lower()))
    results = {}
    for topics in (20,) if args.quick else (50, 100, 500, 1000):
        key = f"words {args.norms} K={topics} sweeps={args.norm_sweeps}"
        results[str(topics)] = runs.get(key, lambda topics=topics: association(args, associates, topics))
    print("\n§5.4 Figure 3: median of rank(φ) - rank(φp) of the first five associates; cues in ten groups, rare first")
    for topics, row in results.items():
        print(f"  K={topics:>5}: " + " ".join(f"{value:+7.1f}" for value in row["medians"]) + f"  ({row['cues']} cues)")
    print("  the paper: φp is clearly better for rare cues, on par for frequent ones, and gains with K", flush=True)
    return results


def association(
    args: argparse.Namespace, associates: dict[str, list[tuple[float, str]]], topics: int
) -> dict[str, Any]:
    corpus = Corpus.from_documents(_norm_texts(args))
    counts = corpus.word_frequencies
    corpus = corpus.prune(words=[w for w, n in zip(corpus.vocabulary, counts) if 5 <= n <= 10_000])
    lda = LDA(topics, seed=1, iterations=args.norm_sweeps, start="random", threads=args.threads)
    state = lda.fit(corpus).state
    index = {word: at for at, word in enumerate(corpus.vocabulary)}
    tables = []
    for phi in ("cgs", "cgsp"):
        model = estimate(state, phi=phi, max_entries=1 << 40, examples=0, threads=args.threads)
        tables.append(model.phi_of(np.arange(model.n_words)))
    cues = [cue for cue in associates if cue in index]
    targets = [[index[w] for _, w in sorted(associates[cue])[:5] if w in index] for cue in cues]
    groups: list[tuple[int, float]] = []
    for begin in range(0, len(cues), 128):
        some = np.array([index[cue] for cue in cues[begin : begin + 128]], np.int64)
        ranks = []
        for table in tables:
            rows = table[some]
            given = (rows / rows.sum(axis=1, keepdims=True)) @ table.T  # eq. 57
            given[np.arange(len(some)), some] = -1
            ranks.append([(row > row[t][:, None]).sum(axis=1) for row, t in zip(given, targets[begin : begin + 128])])
        for cue, a, b in zip(some, *ranks):
            groups += [(int(corpus.word_frequencies[cue]), int(d)) for d in a - b]
    groups.sort()
    parts = np.array_split(np.array([difference for _, difference in groups]), 10)
    return {"medians": [float(np.median(part)) for part in parts], "means": [float(part.mean()) for part in parts],
            "cues": len(cues), "tokens": corpus.n_tokens}  # fmt: skip


def _norm_texts(args: argparse.Namespace) -> list[list[str]]:
    """General text, as TASA is: the film reviews and news together (more than 5 million tokens)."""
    texts = []
    for name in args.norms:
        with gzip.open(args.data / name / "docs.tsv.gz", "rt", encoding="utf-8") as lines:
            texts += [line.rstrip("\n").split("\t")[2].split() for line in lines]
    return texts


# -- §5.8: what it costs ---------------------------------------------------------------------------------------------


def overhead(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    name = "kos" if args.quick else "nips"
    results: dict[str, Any] = {}
    for topics in (20,) if args.quick else (50, 100, 500, 1000):
        key = f"overhead {name} K={topics} sweeps={args.cost_sweeps}"
        results[str(topics)] = runs.get(key, lambda topics=topics: cost(args, name, topics))
    print(f"\n§5.8 {name}, one thread: both estimators against dense sweeps, from a chain of {args.cost_sweeps} sweeps")
    for topics, row in results.items():
        print(
            f"  K={topics:>5}: dense sweep {row['sweep']:.3f} s, θp and φp {row['both']:.3f} s "
            f"({row['both'] / row['sweep']:.2f} sweeps), {row['tokens']:,} tokens"
        )
    print(f"  the paper: {PAPER_COST}")
    print("  Figure 6: seconds: training log likelihood of φ+θ, and seconds with the estimators: that of φp+θp")
    for topics, row in results.items():
        for sweeps, seconds, plain, extra, soft in row["curve"]:
            both = f"{seconds + extra:8.2f}: {soft:.5e}"
            print(f"  K={topics:>5} {sweeps:>5} sweeps: {seconds:8.2f}: {plain:.5e}   {both}")
    print("", flush=True)
    return results


def cost(args: argparse.Namespace, name: str, topics: int) -> dict[str, Any]:
    """Seconds of a dense sweep and of the estimators on the same state, and likelihoods along the chain: all in this
    thread, whose own time is measured, so that a busy machine does not matter much."""
    corpus, _ = load(args.data, name, least=5)
    options = Options(
        topics=topics, iterations=args.cost_sweeps, seed=1, alpha=0.1, beta=0.01, start="random", sampler="sparse",
        partitions=1,
    )  # fmt: skip
    curve: list[tuple[int, float, float, float, float]] = []
    marks = {s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if s <= args.cost_sweeps}
    spent = [0.0, time.thread_time()]
    with Threads(1) as engine:
        chain = Chain(initial_state(corpus, options), options, engine)

        def watch(event: Event) -> None:
            spent[0] += time.thread_time() - spent[1]
            if event.step.sweep in marks:
                state = chain.method.sync()
                begin = time.thread_time()
                both_estimators(state)
                extra = time.thread_time() - begin
                values = four_likelihoods(state, args.threads)
                curve.append((event.step.sweep, spent[0], values["φ+θ"], extra, values["φp+θp"]))
            spent[1] = time.thread_time()

        chain.run([watch])
        state = chain.method.sync()
    seconds = []
    for _ in range(3):
        begin = time.thread_time()
        both_estimators(state)
        seconds.append(time.thread_time() - begin)
    return {"sweep": dense_sweep(state, topics), "both": min(seconds), "tokens": corpus.n_tokens, "curve": curve}


def both_estimators(state: State) -> None:
    soft = Conditionals(state, threads=1)
    for _ in soft.documents():
        pass
    soft.words(max_entries=1 << 40)


def dense_sweep(state: State, topics: int) -> float:
    """The fastest of three dense sweeps that start from this state."""
    marks = [time.thread_time()]
    options = Options(topics=topics, iterations=4, seed=2, alpha=0.1, beta=0.01, sampler="dense", partitions=1,
                      start="random", trace_interval=1000)  # fmt: skip
    with Threads(1) as engine:
        Chain(state, options, engine).run([lambda event: marks.append(time.thread_time())])
    return min(b - a for a, b in zip(marks[1:], marks[2:]))


# -- running -------------------------------------------------------------------------------------------------------


PARTS: dict[str, Callable[[argparse.Namespace, Runs], dict[str, Any]]] = {
    "table4": table4, "overhead": overhead, "figures": figures, "words": words,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of corpora")
    parser.add_argument("--samples", type=Path, default=None, help="other programs' states (beside --data)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/cgsp"))
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--corpora", default=",".join(CORPORA), help="of " + ", ".join(CORPORA))
    parser.add_argument("--topics", default="20,50,100,500")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--chains", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="minutes become seconds: a test that everything runs")
    args = parser.parse_args()
    args.samples = args.samples or args.data.parent / "samples"
    args.corpora = args.corpora.split(",")
    args.topics = [int(k) for k in args.topics.split(",")]
    args.counts, args.burn_in, args.cost_sweeps = [1, 2, 3, 5, 10, 20, 30], 50, 200
    args.norms, args.norm_sweeps = ["imdb", "20news-bydate"], 250
    if args.quick:
        args.corpora, args.topics, args.runs, args.chains, args.iterations = ["kos"], [20], 2, 2, 20
        args.counts, args.burn_in, args.cost_sweeps = [1, 2, 5], 10, 10
        args.norms, args.norm_sweeps = ["uci-kos"], 10
    args.out.mkdir(parents=True, exist_ok=True)
    runs = Runs(args.out / ("runs-quick.jsonl" if args.quick else "runs.jsonl"))
    results = {name: part(args, runs) for name, part in PARTS.items() if args.part in (name, "all")}
    target = args.out / ("results-quick.json" if args.quick else "results.json")
    target.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
