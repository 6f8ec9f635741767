"""The joint likelihood of a state, and the plug-in likelihood of words under a model.

joint      log p(w, z | α, β) per token (Griffiths & Steyvers 2004, eq. 2-3)
training   Σ_d Σ_i log Σ_k θ_dk φ_kw per token, θ estimated from the same tokens (Papanikolaou et al. 2017, eq. 55)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.common_methods import Summarized
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.inference import Inference
from topicx.predict.topic_rows import FixedTopics, known_tokens, match_vocabulary
from topicx.sampling import joint_likelihood as joint
from topicx.sampling.samplers import restricted_gibbs
from topicx.state import State

__all__ = ["Likelihood", "joint_log_likelihood", "training_likelihood"]


def joint_log_likelihood(state: State) -> float:
    """Joint log-likelihood of words and assignments, log p(w, z | α, β), per placed token.

    Each document is scored under its group's α, over the topics that it may have. Seed words are part of the prior.
    Coupled chains count as documents that are there more than once.

    Parameters
    ----------
    state : State
        Assignments of all tokens.

    Returns
    -------
    float
        Natural logarithm per token.
    """
    if state.allowed is not None:
        return restricted_gibbs.joint_log_likelihood(state)
    state = state.spread()
    return joint.joint_log_likelihood(
        state.z, state.offsets, state.word_topics(), state.topic_totals(), state.alpha, state.groups, state.beta,
        state.seeds,
    )  # fmt: skip


@dataclass(repr=False)
class Likelihood(Summarized):
    """A sum of log probabilities of words."""

    log_likelihood: float
    """Sum over all tokens that the model knows."""
    tokens: int
    """Tokens that were scored."""
    unknown: int
    documents: NDArray[np.float64]
    """Each document's part."""

    @property
    def per_token(self) -> float:
        return self.log_likelihood / self.tokens if self.tokens else math.nan

    @property
    def perplexity(self) -> float:
        return math.exp(-self.per_token) if self.tokens else math.nan


def training_likelihood(model: Model, documents: Corpus | State, *, theta: str = "cgsp", **options: Any) -> Likelihood:
    """Likelihood of documents under their own θ: Σ log Σ_k θ_dk φ_kw over the tokens that the model knows.

    θ has seen the tokens that it is scored on, so this number flatters. It measures the fit, not the prediction.

    Parameters
    ----------
    model : Model
        The model.
    documents : Corpus or State
        A state gives θ by its own topics, a corpus by inference.
    theta : str, default "cgsp"
        Estimator of θ.
    **options
        Options of `topicx.predict.Inference`, for a corpus.

    Returns
    -------
    Likelihood
        The sum, and its parts by document.
    """
    if isinstance(documents, State):
        from topicx.estimate.estimators import theta_rows

        state = documents
        topics = FixedTopics(model)
        match = match_vocabulary(model.vocabulary, state.vocabulary)
        if topics.n_topics != state.n_topics:
            raise InputError(f"the model has {topics.n_topics} topics, but the state has {state.n_topics}")
        parts, tokens, unknown = [], 0, 0
        for begin, rows in theta_rows(state, theta):
            bounds = state.offsets[begin : begin + len(rows) + 1]
            words, offsets, missing = known_tokens(state.words[bounds[0] : bounds[-1]], bounds, match)
            parts.append(topics.log_probabilities(words, offsets, np.ascontiguousarray(rows, np.float32)))
            tokens, unknown = tokens + len(words), unknown + int(missing.sum())
    else:
        inference = Inference(model, theta=theta, **options)
        parts, tokens, unknown = [], 0, 0
        for part in inference.stream(inference.corpus(documents)):
            parts.append(inference.reader.log_predictive(part, part.documents.words, part.documents.offsets))
            tokens, unknown = tokens + len(part.documents.words), unknown + int(part.documents.unknown.sum())
    if not tokens:
        raise InputError("there is no token to score: the model knows none of the words")
    values = np.concatenate(parts)
    return Likelihood(math.fsum(values), tokens, unknown, values)
