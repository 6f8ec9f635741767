"""Samplers of documents with targets: topics are drawn with a factor f_d(k) beside the counts (Zheng, Yu & Xing 2015).

What the factor is made of is the state's `ClassifierState`, which an update (topicx.sampling.updates.classifier_draws)
renews between sweeps. A sweep moves its `pull` with the tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from topicx._kernels.gibbs import factor
from topicx.sampling.samplers.gibbs import Dense
from topicx.sampling.samplers.light_lda import Light
from topicx.sampling.updates.medlda_state import ClassifierState
from topicx.state import State


def make_margins(state: State, mode: str = "mixture") -> factor.Margins:
    """The factor of one cell."""
    held = ClassifierState.of_side(state.side)
    eta = np.ascontiguousarray(held.eta[:-1], np.float32)
    tasks = state.side["targets"].shape[1] if "targets" in state.side and eta.shape[1] > 1 else 0
    return factor.Margins(eta, held.pull, held.curve, held.supervised, factor.modes[mode], tasks)


class Supervised(Dense):
    """The exact conditional over all topics (Zhu, Chen, Perkins & Zhang 2014): in O(K) a token."""

    def _asked(self, number: int, maximise: bool) -> dict[str, Any]:
        return super()._asked(number, maximise) | {"factor": make_margins(self.state).for_dense()}


class LightSupervised(Light):
    """Document, word and exp-proposals, mixed or by turns, `mh_steps` of each a token (on average): O(1) a step."""

    proposer = "factor"
    tallied: tuple[str, ...] = ("document", "word", "exp")

    def _asked(self, number: int, maximise: bool) -> dict[str, Any]:
        mode = self.options.own.get("proposals", "mixture")
        steps = {"steps": 3 * self.options.mh_steps, "factor": make_margins(self.state, mode)}
        return super()._asked(number, maximise) | steps
