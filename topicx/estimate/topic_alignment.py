"""Which topic of one model is which of another: the matching of least total distance (Hungarian method) on φ.

The distance of two topics is Hellinger's, √(1 − Σ_w √(φ_w φ'_w)), on the words that both models know, with φ made to
sum to 1 over these: 0 for equal topics, 1 for topics without a common word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.model import Model

_CHUNK = 1 << 22  # numbers of φ at a time


@dataclass(frozen=True)
class Pair:
    """Topic `a` of the first model and topic `b` of the second; None where the other model has too few topics."""

    a: int | None
    """Number of the first model's topic."""
    b: int | None
    """Number of the second model's topic."""
    distance: float | None
    """Distance of their word distributions, from 0 to 1."""


def align_topics(model_a: Model, model_b: Model) -> list[Pair]:
    """Pair the topics of two models by the distance of their word distributions.

    Parameters
    ----------
    model_a, model_b : Model
        Models of one vocabulary, or of vocabularies that share words.

    Returns
    -------
    list of Pair
        Pairs in the order of the first model's topics, then topics of the second that have no partner.
    """
    from scipy.optimize import linear_sum_assignment

    distances = topic_distances(model_a, model_b)
    rows, columns = linear_sum_assignment(distances)
    match = dict(zip(rows.tolist(), columns.tolist()))
    pairs = [
        Pair(a, match[a], float(distances[a, match[a]])) if a in match else Pair(a, None, None)
        for a in range(model_a.n_topics)
    ]
    taken = set(match.values())
    return pairs + [Pair(None, b, None) for b in range(model_b.n_topics) if b not in taken]


def topic_distances(model_a: Model, model_b: Model) -> NDArray[np.float64]:
    """Hellinger distances of all pairs of topics, on the shared vocabulary."""
    where = {word: at for at, word in enumerate(model_b.vocabulary)}
    common = [(at, where[word]) for at, word in enumerate(model_a.vocabulary) if word in where]
    if not common:
        raise InputError("the two models have no word in common: their topics cannot be compared")
    shared = np.array(common, np.int64)
    step = max(_CHUNK // max(model_a.n_topics, model_b.n_topics), 1)
    sums = [np.zeros(model_a.n_topics), np.zeros(model_b.n_topics)]
    overlap = np.zeros((model_a.n_topics, model_b.n_topics))
    for begin in range(0, len(shared), step):
        part = shared[begin : begin + step]
        phi = model_a.phi_of(part[:, 0]), model_b.phi_of(part[:, 1])
        sums[0] += phi[0].sum(axis=0)
        sums[1] += phi[1].sum(axis=0)
        overlap += np.sqrt(phi[0]).T @ np.sqrt(phi[1])
    overlap /= np.sqrt(np.outer(*sums))
    distances: NDArray[np.float64] = np.sqrt(np.clip(1 - overlap, 0, 1))
    return distances
