"""Exact collapsed Gibbs sampling for very many topics: word-major order, and a sum tree over the topics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topicx._kernels import tree
from topicx.sampling import streams
from topicx.sampling.gibbs import Gibbs
from topicx.sampling.schedule import Cell


class Tree(Gibbs):
    """O(K_d + log K) a token. Iterated conditional modes look at every topic anyway: the sparse kernel does them."""

    kernel = "sparse"

    def _cell(self, step: int, share: float, maximise: bool, cell: Cell) -> tuple[int, NDArray[np.int64]]:
        if maximise:
            return super()._cell(step, share, maximise, cell)
        options, schedule = self.options, self.schedule
        totals = self.totals.copy()
        changed = tree.sweep_cell(
            self.words, self.z, self.state.offsets, schedule.segments, schedule.partitions,
            schedule.active(cell.shard, share), cell.block, self.row_start, self.row_cells, self.row_len,
            self.topic_bits, totals, self.state.alpha, self.state.groups, self._beta32, self._beta_sum,
            streams.key(
                options.seed, options.chain, streams.CELL, step, cell.shard * schedule.partitions + cell.block
            ),
        )  # fmt: skip
        return int(changed), totals
