"""Whether other runs find the same topics: each topic beside its match in another model of the same documents.

A topic comes again in a run, if that has a topic which is most like it, which it is most like in turn, and whose words
overlap with its own by half or more (Bhattacharyya's coefficient, Σ_w √(φ_w φ'_w)).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.estimate.topic_alignment import topic_distances
from topicx.model import Model
from topicx.report.figures import listed_words
from topicx.report.trend_sentences import Sentence
from topicx.state import State

Run = str | os.PathLike[str] | Model | State
Runs = Run | Sequence[Run]
AGAIN = 0.5
"""The overlap of words from which on a topic is the same."""


@dataclass(frozen=True)
class TopicRecurrence:
    """Topics of a model in other runs."""

    overlap: NDArray[np.float64]
    """Runs × topics: the overlap with the topic of that run that is most like it."""
    came: NDArray[np.bool_]
    """Runs × topics: whether the topic comes again."""

    @property
    def runs(self) -> int:
        """The number of other runs."""
        return len(self.came)

    def steady(self, shown: NDArray[np.bool_]) -> int:
        """How many of these topics come again in every run."""
        return int((self.came.all(axis=0) & shown).sum())

    def sentence(self, shown: NDArray[np.bool_]) -> str:
        """How many topics come again."""
        steady, topics = self.steady(shown), int(shown.sum())
        where = "in the other run" if self.runs == 1 else f"in all {self.runs} other runs"
        if topics == 1:
            return f"the topic {'comes' if steady else 'does not come'} again {where}"
        if not steady:
            return f"no topic comes again {where}"
        all_ = "all" if steady == topics else f"{steady} of"
        return f"{all_} {topics} topics come{'s' if steady == 1 and topics > 1 else ''} again {where}"

    def of_topic(self, topic: int) -> str:
        """Whether this topic comes again, as what to make of it."""
        times, like = int(self.came[:, topic].sum()), float(self.overlap[:, topic].mean())
        mean = f"its words overlap by {like:.2f}" + (" on average" if self.runs > 1 else "")
        if times == self.runs:
            where = "the other run" if self.runs == 1 else f"all {self.runs} other runs"
            return f"It comes again in {where} ({mean})."
        if self.runs == 1:
            return f"The other run has no such topic (of the one most like it {mean.removeprefix('its ')})."
        return f"It comes again in {times} of {self.runs} other runs ({mean})."

    def doubtful(self) -> dict[int, Sentence]:
        """Topics that half of the runs or more do not find, and what is to be said of each."""
        found: dict[int, Sentence] = {}
        for k, times in enumerate(self.came.sum(axis=0).tolist()):
            if self.runs == 1 and not times:
                found[k] = ["does not come again in the other run"]
            elif times <= self.runs / 2 and times < self.runs:
                found[k] = [f"comes again in {times or 'none'} of {self.runs} other runs"]
        return found


def topic_recurrence(model: Model, others: Sequence[Model]) -> TopicRecurrence:
    """The topics of a model in these other models."""
    overlap, came = np.zeros((len(others), model.n_topics)), np.zeros((len(others), model.n_topics), bool)
    for run, other in enumerate(others):
        likeness = 1 - topic_distances(model, other) ** 2
        best, back = likeness.argmax(axis=1), likeness.argmax(axis=0)
        overlap[run] = likeness.max(axis=1)
        came[run] = (back[best] == np.arange(model.n_topics)) & (overlap[run] >= AGAIN)
    return TopicRecurrence(overlap, came)


def read_runs(sources: Runs, model: Model, threads: Any) -> list[Model]:
    """Other runs, from files of models or of states."""
    from topicx.estimate import estimate
    from topicx.files import container
    from topicx.interop import read_state

    found: list[Model] = []
    for source in [sources] if isinstance(sources, str | os.PathLike | Model | State) else sources:
        if isinstance(source, State):
            source = estimate(source, threads=threads)
        elif not isinstance(source, Model):
            name = os.fspath(source)
            if container.is_topicx(name) and container.kind_of(name) == "model":
                source = Model.load(name)
            else:
                source = estimate(read_state(name), threads=threads)
        if source.digest and source.digest == model.digest:
            raise InputError("--again: is the model of the report itself; it wants another run (train --seed 2)")
        found.append(source)
    return found


def search_sentence(rows: Sequence[dict[str, Any]], topics: int) -> str:
    """What a search found of how alike runs are, at this number of topics and at the others."""
    known = [row for row in rows if isinstance(row.get("stability"), float | int)]
    own = [row for row in known if row["topics"] == topics]
    others = [row for row in known if row["topics"] != topics]
    if not known:
        return ""
    told = [f"{row['stability']:.2f} with {row['topics']}" for row in others]
    if not own:
        return f"In the search, runs agree by {listed_words(told)} topics; with {topics} none was tried."
    rest = f"; by {listed_words(told)}" if told else ""
    return f"In the search, runs with {topics} topics agree by {own[0]['stability']:.2f}, where 1 is the same{rest}."
