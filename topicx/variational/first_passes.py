"""A soft start without stored assignments: SCVB0 over minibatches, then a topic for every token.

Every document is passed over once where SCVB0 passes twice. Its counts are equal at first and move slowly, so that in a
short document the words decide: topics that come of it are more coherent, and sampling finds better places from them
(docs/explanation/performance.md). α is learnt from step to step.

Memory: 4 bytes × words × K, and a minibatch. So a corpus whose stored assignments have no room can begin so, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import soft_start
from topicx.engines.threads import Engine
from topicx.sampling import random_streams
from topicx.sampling.run_options import Options
from topicx.state import State
from topicx.variational.minibatches import RUN, SLICES
from topicx.variational.scvb0 import Scvb0
from topicx.variational.soft_start import draw_documents

BATCH, BATCHES = 128, 96
"""Documents in a minibatch, at most; and how many minibatches there are, at least, if documents are not very few."""
PASSES, LAST_PASSES = 1, 2
"""Passes over a document while topics are learnt; and when its tokens' topics are drawn."""
DRAWN_TOGETHER = 256
"""Documents whose topics are drawn at a time."""


class FirstPasses(Scvb0):
    """SCVB0 in small minibatches, and a topic for every token from what it has found."""

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        size = min(BATCH, max(state.n_documents // BATCHES, RUN), options.batch_documents)
        small = replace(options, batch_documents=size, document_passes=PASSES)
        super().__init__(state, small, engine)
        self.learner.slices = min(SLICES, max(1, size // RUN))  # of a few documents: more would take longer

    @classmethod
    def memory(cls, state: State, options: Options) -> int:
        return super().memory(state, options) + 4 * state.n_words * (state.n_topics + 15)

    def drawn(self, key: int) -> NDArray[np.uint16]:
        state, learner = self.state, self.learner
        learner.rate = replace(learner.rate, passes=LAST_PASSES)
        z, first = np.empty(state.n_tokens, np.uint16), 0
        for batch in self.loop.assignments(DRAWN_TOGETHER):
            last = first + len(batch.lengths)
            begin, end = int(state.offsets[first]), int(state.offsets[last])
            gamma = np.empty((len(batch.words), learner.padded), np.uint16)
            soft_start.take_rows(batch.keep, np.arange(len(gamma), dtype=np.uint32), learner.topics, gamma, 0)
            draw_documents(
                self.engine, gamma, (batch.words, batch.offsets),
                (state.words[begin:end], state.offsets[first : last + 1] - begin), state.n_words,
                random_streams.stream_key(key, first), z[begin:end],
            )  # fmt: skip
            first = last
        return z
