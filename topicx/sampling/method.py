"""What the chain loop asks of a sampler or of a variational method, and of an update between sweeps. The loop knows
nothing else about them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from topicx.engines.threads import Engine
from topicx.files.schema import Array, Schema
from topicx.sampling.run_options import Options
from topicx.sampling.updates.prior_fixed_points import (
    CountedDocuments,
    CountedWords,
    DocumentStatistics,
    WordStatistics,
)
from topicx.state import Csr, State


class Method(ABC):
    """Assignments of a corpus to topics, hard or soft, and how one sweep renews them.

    `state` holds the corpus, the current priors and the model's side arrays. They change between sweeps only (the
    priors by `set_priors`). A method draws every random number from a stream derived from (seed, chain, step,
    cell): see `topicx.sampling.random_streams`. What a method can do stands in the registry (`Entry.capabilities`).
    """

    objective: ClassVar[str] = "joint log-likelihood per token"
    """What `score` returns, for the trace and the progress line."""
    learns: ClassVar[bool] = True
    """Whether its counts are those of the state's topics, so that priors can be learnt from them."""

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        self.state = state
        self.options = options
        self.engine = engine

    @classmethod
    def memory(cls, state: State, options: Options) -> int:
        """About how many bytes a run takes beside the corpus: asked before it begins. Here: words and topics in the
        schedule's order, and the topics once more in that of the corpus."""
        tokens, documents = state.paths * state.n_tokens, state.paths * state.n_documents
        return 4 * state.n_tokens + 4 * tokens + 8 * documents

    @abstractmethod
    def start(self, random: bool) -> None:
        """Begin: every token at random, or (random = False) no token placed."""

    @abstractmethod
    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        """Renew the assignments of this share of the documents; returns figures for the trace (such as `changed`).

        Tokens that are not placed yet are placed, each conditional on all that are placed so far.
        """

    def drawn(self, key: int) -> NDArray[np.uint16]:
        """A topic for every token of the text, drawn from its soft assignment with a stream of this key."""
        raise TypeError(f"{type(self).__name__} has no soft assignments")  # the chain asks those of a soft start

    def maximise(self, step: int) -> dict[str, float]:
        """One sweep in which each token takes its most probable topic (the capability `modes`)."""
        raise TypeError(f"{type(self).__name__} has no modes")  # the chain has refused such options before

    @abstractmethod
    def score(self) -> float:
        """The objective, per token of the documents placed."""

    @abstractmethod
    def document_topics(self) -> Csr:
        """n_dk (or its expectation) as row offsets, topics, counts; path after path."""

    @abstractmethod
    def word_topics(self) -> Csr:
        """n_kw (or its expectation), seeds included, as row offsets, topics, counts."""

    @property
    def groups(self) -> NDArray[np.uint32]:
        """The group of each row of `document_topics`: there is a row for every path of a document."""
        return np.tile(self.state.groups, self.state.paths) if self.state.paths > 1 else self.state.groups

    def document_statistics(self) -> DocumentStatistics:
        """What n_dk says of α."""
        return CountedDocuments(self.document_topics(), self.groups, self.state.alpha.shape)

    def word_statistics(self) -> WordStatistics:
        """What n_kw says of β."""
        return CountedWords(self.word_topics(), self.state.beta, self.state.n_topics)

    def set_priors(self, alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        """New priors, from now on."""
        self.state.alpha, self.state.beta = alpha, beta

    def renumber(self, number: NDArray[np.uint16], alpha: NDArray[np.float64]) -> None:
        """Another number of topics: topic k is now number[k] (65535: it has no tokens), and α has other columns."""
        raise TypeError(f"{type(self).__name__} has a fixed number of topics")  # the chain has refused it before

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything beyond `state` that the next sweep depends on, bit for bit: for a checkpoint."""

    def declared(self) -> tuple[Array, ...]:
        """What `arrays` must be, in the sizes of `sizes`; what only the method can tell, `restore` checks."""
        return ()

    def sizes(self) -> dict[str, int]:
        """The sizes that `declared` may name."""
        state = self.state
        return {
            "documents": state.n_documents, "tokens": state.n_tokens, "words": state.n_words,
            "paths": state.paths, "topics": state.n_topics, "padded": (state.n_topics + 15) // 16 * 16,
            "groups": len(state.alpha),
        }  # fmt: skip

    def verify_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Inconsistent, unless these are arrays of such a method."""
        Schema("method", self.declared()).verify(arrays, self.sizes())

    @abstractmethod
    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue from `arrays()` (verified as declared) and the state of a checkpoint."""

    @abstractmethod
    def sync(self) -> State:
        """`state` with the current assignments in corpus order (soft methods: each token's most probable topic)."""


class Update(Protocol):
    """What happens between sweeps: priors are learnt, a collection's topics or a regression's weights are drawn."""

    name: str
    """Name of the update in checkpoints and messages."""

    def due(self, sweep: int) -> bool:
        """Whether it comes after this sweep over the whole corpus (counted from 1)."""
        ...

    def __call__(self, method: Method, key: int) -> dict[str, float]:
        """Do it, with random numbers from a stream of this key; returns figures for the trace.

        It may call `method.set_priors`, and change the arrays of `method.state.side`.
        """
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What it remembers beyond the state, for a checkpoint."""
        ...

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue from `arrays()`."""
        ...
