"""Inference: documents from wherever they come, under fixed topics.

    inference = Inference(model, samples=20)
    for read in inference.stream(inference.corpus(corpus)):
        read.documents.ids, read.theta

A document's θ depends neither on the documents beside it nor on their order, the batches, the threads or the CPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.columns import Column, columns_of, part_of_column, values_of
from topicx.corpus.corpus import Corpus
from topicx.corpus.corpus_on_disk import StoredCorpus
from topicx.corpus.table import Kinds
from topicx.engines.threads import Engine
from topicx.files import container
from topicx.model import Model
from topicx.predict import predictor
from topicx.predict.documents import Documents
from topicx.predict.predictor import Predictor, reader_of, runs_of_documents, sampling_of
from topicx.predict.topic_rows import known_tokens, match_vocabulary
from topicx.strings import Strings


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
        self.carried: Kinds = {}
        """The columns that documents shall bring along, beside those that the reader wants."""

    # -- where documents come from -------------------------------------------------------------------------------

    def corpus(self, corpus: Corpus) -> Iterator[Documents]:
        """The documents of a corpus in memory."""
        match = match_vocabulary(self.model.vocabulary, corpus.vocabulary)
        wanted = bool(self.carried or self.reader.wants)
        for begin, end in runs_of_documents(corpus.offsets, predictor.BATCH_TOKENS, predictor.BATCH_DOCUMENTS):
            bounds = corpus.offsets[begin : end + 1]
            words, offsets, unknown = known_tokens(corpus.words[bounds[0] : bounds[-1]], bounds, match)
            columns = columns_of(corpus, begin, end, snippets=True) if wanted else {}
            yield Documents(
                part_of_column(corpus.ids, begin, end), words, offsets, unknown, self._values(columns, end - begin)
            )  # fmt: skip

    def _values(self, columns: Mapping[str, Column], documents: int) -> dict[str, list[Any]]:
        nothing: list[Any] = [None] * documents
        asked = {name: values_of(name, columns[name]) if name in columns else nothing for name in self.carried}
        return {name: values_of(name, columns[name]) for name in self.reader.wants if name in columns} | asked

    def corpus_file(self, file: container.File) -> Iterator[Documents]:
        """The documents of an open corpus file, read as they are needed."""
        corpus = StoredCorpus(file)
        match = match_vocabulary(self.model.vocabulary, corpus.vocabulary)
        wanted = bool(self.carried or self.reader.wants)
        for first in range(0, corpus.n_documents, 1 << 14):
            last = min(first + (1 << 14), corpus.n_documents)
            offsets, ids = corpus.offsets(first, last), corpus.ids(first, last)
            columns = corpus.columns(first, last) if wanted else {}
            for begin, end in runs_of_documents(offsets, 1 << 20, 1 << 14):
                bounds = offsets[begin : end + 1]
                words, new, unknown = known_tokens(corpus.words(int(bounds[0]), int(bounds[-1])), bounds, match)
                mine = {name: part_of_column(column, begin, end) for name, column in columns.items()}
                yield Documents(part_of_column(ids, begin, end), words, new, unknown, self._values(mine, end - begin))

    def texts(self, batches: Iterable[Any]) -> Iterator[Documents]:
        """Documents from batches of `topicx.corpus.formats.document_reader`, by the model's tokenizer."""
        from topicx.corpus.streamed_columns import kinds_wanted, values_of_batch
        from topicx.corpus.text.encoded_batches import name_count_words, whole_documents
        from topicx.corpus.text.tokenizer import Encoder, Tokenizer

        encoder = Encoder(Tokenizer.from_meta(self.model.meta.get("tokenizer")), self.model.vocabulary)
        last: tuple[Any, NDArray[np.int64]] | None = None
        number = 0
        for batch in whole_documents(batches, encoder):
            if batch.counts is None:
                words, lengths, missing = batch.encoded
            else:
                counts = name_count_words(batch.counts)
                if last is None or last[0] is not counts.vocabulary:
                    last = counts.vocabulary, self._match(counts)
                words, lengths, missing = _tokens_from_counts(counts, last[1])
            given = batch.ids or [None] * len(lengths)
            names = [str(number + i) if name is None else name for i, name in enumerate(given)]
            number += len(names)
            offsets = np.zeros(len(lengths) + 1, np.int64)
            np.cumsum(lengths, out=offsets[1:])
            wanted = kinds_wanted(batch, self.reader.wants) | self.carried
            yield Documents(Strings.of(names), words, offsets, missing, values_of_batch(batch, wanted))

    def _match(self, counts: Any) -> NDArray[np.int64]:
        vocabulary = counts.vocabulary
        return match_vocabulary(self.model.vocabulary, vocabulary)


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


def _tokens_from_counts(
    counts: Any, match: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    """Tokens from counts: each word as often as its count says, side by side."""
    ends = np.concatenate([[0], np.cumsum(counts.counts)])
    pairs = np.concatenate([[0], np.cumsum(counts.lengths)])
    words, offsets, unknown = known_tokens(np.repeat(counts.words, counts.counts), ends[pairs].astype(np.int64), match)
    return words, np.diff(offsets), unknown
