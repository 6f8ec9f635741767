"""What documents are to predict: read from a corpus's labels or a column, kept in a state, shown in words again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.corpus.table import SNIPPET, Names, Numbers, Times
from topicx.corpus.time_texts import told_number
from topicx.errors import InputError

LARGEST = 1e30
"""Largest of the numbers that are predicted: files keep their mean and spread within this."""


@dataclass(frozen=True)
class Targets:
    """The task, its classes, and what is known of each document."""

    task: str
    classes: tuple[str, ...]
    """The names of classes or labels (binary: two, the second is the positive one); none for regression."""
    matrix: NDArray[Any]
    """Documents × tasks: +1 and -1 (int8), or numbers of mean 0 and spread 1 (float32)."""
    known: NDArray[np.uint8]
    """1 for documents that have a target."""
    mean: float = 0.0
    spread: float = 1.0
    """Regression: what the numbers are shifted and divided by."""
    truth: Sequence[Any] = field(default=())
    """Truth as it was told: a class, a number, labels, or None, a document each."""


def read_targets(corpus: Corpus, task: str, column: str | None, classes: Sequence[str] = ()) -> Targets:
    """The targets of a corpus's documents. task: one of `medlda_state.TASKS`, or auto. classes: those of a model, to be
    used again."""
    values = told_targets(corpus, column)
    if task == "auto":
        task = guess_task(values)
    if task == "regression":
        return _regression_targets(corpus, values, column)
    if column is None and not len(corpus.label_offsets):
        raise InputError("the corpus has no labels to learn from: import with labels, or name a column by --target")
    labels = [_labels_of_value(value) for value in values]
    known = np.array([bool(each) for each in labels], np.uint8)
    names = tuple(classes) or tuple(sorted({name for each in labels for name in each}))
    if task != "multilabel":
        _check_classes(corpus, task, labels, names)
    index = {name: number for number, name in enumerate(names)}
    if task == "binary":
        matrix = np.array([[1 if each and index.get(each[0]) == 1 else -1] for each in labels], np.int8)
        matrix = matrix.reshape(len(labels), 1)
    else:
        matrix = np.full((len(labels), len(names)), -1, np.int8)
        for document, each in enumerate(labels):
            matrix[document, [index[name] for name in each if name in index]] = 1
    truth = [each if task == "multilabel" else each[0] if each else None for each in labels]
    if not known.any():
        raise InputError("no document has a target: there is nothing to learn to predict")
    return Targets(task, names, matrix, known, truth=truth)


def told_targets(corpus: Corpus, column: str | None) -> list[Any]:
    """What the corpus says of each document: a list of labels, a number, a text, or None."""
    table = corpus.table
    if column is None:
        return table.told("label") if "label" in table else [[] for _ in range(corpus.n_documents)]
    if column not in table:
        names = ", ".join(sorted(table.without(SNIPPET)))
        raise InputError(f"target: the corpus has no column {column!r}; it has {names or 'none'}")
    found = table[column]
    if isinstance(found, Numbers | Times):
        return [None if np.isnan(value) else float(value) for value in found.values]
    if isinstance(found, Names):
        return found.told()
    values = [value[0] if len(value) == 1 else None for value in found.told()] if column == "label" else found.told()
    return [None if value is None else _number_or_text(value) for value in values]


def guess_task(values: Sequence[Any]) -> str:
    """The task that such values are for. Two classes have a classifier each, as they have in the authors' program: it
    draws the weights twice, and is more accurate than one for both."""
    some = [value for value in values if value not in (None, [])]
    if any(isinstance(value, list) and len(value) > 1 for value in some):
        return "multilabel"
    if some and all(isinstance(value, float) for value in some):
        return "regression"
    return "multiclass"


def _number_or_text(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def _labels_of_value(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, list):
        return value
    return [str(told_number(value)) if isinstance(value, float) and np.isfinite(value) else str(value)]


def _regression_targets(corpus: Corpus, values: Sequence[Any], column: str | None) -> Targets:
    """Targets of a regression."""
    if column is None:
        values = [_number_or_text(value[0]) if len(value) == 1 else value if value else None for value in values]
    for document, value in enumerate(values):
        if value is not None and not (isinstance(value, float) and abs(value) <= LARGEST):
            raise InputError(
                f"regression needs numbers from {-LARGEST:g} to {LARGEST:g}: the target of document "
                f"{corpus.ids[document]!r} is {value!r}"
            )
    known = np.array([value is not None for value in values], np.uint8)
    if not known.any():
        raise InputError("no document has a target: name a column of numbers by --target")
    numbers = np.array([0.0 if value is None else value for value in values])
    mean = float(numbers[known > 0].mean())
    spread = float(numbers[known > 0].std()) or 1.0
    matrix = np.where(known > 0, (numbers - mean) / spread, 0).astype(np.float32)[:, None]
    return Targets("regression", (), matrix, known, mean, spread, truth=list(values))


def _check_classes(corpus: Corpus, task: str, labels: Sequence[list[str]], names: Sequence[str]) -> None:
    for document, each in enumerate(labels):
        if len(each) > 1:
            raise InputError(
                f"task {task}: document {corpus.ids[document]!r} has {len(each)} labels (--task multilabel)"
            )
    if task == "binary" and len(names) != 2:
        raise InputError(f"task binary needs two classes, and there are {len(names)}: {', '.join(names[:6])}")
    if len(names) < 2:
        raise InputError(f"task {task} needs two classes at least, and there is {len(names)}")
