"""Sweeps over a share of every document's tokens, from random topics: what a soft start may begin with.

Where documents are long, a fifth of their tokens tells what they are about. So it finds topics in a fifth of the time,
and priors that are learnt on the way give topics sizes of their own. CVB0, which begins with the words' counts of these
topics, then brings in the other tokens (page "performance": both together are better than either).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topicx.engines.threads import Engine
from topicx.sampling import random_streams
from topicx.sampling.inner_method import InnerMethod
from topicx.sampling.method import Method
from topicx.sampling.run_options import Options
from topicx.state import NONE, State


class ThinnedCorpus(InnerMethod):
    """A sampler of some of the tokens, in the place of one of all of them. The others have no topic yet: so the state
    tells which they are, and a checkpoint needs nothing else."""

    def __init__(self, state: State, options: Options, engine: Engine, sampler: type[Method], share: float) -> None:
        super().__init__(state, options, engine)
        self.sampler, self.share = sampler, share
        if state.placed:
            self._open()

    def _open(self) -> None:
        """The sampler, of the tokens that have a topic."""
        self.chosen = self.state.z != NONE
        self.inner = self.sampler(self.state.thinned(self.chosen), self.options, self.engine)

    def start(self, random: bool) -> None:
        """A random topic for each of the tokens that are chosen."""
        state, options = self.state, self.options
        z = random_streams.random_topics(state.n_tokens, state.n_topics, options.seed, options.chain, self.engine.map)
        z[~random_streams.chosen_tokens(len(z), self.share, options.seed, options.chain)] = NONE
        state.z = z
        self._open()
        self.inner.start(random=True)  # which are there already

    def set_priors(self, alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        super().set_priors(alpha, beta)
        self.inner.set_priors(alpha, beta)

    def sync(self) -> State:
        z = np.full(self.state.n_tokens, NONE, np.uint16)
        z[self.chosen] = self.inner.sync().z
        self.state.z = z
        return self.state
