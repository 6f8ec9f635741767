"""What reads new documents under a model: made once, never changed, and shared by threads."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry
from topicx.corpus.text.tokenizer import Encoder, Tokenizer
from topicx.engines.threads import Engine, engine_of
from topicx.model import Model
from topicx.predict.documents import Documents, Source, WordNumbers, runs_of_documents
from topicx.predict.reader import Read, Reader
from topicx.predict.sampling_plan import Sampling, Streams
from topicx.strings import Strings

if TYPE_CHECKING:
    from topicx.predict.document_topics import DocumentTopics

BATCH_TOKENS = 1 << 16
BATCH_DOCUMENTS = 1 << 12
THETA_ENTRIES = 1 << 22
"""A batch holds no more entries of θ than this."""
_OF_MODEL = (
    "vocabulary", "alpha", "beta", "indptr", "topics", "values", "remainder", "remainder_share", "group_names",
)  # fmt: skip
_ALONE = Strings.of(["0"])
Result = TypeVar("Result")


def reader_of(model: Model) -> Reader:
    """What documents mean under the model, as its definition says; that of LDA for models of other programs."""
    return _prepared(model).reader


def sampling_of(model: Model, reader: Reader, **options: Any) -> Sampling:
    """How the model's documents are sampled with these options (`Sampling.of`)."""
    return Sampling.of(reader.usual, str(model.meta.get("estimator", {}).get("theta", "cgsp")), **options)


class Prepared:
    """What all predictors of a model share, made once: its reader, and its words as texts are read by them."""

    def __init__(self, model: Model) -> None:
        self._parts = _parts(model)
        self._model = copy.copy(model)  # which keeps nothing of this: so no cycle holds the model in memory
        definition = model_registry.of_meta(model.meta)
        definition.verify(model)
        self.reader = definition.reader(self._model)

    @cached_property
    def words(self) -> WordNumbers:
        """The model's words, by which documents are read."""
        return WordNumbers(self._model.vocabulary, Tokenizer.from_meta(self._model.meta.get("tokenizer")))

    def holds(self, model: Model) -> bool:
        """Whether this was made of what the model is now."""
        parts = _parts(model)
        return parts.keys() == self._parts.keys() and all(parts[name] is self._parts[name] for name in parts)


def _parts(model: Model) -> dict[str, Any]:
    """What a reader is made of, by name. An array that is changed in place is the same array."""
    found = {name: getattr(model, name) for name in _OF_MODEL}
    found |= {f"side.{name}": array for name, array in model.side.items()}
    return found | {f"meta.{name}": value for name, value in model.meta.items()}


def _prepared(model: Model) -> Prepared:
    """What is kept with the model for its predictors, made anew where the model has changed."""
    known = model.__dict__.get("_prepared")
    if isinstance(known, Prepared) and known.holds(model):
        return known
    found = model.__dict__["_prepared"] = Prepared(model)
    return found


def predictor_of(
    model: Model, *, group: str | int | None = None, threads: int | Engine = 0, **options: Any
) -> Predictor:  # fmt: skip
    """A predictor of the model with these options (`Sampling.of`)."""
    return Predictor(model, sampling_of(model, reader_of(model), **options), threads, group=group)


class Predictor:
    """Reads new documents under a model. It is made once and never changes: threads and forked processes share it.

    Parameters
    ----------
    model
        The model.
    sampling
        How documents are sampled (None: as the model's reader has it).
    engine
        Threads, or what runs batches (0: all cores).
    group
        The group of documents whose prior is used, by name or number (None: each document's own).

    Examples
    --------
    >>> import topicx
    >>> texts = ["the cat sat on the mat", "stocks fell as rates rose"]
    >>> model = topicx.LDA(topics=2, iterations=20).fit(texts).model
    >>> predictor = model.predictor(samples=5)
    >>> predictor.one("cats and stocks").theta.shape
    (1, 2)
    """

    def __init__(
        self, model: Model, sampling: Sampling | None = None, engine: int | Engine = 0, *,
        group: str | int | None = None,
    ) -> None:  # fmt: skip
        prepared = _prepared(model)
        self.model: Final = model
        self.reader: Final = prepared.reader
        self.sampling: Final = sampling or sampling_of(model, self.reader)
        self.engine: Final = engine_of(engine)
        self.group: Final = group
        self._prepared: Final = prepared
        if group is not None:
            self.reader.group_prior(group, 0)  # InputError where there is none

    def __repr__(self) -> str:
        return f"Predictor({self.model!r})"

    @property
    def words(self) -> WordNumbers:
        """The model's words, by which sources number those of documents."""
        return self._prepared.words

    @property
    def encoder(self) -> Encoder:
        """Texts to the model's words; threads share it (`Encoder.word_ids`)."""
        return self.words.encoder

    def documents(self, source: Source, columns: Iterable[str] = ()) -> Iterator[Documents]:
        """The documents of a source by the model's words, with these columns and those that the reader wants."""
        return source.documents(self.words, self._wanted(columns))

    def one(self, text: str | Sequence[str]) -> DocumentTopics:
        """What the model says of one text, or of one list of words."""
        from topicx.predict.document_topics import DocumentTopics

        if isinstance(text, str):
            words, lengths, unknown = self.encoder.word_ids([text])
        else:
            words, lengths, unknown = self.encoder.word_ids(None, [text])
        offsets = np.array([0, lengths[0]], np.int64)
        self.reader.room(1)
        read = self.run(Documents(_ALONE, words, offsets, unknown))
        values = zip(self.reader.predicted_columns(), self.reader.predict(read), strict=True)
        predicted = {name: list(column) for name, column in values}
        return DocumentTopics(["0"], shown_shares(self.model, read.theta), unknown, predicted, {}, self.model.called)

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
        limits = self.reader.room(self.engine.threads) or BATCH_TOKENS, most_documents(self.reader)
        if self.engine.places is not None:
            from topicx.predict.spread_pieces import SpreadReading

            with SpreadReading(self, self.engine.places, limits) as reading:
                yield from reading.read(reading.pieces_of_batches(batches))
            return
        pieces = (piece for batch in batches for piece in _pieces_of_documents(batch, *limits))
        yield from self.engine.stream(self.run, pieces)

    def shares(self, source: Source, columns: Iterable[str] = ()) -> Iterator[Read]:
        """The documents of a source as `stream` reads them, for who asks for θ, the names, lengths and columns alone:
        on a cluster neither words nor the topics of tokens come back, and workers read corpus files themselves."""
        if self.engine.places is None:
            yield from self.stream(self.documents(source, columns))
            return
        from topicx.predict.spread_pieces import SpreadReading

        limits = self.reader.room(self.engine.threads) or BATCH_TOKENS, most_documents(self.reader)
        with SpreadReading(self, self.engine.places, limits, tokens=False) as reading:
            yield from reading.read(reading.pieces_of_source(source, self._wanted(columns)))

    def _wanted(self, columns: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.reader.wants, *columns)))


def shown_shares(model: Model, theta: NDArray[np.float32]) -> NDArray[np.float32]:
    """θ without what topics have that are not to be shown."""
    return theta * model.shown.astype(np.float32) if len(model.hidden) else theta


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
    yield from engine.stream(lambda job: work(*job), runs_of_documents(offsets, tokens, most_documents(reader)))


def _pieces_of_documents(documents: Documents, tokens: int, most: int) -> Iterator[Documents]:
    if len(documents) <= most and len(documents.words) <= tokens:
        if len(documents):
            yield documents
        return
    for begin, end in runs_of_documents(documents.offsets, tokens, most):
        yield documents.part(begin, end)
