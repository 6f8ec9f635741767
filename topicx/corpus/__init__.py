"""Text to corpus: tokenising, importers (one module a format), and what is done to a corpus before
training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicx.lazy_names import import_on_first_use

if TYPE_CHECKING:
    from topicx.corpus.build.corpus_builder import BuildOptions as BuildOptions
    from topicx.corpus.corpus import Corpus as Corpus
    from topicx.corpus.formats.document_reader import ReadOptions as ReadOptions
    from topicx.corpus.formats.document_reader import read_documents as read_documents
    from topicx.corpus.text.bigrams import BigramOptions as BigramOptions
    from topicx.corpus.text.tokenizer import Tokenizer as Tokenizer
    from topicx.corpus.text.tokenizer import load_stopwords as load_stopwords

_HOMES = {
    "BigramOptions": "topicx.corpus.text.bigrams",
    "BuildOptions": "topicx.corpus.build.corpus_builder",
    "Corpus": "topicx.corpus.corpus",
    "ReadOptions": "topicx.corpus.formats.document_reader",
    "Tokenizer": "topicx.corpus.text.tokenizer",
    "load_stopwords": "topicx.corpus.text.tokenizer",
    "read_documents": "topicx.corpus.formats.document_reader",
}

__all__ = ["BigramOptions", "BuildOptions", "Corpus", "ReadOptions", "Tokenizer", "load_stopwords", "read_documents"]

__getattr__ = import_on_first_use(__name__, _HOMES)
