"""Samplers of documents with targets: topics are drawn with a factor f_d(k) beside the counts (Zheng, Yu & Xing 2015).

What the factor is made of are side arrays of the state, which an update (topicx.sampling.updates.classifier_draws)
renews between sweeps: `eta` (a row per topic and one for the bias, a column per task), `pull` and `curve` (a row per
document), `supervised` (whether a document has a target). A sweep moves `pull` with the tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from topicx._kernels.gibbs import factor
from topicx.sampling.samplers.gibbs import Dense
from topicx.sampling.samplers.light_lda import Light
from topicx.state import State


def make_margins(state: State, mode: str = "mixture") -> factor.Margins:
    """The factor of one cell."""
    side = state.side
    eta = np.ascontiguousarray(side["eta"][:-1], np.float32)
    tasks = side["targets"].shape[1] if "targets" in side and eta.shape[1] > 1 else 0
    return factor.Margins(eta, side["pull"], side["curve"], side["supervised"], factor.modes[mode], tasks)


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
