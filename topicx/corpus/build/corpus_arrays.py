"""The last pass of an import: what was gathered, with the words that were chosen, as the arrays of a corpus file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.text.tokens import Words
from topicx._kernels.text.word_ids import renumber_words
from topicx.corpus.build.gathering import Gathered
from topicx.corpus.build.spooled_rows import PIECE, Lengths, offsets_of, read_bounded_pieces
from topicx.corpus.build.word_choice import ChosenWords
from topicx.engines.threads import make_items_ahead
from topicx.errors import InputError
from topicx.files import container
from topicx.strings import Strings


def make_corpus_arrays(
    gathered: Gathered, chosen: ChosenWords, drop_empty: bool, ahead: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays of the corpus, some of them spools, and what its metadata says of them. ahead: whether another thread
    renumbers while this one writes."""
    if not gathered.n_documents:
        raise InputError("no documents in the input")
    words, lengths = renumber_tokens(gathered, chosen.mapping(len(gathered.words)), ahead)
    if not words.size and gathered.known_words is None:
        raise InputError(_nothing_left(gathered))
    empty = sum(int((piece == 0).sum()) for piece in lengths.chunks(PIECE))
    dropped = empty if drop_empty else 0
    arrays = {
        "words": words,
        "offsets": offsets_of(gathered.new, lengths, filled_only=dropped > 0),
        "word_frequencies": chosen.tokens,
        "document_frequencies": chosen.documents,
        **vocabulary_of(gathered.words, chosen.kept).arrays("vocabulary"),
    }
    of_documents, columns = gathered.table.arrays(gathered.has_texts, lengths if dropped else None)
    about: dict[str, Any] = {
        "columns": sorted(columns),
        "tokenizer": gathered.tokenizer.to_meta() if gathered.keeps_tokenizer else None,
        "counts": {
            "documents": gathered.n_documents - dropped,
            "empty_documents": empty - dropped,
            "dropped_documents": dropped,
            "tokens": words.size,
            "words": len(chosen.kept),
            "dropped_words": chosen.dropped,
            "dropped_tokens": gathered.ids.size - words.size - chosen.stopped,
            "stopword_tokens": gathered.left_out.stopped + chosen.stopped,
            "noise_tokens": gathered.left_out.noise,
            "unknown_tokens": gathered.left_out.unknown,
        },
    }
    doubled, first = gathered.table.doubled_ids()
    if doubled:
        about["counts"]["doubled_ids"], about["first_doubled_id"] = doubled, first
    if gathered.language:
        about["stopwords_of"] = gathered.language
    if gathered.table.time_kind:
        about["time"] = gathered.table.time_kind
    return arrays | of_documents, about


def _nothing_left(gathered: Gathered) -> str:
    hint = ""
    if gathered.left_out.noise and gathered.keeps_tokenizer:
        hint = f"; {gathered.left_out.noise:,} words are shorter than {gathered.tokenizer.min_length} characters "
        hint += "(--min-length) or without a letter (--keep-numbers)"
    return f"nothing is left: {gathered.n_documents:,} documents, but none has a word that the options keep{hint}"


def renumber_tokens(
    gathered: Gathered, mapping: NDArray[np.uint32], ahead: bool
) -> tuple[container.Spool, container.Spool]:
    """Final word ids and document lengths, piece by piece."""
    words, lengths = gathered.new(np.uint32), Lengths(gathered.new(np.int64))

    def work(run: tuple[Any, Any, bool]) -> tuple[Any, Any, bool]:
        final, left = np.empty(len(run[1]), np.uint32), np.empty(len(run[0]), np.int64)
        final = final[: renumber_words(run[1], run[0], mapping, final, left)]
        words.write(final)
        return final, left, run[2]

    runs = map(work, read_bounded_pieces(gathered.lengths, gathered.ids))
    for final, left, is_open in make_items_ahead(runs) if ahead else runs:
        words.sum(final)
        lengths.add(left, is_open)
    return words, lengths.spool


def vocabulary_of(words: Words, kept: NDArray[np.int64]) -> Strings:
    """The kept words, in their order."""
    data, offsets = words.arrays()
    lengths = np.diff(offsets)[kept]
    new = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    index = np.arange(new[-1]) + np.repeat(offsets[kept] - new[:-1], lengths)
    return Strings(data[index], new)
