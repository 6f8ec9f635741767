"""What is counted of words, and instances with fewer of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.cli.mallet.instances import GAPS, VALUES, Instances
from topicx.errors import InputError
from topicx.strings import Strings


def counts(instances: Instances) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Of each word how often it occurs (the sum of its values), and in how many documents."""
    corpus = instances.corpus
    values = corpus.columns.get(VALUES)
    if not isinstance(values, Strings):
        return corpus.word_frequencies.astype(np.float64), corpus.document_frequencies
    weights = np.array([float(value) for one in values for value in one.split()])
    return np.bincount(corpus.words, weights, corpus.n_words), corpus.document_frequencies


def information_gain(instances: Instances) -> NDArray[np.float64]:
    """How much each word's presence in a document says of the document's label, in bits."""
    corpus = instances.corpus
    targets = [instances.target(d) for d in range(len(instances))]
    if any(target is None for target in targets):
        raise InputError("information gain is about labels, and some documents have none")
    number = {name: at for at, name in enumerate(dict.fromkeys(targets))}
    of_document = np.array([number[target] for target in targets], np.int64)
    documents = np.repeat(np.arange(len(instances)), corpus.lengths)
    pairs = np.unique(documents * corpus.n_words + corpus.words)
    cells = (pairs % corpus.n_words) * len(number) + of_document[pairs // corpus.n_words]
    present = np.bincount(cells, minlength=corpus.n_words * len(number)).reshape(corpus.n_words, len(number))
    labels = np.bincount(of_document, minlength=len(number))
    share = present.sum(axis=1) / len(instances)
    return _entropy(labels[None, :])[0] - share * _entropy(present) - (1 - share) * _entropy(labels - present)


def _entropy(rows: NDArray[Any]) -> NDArray[np.float64]:
    total = rows.sum(axis=1, keepdims=True)
    p = np.divide(rows, total, out=np.zeros(rows.shape), where=total > 0)
    return -(p * np.log2(p, out=np.zeros(rows.shape), where=p > 0)).sum(axis=1)


def by_gain(gains: NDArray[np.float64]) -> list[int]:
    """Words by falling gain; the sooner met first where it is the same."""
    return [int(at) for at in np.argsort(-gains, kind="stable")]


def keep_words(instances: Instances, keep: NDArray[np.bool_]) -> Instances:
    """Only these words (a flag each), in their order; documents that lose all of theirs stay."""
    corpus = instances.corpus
    number = np.cumsum(keep) - 1
    kept = keep[corpus.words]
    before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    columns = dict(corpus.columns)
    if isinstance(values := columns.get(VALUES), Strings):
        columns[VALUES] = Strings.of(_remaining(values, kept, corpus.offsets))
    if isinstance(gaps := columns.get(GAPS), Strings):
        columns[GAPS] = Strings.of(_moved(gaps, before, kept, corpus.offsets))
    smaller = replace(
        corpus, words=number[corpus.words[kept]].astype(np.uint32), offsets=before[corpus.offsets],
        vocabulary=corpus.vocabulary.take(np.flatnonzero(keep)), columns=columns, meta=dict(corpus.meta), digest="",
    )  # fmt: skip
    return replace(instances, corpus=smaller)


def _remaining(values: Strings, kept: NDArray[np.bool_], offsets: NDArray[np.int64]) -> Iterator[str]:
    for one, begin, end in zip(values, offsets[:-1].tolist(), offsets[1:].tolist()):
        yield " ".join(value for value, stays in zip(one.split(), kept[begin:end].tolist()) if stays)


def _moved(
    gaps: Strings, before: NDArray[np.int64], kept: NDArray[np.bool_], offsets: NDArray[np.int64]
) -> Iterator[str]:
    """Gaps among fewer tokens; where one has gone there is a gap, too."""
    for places, begin, end in zip(gaps, offsets[:-1].tolist(), offsets[1:].tolist()):
        marked = {begin + int(place) for place in places.split()}
        found, gap = [], False
        for at in range(begin, end):
            gap = gap or at in marked
            if not kept[at]:
                gap = True
                continue
            if gap and before[at] > before[begin]:
                found.append(str(int(before[at] - before[begin])))
            gap = False
        yield " ".join(found)
