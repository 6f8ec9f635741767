"""Cross-validation: how well a supervised model predicts what it was not trained on, over a grid of options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from topicx.corpus.corpus import Corpus
from topicx.declare import check_whole
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.evaluate.prediction_measures import measure_predictions
from topicx.run import Run, pooled
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
    rows = []
    for number in topics or (options.topics,):
        for weight in weights or (options.own.get("lambda_"),):
            own = options.own if weight is None else options.own | {"lambda_": float(weight)}
            chosen = replace(options, topics=number, own=own)
            scores, name = [], ""
            for held_out in range(folds):
                run, model = Run.start(corpus.select(fold != held_out), chosen, engine), None
                for chain in range(run.definition.parts(run.chain.state)):
                    run = (run if chain == 0 else run.next(chain)).train()
                    model = pooled(model, chain, run.result(theta="cgs", phi="cgs", examples=0).model)
                assert model is not None
                found = measure_predictions(model, corpus.select(fold == held_out), threads=engine.threads)
                name = FIGURE[found["task"]]
                scores.append(float(found[name]))
            row: dict[str, Any] = {"topics": number, "lambda": weight, "figure": name, "mean": float(np.mean(scores)),
                   "spread": float(np.std(scores)), "folds": scores}  # fmt: skip
            each(row)
            rows.append(row)
    if not all(np.isfinite(row["mean"]) for row in rows):
        raise InputError("folds: a fold has no document with a target; fewer folds have more of them each")
    return sorted(rows, key=lambda row: -row["mean"])
