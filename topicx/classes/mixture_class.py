"""The class for documents of one topic each: a thin front of `topicx.run`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry as models
from topicx.classes.lda_class import FURTHER, LDA
from topicx.declare import check_known
from topicx.sampling.run_options import Options


class MixtureLDA(LDA):
    """The Dirichlet multinomial mixture, for short texts: every document has one topic.

    >>> model = MixtureLDA(topics=100, iterations=30).fit(titles)      # doctest: +SKIP
    >>> model.topic_sizes, model.transform(new).argmax(axis=1)         # doctest: +SKIP

    Parameters
    ----------
    topics
        The most topics there can be. Those that no document needs are not in the model.
    **options
        The arguments of `LDA`. Unlike there, β is 0.1, the only prior that can be learnt, and a run begins with random
        topics, if nothing else is said.
    """

    def __init__(self, topics: int = 100, **options: Any) -> None:
        check_known("MixtureLDA", Options, options, FURTHER)
        super().__init__(topics, model="mixture", **models.with_defaults("mixture", options))
        self._parameters = {name: self._parameters[name] for name in self._parameters if name not in ("model", "own")}

    @property
    def topic_sizes(self) -> NDArray[np.int64]:
        """How many documents each topic has."""
        return np.asarray(self.model.side["documents"])
