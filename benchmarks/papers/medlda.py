"""Zheng, Yu & Xing 2015: "Linear Time Samplers for Supervised Topic Models using Compositional Proposals".

    python benchmarks/papers/medlda.py --data DIR --out DIR [--part binary|classes|losses|proposals|steps|regression|
                                       labels|scaling|beyond|rivals|few|all] [--quick]

binary      Figure 1: 20 Newsgroups, alt.atheism against talk.religion.misc, both samplers, a classifier for each of the
            two classes (as in the authors' program) or one for both
classes     Figure 2: all 20 classes, multi-task, both samplers, and one-vs-all; TF-IDF with a linear SVM beside them
            (scikit-learn)
losses      Figure 4: the logistic loss
proposals   Figure 6, and steps: Figures 7 and 8
regression  Figure 5's form: ratings of IMDB; LDA-then-ridge with the same K and ridge on tf-idf beside it
labels      F1 on Delicious
scaling     seconds a sweep against documents, their length and topics, each varied alone, and a picture
beyond      averaged weights, θ^p, several chains: how far towards the SVM
rivals      tomotopy's supervised LDA, where it is installed: after the same sweeps, and the seconds to its quality
few         three and five classes, with a bias and without

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
from cells import Runs
from compound import plotting

from topicx import LDA, Corpus, MedLDA
from topicx.evaluate.prediction_measures import measure_predictions, of_values

BINARY = ("alt.atheism", "talk.religion.misc")
FEW = {
    "three far apart": (("comp.graphics", "rec.autos", "sci.med"), (20, 100)),
    "three on religion": (("alt.atheism", "soc.religion.christian", "talk.religion.misc"), (20, 100)),
    "five on computers": (
        (
            "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware",
            "comp.windows.x",
        ),
        (20,),
    ),
}  # fmt: skip
"""Few classes: names, their groups, numbers of topics."""
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
    (by CVB0 and φ^p, as by default; by θ of ten samples of five chains, and φ, where an estimator is given)."""
    estimator = options.pop("estimator", None)
    sweeps = min(options.pop("iterations"), args.sweeps)
    begin = time.process_time()
    model = MedLDA(topics, iterations=sweeps, threads=1, theta="cgs", phi=estimator or "cgsp", **options).fit(train)
    seconds = time.process_time() - begin
    found = measure_predictions(model.model, test, theta=estimator, threads=1)
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
    for task, name in (("auto", "two classifiers"), ("binary", "one classifier")):
        for sampler in args.samplers:
            for topics in args.topics or [10, 20, 50, 100]:
                found = over_seeds(
                    runs, f"binary {task} {sampler} {topics}", args, train, test, topics, sampler=sampler,
                    iterations=10, lambda_=262.4, alpha_sum=6.4, weight_samples=3, task=task,
                )  # fmt: skip
                rows.append((f"{name}, {sampler}, K = {topics}", found))
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


def few(args: argparse.Namespace, runs: Runs) -> None:
    """Classes that are not rare: does a constant help?"""
    rows = []
    for name, (groups, numbers_of_topics) in FEW.items():
        train, test = load(args.data, "20news-bydate", 5, groups, args.documents)
        for topics in args.topics or numbers_of_topics:
            for bias in (True, False):
                found = over_seeds(
                    runs, f"few {name} {topics} {bias}", args, train, test, topics, iterations=25, sampler="dense",
                    lambda_=102.4, alpha_sum=6.4, bias=bias,
                )  # fmt: skip
                rows.append((f"{name}, K = {topics}, {'with' if bias else 'without'} a bias", found))
    show("Few classes", rows)


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


# -- another program ------------------------------------------------------------------------------------------------


def rivals(args: argparse.Namespace, runs: Runs) -> None:
    """tomotopy's supervised LDA beside ours: two classes, and ratings; one thread, the same topics, α and β."""
    if not find_spec("tomotopy"):
        print("\nrivals: tomotopy is not installed")
        return
    for title, name, chosen, settings in (
        ("two classes", "20news-lda", BINARY, {"lambda_": 262.4}),
        ("ratings", "imdb", (), {"target": "label", "task": "regression", "lambda_": 10.0}),
    ):
        train, test = load(args.data, name, 5, chosen, args.documents or 2000)
        for topics in args.topics or [20, 100]:
            sweeps, rows, best = min(args.sweeps, args.rival_sweeps), [], {}
            for many in (sweeps, 4 * sweeps):
                each = [
                    runs.get(
                        f"rivals tomotopy {name} {topics} {many} seed {seed}",
                        lambda s=seed, k=topics, n=many, parts=(train, test, title): tomotopy_slda(*parts, k, n, s),
                    )
                    for seed in range(1, args.seeds + 1)
                ]
                found = {
                    figure: (np.mean([e[figure] for e in each]), np.std([e[figure] for e in each]))
                    for figure in each[0]
                }
                rows.append((f"tomotopy, {many} sweeps", found))
                quality = "accuracy" if "accuracy" in found else "r2"
                best = max(best, found, key=lambda one: one[quality][0] if one else -np.inf)
            for some in sorted({2, 3, 5, 8, 12, 20, 30, sweeps}):  # each a run of its own
                ours = over_seeds(
                    runs, f"rivals ours {name} {topics} {some}", args, train, test, topics, iterations=some,
                    alpha_sum=6.4, weight_samples=max(some // 4, 1), **settings,
                )  # fmt: skip
                rows.append((f"ours, {some} sweeps", ours))
            show(f"{title}, {len(train)} and {len(test)} documents, K = {topics}", rows)
            there = next((row for row in rows[2:] if row[1][quality][0] >= best[quality][0]), None)
            if there:
                seconds = best["seconds"][0] / there[1]["seconds"][0]
                print(f"  tomotopy's best is reached by {there[0]}, {seconds:.1f} times sooner", flush=True)


def tomotopy_slda(train: Corpus, test: Corpus, kind: str, topics: int, sweeps: int, seed: int) -> dict[str, Any]:
    """Processor seconds of training; accuracy, or R² of standardised ratings' predictions."""
    import tomotopy

    binary = kind == "two classes"
    targets = [
        np.array(
            [corpus.labels(d)[0] == BINARY[1] if binary else float(corpus.labels(d)[0]) for d in range(len(corpus))]
        )
        for corpus in (train, test)
    ]
    shift, scale = (0.0, 1.0) if binary else (targets[0].mean(), targets[0].std())
    model = tomotopy.SLDAModel(k=topics, vars="b" if binary else "l", alpha=6.4 / topics, eta=0.01, seed=seed)
    known = set(train.vocabulary)
    for document in range(len(train)):
        model.add_doc(train.document(document), [float((targets[0][document] - shift) / scale)])
    begin = time.process_time()
    model.train(sweeps, workers=1)
    seconds = time.process_time() - begin
    docs = [model.make_doc([word for word in test.document(d) if word in known]) for d in range(len(test))]
    model.infer(docs, iterations=100, workers=1)
    found = shift + scale * np.array([model.estimate(doc)[0] for doc in docs])
    if binary:
        return {"seconds": seconds, "accuracy": float(np.mean((found > 0.5) == targets[1]))}
    return {"seconds": seconds} | of_values(targets[1], found)


# -- cost ------------------------------------------------------------------------------------------------------------


def scaling(args: argparse.Namespace, runs: Runs) -> None:
    """One of documents, length and topics varied; the others as in the middle."""
    middle = {"number": 4000, "most": 80, "topics": 50}
    curves: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for sampler in args.samplers:
        rows = []
        for name, what, values in (
            ("number", "documents", (1000, 2000, 4000, 8000)),
            ("most", "tokens a document", (20, 40, 80, 160)),
            ("topics", "topics", (25, 50, 100, 200, 400)),
        ):
            points = []
            for value in values:
                case = middle | {name: value}
                if args.quick:
                    case = {"number": 60 + 10 * len(points), "most": 10 + 10 * len(points), "topics": 4 + len(points)}
                found = runs.get(f"scaling {sampler} {name} {value}", lambda c=case, s=sampler: a_sweep(c, s, args))
                x = {"number": found["documents"], "most": found["tokens"] / found["documents"]}.get(name, value)
                points.append((float(x), found["a_sweep"]))
                rows.append(
                    (f"{what}: {x:.6g}", {"a_sweep": (found["a_sweep"], 0.0), "tokens": (found["tokens"], 0.0)})
                )
            x, y = np.array(points).T
            slope, start = np.polyfit(x, y, 1)
            r2 = 1 - ((y - start - slope * x) ** 2).sum() / max(((y - y.mean()) ** 2).sum(), 1e-30)
            power = np.polyfit(np.log(x), np.log(y), 1)[0]
            print(f"  {sampler}, {what}: {start:.4f} + {slope:.3g} x seconds, R² {r2:.4f}, power {power:.2f}")
            curves.setdefault(what, {})[sampler] = (x.tolist(), y.tolist())
        show(f"Seconds a sweep (20 classes, {sampler})", rows)
    picture(args.out / "medlda-cost.png", curves, "seconds a sweep")


def a_sweep(case: dict[str, int], sampler: str, args: argparse.Namespace) -> dict[str, float]:
    """Processor seconds of a sweep with all between sweeps: the median of the last half."""
    train, _ = load(args.data, "20news-bydate", 5, (), case["number"], case["most"])
    clock = [time.process_time()]
    model = MedLDA(
        case["topics"], iterations=min(16, args.sweeps + 2), threads=1, sampler=sampler, alpha_sum=6.4, seed=1
    )
    model.fit(train, callbacks=[lambda _: clock.append(time.process_time())])
    steps = np.diff(clock)
    return {"a_sweep": float(np.median(steps[len(steps) // 2 :])), "tokens": train.n_tokens, "documents": len(train)}


def picture(path: Path, curves: dict[str, dict[str, tuple[list[float], list[float]]]], what: str) -> None:
    """A panel for each of the curves, with a line for each name in it."""
    pyplot = plotting()
    if pyplot is None:
        return
    figure, axes = pyplot.subplots(1, len(curves), figsize=(4 * len(curves), 3.4), squeeze=False)
    for axis, (title, lines) in zip(axes[0], curves.items(), strict=True):
        for name, (x, y) in lines.items():
            axis.plot(x, y, marker="o", markersize=3, label=name)
        axis.set_xlabel(title)
        axis.set_ylim(bottom=0)
    axes[0][0].set_ylabel(what)
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


PARTS: dict[str, Callable[[argparse.Namespace, Runs], None]] = {
    "binary": binary, "classes": classes, "losses": losses, "proposals": proposals, "steps": steps,
    "regression": regression, "labels": labels, "scaling": scaling, "beyond": beyond, "rivals": rivals,
    "few": few,
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
    parser.add_argument("--rival-sweeps", type=int, default=50)
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
