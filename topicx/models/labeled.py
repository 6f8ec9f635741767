"""Models of labelled documents: a document's topics are its labels.

Labeled LDA (Ramage, Hall, Nallapati & Manning 2009): each label is a topic, or several (Ramage, Manning & Dumais 2011),
and there may be background topics, which every document has. Prior-LDA (Rubin, Chambers, Smyth & Steyvers 2012) is the
same in training; in prediction, where all labels are possible, frequent ones are likelier: with f_k the number of
documents of label k (Papanikolaou et al. 2017, eq. 58 and 59),

    training: α_k = 50 / K        prediction: α_k = 50 f_k / Σ f + 30 / K

A document without labels may use all topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.declare import positive_option, whole_option
from topicx.errors import InputError
from topicx.files.array_sizes import ANY_SIZE, DOCUMENTS, PRIOR_GROUPS, TOPICS, WORDS, size_beside
from topicx.files.file_kinds import COUNT, FINITE, FLOAT, HIGHEST, LOWEST
from topicx.files.schema import Array, string_arrays
from topicx.model import Model
from topicx.models.definition import Definition, Priors, initial_state
from topicx.predict.label_number import LabelNumber, require_arrays_fit
from topicx.predict.label_reader import LabelReader
from topicx.predict.sampling_plan import UsualSampling
from topicx.sampling.method import Update
from topicx.sampling.run_options import Options
from topicx.sampling.sampler_registry import ALLOWED
from topicx.state import MAX_TOPICS, State
from topicx.strings import Strings

SIDE_LABELS = size_beside("labels")
"""Labels that the corpus has, whether they have a topic or not."""
TRAINING_WEIGHT = 50.0
"""Σα in training, unless options say otherwise (eq. 58)."""


@dataclass(frozen=True)
class LabeledOptions:
    """What every model of labels can be told."""

    background: int = whole_option(0, 0, 10_000, help="Topics beside those of the labels, which every document has.")
    topics_per_label: int = whole_option(1, 1, 1000, help="Topics of each label.")


@dataclass(frozen=True)
class PriorOptions(LabeledOptions):
    """How labels are weighed before a new document's words are seen."""

    label_weight: float = positive_option(50.0, help="New documents: Σα that labels share by their frequency.")
    label_smoothing: float = positive_option(30.0, help="New documents: Σα that labels share evenly.")


@dataclass(frozen=True)
class LabelIndex:
    """The labels of a corpus that occur, and those of each document."""

    names: Strings
    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """How many documents have each label."""
        return np.bincount(self.ids, minlength=len(self.names))

    @classmethod
    def of(cls, corpus: Corpus) -> LabelIndex:
        found = corpus.document_labels()
        used, ids = np.unique(found.ids.astype(np.int64), return_inverse=True)
        return cls(found.names.take(used), found.offsets, ids.reshape(-1))


class LabeledDefinition(Definition):
    """Labels as topics."""

    name: ClassVar[str] = "labeled"
    summary: ClassVar[str] = "labels are topics, and a document has those of its labels (Labeled LDA)"
    Own: ClassVar[type] = LabeledOptions
    capabilities: ClassVar[frozenset[str]] = frozenset({ALLOWED})
    defaults: ClassVar[Mapping[str, Any]] = {"alpha_sum": TRAINING_WEIGHT, "beta": 0.1}
    unfit: ClassVar[Mapping[str, str]] = {
        "topics": "the labels say how many topics there are, with topics_per_label and background",
        "paths": "its samplers have one assignment of the corpus",
    }
    numbered_alike: ClassVar[bool] = True
    elsewhere: ClassVar[str] = "its topics are the labels ('evaluate -m labels' says how well they are found)"

    def state(self, corpus: Corpus, options: Options, priors: Priors) -> State:
        labels = LabelIndex.of(corpus)
        if not len(labels.names):
            raise InputError(
                f"the model {self.name} learns from labels, and the corpus has none: import with --label-field, or "
                "with --label-delimiter where a document has several"
            )
        per_label, background = self.own.topics_per_label, self.own.background
        topics = len(labels.names) * per_label + background
        if topics > MAX_TOPICS:
            raise InputError(f"{len(labels.names):,} labels make {topics:,} topics; {MAX_TOPICS:,} are possible")
        alpha = options.alpha if isinstance(options.alpha, float | int) else None
        total = options.alpha_sum if options.alpha_sum is not None else TRAINING_WEIGHT
        return initial_state(
            corpus, options, priors, alpha=np.full(topics, total / topics if alpha is None else float(alpha)),
            allowed=allowed_topics(labels, per_label, background), side=label_side(labels, per_label, background),
        )  # fmt: skip

    @staticmethod
    def side_arrays(own: Any, meta: Mapping[str, Any], finished: bool) -> tuple[Array, ...]:
        found = (
            *string_arrays("label_names", SIDE_LABELS, is_beside=True),
            Array("label_frequencies", "int64", SIDE_LABELS, low=1, high=COUNT),
            Array("topic_label", "int32", TOPICS, low=-1, below=SIDE_LABELS),
            Array("labelled", "uint8", size_beside("trained") if finished else DOCUMENTS, high=1),
        )
        if not finished:
            return found
        return (
            *found,
            Array("training_alpha", "float64", (PRIOR_GROUPS, TOPICS), low=LOWEST, high=HIGHEST),
            Array("label_number", "float64", ANY_SIZE, low=-FINITE, high=FINITE, required=False),
            Array("label_number_weights", "float32", WORDS, low=-FLOAT, high=FLOAT, required=False),
        )

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        self.verify_state(state)
        return super().updates(options, state)

    def usual_sampling(self, model: Model) -> UsualSampling:
        """How new documents are sampled: not at all, where CVB0 made the model."""
        return UsualSampling(theta="cvb0" if model.meta.get("sampler") == "labeled-cvb0" else None)

    def reader(self, model: Model) -> LabelReader:
        return LabelReader(model, self.usual_sampling(model))

    def notes(self, state: State) -> list[str]:
        frequencies, labelled = state.side["label_frequencies"], state.side["labelled"].astype(bool)
        number = int(labelled.sum())
        found = [
            f"{len(frequencies):,} labels on {number:,} documents, {frequencies.sum() / max(number, 1):.2f} a document"
        ]
        if number < state.n_documents:
            found.append(f"{state.n_documents - number:,} documents without labels may use all topics")
        single = int((frequencies == 1).sum())
        if single:
            found.append(f"{single:,} labels have one document")
        return found

    def verify(self, model: Model) -> None:
        check_side(model.side, model.n_topics)
        LabelNumber.from_side(model.side, model.n_words)

    def finish(self, state: State, model: Model, samples: Sequence[State]) -> None:
        self.verify_state(state)
        side = state.side
        names, of_topic = Strings.from_arrays(side, "label_names"), side["topic_label"]
        model.topic_names = topic_names(names, of_topic)
        model.side |= side
        model.side["training_alpha"] = model.alpha.copy()
        model.alpha = self.prediction_alpha(model)
        if not len(model.side.get("label_number", ())):
            model.side |= number_of_labels(state).side()

    def verify_state(self, state: State) -> None:
        check_side(state.side, state.n_topics)
        require_arrays_fit(len(state.side["labelled"]) == state.n_documents, "marks of labels for other documents")
        require_arrays_fit(state.allowed is not None, "labels, and documents that may have any topic")
        require_arrays_fit(len(state.alpha) == 1, "labels, and groups of documents with a prior each")

    def prediction_alpha(self, model: Model) -> NDArray[np.float64]:
        """α of new documents, for which every label is possible."""
        return model.side["training_alpha"]


class PriorLDA(LabeledDefinition):
    """Labeled LDA with label frequencies in the prior of new documents."""

    name: ClassVar[str] = "prior"
    summary: ClassVar[str] = "Labeled LDA whose new documents expect labels by their frequency (Prior-LDA)"
    Own: ClassVar[type] = PriorOptions

    def prediction_alpha(self, model: Model) -> NDArray[np.float64]:
        frequencies = model.side["label_frequencies"]
        return self.spread(model, (frequencies / frequencies.sum())[None, :])

    def spread(self, model: Model, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """α of documents from the shares of labels that are expected of each (eq. 59): a row a document.

        A background topic weighs as much, beside all labels together, as beside the labels of an average training
        document.
        """
        of_topic = model.side["topic_label"]
        labels = len(model.side["label_frequencies"])
        weight, smoothing = self.own.label_weight, self.own.label_smoothing
        alpha = (weight * shares + smoothing / labels)[:, np.maximum(of_topic, 0)] / self.own.topics_per_label
        number = max(int(model.side["labelled"].sum()), 1)
        a_document = model.side["label_frequencies"].sum() / number * self.own.topics_per_label
        alpha[:, of_topic < 0] = (weight + smoothing) / a_document
        return np.ascontiguousarray(alpha)


def check_side(side: Mapping[str, NDArray[Any]], topics: int) -> None:
    """InputError unless these say which label each topic is of: as many a label, in order; then the background."""
    try:
        of_topic, frequencies = side["topic_label"], side["label_frequencies"]
        offsets, data, labelled = side["label_names.offsets"], side["label_names.bytes"], side["labelled"]
    except KeyError as missing:
        raise InputError(f"the model of labels lacks the array {missing}") from None
    for array, kind in ((of_topic, np.int32), (frequencies, np.int64), (offsets, np.int64), (data, np.uint8)):
        require_arrays_fit(array.ndim == 1 and array.dtype == kind, "arrays of labels that are of another type")
    labels = len(frequencies)
    own = int((of_topic >= 0).sum())
    require_arrays_fit(labels > 0 and own % labels == 0 and own > 0, "topics that its labels do not share evenly")
    wanted = np.concatenate([np.repeat(np.arange(labels), own // labels), np.full(topics - own, -1)])
    require_arrays_fit(
        len(of_topic) == topics and bool(np.array_equal(of_topic, wanted)), "topics of labels in another order"
    )
    require_arrays_fit(
        len(offsets) == labels + 1 and offsets[0] == 0 and offsets[-1] == len(data), "names of other labels"
    )
    require_arrays_fit(
        bool(np.all(np.diff(offsets) >= 0) and np.all(frequencies > 0)), "names or frequencies that are no such"
    )
    require_arrays_fit(labelled.ndim == 1, "marks of labelled documents in another shape")


def allowed_topics(
    labels: LabelIndex, per_label: int, background: int
) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:  # fmt: skip
    """The topics of each document: those of its labels and the background; without labels, all."""
    number = np.diff(labels.offsets)
    every = np.arange(len(labels.names) * per_label + background, dtype=np.uint16)
    rows = []
    shift, common = np.arange(per_label), every[len(labels.names) * per_label :]
    for begin, end in zip(labels.offsets[:-1].tolist(), labels.offsets[1:].tolist()):
        own = np.unique(labels.ids[begin:end])
        topics = (own[:, None] * per_label + shift).ravel().astype(np.uint16)
        rows.append(np.concatenate([topics, common]) if end > begin else every)
    offsets = np.zeros(len(number) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return offsets, np.concatenate(rows) if rows else every[:0]


def label_side(labels: LabelIndex, per_label: int, background: int) -> dict[str, NDArray[Any]]:
    """The side arrays of a model of labels."""
    of_topic = np.repeat(np.arange(len(labels.names), dtype=np.int32), per_label)
    return {
        **labels.names.arrays("label_names"),
        "label_frequencies": labels.frequencies.astype(np.int64),
        "topic_label": np.concatenate([of_topic, np.full(background, -1, np.int32)]),
        "labelled": (np.diff(labels.offsets) > 0).astype(np.uint8),
    }


def topic_names(labels: Strings, of_topic: NDArray[np.int32]) -> Strings:
    """Names of topics: the labels, numbered where a label has several; the background's."""
    per_label = np.bincount(of_topic[of_topic >= 0], minlength=len(labels))
    seen = [0] * (len(labels) + 1)
    names = []
    for label in of_topic.tolist():
        seen[label] += 1
        if label < 0:
            names.append(f"background {seen[label]}")
        else:
            names.append(labels[label] + (f" {seen[label]}" if per_label[label] > 1 else ""))
    return Strings.of(names)


def number_of_labels(state: State) -> LabelNumber:
    """The regression for the number of labels, on the documents that have some."""
    from topicx.strings import take_rows

    assert state.allowed is not None
    chosen = np.flatnonzero(state.side["labelled"])
    words, offsets = take_rows(state.words, state.offsets, chosen)
    of_topic = state.side["topic_label"]
    background = int((of_topic < 0).sum())
    per_label = (len(of_topic) - background) // len(state.side["label_frequencies"])
    numbers = (np.diff(state.allowed[0])[chosen] - background) // per_label
    return LabelNumber.fit(words, offsets, state.n_words, numbers)
