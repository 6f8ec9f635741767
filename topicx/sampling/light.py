"""LightLDA's cycle of document and word proposals (Yuan et al. 2015), each step in constant time."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels import light
from topicx.engines.threads import Engine
from topicx.sampling import streams
from topicx.sampling.gibbs import Gibbs
from topicx.sampling.options import Options
from topicx.sampling.schedule import Cell
from topicx.state import NONE, State


class Proposing(Gibbs):
    """What Metropolis-Hastings samplers over the cells share: who places tokens, and the acceptance rates.

    A proposal needs the topics of other tokens. So as long as documents are left out or tokens are not placed (a
    growing start), and for iterated conditional modes, the exact sparse sampler does the sweep.
    """

    kernel = "sparse"
    tallied: tuple[str, ...] = ()
    """Names of the acceptance rates, a pair of numbers in the tally each: proposals, acceptances."""

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

    _proposing = False

    def _cell(self, step: int, share: float, maximise: bool, cell: Cell) -> tuple[int, NDArray[np.int64]]:
        if not self._proposing:
            return super()._cell(step, share, maximise, cell)
        options, schedule = self.options, self.schedule
        number = cell.shard * schedule.partitions + cell.block
        totals = self.totals.copy()
        common = (
            self.words, self.z, self.state.offsets, schedule.segments, schedule.partitions,
            schedule.active(cell.shard, share), cell.block, self.row_start, self.row_cells, self.row_len,
            self.topic_bits, totals, self.state.alpha, self.state.groups, self._beta32, self._beta_sum,
            streams.key(options.seed, options.chain, streams.CELL, step, number),
        )  # fmt: skip
        return self._propose(common, self._tally[number]), totals

    @abstractmethod
    def _propose(self, common: tuple[Any, ...], tally: NDArray[np.int64]) -> int:
        """One cell by the subclass's kernel: the arguments that all kernels take, and where acceptances are counted."""


class Light(Proposing):
    """Document and word proposals by turns, `mh_steps` times a token."""

    tallied = ("word", "document")

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        super().__init__(state, options, engine)
        seeded, _, counts = self.pseudo
        self._word_start, self._word_places = light.index_words(self.words, seeded, counts, state.n_words)

    def _adopt(self, z: NDArray[np.uint16]) -> None:
        super()._adopt(z)
        # The pseudo-counts of seed words are tokens that never move: words propose their topics too.
        pseudo = np.repeat(self.state.seeds.topics, self.state.seeds.counts)
        self._everyone = np.concatenate([self.z, pseudo])
        self.z = self._everyone[: len(self.z)]

    def _propose(self, common: tuple[Any, ...], tally: NDArray[np.int64]) -> int:
        words, _, *rest = common
        return int(
            light.sweep_cell(
                words, self._everyone, *rest, self._word_start, self._word_places, self.options.mh_steps, tally
            )
        )
