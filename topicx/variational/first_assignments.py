"""Where stored assignments begin: what a few passes of SCVB0 find, far beyond what as many sweeps from random
assignments do, and a better optimum in the end (docs/reference/variational.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.engines.threads import Engine
from topicx.sampling.run_options import Options
from topicx.sampling.schedule import Schedule
from topicx.state import State
from topicx.variational.scvb0 import Scvb0
from topicx.variational.soft_method import Rows, give_back_memory

WARM_SWEEPS, WARM_BATCH = 2, 128
"""Passes over the corpus, and documents in a minibatch."""


def warm_start(
    state: State, options: Options, engine: Engine, schedule: Schedule, room: NDArray[Any],
    take: Callable[[Rows, NDArray[np.uint32], int], None],
) -> Rows:  # fmt: skip
    """`take` gets the assignments of all pairs, some documents at a time: padded rows, which of them come one after the
    other in the schedule's order of pairs (of this `schedule`), and the number of the first. Minibatches use `room` in
    between. Returns memory for the words' counts, whatever is in it."""
    small = replace(options, batch_documents=min(WARM_BATCH, options.batch_documents), optimize_interval=0)
    first = Scvb0(state, small, engine)
    first.start(random=True)
    first.learner.use_room(room)
    for sweep in range(0 if state.placed else WARM_SWEEPS):  # topics that are there need no passes
        first.sweep(sweep)
    # A document's pairs are adjacent in both orders; only within it does the schedule sort them by block.
    begin = document = 0
    for batch in first.loop.assignments():
        order = schedule.order_within(document, document + len(batch.lengths))
        take(batch.keep, order, begin)
        begin, document = begin + len(batch.words), document + len(batch.lengths)
    nw = first.learner.nw
    del first, batch, order
    give_back_memory()
    return nw
