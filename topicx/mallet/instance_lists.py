"""Instance lists: what MALLET calls the documents of an import. They are topicx's corpus files, with what MALLET's
commands need beside: the text pipeline, the order of labels, each document's source, and gaps between tokens.

A vector (made without --keep-sequence) is kept as tokens too, sorted by word; where a value is no whole number, the
values are a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import MAP_FROM, Corpus
from topicx.corpus.formats.input_bytes import InputSource
from topicx.errors import InputError
from topicx.files import container
from topicx.files.file_kinds import CORPUS
from topicx.interop import mallet_numbers as numbers
from topicx.mallet.text_pipe import Pipe, Tokens
from topicx.state import State
from topicx.strings import Strings

JAVA = b"\xac\xed\x00\x05"
"""How Java's own serialization begins."""
SEQUENCES = ("sequence", "bigrams")
SOURCE, GAPS, VALUES, TARGETS = "mallet_source", "mallet_gaps", "mallet_values", "mallet_targets"
"""Columns of the corpus: the source of the state; places of gaps; values of vectors; values of labels as features."""


@dataclass
class Instances:
    """Documents, and what MALLET knows of them."""

    corpus: Corpus
    form: str = "sequence"
    pipe: Pipe | None = None
    labels: list[str] = field(default_factory=list)
    """The labels in order of first appearance."""
    hidden: bool = False
    """Whether --hide-targets was here."""

    def __len__(self) -> int:
        return self.corpus.n_documents

    @property
    def is_sequence(self) -> bool:
        return self.form in SEQUENCES

    @property
    def sources(self) -> list[str] | None:
        column = self.corpus.columns.get(SOURCE)
        return list(column) if isinstance(column, Strings) else None

    def joined(self) -> NDArray[np.bool_] | None:
        """Whether each token follows the one before it without a gap (None: nobody counted gaps)."""
        column = self.corpus.columns.get(GAPS)
        if self.form != "bigrams" or not isinstance(column, Strings):
            return None
        close = np.ones(self.corpus.n_tokens, np.bool_)
        filled = self.corpus.lengths > 0
        close[self.corpus.offsets[:-1][filled]] = False
        for begin, places in zip(self.corpus.offsets.tolist(), column):
            close[[begin + int(place) for place in places.split()]] = False
        return close

    def target(self, document: int) -> str | None:
        """The label of a document (None: it has none)."""
        if self.hidden or not len(self.corpus.label_offsets):
            return None
        names = self.corpus.labels(document)
        values = self.corpus.columns.get(TARGETS)
        if isinstance(values, Strings):  # a label that is a list of features
            shown = zip(names, values[document].split())
            return "".join(f"{name}({self.labels.index(name)})={value}\n" for name, value in shown)
        return names[0] if names else None

    def vector(self, document: int) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """The words of a document in the order of their numbers, and their values."""
        corpus = self.corpus
        tokens = corpus.words[corpus.offsets[document] : corpus.offsets[document + 1]]
        values = corpus.columns.get(VALUES)
        if isinstance(values, Strings):
            return tokens, np.array([float(value) for value in values[document].split()])
        words, counts = np.unique(tokens, return_counts=True)
        return words, counts.astype(np.float64)

    def save(self, path: str) -> None:
        """Write them as a corpus file."""
        about = {
            "form": self.form, "pipe": self.pipe.to_meta() if self.pipe else None, "labels": self.labels,
            "hidden": self.hidden,
        }  # fmt: skip
        tokenizer = self.pipe.tokenizer_meta() if self.pipe else None
        self.corpus.meta = dict(self.corpus.meta) | {"mallet": about, "tokenizer": tokenizer}
        self.corpus.save(path)

    def select(self, documents: Any, hidden: bool | None = None) -> Instances:
        """These documents; words and labels keep their numbers."""
        hidden = self.hidden if hidden is None else hidden
        return Instances(self.corpus.select(documents), self.form, self.pipe, self.labels, hidden)


def load_instances(path: str, option: str = "--input") -> Instances:
    """Read instances; what MALLET itself wrote is recognised, and refused."""
    with InputSource(path) as source:
        start = source.peek(4)
        if start == JAVA:
            raise InputError(java_refused(path, "import-file or import-dir"))
        corpus = Corpus.from_file(container.read(source.shown, CORPUS, source.blocks(), map_from=MAP_FROM))
    corpus.truth = {}  # of synthetic corpora: what is made of instances is no draw from it any more
    about = corpus.meta.get("mallet") or {}
    try:
        pipe = Pipe.from_meta(about["pipe"]) if about.get("pipe") else None
    except (AttributeError, TypeError, ValueError):
        raise InputError(f"{path}: the metadata 'pipe' is in a form that topicx does not write") from None
    labels = list(about.get("labels") or corpus.label_names)
    return Instances(corpus, about.get("form", "sequence"), pipe, labels, bool(about.get("hidden")))


def java_refused(path: str, maker: str) -> str:
    return (
        f"{path}: was written by MALLET itself, in Java's serialization, which topicx does not read; "
        f"make it again with 'topicx mallet {maker}'"
    )


def load_sequences(path: str) -> Instances:
    """Instances that topics can be found in."""
    instances = load_instances(path)
    if not instances.is_sequence:
        raise InputError(
            f"{path}: holds vectors, and topic modeling needs sequences: use --keep-sequence when importing data "
            "(or 'topicx mallet prune --vector-to-sequence')"
        )
    return instances


def instances_of_state(state: State) -> Instances:
    """The documents of a state; their sources are their names, where it has names of its own."""
    named = [name != str(at) for at, name in enumerate(state.ids)]
    columns: dict[str, Any] = {SOURCE: state.ids} if any(named) else {}
    corpus = Corpus(
        words=state.words, offsets=state.offsets, vocabulary=state.vocabulary, columns=columns,
        ids=Strings.of(name if known else "null" for name, known in zip(state.ids, named)),
    )  # fmt: skip
    return Instances(corpus)


# -- making them ---------------------------------------------------------------------------------------------------


@dataclass
class RawTexts:
    """Some documents on their way in."""

    names: list[str]
    texts: list[str]
    labels: list[str] | None = None
    sources: list[str] | None = None
    features: list[list[tuple[str, float]]] | None = None
    """Labels that are lists of features, instead of `labels`."""


class InstanceBuilder:
    """Texts become instances, batch by batch; tokens wait on disk."""

    def __init__(self, pipe: Pipe, like: Instances | None = None) -> None:
        self.pipe = pipe
        self.tokens = Tokens(pipe, like.corpus.vocabulary if like else ())
        self.labels = {label: number for number, label in enumerate(like.labels)} if like else {}
        self._ids, self._lengths = container.Spool(np.uint32), container.Spool(np.int64)
        self._names: list[str] = []
        self._sources: list[str] = []
        self._label_of: list[list[str]] = []
        self._gaps: list[str] = []
        self._targets: list[str] = []

    def __enter__(self) -> InstanceBuilder:
        return self

    def __exit__(self, *_: object) -> None:
        self._ids.close()
        self._lengths.close()

    def add(self, batch: RawTexts) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Add documents; returns their tokens and lengths."""
        ids, lengths, gaps = self.tokens.encode(batch.texts)
        if self.pipe.form == "vector":
            ids, lengths = _as_vectors(ids, lengths, self.pipe.binary)
        self._ids.append(ids)
        self._lengths.append(lengths)
        self._names += batch.names
        if batch.sources is not None:
            self._sources += batch.sources
        if batch.labels is not None:
            for label in batch.labels:
                self.labels.setdefault(label, len(self.labels))
                self._label_of.append([label])
        for features in batch.features or ():
            values: dict[str, float] = {}
            for name, value in features:
                self.labels.setdefault(name, len(self.labels))
                values[name] = values.get(name, 0.0) + value
            ordered = sorted(values, key=self.labels.__getitem__)
            self._label_of.append(ordered)
            self._targets.append(" ".join(numbers.java_double(values[name]) for name in ordered))
        if gaps is not None:
            self._gaps += [" ".join(map(str, places)) for places in gaps]
        return ids, lengths

    def finish(self) -> Instances:
        """The instances."""
        lengths = np.concatenate([*self._lengths.chunks(), np.zeros(0, np.int64)])
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        columns: dict[str, Any] = {}
        if self._sources:
            columns[SOURCE] = Strings.of(_strip_surrogates(self._sources))
        if self._gaps:
            columns[GAPS] = Strings.of(self._gaps)
        if self._targets:
            columns[TARGETS] = Strings.of(self._targets)
        corpus = Corpus(
            words=_tokens_of(self._ids), offsets=offsets, vocabulary=Strings.of(self.tokens.known),
            ids=Strings.of(_strip_surrogates(self._names)), columns=columns, **labels_of(self._label_of, self.labels),
        )  # fmt: skip
        return Instances(corpus, self.pipe.form, self.pipe, list(self.labels))


def _strip_surrogates(names: Sequence[str]) -> list[str]:
    """Without halves of pairs, which no encoding can write."""
    return [name if name.isascii() else name.encode("utf-8", "replace").decode() for name in names]


def _tokens_of(spool: container.Spool) -> NDArray[np.uint32]:
    tokens, at = np.empty(spool.size, np.uint32), 0
    for piece in spool.chunks(1 << 22):
        tokens[at : at + len(piece)] = piece
        at += len(piece)
    return tokens


def _as_vectors(
    ids: NDArray[np.uint32], lengths: NDArray[np.int64], binary: bool
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Tokens sorted within each document; `binary`: each word once."""
    documents = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((ids, documents))
    ids = ids[order]
    if not binary:
        return ids, lengths
    fresh = np.ones(len(ids), np.bool_)
    fresh[1:] = (ids[1:] != ids[:-1]) | (documents[1:] != documents[:-1])
    return ids[fresh], np.bincount(documents[fresh], minlength=len(lengths)).astype(np.int64)


def labels_of(per_document: list[list[str]], order: Iterable[str]) -> dict[str, Any]:
    """The arrays of a corpus for these labels; none at all where no document has a list of them."""
    if not per_document:
        return {}
    names = sorted(set(order) | {label for labels in per_document for label in labels})
    number = {name: at for at, name in enumerate(names)}
    return {
        "label_names": Strings.of(_strip_surrogates(names)),
        "label_ids": np.array([number[label] for labels in per_document for label in labels], np.uint32),
        "label_offsets": np.concatenate([[0], np.cumsum([len(labels) for labels in per_document])]).astype(np.int64),
    }
