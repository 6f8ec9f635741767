"""Documents under topics whose words differ by slice: each is read by the words of its own slice.

`SliceTopics` is what a model knows of its slices: the words of topic k in slice s, how far topics have moved, names.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.table import Column
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.document_prior import DocumentPrior
from topicx.predict.documents import Documents
from topicx.predict.reader import Admixture, Read
from topicx.predict.sampling_plan import Sampling, Streams
from topicx.predict.topic_rows import FixedTopics
from topicx.sampling.slice_words import Entries, expected_words, parents_of

Floats = NDArray[np.float64]


class Cuts(Protocol):
    """What makes the slices (`topicx.models.slice_cuts.SliceCuts`)."""

    @property
    def column(self) -> str: ...

    @property
    def drift(self) -> bool: ...

    @property
    def names(self) -> list[str]: ...

    def of_documents(self, column: Column | None, documents: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]: ...


class SliceTopics:
    """The words of a model's topics, slice by slice.

    Parameters
    ----------
    model : Model
        A model of the kind slices.
    names : list of str
        What the slices are called. Of dialects the first is what all have in common.
    """

    def __init__(self, model: Model, names: list[str]) -> None:
        side: Mapping[str, NDArray[Any]] = model.side
        self.model, self.names = model, names
        number, drift = (int(value) for value in side["slices"])
        self.n_slices, self.drift = number, bool(drift)
        self.parents = parents_of(number, self.drift)
        """The slice that each comes from; -1: none."""
        self.closeness: Floats = side["closeness"]
        """Closeness of each topic: its b."""
        self.tokens: Floats = side["slice_tokens"]
        """Tokens of each slice and topic."""
        self.moves: NDArray[np.float32] = side.get("moves", np.zeros((0, 2, number, model.n_topics), np.float32))
        """Draws of how far topics have moved: from the slice that each comes from, and from the first; draws × 2 ×
        slices × topics. Each is the share of the topic's words that is another."""

    @cached_property
    def _counts(self) -> list[Any]:
        import scipy.sparse

        side, bounds = self.model.side, self.model.side["slice_bounds"]
        shape = self.model.n_words, self.model.n_topics
        found = []
        for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
            places = side["slice_words"][begin:end], side["slice_topics"][begin:end].astype(np.int32)
            found.append(scipy.sparse.csr_array((side["slice_counts"][begin:end], places), shape=shape))
        return found

    @cached_property
    def _sums(self) -> Floats:
        topics = self.model.n_topics
        return np.array([np.bincount(c.tocoo().col, c.tocoo().data, topics) for c in self._counts])

    def words_of(self, words: NDArray[np.int64]) -> Floats:
        """φ of some words in all slices: slices × words × topics."""
        found = np.empty((self.n_slices, len(words), self.model.n_topics))
        for at, parent in enumerate(self.parents):
            weight: Floats | float = self.model.beta_sum if parent < 0 else self.closeness
            found[at] = self.model.beta[words, None] if parent < 0 else found[parent] * self.closeness
            found[at] += self._counts[at][words].toarray()
            found[at] /= weight + self._sums[at]
        return found

    def topic_word(self, slice: int) -> Floats:
        """φ of one slice: topics × words, each row sums to 1."""
        found = next(words for at, words in enumerate(self._all()) if at == slice)
        return np.ascontiguousarray(found.T)

    def _all(self) -> Any:
        topics, side = self.model.n_topics, self.model.side
        places = side["slice_words"].astype(np.int64) * topics + side["slice_topics"]
        counts, bounds = side["slice_counts"].astype(np.float64), side["slice_bounds"]
        entries = [Entries(places[a:b], counts[a:b]) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
        return expected_words(self.parents, entries, self.closeness, self.model.beta)

    def words_of_topics(self) -> NDArray[np.float32]:
        """φ of all slices: slices × topics × words, in single precision."""
        return np.stack([np.ascontiguousarray(words.T).astype(np.float32) for words in self._all()])

    def intervals(self, low: float = 0.05, high: float = 0.95) -> tuple[Floats, Floats, Floats]:
        """The mean and two percentiles of `moves`, each 2 × slices × topics; InputError if the run kept no draws."""
        if not len(self.moves):
            raise InputError("the run kept no draws of distances: it needs more sweeps than --moves-burn-in")
        draws = self.moves.astype(np.float64)
        return draws.mean(axis=0), np.quantile(draws, low, axis=0), np.quantile(draws, high, axis=0)


class SliceRows(FixedTopics):
    """Rows of pairs of a slice and a word: number s V + w. Slice n_slices is all of them together."""

    def __init__(self, model: Model, slices: SliceTopics) -> None:
        super().__init__(model, model.alpha)
        self.slices, self.vocabulary_size, self.together = slices, model.n_words, model
        self.n_words = model.n_words * (slices.n_slices + 1)

    def name(self, word: int) -> str:
        return f"{self.together.vocabulary[word % self.vocabulary_size]!r}"

    def _phi_of(self, words: NDArray[np.int64]) -> Floats:
        slices, own = words // self.vocabulary_size, words % self.vocabulary_size
        used, places = np.unique(own, return_inverse=True)
        known = self.slices.words_of(used)
        found = known[np.minimum(slices, self.slices.n_slices - 1), places.reshape(-1)]
        rest = np.flatnonzero(slices == self.slices.n_slices)
        if len(rest):
            found[rest] = self.together.phi_of(own[rest])
        return found


class SliceReader(Admixture):
    """Documents whose words are those of their slice. One of a time before the first slice or after the last has the
    words of the nearest, one of another value of the column what all have in common; without a value, the topics' words
    in all slices together."""

    topics: SliceRows

    def __init__(self, model: Model, cuts: Cuts) -> None:
        super().__init__(model)
        self.cuts = cuts
        self.slices = SliceTopics(model, cuts.names)
        self.vocabulary_size = model.n_words
        self.topics = SliceRows(model, self.slices)
        self.wants = (cuts.column,)
        if cuts.drift:
            told = (
                f"are of a {cuts.column} outside the model's slices (the nearest slice's words are theirs) or of none"
            )
        else:
            told = f"are of a {cuts.column} that the model does not know (they have the common words) or of none"
        self.stranger_note = f"documents {told} (then the words of all slices together are)"

    def prior(self, documents: Documents) -> DocumentPrior:
        _, strange = self._slices_of(documents)
        groups = np.full(len(documents), len(self.alpha) - 1, np.uint32)
        return DocumentPrior(self._alpha32, groups, int(strange.sum()))

    def _slices_of(self, documents: Documents) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        found, strange = self.cuts.of_documents(documents.carried.get(self.cuts.column), len(documents))
        return np.where(found < 0, self.slices.n_slices, found), strange

    def _pairs(
        self, documents: Documents, words: NDArray[np.uint32], offsets: NDArray[np.int64]
    ) -> NDArray[np.int64]:  # fmt: skip
        """Words of documents as numbers of pairs."""
        slices, _ = self._slices_of(documents)
        return np.repeat(slices, np.diff(offsets)) * self.vocabulary_size + words

    def read(self, documents: Documents, prior: DocumentPrior, streams: Streams, sampling: Sampling) -> Read:
        pairs = self._pairs(documents, documents.words, documents.offsets)
        numbers = Documents(documents.ids, pairs, documents.offsets, documents.unknown)  # type: ignore[arg-type]
        read = super().read(numbers, prior, streams, sampling)
        return Read(documents, read.theta, read.z, prior, read.own)

    def log_predictive(
        self, read: Read, words: NDArray[np.uint32], offsets: NDArray[np.int64]
    ) -> NDArray[np.float64]:  # fmt: skip
        pairs = self._pairs(read.documents, words, offsets)
        return self.topics.log_probabilities(pairs, offsets, read.theta)  # type: ignore[arg-type]

    def predicted_columns(self) -> dict[str, type]:
        return {"slice": str}

    def predict(self, read: Read) -> Any:
        found, _ = self._slices_of(read.documents)
        names = [*self.cuts.names, ""]
        return ([names[at] for at in found.tolist()],)

    def token_topics(self, purpose: str) -> FixedTopics:
        raise InputError(f"{purpose}: words of topics differ by slice; completion is for such models")
