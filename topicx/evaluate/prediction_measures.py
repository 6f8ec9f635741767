"""How well a supervised model predicts: accuracy, confusion, F1, predictive R², mean absolute error.

Documents without a target are left out. F1 of a class is that of its binary decision; macro is the mean over classes
that occur (in truth or prediction), micro the F1 of all decisions together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.inference import infer

__all__ = ["measure_predictions"]


def measure_predictions(model: Model, corpus: Corpus, target: str | None = None, **options: Any) -> dict[str, Any]:
    """Predict every document of a corpus that has a target, and compare.

    Parameters
    ----------
    model : Model
        A model that predicts (MedLDA).
    corpus : Corpus
        Documents with their true classes, labels or values.
    target : str, optional
        Column of the corpus that holds the targets. By default that of the training.
    **options
        Options of `topicx.predict.infer`.

    Returns
    -------
    dict
        Accuracy, F1, R² and others, as the task has them.
    """
    from topicx.models.medlda import classifiers_of, labels_of
    from topicx.models.targets import read_targets

    task = model.meta.get("task")
    if task is None:
        raise InputError("the model predicts nothing: it was not trained with targets (train --model medlda)")
    column = target or model.meta.get("options", {}).get("own", {}).get("target")
    learnt = classifiers_of(model)
    classes = list(learnt.classes)
    told = read_targets(corpus, str(task), column, classes)
    known = np.flatnonzero(told.known)
    if classes:
        _check_known(
            classes, [name for each in told.truth if each for name in ([each] if task != "multilabel" else each)]
        )
    scores = learnt.scores(infer(model, corpus, **options))[known]
    truth = [told.truth[int(document)] for document in known]
    about: dict[str, Any] = {"task": task, "documents": len(known), "without_target": corpus.n_documents - len(known)}
    if task == "regression":
        return about | of_values(np.array(truth, np.float64), scores[:, 0])
    if task == "multilabel":
        index = {name: number for number, name in enumerate(classes)}
        right = [[index[name] for name in each if name in index] for each in truth]
        unknown = sum(name not in index for each in truth for name in each)
        return about | of_labels(right, scores, labels_of(scores), len(classes)) | {"unknown_labels": unknown}
    chosen = (scores[:, 0] > 0).astype(int) if task == "binary" else scores.argmax(axis=1)
    return about | of_classes(truth, [classes[i] for i in chosen], classes)


def _check_known(classes: Sequence[str], told: Sequence[str]) -> None:
    """InputError where no document has a class of the model's: another column was meant."""
    if not set(classes) & set(told):
        mine, theirs = (", ".join(sorted(set(names))[:6]) for names in (classes, told))
        raise InputError(f"target: no document has one of the model's classes ({mine}), but {theirs}")


def of_values(truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> dict[str, Any]:
    """Predictive R² (1 less the squared errors by those of the mean) and mean absolute error."""
    errors, total = ((truth - predicted) ** 2).sum(), ((truth - truth.mean()) ** 2).sum()
    return {"r2": float(1 - errors / total) if total > 0 else float("nan"),
            "mae": float(np.abs(truth - predicted).mean())}  # fmt: skip


def of_classes(truth: Sequence[str], predicted: Sequence[str], classes: Sequence[str]) -> dict[str, Any]:
    """Accuracy, F1 and the confusion: rows are the truth, columns the predictions, in the order of `classes`."""
    names = [*classes, *sorted(set(truth) - set(classes))]
    index = {name: number for number, name in enumerate(names)}
    confusion = np.zeros((len(names), len(names)), np.int64)
    np.add.at(confusion, ([index[name] for name in truth], [index[name] for name in predicted]), 1)
    right = np.diag(confusion)
    f1 = _f1_scores(right, confusion.sum(axis=0), confusion.sum(axis=1))
    return {
        "accuracy": float(right.sum() / max(len(truth), 1)), "macro_f1": float(np.nanmean(f1)), "classes": names,
        "f1": dict(zip(names, f1.tolist())), "confusion": confusion.tolist(),
    }  # fmt: skip


def of_labels(
    right: Sequence[Sequence[int]], scores: NDArray[np.float64], predicted: Sequence[Sequence[int]], labels: int
) -> dict[str, Any]:
    """Micro and macro F1 of the labels predicted, and of as many of the highest scores as each document has labels
    ("known number"), which does not depend on where scores are cut."""
    truth = np.zeros((len(right), labels), bool)
    for document, each in enumerate(right):
        truth[document, list(each)] = True
    found: dict[str, Any] = {}
    order = np.argsort(-scores, axis=1, kind="stable")
    as_many = [order[d, : len(each)].tolist() for d, each in enumerate(right)]
    for name, chosen in (("", predicted), ("known_number_", as_many)):
        guess = np.zeros_like(truth)
        for document, each in enumerate(chosen):
            guess[document, list(each)] = True
        hits, said, there = (truth & guess).sum(axis=0), guess.sum(axis=0), truth.sum(axis=0)
        found[f"{name}micro_f1"] = float(_f1_scores(hits.sum(), said.sum(), there.sum()))
        found[f"{name}macro_f1"] = float(np.nanmean(_f1_scores(hits, said, there)))
    first = truth[np.arange(len(truth)), order[:, 0]] if len(truth) else np.zeros(0)
    return found | {"first_is_right": float(np.mean(first)) if len(truth) else float("nan")}


def _f1_scores(hits: Any, said: Any, there: Any) -> NDArray[np.float64]:
    """2 hits / (predicted + true); NaN where a class occurs in neither."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(2 * np.asarray(hits, np.float64) / (np.asarray(said) + np.asarray(there)))
