"""How certain assignments are: the agreement of a state's paths (Kozdoba & Mannor, "Interdependent Gibbs Samplers"),
which are draws of every token's topic under common topics.

A token's agreement is the share of pairs of paths that give it one topic: 1 where all agree, 0 where no two do. A
document's is the mean of its tokens'. A topic's is the share of other paths that have the topic, too, at the tokens
that a path gives it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from topicx.common_methods import Summarized
from topicx.errors import InputError
from topicx.state import NONE, State

__all__ = ["Agreement", "measure_agreement"]


@dataclass(repr=False)
class Agreement(Summarized):
    """Shares between 0 and 1; NaN for documents without tokens and topics that no path has."""

    tokens: NDArray[np.float32]
    """Agreement of each token, in the order of the corpus."""
    documents: NDArray[np.float64]
    """Mean over each document's tokens."""
    topics: NDArray[np.float64]
    """Mean over the tokens of each topic."""
    mean: float
    """Over all tokens."""
    unanimous: float
    """The share of tokens to which all paths give one topic."""
    paths: int
    """Number of coupled chains."""


def measure_agreement(state: State) -> Agreement:
    """Measure how far the coupled chains of a state agree.

    Parameters
    ----------
    state : State
        A state with two or more paths.

    Returns
    -------
    Agreement
        Shares between 0 and 1, by token, document and topic.
    """
    if state.paths < 2:
        raise InputError("agreement: the state has one path; it is between paths (topicx train --paths)")
    if np.any(state.z == NONE):
        raise InputError("agreement: some tokens have no topic yet")
    z = state.z.reshape(state.paths, -1)
    alike = np.zeros(state.n_tokens, np.int32)
    of_topic = np.zeros(state.n_topics, np.int64)
    for one, other in combinations(z, 2):
        same = one == other
        alike += same
        of_topic += np.bincount(one[same], minlength=state.n_topics)
    pairs = state.paths * (state.paths - 1) // 2
    documents = np.repeat(np.arange(state.n_documents), state.lengths)
    totals = np.bincount(state.z, minlength=state.n_topics)  # without seeds
    tokens = alike / pairs
    with np.errstate(invalid="ignore"):
        return Agreement(
            tokens=tokens.astype(np.float32),
            documents=np.bincount(documents, tokens, state.n_documents) / state.lengths,
            topics=2 * of_topic / (totals * (state.paths - 1)),
            mean=float(tokens.mean()) if len(tokens) else float("nan"),
            unanimous=float((alike == pairs).mean()) if len(tokens) else float("nan"),
            paths=state.paths,
        )
