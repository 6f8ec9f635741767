"""What reads new documents under a model: made once, never changed, and shared by threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry
from topicx.corpus.text.tokenizer import Tokenizer
from topicx.engines.threads import Engine, engine_of
from topicx.model import Model
from topicx.predict.documents import Documents, Source, WordNumbers, document_runs
from topicx.predict.reader import Read, Reader
from topicx.predict.sampling_plan import Sampling, Streams

BATCH_TOKENS = 1 << 16
BATCH_DOCUMENTS = 1 << 12
THETA_ENTRIES = 1 << 22
"""A batch holds no more entries of θ than this."""
Result = TypeVar("Result")


def reader_of(model: Model) -> Reader:
    """What documents mean under the model, as its definition says; that of LDA for models of other programs."""
    definition = model_registry.of_meta(model.meta)
    definition.verify(model)
    return definition.reader(model)


def sampling_of(model: Model, reader: Reader, **options: Any) -> Sampling:
    """How the model's documents are sampled with these options (`Sampling.of`)."""
    return Sampling.of(reader.usual, str(model.meta.get("estimator", {}).get("theta", "cgsp")), **options)


class Predictor:
    """Reads new documents under a model.

    Parameters
    ----------
    model
        The model.
    sampling
        How documents are sampled (None: as the model's definition has it).
    engine
        Threads, or what runs batches (0: all cores).
    group
        The group of documents whose prior is used, by name or number (None: each document's own).
    reader
        What documents mean (None: what the model's definition says).
    """

    def __init__(
        self, model: Model, sampling: Sampling | None = None, engine: int | Engine = 0, *,
        group: str | int | None = None, reader: Reader | None = None,
    ) -> None:  # fmt: skip
        self.model = model
        self.reader = reader or reader_of(model)
        self.sampling = sampling or sampling_of(model, self.reader)
        self.engine = engine_of(engine)
        self.group = group
        if group is not None:
            self.reader.group_prior(group, 0)  # InputError where there is none

    @cached_property
    def words(self) -> WordNumbers:
        """The model's words, by which documents are read."""
        return WordNumbers(self.model.vocabulary, Tokenizer.from_meta(self.model.meta.get("tokenizer")))

    def documents(self, source: Source, columns: Iterable[str] = ()) -> Iterator[Documents]:
        """The documents of a source by the model's words, with these columns and those that the reader wants."""
        return source.documents(self.words, tuple(dict.fromkeys((*self.reader.wants, *columns))))

    def run(self, documents: Documents) -> Read:
        """One batch, on this thread."""
        if self.group is not None:
            prior = self.reader.group_prior(self.group, len(documents))
        else:
            prior = self.reader.prior(documents)
        streams = Streams(documents.words, documents.offsets, self.sampling.seed)
        return self.reader.read(documents, prior, streams, self.sampling)

    def stream(self, batches: Iterable[Documents]) -> Iterator[Read]:
        """Batch after batch, in order; a few at a time are in memory."""
        tokens = self.reader.room(self.engine.threads) or BATCH_TOKENS
        most = most_documents(self.reader)
        pieces = (piece for batch in batches for piece in _pieces(batch, tokens, most))
        yield from self.engine.stream(self.run, pieces)


def most_documents(reader: Reader) -> int:
    """The documents that a batch may have."""
    return max(min(BATCH_DOCUMENTS, THETA_ENTRIES // reader.n_topics), 1)


def in_batches(
    work: Callable[[int, int], Result],
    offsets: NDArray[np.int64],
    reader: Reader,
    threads: int | Engine,
    tokens: int | None = None,
) -> Iterator[Result]:
    """work(begin, end) over batches of documents, in order, on some threads (0: all cores) or an engine."""
    engine = engine_of(threads)
    tokens = reader.room(engine.threads) or tokens or BATCH_TOKENS
    yield from engine.stream(lambda job: work(*job), document_runs(offsets, tokens, most_documents(reader)))


def _pieces(documents: Documents, tokens: int, most: int) -> Iterator[Documents]:
    if len(documents) <= most and len(documents.words) <= tokens:
        if len(documents):
            yield documents
        return
    for begin, end in document_runs(documents.offsets, tokens, most):
        yield documents.part(begin, end)
