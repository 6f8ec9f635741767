"""Do the intervals of effects hold what they say? Documents are made with known topics and a known dependence on a
group or a curve; effects are estimated; it is counted how often intervals hold the truth.

    python benchmarks/statistics/effects_coverage.py --runs 200 -o coverage.json
    python benchmarks/statistics/effects_coverage.py --quick

groups: α of two groups of documents; the difference of each topic's share. curve: log α is a quadratic of a number; the
share at five places of the spline regression that the true shares have. by: shares by `topics --by`. phi known: the
true topics; learnt: an LDA of as many other documents, its topics matched with the true ones. plug-in: what ignores the
groups when θ is drawn.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import topicx
from topicx.corpus.corpus import Corpus
from topicx.design.design import Design
from topicx.estimate.topic_alignment import align_topics
from topicx.model import Model
from topicx.strings import Strings

WORDS, CONCENTRATION, SCALE = 500, 5.0, 1e7
PLACES = [0.05, 0.25, 0.5, 0.75, 0.95]
Floats = NDArray[np.float64]


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


def truths(rng: np.random.Generator, topics: int, documents: int, design: str) -> tuple[Floats, dict[str, Any]]:
    """α of each document, and its column."""
    level = np.log(CONCENTRATION * rng.dirichlet(np.full(topics, 5.0)))
    if design == "curve":
        x = rng.random(documents)
        slopes, bends = rng.normal(0, 0.6, topics), rng.normal(0, 0.6, topics)
        shape = np.outer(2 * x - 1, slopes) + np.outer((2 * x - 1) ** 2, bends)
        return np.exp(level + shape), {"x": x}
    group = np.arange(documents) % 2
    effect = rng.normal(0, 0.5, topics)
    return np.exp(level + group[:, None] * effect), {"group": Strings.of("AB"[one] for one in group)}


def learnt_model(phi: Floats, alpha: Floats, tokens: int, rng: np.random.Generator, seed: int) -> Model:
    """Topics of as many other documents, in the order of the true ones."""
    other = made_corpus(rng, phi, alpha, tokens)
    lda = topicx.LDA(topics=len(phi), iterations=200, optimize_interval=10, seed=seed, verbose=False, threads=1).fit(
        other
    )
    order = [pair.b for pair in align_topics(made_model(phi), lda.model) if pair.a is not None]
    found = np.ascontiguousarray(lda.model.topic_word[order])
    return made_model(np.maximum(found, 1e-9))


def one_run(cell: dict[str, Any], documents: int, run: int) -> dict[str, Floats]:
    """Estimates, truths, standard errors, and whether the intervals hold."""
    rng = np.random.Generator(np.random.Philox(key=[run, cell["topics"] * 1000 + cell["tokens"]]))
    phi = rng.dirichlet(np.full(WORDS, 0.05), cell["topics"]) + 1e-6
    phi /= phi.sum(axis=1, keepdims=True)
    alpha, column = truths(rng, cell["topics"], documents, cell["design"])
    corpus = made_corpus(rng, phi, alpha, cell["tokens"], **column)
    known = cell["phi"] == "known"
    model = made_model(phi) if known else learnt_model(phi, alpha, cell["tokens"], rng, run)
    shares = alpha / alpha.sum(axis=1, keepdims=True)
    if cell["design"] == "by":
        return _by(model, corpus, shares, cell, run)
    formula = "~ group" if cell["design"] == "groups" else "~ s(x, df=4)"
    kind = "none" if cell["method"] == "plug-in" else "local"
    found = topicx.effects(model, corpus, formula, seed=run, threads=1, uncertainty=kind, adjust="none")
    if cell["design"] == "groups":
        low, high = found.pooled.intervals(0.95)
        estimate, error = found.pooled.value[:, 1], found.pooled.errors[:, 1]
        truth, low, high = shares[1] - shares[0], low[:, 1], high[:, 1]
    else:
        design = Design.fit(formula, corpus.table)
        x = design.rows(corpus.table).matrix
        fit = np.linalg.lstsq(x, shares, rcond=None)[0]
        places = Corpus(
            np.zeros(0, np.uint32), np.zeros(6, np.int64), corpus.vocabulary, columns={"x": np.array(PLACES)}
        )
        truth = (design.rows(places.table).matrix @ fit).ravel()
        rows = list(found.predict(x=PLACES).rows)
        estimate = np.array([row["share"] for row in rows])
        low, high = (np.array([row[name] for row in rows]) for name in ("conf_low", "conf_high"))
        error = (high - low) / 3.92
        average = np.repeat(shares.mean(axis=0)[None], len(PLACES), axis=0).ravel()
        return {"estimate": estimate - average, "truth": truth - average, "error": error,
                "inside": (low <= truth) & (truth <= high)}  # fmt: skip
    return {"estimate": estimate, "truth": truth, "error": error, "inside": (low <= truth) & (truth <= high)}


def _by(model: Model, corpus: Corpus, shares: Floats, cell: dict[str, Any], run: int) -> dict[str, Floats]:
    from topicx.views.topics_by_column import by_documents

    found, _, _ = by_documents(
        model, "group", corpus=corpus, seed=run, threads=1, share=0.95,
        method="plug-in" if cell["method"] == "plug-in" else "effects",
    )  # fmt: skip
    low, high = found.intervals()
    truth = shares[:2]
    average = truth.mean(axis=0)
    return {
        "estimate": (found.mean - average).ravel(), "truth": (truth - average).ravel(),
        "error": ((high - low) / 3.92).ravel(), "inside": ((low <= truth) & (truth <= high)).ravel(),
    }  # fmt: skip


def measured(cell: dict[str, Any], documents: int, runs: int) -> dict[str, Any]:
    """What the runs of one cell say."""
    begin = time.process_time()
    found = [one_run(cell, documents, run) for run in range(1, runs + 1)]
    joined = {name: np.stack([one[name] for one in found]) for name in found[0]}
    estimate, truth, error, inside = (joined[name] for name in ("estimate", "truth", "error", "inside"))
    each = inside.mean(axis=1)
    return cell | {
        "runs": runs, "documents": documents, "coverage": float(inside.mean()),
        "coverage_error": float(each.std(ddof=1) / np.sqrt(runs)) if runs > 1 else None,
        "ratio": float((estimate * truth).sum() / (truth * truth).sum()),
        "error_ratio": float(np.sqrt(((estimate - truth) ** 2).mean() / (error**2).mean())),
        "seconds": (time.process_time() - begin) / runs,
    }  # fmt: skip


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--tokens", default="5,30,300")
    parser.add_argument("--topics", default="5,50")
    parser.add_argument("--phi", default="known,learnt")
    parser.add_argument("--design", default="groups,curve")
    parser.add_argument("--method", default="effects")
    parser.add_argument("--quick", action="store_true", help="a few runs of one cell of each design")
    parser.add_argument("-o", "--output", default="")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.runs, chosen.tokens, chosen.topics, chosen.phi, chosen.documents = 3, "10", "3", "known", 60
    cells = [
        {"tokens": int(tokens), "topics": int(topics), "phi": phi, "design": design, "method": method}
        for phi, design, method, topics, tokens in product(
            chosen.phi.split(","), chosen.design.split(","), chosen.method.split(","), chosen.topics.split(","),
            chosen.tokens.split(","),
        )
    ]  # fmt: skip
    rows = []
    for cell in cells:
        rows.append(measured(cell, chosen.documents, chosen.runs))
        print(json.dumps(rows[-1]), flush=True)
        if chosen.output:
            Path(chosen.output).write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
