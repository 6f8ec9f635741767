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

from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.label_reader import LabelReader, label_documents

__all__ = ["LabelMeasures", "measure_labels"]

Flags = NDArray[np.bool_]
PROPORTIONS = ("micro_f1", "macro_f1", "example_f1")


class LabelMeasures:
    """Sums over documents, added in batches; `result` turns them into the measures of labels.

    Parameters
    ----------
    labels : int
        Number of labels.
    depths : sequence of int, default (1, 3, 5)
        Depths at which rankings are measured.
    """

    def __init__(self, labels: int, depths: Sequence[int] = (1, 3, 5)) -> None:
        self.labels, self.depths = labels, tuple(depths)
        self.documents = self.exact = 0
        self.hits, self.given, self.wanted = (np.zeros(labels, np.int64) for _ in range(3))
        self.example = self.precision = self.recall = 0.0
        self.ranked = np.zeros(4)  # ranking loss, one-error, coverage, average precision
        self.at = np.zeros(len(self.depths))

    def __repr__(self) -> str:
        return f"LabelMeasures({self.labels:,} labels, {self.documents:,} documents: result() has the measures)"

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


def compare_f1(result: Mapping[str, Any], reference: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """`z_test` of each F1 against another model's on the same documents."""
    if result["documents"] != reference["documents"]:
        raise InputError(
            f"results on {result['documents']} and {reference['documents']} documents cannot be compared: they must "
            "be on the same ones"
        )
    return {name: z_test(result[name], reference[name], result["documents"]) for name in PROPORTIONS}


def measure_labels(model: Model, corpus: Corpus, reader: LabelReader, **options: Any) -> dict[str, Any]:
    """Measure predicted labels on the documents of a corpus that have labels.

    Labels that the model has not seen can be neither ranked nor chosen: they stand last in every ranking, and count as
    missed.

    Parameters
    ----------
    model : Model
        A model of labels.
    corpus : Corpus
        Documents with their true labels.
    reader : LabelReader
        How the model predicts labels.
    **options
        Options of `topicx.predict.Inference`.

    Returns
    -------
    dict
        The measures of `LabelMeasures`.
    """
    known = {name: at for at, name in enumerate(reader.names)}
    labels = corpus.document_labels()
    new = sorted({labels.names[int(k)] for k in np.unique(labels.ids)} - set(known))
    column = known | {name: len(known) + at for at, name in enumerate(new)}
    of_label = np.array([column.get(name, -1) for name in labels.names], np.int64)
    measures = LabelMeasures(len(column))
    begin = 0
    for found in label_documents(model, corpus, reader, **options):
        number = len(found.scores)
        truth = np.zeros((number, len(column)), bool)
        bounds = labels.offsets[begin : begin + number + 1]
        rows = np.repeat(np.arange(number), np.diff(bounds))
        truth[rows, of_label[labels.ids[bounds[0] : bounds[-1]]]] = True
        scores = np.full(truth.shape, -1.0)
        scores[:, : len(known)] = found.scores
        sets = np.zeros(truth.shape, bool)
        sets[:, : len(known)] = found.sets
        has = truth.any(axis=1)
        if has.any():
            measures.add(scores[has], truth[has], sets[has])
        begin += number
    if not measures.documents:
        raise InputError("the corpus has no labels: there is nothing to measure predictions by")
    return measures.result() | {"unlabelled": begin - measures.documents, "unseen_labels": len(new)}
