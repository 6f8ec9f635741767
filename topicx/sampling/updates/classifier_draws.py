"""Classifiers over documents' topic shares, drawn between sweeps: the mixing variables of the loss, then the weights.

Zheng, Yu & Xing 2015, §3.2, §3.4 and §4; the kernels are in `topicx._kernels.updates.classifier`. One task is a binary
classifier or a regression; many tasks share the topics (multi-task, multi-label).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.updates import classifier as kernel
from topicx.errors import InputError
from topicx.sampling import random_streams
from topicx.sampling.method import Method
from topicx.sampling.updates import polya_gamma
from topicx.sampling.updates.medlda_state import ClassifierState

DOCUMENTS_A_PIECE = 512
TASKS_A_PIECE = 16


@dataclass(frozen=True)
class Tasks:
    """What is to be predicted, and how strongly it shapes the topics."""

    targets: NDArray[np.float32]
    """Documents × tasks: +1 or -1, or (epsilon) numbers."""
    supervised: NDArray[np.uint8]
    """1 for documents that have targets; the others shape topics only."""
    loss: str
    weight: float
    """λ."""
    up: NDArray[np.float64] = field(default_factory=lambda: np.ones(0))
    """What λ is multiplied with for documents whose target is above 0, a number a task; empty: 1."""
    down: NDArray[np.float64] = field(default_factory=lambda: np.ones(0))
    """Weight of the documents that are not of the class."""
    epsilon: float = 0.0
    precision: float = 1.0
    """ν, the prior precision of every weight."""
    bias: bool = False
    rounds: int = 2
    """How often all weights are renewed (one after another) between two sweeps."""
    together: bool = False
    """Draw all weights of a task at once, by their joint precision matrix."""

    @property
    def number(self) -> int:
        return self.targets.shape[1]

    def side(self, topics: int) -> dict[str, NDArray[Any]]:
        """The side arrays of a state with these tasks: no weight, no pull."""
        return ClassifierState.begun(self.supervised, topics, self.number).arrays()


class Classifier:
    """The update: the mixing variables of each document and task, the weights of each task, the mixing variables again.

    A mixing variable holds tokens and weights near the score that it was drawn at. Drawn once more from the new weights
    it lets tokens go where these lead, and what the next sweep gains is worth more than the draw.
    """

    name = "classifier"

    def __init__(self, tasks: Tasks, keep: frozenset[int] = frozenset()) -> None:
        """Make the update. keep: the sweeps after which the weights are added to their sums, from which the model's
        mean is made."""
        self.tasks, self.keep, self.sweep = tasks, keep, 0
        ones = np.ones(tasks.number)
        self._up = tasks.weight * (tasks.up if len(tasks.up) else ones)
        self._down = tasks.weight * (tasks.down if len(tasks.down) else ones)
        self._tables, self._table_of = np.zeros((0, 1, 2)), np.zeros((2, 0), np.int64)
        if tasks.loss == "logistic":
            shapes, places = np.unique(np.stack([self._up, self._down]), return_inverse=True)
            for shape in (shapes[0], shapes[-1]):
                if not 1 <= shape <= polya_gamma.MOST:
                    raise InputError(
                        f"lambda: with the logistic loss λ times a class's weight must be from 1 to "
                        f"{polya_gamma.MOST:g}, not {shape:g}"
                    )
            self._tables = np.stack([polya_gamma.log_density_table(float(shape)) for shape in shapes])
            self._table_of = places.reshape(2, -1).astype(np.int64)

    def due(self, sweep: int) -> bool:
        self.sweep = sweep
        return True

    def __call__(self, method: Method, key: int) -> dict[str, float]:
        indptr, topics, counts = method.document_topics()
        lengths = np.diff(method.state.offsets)
        shares = (counts / np.repeat(lengths, np.diff(indptr))).astype(np.float32)
        self.draw_mixing(method, indptr, topics, shares, random_streams.stream_key(key, 0))
        self.draw_weights(method, indptr, topics, shares, random_streams.stream_key(key, 1))
        loss = self.draw_mixing(method, indptr, topics, shares, random_streams.stream_key(key, 2))
        if self.sweep in self.keep:  # of a run with more sweeps than were planned, earlier draws are forgotten
            ClassifierState.of_side(method.state.side).keep_draw(forget=self.sweep == min(self.keep))
        return {"loss": loss}

    def draw_mixing(
        self, method: Method, indptr: NDArray[np.int64], topics: NDArray[np.uint16], shares: NDArray[np.float32],
        key: int,
    ) -> float:  # fmt: skip
        """The mixing variables given topics and weights; returns the mean loss of the documents with targets."""
        tasks, held = self.tasks, ClassifierState.of_side(method.state.side)
        documents = len(tasks.targets)
        number = kernel.losses[tasks.loss]

        def piece(begin: int) -> float:
            end = min(begin + DOCUMENTS_A_PIECE, documents)
            score = np.empty((end - begin, held.width))
            kernel.document_scores(indptr, topics, shares, held.eta, begin, end, score)
            kernel.draw_mixing_variables(
                number, score, tasks.targets, self._up, self._down, held.supervised, tasks.epsilon, begin, key,
                held.pull, held.curve, self._tables, self._table_of, polya_gamma.SMALLEST, polya_gamma.LARGEST,
            )  # fmt: skip
            known = held.supervised[begin:end] > 0
            return mean_loss(tasks, score[known, : tasks.number], tasks.targets[begin:end][known])

        sums = method.engine.map(piece, range(0, documents, DOCUMENTS_A_PIECE))
        return float(sum(sums) / max(int(held.supervised.sum()) * tasks.number, 1))

    def draw_weights(
        self, method: Method, indptr: NDArray[np.int64], topics: NDArray[np.uint16], shares: NDArray[np.float32],
        key: int,
    ) -> None:  # fmt: skip
        """The weights given topics and mixing variables."""
        tasks, held = self.tasks, ClassifierState.of_side(method.state.side)
        eta = held.eta
        nu = np.full(len(eta), float(tasks.precision))
        nu[-1] = min(tasks.precision, 1.0)  # a bias is not held near 0
        if tasks.together:

            def work(task: int) -> None:
                kernel.full_weights(indptr, topics, shares, nu, tasks.bias, task, key, held.pull, held.curve, eta)

            method.engine.map(work, range(tasks.number))
            return
        by_topic = documents_by_topic(indptr, topics, shares, len(eta) - 1, tasks.bias)

        def some(begin: int) -> None:
            end = min(begin + TASKS_A_PIECE, tasks.number)
            kernel.gibbs_weights(*by_topic, nu, tasks.rounds, key, begin, end, held.pull, held.curve, eta)

        method.engine.map(some, range(0, tasks.number, TASKS_A_PIECE))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}  # everything is in the state's side arrays

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        pass


def mean_loss(tasks: Tasks, score: NDArray[np.float64], target: NDArray[np.float32]) -> float:
    """The sum of the losses of these documents and tasks."""
    if tasks.loss == "hinge":
        return float(np.maximum(0, 1 - target * score).sum())
    if tasks.loss == "logistic":
        return float(np.logaddexp(0, -target * score).sum())
    return float(np.maximum(0, np.abs(target - score) - tasks.epsilon).sum())


def loss_of_constants(tasks: Tasks, task: str) -> float:
    """The mean loss of scores that are the same for all documents: 0, or what is best.

    Of numbers that is the median: where half of all ratings are the highest, a run may rest there, with a loss that is
    less than that of zeros. Of classes it is the side that most documents are on. Scores of labels are compared with
    zeros alone, since it is their order that counts.
    """
    known = tasks.supervised > 0
    targets = tasks.targets[known]
    if not targets.size:
        return 0.0
    best = np.zeros(tasks.number)
    if tasks.loss == "epsilon":
        best = np.median(targets, axis=0)
    elif task != "multilabel":
        share = np.clip((targets > 0).mean(axis=0), 1e-9, 1 - 1e-9)
        best = np.log(share / (1 - share)) if tasks.loss == "logistic" else np.where(share > 0.5, 1.0, -1.0)
    each = (mean_loss(tasks, np.broadcast_to(one, targets.shape), targets) for one in (np.zeros(tasks.number), best))
    return min(each) / targets.size


def documents_by_topic(
    indptr: NDArray[np.int64], topics: NDArray[np.uint16], shares: NDArray[np.float32], number: int, bias: bool
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32]]:
    """The documents of each topic in their order, and a last row for the bias: all documents (or none)."""
    documents = len(indptr) - 1
    order = np.argsort(topics, kind="stable")
    rows = np.repeat(np.arange(documents, dtype=np.uint32), np.diff(indptr))
    start = np.zeros(number + 2, np.int64)
    np.cumsum(np.bincount(topics, minlength=number), out=start[1:-1])
    start[-1] = start[-2] + (documents if bias else 0)
    docs, values = rows[order], shares[order]
    if bias:
        docs = np.concatenate([docs, np.arange(documents, dtype=np.uint32)])
        values = np.concatenate([values, np.ones(documents, np.float32)])
    return start, docs, values
