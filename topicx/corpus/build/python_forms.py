"""Corpora from and to Python's own forms, all through the one builder; and pruning."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.build.corpus_builder import Builder, BuildOptions
from topicx.corpus.corpus import Corpus
from topicx.corpus.formats.document_reader import Batch, Counts, field_as_text
from topicx.corpus.text.bigrams import BigramOptions
from topicx.corpus.text.tokenizer import Tokenizer
from topicx.errors import InputError
from topicx.strings import Strings, take_rows

if TYPE_CHECKING:
    import pandas
    import scipy.sparse

_BATCH = 1000


def from_texts(
    texts: Iterable[str],
    *,
    ids: Iterable[str] | None = None,
    labels: Iterable[Any] | None = None,
    collections: Iterable[str | None] | None = None,
    times: Iterable[Any] | None = None,
    columns: dict[str, Iterable[Any]] | None = None,
    tokenizer: Tokenizer | None = None,
    stopwords: str | Iterable[str] | None = "auto",
    like: Corpus | None = None,
    bigrams: BigramOptions | bool = False,
    snippet: int = 80,
    **limits: Any,
) -> Corpus:
    """A corpus of these texts. `limits`: min_count, min_doc_freq, max_doc_freq, drop_empty.

    `stopwords` is for the default tokenizer: "auto" (those of the language that the texts are found to be in),
    languages ("en", "de,en"), words, or None.
    `like` takes the tokenizer and the vocabulary of another corpus; words that it does not have are left out
    and counted in `meta["counts"]["unknown_tokens"]`.
    """
    if isinstance(texts, str):
        raise InputError("texts must be several texts, not one string")
    if tokenizer is not None and not isinstance(tokenizer, Tokenizer):
        raise InputError(
            f"tokenizer: a topicx.corpus.Tokenizer is needed (Tokenizer(pattern=…) for a pattern), not {tokenizer!r:.60}; "
            "for words of your own give lists of words"
        )
    find = tokenizer is None and stopwords == "auto"
    if tokenizer is None:
        tokenizer = Tokenizer(stopwords=() if stopwords is None or find else stopwords)  # type: ignore[arg-type]
    vocabulary = None
    if like is not None:
        if limits or bigrams:
            raise InputError("like fixes the words: leave the limits and bigrams out")
        tokenizer, vocabulary = Tokenizer.from_meta(like.meta.get("tokenizer")), like.vocabulary
    options = replace(_build_options(limits, snippet, bigrams), find_stopwords=find and like is None)
    with Builder(tokenizer, options, like=vocabulary) as builder:
        for batch in text_batches(texts, ids=ids, labels=labels, collections=collections, times=times, columns=columns):
            builder.add(batch)
        return builder.corpus()


def text_batches(texts: Iterable[str], **about: Any) -> Iterator[Batch]:
    """Texts in batches; `about`: ids, labels, collections, times and columns."""
    number = 0
    for part, batch in _batches_of_documents(texts, "texts", **about):
        for i, text in enumerate(part):
            if not isinstance(text, str):
                raise InputError(f"texts[{number + i}] is not a string but a {type(text).__name__}")
        batch.texts = [text if type(text) is str else str.__str__(text) for text in part]  # NumPy's strings
        number += len(part)
        yield batch


def from_documents(
    documents: Iterable[Sequence[str]],
    *,
    ids: Iterable[str] | None = None,
    labels: Iterable[Any] | None = None,
    collections: Iterable[str | None] | None = None,
    times: Iterable[Any] | None = None,
    columns: dict[str, Iterable[Any]] | None = None,
    vocabulary: Sequence[str] | None = None,
    **limits: Any,
) -> Corpus:
    """A corpus of documents that are lists of words. `vocabulary` fixes the words and their order."""
    if vocabulary is not None and limits:
        raise InputError("a vocabulary fixes the words: leave the limits out")
    like = vocabulary if vocabulary is None else _plain_words(vocabulary, "vocabulary")
    with Builder(None, _build_options(limits, 0), like=like) as builder:
        about: dict[str, Any] = {"ids": ids, "labels": labels, "collections": collections, "times": times}
        try:
            for batch in word_batches(documents, **about, columns=columns):
                builder.add(batch)
        except UnicodeEncodeError as error:
            raise InputError(f"documents have a word with a lone surrogate: {error.object!r}") from None
        return builder.corpus()


def word_batches(documents: Iterable[Sequence[str]], **about: Any) -> Iterator[Batch]:
    """Documents that are lists of words in batches; `about`: ids, labels, collections, times and columns."""
    number = 0
    for part, batch in _batches_of_documents(documents, "documents", **about):
        batch.words = [_plain_words(words, "documents", number + i) for i, words in enumerate(part)]
        number += len(part)
        yield batch


def _plain_words(words: Any, name: str, number: int | None = None) -> Sequence[str]:
    """Words as the kernels take them: NumPy's strings, and other kinds of str, as plain ones."""
    listed = isinstance(words, Sequence | np.ndarray) and not isinstance(words, str)
    if not listed or not all(isinstance(word, str) for word in words):
        what = " is None, which is" if words is None else " is"
        raise InputError(f"{name}{'' if number is None else f'[{number}]'}{what} not a list of words")
    return words if all(type(word) is str for word in words) else [str.__str__(word) for word in words]


def from_matrix(
    matrix: Any,
    vocabulary: Sequence[str] | None = None,
    *,
    ids: Iterable[str] | None = None,
    labels: Iterable[Any] | None = None,
    collections: Iterable[str | None] | None = None,
    times: Iterable[Any] | None = None,
    columns: dict[str, Iterable[Any]] | None = None,
) -> Corpus:
    """A corpus from a documents × words matrix of counts; the vocabulary keeps the order of the columns.

    A document's tokens stand in the order of the columns. Without `vocabulary`, words are named by their
    column: its name in a pandas frame (whose index names the documents), else its number.
    """
    names, batches = matrix_batches(
        matrix, vocabulary, ids=ids, labels=labels, collections=collections, times=times, columns=columns
    )
    with Builder(None, BuildOptions(snippet=0), like=names) as builder:
        for batch in batches:
            builder.add(batch)
        return builder.corpus()


def matrix_batches(
    matrix: Any, vocabulary: Sequence[str] | None = None, **about: Any
) -> tuple[list[str], Iterator[Batch]]:  # fmt: skip
    """The words of a documents × words matrix of counts, and its documents in batches; `about`: ids, labels,
    collections, times and columns."""
    import scipy.sparse

    if hasattr(matrix, "columns") and hasattr(matrix, "index"):  # a frame of pandas: it has names
        vocabulary = [field_as_text(name) for name in matrix.columns] if vocabulary is None else vocabulary
        if about.get("ids") is None:
            about["ids"] = [field_as_text(name) for name in matrix.index]
        matrix = matrix.to_numpy()
    if scipy.sparse.issparse(matrix):
        table = _checked_rows(matrix)
    else:
        if np.ma.isMaskedArray(matrix) and np.ma.getmaskarray(matrix).any():
            raise InputError("matrix has masked entries, which are no counts: matrix.filled(0) makes them none")
        dense = np.asarray(matrix)
        if dense.ndim != 2 or dense.dtype.kind not in "iufb":
            raise InputError(f"matrix must be documents × words of numbers, not {dense.dtype} of shape {dense.shape}")
        table = scipy.sparse.csr_array(_plain_numbers(dense))
    n_documents, n_words = table.shape
    names = [str(i) for i in range(n_words)] if vocabulary is None else list(_plain_words(vocabulary, "vocabulary"))
    if len(names) != n_words:
        raise InputError(f"vocabulary has {len(names)} words, but the matrix has {n_words} columns")
    values = np.asarray(table.data)
    wrong = ~(np.isfinite(values) & (values >= 0) & (values == np.floor(values)) & (values < 2**32))
    if wrong.any():
        at = int(np.argmax(wrong))
        row = int(np.searchsorted(table.indptr, at, side="right")) - 1
        raise InputError(f"matrix[{row}, {table.indices[at]}] is {values[at]}, not a count")

    def batches() -> Iterator[Batch]:
        for part, batch in _batches_of_documents(np.arange(n_documents), "rows", **about, size=50_000):
            first, last = table.indptr[part[0]], table.indptr[part[-1] + 1]
            lengths = np.diff(table.indptr[part[0] : part[-1] + 2]).astype(np.int64)
            indices = table.indices[first:last].astype(np.int64)
            batch.counts = Counts(indices, values[first:last].astype(np.int64), lengths, names)
            yield batch

    return names, batches()


def _plain_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers in the machine's own order of bytes, and of no type that SciPy lacks."""
    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    return native.astype(np.float64) if native.dtype in (np.float16, np.longdouble) else native


def _checked_rows(matrix: Any) -> Any:
    """A sparse matrix by rows, of its own and without doubles; InputError if its indices lie."""
    import scipy.sparse

    try:
        own = matrix.copy()
        if hasattr(own, "check_format"):
            own.check_format(full_check=True)
            low = min((int(part.min()) for part in (own.indices, own.indptr) if len(part)), default=0)
            if low < 0 or len(own.indices) < own.indptr[-1] or len(own.data) < own.indptr[-1]:
                raise ValueError(f"an index of {low}")
    except ValueError as error:
        raise InputError(f"matrix is not a sparse matrix that fits together: {error}") from None
    if hasattr(own, "data") and isinstance(own.data, np.ndarray) and own.data.dtype != object:
        own.data = _plain_numbers(own.data)
    table = scipy.sparse.csr_array(own)
    table.sum_duplicates()
    return table


def with_labels(corpus: Corpus, labels: Iterable[Any]) -> Corpus:
    """A corpus of these documents with other labels: for each a label, several, or None."""
    chosen = _label_tuples(list(labels))
    if len(chosen) != corpus.n_documents:
        raise InputError(f"labels has {len(chosen)} values, but there are {corpus.n_documents} documents")
    names = sorted({label for one in chosen for label in one})
    number = {name: i for i, name in enumerate(names)}
    offsets = np.zeros(len(chosen) + 1 if names else 0, dtype=np.int64)
    if names:
        np.cumsum([len(one) for one in chosen], out=offsets[1:])
    ids = np.array([number[label] for one in chosen for label in one], dtype=np.uint32)
    return replace(corpus, label_names=Strings.of(names), label_offsets=offsets, label_ids=ids, digest="")


def to_matrix(corpus: Corpus) -> scipy.sparse.csr_array:
    """The documents × words counts (int64) as a CSR array with sorted indices."""
    import scipy.sparse

    ones = np.ones(corpus.n_tokens, dtype=np.int64)
    shape = (corpus.n_documents, corpus.n_words)
    matrix = scipy.sparse.csr_array((ones, corpus.words.astype(np.int64), corpus.offsets.copy()), shape=shape)
    matrix.sum_duplicates()
    return matrix


def from_dataframe(
    frame: pandas.DataFrame,
    text: str = "text",
    *,
    id: str | None = None,
    label: str | None = None,
    collection: str | None = None,
    time: str | None = None,
    columns: Sequence[str] = (),
    **options: Any,
) -> Corpus:
    """A corpus from a pandas frame; the arguments name its columns (`columns`: further ones to keep).

    Without `id` documents are named by the frame's index. A cell of `label` is a label or a list of labels. A
    cell of `text` may also be a list of words. `options` go to `from_texts`.
    """
    if not (hasattr(frame, "index") and hasattr(frame, "columns") and hasattr(frame, "iloc")):
        raise InputError(f"a frame of pandas is needed, not a {type(frame).__name__} (frame.to_pandas() makes one)")
    for name in (text, id, label, collection, time, *columns):
        if name is not None and list(frame.columns).count(name) > 1:
            raise InputError(f"the frame has {list(frame.columns).count(name)} columns {name!r}")
        if name is not None and name not in frame.columns:
            there = ", ".join(map(str, frame.columns[:12]))
            raise InputError(f"the frame has no column {name!r}; there are: {there}")

    collections = None if collection is None else _frame_column(frame, collection)
    about: dict[str, Any] = {
        "ids": [field_as_text(value) for value in (frame.index.tolist() if id is None else frame[id].tolist())],
        "labels": None if label is None else _frame_column(frame, label),
        "collections": None
        if collections is None
        else [None if value is None else field_as_text(value) for value in collections],
        "times": None if time is None else _frame_column(frame, time),
        "columns": {name: _frame_column(frame, name) for name in columns},
    }
    texts = ["" if value is None else value for value in _frame_column(frame, text)]
    if texts and all(isinstance(value, (list, tuple, np.ndarray)) for value in texts):
        return from_documents([list(value) for value in texts], **about, **options)
    return from_texts(texts, **about, **options)


def frame_batches(frame: pandas.DataFrame, text: str) -> Iterator[Batch]:
    """The rows of a pandas frame in batches: texts or lists of words, with all other columns of texts, numbers and
    times. Those called label, collection and time are what these names say; the index names the documents."""
    columns = {str(name): _frame_column(frame, name) for name in frame.columns if name != text}
    plain = {name: values for name, values in columns.items() if name == "label" or _are_scalars(values)}
    collections = plain.pop("collection", None)
    about: dict[str, Any] = {
        "ids": [field_as_text(value) for value in frame.index.tolist()],
        "labels": plain.pop("label", None),
        "collections": collections and [None if value is None else field_as_text(value) for value in collections],
        "times": plain.pop("time", None),
        "columns": plain,
    }
    texts = ["" if value is None else value for value in _frame_column(frame, text)]
    if texts and all(isinstance(value, (list, tuple, np.ndarray)) for value in texts):
        return word_batches([list(value) for value in texts], **about)
    return text_batches(texts, **about)


def _frame_column(frame: pandas.DataFrame, name: Any) -> list[Any]:
    return [None if _is_missing(value) else value for value in frame[name].tolist()]


def _are_scalars(values: list[Any]) -> bool:
    return all(value is None or isinstance(value, str | int | float | datetime.date) for value in values)


def to_dataframe(corpus: Corpus) -> pandas.DataFrame:
    """A pandas frame with a row a document. `words` holds lists of words."""
    import pandas

    vocabulary = np.array(list(corpus.vocabulary), dtype=object)
    documents = [
        vocabulary[corpus.words[begin:end]].tolist() for begin, end in itertools.pairwise(corpus.offsets.tolist())
    ]
    frame: dict[str, Any] = {"id": list(corpus.ids), "words": documents}
    if len(corpus.label_offsets):
        frame["labels"] = [corpus.labels(i) for i in range(len(corpus))]
    if len(corpus.collection):
        frame["collection"] = [corpus.collection_of(i) for i in range(len(corpus))]
    if len(corpus.time):
        times: Any = corpus.time
        if corpus.meta.get("time") == "date":
            times = pandas.to_datetime(corpus.time, unit="D", origin="unix")
        frame["time"] = times
    for name, values in corpus.columns.items():
        if name not in frame:
            frame[name] = list(values) if isinstance(values, Strings) else values
    return pandas.DataFrame(frame)


def prune_corpus(
    corpus: Corpus,
    *,
    min_count: int = 1,
    min_doc_freq: int = 1,
    max_doc_freq: float = 1.0,
    stopwords: Iterable[str] = (),
    words: Iterable[str] | None = None,
    keep_most: int | None = None,
    drop_most: int = 0,
    min_length: int = 1,
    drop_numbers: bool = False,
    drop_empty: bool = False,
) -> Corpus:
    """A corpus without the words beyond these limits. The words that stay keep their order.

    `words` keeps only these. Of the words that pass the rest, `drop_most` drops the most frequent; `keep_most` keeps
    the most frequent that are then left (ties by their order). `min_length` drops words of fewer characters,
    `drop_numbers` words without a letter.
    """
    options = _build_options({"min_count": min_count, "min_doc_freq": min_doc_freq, "max_doc_freq": max_doc_freq}, 0)
    tokens, documents = corpus.word_frequencies, corpus.document_frequencies
    keep = (tokens >= max(options.min_count, 1)) & (documents >= options.min_doc_freq)
    keep &= documents <= math.floor(options.max_doc_freq * corpus.n_documents + 1e-9)
    dropped = frozenset(stopwords)
    wanted = None if words is None else frozenset(words)
    form = Tokenizer(min_length=min_length, keep_numbers=not drop_numbers)
    if dropped or wanted is not None or form.drops_noise:
        names = list(corpus.vocabulary)
        keep &= np.array([not form.is_noise(name) for name in names], dtype=bool)
        keep &= np.array([name not in dropped and (wanted is None or name in wanted) for name in names], dtype=bool)
    chosen = np.flatnonzero(keep)
    if drop_most or keep_most is not None:
        chosen = np.sort(chosen[np.argsort(-tokens[chosen], kind="stable")[drop_most:][:keep_most]])
    mapping = np.full(corpus.n_words, -1, dtype=np.int64)
    mapping[chosen] = np.arange(len(chosen))
    final = mapping[corpus.words]
    kept = final >= 0
    if not kept.any():
        raise InputError("nothing is left: no word is within the limits")
    sums = np.concatenate([[0], np.cumsum(kept)])
    bytes_, offsets = take_rows(corpus.vocabulary.data, corpus.vocabulary.offsets, chosen)
    result = replace(
        corpus,
        words=final[kept].astype(np.uint32),
        offsets=sums[corpus.offsets].astype(np.int64),
        vocabulary=Strings(bytes_, offsets),
        meta=dict(corpus.meta),
        digest="",
        truth=_pruned_truth(corpus, kept, chosen),
        extra={},
    )
    counts = dict(corpus.meta.get("counts", {}))
    empty = int((result.lengths == 0).sum())
    counts["dropped_words"] = counts.get("dropped_words", 0) + int((tokens > 0).sum()) - len(chosen)
    counts["dropped_tokens"] = counts.get("dropped_tokens", 0) + corpus.n_tokens - result.n_tokens
    if drop_empty and empty:
        result = result.select(result.lengths > 0)
        counts["dropped_documents"] = counts.get("dropped_documents", 0) + empty
    result.meta["counts"] = counts | recount_metadata(result)
    return result


def _pruned_truth(corpus: Corpus, kept: NDArray[np.bool_], words: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """What is known of a synthetic corpus, for the tokens and words that stay; what goes by word numbers otherwise is
    dropped."""
    truth = {name: array for name, array in corpus.truth.items() if name != "topic_slots"}
    if "z" in truth:
        truth["z"] = truth["z"][kept]
    for name in ("topic_word", "emissions"):
        if name in truth:
            truth[name] = truth[name][:, words]
    return truth


def recount_metadata(corpus: Corpus) -> dict[str, int]:
    """The counts of a corpus that its metadata repeats."""
    return {
        "documents": corpus.n_documents,
        "empty_documents": int((corpus.lengths == 0).sum()),
        "tokens": corpus.n_tokens,
        "words": corpus.n_words,
    }


def _build_options(limits: dict[str, Any], snippet: int, bigrams: BigramOptions | bool = False) -> BuildOptions:
    unknown = set(limits) - {"min_count", "min_doc_freq", "max_doc_freq", "drop_empty"}
    if unknown:
        raise TypeError(f"unknown arguments: {', '.join(sorted(unknown))}")
    for name, low in (("min_count", 1), ("min_doc_freq", 1)):
        if name in limits and not (limits[name] == int(limits[name]) and limits[name] >= low):
            raise InputError(f"{name} must be a whole number of at least {low}, not {limits[name]}")
    if not 0 < limits.get("max_doc_freq", 1.0) <= 1:
        raise InputError(f"max_doc_freq must be a share above 0 and at most 1, not {limits['max_doc_freq']}")
    chosen = BigramOptions() if bigrams is True else (bigrams or None)
    return BuildOptions(snippet=snippet, bigrams=chosen, **limits)


def _batches_of_documents(
    main: Iterable[Any],
    name: str,
    ids: Iterable[Any] | None = None,
    labels: Iterable[Any] | None = None,
    collections: Iterable[Any] | None = None,
    times: Iterable[Any] | None = None,
    columns: dict[str, Iterable[Any]] | None = None,
    size: int = _BATCH,
) -> Iterable[tuple[list[Any], Batch]]:
    """The documents in batches with what goes along with them; all must be equally many."""
    streams: dict[str, Any] = {"ids": ids, "labels": labels, "collections": collections, "times": times}
    streams = {key: iter(value) for key, value in streams.items() if value is not None}
    further = {key: iter(value) for key, value in (columns or {}).items()}
    documents = iter(main)
    start = 0
    while part := list(itertools.islice(documents, size)):
        batch = Batch("", range(start, start + len(part)))
        for key, stream in (streams | further).items():
            values = list(itertools.islice(stream, len(part)))
            if len(values) < len(part):
                raise InputError(f"{key} has {start + len(values)} values, but there are more {name}")
            if key in further:
                batch.columns[key] = values
            else:
                setattr(batch, key, _label_tuples(values) if key == "labels" else values)
        if batch.ids is not None:
            batch.ids = [field_as_text(value) for value in batch.ids]
        yield part, batch
        start += len(part)
    for key, stream in (streams | further).items():
        if next(stream, stream) is not stream:
            raise InputError(f"{key} has more values than there are {name} ({start})")


def _label_tuples(values: list[Any]) -> list[tuple[str, ...]]:
    """A label, several, or None a document."""
    result: list[tuple[str, ...]] = []
    for value in values:
        if value is None:
            result.append(())
        elif isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
            parts = sorted(value) if isinstance(value, (set, frozenset)) else value
            result.append(tuple(dict.fromkeys(field_as_text(part) for part in parts)))
        else:
            result.append((field_as_text(value),))
    return result


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA."""
    if value is None:
        return True
    if isinstance(value, (str, list, tuple, set, dict, np.ndarray)):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True
