"""The one builder of corpora: documents come in batches, everything waits on disk, and the vocabulary is
settled last.

Memory is the vocabulary (words, and a few counts for each) and buffers, however long the input is: tokens and
all that documents carry go to `container.Spool`s beside the output. Words have provisional ids by first
appearance until the input ends. Then words below the limits go, the rest are numbered by falling frequency
(ties by the word's UTF-8), and the tokens are renumbered on their way into the file. That order is the same
for the same input, and puts the words that samplers touch most into few cache lines.
"""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.text.tokens import Words
from topicx._kernels.text.word_ids import renumber_words, settle_word_ids
from topicx.corpus.build.spooled_columns import SpooledColumn, SpooledNames, SpooledTexts, SpooledTimes, snippet_of_text
from topicx.corpus.build.spooled_rows import PIECE, Lengths, load_spool, offsets_of, read_bounded_pieces
from topicx.corpus.corpus import Corpus
from topicx.corpus.formats.document_reader import Batch, Counts
from topicx.corpus.formats.input_bytes import Faults
from topicx.corpus.text.bigrams import BigramOptions, find_bigrams
from topicx.corpus.text.language import find_language
from topicx.corpus.text.tokenizer import NO_NUMBERS, NOISE_WORD, NONE, STOP_WORD, WANTED_WORD, Encoder, PairTable, Tokenizer, load_stopwords
from topicx.engines.threads import make_items_ahead
from topicx.errors import InputError, TopicxError
from topicx.files import container
from topicx.files.file_kinds import CORPUS
from topicx.strings import Strings

if TYPE_CHECKING:
    from topicx.corpus.formats.document_reader import DocumentReader
    from topicx.corpus.text.parallel_encoding import Apart
    from topicx.engines.places import Places

MOST_THREADS = 4
"""Reading and writing go on in one thread, which cannot feed more than this."""


@dataclass
class BuildOptions:
    """What the builder keeps."""

    min_count: int = 1
    """Words with fewer tokens than this are dropped."""
    min_doc_freq: int = 1
    """Words in fewer documents than this are dropped."""
    max_doc_freq: float = 1.0
    """Words in more than this share of the documents are dropped."""
    drop_empty: bool = False
    """Whether documents without a word left are dropped."""
    snippet: int = 80
    """Characters of the text's beginning to keep as the column `snippet`."""
    bigrams: BigramOptions | None = None
    """Which pairs of words are joined; None: none."""
    find_stopwords: bool = False
    """Whether stop words of the language that the texts are found to be in are dropped."""


@dataclass
class Chosen:
    """The words of a corpus, when all have been counted."""

    kept: NDArray[np.int64]
    """Provisional ids of the words that stay, in their final order."""
    tokens: NDArray[np.int64]
    documents: NDArray[np.int64]
    """The tokens and the documents of every word, by provisional id."""
    dropped: int
    """Words below the limits."""
    stopped: int
    """Tokens of words that were found to be stop words after they were counted."""


MOST_COUNTED = 1 << 28
"""Tokens that the counts of one batch of documents (some megabytes of text) may be."""


class Builder:
    """Add batches, then `save` or `corpus`. `like` fixes the vocabulary: other words are counted as
    unknown."""

    def __init__(
        self,
        tokenizer: Tokenizer | None = None,
        options: BuildOptions | None = None,
        *,
        like: Sequence[str] | None = None,
        directory: str | os.PathLike[str] | None = None,
        output: str | None = None,
        faults: Faults | None = None,
    ) -> None:
        """`directory`: where what is read waits; `output`: the file that is written then, which messages name."""
        self.tokenizer = tokenizer or Tokenizer()
        self.keeps_tokenizer = tokenizer is not None
        self.options = options or BuildOptions()
        self.directory, self.output = directory, output
        self.like = like
        self.encoder = Encoder(self.tokenizer, like) if like is not None else None
        self.words = self.encoder.words if self.encoder else Words()
        self.n_documents = 0
        self.unknown = self.stopped = self.noise = 0
        self.language: str | None = None
        self._pairs = PairTable()
        self._flags = np.zeros(0, dtype=np.uint8)
        self._tokens = np.zeros(0, dtype=np.int64)
        self._documents = np.zeros(0, dtype=np.int64)
        self._last = np.zeros(0, dtype=np.int64)
        self._known_words = 0
        self._spools: list[container.Spool] = []
        self._ids = self._spool(np.uint32, passing=True)
        self._lengths = Lengths(self._spool(np.int64))
        self._names = SpooledTexts(self._spool)
        self._labels = SpooledNames(self._spool, many=True)
        self._collections = SpooledNames(self._spool, many=False)
        self._times = SpooledTimes(self._spool, faults)
        self._columns: dict[str, SpooledColumn] = {}
        self._snippets = SpooledTexts(self._spool) if self.options.snippet else None
        self._texts_seen = self._named = False
        self._threads = 1
        self._map: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._map_of: Sequence[str] | None = None

    def _spool(self, dtype: Any, *, passing: bool = False) -> container.Spool:
        spool = container.Spool(dtype, self.directory, self.output, passing=passing)
        self._spools.append(spool)
        return spool

    def close(self) -> None:
        """Free the disk space that waits."""
        for spool in self._spools:
            spool.close()

    def __enter__(self) -> Builder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def n_tokens(self) -> int:
        return self._ids.size

    # -- adding --------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _waiting(self) -> Iterator[None]:
        """Around what writes into the files that wait: a full disk is named."""
        try:
            yield
        except OSError as error:
            if error.filename is not None:
                raise
            place = self.directory or tempfile.gettempdir()
            raise TopicxError(
                f"{place}: writing failed: {error.strerror or error} (what is read waits there for the end)"
            ) from error

    def add(self, batch: Batch) -> None:
        """Add a batch of documents."""
        with self._waiting():
            self._add_batch(batch)

    def add_all(self, batches: Iterable[Batch], threads: int = 1) -> Iterator[Batch]:
        """Add all batches and give each back when it is in. Texts become words in some threads; words are ordered when
        all is read, so the file does not depend on the threads."""
        if self.encoder is not None or threads <= 1:
            for batch in batches:
                self.add(batch)
                yield batch
            return
        from topicx.corpus.text.parallel_encoding import encode_apart

        threads = self._threads = min(threads, MOST_THREADS)
        yield from self._add_apart(encode_apart(batches, self.tokenizer, threads))

    def add_inputs(self, reader: DocumentReader, places: Places, threads: int = 1) -> Iterator[Batch]:
        """Add all documents of inputs that the workers of a cluster read and split into words, and give each batch
        back when it is in. A builder with a fixed vocabulary has none of it."""
        from topicx.corpus.text.spread_encoding import encode_on_places

        assert self.encoder is None
        self._threads = min(threads, MOST_THREADS)
        yield from self._add_apart(encode_on_places(places, reader, self.tokenizer, self.options.snippet))

    def _add_apart(self, encoded: Iterable[Apart]) -> Iterator[Batch]:
        for batch, table, ids, lengths, new in encoded:
            with self._waiting():
                if table is None:
                    self._add_batch(batch)
                else:
                    self._texts_seen = True
                    self._add(ids, lengths, batch, table.numbers_in(self.words, new))
            yield batch

    def _add_batch(self, batch: Batch) -> None:
        if batch.counts is not None:
            ids, lengths = self._from_counts(batch.counts, batch)
        elif batch.words is not None:
            ids, lengths = self.words.encode_words(list(batch.words))
        else:
            self._texts_seen = True
            ids, lengths = self.tokenizer.ids(batch.texts, self.words)
        self._add(ids, lengths, batch)

    def _add(
        self, ids: NDArray[np.uint32], lengths: NDArray[np.int64], batch: Batch,
        numbers: NDArray[np.uint32] = NO_NUMBERS,
    ) -> None:  # fmt: skip
        """With `numbers`: what the ids stand for."""
        n, begun = len(lengths), int(batch.continues)
        if self.encoder:
            ids, lengths = self.encoder.settle(ids, lengths, begun)
            self.unknown, self.stopped, self.noise = self.encoder.unknown, self.encoder.stopped, self.encoder.noise
        elif self.options.bigrams is None:
            ids, lengths = self._settle(ids, lengths, self.n_documents - begun, numbers)
        else:
            self._grow()
            ids = numbers[ids] if len(numbers) else ids
            self._tokens[: len(self.words)] += np.bincount(ids, minlength=len(self.words))
        self._ids.append(ids)
        self._lengths.add(lengths, batch.open)
        if n > begun:
            self._carry(batch, begun, n)
        self.n_documents += n - begun

    def _carry(self, batch: Batch, begun: int, n: int) -> None:
        """What the documents `begun` to `n` of the batch carry."""
        start = self.n_documents - begun
        self._named = self._named or batch.ids is not None
        ids = [None] * n if batch.ids is None else batch.ids
        self._names.add([str(start + i) if ids[i] is None else str(ids[i]) for i in range(begun, n)])
        self._labels.add(None if batch.labels is None else batch.labels[begun:], n - begun)
        self._collections.add(None if batch.collections is None else batch.collections[begun:], n - begun)
        self._times.add(batch, begun, n)
        for name, values in batch.columns.items():
            if name not in self._columns:
                self._columns[name] = SpooledColumn(self._spool, name, self._snippets is not None)
                self._columns[name].add([None] * self.n_documents)
            self._columns[name].add(values[begun:])
        for name, column in self._columns.items():
            if name not in batch.columns:
                column.add([None] * (n - begun))
        if self._snippets is not None:
            size = self.options.snippet
            texts = batch.texts if batch.words is None else [" ".join(words[: size + 1]) for words in batch.words]
            self._snippets.add([snippet_of_text(text, size) for text in texts[begun:]] if texts else [""] * (n - begun))

    def _settle(
        self,
        ids: NDArray[np.uint32],
        lengths: NDArray[np.int64],
        document: int,
        numbers: NDArray[np.uint32] = NO_NUMBERS,
    ) -> tuple[Any, NDArray[np.int64]]:
        self._grow()
        out, out_lengths = np.empty(len(ids), dtype=np.uint32), np.empty(len(lengths), dtype=np.int64)
        kept, stopped, noise = settle_word_ids(
            ids, lengths, numbers, self._flags, self._pairs.keys, self._pairs.values, document,
            self._tokens, self._documents, self._last, out, out_lengths, np.empty(len(lengths), dtype=np.int64),
        )  # fmt: skip
        self.stopped += stopped
        self.noise += noise
        return out[:kept], out_lengths

    def _grow(self) -> None:
        """Room in the counts for words that are new, and their flag if they are stop words."""
        n = len(self.words)
        if n > len(self._flags):
            more = max(n, 2 * len(self._flags), 1 << 12) - len(self._flags)
            self._flags = np.concatenate([self._flags, np.zeros(more, np.uint8)])
            self._tokens = np.concatenate([self._tokens, np.zeros(more, np.int64)])
            self._documents = np.concatenate([self._documents, np.zeros(more, np.int64)])
            self._last = np.concatenate([self._last, np.full(more, -1, np.int64)])
        if self.tokenizer.stopwords:
            for i in range(self._known_words, n):
                self._flags[i] = self.tokenizer.is_stopword(self.words.word(i))
        if self.words.noise >= 0:
            self._flags[self.words.noise] = NOISE_WORD
        self._known_words = n

    def _from_counts(self, counts: Counts, batch: Batch) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Tokens from counts: each word as often as its count says, side by side."""
        if counts.vocabulary is None:
            numbers, places = np.unique(counts.words, return_inverse=True)
            found = [self.words.add(str(number + counts.base)) for number in numbers.tolist()]
            ids: NDArray[Any] = np.array(found, dtype=np.int64)[places.reshape(-1)]
        else:
            if counts.vocabulary is not self._map_of:
                self._map = np.array([self.words.add(word) for word in counts.vocabulary], dtype=np.int64)
                self._map_of = counts.vocabulary
            ids = self._map[counts.words]
        if counts.counts.sum(dtype=np.float64) > MOST_COUNTED:
            pair = int(np.argmax(counts.counts))
            place = batch.place(int(np.searchsorted(np.cumsum(counts.lengths), pair, side="right")))
            raise InputError(f"{place}: a word that is there {int(counts.counts[pair]):,} times: that cannot be")
        ids = np.repeat(ids.astype(np.uint32), counts.counts)
        ends = np.concatenate([[0], np.cumsum(counts.counts)])
        pairs = np.concatenate([[0], np.cumsum(counts.lengths)])
        return ids, np.diff(ends[pairs])

    # -- finishing -----------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], meta: dict[str, Any] | None = None) -> dict[str, Any]:
        """Write the corpus file; returns its metadata."""
        with self._waiting():
            arrays, about = self._finish(meta or {})
        container.write(path, CORPUS, arrays, about)
        return about

    def corpus(self, meta: dict[str, Any] | None = None) -> Corpus:
        """The corpus in memory."""
        arrays, about = self._finish(meta or {})
        ready = {
            name: load_spool(array) if isinstance(array, container.Spool) else array for name, array in arrays.items()
        }
        return Corpus.from_arrays(ready, about)

    def _finish(self, meta: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arrays of the corpus and its metadata."""
        tokenizer = self._find_stopwords_and_phrases()
        chosen = self._chosen_words()
        self.stopped += chosen.stopped
        if not self.n_documents:
            raise InputError("no documents in the input")
        mapping = np.full(len(self.words), NONE, dtype=np.uint32)
        mapping[chosen.kept] = np.arange(len(chosen.kept), dtype=np.uint32)
        words, lengths = self._renumber(mapping)
        if not words.size and not self.encoder:
            raise InputError(self._nothing_left(tokenizer))
        empty = sum(int((piece == 0).sum()) for piece in lengths.chunks(PIECE))
        dropped = empty if self.options.drop_empty else 0
        arrays = {
            "words": words,
            "offsets": offsets_of(self._spool, lengths, filled_only=dropped > 0),
            "word_frequencies": np.ascontiguousarray(chosen.tokens[chosen.kept]),
            "document_frequencies": np.ascontiguousarray(chosen.documents[chosen.kept]),
            **self._vocabulary(chosen.kept).arrays("vocabulary"),
        }
        columns = self._add_columns(arrays, lengths if dropped else None)
        about = dict(meta) | {
            "columns": sorted(columns),
            "tokenizer": tokenizer.to_meta() if tokenizer else None,
            "counts": {
                "documents": self.n_documents - dropped,
                "empty_documents": empty - dropped,
                "dropped_documents": dropped,
                "tokens": words.size,
                "words": len(chosen.kept),
                "dropped_words": chosen.dropped,
                "dropped_tokens": self._ids.size - words.size - chosen.stopped,
                "stopword_tokens": self.stopped,
                "noise_tokens": self.noise,
                "unknown_tokens": self.unknown,
            },
        }
        doubled, first = self._names.doubled() if self._named else (0, "")
        if doubled:
            about["counts"]["doubled_ids"], about["first_doubled_id"] = doubled, first
        if self.language:
            about["stopwords_of"] = self.language
        if self._times.kind:
            about["time"] = self._times.kind
        return arrays, about

    def forget_tokenizer(self) -> None:
        """Say that documents came as counts: the corpus then keeps no tokenizer."""
        self.keeps_tokenizer = False

    def _find_stopwords_and_phrases(self) -> Tokenizer | None:
        """Find the language's stop words, flag them, and join pairs of words, as the options ask; returns the tokenizer
        that does the same to new text, if the corpus keeps one."""
        tokenizer, kept = self.tokenizer, self.keeps_tokenizer
        if not self.encoder and self.options.find_stopwords and self._texts_seen:
            tokenizer, kept = self._find_stopwords(tokenizer), True
        if not self.encoder and self.options.bigrams is not None:
            tokenizer, kept = self._join_bigrams(tokenizer), True
        return tokenizer if kept else None

    def _chosen_words(self) -> Chosen:
        n = len(self.words)
        if self.encoder:
            tokens, documents = self.encoder.tokens[:n], self.encoder.documents[:n]
            return Chosen(np.arange(self.encoder.n_words), tokens, documents, 0, 0)
        self._grow()
        tokens, documents, flags = self._tokens[:n], self._documents[:n], self._flags[:n]
        kept = self._kept_words(tokens, documents)
        dropped = int((documents > 0)[flags == WANTED_WORD].sum()) - len(kept)
        return Chosen(kept, tokens, documents, dropped, stopped=int(tokens[flags == STOP_WORD].sum()))

    def _nothing_left(self, tokenizer: Tokenizer | None) -> str:
        hint = ""
        if self.noise and tokenizer is not None:
            hint = f"; {self.noise:,} words are shorter than {tokenizer.min_length} characters (--min-length) or "
            hint += "without a letter (--keep-numbers)"
        return f"nothing is left: {self.n_documents:,} documents, but none has a word that the options keep{hint}"

    def _add_columns(self, arrays: dict[str, Any], lengths: container.Spool | None) -> list[str]:
        """What documents carry, into `arrays`, and the names of the further columns. With `lengths`: only of documents
        that have words."""

        def mask() -> Iterator[NDArray[np.bool_]] | None:
            return None if lengths is None else (piece > 0 for piece in lengths.chunks(PIECE))

        arrays |= self._names.arrays("ids", mask())
        arrays |= self._labels.arrays("label", mask())
        arrays |= self._collections.arrays("collection", mask())
        arrays["time"] = self._times.array(mask())
        further: dict[str, SpooledTexts | SpooledColumn] = {}
        if self._snippets is not None and self._texts_seen:
            further["snippet"] = self._snippets
        further |= self._columns
        for name, column in further.items():
            arrays |= column.arrays(f"column.{name}", mask())
        return list(further)

    def _kept_words(self, tokens: NDArray[np.int64], documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """The words within the limits, by falling frequency, ties by the word."""
        most = math.floor(self.options.max_doc_freq * self.n_documents + 1e-9)
        keep = (tokens >= max(self.options.min_count, 1)) & (documents >= self.options.min_doc_freq)
        keep &= self._flags[: len(tokens)] == WANTED_WORD
        kept = np.flatnonzero(keep & (documents <= most))
        found: NDArray[np.int64] = self.words.ranked(kept, tokens)
        return found

    def _vocabulary(self, kept: NDArray[np.int64]) -> Strings:
        data, offsets = self.words.arrays()
        lengths = np.diff(offsets)[kept]
        new = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        index = np.arange(new[-1]) + np.repeat(offsets[kept] - new[:-1], lengths)
        return Strings(data[index], new)

    def _find_stopwords(self, tokenizer: Tokenizer) -> Tokenizer:
        """The stop words of the language that most of the text is in, if it is clear, as flags of words."""
        self._grow()

        def frequency(word: str) -> int:
            at = self.words.find(word)
            return 0 if at == NONE else int(self._tokens[at])

        plain = self._tokens[: len(self.words)][self._flags[: len(self.words)] != NOISE_WORD]
        self.language = find_language(frequency, int(plain.sum()) + self.stopped)
        if self.language is None:
            return tokenizer
        tokenizer = replace(tokenizer, stopwords=frozenset(tokenizer.stopwords) | load_stopwords(self.language))
        if tokenizer.lowercase:
            places = (self.words.find(word) for word in tokenizer.stopwords)
        else:  # capitals do not matter
            places = (i for i in range(len(self.words)) if tokenizer.is_stopword(self.words.word(i)))
        found = np.array([at for at in places if at != NONE], dtype=np.int64)
        self._flags[found[self._flags[found] == WANTED_WORD]] = STOP_WORD
        return tokenizer

    def _renumber(self, mapping: NDArray[np.uint32]) -> tuple[container.Spool, container.Spool]:
        """Final word ids and document lengths, piece by piece."""
        words, lengths = self._spool(np.uint32), Lengths(self._spool(np.int64))

        def work(run: tuple[Any, Any, bool]) -> tuple[Any, Any, bool]:
            final, left = np.empty(len(run[1]), np.uint32), np.empty(len(run[0]), np.int64)
            final = final[: renumber_words(run[1], run[0], mapping, final, left)]
            words.write(final)
            return final, left, run[2]

        runs = map(work, read_bounded_pieces(self._lengths.spool, self._ids))
        for final, left, is_open in runs if self._threads == 1 else make_items_ahead(runs):
            words.sum(final)
            lengths.add(left, is_open)
        return words, lengths.spool

    def _join_bigrams(self, tokenizer: Tokenizer) -> Tokenizer:
        """The second and third pass over the waiting tokens: count pairs, then join the significant ones."""
        assert self.options.bigrams is not None
        self._grow()
        pairs = find_bigrams(
            lambda: ((lengths, ids) for lengths, ids, _ in read_bounded_pieces(self._lengths.spool, self._ids)),
            self._tokens[: len(self.words)], self._flags[: len(self.words)], self.words, self.options.bigrams,
        )  # fmt: skip
        names = [(self.words.word(a), self.words.word(b)) for a, b in pairs]
        self._pairs = PairTable.of({pair: self.words.add(f"{a}_{b}") for pair, (a, b) in zip(pairs, names)})
        self._tokens[:] = 0
        old_ids, old_lengths = self._ids, self._lengths.spool
        self._ids, self._lengths = self._spool(np.uint32, passing=True), Lengths(self._spool(np.int64))
        document = 0
        for lengths, ids, is_open in read_bounded_pieces(old_lengths, old_ids):
            ids, new_lengths = self._settle(ids, lengths, document)
            self._ids.append(ids)
            self._lengths.add(new_lengths, is_open)
            document += len(lengths) - is_open
        assert document == self.n_documents
        old_ids.close()
        return replace(tokenizer, phrases=tuple(names))
