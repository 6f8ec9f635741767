"""The hierarchical Dirichlet process: beside tomotopy's HDPModel, from several starts, on corpora whose topics are
known, and beside LDA and compound LDA by the measures of George, Xia & Michailidis 2019 (Figures 6-8, 15-17).

    python benchmarks/papers/hdp.py --data DIR --out DIR [--part NAME,…|all] [--quick]

tomotopy  Reuters (395 documents) and KOS, nine tenths trained on by one thread each: seconds of processor time, topics,
          and
          completion perplexity of the other tenth along the way, both judged by topicx (`topicx.evaluate.completion`)
starts    the number of topics over sweeps from 1, 20, 100 and 300 topics
known     synthetic corpora with 20 and with 100 topics: how many are found
measures  sizes and coherence of topics, silhouettes of hierarchical clusterings of topics and of documents

tomotopy says nothing of its topics' weights: it is judged by the better of α from its convert_to_lda and of α spread
over topics as its tokens are. Every finished cell is a line of runs.jsonl: a killed script continues.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cells import Runs
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.estimate import estimate
from topicx.evaluate.coherence import coherence
from topicx.evaluate.completion import completion_perplexity
from topicx.evaluate.silhouettes import measure_silhouettes, thin_documents
from topicx.run import Run
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Event
from topicx.strings import Strings

FOLDERS = {"reuters": "reuters-lda", "kos": "uci-kos", "nips": "nips0-12", "news": "news16-clda"}
BETA = 0.05


@cache
def load(data: Path, name: str) -> tuple[Corpus, Corpus]:
    """Nine tenths and one tenth of the documents, words of the first alone."""
    with gzip.open(data / FOLDERS[name] / "docs.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    corpus = Corpus.from_documents([row[2].split() for row in rows], ids=[row[0] for row in rows])
    if name == "nips":
        corpus = corpus.prune(min_doc_freq=10)
    test = np.random.default_rng(0).random(corpus.n_documents) < 0.1
    return corpus.select(~test).prune(min_count=1), corpus.select(test)


def judge(phi: NDArray[np.float64], alpha: NDArray[np.float64], train: Corpus, test: Corpus) -> float:
    """Completion perplexity with a random half of each document given (KOS is sorted by word)."""
    from topicx.model import Model

    rows, columns = np.nonzero(phi.T > 0)
    indptr = np.searchsorted(rows, np.arange(phi.shape[1] + 1)).astype(np.int64)
    model = Model(
        train.vocabulary, alpha[None, :], np.full(phi.shape[1], 1e-12), indptr, columns.astype(np.uint16),
        phi.T[rows, columns] * 1e6,
    )  # fmt: skip
    return completion_perplexity(model, None, test, share=0.5)


# -- beside tomotopy --------------------------------------------------------------------------------------------------


def ours(name: str, start: int, args: argparse.Namespace) -> list[list[float]]:
    """(sweep, seconds, topics, perplexity) along the chain."""
    train, test = load(args.data, name)
    rows: list[list[float]] = []
    with Threads(1) as engine:
        options = Options(topics=start, model="hdp", beta=BETA, start="random", partitions=1,
                          iterations=args.iterations, trace_interval=10**6)  # fmt: skip
        begin = time.process_time()
        run = Run.start(train, options, engine)
        spent, mark = time.process_time() - begin, time.process_time()

        def watch(event: Event) -> None:
            nonlocal spent, mark
            spent += time.process_time() - mark
            if event.step.sweep in args.marks:
                state = run.definition.closed(run.chain.method.sync())
                model = estimate(state, phi="cgs", examples=0)
                rows.append(
                    [event.step.sweep, spent, state.n_topics, completion_perplexity(model, None, test, share=0.5)]
                )
            mark = time.process_time()

        run.train([watch])
    return rows


def theirs(name: str, start: int, args: argparse.Namespace) -> list[list[float]]:
    import tomotopy

    train, test = load(args.data, name)
    begin = time.process_time()
    model = tomotopy.HDPModel(initial_k=max(start, 2), alpha=1.0, gamma=1.0, eta=BETA, seed=1)
    for d in range(train.n_documents):
        model.add_doc(train.document(d))
    index = {word: at for at, word in enumerate(train.vocabulary)}
    spent, done, rows = time.process_time() - begin, 0, []
    for sweep in args.marks:
        begin = time.process_time()
        model.train(sweep - done, workers=1)
        spent, done = spent + time.process_time() - begin, sweep
        live = [k for k in range(model.k) if model.is_live_topic(k)]
        order = [index[word] for word in model.used_vocabs]
        phi = np.zeros((len(live), train.n_words))
        phi[:, order] = [model.get_topic_word_dist(k) for k in live]
        tokens = np.array(model.get_count_by_topics(), float)[live]
        weights = [model.alpha * tokens / tokens.sum()]
        lda, number = model.convert_to_lda(topic_threshold=0.0)
        converted = np.array([lda.alpha[number[k]] if number[k] >= 0 else 1e-6 for k in live])
        weights.append(np.maximum(converted, 1e-6))
        rows.append([sweep, spent, len(live), min(judge(phi, np.maximum(w, 1e-6), train, test) for w in weights)])
    return rows


def tomotopy(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name in args.corpora:
        for start in args.beside:
            cells = {
                label: runs.get(
                    f"{label} {name} start={start} marks={args.marks}", lambda w=work, n=name, s=start: w(n, s, args)
                )
                for label, work in (("topicx", ours), ("tomotopy", theirs))
            }
            results[f"{name} {start}"] = cells
            mine, other = cells["topicx"], cells["tomotopy"]
            print(f"\n{name}, from {start} topics, one thread: sweep, processor seconds, topics, completion perplexity")
            for a, b in zip(mine, other):
                print(
                    f"  {a[0]:>5}  topicx {a[1]:8.2f} s {a[2]:>4.0f} {a[3]:8.1f}"
                    f"    tomotopy {b[1]:8.2f} s {b[2]:>4.0f} {b[3]:8.1f}"
                    f"    {b[1] / a[1]:.1f} × the seconds"
                )
            reached = [row[1] for row in mine if row[3] <= other[-1][3]]
            told = f"after {reached[0]:.2f} s, {other[-1][1] / reached[0]:.1f} × sooner" if reached else "never"
            print(f"  tomotopy's last perplexity is reached by topicx {told}")
    return results


# -- the number of topics ---------------------------------------------------------------------------------------------


def path_of(corpus: Corpus, start: int, sweeps: int, seed: int, beta: float = BETA) -> tuple[list[float], Run]:
    with Threads(1) as engine:
        options = Options(
            topics=start, model="hdp", beta=beta, start="random", iterations=sweeps, seed=seed, trace_interval=1
        )
        topics: list[float] = []
        run = Run.start(corpus, options, engine).train([lambda event: topics.append(event.figures["topics"])])
        return topics, run


def starts(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name in args.corpora:
        print(f"\n{name}: the number of topics after these sweeps, by the number at the start")
        shown = [s for s in (1, 10, 50, 100, 200, 500, 1000, 2000) if s <= args.iterations]
        print(f"  {'':>6}" + "".join(f"{s:>7}" for s in shown))
        for start in args.starts:
            key = f"starts {name} from={start} sweeps={args.iterations}"
            topics = runs.get(key, lambda n=name, s=start: path_of(load(args.data, n)[0], s, args.iterations, 1)[0])
            results[f"{name} {start}"] = topics
            print(f"  {start:>6}" + "".join(f"{topics[s - 1]:>7.0f}" for s in shown), flush=True)
    return results


def synthetic(topics: int, seed: int) -> Corpus:
    """Documents of 100 tokens; each topic about a thirtieth of the vocabulary of 1,000 words; θ ~ Dirichlet(2/K)."""
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(1000, 0.03), topics)
    documents = 500 if topics <= 20 else 2000
    theta = random.dirichlet(np.full(topics, 2 / topics), documents)
    words = np.concatenate([random.choice(1000, 100, p=row @ phi) for row in theta]).astype(np.uint32)
    names = Strings.of([f"w{i}" for i in range(1000)])
    return Corpus(words, np.arange(documents + 1, dtype=np.int64) * 100, names, truth={"topic_word": phi})


def found_of(topics: int, start: int, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    from scipy.optimize import linear_sum_assignment

    corpus = synthetic(topics, seed)
    path, run = path_of(corpus, start, args.iterations, seed, 0.03)
    model = run.result(phi="cgs", examples=0).model
    distance = np.abs(corpus.truth["topic_word"][:, None] - model.topic_word[None]).sum(axis=2)
    pairs = linear_sum_assignment(distance)
    late = path[len(path) // 2 :]
    return {"last": path[-1], "mean": float(np.mean(late)), "mode": int(np.bincount(np.array(late, int)).argmax()),
            "large": int(np.sum(model.topic_weights > 0.2 / topics)), "score": float(run.score),
            "matched": int(np.sum(distance[pairs] < 0.5))}  # fmt: skip


def known(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for topics, number in args.known:
        for start in (round(share * topics) for share in args.known_from):
            cells = [
                runs.get(
                    f"known K={topics} from={start} corpus={seed} sweeps={args.iterations}",
                    lambda k=topics, f=start, s=seed: found_of(k, f, s, args),
                )
                for seed in range(1, number + 1)
            ]
            results[f"{topics} from {start}"] = cells
            exact = sum(cell["large"] == topics for cell in cells)
            print(
                f"\n{topics} topics, {number} corpora, from {start}: as many (of a fifth of the mean size or more) in "
                f"{exact}\n"
                f"  such topics {[cell['large'] for cell in cells]}, most frequent numbers of all "
                f"{[cell['mode'] for cell in cells]}, true topics matched {[cell['matched'] for cell in cells]}",
                flush=True,
            )
    return results


# -- Figures 6-8, 15-17 -----------------------------------------------------------------------------------------------


def measured(name: str, kind: str, topics: int, args: argparse.Namespace) -> dict[str, Any]:
    train = load(args.data, name)[0]
    whole = Corpus(train.words, train.offsets, train.vocabulary, train.ids)
    whole.collection, whole.collection_names = np.zeros(whole.n_documents, np.int32), Strings.of(["all"])
    learnt = {"optimize_interval": 10, "optimize": "symmetric-alpha+beta" if kind == "lda" else "alpha+beta"}
    with Threads(args.threads) as engine:
        options = Options(topics=topics, model=kind, beta=BETA, start="random", iterations=args.iterations, **learnt)
        run = Run.start(whole, options, engine).train()
        result = run.result(phi="cgs", examples=0)
    model, rows = result.model, np.concatenate([part for _, part in run.theta_rows("cgs")])
    sizes = np.sort(model.totals)[::-1]
    scores = coherence(model, whole, "umass", top=10).topics
    numbers = [n for n in (10, 20, 30, 50, 70) if n < model.n_topics]
    by_topic, by_document = (
        measure_silhouettes(model.topic_word, numbers),
        measure_silhouettes(rows[thin_documents(len(rows))], numbers),
    )
    return {
        "topics": model.n_topics, "sizes": np.percentile(sizes, [0, 25, 50, 75, 100]).tolist(),
        "small": int(np.sum(sizes < 0.1 * sizes.mean())), "coherence": np.nanpercentile(scores, [25, 50, 75]).tolist(),
        "topic silhouettes": {s.clusters: s.quartiles() for s in by_topic},
        "document silhouettes": {s.clusters: s.quartiles() for s in by_document},
    }  # fmt: skip


def measures(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name, topics in args.measured:
        for kind in ("lda", "compound", "hdp"):
            key = f"measures {name} {kind} K={topics} sweeps={args.iterations}"
            row = results[f"{name} {kind}"] = runs.get(key, lambda n=name, k=kind, t=topics: measured(n, k, t, args))
            print(
                f"\n{name}, {kind}{' (one collection)' if kind == 'compound' else ''}: {row['topics']} topics, "
                f"of which {row['small']} have less than a tenth of the mean size; sizes (least, quartiles, largest) "
                f"{[round(s) for s in row['sizes']]}; "
                f"coherence (umass, 10 words; quartiles) {[round(c, 1) for c in row['coherence']]}"
            )
            for what in ("topic silhouettes", "document silhouettes"):
                print(f"  {what} (clusters: median): " + ", ".join(f"{n}: {q[1]:.3f}" for n, q in row[what].items()))
    return results


PARTS: dict[str, Callable[[argparse.Namespace, Runs], dict[str, Any]]] = {
    "tomotopy": tomotopy, "starts": starts, "known": known, "measures": measures,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of corpora")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/hdp"))
    parser.add_argument("--part", default="all", help="all, or some of " + ", ".join(PARTS))
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--known", default="20:20,100:20", help="known: TOPICS:CORPORA, joined by commas")
    parser.add_argument("--known-from", default="0.5,3", help="known: starts, as multiples of the topics")
    parser.add_argument("--marks", default="10,20,50,100,200,300,500,1000,2000", help="tomotopy: sweeps to look at")
    parser.add_argument("--measured", default="nips:90", help="measures: CORPUS:TOPICS, joined by commas")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a test that everything runs")
    args = parser.parse_args()
    args.corpora, args.starts, args.beside = ["reuters", "kos"], [1, 20, 100, 300], [20]
    args.known = [(int(part.split(":")[0]), int(part.split(":")[1])) for part in args.known.split(",")]
    args.known_from = [float(share) for share in args.known_from.split(",")]
    args.measured = [(part.split(":")[0], int(part.split(":")[1])) for part in args.measured.split(",")]
    if args.quick:
        args.corpora, args.starts, args.known, args.measured = ["reuters"], [5, 20], [(6, 2)], [("reuters", 12)]
        args.iterations = min(args.iterations, 30)
    args.marks = [s for s in map(int, args.marks.split(",")) if s <= args.iterations]
    args.out.mkdir(parents=True, exist_ok=True)
    runs = Runs(args.out / ("hdp-quick.jsonl" if args.quick else "hdp.jsonl"))
    target = args.out / ("hdp-results-quick.json" if args.quick else "hdp-results.json")
    results = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    for name in list(PARTS) if args.part == "all" else args.part.split(","):
        results[name] = PARTS[name](args, runs)
        target.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
