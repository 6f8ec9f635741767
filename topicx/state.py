"""A state: every token's topic, and the priors. What sampling leaves behind, and what every estimator starts from.

A state is complete in itself (tokens, topics, priors, names), so that it can come from any program and go to any.
Counts are functions of it; the running chain keeps its own (see `topicx.sampling.samplers.gibbs`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.estimate import counts as kernel
from topicx.common_methods import Kept, OfDocuments, OfTopics
from topicx.corpus.corpus import Corpus
from topicx.corpus.table import SNIPPET, Packed, Table, Texts
from topicx.errors import InputError
from topicx.files import container
from topicx.files.file_kinds import KINDS, STATE
from topicx.files.schema import Inconsistent, require_consistent
from topicx.strings import Strings, same_arrays, take_rows

NO_TEXTS = Strings.of([])
NONE = 0xFFFF
"""The topic of a token that has not been placed yet."""
MAX_TOPICS = 0xFFFF
_PIECE = 1 << 22
"""Tokens that a thread counts at a time."""
Token = TypeVar("Token", bound=np.generic)

Csr = tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.int64]]
"""Row offsets, topics (ascending within a row) and counts."""


@dataclass
class Seeds:
    """Topics steered by words: integer pseudo-counts of (word, topic) pairs, which add to the prior β of that pair.

    They stand inside the word-topic counts and the topic totals, so that no kernel needs to know of them: a count
    of s in advance is the same as a prior of β + s.
    """

    words: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    topics: NDArray[np.uint16] = field(default_factory=lambda: np.zeros(0, np.uint16))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def of(cls, entries: Iterable[tuple[int, int, int]]) -> Seeds:
        """From (word, topic, count) triples; equal pairs are added."""
        total: dict[tuple[int, int], int] = {}
        for word, topic, count in entries:
            total[word, topic] = total.get((word, topic), 0) + count
        rows = sorted((word, topic, count) for (word, topic), count in total.items())
        return cls(
            np.array([r[0] for r in rows], np.uint32),
            np.array([r[1] for r in rows], np.uint16),
            np.array([r[2] for r in rows], np.int64),
        )

    def by_topic(self, topics: int) -> list[int]:
        """The pseudo-counts of each topic."""
        total = np.zeros(topics, np.int64)
        np.add.at(total, self.topics, self.counts)
        return [int(count) for count in total]


@dataclass(eq=False)
class State(OfDocuments, OfTopics, Kept):
    """Tokens, their topics, and the priors they were sampled under."""

    words: NDArray[np.uint32]
    """Word ids of all tokens, document after document."""
    offsets: NDArray[np.int64]
    """Document d is words[offsets[d]:offsets[d + 1]]."""
    z: NDArray[np.uint16]
    """The topic of each token (65535: not placed)."""
    alpha: NDArray[np.float64]
    """α: a row per group of documents (usually one), a column per topic."""
    beta: NDArray[np.float64]
    """β: the prior weight of each word."""
    vocabulary: Strings
    """The word types; a word id is an index into it."""
    ids: Strings
    """A name per document."""
    groups: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    """The row of `alpha` that each document uses; empty: all use the first."""
    seeds: Seeds = field(default_factory=Seeds)
    """Seed words: counts that topics have in advance."""
    table: Table = field(default_factory=Table)
    """What the documents carry beside their words, if known ("snippet": the beginning of the text)."""
    group_names: Strings = field(default_factory=lambda: Strings.of([]))
    """What the rows of `alpha` are called (collections); empty: they have no names."""
    sources: Strings = field(default_factory=lambda: Strings.of([]))
    """Where each document came from, as MALLET's state files say it; empty: not known."""
    gaps: Strings = field(default_factory=lambda: Strings.of([]))
    """The tokens of each document before which words were left out (numbers, parted by blanks); empty: not known."""
    allowed: tuple[NDArray[np.int64], NDArray[np.uint16]] | None = None
    """The topics that each document may have, as offsets and ascending topics; None: all."""
    paths: int = 1
    """How many assignments of the corpus there are: `z` holds them one after another, each of all tokens."""

    def __post_init__(self) -> None:
        if isinstance(
            self.words, container.Spool
        ):  # it is on disk while it is written, and is verified when it is read
            return
        STATE.verify_object(self, without=("ids", "snippets", "columns", "side"))
        if len(self.z) != self.paths * self.n_tokens:
            raise InputError(f"the state is not consistent: it has {len(self.z):,} topics of {self.n_tokens:,} tokens")

    @property
    def columns(self) -> dict[str, Packed]:
        """What the documents carry but for snippets, as a state file has it."""
        return self.table.without(SNIPPET).packed()

    @property
    def snippets(self) -> Strings:
        """The beginning of each document's text, if known, as a state file has it."""
        found = self.table.get(SNIPPET)
        return found.strings if isinstance(found, Texts) else Strings.of([])

    def is_of(self, corpus: Corpus) -> bool:
        """Whether these are the tokens of this corpus, in their order (their words may have other numbers)."""
        if not np.array_equal(self.offsets, corpus.offsets):
            return False
        if self.vocabulary == corpus.vocabulary:
            return np.array_equal(self.words, corpus.words)
        number = {word: at for at, word in enumerate(corpus.vocabulary)}
        ours = np.array([number.get(word, -1) for word in self.vocabulary], np.int64)
        return np.array_equal(ours[self.words], corpus.words)

    @property
    def placed(self) -> bool:
        """Whether any token has a topic."""
        if self.z.strides == (0,):  # `unplaced_topics`
            return bool((self.z[:1] != NONE).any())
        piece = 1 << 22
        return any(bool((self.z[at : at + piece] != NONE).any()) for at in range(0, len(self.z), piece))

    def __repr__(self) -> str:
        paths = f", {self.paths} paths" if self.paths > 1 else ""
        return f"State({self.n_documents:,} documents, {self.n_tokens:,} tokens, {self.n_topics} topics{paths})"

    def _repr_html_(self) -> str:
        from topicx.report.notebook_tables import state_table

        return state_table(self)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same tokens, topics and priors (not how they came about)."""
        return same_arrays(self.arrays(), other.arrays()) if isinstance(other, State) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def document_alpha(self) -> NDArray[np.float64]:
        """Σ_k α of each document's group, over the topics that the document may have."""
        if self.allowed is not None:
            offsets, topics = self.allowed
            group = np.repeat(self.groups, np.diff(offsets)) if len(self.groups) else 0
            document = np.repeat(np.arange(self.n_documents), np.diff(offsets))
            return np.bincount(document, self.alpha[group, topics], self.n_documents).astype(np.float64, copy=False)
        sums = self.alpha.sum(axis=1)
        return sums[self.groups] if len(self.groups) else np.full(self.n_documents, sums[0])

    def document_topics(self) -> Csr:
        """n_dk as row offsets, topics and counts; of several paths, the counts of all together."""
        return document_topics(*self.gathered(), self.n_topics)

    def word_topics(self) -> Csr:
        """n_kw as row offsets (a row a word), topics and counts; pseudo-counts of seed words included."""
        return word_topics(self.words, self.z, self.n_words, self.n_topics, self.seeds)

    def topic_totals(self) -> NDArray[np.int64]:
        """n_k, pseudo-counts of seed words included."""
        return topic_totals(self.z, self.n_topics, self.seeds)

    # -- paths -------------------------------------------------------------------------------------------------

    def gathered(self) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
        """Topics document after document, those of a document's paths together, and where each document's begin."""
        if self.paths == 1:
            return self.z, self.offsets
        return self._interleave(self.z.reshape(self.paths, -1)), self.paths * self.offsets

    def part(self, first: int, last: int) -> State:
        """The documents first..last of a state with one path, as they are: not copied, and without names."""
        own = slice(int(self.offsets[first]), int(self.offsets[last]))
        groups = self.groups[first:last] if len(self.groups) else self.groups
        offsets = self.offsets[first : last + 1] - self.offsets[first]
        return self._without_names(words=self.words[own], z=self.z[own], offsets=offsets, groups=groups)

    def thinned(self, chosen: NDArray[np.bool_]) -> State:
        """All documents of a state with one path, but of their tokens these alone, and without names."""
        before = np.concatenate([[0], np.cumsum(chosen)])
        return self._without_names(words=self.words[chosen], z=self.z[chosen], offsets=before[self.offsets])

    def _without_names(self, **arrays: Any) -> State:
        return replace(
            self, ids=NO_TEXTS, sources=NO_TEXTS, gaps=NO_TEXTS, table=Table(), side={}, extra={}, digest="", **arrays
        )  # fmt: skip

    def path(self, number: int) -> State:
        """One of the assignments (counted from 0), as a state of its own; its word counts are its own alone."""
        if not 0 <= number < self.paths:
            raise InputError(f"path: {number} is not one of the state's {self.paths}, which are counted from 0")
        own = slice(number * self.n_tokens, (number + 1) * self.n_tokens)
        return replace(self, z=self.z[own].copy(), paths=1, meta=dict(self.meta), digest="")

    def spread(self) -> State:
        """This state with a document for each path: document d of path m is number d·paths + m, and there is one
        path."""
        if self.paths == 1:
            return self
        rows = self._interleaved()
        source = rows % self.n_documents
        words = self._interleave(np.broadcast_to(self.words, (self.paths, self.n_tokens)))
        offsets = np.append(0, np.cumsum(self.lengths[source]))
        groups = self.groups[source] if len(self.groups) else self.groups
        return replace(
            self, words=words, offsets=offsets, z=self.gathered()[0], ids=self.ids.take(source), groups=groups,
            sources=NO_TEXTS, gaps=NO_TEXTS, table=self.table.take(source), paths=1, extra={}, meta=dict(self.meta),
            digest="",
        )  # fmt: skip

    def _interleave(self, values: NDArray[Token]) -> NDArray[Token]:
        """Token values, a row for each path, as one row: a document's of all paths together. In batches, since an index
        of all tokens would be larger than they are."""
        out = np.empty(values.size, values.dtype)
        for begin, end in document_batches(self.offsets, 1 << 18):
            bounds = self.offsets[begin : end + 1]
            part = np.ascontiguousarray(values[:, bounds[0] : bounds[-1]]).reshape(-1)
            rows = np.arange(self.paths * (end - begin)).reshape(self.paths, -1).T.reshape(-1)
            where = slice(self.paths * bounds[0], self.paths * bounds[-1])
            out[where], _ = take_rows(part, over_paths(bounds - bounds[0], self.paths), rows)
        return out

    def _interleaved(self) -> NDArray[np.int64]:
        """The documents of all paths (number m·D + d), a document's one after another."""
        rows = np.arange(self.paths)[None, :] * self.n_documents + np.arange(self.n_documents)[:, None]
        return rows.reshape(-1)

    def verify(self) -> None:
        """Raise InputError unless every array is as a state file has it, and fits every other."""
        try:
            STATE.verify(self.arrays())
            require_consistent(
                self.paths == 1 or len(self.z) == self.paths * self.n_tokens, f"{self.paths} paths and another z"
            )
        except Inconsistent as problem:
            raise InputError(f"the state is not consistent: it has {problem}") from None

    # -- files -------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays as a state file names them."""
        return STATE.pack(self)

    def save(self, path: str | os.PathLike[str]) -> str:
        self.digest = container.write(path, STATE, self.arrays(), self.meta, self.parents)
        return self.digest

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> State:
        """Read a state file, every byte verified."""
        return cls.from_file(container.read(path, STATE))

    @classmethod
    def from_file(cls, file: container.File) -> State:
        """A state from a file that was read by its schema (or by that of checkpoints, which hold one)."""
        found = STATE.unpack(file.arrays)
        seeds = Seeds(*(found.pop(f"seeds.{name}") for name in ("words", "topics", "counts")))
        found["extra"] = KINDS[file.kind].unknown(file.arrays)
        snippets, columns = found.pop("snippets"), found.pop("columns")
        found["table"] = Table.unpacked(columns | ({SNIPPET: snippets} if len(snippets) else {}))
        paths = file.sizes.get("paths", 1)
        return cls(**found, seeds=seeds, paths=paths, meta=file.meta, parents=file.parents, digest=file.digest)


def unplaced_topics(tokens: int) -> NDArray[np.uint16]:
    """Topics of so many tokens none of which is placed, in no memory: read only."""
    return np.broadcast_to(np.uint16(NONE), tokens)


def over_paths(offsets: NDArray[np.int64], paths: int) -> NDArray[np.int64]:
    """Where the documents of every path begin in the assignments of all paths."""
    if paths == 1:
        return offsets
    begins = (offsets[:-1] + offsets[-1] * np.arange(paths)[:, None]).reshape(-1)
    return np.append(begins, paths * offsets[-1])


def document_batches(offsets: NDArray[np.int64], tokens: int) -> Iterator[tuple[int, int]]:
    """Runs of rows (begin, end) of about this many entries together: what bounds the memory of a pass over all."""
    begin, last = 0, len(offsets) - 1
    while begin < last:
        end = int(np.searchsorted(offsets, offsets[begin] + tokens, side="right")) - 1
        end = min(max(end, begin + 1), last)
        yield begin, end
        begin = end


def document_topics(z: NDArray[np.uint16], offsets: NDArray[np.int64], topics: int) -> Csr:
    """n_dk in linear time; a batch of rows at a time has room for an entry a token."""
    z = np.ascontiguousarray(z)  # where no token is placed it is one number, seen many times
    indptr = np.zeros(len(offsets), np.int64)
    columns: list[NDArray[np.uint16]] = []
    values: list[NDArray[np.int64]] = []
    for begin, end in document_batches(offsets, 1 << 20):
        room = int(offsets[end] - offsets[begin])
        found, counts = np.empty(room, np.uint16), np.empty(room, np.int64)
        used = kernel.count_rows(z, offsets, begin, end, topics, indptr[begin + 1 : end + 1], found, counts)
        columns.append(found[:used].copy())
        values.append(counts[:used].copy())
    np.cumsum(indptr, out=indptr)
    if len(columns) == 1:
        return indptr, columns[0], values[0]
    return indptr, np.concatenate([np.zeros(0, np.uint16), *columns]), np.concatenate([np.zeros(0, np.int64), *values])


def word_topics(words: NDArray[np.uint32], z: NDArray[np.uint16], n_words: int, topics: int, seeds: Seeds) -> Csr:
    """n_kw, seeds included, in linear time: the tokens are grouped by word, then counted as documents are. z may hold
    the topics of several paths over these words, one after another."""
    paths = len(z) // max(len(words), 1)
    offsets = np.zeros(n_words + 1, np.int64)
    kernel.add_word_counts(np.ascontiguousarray(words), offsets[1:])
    offsets = paths * np.cumsum(offsets)
    grouped, position = np.empty(len(z), np.uint16), offsets.copy()
    for path in range(paths):
        part = np.ascontiguousarray(z[path * len(words) : (path + 1) * len(words)])
        kernel.group_by_word(words, part, position, grouped)
    found = document_topics(grouped, offsets, topics)
    return _with_seeds(found, topics, seeds) if len(seeds) else found


def _with_seeds(counts: Csr, topics: int, seeds: Seeds) -> Csr:
    """Counts by word, the pseudo-counts added where they belong."""
    indptr, columns, values = counts
    words = len(indptr) - 1
    keys = np.repeat(np.arange(words), np.diff(indptr)) * topics + columns
    pairs: NDArray[np.int64] = seeds.words.astype(np.int64) * topics + seeds.topics
    wanted, which = np.unique(pairs, return_inverse=True)
    extra = np.zeros(len(wanted), np.int64)
    np.add.at(extra, which, seeds.counts)
    at: NDArray[np.int64] = np.searchsorted(keys, wanted)
    known = np.append(keys, -1)[at] == wanted
    values[at[known]] += extra[known]
    at, extra, wanted = at[~known], extra[~known], wanted[~known]
    more = np.bincount(wanted // topics, minlength=words)
    indptr = indptr + np.concatenate([[0], np.cumsum(more)])
    return indptr, np.insert(columns, at, (wanted % topics).astype(np.uint16)), np.insert(values, at, extra)


def topic_totals(
    z: NDArray[np.uint16], topics: int, seeds: Seeds, share: Callable[[Callable[[int], Any], range], Any] = map
) -> NDArray[np.int64]:
    """n_k, seeds included. `share`, an engine's map, counts pieces of z at the same time."""

    def count(begin: int) -> NDArray[np.int64]:
        totals = np.zeros(NONE, np.int64)
        kernel.add_topic_counts(np.ascontiguousarray(z[begin : begin + _PIECE]), totals)
        return totals[:topics]

    totals: NDArray[np.int64] = sum(share(count, range(0, len(z), _PIECE)), np.zeros(topics, np.int64))
    np.add.at(totals, seeds.topics, seeds.counts)
    return totals
