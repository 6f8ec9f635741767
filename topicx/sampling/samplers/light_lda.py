"""LightLDA's cycle of document and word proposals (Yuan et al. 2015), each step in constant time."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.gibbs import light
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.gibbs import Gibbs
from topicx.state import NONE, State


class Proposing(Gibbs):
    """What Metropolis-Hastings samplers over the cells share: who places tokens, and the acceptance rates.

    A proposal needs the topics of other tokens. So as long as documents are left out or tokens are not placed (a
    growing start), and for iterated conditional modes, the exact sparse sampler does the sweep.
    """

    kernel_name = "sparse"
    proposer: ClassVar[str]
    """The kernel that proposes."""

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        if share < 1 or bool(np.any(self.z == NONE)):
            return super().sweep(step, share)
        cells = self.schedule.partitions**2
        self._tally: NDArray[np.int64] = np.zeros((cells, 2 * len(self.tallied)), np.int64)
        self._proposing = True
        try:
            figures = super().sweep(step, share)
        finally:
            self._proposing = False
        sums = self._tally.sum(axis=0)
        for i, name in enumerate(self.tallied):
            figures[f"accept_{name}"] = float(sums[2 * i + 1] / max(int(sums[2 * i]), 1))
        return figures

    @classmethod
    def kernel_for(cls, maximise: bool, proposing: bool) -> str:
        return cls.proposer if proposing else cls.kernel_name

    def _asked(self, number: int, maximise: bool) -> dict[str, Any]:
        if not self._proposing:
            return super()._asked(number, maximise)
        return {"steps": self.options.mh_steps, "tally": self._tally[number]}


class Light(Proposing):
    """Document and word proposals by turns, `mh_steps` times a token."""

    proposer = "light"
    tallied: tuple[str, ...] = ("word", "document")

    @classmethod
    def memory(cls, state: State, options: Options) -> int:
        return super().memory(state, options) + 6 * state.paths * state.n_tokens  # a word's places; topics with seeds

    def _adopt(self, z: NDArray[np.uint16]) -> None:
        super()._adopt(z)
        state, (seeded, _, counts) = self.state, self.pseudo
        self._word_start, self._word_places = light.index_words(self.words, seeded, counts, state.n_words, state.paths)
        # The pseudo-counts of seed words are tokens that never move: words propose their topics too.
        pseudo = np.repeat(state.seeds.topics, state.seeds.counts)
        self._everyone = np.concatenate([self.z, pseudo])
        self.z = self._everyone[: len(self.z)]

    def _arrays(self) -> dict[str, Any]:
        index = {"word_start": self._word_start, "word_places": self._word_places}
        return super()._arrays() | {"assigned": self._everyone} | index
