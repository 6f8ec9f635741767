"""Perplexity of held-out words of documents whose other words were trained on, averaged over states of the chain
(George, Xia & Michailidis 2019, eq. 21 with the Rao-Blackwell estimates of eq. 98-100):

    p(w_i) = 1/S Σ_s Σ_k θ_dk^s φ_kw^s,    θ^s = (n_dk + α_gk) / (n_d + Σα_g),    φ^s = (n_kw + β_w) / (n_k + Σβ)

α_g is γπ_j in the compound model, and α in LDA. It differs from document completion under one fixed φ in that every
state has its own φ and θ.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.estimate import theta_rows
from topicx.state import State

__all__ = ["Predictive"]

CHUNK = 1 << 16


class Predictive:
    """Perplexity of held-out words, averaged over states: give it states one after another, then ask for the
    perplexity.

    Parameters
    ----------
    rest : Corpus
        The held-out words of the documents that are trained on.
    """

    def __init__(self, rest: Corpus) -> None:
        """`rest` has the held-out words of every document of the states (perhaps none), with the same vocabulary."""
        if not rest.n_tokens:
            raise InputError("there are no held-out words to score")
        self.rest = rest
        self.documents = np.repeat(np.arange(rest.n_documents), rest.lengths)
        self.total = np.zeros(rest.n_tokens)
        self.states = 0

    def add(self, state: State) -> None:
        """One more state of the chain."""
        rest = self.rest
        if state.n_documents != rest.n_documents or state.n_words != rest.n_words:
            raise InputError(
                f"the state has {state.n_documents:,} documents and {state.n_words:,} words, the held-out words are of "
                f"{rest.n_documents:,} documents and {rest.n_words:,} words"
            )
        phi = dense_rows(state.word_topics(), state.n_topics) + state.beta[:, None]
        phi /= phi.sum(axis=0)
        scored = np.flatnonzero(rest.lengths)
        theta = np.concatenate([rows[rest.lengths[at : at + len(rows)] > 0] for at, rows in theta_rows(state, "cgs")])
        place = np.zeros(rest.n_documents, np.int64)
        place[scored] = np.arange(len(scored))
        for begin in range(0, rest.n_tokens, CHUNK):
            part = slice(begin, begin + CHUNK)
            self.total[part] += np.einsum("ik,ik->i", phi[rest.words[part]], theta[place[self.documents[part]]])
        self.states += 1

    @property
    def log_likelihood(self) -> float:
        """Σ log p of the held-out words."""
        if not self.states:
            raise InputError("no state has been added")
        return math.fsum(np.log(self.total / self.states))

    @property
    def perplexity(self) -> float:
        return math.exp(-self.log_likelihood / self.rest.n_tokens)


def dense_rows(
    csr: tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.int64]], columns: int
) -> NDArray[np.float64]:
    """Counts as a matrix."""
    indptr, topics, counts = csr
    dense = np.zeros((len(indptr) - 1, columns))
    dense[np.repeat(np.arange(len(dense)), np.diff(indptr)), topics] = counts
    return dense
