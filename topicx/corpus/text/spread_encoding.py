"""Texts to words on the workers of a cluster, an input a piece of work.

A worker reads its input and makes numbers of words by a table of its own; what comes back are batches without texts.
They come in the order of the inputs, so that the corpus is the one that is made without a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from topicx.corpus.build.spooled_columns import snippet_of_text
from topicx.corpus.formats.document_reader import Batch, DocumentReader, Input, ReadOptions
from topicx.corpus.formats.input_bytes import Faults
from topicx.corpus.text.parallel_encoding import Apart, OwnWords
from topicx.corpus.text.tokenizer import Tokenizer
from topicx.engines.places import Places


@dataclass
class ReadPiece:
    """What a worker has read of an input."""

    batches: list[tuple[Batch, Any, Any, Any]]
    """Batches with the numbers of their words, lengths, and the words that are new in this piece (None: no texts)."""
    said: list[str]
    faults: Faults
    consumed: int


def encode_on_places(places: Places, reader: DocumentReader, tokenizer: Tokenizer, snippet: int) -> Iterator[Apart]:
    """The batches of all inputs in order, their texts as words. `snippet`: the characters of texts that are kept."""
    pieces = reader.pieces()
    options = replace(reader.options, faults=Faults(reader.options.faults.policy))
    tasks = ((options, piece, tokenizer, snippet) for piece in pieces)
    for piece, found in zip(pieces, places.stream(read_piece, tasks), strict=True):
        reader.take_piece(piece, found.said, found.faults, found.consumed)
        table = OwnWords()
        tokenizer.ids([], table.words)  # it then knows which words are left out, as the worker's own table does
        for batch, ids, lengths, new in found.batches:
            yield batch, None if ids is None else table, ids, lengths, new


def read_piece(options: ReadOptions, piece: Input, tokenizer: Tokenizer, snippet: int) -> ReadPiece:
    """One input, on a worker."""
    said: list[str] = []
    reader = DocumentReader.of_plan([piece], options, said.append)
    table, batches = OwnWords(), []
    for batch in reader:
        if batch.counts is not None or batch.words is not None:
            batches.append((batch, None, None, None))
            continue
        encoded = table.encode(batch.texts, tokenizer)
        kept = [snippet_of_text(text, snippet) if snippet else "" for text in batch.texts]
        batches.append((replace(batch, texts=kept), *encoded))
    return ReadPiece(batches, said, options.faults, reader.consumed)
