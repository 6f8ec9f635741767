"""The documents of a report, from the state of the run, a corpus or a table of θ: what they carry and their largest
shares of topics, gathered in one pass over θ whose memory does not grow with documents times topics.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.corpus.table import SNIPPET, Table, Texts
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.estimate import theta_rows
from topicx.estimate.topic_edits import follow_model_edits
from topicx.model import Model
from topicx.report.report_groups import GroupedShares, plan_groups
from topicx.state import State
from topicx.strings import Strings
from topicx.tables.theta_reader import read_theta
from topicx.views.topics_by_column import inferred_rows

GivenShares = tuple[Strings, Table, NDArray[np.float32]]
"""Documents' names, what they carry, and their shares, from another program's table."""
Batches = Iterable[tuple[int, NDArray[Any]]]
LEAST = 0.01
"""The least share of a topic that a report keeps of a document."""
LEVELS = (0.1, 0.5)
"""Shares from which on documents are counted."""
TYPICAL = 20
"""Typical documents a topic."""


@dataclass
class CollectedDocuments:
    """Documents, their largest shares, and the mean shares of groups of them."""

    source: str
    """Source of the documents: state, corpus or table."""
    ids: Strings
    columns: Table
    lengths: NDArray[np.int64]
    """Counted words of each."""
    texts: Strings
    """The beginning of each text, or all of it; empty: not known."""
    indptr: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    topics: NDArray[np.uint16] = field(default_factory=lambda: np.zeros(0, np.uint16))
    shares: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    """The shares from LEAST on: a row a document, the largest first."""
    above: NDArray[np.int64] = field(default_factory=lambda: np.zeros((len(LEVELS), 0), np.int64))
    """Levels × topics: documents with at least such a share."""
    mean: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """The mean share of each topic over documents with words."""
    by: list[GroupedShares] = field(default_factory=list)
    state: State | None = None
    """The state, where every word's topic is known."""
    bag: Corpus | State | None = None
    """The documents' words, where they are known."""
    whole: bool = True
    """Whether all shares of the documents were known, not the largest alone."""
    counted: bool = True
    """Whether the documents' words were counted: other programs' tables of shares do not tell them."""

    def __len__(self) -> int:
        return len(self.lengths)

    def typical(self, n_topics: int, number: int = TYPICAL) -> list[list[tuple[int, float]]]:
        """Each topic's documents with the largest shares, from half the median length on."""
        floor = np.median(self.lengths[self.lengths > 0]) / 2 if np.any(self.lengths > 0) else 0
        document = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        kept = self.lengths[document] >= max(floor, 1)
        document, topic, share = document[kept], self.topics[kept], self.shares[kept]
        order = np.lexsort((document, -share, topic))
        ranked = topic[order]
        rank = np.arange(len(order)) - np.searchsorted(ranked, ranked, side="left")
        order = order[rank < number]
        found: list[list[tuple[int, float]]] = [[] for _ in range(n_topics)]
        for at in order.tolist():
            found[int(topic[at])].append((int(document[at]), float(share[at])))
        return found


class _Shares:
    """Gathers θ batch by batch."""

    def __init__(self, n_topics: int, least: float) -> None:
        self.least, self.lengths = least, [np.zeros(1, np.int64)]
        self.topics: list[NDArray[np.uint16]] = []
        self.shares: list[NDArray[np.float32]] = []
        self.above = np.zeros((len(LEVELS), n_topics), np.int64)
        self.total = np.zeros(n_topics)
        self.counted = 0

    def add(self, rows: NDArray[Any], lengths: NDArray[np.int64]) -> None:
        rows = np.where(lengths[:, None] > 0, rows, 0)  # θ of a document without words is the prior's
        document, topic = np.nonzero(rows >= self.least)
        share = rows[document, topic].astype(np.float32)
        order = np.lexsort((topic, -share, document))
        self.lengths.append(np.bincount(document, minlength=len(rows)))
        self.topics.append(topic[order].astype(np.uint16))
        self.shares.append(share[order])
        for at, level in enumerate(LEVELS):
            self.above[at] += (rows >= level).sum(axis=0)
        self.total += rows.sum(axis=0, dtype=np.float64)
        self.counted += int((lengths > 0).sum())

    def give_to(self, documents: CollectedDocuments) -> None:
        documents.indptr = np.cumsum(np.concatenate(self.lengths))
        documents.topics = np.concatenate([np.zeros(0, np.uint16), *self.topics])
        documents.shares = np.concatenate([np.zeros(0, np.float32), *self.shares])
        documents.above, documents.mean = self.above, self.total / max(self.counted, 1)


def collected_documents(
    model: Model, *, state: str | os.PathLike[str] | State | None = None,
    corpus: str | os.PathLike[str] | Corpus | None = None, doc_topics: str | os.PathLike[str] | None = None,
    shares: GivenShares | None = None, by: Sequence[str] = (), unit: str | None = None, way: str | None = None,
    seed: int = 1, threads: int | Engine = 0,
) -> CollectedDocuments | None:  # fmt: skip
    """The documents of the one source that is given; None: of none. way: how shares of groups are found, of SHARES."""
    if sum(one is not None for one in (state, corpus, doc_topics)) > 1:
        raise InputError("the documents are those of --state, of --corpus or of --doc-topics, not of several")
    if state is not None:
        documents, theta = _of_state(model, state, threads)
    elif corpus is not None:
        documents, theta = _of_corpus(model, corpus, seed, threads)
    elif doc_topics is not None:
        documents, theta = _of_table(model, os.fspath(doc_topics))
    elif shares is not None:
        ids, columns, rows = shares
        ones = np.ones(len(rows), np.int64)
        documents = CollectedDocuments("shares", ids, columns, ones, Strings.of([]), counted=False)
        theta = [(0, rows)]
    else:
        if by:
            raise InputError("--by: needs documents: --state, --corpus or --doc-topics")
        return None
    plan = plan_groups(documents.columns, by, unit, way, model, documents.bag, documents.lengths)
    plan.begin(documents.lengths)
    gathered = _Shares(model.n_topics, LEAST)
    for begin, rows in theta:
        gathered.add(rows, documents.lengths[begin : begin + len(rows)])
        for one in plan.sums:
            one.add(begin, rows)
    gathered.give_to(documents)
    documents.by = plan.result(model, documents.bag, seed, threads)
    return documents


def _of_state(
    model: Model, state: str | os.PathLike[str] | State, threads: int | Engine
) -> tuple[CollectedDocuments, Batches]:  # fmt: skip
    from topicx.interop import read_state

    held = state if isinstance(state, State) else read_state(state)
    why = model.unlike(held)
    if why is not None:
        raise InputError(f"--state: it is not of the model's run: {why}")
    held = follow_model_edits(held, model)
    columns, texts = _split_snippets(held.table)
    documents = CollectedDocuments("state", held.ids, columns, held.lengths, texts, state=held, bag=held)
    return documents, theta_rows(held, threads=threads)


def _of_corpus(
    model: Model, corpus: str | os.PathLike[str] | Corpus, seed: int, threads: int | Engine
) -> tuple[CollectedDocuments, Batches]:  # fmt: skip
    held = corpus if isinstance(corpus, Corpus) else Corpus.load(corpus)
    columns, texts = _split_snippets(held.table)
    theta, lengths = inferred_rows(model, held, seed, threads)
    return CollectedDocuments("corpus", held.ids, columns, lengths, texts, bag=held), theta


def _of_table(model: Model, path: str) -> tuple[CollectedDocuments, Batches]:
    table = read_theta(path, model.called or [str(k) for k in range(model.n_topics)])
    columns, texts = _split_snippets(table.columns)
    documents = CollectedDocuments("table", table.ids, columns, table.lengths, texts, whole=table.whole)
    return documents, [(0, table.theta)]


def _split_snippets(table: Table) -> tuple[Table, Strings]:
    """What documents carry, and apart from it the beginnings of their texts."""
    texts = table.get(SNIPPET)
    return table.without(SNIPPET), texts.strings if isinstance(texts, Texts) else Strings.of([])
