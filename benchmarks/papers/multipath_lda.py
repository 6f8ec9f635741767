"""Kozdoba & Mannor, "Interdependent Gibbs Samplers", section 4.2: LDA with several paths.

    python benchmarks/papers/multipath_lda.py --data DIR --out DIR [--part table|completion|sotu|all] [--quick]

table (Table 1): ten bands over 100 words, documents of ten tokens: the mean L1 distance from each true topic to the
nearest one found, ten runs with 1, 2, 3 and 5 paths on 1,500 to 9,000 documents. The paper does not tell its η; --eta 1
(a flat prior, as in its section on HMMs) gives its figures. Beside it, at equal cost, the best of M independent chains
(by the joint likelihood, as `train --chains M --keep best` has it).

completion: perplexity of the second halves of test documents by models of one path and of five, after as many sweeps,
and by one path after five times as many, which cost the same.

sotu (Figures 5 to 8): State of the Union addresses by paragraphs, 1790 to 2013, stemmed (PyStemmer), without stop
words, the 40 most frequent words, and words that occur once: 500 topics, α = 0.02, η = 0.01, five paths beside one:
yearly entropies, the lengths of intervals with 1/20 of a topic's weight, the weights, and a topic of one path beside
its nearest of five. The paper measures the first path, and so does this.

Every run is a cell in a file of JSON lines, so that a killed script goes on where it was.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cells import Runs

from topicx import datasets
from topicx.corpus.corpus import Corpus
from topicx.corpus.text.tokenizer import Tokenizer
from topicx.engines.threads import Threads
from topicx.evaluate.completion import completion as completion_of
from topicx.evaluate.time_concentration import TimeConcentration, time_concentration
from topicx.model import Model
from topicx.run import Run
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Event
from topicx.state import State
from topicx.strings import Strings

PATHS = (1, 2, 3, 5)
WIDTH = 21
"""Words of a band of `topicx datasets make bands`; the paper does not tell its own."""
PAPER = {
    1500: (1.12, 0.86, 0.77, 0.69), 3000: (0.79, 0.59, 0.54, 0.46),
    6000: (0.58, 0.41, 0.35, 0.31), 9000: (0.43, 0.32, 0.29, 0.24),
}  # fmt: skip
"""Table 1: documents, and the distance with 1, 2, 3 and 5 paths."""

# -- Table 1: topics that are known ----------------------------------------------------------------------------------


def distance(found: np.ndarray, truth: np.ndarray) -> float:
    """disc of section 4.2.1: each true topic's L1 distance to the nearest one found, on average."""
    return float(np.abs(truth[:, None] - found[None]).sum(axis=2).min(axis=1).mean())


def drawn(documents: int, width: int, seed: int) -> Corpus:
    """The bands as `topicx datasets make bands` has them, or of another width."""
    if width == WIDTH:
        return datasets.make("bands", seed, documents=documents)
    rng, topics = np.random.default_rng(seed), np.zeros((10, 100))
    for topic, centre in enumerate(range(0, 100, 11)):
        inside = slice(max(centre - width // 2, 0), centre - width // 2 + width)
        topics[topic, inside] = 1
        topics[topic] = 0.95 * topics[topic] / topics[topic].sum() + 0.05 / 100
    theta = rng.dirichlet(np.ones(10), documents)
    z = (rng.random((documents, 10, 1)) > theta.cumsum(axis=1)[:, None, :-1]).sum(axis=2).reshape(-1)
    words = (rng.random((len(z), 1)) > topics.cumsum(axis=1)[z][:, :-1]).sum(axis=1)
    names = Strings.of(f"w{word:02d}" for word in range(100))
    return Corpus(words.astype(np.uint32), np.arange(documents + 1) * 10, names, truth={"topic_word": topics})


def bands(corpus: Corpus, paths: int, chain: int, sweeps: int, args: argparse.Namespace) -> dict[str, Any]:
    """One run: its distance after so many sweeps, and at the end the joint likelihood."""
    options = Options(
        topics=10, alpha=1.0, beta=args.eta, iterations=sweeps, paths=paths, start="random", chain=chain,
        sampler="sparse", seed=args.seed, trace_interval=sweeps,
    )  # fmt: skip
    run = Run.start(corpus, options, Threads(args.threads))
    truth, found = corpus.truth["topic_word"].astype(np.float64), {}

    def measure(event: Event) -> None:
        if event.position % max(sweeps // 5, 1) == 0:
            found[event.position] = distance(run.result(phi="cgs", examples=0).model.topic_word, truth)

    run.train([measure])
    return {"distance": found, "score": run.score}


def table(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for documents in args.documents:
        corpora = [drawn(documents, args.width, args.data_seed + i) for i in range(args.corpora)]

        def cell(paths: int, chain: int, corpora: Sequence[Corpus] = corpora) -> dict[str, Any]:
            number = chain % len(corpora)
            seed, documents = args.data_seed + number, corpora[number].n_documents
            kind = "table" if args.width == WIDTH else f"table-{args.width}"
            key = f"{kind}/{documents}/{seed}/{args.eta:g}/{paths}/{chain}/{args.sweeps}"
            found: dict[str, Any] = runs.get(key, lambda: bands(corpora[number], paths, chain, args.sweeps, args))
            return found

        cells = [{paths: cell(paths, chain) for paths in PATHS} for chain in range(args.runs)]
        print(
            f"\nTable 1, {documents:,} documents, {args.sweeps:,} sweeps, {args.runs} runs on {args.corpora} corpora, "
            f"η = {args.eta:g}"
        )
        paper = PAPER.get(documents, (np.nan,) * 4)
        results[str(documents)] = {paths: _row(paths, [row[paths] for row in cells], paper) for paths in PATHS}
        if args.independent:
            single = [cell(1, chain) for chain in range(max(PATHS) * args.runs)]
            results[str(documents)]["best"] = {paths: _best(paths, single, args) for paths in PATHS[1:]}
    return results


def _row(paths: int, found: list[dict[str, Any]], paper: Sequence[float]) -> dict[str, Any]:
    """Mean and spread at each of the stages; printed at the last."""
    stages = list(found[0]["distance"])
    values = np.array([[one["distance"][stage] for stage in stages] for one in found])
    mean, spread = values.mean(axis=0), values.std(axis=0, ddof=1 if len(found) > 1 else 0)
    claimed = paper[PATHS.index(paths)]
    print(f"  {paths} path{'s' if paths > 1 else ' '}  {mean[-1]:.3f} ± {spread[-1]:.3f}   paper {claimed:.2f}, "
          f"difference {mean[-1] - claimed:+.3f}   (by sweeps: "
          + ", ".join(f"{stage} {m:.3f}" for stage, m in zip(stages, mean, strict=True)) + ")", flush=True)  # fmt: skip
    return {"stages": stages, "mean": mean.tolist(), "spread": spread.tolist(), "paper": claimed}


def _best(paths: int, single: list[dict[str, Any]], args: argparse.Namespace) -> dict[str, Any]:
    """The mean distance of the best of so many chains of one path on one corpus; and of the one nearest the truth."""
    alike = [single[number :: args.corpora] for number in range(args.corpora)]
    groups = [each[i : i + paths] for each in alike for i in range(0, len(each) - paths + 1, paths)]
    last = str(max(map(int, single[0]["distance"])))
    kept = [max(group, key=lambda one: one["score"])["distance"][last] for group in groups]
    luck = [min(one["distance"][last] for one in group) for group in groups]
    spread = float(np.std(kept, ddof=1 if len(kept) > 1 else 0))
    print(f"  best of {paths} chains {np.mean(kept):.3f} ± {spread:.3f}   (if the truth chose: {np.mean(luck):.3f})",
          flush=True)  # fmt: skip
    return {"kept": float(np.mean(kept)), "spread": spread, "nearest": float(np.mean(luck)), "groups": len(groups)}


# -- held-out completion ---------------------------------------------------------------------------------------------


def halves(name: str, args: argparse.Namespace) -> tuple[Corpus, Corpus]:
    """Training documents, and at most 1,000 test documents in the training documents' words."""
    with gzip.open(args.data / name / "split.tsv.gz", "rt", encoding="utf-8") as lines:
        part = dict(line.rstrip("\n").split("\t")[:2] for line in lines)
    texts: dict[str, list[str]] = {"train": [], "test": []}
    with gzip.open(args.data / name / "docs.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            key, _, text = line.rstrip("\n").split("\t")
            if part.get(key) in texts:
                texts[part[key]].append(text)
    texts = {which: found[:: max(len(found) // most, 1)][:most] for (which, found), most
             in zip(texts.items(), (args.train, 1000), strict=True)}  # fmt: skip
    tokenizer = Tokenizer(stopwords="en")
    train = Corpus.from_texts(texts["train"], tokenizer=tokenizer, min_count=5)
    known = set(train.vocabulary)
    test = [[word for word in tokenizer.tokenize(text) if word in known] for text in texts["test"]]
    return train, Corpus.from_documents([words for words in test if len(words) > 3])


def judged(train: Corpus, test: Corpus, paths: int, sweeps: int, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    options = Options(topics=50, iterations=sweeps, paths=paths, start="random", seed=seed, trace_interval=sweeps)
    began = time.process_time()
    model = Run.start(train, options, Threads(1)).train().result(phi="cgs", examples=0).model
    seconds = time.process_time() - began
    found = completion_of(model, None, test, threads=args.threads)
    return {"perplexity": float(np.exp(-found.log_likelihood / found.tokens)), "seconds": seconds}


def completion(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    results: dict[str, Any] = {}
    plans = ((1, 1), (5, 1), (1, 5))  # paths, and how many times the sweeps
    for name in args.corpus.split(","):
        train, test = halves(name, args)
        print(f"\ncompletion, {name}: {train!r}, {len(test):,} test documents, K = 50, {args.sweeps:,} sweeps")
        for paths, times in plans:
            rows = []
            for seed in range(1, args.runs + 1):
                sweeps = args.sweeps * times
                key = f"completion/{name}/{args.train}/{paths}/{sweeps}/{seed}"
                rows.append(runs.get(key, partial(judged, train, test, paths, sweeps, seed, args)))
            found = np.array([row["perplexity"] for row in rows])
            seconds = float(np.mean([row["seconds"] for row in rows]))
            print(f"  {paths} path{'s' if paths > 1 else ' '} {args.sweeps * times:>6,} sweeps  {found.mean():.1f} "
                  f"({', '.join(f'{one:.1f}' for one in found)})  {seconds:.1f} s", flush=True)  # fmt: skip
            results[f"{name} {paths} {times}"] = {"perplexities": found.tolist(), "seconds": seconds}
    return results


# -- State of the Union ----------------------------------------------------------------------------------------------


def addresses(args: argparse.Namespace) -> Corpus:
    place = args.out / "sotu.corpus"
    if not place.exists():
        texts, ids, years = [], [], []
        with gzip.open(args.data / "sotu" / "paragraphs.tsv.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                name, year, text = line.rstrip("\n").split("\t", 2)
                if int(year) <= 2013:
                    texts.append(text)
                    ids.append(name)
                    years.append(int(year))
        corpus = Corpus.from_texts(texts, ids=ids, times=years, tokenizer=Tokenizer(stopwords="en", stem="en"))
        corpus.prune(drop_most=40, min_count=2, drop_empty=True).save(place)
    return Corpus.load(place)


def sotu(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    corpus = addresses(args)
    models, found = {}, {}
    for paths in (1, 5):
        place = args.out / f"sotu-{paths}.model"
        if not place.exists():
            options = Options(topics=500, alpha=0.02, beta=0.01, paths=paths, iterations=args.sweeps, seed=args.seed)
            result = Run.start(corpus, options, Threads(args.threads)).train().result(phi="cgs")
            result.state.save(place.with_suffix(".state"))
            result.model.save(place)
        models[paths] = Model.load(place)
        state = State.load(place.with_suffix(".state"))
        found[paths] = time_concentration(models[paths], state, corpus, path=0)
    one, five = found[1], found[5]
    print(f"\nState of the Union: {corpus!r}, {len(one.names)} years, {models[5].meta['iterations']:,} sweeps")
    for paths, each in found.items():
        short = float(np.mean(each.lengths[each.totals > 0] < len(each.names) / 40))
        print(f"  {paths} path{'s' if paths > 1 else ' '}: entropy {each.entropy.mean():.3f}; quartiles of lengths "
              + " ".join(f"{length:.2f}" for length in each.quartiles()) + ", weighted "
              + " ".join(f"{length:.2f}" for length in each.quartiles(weighted=True))
              + f"; less than half the mean {short:.1%}; quartiles of topics' weights "
              + " ".join(f"{weight:.3f}" for weight in np.percentile(each.totals, [25, 50, 75])))  # fmt: skip
    lower = float(np.mean(five.entropy < one.entropy))
    print(f"  entropy of five paths lower in {lower:.1%} of the years")
    _draw_sotu(models, found, args.out / "multipath-sotu.png")
    return {"lower": lower, "entropy": {paths: each.entropy.tolist() for paths, each in found.items()}}


def _draw_sotu(models: dict[int, Model], found: dict[int, TimeConcentration], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 7), layout="constrained")
    axes = figure.subplots(2, 3)
    begins, ends = found[1].densest()
    large = np.flatnonzero(found[1].totals >= found[1].totals.mean())
    topic = int(large[np.argsort((ends - begins)[large])[len(large) // 4]])  # of fair concentration
    apart = np.abs(models[5].topic_word - models[1].topic_word[topic]).sum(axis=1)
    for name, paths, k in (("one path", 1, topic), ("five paths", 5, int(apart.argmin()))):
        each = found[paths]
        axes[0, 0].plot(each.begins, each.weights[:, k], linewidth=1, label=name)
        axes[0, 1].step(range(20), each.lengths[k], where="mid", linewidth=1, label=name)
        axes[0, 2].plot(each.begins, each.entropy, linewidth=1, label=name)
        lengths, some = each.lengths, each.totals > 0
        bins = np.linspace(0, 40, 41)
        axes[1, 0].hist(lengths[some].reshape(-1), bins, histtype="step", label=name)
        weights = np.repeat(each.totals[some], lengths.shape[1])
        axes[1, 1].hist(lengths[some].reshape(-1), bins, weights=weights, histtype="step", label=name)
        axes[1, 2].plot(np.sort(each.totals)[::-1], linewidth=1, label=name)
    words = " ".join(word for word, _ in models[1].top_words(9)[topic])
    axes[0, 0].set_title(f"Figure 5: {words}", fontsize=8)
    for axis, title in zip(axes.flat[1:], (
        "lengths of this topic's 1/20 intervals", "Figure 7: yearly entropy", "Figure 7: lengths of intervals",
        "Figure 8: the same, weighted", "Figure 8: weights of topics",
    ), strict=True):  # fmt: skip
        axis.set_title(title, fontsize=8)
    axes[1, 2].set_yscale("log")
    axes[0, 0].legend(fontsize=7)
    figure.savefig(path, dpi=110)


# --------------------------------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[argparse.Namespace, Runs], dict[str, Any]]] = {
    "table": table, "completion": completion, "sotu": sotu,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="the folder of corpora (table needs none)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/multipath-lda"))
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--sweeps", type=int, default=1000, help="of a run (the paper's table: 10000)")
    parser.add_argument("--corpus", default="reuters21578,20news-bydate", help="completion: folders of --data")
    parser.add_argument("--train", type=int, default=10**9, help="completion: at most so many training documents")
    parser.add_argument("--documents", default="1500,3000,6000,9000", help="table: numbers of documents")
    parser.add_argument("--eta", type=float, default=1.0, help="table: the prior of words in a topic")
    parser.add_argument("--width", type=int, default=WIDTH, help="table: words of a band")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--independent", action="store_true", help="table: also the best of M chains of one path")
    parser.add_argument(
        "--corpora", type=int, default=1, help="table: draws of the documents, which runs take by turns"
    )
    parser.add_argument("--data-seed", type=int, default=1, help="table: of the (first) draw of the documents")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="hours become seconds: a test that everything runs")
    args = parser.parse_args()
    args.documents = [int(number) for number in args.documents.split(",")]
    if args.quick:
        args.sweeps, args.runs, args.documents, args.train = 50, 2, [500], 300
    args.out.mkdir(parents=True, exist_ok=True)
    runs = Runs(args.out / ("cells-quick.jsonl" if args.quick else "cells.jsonl"))
    chosen = {name: part for name, part in PARTS.items() if args.part in (name, "all")}
    if args.data is None:
        chosen = {name: part for name, part in chosen.items() if name == "table"}
    results = {name: part(args, runs) for name, part in chosen.items()}
    target = args.out / ("results-quick.json" if args.quick else f"results-{args.part}.json")
    target.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
