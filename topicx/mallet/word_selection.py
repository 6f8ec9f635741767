"""What is counted of words, and instances with fewer of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.mallet.instance_lists import GAPS, VALUES, Instances
from topicx.mallet.option_language import Parsed
from topicx.strings import Strings


def word_counts(instances: Instances) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Counts of each word: how often it occurs (the sum of its values), and in how many documents."""
    corpus = instances.corpus
    values = corpus.columns.get(VALUES)
    if not isinstance(values, Strings):
        return corpus.word_frequencies.astype(np.float64), corpus.document_frequencies
    weights = np.array([float(value) for one in values for value in one.split()])
    return np.bincount(corpus.words, weights, corpus.n_words).astype(np.float64), corpus.document_frequencies


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
    having = present.sum(axis=1)
    share, rest = having / len(instances), (len(instances) - having) / len(instances)
    return (
        _entropy_of_rows(labels[None, :])[0]
        - share * _entropy_of_rows(present)
        - rest * _entropy_of_rows(labels - present)
    )


def _entropy_of_rows(rows: NDArray[Any]) -> NDArray[np.float64]:
    """In bits, label after label as MALLET adds: the last digits decide between words that say as much."""
    total = rows.sum(axis=1)
    found = np.zeros(len(rows))
    for column in rows.T:
        p = np.divide(column, total, out=np.zeros(len(rows)), where=total > 0)
        found -= p * np.log(p, out=np.zeros(len(rows)), where=p > 0) / np.log(2)
    return found


def by_gain(gains: NDArray[np.float64], number: int) -> list[int]:
    """The words that say most, by selection and exchange, as MALLET sorts: it decides the order of equal ones."""
    order, left = np.arange(len(gains)), gains.copy()
    for rank in range(min(number, len(gains))):
        best = rank + int(np.argmax(left[rank:]))
        order[[rank, best]], left[[rank, best]] = order[[best, rank]], left[[best, rank]]
    return [int(at) for at in order[:number]]


def keep_words(instances: Instances, keep: NDArray[np.bool_]) -> Instances:
    """Only these words (a flag each), in their order; documents that lose all of theirs stay."""
    corpus = instances.corpus
    number = np.cumsum(keep) - 1
    kept = keep[corpus.words]
    before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    columns = dict(corpus.columns)
    if isinstance(values := columns.get(VALUES), Strings):
        columns[VALUES] = Strings.of(_remaining_values(values, kept, corpus.offsets))
    if isinstance(gaps := columns.get(GAPS), Strings):
        columns[GAPS] = Strings.of(_move_gaps(gaps, before, kept, corpus.offsets))
    smaller = replace(
        corpus, words=number[corpus.words[kept]].astype(np.uint32), offsets=before[corpus.offsets],
        vocabulary=corpus.vocabulary.take(np.flatnonzero(keep)), columns=columns, meta=dict(corpus.meta), digest="",
    )  # fmt: skip
    return replace(instances, corpus=smaller)


def _remaining_values(values: Strings, kept: NDArray[np.bool_], offsets: NDArray[np.int64]) -> Iterator[str]:
    for one, begin, end in zip(values, offsets[:-1].tolist(), offsets[1:].tolist()):
        yield " ".join(value for value, stays in zip(one.split(), kept[begin:end].tolist()) if stays)


def _move_gaps(
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


def within_limits(instances: Instances, parsed: Parsed) -> NDArray[np.bool_]:
    """Which words the limits on tokens and documents leave."""
    tokens, documents = word_counts(instances)
    least, most = 0, len(instances)
    if "prune-document-freq" in parsed.given:
        least = parsed["prune-document-freq"]
    if "max-idf" in parsed.given:
        least = math.floor(len(instances) * math.exp(-parsed["max-idf"]))
    if "min-idf" in parsed.given:
        most = math.ceil(len(instances) * math.exp(-parsed["min-idf"]))
    keep: NDArray[np.bool_] = (documents >= least) & (documents <= most)
    return keep & (tokens >= parsed["prune-count"]) if "prune-count" in parsed.given else keep


def without_rare_and_common(instances: Instances, least: int, share: float) -> Instances:
    """Without words of fewer tokens than `least`, and without those in more than this share of the documents."""
    corpus = instances.corpus
    keep = (corpus.word_frequencies >= max(least, 1)) & (corpus.document_frequencies <= share * max(len(instances), 1))
    return keep_words(instances, keep)
