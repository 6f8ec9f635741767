"""What the chain loop asks of a sampler or of a variational method. The loop knows nothing else about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx.engines.threads import Engine
from topicx.model import Model
from topicx.sampling.options import Options
from topicx.state import Csr, State


class Method(ABC):
    """Assignments of a corpus to topics, hard or soft, and how one sweep renews them.

    `state` holds the corpus and the current priors. The priors change between sweeps only (`set_priors`). A method
    draws every random number from a stream derived from (seed, chain, step, cell): see `topicx.sampling.streams`.
    """

    objective: ClassVar[str] = "joint log-likelihood per token"
    """What `score` returns, for the trace and the progress line."""
    grows: ClassVar[bool] = True
    """Whether it can sweep over a part of the documents (what growing and progressive starts need)."""

    has_samples: ClassVar[bool] = True
    """Whether its states are samples, of which an average makes sense."""

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        self.state = state
        self.options = options
        self.engine = engine

    @abstractmethod
    def start(self, random: bool) -> None:
        """Begin: every token at random, or (random = False) no token placed."""

    @abstractmethod
    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        """Renew the assignments of this share of the documents; returns figures for the trace (such as `changed`).

        Tokens that are not placed yet are placed, each conditional on all that are placed so far.
        """

    def maximise(self, step: int) -> dict[str, float]:
        """One sweep in which each token takes its most probable topic (iterated conditional modes)."""
        raise TypeError(f"{type(self).__name__} has no modes")  # the chain has refused such options before

    @abstractmethod
    def score(self) -> float:
        """The objective, per token of the documents placed."""

    @abstractmethod
    def document_topics(self) -> Csr:
        """n_dk (or its expectation) as row offsets, topics, counts: what learning α needs."""

    @abstractmethod
    def word_topics(self) -> Csr:
        """n_kw (or its expectation), seeds included, as row offsets, topics, counts: what learning β needs."""

    def learn(self, what: frozenset[str]) -> bool:
        """Learn these priors in a way of its own; False: let the fixed points on the counts do it."""
        return False

    def set_priors(self, alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        """New priors, from now on."""
        self.state.alpha, self.state.beta = alpha, beta

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything beyond `state` that the next sweep depends on, bit for bit: for a checkpoint."""

    @abstractmethod
    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue from `arrays()` and the state of a checkpoint."""

    @abstractmethod
    def sync(self) -> State:
        """`state` with the current assignments in corpus order (soft methods: each token's most probable topic)."""

    def document_shares(self, estimator: str) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """θ of the documents in batches: the number of the first, and a row each."""
        from topicx.estimate import document_topics

        yield from document_topics(self.sync(), estimator, threads=self.engine.threads)

    @abstractmethod
    def model(self, theta: str, phi: str) -> Model:
        """The model of the current assignments, by these estimators (cgs or cgsp, where it makes a difference)."""
