"""What MedLDA keeps beside the topics, as one thing: in a state what its chain works with, in a model what was learnt.

Files, checkpoints and averages hold it as side arrays. The classes here are those arrays with names, axes and a
declaration (`medlda_state_schema`); they share memory with them, so what a kernel writes is in the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.files.array_sizes import DOCUMENTS, TOPICS, as_size, size_beside
from topicx.files.file_kinds import FLOAT, HIGHEST
from topicx.files.schema import Array, Part, Schema, TextArrays, require_consistent
from topicx.strings import Strings

TASKS = ("binary", "multiclass", "multilabel", "regression")
TASK_COLUMNS, WIDTH = size_beside("tasks"), size_beside("width")
"""Classifiers, and the columns that their arrays have: filled up to whole vectors."""
LANES = 16

Arrays = Mapping[str, NDArray[Any]]


def padded_columns(tasks: int) -> int:
    """Columns of the arrays of so many tasks: one, or a multiple of what the kernels read at a time."""
    return 1 if tasks == 1 else -(-tasks // LANES) * LANES


def _parts_of_both(task: str) -> tuple[Part, ...]:
    """What states and models have."""
    classes = {"binary": as_size(2), "regression": as_size(0)}.get(task, TASK_COLUMNS)
    return (
        Array("scale", "float64", 2, low=-HIGHEST, high=HIGHEST),
        TextArrays("classes", classes, is_beside=True),
    )


def _columns_of(task: str) -> Any:
    if task not in TASKS:
        raise InputError(f"there is no task {task!r}")
    return 1 if task in ("binary", "regression") else TASK_COLUMNS


def medlda_state_schema(task: str) -> Schema:
    """The side arrays of a state with this task."""
    columns, number = _columns_of(task), TASKS.index(task)
    wide = partial(Array, types="float64", shape=(TOPICS + 1, WIDTH), low=-HIGHEST, high=HIGHEST)
    of_documents = partial(Array, types="float32", shape=(DOCUMENTS, WIDTH), low=-FLOAT, high=FLOAT)
    return Schema("medlda", (
        Array("targets", "int8 float32", (DOCUMENTS, columns), low=-FLOAT, high=FLOAT),
        Array("task", "int64", 1, low=number, high=number, attribute="task_number"),
        Array("supervised", "uint8", DOCUMENTS, high=1), of_documents("pull"), of_documents("curve", low=0),
        wide("eta"), wide("eta_sum"), wide("eta_squares", low=0, high=HIGHEST**3), Array("eta_kept", "int64", 1, low=0),
        *_parts_of_both(task),
    ))  # fmt: skip


def learnt_classifiers_schema(task: str) -> Schema:
    """The side arrays of a model with this task."""
    of_topics = partial(Array, types="float64", shape=(TOPICS + 1, _columns_of(task)), low=-HIGHEST, high=HIGHEST)
    return Schema("medlda", (of_topics("eta"), of_topics("eta_spread", low=0), *_parts_of_both(task)))


@dataclass(frozen=True)
class ClassifierState:
    """What the sampler and the classifiers share. Arrays have a row a document, or one a topic and a last one for the
    bias; and a column a classifier, filled up (`padded_columns`)."""

    eta: NDArray[np.float64]
    """Weights as they were last drawn."""
    pull: NDArray[np.float32]
    """How strongly tokens are pulled towards topics of higher weight. Sweeps move it."""
    curve: NDArray[np.float32]
    """How fast that pull falls with the score."""
    supervised: NDArray[np.uint8]
    """1 for documents that have a target."""
    eta_sum: NDArray[np.float64]
    """Sum of the weights that were kept."""
    eta_squares: NDArray[np.float64]
    """Sum of their squares."""
    eta_kept: NDArray[np.int64]
    """How many were kept: one number."""

    @staticmethod
    def of_side(side: Arrays) -> ClassifierState:
        """The arrays of a state, shared with it."""
        return ClassifierState(*(side[one.name] for one in fields(ClassifierState)))

    @staticmethod
    def begun(supervised: NDArray[Any], topics: int, tasks: int) -> ClassifierState:
        """No weight, no pull."""
        width, documents = padded_columns(tasks), len(supervised)
        weights, of_documents = (topics + 1, width), (documents, width)
        return ClassifierState(
            np.zeros(weights), np.zeros(of_documents, np.float32), np.zeros(of_documents, np.float32),
            np.ascontiguousarray(supervised, np.uint8), np.zeros(weights), np.zeros(weights), np.zeros(1, np.int64),
        )  # fmt: skip

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name."""
        return {one.name: getattr(self, one.name) for one in fields(ClassifierState)}

    @property
    def width(self) -> int:
        return self.eta.shape[1]

    def keep_draw(self, forget: bool) -> None:
        """Add the weights to their sums, from which the model's mean is made; `forget` what was added before."""
        if forget:
            for sums in (self.eta_sum, self.eta_squares, self.eta_kept):
                sums[:] = 0
        self.eta_sum[:] += self.eta
        self.eta_squares[:] += self.eta**2
        self.eta_kept[:] += 1

    def sums_of_draws(self) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        """The sums of the draws and of their squares, and how many they are: the last weights, where none were kept."""
        kept = int(self.eta_kept[0])
        return (self.eta_sum, self.eta_squares, kept) if kept else (self.eta, self.eta**2, 1)

    def mean_and_spread(self, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of the draws of so many classifiers."""
        kept = max(int(self.eta_kept[0]), 1)
        mean = self.eta_sum[:, :width] / kept if self.eta_kept[0] else self.eta[:, :width].copy()
        return mean, np.sqrt(np.maximum(self.eta_squares[:, :width] / kept - mean**2, 0))


@dataclass(frozen=True)
class MedldaState(ClassifierState):
    """All that a state of MedLDA has beside topics: the task, its targets, and the classifiers that learn them."""

    task: str
    """One of TASKS."""
    targets: NDArray[Any]
    """Documents × classifiers: +1 and -1 (int8), or numbers of mean 0 and spread 1 (float32)."""
    scale: NDArray[np.float64]
    """Mean and spread of numbers that are predicted."""
    classes: Strings
    """Names of the classes or labels; none for regression."""

    @classmethod
    def of(cls, side: Arrays) -> MedldaState:
        """The side arrays of a state, shared with it."""
        task = task_of(side)
        found = medlda_state_schema(task).unpack(side)
        del found["extra"], found["task_number"]
        return cls(task=task, **found)

    def side(self) -> dict[str, NDArray[Any]]:
        """The side arrays of the state."""
        return medlda_state_schema(self.task).pack(self)

    @property
    def task_number(self) -> NDArray[np.int64]:
        return np.array([TASKS.index(self.task)])

    @property
    def n_classifiers(self) -> int:
        return self.targets.shape[1]

    @property
    def spread(self) -> float:
        """What numbers are divided by."""
        require_consistent(float(self.scale[1]) > 0, "a scale of targets that is not positive")
        return float(self.scale[1])


def task_of(side: Arrays) -> str:
    """The task, from the side arrays of a state."""
    if "task" not in side:
        raise InputError("the state of another model has no targets to learn: the model medlda begins with a corpus")
    return TASKS[int(side["task"][0])]


@dataclass(frozen=True)
class LearntClassifiers:
    """The classifiers of a model."""

    eta: NDArray[np.float64]
    """Mean weights: a row a topic, and a last one for the bias; a column a classifier."""
    eta_spread: NDArray[np.float64]
    """Their standard deviations."""
    scale: NDArray[np.float64]
    """Mean and spread of numbers that are predicted."""
    classes: Strings
    """Names of the classes or labels; none for regression."""
    task: str

    @classmethod
    def of(cls, side: Arrays, task: str) -> LearntClassifiers:
        """The side arrays of a model, shared with it."""
        found = learnt_classifiers_schema(task).unpack(side)
        del found["extra"]
        return cls(task=task, **found)

    def side(self) -> dict[str, NDArray[Any]]:
        """The side arrays of the model."""
        return learnt_classifiers_schema(self.task).pack(self)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Mean weights of the topics, without the bias."""
        return self.eta[:-1]

    @property
    def spreads(self) -> NDArray[np.float64]:
        """Standard deviations of the topics' weights, without the bias."""
        return self.eta_spread[:-1]

    def scores(self, theta: NDArray[Any]) -> NDArray[np.float64]:
        """The scores of documents with these topic shares: a column a classifier; of a regression the values."""
        scores = scores_of_shares(self.eta, theta)
        if self.task == "regression":
            mean, spread = self.scale
            scores = mean + spread * scores
        return np.asarray(scores)


def scores_of_shares(eta: NDArray[np.float64], theta: NDArray[Any]) -> NDArray[np.float64]:
    """θ·η and the bias, the last row of η."""
    shares = np.asarray(theta, np.float64)
    scores = np.repeat(eta[-1:], len(shares), axis=0)
    for topic in range(shares.shape[1]):  # not a matrix product: its last bits depend on the processor and the batch
        scores += shares[:, topic, None] * eta[topic]
    return np.asarray(scores)
