"""The Dirichlet-multinomial mixture (Nigam, McCallum, Thrun & Mitchell 2000; Yin & Wang 2014, "GSDMM"): one topic a
document, for texts of a line.

    z_d ~ Categorical(π),    π ~ Dirichlet(α),    w_di ~ Categorical(φ_{z_d}),    φ_k ~ Dirichlet(β)

The number of topics is an upper limit: topics that no document needs are left without any, and are not in the model. θ
of a document is the probability of each topic to be the document's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.estimate.cgsp_counts import MAX_ENTRIES, DumpCounts, ThetaRows, WordCounts
from topicx.files.array_sizes import TOPICS
from topicx.files.file_kinds import COUNT
from topicx.files.schema import Array
from topicx.models.definition import Definition, Priors, initial_state
from topicx.predict.document_prior import DocumentPrior
from topicx.predict.documents import Documents
from topicx.predict.reader import Admixture, Read
from topicx.predict.sampling_plan import Sampling, Streams
from topicx.predict.topic_rows import FixedTopics, sum_log_divisors
from topicx.sampling.method import Update
from topicx.sampling.run_options import Options
from topicx.sampling.sampler_registry import WHOLE
from topicx.sampling.samplers.whole_documents import DocumentCounts, topics_of_documents
from topicx.sampling.special_functions import exp, log
from topicx.sampling.updates.prior_fixed_points import LearnPriors
from topicx.state import NONE, Csr, State

if TYPE_CHECKING:
    from topicx.model import Model

ENTRIES = 1 << 22
"""Probabilities that are in memory at once."""


class Mixture(Definition):
    """One topic a document."""

    name: ClassVar[str] = "mixture"
    summary: ClassVar[str] = "mixture: one topic a document, for short texts; --topics is an upper limit"
    capabilities: ClassVar[frozenset[str]] = frozenset({WHOLE})
    defaults: ClassVar[Mapping[str, Any]] = {"beta": 0.1, "optimize": "beta", "start": "random"}
    unfit: ClassVar[Mapping[str, str]] = {
        "samples": "states of the chain have different topics: there is no average of them",
    }
    elsewhere: ClassVar[str] = "it empties the topics that it does not need; give more than there can be"

    # -- training ----------------------------------------------------------------------------------------------

    def state(self, corpus: Corpus, options: Options, priors: Priors) -> State:
        return initial_state(corpus, options, priors)

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        if len(state.alpha) > 1:
            raise InputError("the state has several groups of documents, and a mixture has one prior for its topics")
        if options.optimize_interval and set(options.optimize.split("+")) != {"beta"}:
            raise InputError("optimize: of a mixture β is learnt alone; α says how readily a document opens a topic")
        return [LearnPriors(options.optimize_interval, options.optimize_burn_in, frozenset({"beta"}))]

    @staticmethod
    def side_arrays(own: Any, meta: Mapping[str, Any], finished: bool) -> tuple[Array, ...]:
        return (Array("documents", "int64", TOPICS, low=0, high=COUNT),) if finished else ()

    # -- results -----------------------------------------------------------------------------------------------

    def closed(self, state: State) -> State:
        """Without the topics that no document has."""
        used = np.bincount(state.z[state.z != NONE], minlength=state.n_topics) > 0
        used[state.seeds.topics] = True
        if used.all() or not used.any():
            return state
        number = np.full(NONE + 1, NONE, np.uint16)
        number[np.flatnonzero(used)] = np.arange(int(used.sum()), dtype=np.uint16)
        seeds = replace(state.seeds, topics=number[state.seeds.topics])
        return replace(
            state, z=number[state.z], alpha=np.ascontiguousarray(state.alpha[:, used]), seeds=seeds,
            meta=dict(state.meta),
        )  # fmt: skip

    def estimator(self, state: State) -> WholeDocumentEstimator:
        return WholeDocumentEstimator()

    def finish(self, state: State, model: Model, samples: Sequence[State]) -> None:
        super().finish(state, model, samples)
        own = topics_of_documents(state)
        model.side = {"documents": np.bincount(own[own != NONE], minlength=state.n_topics).astype(np.int64)}

    def pooled_side(
        self, sides: Sequence[Mapping[str, NDArray[Any]]], orders: Sequence[NDArray[np.int64]]
    ) -> dict[str, NDArray[Any]]:
        if len(sides) > 1:
            raise InputError(f"several states: {self.unfit['samples']}; give one")
        return dict(sides[0])

    def reader(self, model: Model) -> MixtureReader:
        return MixtureReader(model)

    def merged_side(self, side: Mapping[str, NDArray[Any]], target: NDArray[np.uint16]) -> dict[str, NDArray[Any]]:
        """Documents of topics that become one add up."""
        return {name: np.bincount(target, one, len(target)).astype(np.int64) for name, one in side.items()}


# -- of a state --------------------------------------------------------------------------------------------------


class WholeDocumentEstimator:
    """θ and φ of a mixture's state. cgs: a document is of its topic, words are counted. cgsp: of each topic with the
    probability that a further sweep would draw it, and words are counted so."""

    of_tokens = False

    def soft_counts(
        self, state: State, threads: int | Engine, counts: DumpCounts | None = None, *, path: int | None = None
    ) -> WholeDocumentCounts:
        return WholeDocumentCounts(state)

    def soft_rows(
        self, state: State, threads: int | Engine, counts: DumpCounts | None = None, word_rows: Csr | None = None,
        *, path: int | None = None,
    ) -> Iterator[ThetaRows]:  # fmt: skip
        yield from WholeDocumentCounts(state).documents()

    def count_rows(
        self, state: State, counts: DumpCounts | None = None, *, path: int | None = None
    ) -> Iterator[ThetaRows]:  # fmt: skip
        own = topics_of_documents(state)
        step = max(ENTRIES // state.n_topics, 1)
        for begin in range(0, state.n_documents, step):
            part = own[begin : begin + step].astype(np.int64)
            rows = np.zeros((len(part), state.n_topics))
            known = part != NONE
            rows[known, part[known]] = 1.0
            rows[~known] = state.alpha[0] / state.alpha.sum()
            yield begin, rows


class WholeDocumentCounts:
    """Expected counts of a mixture's state, by p(z_d | all others)."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.counts = DocumentCounts(state)
        self.counts.adopt(topics_of_documents(state))

    def documents(
        self, *, proportions: bool = True, wanted: bool = True, for_words: bool = True
    ) -> Iterator[ThetaRows]:  # fmt: skip
        """The probabilities in batches of documents."""
        step = max(ENTRIES // self.state.n_topics, 1)
        for begin in range(0, self.state.n_documents, step):
            yield begin, self.counts.probabilities(begin, min(begin + step, self.state.n_documents))

    def words(self, max_entries: int = MAX_ENTRIES) -> WordCounts:
        """Expected counts by word; where there are too many, those of topics as they are."""
        import scipy.sparse

        state = self.state
        nothing = np.zeros(0)
        if state.n_words * state.n_topics > max_entries:
            indptr, topics, values = state.word_topics()
            return WordCounts(indptr, topics, values.astype(np.float64), nothing, nothing)
        total = np.zeros((state.n_words, state.n_topics))
        np.add.at(total, (state.seeds.words, state.seeds.topics), state.seeds.counts)
        for begin, rows in self.documents():
            bounds = state.offsets[begin : begin + len(rows) + 1]
            words = state.words[bounds[0] : bounds[-1]]
            each = scipy.sparse.csr_array(
                (np.ones(len(words)), words.astype(np.int64), bounds - bounds[0]), (len(rows), state.n_words)
            )  # fmt: skip
            total += each.T @ rows
        total[total < LEAST] = 0.0
        indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(total, axis=1))]).astype(np.int64)
        rows_at, columns = np.nonzero(total)
        return WordCounts(indptr, columns.astype(np.uint16), total[rows_at, columns], nothing, nothing)


LEAST = 1e-9
"""What an expected count must be to be kept."""


# -- new documents -----------------------------------------------------------------------------------------------


class MixtureReader(Admixture):
    """Documents of one topic each: p(k | d) ∝ (m_k + α_k) Π_i φ_kw."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.log_sizes = log(model.side["documents"] + model.alpha[0])

    def room(self, threads: int) -> int | None:
        super().room(threads)
        return max(ENTRIES // self.n_topics, 1)

    def read(self, documents: Documents, prior: DocumentPrior, streams: Streams, sampling: Sampling) -> Read:
        weights = self.log_sizes + self._log_words(documents.words, documents.offsets)
        theta = np.asarray(exp(weights - weights.max(axis=1, keepdims=True)))
        theta /= theta.sum(axis=1, keepdims=True)
        z = np.repeat(theta.argmax(axis=1).astype(np.uint16), np.diff(documents.offsets))
        return Read(documents, theta.astype(np.float32), z, prior)

    def _log_words(self, words: NDArray[np.uint32], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Σ_i log φ_kw of each document's words, a row a document, up to what all topics have in common."""
        numbers, rows, _ = self.topics.rows_for(words)
        used, places = np.unique(numbers, return_inverse=True)
        logs = log(np.maximum(rows[used, : self.n_topics].astype(np.float64), np.finfo(np.float32).tiny))
        found = np.zeros((len(offsets) - 1, self.n_topics))
        full = np.flatnonzero(np.diff(offsets) > 0)
        if len(full):
            found[full] = np.add.reduceat(logs[places.reshape(-1)], offsets[full] - offsets[0], axis=0)
        return found

    def log_predictive(
        self, read: Read, words: NDArray[np.uint32], offsets: NDArray[np.int64]
    ) -> NDArray[np.float64]:  # fmt: skip
        """Further words of a document are of the same topic."""
        numbers, _, logs = self.topics.rows_for(words)
        weights = self._log_words(words, offsets) + log(np.maximum(read.theta.astype(np.float64), 1e-300))
        most = weights.max(axis=1)
        found: NDArray[np.float64] = most + log(exp(weights - most[:, None]).sum(axis=1))
        return found + sum_log_divisors(logs, numbers, offsets)

    def predicted_columns(self) -> dict[str, type]:
        return {"topic": int, "probability": float}

    def predict(self, read: Read) -> Sequence[Sequence[Any]]:
        best = read.theta.argmax(axis=1)
        return best.tolist(), [round(float(p), 6) for p in read.theta[np.arange(len(best)), best]]

    def token_topics(self, purpose: str) -> FixedTopics:
        raise InputError(f"{purpose}: a document of a mixture has one topic, not one a token; completion is for it")
