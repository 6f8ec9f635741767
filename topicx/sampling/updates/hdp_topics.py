"""The hierarchical Dirichlet process (Teh, Jordan, Beal & Blei 2006), by direct assignment: no fixed number of topics.

    π ~ GEM(γ),    θ_d ~ DP(α, π),    φ_k ~ Dirichlet(β)

Given the weights π of all topics, a token's distribution is the samplers' own with α_k = απ_k; a topic without tokens
has the prior's φ, as the kernels compute it anyway. So between sweeps π is drawn (tables, then a Dirichlet over the
topics with tokens and the rest), and the rest is broken into sticks, Beta(1, γ) of what is left at each, which become
spare topics of the next sweep: where one of them gets a token, a topic is born. What is left after the last stick is
added to it: a single token that is born there is drawn with the right chance, and only two in one sweep might have
belonged to topics of their own. Sticks are broken until that is expected in one sweep of ten thousand at most (TWO).
Every sweep begins with new sticks, so that the number of topics has no limit; up to TWO this is exact
(tests/sampling/test_hdp_topics.py: against an enumeration of all partitions).

A topic without tokens is dead, and its column becomes a spare one. Columns are only renumbered when there are too few
spare ones, or far too many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.updates import antoniak
from topicx.errors import TopicxError
from topicx.sampling import random_streams
from topicx.sampling.special_functions import exp, log
from topicx.sampling.updates.prior_fixed_points import LEAST, as_usable_prior
from topicx.sampling.updates.table_counts import Occupancy, draw_dirichlet, draw_gamma, log_betas
from topicx.state import MAX_TOPICS, NONE

if TYPE_CHECKING:
    from topicx.sampling.method import Method

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TWO = 1e-4
"""The chance, at most, that a sweep has two tokens beyond the last stick but one."""
ROOM = 1.25
"""Spare columns made at once, beside those needed."""


class Franchise:
    """The update after each sweep. The side array `concentrations` has α and γ."""

    name = "franchise"

    def __init__(self, shape: float = 1.0, rate: float = 1.0, learn: bool = True) -> None:
        """`shape` and `rate` of the gamma priors of both concentrations, if they are to be drawn anew."""
        self.shape, self.rate, self.learn = shape, rate, learn

    def due(self, sweep: int) -> bool:
        return True

    def __call__(self, method: Method, key: int) -> dict[str, float]:
        state = method.state
        counts = method.document_topics()
        tokens = np.bincount(counts[1], counts[2], state.n_topics).astype(np.int64)
        tables = Occupancy(counts, np.zeros(0, np.uint32), (1, state.n_topics)).tables(state.alpha, key, method.engine)[
            0
        ]
        occupied = np.flatnonzero(tokens)
        alpha, scale = (float(value) for value in state.side["concentrations"])
        if self.learn:
            lengths = state.lengths[state.lengths > 0]
            alpha = self._concentration(alpha, lengths, int(tables.sum()), random_streams.stream_key(key, 1))
            scale = self._concentration(
                scale, tables.sum(keepdims=True), len(occupied), random_streams.stream_key(key, 2)
            )
            state.side["concentrations"] = np.array([alpha, scale])
        weights = draw_dirichlet(
            np.append(tables[occupied], scale)[None, :].astype(np.float64), random_streams.stream_key(key, 3)
        )[0]
        least = np.sqrt(2 * TWO) / (alpha * max(state.n_documents, 1))  # α a document: what its tokens bring at most
        spare = state.n_topics - len(occupied)
        sticks, need = break_sticks(weights[-1], scale, least, spare, random_streams.stream_key(key, 4))
        place_topics(method, occupied, alpha * weights, alpha * sticks, need)
        return {"topics": float(len(occupied)), "concentration": alpha, "topic_concentration": scale,
                "tables": float(tables.sum()) / max(state.n_documents, 1)}  # fmt: skip

    def _concentration(self, value: float, customers: Ints, tables: int, key: int) -> float:
        """A concentration given how many tables these numbers of customers have (Teh et al. 2006, Appendix A; for one
        restaurant Escobar & West 1995): auxiliary w ~ Beta(c + 1, n) and s ~ Bernoulli(n / (n + c)) for each."""
        logs, taken = antoniak.draw_concentration_auxiliaries(customers, value, key)
        drawn = draw_gamma(self.shape + tables - taken, self.rate - logs, random_streams.stream_key(key, 2))
        return float(np.clip(np.float32(drawn), 1e-6, 1e6))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        pass  # everything is in the state


def break_sticks(rest: float, scale: float, least: float, columns: int, key: int) -> tuple[Floats, int]:
    """`rest` broken into sticks, at least as many as there are columns, and how many leave less than `least`."""
    number = max(columns, int(np.ceil(log(max(rest / least, 2.0)) * scale * 1.2)) + 16)
    while True:  # a second time the same numbers again, and more
        logs = np.cumsum(log_betas(np.full(number, scale), np.ones(number), key))  # of what is left after each stick
        if rest * exp(logs[-1]) < least or number > 2 * MAX_TOPICS:
            break
        number *= 2
    left = rest * exp(np.concatenate([[0.0], logs]))
    need = int(np.count_nonzero(left[1:] >= least)) + 1
    sticks: Floats = -np.diff(left)[: max(need, columns)]
    return sticks, need


def place_topics(method: Method, occupied: Ints, weights: Floats, sticks: Floats, need: int) -> None:
    """α for the next sweep: occupied topics where they are and the sticks between; or all columns numbered anew. The
    last of the weights is that of all sticks."""
    state = method.state
    spare = state.n_topics - len(occupied)
    if need <= spare <= 1.6 * need + 32:
        alpha = np.empty(state.n_topics)
        empty = np.ones(state.n_topics, bool)
        empty[occupied] = False
        alpha[occupied], alpha[empty] = weights[:-1], complete_sticks(sticks[:spare], weights[-1])
        method.set_priors(as_usable_prior(alpha)[None, :], state.beta)
        return
    columns = len(occupied) + int(need * ROOM) + 1
    if columns > MAX_TOPICS:
        raise TopicxError(f"{len(occupied):,} topics and {need:,} spare ones are more than {MAX_TOPICS:,}")
    number = np.full(NONE + 1, NONE, np.uint16)
    number[occupied] = np.arange(len(occupied), dtype=np.uint16)
    alpha = np.full(columns, LEAST)
    alpha[: len(occupied)] = weights[:-1]
    some = complete_sticks(sticks[: columns - len(occupied)], weights[-1])
    alpha[len(occupied) : len(occupied) + len(some)] = some
    method.renumber(number, as_usable_prior(alpha)[None, :])


def complete_sticks(sticks: Floats, weight: float) -> Floats:
    """Sticks that are together of this weight: the last takes what is left."""
    return np.append(sticks[:-1], max(weight - sticks[:-1].sum(), sticks[-1]))
