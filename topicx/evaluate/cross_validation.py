"""Cross-validation: how well a supervised model predicts what it was not trained on, over a grid of options."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.chain_series import ChainSeries
from topicx.corpus.corpus import Corpus
from topicx.corpus.shared_corpora import shared_corpora
from topicx.declare import check_whole
from topicx.engines.threads import Engine, Threads
from topicx.errors import InputError
from topicx.evaluate.prediction_measures import measure_predictions
from topicx.run import Run
from topicx.sampling import random_streams
from topicx.sampling.run_options import Options

FIGURE = {"binary": "accuracy", "multiclass": "accuracy", "multilabel": "micro_f1", "regression": "r2"}
"""What a task is judged by."""


def cross_validate(
    corpus: Corpus,
    options: Options,
    engine: Engine,
    *,
    folds: int = 5,
    topics: Sequence[int] = (),
    weights: Sequence[float] = (),
    each: Callable[[dict[str, Any]], object] = lambda row: None,
) -> list[dict[str, Any]]:
    """A row for every pair of a number of topics and a λ (those of the options, where none are given): the figure that
    the task is judged by on each of the folds, its mean and its spread; the best first. `each` is told every row.

    Documents are dealt to folds at random by the seed; each fold is predicted by a model of all others.
    """
    check_whole("folds", folds, 2, corpus.n_documents)
    fold = random_streams.make_generator(options.seed, random_streams.SPLIT).permutation(
        np.arange(corpus.n_documents) % folds
    )
    scored = _scored(corpus, fold, folds, _grid(options, topics, weights), engine)
    rows = []
    for number in topics or (options.topics,):
        for weight in weights or (options.own.get("lambda_"),):
            found = list(itertools.islice(scored, folds))
            name, scores = found[-1][0], [score for _, score in found]
            row: dict[str, Any] = {"topics": number, "lambda": weight, "figure": name, "mean": float(np.mean(scores)),
                   "spread": float(np.std(scores)), "folds": scores}  # fmt: skip
            each(row)
            rows.append(row)
    if not all(np.isfinite(row["mean"]) for row in rows):
        raise InputError("folds: a fold has no document with a target; fewer folds have more of them each")
    return sorted(rows, key=lambda row: -row["mean"])


def _grid(options: Options, topics: Sequence[int], weights: Sequence[float]) -> list[Options]:
    """The options that are tried, in the order of the rows."""
    found = []
    for number in topics or (options.topics,):
        for weight in weights or (options.own.get("lambda_"),):
            own = options.own if weight is None else options.own | {"lambda_": float(weight)}
            found.append(replace(options, topics=number, own=own))
    return found


def _scored(
    corpus: Corpus, fold: NDArray[np.int64], folds: int, grid: Sequence[Options], engine: Engine
) -> Iterator[tuple[str, float]]:
    """The figure of every fold of each of these options, and its name: several at once on the workers of a cluster."""
    if engine.places is None:
        for options in grid:
            yield from (score_fold(corpus, fold, held_out, options, engine) for held_out in range(folds))
        return
    with shared_corpora(engine.places, corpus) as files:
        pieces = ((files[0], fold, held_out, options) for options in grid for held_out in range(folds))
        yield from engine.places.stream(score_piece, pieces)


def score_piece(corpus: str, fold: NDArray[np.int64], held_out: int, options: Options) -> tuple[str, float]:
    """One fold, on a worker."""
    with Threads(1) as engine:  # a worker does as many pieces at a time as it has threads
        return score_fold(Corpus.load(corpus), fold, held_out, options, engine)


def score_fold(
    corpus: Corpus, fold: NDArray[np.int64], held_out: int, options: Options, engine: Engine
) -> tuple[str, float]:  # fmt: skip
    """How well a model of all folds but one predicts that one: the figure's name, and the figure."""
    run = Run.start(corpus.select(fold != held_out), options, engine)
    series = ChainSeries(run, keep="average", theta="cgs", phi="cgs", examples=0)
    model = series.train()[-1].model
    found = measure_predictions(model, corpus.select(fold == held_out), threads=engine.threads)
    name = FIGURE[found["task"]]
    return name, float(found[name])
