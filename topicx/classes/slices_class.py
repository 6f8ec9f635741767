"""The class for topics whose words differ by slice: a thin front of `topicx.run`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry as models
from topicx.classes.lda_class import FURTHER, LDA
from topicx.declare import check_known
from topicx.models.slice_cuts import SliceCuts
from topicx.models.slices import SlicedDefinition, SlicesOptions
from topicx.predict.slice_reader import SliceTopics
from topicx.sampling.run_options import Options


class SlicedLDA(LDA):
    """LDA whose topics' words drift over time, or differ between groups of documents.

    >>> model = SlicedLDA(topics=50, over="time", bins="decade").fit(corpus)    # doctest: +SKIP
    >>> model.slices.names, model.slices.topic_word(3)                       # doctest: +SKIP

    Parameters
    ----------
    topics
        Number of topics.
    over
        A column of times: a topic's words in a slice of time follow those in the one before.
    across
        A column of values, instead: a topic's words for each value follow what all have in common.
    **options
        The arguments of `LDA`, and the model's own: bins, every, closeness, fixed_closeness, closeness_by_topic,
        closeness_shape, closeness_rate and moves_burn_in (`topicx.models.slices.SlicesOptions`). Unlike there, a run
        begins with a soft start if nothing else is said.
    """

    def __init__(self, topics: int = 100, *, over: str = "", across: str = "", **options: Any) -> None:
        given = dict(options, over=over, across=across)
        theirs = {each.name: each.default for each in fields(SlicesOptions)}
        own = {name: value for name, value in given.items() if name in theirs and value != theirs[name]}
        rest = {name: value for name, value in options.items() if name not in theirs}
        check_known("SlicedLDA", Options, rest, [*FURTHER, *theirs])
        SlicedDefinition(SlicesOptions(**own))  # what is wrong with them is said now
        super().__init__(topics, model="slices", own=own, **models.with_defaults("slices", rest))
        self._parameters = {name: self._parameters[name] for name in self._parameters if name not in ("model", "own")}
        self._parameters |= theirs | given

    @property
    def slices(self) -> SliceTopics:
        """Names of the slices, the words of each topic in each, its tokens, and how far it moved."""
        return SliceTopics(self.model, SliceCuts.of_meta(self.model.meta).names)

    @property
    def closeness(self) -> NDArray[np.float64]:
        """Closeness b of each topic: the tokens that the words before count as in a slice."""
        return np.asarray(self.model.side["closeness"])
