"""Algorithm 1 of Papanikolaou et al. (2017) as it is printed: a loop over tokens, an array over topics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topicx.state import NONE, State


def soft_counts(state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Σ_j p_djk by document, and by word (pseudo-counts of seed words added)."""
    topics = state.n_topics
    n_dk = np.zeros((state.n_documents, topics))
    n_wk = np.zeros((state.n_words, topics))
    np.add.at(n_wk, (state.seeds.words, state.seeds.topics), state.seeds.counts)
    soft_words = n_wk.copy()
    soft_documents = np.zeros_like(n_dk)
    document = np.repeat(np.arange(state.n_documents), state.lengths)
    here = state.z != NONE
    np.add.at(n_dk, (document[here], state.z[here]), 1)
    np.add.at(n_wk, (state.words[here], state.z[here]), 1)
    n_k = n_wk.sum(axis=0)
    groups = state.groups if len(state.groups) else np.zeros(state.n_documents, np.uint32)
    for d, v, t in zip(document, state.words, state.z):
        own = np.zeros(topics)
        if t != NONE:
            own[t] = 1
        p = (n_dk[d] - own + state.alpha[groups[d]]) * (n_wk[v] - own + state.beta[v]) / (n_k - own + state.beta.sum())
        p /= p.sum()
        soft_documents[d] += p
        soft_words[v] += p
    return soft_documents, soft_words


def theta(state: State) -> NDArray[np.float64]:
    groups = state.groups if len(state.groups) else np.zeros(state.n_documents, np.uint32)
    rows = soft_counts(state)[0] + state.alpha[groups]
    result: NDArray[np.float64] = rows / rows.sum(axis=1, keepdims=True)
    return result


def phi(state: State) -> NDArray[np.float64]:
    columns = soft_counts(state)[1] + state.beta[:, None]
    result: NDArray[np.float64] = (columns / columns.sum(axis=0)).T
    return result
