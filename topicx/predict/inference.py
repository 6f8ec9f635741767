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
    """Read documents under a model with the options of `topicx infer`.

    What is not given is as the model's reader has it: 10 + 10 iterations of a chain, or MedLDA's 20 + 10 of five.

    Parameters
    ----------
    model : Model
        The model.
    iterations : int, optional
        Number of all iterations; it settles one of the next two.
    burn_in : int, optional
        Iterations before the first sample.
    samples : int, optional
        Samples over which θ is averaged.
    lag : int, default 1
        Iterations from one sample to the next.
    chains : int, optional
        Chains over which θ is averaged.
    theta : str, optional
        "cgsp", "cgs" or "cvb0", which draws nothing. By default as the model was made.
    seed : int, default 1
        Seed of all random numbers.
    threads : int or Engine, default 0
        Threads; 0: all cores. No result depends on it.
    group : str or int, optional
        Row of α, where the model has several: a collection's name or a number.
    """

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
    """Topic proportions of documents under a model.

    Parameters
    ----------
    model : Model
        The model.
    corpus : Corpus
        Documents; words are matched by name.
    **options
        Options of `Inference`: iterations, burn_in, samples, chains, theta, seed, threads …

    Returns
    -------
    ndarray of shape (documents, topics)
        θ; rows sum to 1.
    """
    inference = Inference(model, **options)
    parts = [part.theta for part in inference.stream(inference.corpus(corpus))]
    return np.concatenate(parts) if parts else np.zeros((0, model.n_topics), np.float32)
