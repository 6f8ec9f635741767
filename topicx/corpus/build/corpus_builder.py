"""The one builder of corpora, a row of passes: gather, choose words, write.

Documents come in batches, everything waits on disk, and the vocabulary is settled last. Memory is the vocabulary (words,
and a few counts for each) and buffers, however long the input is: tokens and all that documents have go to
`container.Spool`s beside the output. Words have provisional ids by first appearance until the input ends. Then words
below the limits go, the rest are numbered by falling frequency (ties by the word's UTF-8), and the tokens are renumbered
on their way into the file. That order is the same for the same input, and puts the words that samplers touch most into
few cache lines.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from topicx.corpus.build.corpus_arrays import make_corpus_arrays
from topicx.corpus.build.gathering import FixedWords, Gathered, Gatherer, GrowingWords, WaitingWords, WordIntake
from topicx.corpus.build.spooled_rows import load_spool
from topicx.corpus.build.spooled_table import SpooledTable
from topicx.corpus.build.word_choice import WordLimits, choose_words, drop_stopwords_of_language, join_word_pairs
from topicx.corpus.corpus import Corpus
from topicx.corpus.formats.document_reader import Batch
from topicx.corpus.formats.input_bytes import Faults
from topicx.corpus.text.bigrams import BigramOptions
from topicx.corpus.text.tokenizer import Tokenizer
from topicx.errors import TopicxError
from topicx.files import container
from topicx.files.file_kinds import CORPUS

if TYPE_CHECKING:
    from topicx.corpus.formats.document_reader import DocumentReader
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


class WaitingPlace:
    """Where what is read waits for the end: the spools that were made, which are closed together."""

    def __init__(self, directory: str | os.PathLike[str] | None, output: str | None) -> None:
        self._directory, self._output = directory, output
        self._spools: list[container.Spool] = []

    def new_spool(self, dtype: Any, *, passing: bool = False) -> container.Spool:
        spool = container.Spool(dtype, self._directory, self._output, passing=passing)
        self._spools.append(spool)
        return spool

    @contextlib.contextmanager
    def named_errors(self) -> Iterator[None]:
        """Around what writes into the files that wait: a full disk is named."""
        try:
            yield
        except OSError as error:
            if error.filename is not None:
                raise
            place = self._directory or tempfile.gettempdir()
            raise TopicxError(
                f"{place}: writing failed: {error.strerror or error} (what is read waits there for the end)"
            ) from error

    def close(self) -> None:
        """Free the disk space that waits."""
        for spool in self._spools:
            spool.close()


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
        self._options = options or BuildOptions()
        self._keeps_tokenizer = tokenizer is not None
        self._place = WaitingPlace(directory, output)
        self._threads = 1
        tokenizer, new = tokenizer or Tokenizer(), self._place.new_spool
        intake: WordIntake
        if like is not None:
            intake = FixedWords(tokenizer, like)
        elif self._options.bigrams is not None:
            intake = WaitingWords(tokenizer)
        else:
            intake = GrowingWords(tokenizer)
        self._fixed, self._tokenizer = like is not None, tokenizer
        self._gatherer = Gatherer(tokenizer, intake, SpooledTable(new, self._options.snippet, faults), new)

    def close(self) -> None:
        """Free the disk space that waits."""
        self._place.close()

    def __enter__(self) -> Builder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def n_tokens(self) -> int:
        return self._gatherer.ids.size

    def forget_tokenizer(self) -> None:
        """Say that documents came as counts: the corpus then keeps no tokenizer."""
        self._keeps_tokenizer = False

    def add(self, batch: Batch) -> None:
        """Add a batch of documents."""
        with self._place.named_errors():
            self._gatherer.add(batch)

    def add_all(self, batches: Iterable[Batch], threads: int = 1) -> Iterator[Batch]:
        """Add all batches and give each back when it is in. Texts become words in some threads; words are ordered when
        all is read, so the file does not depend on the threads."""
        if self._fixed or threads <= 1:
            for batch in batches:
                self.add(batch)
                yield batch
            return
        from topicx.corpus.text.parallel_encoding import encode_apart

        self._threads = min(threads, MOST_THREADS)
        encoded = encode_apart(batches, self._tokenizer, self._threads)
        yield from self._gatherer.add_apart(encoded, self._place.named_errors)

    def add_inputs(self, reader: DocumentReader, places: Places, threads: int = 1) -> Iterator[Batch]:
        """Add all documents of inputs that the workers of a cluster read and split into words, and give each batch
        back when it is in. A builder with a fixed vocabulary has none of it."""
        from topicx.corpus.text.spread_encoding import encode_on_places

        assert not self._fixed
        self._threads = min(threads, MOST_THREADS)
        encoded = encode_on_places(places, reader, self._tokenizer, self._options.snippet)
        yield from self._gatherer.add_apart(encoded, self._place.named_errors)

    def save(self, path: str | os.PathLike[str], meta: dict[str, Any] | None = None) -> dict[str, Any]:
        """Write the corpus file; returns its metadata."""
        with self._place.named_errors():
            arrays, about = self._finished()
        about = (meta or {}) | about
        container.write(path, CORPUS, arrays, about)
        return about

    def corpus(self, meta: dict[str, Any] | None = None) -> Corpus:
        """The corpus in memory."""
        arrays, about = self._finished()
        ready = {
            name: load_spool(array) if isinstance(array, container.Spool) else array for name, array in arrays.items()
        }
        return Corpus.from_arrays(ready, (meta or {}) | about)

    def _finished(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arrays of the corpus and its metadata: all passes after the first."""
        options = self._options
        gathered = self._with_words_settled(self._gatherer.gathered(self._keeps_tokenizer))
        limits = WordLimits(options.min_count, options.min_doc_freq, options.max_doc_freq)
        return make_corpus_arrays(gathered, choose_words(gathered, limits), options.drop_empty, self._threads > 1)

    def _with_words_settled(self, gathered: Gathered) -> Gathered:
        """Stop words found and pairs joined, as the options ask."""
        if gathered.known_words is not None:
            return gathered
        if self._options.find_stopwords and gathered.has_texts:
            gathered = drop_stopwords_of_language(gathered)
        if self._options.bigrams is not None:
            gathered = join_word_pairs(gathered, self._options.bigrams)
        return gathered
