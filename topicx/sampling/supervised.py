"""Samplers of documents with targets: topics are drawn with a factor f_d(k) beside the counts (Zheng, Yu & Xing 2015).

What the factor is made of are side arrays of the state, which an update (topicx.sampling.classifier) renews between
sweeps: `eta` (a row per topic and one for the bias, a column per task), `pull` and `curve` (a row per document),
`supervised` (whether a document has a target). A sweep moves `pull` with the tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels import factor, light
from topicx.engines.threads import Engine
from topicx.sampling import streams
from topicx.sampling.gibbs import Gibbs
from topicx.sampling.options import Options
from topicx.sampling.schedule import Cell
from topicx.state import State


class Supervised(Gibbs):
    """The exact conditional over all topics (Zhu, Chen, Perkins & Zhang 2014): in O(K) a token."""

    kernel = "factor"
    grows = False
    tallied: tuple[str, ...] = ()
    """Names of the acceptance rates, a pair of numbers in the tally each: proposals, acceptances."""

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        self._eta = np.ascontiguousarray(self.state.side["eta"][:-1], np.float32)
        self._tally: NDArray[np.int64] = np.zeros((self.schedule.partitions**2, 2 * len(self.tallied)), np.int64)
        figures = super().sweep(step, share)
        sums = self._tally.sum(axis=0)
        for i, name in enumerate(self.tallied):
            figures[f"accept_{name}"] = float(sums[2 * i + 1] / max(int(sums[2 * i]), 1))
        return figures

    def _cell(self, step: int, share: float, maximise: bool, cell: Cell) -> tuple[int, NDArray[np.int64]]:
        options, schedule, side = self.options, self.schedule, self.state.side
        number = cell.shard * schedule.partitions + cell.block
        totals = self.totals.copy()
        common = (
            self.words, self.z, self.state.offsets, schedule.segments, schedule.partitions,
            schedule.active(cell.shard, share), cell.block, self.row_start, self.row_cells, self.row_len,
            self.topic_bits, totals, self.state.alpha, self.state.groups, self._beta32, self._beta_sum,
            streams.key(options.seed, options.chain, streams.CELL, step, number),
            self._eta, side["pull"], side["curve"], side["supervised"],
        )  # fmt: skip
        return self._draw(common, self._tally[number]), totals

    def _draw(self, common: tuple[Any, ...], tally: NDArray[np.int64]) -> int:
        """One cell by the kernel."""
        return int(factor.dense_cell(*common))


class LightSupervised(Supervised):
    """Document, word and exp-proposals, mixed or by turns, `mh_steps` of each a token (on average): O(1) a step."""

    tallied = ("document", "word", "exp")

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

    def _draw(self, common: tuple[Any, ...], tally: NDArray[np.int64]) -> int:
        words, _, *rest = common
        mode = factor.modes[self.options.own.get("proposals", "mixture")]
        return int(
            factor.sweep_cell(
                words,
                self._everyone,
                *rest,
                self._word_start,
                self._word_places,
                3 * self.options.mh_steps,
                mode,
                tally,
            )
        )
