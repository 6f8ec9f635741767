"""Zheng, Yu & Xing 2015: "Linear Time Samplers for Supervised Topic Models using Compositional Proposals".

    python benchmarks/papers/medlda.py --data DIR --out DIR [--part binary|classes|losses|proposals|steps|regression|
                                       labels|scaling|beyond|all] [--quick]

binary      Figure 1: 20 Newsgroups, alt.atheism against talk.religion.misc, both samplers
classes     Figure 2: all 20 classes, multi-task, both samplers, and one-vs-all; TF-IDF with a linear SVM beside them
            (scikit-learn)
losses      Figure 4: the logistic loss
proposals   Figure 6, and steps: Figures 7 and 8
regression  Figure 5's form: ratings of IMDB; LDA-then-ridge with the same K and ridge on tf-idf beside it
labels      F1 on Delicious
scaling     seconds a sweep against documents, their length and topics, each varied alone
beyond      averaged weights, θ^p, several chains: how far towards the SVM

DIR holds a folder per corpus, `NAME/docs.tsv.gz` (id, label, words) and `split.tsv.gz` (id, train or test). Seconds are
those of the processor, with one thread, training alone, so that other programs disturb them little. Every finished run
is a line of medlda.jsonl: a killed script continues.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse.linalg
from cgsp import Runs

from topicx import LDA, Corpus, MedLDA
from topicx.evaluate.prediction import of_values, predictions

BINARY = ("alt.atheism", "talk.religion.misc")
SHOWN = ("accuracy", "r2", "mae", "micro_f1", "macro_f1", "known_number_micro_f1", "known_number_macro_f1")


def load(
    data: Path, name: str, least: int, classes: Sequence[str] = (), number: int = 0, most: int = 0
) -> tuple[Corpus, Corpus]:  # fmt: skip
    """Training and test documents (of these classes, at most `number` of each kind, `most` words of each), with the
    words seen `least` times in training."""
    with gzip.open(data / name / "split.tsv.gz", "rt", encoding="utf-8") as lines:
        split = dict(line.rstrip("\n").split("\t") for line in lines)
    rows: dict[str, list[tuple[str, list[str]]]] = {"train": [], "test": []}
    with gzip.open(data / name / "docs.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            identity, label, text = line.rstrip("\n").split("\t")
            part = rows[split[identity]]
            if not classes or label in classes:
                part.append((label, text.split()[: most or None]))
    parts = []
    for part in rows.values():
        if number:  # from all over the file
            part = [part[at * len(part) // min(number, len(part))] for at in range(min(number, len(part)))]
        labels = [label.split(",") if name.startswith("mulan") else [label] for label, _ in part]
        parts.append(Corpus.from_documents([words for _, words in part], labels=labels))
    return parts[0].prune(min_count=least) if least > 1 else parts[0], parts[1]


def run(train: Corpus, test: Corpus, topics: int, args: argparse.Namespace, **options: Any) -> dict[str, Any]:
    """Train once; processor seconds of training, the loss at the end, and how well the test documents are predicted
    (by θ^p and φ^p, as by default)."""
    estimator = options.pop("estimator", "cgsp")
    sweeps = min(options.pop("iterations"), args.sweeps)
    begin = time.process_time()
    model = MedLDA(topics, iterations=sweeps, threads=1, theta="cgs", phi=estimator, **options).fit(train)
    seconds = time.process_time() - begin
    found = predictions(model.model, test, theta=estimator)
    figures = {name: found[name] for name in SHOWN if name in found}
    return {"seconds": seconds, "a_sweep": seconds / sweeps, "loss": float(model.trace["loss"][-1]), **figures}


def over_seeds(
    runs: Runs, key: str, args: argparse.Namespace, train: Corpus, test: Corpus, topics: int, **options: Any
) -> dict[str, Any]:
    """Means and spreads over seeds."""
    each = [
        runs.get(f"{key} seed {seed}", lambda s=seed: run(train, test, topics, args, seed=s, **dict(options)))
        for seed in range(1, args.seeds + 1)
    ]
    return {name: (np.mean([e[name] for e in each]), np.std([e[name] for e in each])) for name in each[0]}


def show(title: str, rows: Sequence[tuple[str, dict[str, Any]]]) -> None:
    print(f"\n{title}")
    for name, found in rows:
        figures = (f"{key} {mean:.4g} ± {spread:.2g}" for key, (mean, spread) in found.items())
        print(f"  {name:<32} " + "  ".join(figures), flush=True)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


# -- classes -----------------------------------------------------------------------------------------------------------


def binary(args: argparse.Namespace, runs: Runs) -> None:
    train, test = load(args.data, "20news-lda", 1, BINARY, args.documents)
    rows = []
    for sampler in args.samplers:
        for topics in args.topics or [10, 20, 50, 100]:
            found = over_seeds(
                runs, f"binary {sampler} {topics}", args, train, test, topics, sampler=sampler, iterations=10,
                lambda_=262.4, alpha_sum=6.4, weight_samples=3,
            )  # fmt: skip
            rows.append((f"{sampler} K = {topics}", found))
    show(f"Figure 1: two classes, {len(train)} and {len(test)} documents", rows)


def classes(args: argparse.Namespace, runs: Runs, loss: str = "hinge", weight: float = 102.4, sweeps: int = 0) -> None:
    sweeps = sweeps or args.class_sweeps
    train, test = load(args.data, "20news-bydate", 5, (), args.documents)
    rows = []
    for sampler in args.samplers:
        for topics in args.topics or [20, 40, 100, 200, 400]:
            found = over_seeds(
                runs, f"classes {loss} {sampler} {topics} {sweeps}", args, train, test, topics, sampler=sampler,
                iterations=sweeps, lambda_=weight, alpha_sum=5.6 if loss == "logistic" else 6.4, loss=loss,
            )  # fmt: skip
            rows.append((f"{sampler} K = {topics}", found))
    for topics in args.alone if loss == "hinge" else []:
        found = over_seeds(
            runs, f"alone {topics} {sweeps}", args, train, test, topics, strategy="one-vs-all", iterations=sweeps,
            lambda_=weight, alpha_sum=6.4,
        )  # fmt: skip
        rows.append((f"one-vs-all K = {topics}", found))
    if loss == "hinge" and find_spec("sklearn"):
        rows.append(("TF-IDF, linear SVM", {"accuracy": (runs.get("svm", lambda: linear(train, test)), 0.0)}))
    show(f"Figure {'4' if loss == 'logistic' else '2'}: 20 classes, {loss}, {len(train)} and {len(test)}", rows)


def losses(args: argparse.Namespace, runs: Runs) -> None:
    classes(args, runs, "logistic", 204.8, 40)


def tfidf(train: Corpus, test: Corpus) -> tuple[Any, Any]:
    """Rows of length 1 of (1 + log n_dw) (1 + log (D / D_w))."""
    index = {word: number for number, word in enumerate(train.vocabulary)}
    rare = 1 + np.log((1 + len(train)) / (1 + train.document_frequencies))
    found = []
    for corpus in (train, test):
        counts = corpus.to_matrix().tocoo()
        numbers = np.array([index.get(word, -1) for word in corpus.vocabulary])[counts.col]
        known = numbers >= 0
        values = (1 + np.log(counts.data[known])) * rare[numbers[known]]
        places = counts.row[known].astype(np.int32), numbers[known].astype(np.int32)  # wider ones scikit-learn refuses
        rows = scipy.sparse.csr_array((values, places), shape=(len(corpus), len(index)))
        lengths = np.sqrt(rows.multiply(rows).sum(axis=1))
        found.append(scipy.sparse.diags_array(1 / np.maximum(lengths, 1e-12)) @ rows)
    return found[0], found[1]


def linear(train: Corpus, test: Corpus) -> float:
    """Accuracy; needs scikit-learn."""
    from sklearn.svm import LinearSVC

    known, new = tfidf(train, test)
    labels = [[corpus.labels(d)[0] for d in range(len(corpus))] for corpus in (train, test)]
    return float(LinearSVC().fit(known, labels[0]).score(new, labels[1]))


def proposals(args: argparse.Namespace, runs: Runs) -> None:
    train, test = load(args.data, "20news-bydate", 5, (), args.documents)
    rows = []
    for kind in ("mixture", "cycle", "doc", "word", "exp"):
        for topics in args.topics or [40, 100]:
            found = over_seeds(
                runs, f"proposals {kind} {topics}", args, train, test, topics, iterations=25, proposals=kind,
                alpha_sum=6.4, sampler="light",
            )  # fmt: skip
            rows.append((f"{kind} K = {topics}", found))
    show("Figure 6: proposals", rows)


def steps(args: argparse.Namespace, runs: Runs) -> None:
    train, test = load(args.data, "20news-bydate", 5, (), args.documents)
    topics = (args.topics or [40])[0]
    for title, name, values in (("Figure 7: rounds", "mh_steps", (1, 2, 4)), ("Figure 8", "gibbs_steps", (1, 2, 4, 8))):
        rows = []
        for value in values:
            found = over_seeds(
                runs, f"{name} {value} {topics}", args, train, test, topics, iterations=25, alpha_sum=6.4,
                sampler="light", **{name: value},
            )  # fmt: skip
            rows.append((f"{name} = {value}, K = {topics}", found))
        show(title, rows)


def beyond(args: argparse.Namespace, runs: Runs) -> None:
    train, test = load(args.data, "20news-bydate", 5, (), args.documents)
    rows = []
    for topics in args.topics or [40, 100]:
        for name, options in (
            ("θ, one draw of η", {"iterations": 25, "weight_samples": 1, "estimator": "cgs"}),
            ("θ, ten draws of η", {"iterations": 25, "estimator": "cgs"}),
            ("θ^p, ten draws", {"iterations": 25}),
            ("θ^p, β = 0.1", {"iterations": 25, "beta": 0.1}),
        ):
            found = over_seeds(runs, f"beyond {name} {topics}", args, train, test, topics, alpha_sum=6.4, **options)
            rows.append((f"{name}, K = {topics}", found))
        for sweeps in (25, 50):
            chains = runs.get(
                f"beyond chains {topics} {sweeps}", lambda k=topics, n=sweeps: together(train, test, k, n, args)
            )
            rows.append((f"five chains of {sweeps} sweeps, K = {topics}", {n: (x, 0.0) for n, x in chains.items()}))
    show("Beyond the paper", rows)


def together(train: Corpus, test: Corpus, topics: int, sweeps: int, args: argparse.Namespace) -> dict[str, float]:
    """One model of five chains: the mean of their scores."""
    found = run(train, test, topics, args, iterations=sweeps, chains=5, seed=1, alpha_sum=6.4)
    return {name: found[name] for name in ("accuracy", "seconds")}


# -- numbers and labels ----------------------------------------------------------------------------------------------


def regression(args: argparse.Namespace, runs: Runs) -> None:
    train, test = load(args.data, "imdb", 5, (), args.documents)
    rows = []
    for topics in args.topics or [20, 50]:
        for weight in (10.0, 30.0, 262.4):
            found = over_seeds(
                runs, f"regression {topics} {weight}", args, train, test, topics, iterations=args.regression_sweeps,
                target="label", task="regression", alpha_sum=6.4, lambda_=weight,
            )  # fmt: skip
            rows.append((f"K = {topics}, λ = {weight}", found))
        baseline = runs.get(f"lda then ridge {topics}", lambda k=topics: then_ridge(train, test, k, args))
        rows.append((f"LDA, then ridge, K = {topics}", {name: (value, 0.0) for name, value in baseline.items()}))
    found = runs.get("ridge", lambda: ridge(*tfidf(train, test), train, test))
    rows.append(("ridge on tf-idf", {name: (value, 0.0) for name, value in found.items()}))
    show(f"Figure 5's form: ratings, {len(train)} and {len(test)} documents", rows)


def ridge(known: Any, new: Any, train: Corpus, test: Corpus) -> dict[str, Any]:
    """Least squares with a penalty of 1 on the squared weights."""
    ratings = [np.array([float(corpus.labels(d)[0]) for d in range(len(corpus))]) for corpus in (train, test)]
    mean = ratings[0].mean()
    weights = scipy.sparse.linalg.lsqr(known, ratings[0] - mean, damp=1.0)[0]
    return of_values(ratings[1], mean + new @ weights)


def then_ridge(train: Corpus, test: Corpus, topics: int, args: argparse.Namespace) -> dict[str, Any]:
    begin = time.process_time()
    model = LDA(topics, iterations=min(args.sweeps, 100), threads=1, alpha_sum=6.4, start="random").fit(train)
    known = model.document_topic
    seconds = time.process_time() - begin
    return {"seconds": seconds} | ridge(known, model.transform(test), train, test)


def labels(args: argparse.Namespace, runs: Runs) -> None:
    train, test = load(args.data, "mulan-delicious", 1, (), args.documents)
    rows = []
    for topics in args.topics or [100]:
        for weight in ("none", "balanced"):
            found = over_seeds(
                runs, f"labels {topics} {weight}", args, train, test, topics, iterations=40, task="multilabel",
                alpha_sum=6.4, class_weight=weight, bias=True,
            )  # fmt: skip
            rows.append((f"K = {topics}, weights {weight}", found))
    show(f"Delicious: {len(train)} and {len(test)} documents", rows)


# -- cost ------------------------------------------------------------------------------------------------------------


def scaling(args: argparse.Namespace, runs: Runs) -> None:
    """One of documents, length and topics varied; the others as in the middle."""
    middle = {"number": 4000, "most": 80, "topics": 50}
    rows = []
    for name, values in (
        ("number", (1000, 2000, 4000, 8000)),
        ("most", (20, 40, 80, 160)),
        ("topics", (25, 50, 100, 200, 400)),
    ):
        for value in values:
            case = middle | {name: value}
            if args.quick:
                case = {"number": 60, "most": 30, "topics": min(case["topics"], 8)}

            def measure(case: dict[str, int] = case) -> dict[str, Any]:
                train, test = load(args.data, "20news-bydate", 5, (), case["number"], case["most"])
                found = run(train, test, case["topics"], args, iterations=12, alpha_sum=6.4, seed=1)
                return {"a_sweep": found["a_sweep"], "tokens": train.n_tokens, "documents": len(train)}

            found = runs.get(f"scaling {name} {value}", measure)
            rows.append((f"{name} = {value}", {key: (number, 0.0) for key, number in found.items()}))
    show("Seconds a sweep (20 classes)", rows)


PARTS: dict[str, Callable[[argparse.Namespace, Runs], None]] = {
    "binary": binary, "classes": classes, "losses": losses, "proposals": proposals, "steps": steps,
    "regression": regression, "labels": labels, "scaling": scaling, "beyond": beyond,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of corpora")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/medlda"))
    parser.add_argument("--part", default="all", help="one of " + ", ".join(PARTS) + "; several with commas; or all")
    parser.add_argument("--topics", type=numbers, default=None, help="numbers of topics, instead of each part's own")
    parser.add_argument("--samplers", type=lambda text: text.split(","), default=["light", "dense"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=1000, help="at most so many sweeps")
    parser.add_argument("--alone", type=numbers, default=[20], help="numbers of topics of each class, one-vs-all")
    parser.add_argument("--class-sweeps", type=int, default=25, help="sweeps of the part classes")
    parser.add_argument("--regression-sweeps", type=int, default=50)
    parser.add_argument("--documents", type=int, default=0, help="at most so many of each kind (0: all)")
    parser.add_argument("--quick", action="store_true", help="a few documents and sweeps, to see that it runs")
    args = parser.parse_args()
    if args.quick:
        args.seeds, args.sweeps, args.documents, args.topics, args.alone = 1, 2, 60, [4], [2]
    args.out.mkdir(parents=True, exist_ok=True)
    runs = Runs(args.out / "medlda.jsonl")
    for name in PARTS if args.part == "all" else args.part.split(","):
        if name not in PARTS:
            parser.error(f"there is no part {name!r}; there are {', '.join(PARTS)}")
        PARTS[name](args, runs)


if __name__ == "__main__":
    main()
