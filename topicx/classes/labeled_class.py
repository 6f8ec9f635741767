"""The class for labelled documents that Python programs use: a thin front of `topicx.run`."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry as models
from topicx.classes.fit_session import Fitting
from topicx.classes.lda_class import FURTHER, LDA
from topicx.declare import check_known, check_whole
from topicx.errors import InputError
from topicx.evaluate.label_measures import measure_labels
from topicx.models.labeled import LabeledDefinition
from topicx.predict.label_reader import label, label_reader
from topicx.run import Result, Run, pooled
from topicx.sampling.run_options import Options


class LabeledLDA(LDA):
    """Labeled LDA, Prior-LDA (the default) or Dependency-LDA: topics that are labels.

    >>> tags = LabeledLDA(chains=5, samples=30, lag=5, iterations=195).fit(corpus)   # doctest: +SKIP
    >>> tags.predict(new)                                                          # doctest: +SKIP

    `fit` takes a corpus whose documents have labels; documents without may use all of them. `model` is labeled, prior
    or dependency. The other arguments are those of `LDA` and `topicx train`: iterations, sampler (labeled-cvb0 for
    CVB0), alpha, beta, samples, lag, seed, threads, theta, phi …, and the model's own: background, topics_per_label,
    label_weight, label_smoothing, label_topics, rounds. The models of several `chains` are averaged.
    """

    def __init__(
        self,
        model: str = "prior",
        *,
        chains: int = 1,
        **options: Any,
    ) -> None:
        super().__init__(**{name: options.pop(name) for name in ("seed", *FURTHER) if name in options})
        common = {name: self._parameters[name] for name in ("seed", *FURTHER)}
        self._parameters = {"model": model, "chains": chains, **common, **options}
        definition = models.find_definition(model)
        if not issubclass(definition, LabeledDefinition):
            raise InputError(f"the topics of the model {model} are no labels: labeled, prior and dependency are meant")
        check_whole("chains", chains, 1, 1000)
        own = {each.name for each in fields(definition.Own)}
        check_known(f"the model {model}", Options, [name for name in options if name not in own], [*FURTHER, *own])
        general = models.with_defaults(model, {name: value for name, value in options.items() if name not in own})
        mine = {name: value for name, value in options.items() if name in own}
        self.options = Options(seed=self.options.seed, model=model, own=mine, **general)
        self.chains = chains

    def _learn(self, run: Run, fitting: Fitting) -> tuple[Run, Result]:
        mean = None
        for number in range(self.chains):
            run = run if number == 0 else run.next(number)
            _, result = super()._learn(run, fitting)
            mean = pooled(mean, number, result.model)
            if fitting.stopped:
                break
        assert mean is not None
        return run, replace(result, model=mean)

    @property
    def labels(self) -> list[str]:
        """The labels, in the order of the columns of `scores`."""
        return list(label_reader(self.model, top=1).names)

    def predict(
        self, documents: Any, *, top: int = 0, threshold: float | None = None, score: str = "words", **sampling: Any
    ) -> list[list[str]]:
        """The labels of each document, best first: as many as the model expects, or `top`, or from `threshold` on.

        `sampling`: burn_in, samples, lag, chains, theta and seed, as for `topicx infer`.
        """
        reader = label_reader(self.model, score=score, top=top, threshold=threshold)
        corpus = self._read(documents)
        found = label(self.model, corpus, reader, threads=self.threads, **sampling)
        return [names for part in found for names in reader.labels(part.sets, part.scores)]

    def scores(self, documents: Any, *, score: str = "words", **sampling: Any) -> NDArray[np.float32]:
        """Documents × labels: more is likelier."""
        reader = label_reader(self.model, score=score, top=1)
        corpus = self._read(documents)
        parts = [part.scores for part in label(self.model, corpus, reader, threads=self.threads, **sampling)]
        return np.concatenate(parts) if parts else np.zeros((0, len(reader.names)), np.float32)

    def measure(
        self, documents: Any, *, top: int = 0, threshold: float | None = None, score: str = "words", **sampling: Any
    ) -> dict[str, Any]:
        """F1, ranking loss and the others of `topicx.evaluate.label_measures`, on a corpus with labels."""
        reader = label_reader(self.model, score=score, top=top, threshold=threshold)
        return measure_labels(self.model, self._read(documents), reader, threads=self.threads, **sampling)
