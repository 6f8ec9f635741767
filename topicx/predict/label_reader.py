"""Labels of new documents, from a model whose topics are labels: a score for each label, and a set.

A label's score is by default the share of the document's words that its topics explain, without the prior
(`words`: Σ_j p(z_dj = k) / N_d, the numerator of θ^p without α). θ itself (`theta`) has the prior in it twice, in the
chain and in the estimate, and ranks worse where the prior is strong. A document without known words is ranked by θ.

A set holds the best so many labels, as the regression on the words says (`topicx.predict.label_number`), or a number
(`top`), or those from a score on (`threshold`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.inference import Inference
from topicx.predict.label_number import LabelNumber
from topicx.predict.predictor import reader_of
from topicx.predict.reader import Admixture, Read
from topicx.predict.sampling_plan import UsualSampling
from topicx.strings import Strings

SCORES = ("words", "theta")
_TIE = 1e-6


@dataclass(frozen=True)
class LabelledDocuments:
    """Some documents: a score for each label, and the chosen ones."""

    read: Read
    scores: NDArray[np.float32]
    sets: NDArray[np.bool_]


class LabelReader(Admixture):
    """Documents whose topics are labels: which they have, and how likely each is.

    Labels are the first topics, as many for each label, in order; topics of the background follow.

    Parameters
    ----------
    model
        A model with the side arrays `topic_label`, `label_names` and perhaps `label_number`.
    usual
        How documents are sampled if nothing is said.
    """

    counted: ClassVar[bool] = True

    def __init__(self, model: Model, usual: UsualSampling | None = None) -> None:
        super().__init__(model, usual)
        self.names = Strings.from_arrays(model.side, "label_names")
        self.per_label = int((model.side["topic_label"] >= 0).sum()) // len(self.names)
        self.number = LabelNumber.from_side(model.side, model.n_words)
        self.score, self.top = "words", 0
        self.threshold: float | None = None

    def choosing(self, *, score: str = "words", top: int = 0, threshold: float | None = None) -> Self:
        """This reader with another score, or other sets: the best `top` labels, or those from a score on."""
        if score not in SCORES:
            raise InputError(f"score must be one of {', '.join(SCORES)}, not {score!r}")
        other = copy.copy(self)
        other.score, other.top, other.threshold = score, top, threshold
        other.check_number()
        return other

    def check_number(self) -> None:
        """InputError where nothing says how many labels a document has."""
        if self.number is None and not self.top and self.threshold is None:
            raise InputError("the model does not say how many labels a document has: give top or threshold")

    def labelled(self, read: Read) -> LabelledDocuments:
        """Scores and sets of documents that were read."""
        scores = self.scores(read)
        return LabelledDocuments(read, scores, self.sets(read, scores))

    def scores(self, read: Read) -> NDArray[np.float32]:
        """Documents × labels; more is likelier."""
        theta = self._by_label(read.theta)
        if self.score == "theta":
            return (theta / np.maximum(theta.sum(axis=1, keepdims=True), 1e-30)).astype(np.float32)
        lengths = np.diff(read.documents.offsets)[:, None]
        # Four decimals of a token are what single precision leaves; what is equal in them is ranked by θ.
        words = np.maximum(np.round(self._by_label(read.own), 4), 0) / np.maximum(lengths, 1)
        return np.where(lengths > 0, words + _TIE * theta, theta).astype(np.float32)

    def _by_label(self, values: NDArray[Any]) -> NDArray[np.float64]:
        own = values[:, : len(self.names) * self.per_label].astype(np.float64)
        if self.per_label == 1:
            return own
        summed: NDArray[np.float64] = own.reshape(len(own), len(self.names), self.per_label).sum(axis=2)
        return summed

    def sets(self, read: Read, scores: NDArray[np.float32]) -> NDArray[np.bool_]:
        """The chosen labels: from the threshold on, at most the best `top`, or as many as the regression says."""
        if self.threshold is not None:
            chosen = chosen_labels(scores, threshold=self.threshold)
            return chosen & chosen_labels(scores, self.top) if self.top else chosen
        if self.top:
            return chosen_labels(scores, self.top)
        self.check_number()
        assert self.number is not None
        return chosen_labels(scores, self.number.predict(read.documents.words, read.documents.offsets))

    def ranked_labels(self, sets: NDArray[np.bool_], scores: NDArray[np.float32]) -> list[NDArray[np.int64]]:
        """The numbers of each document's labels, best first."""
        found = []
        for chosen, row in zip(sets, scores):
            best = np.flatnonzero(chosen)
            found.append(best[np.argsort(-row[best], kind="stable")])
        return found

    def names_of_sets(self, sets: NDArray[np.bool_], scores: NDArray[np.float32]) -> list[list[str]]:
        """The names of each document's labels, best first."""
        return [[self.names[int(k)] for k in best] for best in self.ranked_labels(sets, scores)]

    def predicted_columns(self) -> dict[str, type]:
        """Columns of a prediction: labels and scores, where the model says how many labels a document has (or the
        reader was told)."""
        if self.number is None and not self.top and self.threshold is None:
            return {}
        return {"labels": list, "scores": list}

    def predict(self, read: Read) -> Sequence[Sequence[Any]]:
        """Each document's labels, best first, and their scores."""
        if not self.predicted_columns():
            return ()
        found = self.labelled(read)
        ranked = self.ranked_labels(found.sets, found.scores)
        scores = [[f"{row[k]:.6f}" for k in best] for row, best in zip(found.scores, ranked)]
        return [[[self.names[int(k)] for k in best] for best in ranked], scores]


def label_reader(model: Model, *, score: str = "words", top: int = 0, threshold: float | None = None) -> LabelReader:
    """The reader of a model whose topics are labels, with these choices; InputError for other models."""
    reader = reader_of(model)
    if not isinstance(reader, LabelReader):
        raise InputError("the model's topics are no labels: train with --model labeled, prior or dependency")
    return reader.choosing(score=score, top=top, threshold=threshold)


def label_documents(model: Model, corpus: Corpus, reader: LabelReader, **options: Any) -> Iterator[LabelledDocuments]:
    """The documents of a corpus in batches, with scores and sets. The options are those of `Inference`."""
    inference = Inference(model, **options)
    for read in inference.stream(inference.corpus(corpus)):
        yield reader.labelled(read)


def chosen_labels(
    scores: NDArray[Any], numbers: NDArray[np.int64] | int | None = None, threshold: float | None = None
) -> NDArray[np.bool_]:
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
