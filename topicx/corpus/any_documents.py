"""Documents in whatever form Python programs have them, as a corpus: texts, lists of words, data frames, matrices."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypedDict

import numpy as np

from topicx.corpus.build.python_forms import (
    frame_batches,
    from_dataframe,
    from_documents,
    from_matrix,
    from_texts,
    matrix_batches,
    text_batches,
    word_batches,
)
from topicx.corpus.corpus import Corpus
from topicx.corpus.formats.document_reader import Batch
from topicx.corpus.text.tokenizer import Tokenizer
from topicx.errors import InputError
from topicx.strings import Strings

FORMS = "a Corpus, texts, lists of words, a data frame, or a documents × words matrix of counts"


OTHERWISE = {
    "stopwords": "stop_words stopword remove_stopwords",
    "min_doc_freq": "min_df no_below min_docs",
    "max_doc_freq": "max_df no_above",
    "min_count": "min_cf min_freq",
    "vocabulary": "id2word feature_names vocab",
}
"""What other libraries call our options."""


class Reading(TypedDict, total=False):
    """How documents that are not a corpus yet become one."""

    text: str
    """The column of a data frame that holds the texts (default: "text")."""
    stopwords: str | Iterable[str] | None
    """Words to leave out: "auto" (of texts, those of the language found), languages ("en", "de,en"), words, or None."""
    tokenizer: Tokenizer | None
    """How texts become words (`topicx.corpus.text.tokenizer.Tokenizer`); it has its own stop words."""
    vocabulary: Sequence[str] | None
    """The words of a matrix's columns, or all the words that lists of words may have."""
    min_count: int
    """Words with fewer tokens are left out."""
    min_doc_freq: int
    """Words in fewer documents are left out."""
    max_doc_freq: float
    """Words in more than this share of the documents are left out."""


def as_corpus(
    documents: Any,
    *,
    text: str = "text",
    stopwords: str | Iterable[str] | None = "auto",
    tokenizer: Tokenizer | None = None,
    vocabulary: Sequence[str] | None = None,
    like: Corpus | None = None,
    **limits: Any,
) -> Corpus:
    """A corpus of these documents; `like`: by the words (and for texts the tokenizer) of another."""
    for name in set(limits) - {"min_count", "min_doc_freq", "max_doc_freq"}:
        close = [ours for ours, theirs in OTHERWISE.items() if name in theirs.split()]
        close = ["callbacks"] if name in ("callback", "on_sweep") else close
        what = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(_reading_names())}"
        raise InputError(f"there is no option {name!r} of reading; {what}")
    if isinstance(documents, str):
        raise InputError("one string was given: a list of texts is needed, or Corpus.load(path) for a corpus file")
    words = None if stopwords == "auto" else _stop_word_set(stopwords)
    if isinstance(documents, Corpus):
        return _prune_within_limits(documents, words, limits)
    documents = _as_pandas_frame(documents)
    if hasattr(documents, "columns") and hasattr(documents, "index") and text in documents.columns:
        if _word_lists(documents[text].tolist()):
            return _prune_within_limits(from_dataframe(documents, text), words, limits)
        return from_dataframe(documents, text, **_from_texts_arguments(stopwords, tokenizer, like, limits))
    if _is_matrix(documents):
        return _of_matrix(documents, vocabulary, words, limits, like, text)
    listed = _as_list(documents)
    if listed and not isinstance(listed[0], str):
        return _prune_within_limits(from_documents(listed, vocabulary=vocabulary), words, limits)
    return from_texts(listed, **_from_texts_arguments(stopwords, tokenizer, like, limits))


def batches_of(documents: Any, vocabulary: Strings, text: str) -> tuple[Iterator[Batch], int]:
    """The documents in batches as they are, whatever their form, and how many they are: what a model reads. `text`: the
    column of a frame that holds them; `vocabulary`: the words of a matrix whose columns have no names."""
    if isinstance(documents, str):
        raise InputError("one string was given: a list of texts is needed, or Corpus.load(path) for a corpus file")
    documents = _as_pandas_frame(documents)
    if hasattr(documents, "columns") and hasattr(documents, "index") and text in documents.columns:
        found, number = frame_batches(documents, text), len(documents)
    elif _is_matrix(documents):
        words = _matrix_words(documents, None, vocabulary, text)
        found, number = matrix_batches(documents, words)[1], documents.shape[0]
    else:
        listed = _as_list(documents)
        words_given = bool(listed) and not isinstance(listed[0], str)
        found, number = word_batches(listed) if words_given else text_batches(listed), len(listed)
    if not number:
        raise InputError("no documents in the input")
    return found, number


def like_model(vocabulary: Strings, meta: dict[str, Any]) -> Corpus:
    """A corpus without documents that has a model's words and tokenizer: what new documents are read `like`."""
    offsets = np.zeros(1, np.int64)
    return Corpus(np.zeros(0, np.uint32), offsets, vocabulary, meta={"tokenizer": meta.get("tokenizer")})


def _reading_names() -> list[str]:
    return list(Reading.__annotations__)


def _stop_word_set(stopwords: str | Iterable[str] | None) -> frozenset[str]:
    """The words that these stop words are."""
    return frozenset() if stopwords is None else frozenset(Tokenizer(stopwords=stopwords).stopwords)  # type: ignore[arg-type]


def _prune_within_limits(corpus: Corpus, stopwords: frozenset[str] | None, limits: dict[str, Any]) -> Corpus:
    return corpus.prune(stopwords=stopwords or (), **limits) if stopwords or limits else corpus


def _from_texts_arguments(
    stopwords: Any, tokenizer: Tokenizer | None, like: Corpus | None, limits: dict[str, Any]
) -> dict[str, Any]:  # fmt: skip
    """The arguments of `from_texts`."""
    if like is not None:
        return {"like": like}
    if tokenizer is not None and stopwords != "auto":
        raise InputError("stopwords: the tokenizer has its own; give Tokenizer(stopwords=...)")
    return {"stopwords": stopwords, "tokenizer": tokenizer, **limits}


def _as_pandas_frame(documents: Any) -> Any:
    """A table of polars, Arrow, DuckDB and others as a frame of pandas; anything else as it is."""
    is_pandas = hasattr(documents, "index") and hasattr(documents, "iloc")
    if is_pandas or not hasattr(documents, "__arrow_c_stream__"):
        return documents
    try:
        import pyarrow

        table = pyarrow.table(documents)
        return table.to_pandas()
    except ImportError:
        raise InputError("tables need pandas and pyarrow: pip install 'topicx[dataframe,parquet]'") from None
    except (TypeError, ValueError):
        return documents  # a column, not a table


def _is_matrix(documents: Any) -> bool:
    sparse = sys.modules.get("scipy.sparse")  # where it is not imported there are no sparse matrices
    if (sparse and sparse.issparse(documents)) or (hasattr(documents, "columns") and hasattr(documents, "index")):
        return True
    return isinstance(documents, np.ndarray) and documents.ndim == 2 and documents.dtype.kind in "iufb"


def _of_matrix(
    matrix: Any, vocabulary: Sequence[str] | None, stopwords: frozenset[str] | None, limits: dict[str, Any],
    like: Corpus | None, text: str,
) -> Corpus:  # fmt: skip
    if stopwords or limits:
        raise InputError("the columns of a matrix are its words: stop words and limits belong where it was made")
    return from_matrix(matrix, _matrix_words(matrix, vocabulary, None if like is None else like.vocabulary, text))


def _matrix_words(
    matrix: Any, vocabulary: Sequence[str] | None, known: Sequence[str] | None, text: str
) -> Sequence[str] | None:  # fmt: skip
    """The words of a matrix's columns: those given, or those `known` to a model; None: it has names or needs none."""
    if hasattr(matrix, "columns"):
        if any(dtype.kind not in "iufb" for dtype in matrix.dtypes):
            there = ", ".join(map(str, matrix.columns[:12]))
            raise InputError(f"the frame has no column {text!r} (text=NAME names another); there are: {there}")
    elif known is not None and vocabulary is None:
        if matrix.shape[1] != len(known):
            raise InputError(f"the matrix has {matrix.shape[1]} columns, but the model has {len(known)} words")
        return known
    return vocabulary


def _as_list(documents: Any) -> list[Any]:
    if isinstance(documents, (bytes, dict)) or not isinstance(documents, Iterable):
        raise InputError(f"{FORMS} is needed, not a {type(documents).__name__}")
    return documents.tolist() if hasattr(documents, "tolist") else list(documents)


def _word_lists(cells: list[Any]) -> bool:
    return bool(cells) and all(isinstance(cell, (list, tuple, np.ndarray)) for cell in cells)
