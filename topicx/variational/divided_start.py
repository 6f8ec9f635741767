"""A soft start for many topics: CVB0 with few of them, each of which is then divided among several at random.

CVB0 costs a number for each pair and topic, a sparse sampler hardly more for many topics than for few. So the rough
shape is found with few, and sampling finds what their parts are: topic k of the few becomes k, k + few, k + 2 few …,
all alike at first but for chance (docs/project/kernels.md has what else was tried).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from topicx.engines.threads import Engine
from topicx.sampling import random_streams, starts
from topicx.sampling.inner_method import InnerMethod
from topicx.sampling.run_options import Options
from topicx.state import Seeds, State
from topicx.variational.soft_start import Opening


def with_few(state: State) -> State:
    """A state of the corpus with few topics: α is the mean over a topic's parts, seed words are those of all its
    parts."""
    few, seeds = starts.FEW_TOPICS, state.seeds
    alpha = np.stack([state.alpha[:, topic::few].mean(axis=1) for topic in range(few)], axis=1)
    entries = zip(seeds.words.tolist(), (seeds.topics % few).tolist(), seeds.counts.tolist(), strict=True)
    return replace(state, alpha=alpha, seeds=Seeds.of(entries))


class Divided(InnerMethod):
    """CVB0 with few topics, in the place of a method with all of `state`."""

    objective = Opening.objective
    learns = False

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        super().__init__(state, options, engine)
        self.inner: Opening = Opening(with_few(state), options, engine)
        self.schedule = self.inner.schedule

    @classmethod
    def memory(cls, state: State, options: Options) -> int:
        return Opening.memory(with_few(state), options)

    def start(self, random: bool) -> None:
        self.inner.start(random)

    def drawn(self, key: int) -> NDArray[np.uint16]:
        """One of the few for each token, then one of its parts, with the same probability for each."""
        z = self.inner.drawn(key)
        few = starts.FEW_TOPICS
        parts = -(-(self.state.n_topics - np.arange(few)) // few)
        for begin in range(0, len(z), random_streams.PIECE):
            piece = z[begin : begin + random_streams.PIECE]
            uniform = random_streams.make_generator(key, begin // random_streams.PIECE).random(len(piece), np.float32)
            piece += (uniform * parts[piece]).astype(np.uint16) * np.uint16(few)
        return z

    def sync(self) -> State:
        self.state.z = self.inner.sync().z
        return self.state
