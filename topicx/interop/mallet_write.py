"""MALLET's text files, byte for byte as MALLET 2.1 writes them, from a state: one writer a format.

`topicx mallet` and `topicx export` write them by the same functions. A state has to have one α and one β, and a topic
for every token (`check_writable` says so by name). Ties are MALLET's: the larger number first.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.files.container import atomic_output
from topicx.interop import mallet_numbers as numbers
from topicx.interop.mallet_state import HEADER
from topicx.interop.text_parsing import shorten_for_message
from topicx.model import Model
from topicx.state import State, document_batches
from topicx.strings import one_line as printable

DOC_HEADER = "#doc name topic proportion ...\n"
_BATCH = 1 << 18


def check_writable(state: State | Model, format: str) -> None:
    """InputError if MALLET's files cannot say what this state or model holds."""
    if len(state.alpha) > 1:
        raise InputError(f"{format}: there are {len(state.alpha)} groups of documents with an α each; "
                         "MALLET's files hold one α")  # fmt: skip
    if isinstance(state, State):
        _one_path(state, format)
        if len(state.seeds):
            raise InputError(f"{format}: seed words have a prior of their own, which MALLET's cannot say")
        if np.any(state.beta != state.beta[0]):
            raise InputError(f"{format}: β differs between words, which MALLET's files cannot say")
        if np.any(state.z >= state.n_topics):
            raise InputError(f"{format}: some tokens have no topic yet")


def _one_path(state: State, format: str) -> None:
    if state.paths > 1:
        raise InputError(f"{format}: the state has {state.paths} paths, and the file has one: choose it (--path)")


def name_in_one_line(name: str) -> str:
    """A name that cannot break a table or a terminal: blanks of all kinds between two fields are one blank."""
    return printable(
        " ".join(name.split()) if any(c in name for c in "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029") else name
    )


def one_word(word: str, at: int, format: str) -> str:
    """A word of a line whose fields are parted by blanks."""
    if not word or " " in word or printable(word) != word:
        raise InputError(
            f"{format}: word {at} is {shorten_for_message(word)}, "
            "and a word with blanks or control characters cannot be written"
        )
    return word


# -- tokens --------------------------------------------------------------------------------------------------------


def write_state(
    state: State, out: str, sources: Sequence[str] | None = None, format: str = "--output-state", packed: bool = True
) -> None:
    """--output-state: a line a token. `sources`: what stands in the second field (NA where empty).

    MALLET packs it whatever its name is; with `packed` False a name that ends in .gz says so.
    """
    check_writable(state, format)
    typed = [f"{at} {one_word(word, at, format)}" for at, word in enumerate(state.vocabulary)]
    names = [name_in_one_line(name).strip() or "NA" for name in sources] if sources is not None else None
    with _open_output_stream(out, packed) as stream:
        head = HEADER.decode() + "\n#alpha : " + "".join(f"{numbers.java_double(a)} " for a in state.alpha[0].tolist())
        stream.write(f"{head}\n#beta : {numbers.java_double(float(state.beta[0]))}\n".encode())
        for lines in _token_lines(state, typed, names):
            stream.write(lines.encode("utf-8", "surrogatepass"))


@contextmanager
def _open_output_stream(out: str, packed: bool) -> Iterator[Any]:
    with atomic_output(out) as stream:
        if out.endswith(".gz") or not packed:
            yield stream
        else:
            with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=stream, mtime=0) as inner:
                yield inner


def _token_lines(state: State, typed: list[str], names: list[str] | None) -> Iterator[str]:
    offsets = state.offsets.tolist()
    tails = [str(k) + "\n" for k in range(state.n_topics)]
    for begin, end in document_batches(state.offsets, _BATCH):
        parts = []
        for d in range(begin, end):
            first, last = offsets[d], offsets[d + 1]
            start = f"{d} {names[d] if names else 'NA'} "
            tokens = zip(state.words[first:last].tolist(), state.z[first:last].tolist())
            parts.append("".join([f"{start}{at} {typed[w]} {tails[k]}" for at, (w, k) in enumerate(tokens)]))
        yield "".join(parts)


# -- documents -----------------------------------------------------------------------------------------------------


def alpha_sum(alpha: NDArray[np.float64]) -> float:
    """Σ α as MALLET has it: the sum that was given where all are alike, else added one after the other."""
    if np.all(alpha == alpha[0]):
        return float(len(alpha) * alpha[0])
    total = 0.0
    for value in alpha.tolist():  # not sum(), which corrects the rounding since Python 3.12
        total += value
    return total


def _dense_document_topics(state: State, begin: int, end: int) -> NDArray[np.int64]:
    """n_dk of these documents, dense."""
    topics = state.n_topics
    first, last = int(state.offsets[begin]), int(state.offsets[end])
    documents = np.repeat(np.arange(end - begin), np.diff(state.offsets[begin : end + 1]))
    cells = documents * topics + state.z[first:last]
    return np.bincount(cells, minlength=(end - begin) * topics).reshape(end - begin, topics)


def dense_batches(state: State) -> Iterator[tuple[int, int]]:
    """Runs of documents whose dense n_dk fit into little memory."""
    most = max(_BATCH // state.n_topics, 1)
    for begin, end in document_batches(state.offsets, 4 * _BATCH):
        for first in range(begin, end, most):
            yield first, min(first + most, end)


def document_shares(state: State) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """(α_k + n_dk) / (N_d + Σα), in MALLET's order of operations."""
    alpha, total = state.alpha[0], alpha_sum(state.alpha[0])
    for begin, end in dense_batches(state):
        lengths = np.diff(state.offsets[begin : end + 1])
        yield begin, (alpha + _dense_document_topics(state, begin, end)) / (lengths + total)[:, None]


def doc_topics(
    rows: Iterable[tuple[int, NDArray[np.float64]]], names: Sequence[str], out: str, *, threshold: float = 0.0,
    most: int = -1, inferred: bool = False,
) -> None:  # fmt: skip
    """--output-doc-topics: all shares, or with a threshold the largest from it on (and `most` of them at most).

    What infer-topics writes (`inferred`) has the header always and no tab at a line's end.
    """
    with atomic_output(out) as stream:
        if threshold != 0.0 or inferred:
            stream.write(DOC_HEADER.encode())
        for begin, values in rows:
            stream.write("".join(_document_lines(begin, values, names, threshold, most, inferred)).encode())


def _document_lines(
    begin: int, values: NDArray[np.float64], names: Sequence[str], threshold: float, most: int, inferred: bool
) -> Iterator[str]:
    topics = values.shape[1]
    tail = "\n" if inferred or threshold == 0.0 else "\t\n"
    written = numbers.java_doubles(values)
    order = None
    if threshold != 0.0:
        reverse = np.argsort(-values[:, ::-1], axis=1, kind="stable")  # ties: the larger topic first
        order = (topics - 1 - reverse)[:, : topics if most < 0 or most > topics else most]
    for at in range(len(values)):
        start = f"{begin + at}\t{_one_line_name(names[begin + at])}"
        row = written[at]
        if order is None:
            yield f"{start}\t" + "\t".join(row.tolist()) + tail
            continue
        chosen = [f"\t{k}\t{row[k]}" for k in order[at].tolist() if values[at, k] >= threshold]
        yield start + "".join(chosen) + tail


def _one_line_name(name: str) -> str:
    return name_in_one_line(name).encode("utf-8", "replace").decode()


def topic_docs(state: State, out: str, number: int = 100) -> None:
    """--output-topic-docs: the documents in which a topic is largest, smoothed by ten tokens a topic."""
    best: list[list[tuple[float, int]]] = [[] for _ in range(state.n_topics)]
    for begin, end in dense_batches(state):
        lengths = np.diff(state.offsets[begin : end + 1])
        rows = (_dense_document_topics(state, begin, end) + 10.0) / (lengths + state.n_topics * 10.0)[:, None]
        for k, found in enumerate(best):
            order = np.lexsort((-np.arange(begin, end), -rows[:, k]))[:number]
            found += [(float(rows[d, k]), begin + d) for d in order.tolist()]
            if len(found) > number:
                best[k] = sorted(found, reverse=True)[:number]
    with atomic_output(out) as stream:
        stream.write(b"#topic doc name proportion ...\n")
        for k, found in enumerate(best):
            lines = [
                f"{k} {d} {_one_line_name(state.ids[d])} {numbers.fixed_decimals(share, 6)}\n"
                for share, d in sorted(found)[::-1]
            ]
            stream.write("".join(lines).encode())


# -- words ---------------------------------------------------------------------------------------------------------

Ranked = list[tuple[NDArray[np.int64], NDArray[Any]]]


def ranked_words(counts: Any, number: int | None = None) -> Ranked:
    """Words that have tokens in each topic, and their counts: falling, of equals the larger number first.

    `counts`: a sparse array of words × topics.
    """
    columns = counts.tocsc()
    found: Ranked = []
    for k in range(columns.shape[1]):
        begin, end = columns.indptr[k], columns.indptr[k + 1]
        words, values = columns.indices[begin:end].astype(np.int64), columns.data[begin:end]
        words, values = words[values > 0], values[values > 0]
        order = np.lexsort((-words, -values))[:number]
        found.append((words[order], values[order]))
    return found


def word_counts(state: State) -> Any:
    """n_kw as a sparse array of words × topics."""
    import scipy.sparse

    indptr, topics, counts = state.word_topics()
    return scipy.sparse.csr_array((counts, topics.astype(np.int32), indptr), shape=(state.n_words, state.n_topics))


def key_lines(alpha: NDArray[np.float64], ranked: Ranked, vocabulary: Sequence[str], number: int) -> Iterator[str]:
    """`topic⇥alpha⇥word word … `: the topic keys, in the file and on the screen."""
    for k, (words, _) in enumerate(ranked):
        spelt = "".join(f"{vocabulary[int(w)]} " for w in words[:number])
        yield f"{k}\t{numbers.short_decimal(float(alpha[k]))}\t{spelt}\n"


def topic_keys(
    alpha: NDArray[np.float64], ranked: Ranked, vocabulary: Sequence[str], out: str, number: int = 20
) -> None:
    """--output-topic-keys."""
    with atomic_output(out, binary=False) as stream:
        stream.writelines(key_lines(alpha, ranked, vocabulary, number))


def topic_word_weights(weights: Iterable[NDArray[np.float64]], vocabulary: Iterable[str], out: str) -> None:
    """--topic-word-weights-file: all K × V lines `topic⇥word⇥weight`, topic by topic."""
    words = list(vocabulary)
    with atomic_output(out, binary=False) as stream:
        for k, row in enumerate(weights):
            stream.writelines(
                [f"{k}\t{word}\t{weight}\n" for word, weight in zip(words, numbers.java_doubles(row).tolist())]
            )


def smoothed_counts(counts: Any, beta: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Counts and β of every word added, topic by topic."""
    columns = counts.tocsc()
    for k in range(columns.shape[1]):
        weights = beta.copy()
        span = slice(columns.indptr[k], columns.indptr[k + 1])
        weights[columns.indices[span]] += columns.data[span]
        yield weights


def word_topic_counts(
    counts: Any, vocabulary: Sequence[str], out: str, state: State | None = None, option: str = "--word-topic-counts"
) -> None:
    """--word-topic-counts-file: `type word topic:count …`, counts falling.

    Equal counts have the larger topic first; those of 1 stand in the order in which `state` comes upon them, as in the
    arrays that MALLET builds from a corpus.
    """
    if state is not None:
        _one_path(state, option)
    rows = counts.tocsr()
    rows.sort_indices()
    met = _first_tokens(rows, state) if state is not None else -rows.indices.astype(np.int64)
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    tie = np.where(rows.data == 1, met, -rows.indices.astype(np.int64))
    order = np.lexsort((tie, -rows.data, owner))
    topics, values, begins = rows.indices[order].tolist(), rows.data[order].tolist(), rows.indptr.tolist()
    with atomic_output(out, binary=False) as stream:
        for w, word in enumerate(vocabulary):
            span = range(begins[w], begins[w + 1])
            entries = "".join([f" {topics[i]}:{values[i]}" for i in span if values[i] > 0])
            stream.write(f"{w} {one_word(word, w, option)}{entries}\n")


def _first_tokens(rows: Any, state: State) -> NDArray[np.int64]:
    """For each entry of a word the place of the last of its tokens (of the only one, where the count is 1)."""
    topics = state.n_topics
    keys = np.repeat(np.arange(rows.shape[0], dtype=np.int64), np.diff(rows.indptr)) * topics + rows.indices
    met = np.zeros(len(keys), np.int64)
    for begin in range(0, state.n_tokens, 1 << 22):
        span = slice(begin, begin + (1 << 22))
        tokens = state.words[span].astype(np.int64) * topics + state.z[span]
        met[np.searchsorted(keys, tokens)] = np.arange(begin, begin + len(tokens))
    return met
