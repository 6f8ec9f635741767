"""Several chains of one model as one object: which are run, what is kept of them, and the one model that they make.

The command line, the Python classes, the search for a number of topics and cross-validation train through a
`ChainSeries` and listen to it. A single chain is a series of one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from topicx import model_registry as models
from topicx.declare import check_whole
from topicx.errors import InputError
from topicx.estimate.averaging import average_models
from topicx.files.schema import is_list_of, is_whole_number
from topicx.model import Model
from topicx.run import Result, Rows, Run

KEEPS = ("best", "all", "average")
"""What can be kept: the chain with the highest objective, every chain, or the mean of all."""


class ChainListener:
    """Hears what a series of chains does, and may do parts of it in its own way. Every method can stay as it is."""

    def begin_chain(self, series: ChainSeries) -> None:
        """Called before the sweeps of `series.run`."""

    def train_chain(self, series: ChainSeries) -> bool:
        """Make the sweeps of `series.run`; return whether the series goes on after this chain."""
        series.run.train()
        return True

    def guard_result(self, series: ChainSeries) -> AbstractContextManager[object]:
        """A context for all that is done with a chain after its sweeps."""
        return nullcontext()

    def end_chain(self, series: ChainSeries, score: float) -> None:
        """Called after the sweeps of `series.run`, with its objective."""

    def find_result(self, series: ChainSeries) -> Result:
        """Return the result of `series.run`, which is to be kept."""
        return series.find_result()

    def keep_result(self, series: ChainSeries, result: Result) -> None:
        """Keep a result (of an average: that of all chains so far): here in memory, in `series.results`."""
        series.results = [*series.results, result] if series.keep == "all" else [result]


class ChainSeries:
    """Chains of one model on one corpus, one after another, from one beginning.

    Where a model consists of parts that are trained apart (`Definition.parts`; in MedLDA's one-vs-all a part a class),
    every chain has all of them: the series runs chains × parts, a part after another.

    Parameters
    ----------
    run
        The first run, or one that was resumed.
    chains
        How many chains there are.
    keep
        "best": the chain with the highest objective. "all": every one. "average": the mean of their models, whose
        topics must mean the same in all (or which stand side by side: `Definition.joins`).
    theta, phi, examples
        The estimators, and the typical documents a topic, of what is kept.

    Attributes
    ----------
    run : Run
        The run at hand.
    scores : list of float
        The objectives of the runs that have ended.
    results : list of Result
        What is kept, unless a listener keeps it elsewhere.
    mean : Model or None
        The average so far.
    """

    def __init__(
        self,
        run: Run,
        chains: int = 1,
        keep: str = "best",
        *,
        theta: str = "cgsp",
        phi: str = "auto",
        examples: int = 20,
    ) -> None:
        check_whole("chains", chains, 1, 1000)
        if keep not in KEEPS:
            raise InputError(f"keep must be one of {', '.join(KEEPS)}, not {keep!r}")
        self.run, self.keep = run, keep
        self.theta, self.phi, self.examples = theta, phi, examples
        self.parts = run.definition.parts(run.chain.state)
        self.total = chains * self.parts
        """The runs of the whole series."""
        self.scores: list[float] = []
        self.results: list[Result] = []
        self.mean: Model | None = None
        self.counted = False
        """Whether the average holds the run at hand already: it was interrupted after that."""
        self._first = run.options.chain

    # -- resuming ------------------------------------------------------------------------------------------------

    def notes(self) -> dict[str, Any]:
        """What a checkpoint of the run at hand keeps of the series."""
        series = {"chains": self.total, "keep": self.keep, "scores": list(self.scores)}
        return {"theta": self.theta, "phi": self.phi, "series": series}

    @classmethod
    def resume(cls, run: Run, *, theta: str | None = None, phi: str | None = None) -> ChainSeries:
        """The series of a run that was resumed, by the notes in its checkpoint. Estimators that are given go before
        those that it began with."""
        notes, before = run.chain.notes, run.options.chain
        if notes:
            told, total = check_notes(notes), notes["series"]["chains"]
        else:  # a Python program saved it
            told, total = {"keep": "best", "scores": [-math.inf] * before}, before + 1
        series = cls(
            run, keep=told["keep"], theta=theta or notes.get("theta") or "cgsp", phi=phi or notes.get("phi") or "auto"
        )
        series.scores = [float(score) for score in told["scores"]]
        series.total, series._first = total, before - len(series.scores)
        return series

    def take_average(self, model: Model, name: str) -> None:
        """Go on with the average of the chains before, which a file of this name had. InputError: it is none."""
        held, before = model.meta.get("chains"), len(self.scores)
        if held not in (before, before + 1):
            raise InputError(f"{name}: is not the average of {before} chains that this run goes on with")
        self.mean, self.counted = model, held == before + 1

    # -- training ------------------------------------------------------------------------------------------------

    def train(self, listener: ChainListener | None = None) -> list[Result]:
        """Run the chains that are left; what was kept of them (`results`)."""
        listener = listener or ChainListener()
        going_on = True
        while going_on and len(self.scores) < self.total:
            number = self._first + len(self.scores)
            if self.run.options.chain != number:
                self.run = self.run.next(number)
            listener.begin_chain(self)
            going_on = listener.train_chain(self)
            with listener.guard_result(self):
                self.add_chain(listener)
        return self.results

    def add_chain(self, listener: ChainListener) -> None:
        """Count the run at hand, whose sweeps are made, and keep what is to be kept of it."""
        score = self.run.score
        listener.end_chain(self, score)
        if self.keep != "best" or not self.scores or score > max(self.scores):
            result = listener.find_result(self)
            if self.keep == "average":
                result = replace(result, model=self._pool(result.model))
            listener.keep_result(self, result)
        self.scores.append(score)
        self.counted = False

    def find_result(self, documents: Rows | None = None) -> Result:
        """The result of the run at hand by the estimators of the series; `documents` is given θ of the corpus."""
        return self.run.result(theta=self.theta, phi=self.phi, examples=self.examples, documents=documents)

    def _pool(self, model: Model) -> Model:
        if self.counted:
            assert self.mean is not None
            return self.mean
        self.mean = pooled_model(self.mean, len(self.scores), model)
        return self.mean


def check_notes(notes: Mapping[str, Any]) -> dict[str, Any]:
    """What a checkpoint's notes say of a series; InputError, if others than a series made them."""
    series = notes.get("series")
    good = (
        isinstance(series, dict)
        and is_whole_number(series.get("chains"), 1, 1000)
        and series.get("keep") in KEEPS
        and is_list_of(series.get("scores"), (int, float))
        and notes.get("theta") in (None, "cgs", "cgsp")
        and notes.get("phi") in (None, "auto", "cgs", "cgsp")
    )
    if not good or not isinstance(series, dict):
        raise InputError("--resume: the checkpoint has notes that are not those of 'topicx train'")
    return series


def pooled_model(before: Model | None, chains: int, model: Model) -> Model:
    """The mean of a model of so many chains and of another chain's: of topics that mean the same in all; or of scores,
    with the topics side by side (`Definition.joins`)."""
    if before is None:
        model.meta["chains"] = 1
        return model
    definition = models.of_meta(model.meta)
    if definition.joins:
        return definition.joined(before, chains, model)
    order = np.arange(model.n_topics)
    mean = average_models([before, model], [order, order], [chains, 1])
    mean.meta = model.meta | {"chains": chains + 1}
    return replace(
        model, indptr=mean.indptr, topics=mean.topics, values=mean.values, alpha=mean.alpha, beta=mean.beta,
        remainder=mean.remainder, remainder_share=mean.remainder_share, meta=mean.meta,
    )  # fmt: skip
