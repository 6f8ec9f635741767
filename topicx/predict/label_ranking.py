"""Labels of new documents, from a model whose topics are labels: a score for each label, and a set.

A label's score is by default the share of the document's words that its topics explain, without the prior
(`words`: Σ_j p(z_dj = k) / N_d, the numerator of θ^p without α). θ itself (`theta`) has the prior in it twice, in the
chain and in the estimate, and ranks worse where the prior is strong. A document without known words is ranked by θ.

A set holds the best so many labels, as the regression on the words says (`topicx.models.label_number`), or a number
(`top`), or those from a score on (`threshold`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.model import Model
from topicx.models import model_registry as models
from topicx.models.label_number import LabelNumber
from topicx.models.labeled import check_side
from topicx.predict.inference import Inference, Inferred
from topicx.strings import Strings

SCORES = ("words", "theta")
_TIE = 1e-6


@dataclass
class Labelled:
    """Some documents: a score for each label, and the chosen ones."""

    part: Inferred
    scores: NDArray[np.float32]
    sets: NDArray[np.bool_]


class Labeller:
    """What turns the topics of new documents into labels."""

    def __init__(self, model: Model, *, score: str = "words", top: int = 0, threshold: float | None = None) -> None:
        if "topic_label" not in model.side or not models.of_meta(model.meta).labelled:
            raise InputError("the model's topics are no labels: train with --model labeled, prior or dependency")
        if score not in SCORES:
            raise InputError(f"score must be one of {', '.join(SCORES)}, not {score!r}")
        check_side(model.side, model.n_topics)
        self.model, self.score, self.top = model, score, top
        self.threshold = threshold
        self.names = Strings.from_arrays(model.side, "label_names")
        self.per_label = int((model.side["topic_label"] >= 0).sum()) // len(self.names)
        self.number = LabelNumber.from_side(model.side, model.n_words)
        if self.number is None and not top and threshold is None:
            raise InputError("the model does not say how many labels a document has: give top or threshold")

    def of(self, part: Inferred) -> Labelled:
        scores = self.scores(part)
        return Labelled(part, scores, self.sets(part, scores))

    def scores(self, part: Inferred) -> NDArray[np.float32]:
        """Documents × labels; more is likelier."""
        theta = self._by_label(part.theta)
        if self.score == "theta":
            return (theta / np.maximum(theta.sum(axis=1, keepdims=True), 1e-30)).astype(np.float32)
        lengths = np.diff(part.documents.offsets)[:, None]
        # Four decimals of a token are what single precision leaves; what is equal in them is ranked by θ.
        words = np.maximum(np.round(self._by_label(part.own), 4), 0) / np.maximum(lengths, 1)
        return np.where(lengths > 0, words + _TIE * theta, theta).astype(np.float32)

    def _by_label(self, values: NDArray[Any]) -> NDArray[np.float64]:
        own = values[:, : len(self.names) * self.per_label].astype(np.float64)
        if self.per_label == 1:
            return own
        summed: NDArray[np.float64] = own.reshape(len(own), len(self.names), self.per_label).sum(axis=2)
        return summed

    def sets(self, part: Inferred, scores: NDArray[np.float32]) -> NDArray[np.bool_]:
        """The chosen labels: from the threshold on, at most the best `top`, or as many as the regression says."""
        if self.threshold is not None:
            chosen = chosen_labels(scores, threshold=self.threshold)
            return chosen & chosen_labels(scores, self.top) if self.top else chosen
        if self.top:
            return chosen_labels(scores, self.top)
        assert self.number is not None
        return chosen_labels(scores, self.number.predict(part.documents.words, part.documents.offsets))

    def labels(self, sets: NDArray[np.bool_], scores: NDArray[np.float32]) -> list[list[str]]:
        """The names of each document's labels, best first."""
        found = []
        for chosen, row in zip(sets, scores):
            best = np.flatnonzero(chosen)
            found.append([self.names[int(k)] for k in best[np.argsort(-row[best], kind="stable")]])
        return found


def label(model: Model, corpus: Corpus, labeller: Labeller, **options: Any) -> Iterator[Labelled]:
    """The documents of a corpus in batches, with scores and sets. The options are those of `Inference`."""
    inference = Inference(model, **options)
    for part in inference.stream(inference.corpus(corpus)):
        yield labeller.of(part)


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
