"""AliasLDA (Li, Ahmed, Ravi & Smola 2014): stale Walker tables, corrected by Metropolis-Hastings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels import alias
from topicx.sampling import streams
from topicx.sampling.light import Proposing

BATCHES = 8
"""Batches of documents in a cell. The tables of a batch are made without its tokens: more batches, fresher tables."""


class Alias(Proposing):
    """A document's topics exactly, the others from tables that the tokens being moved have no part in."""

    tallied = ("alias",)

    def _propose(self, common: tuple[Any, ...], tally: NDArray[np.int64]) -> int:
        before, (docs, *between), key = common[:5], common[5:-1], common[-1]
        table_of = np.full(self.state.n_words, -1, np.int32)
        # As many documents in each batch, give or take one: they come shuffled.
        bounds = np.linspace(0, len(docs), BATCHES + 1).astype(int)
        changed = 0
        for batch in range(BATCHES):
            part = docs[bounds[batch] : bounds[batch + 1]]
            if len(part):
                changed += alias.sweep_batch(
                    *before, part, *between, streams.key(key, batch), self.options.mh_steps, table_of, tally
                )
        return changed
