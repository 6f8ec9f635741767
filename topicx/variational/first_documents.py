"""A soft start from some of the documents: the others join when tokens are sampled, and their topics are drawn then.

What topics there are, a part of the documents tells, if they are not very short. Topics that a part has made, with
priors learnt from it, are more coherent than those of all (docs/explanation/performance.md); and sampling, which brings
in the others, fits them to these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topicx.engines.threads import Engine
from topicx.sampling import starts
from topicx.sampling.inner_method import InnerMethod
from topicx.sampling.run_options import Options
from topicx.state import NONE, State
from topicx.variational.soft_start import Opening


class FirstDocuments(InnerMethod):
    """CVB0 of those documents that a sampler sweeps when it sweeps this share of them."""

    objective = Opening.objective

    def __init__(self, state: State, options: Options, engine: Engine, share: float) -> None:
        super().__init__(state, options, engine)
        self.chosen = np.repeat(starts.first_documents(state, options, share), state.lengths)
        self.inner: Opening = Opening(state.thinned(self.chosen), options, engine)

    def start(self, random: bool) -> None:
        self.inner.start(random)

    def set_priors(self, alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        super().set_priors(alpha, beta)
        self.inner.set_priors(alpha, beta)

    def drawn(self, key: int) -> NDArray[np.uint16]:
        return self._among_all(self.inner.drawn(key))

    def _among_all(self, z: NDArray[np.uint16]) -> NDArray[np.uint16]:
        """Topics of all tokens: none of those that are not chosen."""
        among = np.full(self.state.n_tokens, NONE, np.uint16)
        among[self.chosen] = z
        return among

    def sync(self) -> State:
        self.state.z = self._among_all(self.inner.sync().z)
        return self.state
