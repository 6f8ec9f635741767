"""Inference on the workers of a cluster: pieces of documents go there, what was read of them comes back in order.

Where θ alone is wanted, documents of a corpus file go as their numbers: every worker reads the file itself. One that
does not find it there says so, and is sent the documents. A piece is some batches, which are those of one machine:
a task costs milliseconds, and outputs with a block a batch (Parquet) are the same to the byte.
"""

from __future__ import annotations

import functools
import secrets
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus_on_disk import StoredCorpus
from topicx.engines.places import Places
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.document_prior import DocumentPrior
from topicx.predict.documents import Documents, SeveralSources, Source, StoredSource, runs_of_documents
from topicx.predict.reader import Read
from topicx.predict.sampling_plan import Sampling

if TYPE_CHECKING:
    from topicx.predict.predictor import Predictor

SENT_TOKENS, SENT_ENTRIES = 1 << 19, 1 << 22
"""Tokens, and entries of θ, with which a piece is large enough."""
NO_WORDS, NO_TOPICS = np.zeros(0, np.uint32), np.zeros(0, np.uint16)
Bounds = Sequence[int]
"""Where each batch begins, by the numbers of documents, and where the last ends."""


@dataclass(frozen=True)
class FileRun:
    """Documents of a corpus file: what travels in their place."""

    path: str
    digest: str
    begin: int
    end: int
    """The numbers of the documents in the file."""
    part: int
    parts: int
    """So many parts have their batches; this one is meant."""
    columns: tuple[str, ...]
    """What the documents bring along, if they carry it."""


@dataclass(frozen=True)
class ReadingPlan:
    """How a worker reads pieces."""

    model: str
    """The model's file."""
    sampling: Sampling
    group: str | int | None
    limits: tuple[int, int]
    """The tokens and the documents of a batch."""
    tokens: bool
    """Whether the words and topics of tokens are wanted."""

    def bounds(self, documents: Documents) -> list[int]:
        """The batches of these documents."""
        return [0, *(end for _, end in runs_of_documents(documents.offsets, *self.limits))]


@dataclass(frozen=True)
class FoundPiece:
    """What comes back: `Read` of several batches, in few arrays."""

    documents: Documents | None
    """None: those that were sent."""
    bounds: Bounds
    theta: NDArray[np.float32]
    z: NDArray[np.uint16]
    own: NDArray[np.float32]
    priors: list[DocumentPrior]
    """The priors of each batch."""

    def batches(self, documents: Documents) -> Iterator[Read]:
        for (begin, end), prior in zip(pairwise(self.bounds), self.priors, strict=True):
            first, last = documents.offsets[[begin, end]]
            part = documents.part(begin, end)
            yield Read(part, self.theta[begin:end], self.z[first:last], prior, self.own[begin:end])


class SpreadReading:
    """What reads documents as `predictor` does, each piece on a worker. The model goes there by a file that all of them
    see, which is there as long as this is open.

    Parameters
    ----------
    predictor
        What reads documents here.
    places
        The workers.
    limits
        The tokens and the documents of a batch.
    tokens
        Whether the words and topics of tokens are wanted.
    """

    def __init__(self, predictor: Predictor, places: Places, limits: tuple[int, int], tokens: bool = True) -> None:
        self.predictor, self.places = predictor, places
        self._path = places.folder / f"{secrets.token_hex(6)}.model"
        self._plan = ReadingPlan(str(self._path), predictor.sampling, predictor.group, limits, tokens)
        self._files: dict[str, StoredSource] = {}
        self._matches: dict[str, NDArray[np.int64]] = {}
        self._missed: set[str] = set()
        """Files that a worker did not find."""

    def __enter__(self) -> SpreadReading:
        self.predictor.model.save(self._path)
        return self

    def __exit__(self, *_: object) -> None:
        self._path.unlink(missing_ok=True)

    def pieces_of_source(self, source: Source, columns: tuple[str, ...]) -> Iterator[Documents | FileRun]:
        """The documents of a source, with these columns; for those of files, where they stand."""
        for one in source.sources if isinstance(source, SeveralSources) else [source]:
            path = one.corpus.file.place() if isinstance(one, StoredSource) else None
            if path is None or not isinstance(one, StoredSource):
                yield from self.pieces_of_batches(one.documents(self.predictor.words, columns))
                continue
            self._files[path] = one
            for begin, end in one.runs():
                first, last = one.corpus.offsets(begin, end)[[0, -1]].tolist()
                parts = self._parts(last - first, end - begin)
                for part in range(parts):
                    run = FileRun(path, one.corpus.digest, begin, end, part, parts, columns)
                    yield self._sent_instead(run) if path in self._missed else run

    def pieces_of_batches(self, batches: Iterable[Documents]) -> Iterator[Documents]:
        """The documents of all batches, as they are sent."""
        for documents in batches:
            bounds = self._plan.bounds(documents)
            parts = min(self._parts(len(documents.words), len(documents)), len(bounds) - 1)
            for part in range(parts):
                yield _part_of_batches(documents, bounds, part, parts)

    def _parts(self, tokens: int, documents: int) -> int:
        """The pieces to make of so many tokens and documents."""
        return max(-(-tokens // SENT_TOKENS), -(-documents * self.predictor.reader.n_topics // SENT_ENTRIES))

    def read(self, pieces: Iterable[Documents | FileRun]) -> Iterator[Read]:
        """The pieces as they were read, batch after batch, in order."""
        sent: deque[Documents | FileRun] = deque()

        def tasks() -> Iterator[tuple[Any, ...]]:
            for piece in pieces:
                sent.append(piece)
                yield self._plan, piece

        for found in self.places.stream(read_piece, tasks()):
            piece = sent.popleft()
            if found is None:
                assert isinstance(piece, FileRun)
                self._missed.add(piece.path)
                piece = self._sent_instead(piece)
                (found,) = self.places.stream(read_piece, [(self._plan, piece)])
            yield from found.batches(found.documents or piece)

    def _sent_instead(self, run: FileRun) -> Documents:
        """The documents of a file that workers do not find."""
        source, words = self._files[run.path], self.predictor.words
        if run.path not in self._matches:
            self._matches[run.path] = words.match(source.corpus.vocabulary)
        return _documents_of(run, source, self._matches[run.path], self._plan)


def _part_of_batches(documents: Documents, bounds: Bounds, part: int, parts: int) -> Documents:
    """The documents of one of several parts of these batches."""
    first, last = ((len(bounds) - 1) * which // parts for which in (part, part + 1))
    return documents.part(bounds[first], bounds[last])


def _documents_of(run: FileRun, source: StoredSource, match: NDArray[np.int64], plan: ReadingPlan) -> Documents:
    whole = source.read(run.begin, run.end, match, run.columns)
    return _part_of_batches(whole, plan.bounds(whole), run.part, run.parts)


def read_piece(plan: ReadingPlan, piece: Documents | FileRun) -> FoundPiece | None:
    """One piece, on a worker; None: there is no such file here."""
    predictor = _predictor(plan)
    if isinstance(piece, Documents):
        documents, back = piece, None
    else:
        try:
            with StoredCorpus.open_known(piece.path, piece.digest) as corpus:
                match = _match_of(plan, piece.path, piece.digest)
                documents = _documents_of(piece, StoredSource(corpus), match, plan)
        except (InputError, OSError):
            return None
        back = replace(documents, words=NO_WORDS)
    bounds = plan.bounds(documents)
    reads = [predictor.run(documents.part(begin, end)) for begin, end in pairwise(bounds)]
    theta, own, z = (
        np.concatenate([getattr(read, name) for read in reads] or [np.zeros(0)]) for name in ("theta", "own", "z")
    )
    return FoundPiece(back, bounds, theta, z if plan.tokens else NO_TOPICS, own, [read.prior for read in reads])


@functools.lru_cache(maxsize=2)
def _predictor(plan: ReadingPlan) -> Predictor:
    """What reads documents, made once on each worker."""
    from topicx.predict.predictor import Predictor

    return Predictor(Model.load(plan.model), plan.sampling, 1, group=plan.group)


@functools.lru_cache(maxsize=2)
def _match_of(plan: ReadingPlan, path: str, digest: str) -> NDArray[np.int64]:
    """The model's number of each word of a corpus file."""
    with StoredCorpus.open_known(path, digest) as corpus:
        return _predictor(plan).words.match(corpus.vocabulary)
