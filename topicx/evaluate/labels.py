"""How good are predicted labels: of sets (F1, Hamming) and of rankings (precision at k, ranking loss, one-error, …).

Definitions as in Tsoumakas, Katakis & Vlahavas 2010, "Mining multi-label data". Ties in a ranking count against it: a
label's rank is the number of labels that score at least as much. Coverage is the mean depth of the last true label,
counted from 1. Macro-F1 is over the labels that some document has or is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError

Flags = NDArray[np.bool_]
PROPORTIONS = ("micro_f1", "macro_f1", "example_f1")


class LabelMeasures:
    """Sums over documents, added in batches; `result` turns them into the measures."""

    def __init__(self, labels: int, depths: Sequence[int] = (1, 3, 5)) -> None:
        self.labels, self.depths = labels, tuple(depths)
        self.documents = self.exact = 0
        self.hits, self.given, self.wanted = (np.zeros(labels, np.int64) for _ in range(3))
        self.example = self.precision = self.recall = 0.0
        self.ranked = np.zeros(4)  # ranking loss, one-error, coverage, average precision
        self.at = np.zeros(len(self.depths))

    def add(self, scores: NDArray[Any], truth: Flags, sets: Flags) -> None:
        """Documents × labels: scores (more is likelier), the true labels and the predicted ones.

        Every document needs a true label."""
        if not np.all(truth.any(axis=1)):
            raise InputError("a document without labels has nothing to be measured by: leave it out")
        hits, given, wanted = (truth & sets).sum(axis=1), sets.sum(axis=1), truth.sum(axis=1)
        self.documents += len(truth)
        self.exact += int(np.all(truth == sets, axis=1).sum())
        self.hits += (truth & sets).sum(axis=0)
        self.given += sets.sum(axis=0)
        self.wanted += truth.sum(axis=0)
        self.example += float(np.sum(2 * hits / (given + wanted)))
        self.precision += float(np.sum(hits / np.maximum(given, 1)))
        self.recall += float(np.sum(hits / wanted))
        self._rank(np.asarray(scores), truth)

    def _rank(self, scores: NDArray[Any], truth: Flags) -> None:
        rows = np.arange(len(truth))[:, None]
        order = np.argsort(-scores, axis=1, kind="stable")
        ordered, true = scores[rows, order], truth[rows, order]
        # Where the run of equal scores ends that each place is in.
        ends = np.where(np.diff(ordered, axis=1, append=np.nan) != 0, np.arange(self.labels), self.labels - 1)
        ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
        above = np.cumsum(true, axis=1)[rows, ends]  # true labels that score at least as much
        rank = ends + 1
        wanted = truth.sum(axis=1)
        others = self.labels - wanted
        wrong = np.where(true, rank - above, 0).sum(axis=1)
        self.ranked += [
            np.sum(wrong / np.maximum(wanted * others, 1)),
            np.sum(~true[:, 0]),
            np.sum(np.where(true, rank, 0).max(axis=1)),
            np.sum(np.where(true, above / rank, 0).sum(axis=1) / wanted),
        ]
        self.at += [np.sum(true[:, :depth].sum(axis=1) / depth) for depth in self.depths]

    def result(self) -> dict[str, Any]:
        """The measures by name."""
        if self.documents == 0:
            raise InputError("no document has labels: there is nothing to measure")
        number = self.documents
        seen = (self.given + self.wanted) > 0
        per_label = 2 * self.hits[seen] / (self.given + self.wanted)[seen]
        loss, one_error, coverage, precision = (float(x) / number for x in self.ranked)
        errors = int((self.given + self.wanted - 2 * self.hits).sum())
        return {
            "micro_f1": float(2 * self.hits.sum() / max(self.given.sum() + self.wanted.sum(), 1)),
            "macro_f1": float(per_label.mean()),
            "example_f1": self.example / number,
            "micro_precision": float(self.hits.sum() / max(self.given.sum(), 1)),
            "micro_recall": float(self.hits.sum() / max(self.wanted.sum(), 1)),
            "example_precision": self.precision / number,
            "example_recall": self.recall / number,
            "subset_accuracy": self.exact / number,
            "hamming_loss": errors / (number * self.labels),
            "ranking_loss": loss,
            "one_error": one_error,
            "coverage": coverage,
            "average_precision": precision,
            "precision_at": {str(depth): float(value) / number for depth, value in zip(self.depths, self.at)},
            "documents": number,
            "labels": self.labels,
            "labels_a_document": float(self.wanted.sum()) / number,
            "predicted_a_document": float(self.given.sum()) / number,
        }


def z_test(value: float, reference: float, documents: int) -> dict[str, float]:
    """One-sample z-test for proportions: is `value`, over so many documents, another proportion than `reference`?

    z = (p - p0) / √(p0 (1 - p0) / n), two-sided (Papanikolaou et al. 2017, section 6.4)."""
    spread = math.sqrt(max(reference * (1 - reference), 0) / max(documents, 1))
    if spread == 0:
        return {
            "z": 0.0 if value == reference else math.copysign(math.inf, value - reference),
            "p": float(value == reference),
        }
    z = (value - reference) / spread
    return {"z": z, "p": math.erfc(abs(z) / math.sqrt(2))}


def compare(result: Mapping[str, Any], reference: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """`z_test` of each F1 against another model's on the same documents."""
    if result["documents"] != reference["documents"]:
        raise InputError(
            f"results on {result['documents']} and {reference['documents']} documents cannot be compared: they must "
            "be on the same ones"
        )
    return {name: z_test(result[name], reference[name], result["documents"]) for name in PROPORTIONS}


def choose(
    scores: NDArray[Any], numbers: NDArray[np.int64] | int | None = None, threshold: float | None = None
) -> Flags:
    """Label sets from scores: the best so many of each document, or all from a threshold on. Ties: the first label."""
    scores = np.asarray(scores)
    if threshold is not None:
        return np.asarray(scores >= threshold)
    if numbers is None:
        raise InputError("label sets need a number of labels or a threshold")
    order = np.argsort(-scores, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(scores.shape[1])[None, :], axis=1)
    return np.asarray(places < np.reshape(numbers, (-1, 1)))
