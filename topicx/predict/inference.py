"""Inference: documents from wherever they come, under fixed topics.

    inference = Inference(model, samples=20)
    for read in inference.stream(inference.documents(source_of(texts, model.vocabulary))):
        read.documents.ids, read.theta

A document's θ depends neither on the documents beside it nor on their order, the batches, the threads or the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Engine
from topicx.model import Model
from topicx.predict.documents import CorpusSource, Documents
from topicx.predict.predictor import Predictor, reader_of, sampling_of


class Inference(Predictor):
    """A `Predictor` by the options of `topicx infer`, and the documents that it is given."""

    def __init__(
        self,
        model: Model,
        *,
        iterations: int | None = None,
        burn_in: int | None = None,
        samples: int | None = None,
        lag: int = 1,
        chains: int | None = None,
        theta: str | None = None,
        seed: int = 1,
        threads: int | Engine = 0,
        group: str | int | None = None,
    ) -> None:
        """`burn_in` sweeps come before the first of `samples` samples, which are `lag` sweeps apart; `iterations` is
        the number of all sweeps, and settles one of the others. So many `chains` are averaged (what is not given is as
        the model's reader has it: 10 + 10 sweeps of a chain, or medlda's 20 + 10 of five). `theta`: cgsp, cgs or
        cvb0, which draws nothing (None: as the model was made; medlda: cvb0, unless samples or chains are given).
        `group` chooses a row of α, where the model has several: a collection's name or a number."""
        reader = reader_of(model)
        sampling = sampling_of(
            model, reader, iterations=iterations, burn_in=burn_in, samples=samples, lag=lag, chains=chains,
            theta=theta, seed=seed,
        )  # fmt: skip
        super().__init__(model, sampling, threads, group=group)

    def corpus(self, corpus: Corpus) -> Iterator[Documents]:
        """The documents of a corpus, with the columns that the reader wants."""
        return self.documents(CorpusSource(corpus))


def infer(model: Model, corpus: Corpus, **options: Any) -> NDArray[np.float32]:
    """θ of a corpus's documents: documents × topics. The options are those of `Inference`."""
    inference = Inference(model, **options)
    parts = [part.theta for part in inference.stream(inference.corpus(corpus))]
    return np.concatenate(parts) if parts else np.zeros((0, model.n_topics), np.float32)
