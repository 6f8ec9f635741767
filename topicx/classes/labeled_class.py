"""The class for labelled documents that Python programs use: a thin front of `topicx.run`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry as models
from topicx.classes.labelled_fit import FitsLabels
from topicx.classes.lda_class import FURTHER
from topicx.declare import check_known, check_whole
from topicx.errors import InputError
from topicx.evaluate.label_measures import measure_labels
from topicx.models.labeled import LabeledDefinition
from topicx.predict.label_reader import label_documents, label_reader
from topicx.sampling.run_options import Options


class LabeledLDA(FitsLabels):
    """Learn topics that are labels: Labeled LDA, Prior-LDA (the default) or Dependency-LDA.

    `fit` takes a corpus whose documents have labels. Documents without may use all of them.

    Parameters
    ----------
    model : str, default "prior"
        "labeled", "prior" or "dependency".
    chains : int, default 1
        Chains whose models are averaged.
    **options
        Options of `LDA` (iterations, sampler, alpha, beta, samples, lag, seed, threads …; the sampler labeled-cvb0 is
        CVB0), and the model's own: background, topics_per_label, label_weight, label_smoothing, label_topics, rounds.

    Attributes
    ----------
    labels : list of str
        Names of the labels, in the order of the columns of `scores`.

    Examples
    --------
    >>> import topicx
    >>> corpus = topicx.Corpus.from_texts(["goal match team", "vote law party"] * 20, labels=["sport", "politics"] * 20)
    >>> tags = topicx.LabeledLDA(iterations=20, verbose=False).fit(corpus)
    >>> tags.predict(["a match of two teams, and a goal"], top=1)
    [['sport']]
    """

    _keep = "average"

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
        found = label_documents(self.model, corpus, reader, threads=self.threads, **sampling)
        return [names for part in found for names in reader.names_of_sets(part.sets, part.scores)]

    def scores(self, documents: Any, *, score: str = "words", **sampling: Any) -> NDArray[np.float32]:
        """Documents × labels: more is likelier."""
        reader = label_reader(self.model, score=score, top=1)
        corpus = self._read(documents)
        parts = [part.scores for part in label_documents(self.model, corpus, reader, threads=self.threads, **sampling)]
        return np.concatenate(parts) if parts else np.zeros((0, len(reader.names)), np.float32)

    def measure(
        self, documents: Any, *, top: int = 0, threshold: float | None = None, score: str = "words", **sampling: Any
    ) -> dict[str, Any]:
        """F1, ranking loss and the others of `topicx.evaluate.label_measures`, on a corpus with labels."""
        reader = label_reader(self.model, score=score, top=top, threshold=threshold)
        return measure_labels(self.model, self._read(documents), reader, threads=self.threads, **sampling)
