"""Documents by which topics are judged: those of a model, read by its reader, or φ and α of any program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.corpus.table import Table
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.document_prior import DocumentPrior
from topicx.predict.documents import Documents
from topicx.predict.predictor import reader_of
from topicx.predict.reader import Admixture, Reader
from topicx.predict.topic_rows import FixedTopics, known_tokens, match_vocabulary


@dataclass(frozen=True)
class Judged:
    """A corpus's documents, by the numbers that topics have for words, and what reads them."""

    corpus: Corpus
    reader: Reader
    match: NDArray[np.int64]
    """For each word of the corpus its number, or -1."""
    fixed: DocumentPrior | None
    """The priors of all documents, where the caller gave them."""

    @classmethod
    def of(
        cls, phi: Model | NDArray[Any], alpha: Any, corpus: Corpus, groups: NDArray[np.uint32] | None
    ) -> Judged:  # fmt: skip
        """`alpha` None: as the model's reader has it; else rows of topics, of which `groups` chooses one a document."""
        own = isinstance(phi, Model) and alpha is None and groups is None
        if isinstance(phi, Model):
            match = match_vocabulary(phi.vocabulary, corpus.vocabulary)
            reader: Reader = reader_of(phi) if own else Admixture(FixedTopics(phi, alpha))
        else:
            reader, match = Admixture(FixedTopics(phi, alpha)), np.arange(corpus.n_words, dtype=np.int64)
            if corpus.n_words != np.shape(phi)[1]:
                raise InputError(f"phi has {np.shape(phi)[1]} words, but the corpus has {corpus.n_words}")
        fixed = None
        if not own:
            rows = np.zeros(corpus.n_documents, np.uint32) if groups is None else groups.astype(np.uint32)
            fixed = DocumentPrior.by_group(reader.alpha, rows)
        return cls(corpus, reader, match, fixed)

    def documents(self, begin: int, end: int) -> Documents:
        """Some of the documents, with the columns that the reader wants."""
        corpus = self.corpus
        bounds = corpus.offsets[begin : end + 1]
        words, offsets, unknown = known_tokens(corpus.words[bounds[0] : bounds[-1]], bounds, self.match)
        carried = self._carried.part(begin, end)
        return Documents(corpus.ids.part(begin, end), words, offsets, unknown, carried)

    @cached_property
    def _carried(self) -> Table:
        table = self.corpus.table
        return table.only(name for name in self.reader.wants if name in table)

    def prior(self, documents: Documents, begin: int, end: int) -> DocumentPrior:
        """The priors of these documents, which are those from begin to end."""
        return self.reader.prior(documents) if self.fixed is None else self.fixed.part(begin, end)
