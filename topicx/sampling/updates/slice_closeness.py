"""How closely slices follow the words that they come from, and how far topics move: renewed and kept between sweeps.

    b ~ Gamma(shape, rate),    φ_sk ~ Dirichlet(b_k φ_{p(s) k})

Given the tables T_sk that N_sk customers of each slice and topic have, the posterior of b is a gamma after auxiliary
variables (Escobar & West 1995; Teh, Jordan, Beal & Blei 2006, Appendix A), as that of the concentration of an HDP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.updates import antoniak
from topicx.sampling import random_streams
from topicx.sampling.slice_words import expected_words
from topicx.sampling.updates.kept_draws import DrawKeeper
from topicx.sampling.updates.table_counts import draw_gamma

if TYPE_CHECKING:
    from topicx.sampling.method import Method
    from topicx.sampling.samplers.sliced_topics import SlicedTopics

Floats = NDArray[np.float64]
LEAST, MOST = 1e-3, 1e9
"""Limits of b: beyond them slices are as good as a model each, or as one."""


class DrawCloseness:
    """Draws b after each sweep: one for all topics, or one each. The side array `closeness` has it."""

    name = "closeness"

    def __init__(self, shape: float, rate: float, by_topic: bool, learn: bool = True) -> None:
        """`shape` and `rate` of the gamma prior; without `learn` b stays."""
        self.shape, self.rate, self.by_topic, self.learn = shape, rate, by_topic, learn

    def due(self, sweep: int) -> bool:
        return True

    def __call__(self, method: Method, key: int) -> dict[str, float]:
        sampler, side = cast("SlicedTopics", method), method.state.side
        if self.learn and sampler.slices > 1:
            customers, tables = sampler.customers[1:], sampler.table_sums[1:]
            if self.by_topic:
                side["closeness"] = np.array([
                    self._draw(float(b), customers[:, k], int(tables[:, k].sum()), random_streams.stream_key(key, k))
                    for k, b in enumerate(side["closeness"])
                ])  # fmt: skip
            else:
                b = self._draw(float(side["closeness"][0]), customers.reshape(-1), int(tables.sum()), key)
                side["closeness"] = np.full(sampler.state.n_topics, b)
        return {"closeness": float(np.mean(side["closeness"]))}

    def _draw(self, value: float, customers: NDArray[np.int64], tables: int, key: int) -> float:
        seated = np.ascontiguousarray(customers[customers > 0])
        logs, taken = antoniak.draw_concentration_auxiliaries(seated, value, random_streams.stream_key(key, 1))
        found = draw_gamma(self.shape + tables - taken, self.rate - logs, random_streams.stream_key(key, 2))
        return float(np.clip(np.float32(found), LEAST, MOST))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        pass  # everything is in the state


class KeepMoves:
    """How far each topic's expected words are from those of the slice that it comes from, and from the first one's:
    kept after burn-in, so that the model has intervals (side array `moves`: draws × two distances × slices ×
    topics)."""

    name = "moves"

    def __init__(self, burn_in: int) -> None:
        """`burn_in`: sweeps before anything is kept."""
        self.draws = DrawKeeper("moves", burn_in)

    def due(self, sweep: int) -> bool:
        return True

    def __call__(self, method: Method, key: int) -> dict[str, float]:
        if self.draws.count_sweep():
            sampler = cast("SlicedTopics", method)
            state = sampler.state
            moves = distances_moved(
                sampler.parents, expected_words(
                    sampler.parents, sampler.expected()[1], state.side["closeness"], state.beta
                ),
            )  # fmt: skip
            self.draws.keep(state.side, moves)
        return {}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.draws.arrays()

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.draws.restore(arrays)


def distances_moved(parents: NDArray[np.int64], words: Any) -> Floats:
    """The share of a topic's words that is another (total variation, Σ |p - q| / 2) than in the slice that each comes
    from, and than in the first: two × slices × topics. `words`: φ of one slice after the other, words × topics."""
    found: list[Floats] = []
    first = before = np.zeros((0, 0))
    for number, phi in enumerate(words):
        if number == 0:
            first = before = phi.copy()
        came = first if parents[number] == 0 else before
        found.append(np.array([np.abs(phi - came).sum(axis=0) / 2, np.abs(phi - first).sum(axis=0) / 2]))
        before = phi.copy()
    return np.stack(found, axis=1)
