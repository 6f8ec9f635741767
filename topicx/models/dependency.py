"""Dependency-LDA (Rubin, Chambers, Smyth & Steyvers 2012): labels that go together are expected together.

Two stages. First an LDA on the labels alone, whose words are labels: label topics φ' and, for a document, their shares
θ'. Then Labeled LDA on the words. A new document's labels are not known: its tokens' current labels stand for them, as
in the paper's fast inference. θ' is found from these under fixed φ', and makes a prior for the document alone,

    α_dk = label_weight · Σ_t θ'_dt φ'_tk + label_smoothing / K,

under which the document is sampled again; `rounds` of this come before the samples that count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.infer import infer as kernel
from topicx.corpus.corpus import Corpus
from topicx.declare import whole_option
from topicx.errors import InputError
from topicx.files.array_sizes import size_beside
from topicx.files.file_kinds import HIGHEST, LOWEST, SMALLEST
from topicx.files.schema import Array
from topicx.model import Model
from topicx.models.definition import Learn
from topicx.models.labeled import SIDE_LABELS, LabelIndex, PriorLDA, PriorOptions
from topicx.predict.label_number import require_arrays_fit
from topicx.predict.label_reader import LabelReader
from topicx.predict.reader import Adapted
from topicx.sampling.run_options import Options
from topicx.state import MAX_TOPICS, NONE, State
from topicx.strings import Strings

_BURN_IN, _SAMPLES, _LAG = 20, 10, 2


LABEL_TOPICS = size_beside("label_topics")
"""Topics whose words are labels."""


@dataclass(frozen=True)
class DependencyOptions(PriorOptions):
    """How labels go together."""

    label_topics: int = whole_option(50, 1, 10_000, help="Topics of the LDA on the labels.")
    label_sweeps: int = whole_option(500, 1, 1_000_000, help="Its sweeps.")
    rounds: int = whole_option(3, 1, 100, help="New documents: how often their prior is found anew.")


class DependencyLDA(PriorLDA):
    """Labeled LDA with a prior of its own for each new document, from what labels go together."""

    name: ClassVar[str] = "dependency"
    summary: ClassVar[str] = "Labeled LDA whose new documents expect labels that go together (Dependency-LDA)"
    Own: ClassVar[type] = DependencyOptions

    def prepare(self, state: State, corpus: Corpus, options: Options, learn: Learn) -> State:
        state.side |= self.label_structure(LabelIndex.of(corpus), options, learn)
        return state

    def label_structure(self, labels: LabelIndex, options: Options, learn: Learn) -> dict[str, NDArray[Any]]:
        """φ' and α' of the LDA on the labels; the same for all chains."""
        if len(labels.names) < 2:
            return {"label_topic_word": np.ones((1, 1), np.float32), "label_topic_alpha": np.ones(1)}
        topics = min(self.own.label_topics, len(labels.names))
        state = State(
            words=labels.ids.astype(np.uint32), offsets=labels.offsets, z=np.full(len(labels.ids), NONE, np.uint16),
            alpha=np.full((1, topics), 0.1), beta=np.full(len(labels.names), 0.01), vocabulary=labels.names,
            ids=Strings.of(str(d) for d in range(len(labels.offsets) - 1)),
        )  # fmt: skip
        chosen = Options(
            topics=topics, iterations=self.own.label_sweeps, seed=options.seed, alpha=0.1, beta=0.01,
            optimize_interval=10, optimize="alpha", start="random", trace_interval=self.own.label_sweeps,
        )  # fmt: skip
        model = learn(state, chosen)
        return {"label_topic_word": model.topic_word.astype(np.float32), "label_topic_alpha": model.alpha[0].copy()}

    def verify(self, model: Model) -> None:
        super().verify(model)
        try:
            phi, alpha = model.side["label_topic_word"], model.side["label_topic_alpha"]
        except KeyError as missing:
            raise InputError(f"the model of labels lacks the array {missing}") from None
        labels = len(model.side["label_frequencies"])
        fits = phi.ndim == 2 and phi.shape[1] == labels and 0 < len(phi) <= MAX_TOPICS and alpha.shape == (len(phi),)
        require_arrays_fit(fits, "label topics of another shape")
        for array in (phi, alpha):
            require_arrays_fit(
                bool(np.all(np.isfinite(array)) and np.all(array > 0)), "label topics that are not positive"
            )

    @staticmethod
    def side_arrays(own: Any, meta: Mapping[str, Any], finished: bool) -> tuple[Array, ...]:
        return (
            *PriorLDA.side_arrays(own, meta, finished),
            Array("label_topic_word", "float32", (LABEL_TOPICS, SIDE_LABELS), low=SMALLEST, high=1.000001),
            Array("label_topic_alpha", "float64", LABEL_TOPICS, low=LOWEST, high=HIGHEST),
        )

    # -- new documents -----------------------------------------------------------------------------------------

    def reader(self, model: Model) -> DependencyReader:
        return DependencyReader(model, self)

    @staticmethod
    def groups_of_labels(model: Model, number: int = 10) -> list[list[tuple[str, float]]]:
        """The most probable labels of each label topic: which go together."""
        phi, names = model.side["label_topic_word"], Strings.from_arrays(model.side, "label_names")
        order: Sequence[NDArray[np.int64]] = np.argsort(-phi, axis=1, kind="stable")[:, :number]  # type: ignore[assignment]
        return [[(names[int(k)], float(row[k])) for k in best] for row, best in zip(phi, order)]


class DependencyReader(Adapted, LabelReader):
    """Documents whose labels are expected by what labels go together: those of its own tokens say."""

    def __init__(self, model: Model, definition: DependencyLDA) -> None:
        super().__init__(model, definition.usual_sampling(model))
        self.model, self.definition = model, definition
        self.rounds = int(definition.own.rounds)

    def adapted_alpha(
        self, z: NDArray[np.uint16], offsets: NDArray[np.int64], keys: NDArray[np.uint64]
    ) -> NDArray[np.float32]:  # fmt: skip
        return self.definition.spread(self.model, self.label_shares(z, offsets, keys)).astype(np.float32)

    def label_shares(
        self, z: NDArray[np.uint16], offsets: NDArray[np.int64], keys: NDArray[np.uint64]
    ) -> NDArray[np.float64]:  # fmt: skip
        """Σ_t θ'_dt φ'_t, with θ' inferred from the labels of the document's tokens."""
        side = self.model.side
        phi = side["label_topic_word"].astype(np.float64)
        topics, labels = phi.shape
        width = -(-topics // 16) * 16
        rows = np.zeros((labels, width), np.float32)
        rows[:, :topics] = (phi / phi.max(axis=0)).T
        of_token = side["topic_label"][z]
        kept = of_token >= 0  # tokens of the background say nothing of labels
        running = np.concatenate([[0], np.cumsum(kept)])
        own, begins = of_token[kept].astype(np.uint32), running[offsets].astype(np.int64)
        theta = np.zeros((len(offsets) - 1, topics), np.float32)
        alpha = side["label_topic_alpha"].astype(np.float32)[None, :]
        groups = np.zeros(len(theta), np.uint32)
        kernel.sample_theta(
            own, begins, keys, rows, alpha, groups, _BURN_IN, _SAMPLES, _LAG, True, theta, np.zeros(len(own), np.uint16)
        )
        shares = np.zeros((len(theta), labels))
        for topic in range(topics):  # not a matrix product, whose last bits depend on how many documents there are
            shares += theta[:, topic, None].astype(np.float64) * phi[topic]
        return shares
