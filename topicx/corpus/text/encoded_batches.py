"""Batches of texts as word ids of a fixed vocabulary: what inference on a stream reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.formats.document_reader import Batch, Counts
from topicx.corpus.text.tokenizer import Encoder

Encoded = tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]
"""Word ids, and the known and unknown words of each document."""


@dataclass
class EncodedBatch(Batch):
    """A batch of whole documents with their words."""

    encoded: Encoded = (np.zeros(0, np.uint32), np.zeros(0, np.int64), np.zeros(0, np.int64))


def whole_documents(batches: Iterable[Batch], encoder: Encoder) -> Iterator[EncodedBatch]:
    """The batches with word ids; the pieces of a long document are one document (its text is that of its first)."""
    open_one: tuple[Batch, list[Encoded]] | None = None
    for batch in batches:
        if batch.counts is not None:
            yield _with_encoded_words(batch, EncodedBatch.encoded)
            continue
        encoded = encoder.word_ids(batch.texts if batch.words is None else None, batch.words or ())
        lengths = encoded[1]
        if batch.continues and open_one is not None:
            open_one[1].append(_slice_encoded(encoded, 0, 1))
            if len(lengths) == 1 and batch.open:
                continue
            yield _join_encoded_parts(*open_one)
            open_one = None
        end = len(lengths) - int(batch.open)
        begin = int(batch.continues)
        if end > begin:
            yield _with_encoded_words(_slice_batch(batch, begin, end), _slice_encoded(encoded, begin, end))
        if batch.open:
            open_one = _slice_batch(batch, end, end + 1), [_slice_encoded(encoded, end, end + 1)]


def _with_encoded_words(batch: Batch, encoded: Encoded) -> EncodedBatch:
    return EncodedBatch(**{name: getattr(batch, name) for name in batch.__dataclass_fields__}, encoded=encoded)


def _join_encoded_parts(batch: Batch, parts: list[Encoded]) -> EncodedBatch:
    words = np.concatenate([part[0] for part in parts])
    lengths, unknown = (np.array([sum(int(part[i][0]) for part in parts)], dtype=np.int64) for i in (1, 2))
    return _with_encoded_words(batch, (words, lengths, unknown))


def _slice_encoded(encoded: Encoded, begin: int, end: int) -> Encoded:
    words, lengths, unknown = encoded
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return words[ends[begin] : ends[end]], lengths[begin:end].astype(np.int64), unknown[begin:end]


def _slice_batch(batch: Batch, begin: int, end: int) -> Batch:
    """Some of a batch's documents, with what they carry."""

    def cut(values: Any) -> Any:
        return None if values is None else values[begin:end]

    return replace(
        batch, lines=cut(batch.lines), texts=batch.texts[begin:end], words=cut(batch.words), ids=cut(batch.ids),
        labels=cut(batch.labels), collections=cut(batch.collections), times=cut(batch.times),
        columns={name: values[begin:end] for name, values in batch.columns.items()}, continues=False, open=False,
    )  # fmt: skip


def name_count_words(counts: Counts) -> Counts:
    """Counts with a vocabulary: words that are numbers become the names that import gives them."""
    if counts.vocabulary is not None:
        return counts
    numbers, places = np.unique(counts.words, return_inverse=True)
    names = [str(number + counts.base) for number in numbers.tolist()]
    return Counts(places.reshape(-1).astype(np.int64), counts.counts, counts.lengths, names)
