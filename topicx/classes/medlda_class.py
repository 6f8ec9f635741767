"""The class for supervised topic models: fit, predict, decision_function, transform."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry as models
from topicx.classes.labelled_fit import FitsLabels, told_label
from topicx.classes.lda_class import FURTHER
from topicx.corpus.corpus import Corpus
from topicx.declare import check_known, check_whole
from topicx.errors import InputError
from topicx.models.medlda import MedldaDefinition, MedldaOptions, classifiers_of, predict_rows
from topicx.sampling.run_options import Options


class MedLDA(FitsLabels):
    """Learn topics together with classifiers over them.

    `fit` takes a corpus with targets. Documents without a target shape topics only.

    Parameters
    ----------
    topics : int, default 100
        Number of topics.
    chains : int, default 1
        Chains whose topics are kept side by side and whose scores are averaged.
    **options
        Options of `LDA`, and the model's own: task, target, loss, `lambda_`, nu, epsilon, gibbs_steps, proposals,
        class_weight, bias, weight_samples, strategy ("one-vs-all" trains a chain for each class).

    Examples
    --------
    >>> import topicx
    >>> corpus = topicx.Corpus.from_texts(["goal match team", "vote law party"] * 20, labels=["sport", "politics"] * 20)
    >>> model = topicx.MedLDA(topics=4, iterations=50, nu=1.0, lambda_=10.0, verbose=False).fit(corpus)
    >>> model.predict(corpus[:2]).tolist()
    ['sport', 'politics']
    """

    _keep = "average"

    def __init__(self, topics: int = 100, *, chains: int = 1, **options: Any) -> None:
        given = dict(options, chains=chains)
        check_whole("chains", chains, 1, 1000)
        self.chains = chains
        names = {each.name for each in fields(MedldaOptions)}
        theirs = {each.name: each.default for each in fields(MedldaOptions)}
        own = {name: value for name, value in options.items() if name in names and value != theirs[name]}
        rest = {name: value for name, value in options.items() if name not in names}
        check_known("MedLDA", Options, rest, [*FURTHER, *names])
        MedldaDefinition(MedldaOptions(**own))  # what is wrong with them is said now
        super().__init__(topics, model="medlda", own=own, **models.with_defaults("medlda", rest))
        self._parameters = {name: self._parameters[name] for name in self._parameters if name not in ("model", "own")}
        self._parameters |= theirs | given

    @cached_property
    def document_topic(self) -> NDArray[np.float64]:
        """θ of the training documents; where models stand side by side each has its own: see `transform`."""
        if self.model.meta["chains"] > 1:
            raise InputError("document_topic: each of the chains has its own; transform(corpus) gives θ in all of them")
        found: NDArray[np.float64] = super().document_topic
        return found

    @property
    def task(self) -> str:
        """What is predicted: binary, multiclass, multilabel or regression."""
        return str(self.model.meta["task"])

    @property
    def classes(self) -> list[str]:
        """The names of the classes or labels, in the order of the scores' columns (binary: the second is positive)."""
        return list(classifiers_of(self.model).classes)

    @property
    def weights(self) -> NDArray[np.float64]:
        """η, averaged: topics × tasks. The bias is not in it."""
        return np.asarray(classifiers_of(self.model).weights)

    def decision_function(self, corpus: Corpus, **options: Any) -> NDArray[np.float64]:
        """The score of each document and task; of two classes one number a document, above 0 for the second (of two
        classifiers half their difference), and of a regression the value. See `transform`."""
        scores = classifiers_of(self.model).scores(self.transform(corpus, **options))
        if self.task == "multiclass" and scores.shape[1] == 2:
            return np.asarray((scores[:, 1] - scores[:, 0]) / 2)
        return scores[:, 0] if scores.shape[1] == 1 and self.task != "multilabel" else scores

    def predict(self, corpus: Corpus, **options: Any) -> Any:
        """A class a document (an array of str), a list of labels each, or an array of values; see `transform`."""
        first = predict_rows(self.model, self.transform(corpus, **options))[0]
        return list(first) if self.task == "multilabel" else np.array(first)

    def score(self, documents: Any, y: Iterable[Any] | None = None, **options: Any) -> float:
        """Accuracy; of a regression the predictive R²; of several labels the micro-averaged F1. `y`: what is true of
        each document, as `fit` takes it; without it, what the corpus's documents carry."""
        from topicx.evaluate.prediction_measures import measure_predictions

        corpus = self._read(documents)
        if y is not None:
            corpus = corpus.with_labels([told_label(value) for value in y])
            options = {"target": "label"} | options
        found = measure_predictions(self.model, corpus, threads=self.threads, **options)
        return float(found[{"regression": "r2", "multilabel": "micro_f1"}.get(self.task, "accuracy")])
