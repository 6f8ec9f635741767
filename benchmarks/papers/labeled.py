"""Papanikolaou, Foulds, Rubin & Tsoumakas 2017, section 6: labels of new documents by Prior-LDA, and peers.

    python benchmarks/papers/labeled.py --data DIR --out DIR [--corpora bibtex,delicious,medical] [--runs 5]
        [--part tables|samples|peers|speed|all] [--quick]

tables: micro-, macro- and example-based F1 (Tables 6, 7, 8) of CGS, φ+θ^p, φ^p+θ, CGS_p and CVB0, with 1 chain × 1
sample and 5 × 30. samples: the same against the number of samples (Appendix G), as numbers and a plot. peers:
tomotopy's LLDAModel and PLDAModel, scikit-learn's one-vs-rest linear SVM and logistic regression, Dependency-LDA and
Labeled LDA. speed: tokens a second of processor time in training beside tomotopy, one thread each.

As in the paper: α = 50/K in training, α_k = 50 f_k/Σf + 30/K for new documents, β = 0.1; 50 sweeps of burn-in, a lag of
5; the Meta-Labeler says how many labels a document gets. Documents without labels are left out (the paper's counts
show that it did so, too). Two things that the paper leaves open decide much, and both ways are printed:

- What ranks the labels. `theta`: θ, α included. `words`: the part of θ^p's numerator that the words make, without α.
- How many labels. `meta`: the regression's number; `known`: the document's own number, what a perfect one would give.

Every finished cell is a line of runs.jsonl: a killed script continues.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from cgsp import Runs
from numpy.typing import NDArray

from topicx.chain_series import pooled_model
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.estimate import estimate
from topicx.estimate.averaging import average_models
from topicx.evaluate.label_measures import LabelMeasures
from topicx.model import Model
from topicx.model_registry import with_defaults
from topicx.predict.inference import Inference
from topicx.predict.label_number import LabelNumber
from topicx.predict.label_reader import chosen_labels, label_reader
from topicx.run import Run
from topicx.sampling.run_options import Options

CORPORA = {"bibtex": "mulan-bibtex", "delicious": "mulan-delicious", "medical": "mulan-medical"}
STOP = set("a an and are as at be but by for if in into is it no not of on or such that the".split()) | set(  # noqa: SIM905
    "their then there these they this to was will with".split()  # noqa: SIM905
)
"""`bibtex-stop`: Bibtex without these 33 words. The paper's Bibtex has 30 words and 14 tokens a document less than the
data set as it is distributed; without these it has 33 and 14 less."""
METHODS = {"CGS": ("cgs", "cgs"), "φ+θp": ("cgs", "cgsp"), "φp+θ": ("cgsp", "cgs"), "CGSp": ("cgsp", "cgsp")}
CONFIGURATIONS = {"1x1": (1, 1), "5x30": (5, 30)}
FIXED = {"CVB0": "words", "CVB0, ranked by θ": "theta"}
"""What stands beside the samples: CVB0, and what ranks its labels."""
F1 = ("micro_f1", "macro_f1", "example_f1")
PAPER = {  # Tables 6, 7 and 8: micro, macro, example
    ("bibtex", "1x1"): {"CGS": (0.2388, 0.1582, 0.2546), "φ+θp": (0.2985, 0.2019, 0.3127),
                        "φp+θ": (0.2337, 0.1548, 0.2472), "CGSp": (0.2900, 0.1946, 0.3048),
                        "CVB0": (0.2907, 0.2232, 0.2995)},
    ("bibtex", "5x30"): {"CGS": (0.2873, 0.2144, 0.2958), "φ+θp": (0.3704, 0.2693, 0.3807),
                         "φp+θ": (0.2842, 0.2086, 0.2922), "CGSp": (0.3628, 0.2579, 0.3733),
                         "CVB0": (0.2910, 0.2237, 0.2997)},
    ("delicious", "1x1"): {"CGS": (0.2126, 0.0337, 0.2047), "φ+θp": (0.2472, 0.0597, 0.2389),
                           "φp+θ": (0.2127, 0.0332, 0.2035), "CGSp": (0.2531, 0.0585, 0.2444),
                           "CVB0": (0.2761, 0.0466, 0.2672)},
    ("delicious", "5x30"): {"CGS": (0.2699, 0.0373, 0.2625), "φ+θp": (0.3184, 0.0874, 0.3118),
                            "φp+θ": (0.2699, 0.0362, 0.2610), "CGSp": (0.3189, 0.0855, 0.3086),
                            "CVB0": (0.2773, 0.0481, 0.2690)},
}  # fmt: skip
BURN_IN, LAG = 50, 5


# -- data ----------------------------------------------------------------------------------------------------------


def load(data: Path, name: str, limit: int = 0) -> tuple[Corpus, Corpus]:
    """Training and test documents that have labels."""
    base = name.removesuffix("-stop")
    folder = data / CORPORA[base]
    with gzip.open(folder / "docs.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    with gzip.open(folder / "split.tsv.gz", "rt", encoding="utf-8") as lines:
        split = dict(line.rstrip("\n").split("\t") for line in lines)
    rows = [row for row in rows if row[1] not in ("", "-")]
    leave = STOP if name.endswith("-stop") else set()
    corpus = Corpus.from_documents(
        [[word for word in row[2].split() if word not in leave] for row in rows], ids=[row[0] for row in rows],
        labels=[row[1].split(",") for row in rows],
    )  # fmt: skip
    test = np.array([split[row[0]] == "test" for row in rows])
    train, tested = np.flatnonzero(~test), np.flatnonzero(test)
    if limit:
        train, tested = train[:limit], tested[:limit]
    return corpus.select(train), corpus.select(tested)


def truth_of(corpus: Corpus, names: list[str]) -> NDArray[np.bool_]:
    """Documents × labels; those that are not among `names` behind them."""
    labels = corpus.document_labels()
    column = {name: at for at, name in enumerate(names)}
    for name in sorted({labels.names[int(k)] for k in np.unique(labels.ids)}):
        column.setdefault(name, len(column))
    truth = np.zeros((corpus.n_documents, len(column)), bool)
    rows = np.repeat(np.arange(corpus.n_documents), np.diff(labels.offsets))
    truth[rows, [column[labels.names[int(k)]] for k in labels.ids]] = True
    return truth


def measured(scores: NDArray[Any], truth: NDArray[np.bool_], numbers: NDArray[np.int64]) -> dict[str, Any]:
    """The measures with the regression's numbers of labels and with the true ones."""
    wide = np.full(truth.shape, min(float(scores.min()) - 1, -1.0))
    wide[:, : scores.shape[1]] = scores
    found = {}
    for name, each in (("meta", numbers), ("known", truth.sum(axis=1))):
        measures = LabelMeasures(truth.shape[1])
        measures.add(wide, truth, chosen_labels(wide, each))
        found[name] = measures.result()
    return found


# -- Prior-LDA -----------------------------------------------------------------------------------------------------


def options_of(model: str, seed: int, samples: int, sampler: str = "auto", **more: Any) -> Options:
    sweeps = BURN_IN + (samples - 1) * LAG
    given = {"iterations": sweeps, "sampler": sampler} | ({"samples": samples, "lag": LAG} if samples > 1 else {})
    general = with_defaults(model, given)
    return Options(model=model, seed=seed, trace_interval=sweeps, **general, **more)


def train(corpus: Corpus, options: Options, chains: int, threads: int) -> dict[str, Model]:
    """The model of each estimator of φ, averaged over chains and samples."""
    found: dict[str, Model] = {}
    with Threads(threads) as engine:
        run = Run.start(corpus, options, engine)
        for number in range(chains):
            run = run if number == 0 else run.next(number)
            run.train()
            for phi in ("cgs", "cgsp") if run.samples else ("auto",):
                model = run.result(theta="cgsp", phi=phi, examples=0).model
                found[phi] = pooled_model(found.get(phi), number, model)
    return found


def predicted(
    model: Model, test: Corpus, chains: int, samples: int, theta: str, seed: int, threads: int
) -> dict[str, Any]:
    """The measures of both rankings and both numbers of labels."""
    settings: dict[str, Any] = {"burn_in": BURN_IN, "theta": theta, "seed": seed, "threads": threads}
    if theta != "cvb0":
        settings |= {"samples": samples, "lag": LAG, "chains": chains}
    inference = Inference(model, **settings)
    labellers = {score: label_reader(model, score=score) for score in ("theta", "words")}
    scores: dict[str, list[NDArray[np.float32]]] = {score: [] for score in labellers}
    numbers = []
    for part in inference.stream(inference.corpus(test)):
        for score, labeller in labellers.items():
            scores[score].append(labeller.scores(part))
        number = labellers["theta"].number
        assert number is not None
        numbers.append(number.predict(part.documents.words, part.documents.offsets))
    truth = truth_of(test, list(labellers["theta"].names))
    return {s: measured(np.concatenate(rows), truth, np.concatenate(numbers)) for s, rows in scores.items()}


def tables(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    """Tables 6, 7 and 8."""
    results: dict[str, Any] = {}
    for corpus in args.corpora:
        for configuration in args.configurations:
            for run in range(1, args.runs + 1):
                key = f"tables/{corpus}/{configuration}/{run}"
                results[key] = runs.get(key, lambda: one_run(args, corpus, configuration, run))  # noqa: B023
            print_tables(args, results, corpus, configuration)
    return results


def one_run(args: argparse.Namespace, name: str, configuration: str, run: int) -> dict[str, Any]:
    corpus, test = load(args.data, name, args.limit)
    chains, samples = CONFIGURATIONS[configuration] if not args.quick else (2, 2)
    if configuration == "1x1":
        chains = samples = 1
    found: dict[str, Any] = {}
    models = train(corpus, options_of("prior", run, samples), chains, args.threads)
    for method, (phi, theta) in METHODS.items():
        found[method] = predicted(models[phi], test, chains, samples, theta, run, args.threads)
    expected = train(corpus, options_of("prior", run, 1, "labeled-cvb0"), chains, args.threads)["auto"]
    found["CVB0"] = predicted(expected, test, 1, 1, "cvb0", run, args.threads)
    return found


def print_tables(args: argparse.Namespace, results: dict[str, Any], corpus: str, configuration: str) -> None:
    paper = PAPER.get((corpus.removesuffix("-stop"), configuration), {})
    mine = [results[f"tables/{corpus}/{configuration}/{run}"] for run in range(1, args.runs + 1)]
    print(
        f"\n{corpus}, {configuration.replace('x', ' chains × ')} samples, mean ± standard deviation of {len(mine)} runs"
    )
    for at, measure in enumerate(F1):
        print(f"  {measure:<11} {'paper':>7}   theta, meta       theta, known      words, meta       words, known")
        for method in [*METHODS, "CVB0"]:
            cells = []
            for score in ("theta", "words"):
                for number in ("meta", "known"):
                    values = [one[method][score][number][measure] for one in mine]
                    cells.append(f"{np.mean(values):.4f} ± {np.std(values):.4f}")
            told = f"{paper[method][at]:.4f}" if paper else "–"
            print(f"  {method:<11} {told:>7}   " + "   ".join(cells))
    print(flush=True)


# -- Appendix G ----------------------------------------------------------------------------------------------------


def samples(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    """F1 against the number of samples of one chain, in training and prediction alike."""
    results = {
        f"samples/{corpus}": runs.get(f"samples/{corpus}", lambda: curve(args, corpus))  # noqa: B023
        for corpus in args.corpora
    }
    for key, rows in results.items():
        print(f"\n{key}: micro, macro, example F1 (ranked by words, the regression's number of labels)")
        for row in rows:
            told = "  ".join(f"{m} " + " ".join(f"{v:.4f}" for v in row[m]) for m in [*METHODS, *FIXED])
            print(f"  {row['samples']:>3} samples: {told}")
    plot(results, args.out / "labels-samples.png")
    return results


def curve(args: argparse.Namespace, name: str) -> list[dict[str, Any]]:
    corpus, test = load(args.data, name, args.limit)
    most = max(args.counts)
    rows = []
    with Threads(args.threads) as engine:
        run = Run.start(corpus, options_of("prior", 1, most), engine).train()
        states = [*run.chain.samples.values(), run.chain.method.sync()]
        last = run.result(phi="cgs", examples=0).model
        models = {
            phi: [estimate(s, phi=phi, examples=0, threads=args.threads) for s in states] for phi in ("cgs", "cgsp")
        }
    expected = train(corpus, options_of("prior", 1, 1, "labeled-cvb0"), 1, args.threads)["auto"]
    fixed = predicted(expected, test, 1, 1, "cvb0", 1, args.threads)
    lines = {name: [fixed[score]["meta"][m] for m in F1] for name, score in FIXED.items()}
    for count in args.counts:
        row: dict[str, Any] = {"samples": count} | lines
        for method, (phi, theta) in METHODS.items():
            mean = average_models(models[phi][:count], [np.arange(last.n_topics)] * count)
            model = replace(last, indptr=mean.indptr, topics=mean.topics, values=mean.values, remainder=mean.remainder,
                            remainder_share=mean.remainder_share)  # fmt: skip
            found = predicted(model, test, 1, count, theta, 1, args.threads)["words"]["meta"]
            row[method] = [found[m] for m in F1]
        rows.append(row)
    return rows


def plot(results: dict[str, Any], path: Path) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no plot: matplotlib is not installed")
        return
    figure, axes = plt.subplots(len(results), 3, figsize=(12, 3.2 * len(results)), squeeze=False)
    for line, (key, rows) in zip(axes, results.items()):
        for at, (axis, title) in enumerate(zip(line, ("micro-F1", "macro-F1", "example-based F1"))):
            for method in [*METHODS, *FIXED]:
                style: dict[str, Any] = {"marker": "o", "markersize": 3}
                if method in FIXED:
                    style = {"linestyle": "--" if method == "CVB0" else ":", "color": "black"}
                axis.plot([row["samples"] for row in rows], [row[method][at] for row in rows], label=method, **style)
            axis.set_title(f"{key.removeprefix('samples/')}: {title}")
            axis.set_xlabel("samples of one chain")
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print(f"wrote {path}")


# -- peers ---------------------------------------------------------------------------------------------------------


def peers(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    """Other programs and the other models, on the same data and by the same evaluator."""
    work: dict[str, Callable[[argparse.Namespace, str], dict[str, Any]]] = {
        "topicx labeled": lambda a, c: ours(a, c, "labeled"),
        "topicx prior": lambda a, c: ours(a, c, "prior"),
        "topicx dependency": lambda a, c: ours(a, c, "dependency"),
        "tomotopy LLDAModel": lambda a, c: tomotopy_labels(a, c, "LLDAModel"),
        "tomotopy PLDAModel": lambda a, c: tomotopy_labels(a, c, "PLDAModel"),
        "one-vs-rest linear SVM": lambda a, c: one_vs_rest(a, c, "svm"),
        "one-vs-rest logistic regression": lambda a, c: one_vs_rest(a, c, "logistic"),
    }
    results: dict[str, Any] = {}
    for corpus in args.corpora:
        print(
            f"\n{corpus}: micro, macro, example F1 with the regression's number of labels; precision at 1, ranking loss"
        )
        for name, make in work.items():
            key = f"peers/{corpus}/{name}"
            found = results[key] = runs.get(key, lambda: make(args, corpus))  # noqa: B023
            if "error" in found:
                print(f"  {name:<34} {found['error']}")
                continue
            row = found["meta"]
            told = " ".join(f"{row[m]:.4f}" for m in F1)
            own = " ".join(f"{found['own'][m]:.4f}" for m in F1) if "own" in found else ""
            told += f"   {row['precision_at']['1']:.4f} {row['ranking_loss']:.4f}   train {found['seconds']:.1f} s"
            print(f"  {name:<34} {told}" + (f"   its own decisions: {own}" if own else ""), flush=True)
    return results


def ours(args: argparse.Namespace, name: str, model: str) -> dict[str, Any]:
    """5 chains × 10 samples, by the defaults of `topicx infer`: ranked by words."""
    corpus, test = load(args.data, name, args.limit)
    begin = time.perf_counter()
    trained = train(corpus, options_of(model, 1, args.peer_samples), args.peer_chains, args.threads)["cgsp"]
    seconds = time.perf_counter() - begin
    found = predicted(trained, test, args.peer_chains, args.peer_samples, "cgsp", 1, args.threads)
    return found["words"] | {"seconds": seconds}


def numbers_of(corpus: Corpus, test: Corpus) -> NDArray[np.int64]:
    """How many labels the regression expects of the test documents."""
    counts = np.diff(corpus.document_labels().offsets)
    return LabelNumber.fit(corpus.words, corpus.offsets, corpus.n_words, counts).predict(test.words, test.offsets)


def tomotopy_labels(args: argparse.Namespace, name: str, kind: str) -> dict[str, Any]:
    """The same sweeps, and its own inference: one chain, as many sweeps as ours have in all samples."""
    try:
        import tomotopy
    except ImportError:
        return {"error": "tomotopy is not installed"}
    corpus, test = load(args.data, name, args.limit)
    sweeps = BURN_IN + (args.peer_samples - 1) * LAG
    labels = sorted({label for d in range(corpus.n_documents) for label in corpus.labels(d)})
    begin = time.perf_counter()
    model = tomotopy_model(tomotopy, kind, corpus, labels)
    model.train(sweeps, workers=1, parallel=tomotopy.ParallelScheme.NONE)
    seconds = time.perf_counter() - begin
    column = topics_of_labels(model, kind, labels)
    documents = [model.make_doc(test.document(d) or [corpus.vocabulary[0]], labels=[]) for d in range(test.n_documents)]
    shares, _ = model.infer(documents, iterations=sweeps, workers=1)
    scores = np.asarray(shares)[:, column]
    return measured(scores, truth_of(test, labels), numbers_of(corpus, test)) | {"seconds": seconds}


def tomotopy_model(tomotopy: Any, kind: str, corpus: Corpus, labels: list[str]) -> Any:
    alpha = 50 / len(labels)
    settings = {"alpha": alpha, "eta": 0.1, "seed": 1}
    model = tomotopy.LLDAModel(**settings) if kind == "LLDAModel" else tomotopy.PLDAModel(latent_topics=0, **settings)
    for d in range(corpus.n_documents):
        if corpus.offsets[d + 1] > corpus.offsets[d]:
            model.add_doc(corpus.document(d), labels=corpus.labels(d))
    model.optim_interval = 0
    return model


def topics_of_labels(model: Any, kind: str, labels: list[str]) -> list[int]:
    """The topic of each label."""
    known = {name: at for at, name in enumerate(model.topic_label_dict)}
    per = model.topics_per_label if kind == "PLDAModel" else 1
    return [known[label] * per for label in labels]


def one_vs_rest(args: argparse.Namespace, name: str, kind: str) -> dict[str, Any]:
    """A linear classifier for each label on log(1 + count); ranked by its decision values."""
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.svm import LinearSVC
    except ImportError:
        return {"error": "scikit-learn is not installed"}
    from topicx.predict.label_number import features_of

    corpus, test = load(args.data, name, args.limit)
    labels = sorted({label for d in range(corpus.n_documents) for label in corpus.labels(d)})
    features, other = (features_of(c.words, c.offsets, corpus.n_words) for c in (corpus, test))
    for matrix in (features, other):
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    wanted = truth_of(corpus, labels)
    single = LinearSVC(random_state=1) if kind == "svm" else LogisticRegression(solver="liblinear", random_state=1)
    begin = time.perf_counter()
    model = OneVsRestClassifier(single).fit(features, wanted.astype(int))
    seconds = time.perf_counter() - begin
    scores = np.asarray(model.decision_function(other))
    truth = truth_of(test, labels)
    found = measured(scores, truth, numbers_of(corpus, test)) | {"seconds": seconds}
    wide = np.full(truth.shape, float(scores.min()) - 1)
    wide[:, : scores.shape[1]] = scores
    measures = LabelMeasures(truth.shape[1])
    measures.add(wide, truth, wide > 0)
    return found | {"own": measures.result()}


def speed(args: argparse.Namespace, runs: Runs) -> dict[str, Any]:
    """Tokens a second of processor time in training sweeps, one thread each, in one run."""
    results = {
        f"speed/{corpus}": runs.get(f"speed/{corpus}", lambda: speeds(args, corpus))  # noqa: B023
        for corpus in args.corpora
    }
    for key, row in results.items():
        told = ", ".join(f"{name} {value / 1e6:.2f}" for name, value in row.items())
        print(f"{key}: million tokens a second of processor time, one thread: {told}", flush=True)
    return results


def speeds(args: argparse.Namespace, name: str) -> dict[str, float]:
    corpus, _ = load(args.data, name, args.limit)
    sweeps = args.speed_sweeps
    found = {}
    with Threads(1) as engine:
        for label, sampler in (("topicx labeled", "labeled"), ("topicx labeled-cvb0", "labeled-cvb0")):
            options = replace(options_of("prior", 1, 1, sampler), iterations=sweeps, trace_interval=10_000)
            run = Run.start(corpus, options, engine)
            run.chain.method.start(random=True)
            begin = time.process_time()
            for step in range(sweeps):
                run.chain.method.sweep(step)
            found[label] = sweeps * corpus.n_tokens / (time.process_time() - begin)
    try:
        import tomotopy
    except ImportError:
        return found
    labels = sorted({each for d in range(corpus.n_documents) for each in corpus.labels(d)})
    for kind in ("LLDAModel", "PLDAModel"):
        model = tomotopy_model(tomotopy, kind, corpus, labels)
        model.train(1, workers=1, parallel=tomotopy.ParallelScheme.NONE)
        begin = time.process_time()
        model.train(sweeps, workers=1, parallel=tomotopy.ParallelScheme.NONE)
        found[f"tomotopy {kind}"] = sweeps * corpus.n_tokens / (time.process_time() - begin)
    return found


PARTS: dict[str, Callable[[argparse.Namespace, Runs], dict[str, Any]]] = {
    "tables": tables, "samples": samples, "peers": peers, "speed": speed,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of corpora")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/labeled"))
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--corpora", default="bibtex,bibtex-stop,delicious,medical")
    parser.add_argument("--configurations", default=",".join(CONFIGURATIONS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="minutes become seconds: a test that everything runs")
    args = parser.parse_args()
    args.corpora, args.configurations = args.corpora.split(","), args.configurations.split(",")
    args.counts, args.limit, args.speed_sweeps = [1, 2, 3, 5, 10, 20, 30], 0, 20
    args.peer_chains, args.peer_samples = 5, 10
    if args.quick:
        args.corpora, args.runs, args.counts, args.limit, args.speed_sweeps = ["medical"], 2, [1, 2], 100, 2
        args.peer_chains, args.peer_samples = 2, 2
    args.out.mkdir(parents=True, exist_ok=True)
    runs = Runs(args.out / ("runs-quick.jsonl" if args.quick else "runs.jsonl"))
    results = {name: part(args, runs) for name, part in PARTS.items() if args.part in (name, "all")}
    target = args.out / ("results-quick.json" if args.quick else "results.json")
    target.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
