"""A state or a model in other programs' formats, so that what was written for them goes on working.

MALLET's text formats are written as MALLET 2.1 writes them; what their α, β and counts cannot say is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import IO, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.files import atomic_output
from topicx.interop import warplda
from topicx.interop.mallet import HEADER
from topicx.interop.text import shown
from topicx.model import Model
from topicx.state import State

STATE_FORMATS = ("mallet-state", "mallet-doc-topics", "warplda", "pyldavis")
MODEL_FORMATS = (
    "mallet-topic-keys", "mallet-topic-word-weights", "mallet-word-topic-counts", "mallet-diagnostics",
)  # fmt: skip
_LINES = 1 << 14

# MALLET's twelve, in its order and spelling.
DIAGNOSTICS = (
    "tokens", "document_entropy", "word-length", "coherence", "uniform_dist", "corpus_dist", "eff_num_words",
    "token-doc-diff", "rank_1_docs", "allocation_ratio", "allocation_count", "exclusivity",
)  # fmt: skip
_WORD_DIAGNOSTICS = (
    "word-length", "coherence", "uniform_dist", "corpus_dist", "token-doc-diff", "exclusivity",
)  # fmt: skip


# -- a state -------------------------------------------------------------------------------------------------------


def mallet_state(state: State, out: str) -> None:
    """MALLET's --output-state: a line a token."""
    beta = np.unique(state.beta)
    _one_alpha(state, "mallet-state")
    if len(beta) > 1:
        raise InputError("--format mallet-state: β differs between words, which a MALLET state cannot say")
    if len(state.seeds):
        raise InputError("--format mallet-state: seed words have a prior of their own, which MALLET's cannot say")
    if np.any(state.z >= state.n_topics):
        raise InputError("--format mallet-state: some tokens have no topic yet")
    words = [_word(word, at, "mallet-state") for at, word in enumerate(state.vocabulary)]
    typed = [f"{at} {word}" for at, word in enumerate(words)]
    with atomic_output(out, binary=False) as stream:
        stream.write(f"{HEADER.decode()}\n#alpha : ")
        stream.write("".join(f"{float(a)!r} " for a in state.alpha[0]))
        stream.write(f"\n#beta : {float(beta[0])!r}\n")
        stream.writelines(_token_lines(state, typed))


def _token_lines(state: State, typed: list[str]) -> Iterator[str]:
    for d in range(state.n_documents):
        span = slice(int(state.offsets[d]), int(state.offsets[d + 1]))
        start = f"{d} {_source(state.ids[d], d)} "
        tokens = zip(state.words[span].tolist(), state.z[span].tolist())
        yield "".join(f"{start}{at} {typed[w]} {k}\n" for at, (w, k) in enumerate(tokens))


def _source(name: str, number: int) -> str:
    """A document's name on one line; NA if it has none but its number."""
    name = " ".join(name.split("\n")).replace("\r", " ").strip()
    return name if name and name != str(number) else "NA"


def _word(word: str, at: int, format: str) -> str:
    if not word or any(c in word for c in " \t\r\n"):
        raise InputError(f"--format {format}: word {at} is {shown(word)}, and a word with blanks cannot be written")
    return word


def _one_alpha(state: State | Model, format: str) -> None:
    if len(state.alpha) > 1:
        raise InputError(f"--format {format}: there are {len(state.alpha)} groups of documents with an α each; "
                         "MALLET's files hold one α")  # fmt: skip


def mallet_doc_topics(
    state: State, out: str, *, theta: str = "cgs", threshold: float = 0.0, most: int | None = None, threads: int = 0
) -> None:
    """MALLET's --output-doc-topics, with --doc-topics-threshold and --doc-topics-max."""
    from topicx.estimate.estimate import theta_rows

    if most is not None and most < 1:
        raise InputError(f"--doc-topics-max: {most} must be at least 1")
    if not 0 <= threshold < 1:
        raise InputError(f"--doc-topics-threshold: {threshold} must be at least 0 and below 1")
    partial = threshold > 0 or most is not None
    with atomic_output(out) as stream:
        if partial:
            stream.write(b"#doc name topic proportion ...\n")
        for begin, rows in theta_rows(state, theta, threads=threads):
            # Descending, equal shares by topic number.
            order = np.argsort(-rows, axis=1, kind="stable")[:, :most] if partial else None
            lines = []
            for at, row in enumerate(rows.tolist()):
                name = state.ids[begin + at]
                name = " ".join(name.split()) if any(c in name for c in "\t\n\r") else name
                if order is None:
                    shown = "\t".join(map(repr, row))
                else:
                    shown = "".join(f"{k}\t{row[k]!r}\t" for k in order[at].tolist() if row[k] >= threshold)
                lines.append(f"{begin + at}\t{name}\t{shown}\n")
            stream.write("".join(lines).encode("utf-8", "surrogatepass"))


def pyldavis(state: State, model: Model, out: str, *, theta: str = "cgsp", threads: int = 0) -> None:
    """The five arguments of pyLDAvis.prepare as one JSON object: `pyLDAvis.prepare(**json.load(open(FILE)))`.

    Documents without tokens are left out: they have no topics to show.
    """
    from topicx.estimate.estimate import theta_rows

    filled = state.lengths > 0
    with atomic_output(out, binary=False) as stream:
        stream.write('{"topic_term_dists": [\n')
        for k in range(model.n_topics):
            stream.write(("" if k == 0 else ",\n") + _numbers(model.topic_word[k]))
        stream.write('],\n"doc_topic_dists": [\n')
        first = True
        for begin, rows in theta_rows(state, theta, threads=threads):
            for row in rows[filled[begin : begin + len(rows)]]:
                stream.write(("" if first else ",\n") + _numbers(row))
                first = False
        stream.write('],\n"doc_lengths": ' + json.dumps(state.lengths[filled].tolist()))
        stream.write(',\n"vocab": ' + json.dumps(list(state.vocabulary), ensure_ascii=False))
        frequency = np.bincount(state.words, minlength=state.n_words)
        stream.write(',\n"term_frequency": ' + json.dumps(frequency.tolist()) + "}\n")


def _numbers(values: NDArray[np.float64]) -> str:
    return "[" + ",".join(map(repr, values.tolist())) + "]"


# -- a model -------------------------------------------------------------------------------------------------------


def _top(model: Model, number: int) -> list[list[tuple[int, float]]]:
    """Each topic's words by falling expected count (only those above 0); as in MALLET the later word first in a tie."""
    counts = model.counts().tocsc()
    found = []
    for k in range(model.n_topics):
        begin, end = counts.indptr[k], counts.indptr[k + 1]
        words, values = counts.indices[begin:end], counts.data[begin:end].astype(np.float64)
        order = np.lexsort((-words, -values))[:number]
        found.append([(int(words[i]), float(values[i])) for i in order if values[i] > 0])
    return found


def mallet_topic_keys(model: Model, out: str, words: int = 20) -> None:
    """MALLET's --output-topic-keys: `topic⇥alpha⇥words `."""
    _one_alpha(model, "mallet-topic-keys")
    top = _top(model, words)
    with atomic_output(out, binary=False) as stream:
        for k in range(model.n_topics):
            alpha = f"{model.alpha[0, k]:.5f}".rstrip("0").rstrip(".")
            stream.write(f"{k}\t{alpha}\t" + "".join(f"{model.vocabulary[w]} " for w, _ in top[k]) + "\n")


def mallet_topic_word_weights(model: Model, out: str) -> None:
    """MALLET's --topic-word-weights-file: all K × V lines `topic⇥word⇥count + β`."""
    counts = model.counts().tocsc()
    words = list(model.vocabulary)
    with atomic_output(out, binary=False) as stream:
        for k in range(model.n_topics):
            weights = model.beta.copy()
            span = slice(counts.indptr[k], counts.indptr[k + 1])
            weights[counts.indices[span]] += counts.data[span]
            if len(model.remainder):
                weights += model.remainder * model.remainder_share[k]
            stream.writelines(f"{k}\t{word}\t{weight!r}\n" for word, weight in zip(words, weights.tolist()))


def mallet_word_topic_counts(model: Model, out: str) -> None:
    """MALLET's --word-topic-counts-file: `id word topic:count …`, the counts falling."""
    if len(model.values) and not np.array_equal(model.values, np.round(model.values)):
        raise InputError(
            "--format mallet-word-topic-counts: the model has expected counts (its φ is by "
            f"{model.meta.get('estimator', {}).get('phi', 'another estimator')}), which are not whole numbers; "
            "give the state, or a model made with --phi cgs"
        )
    if model.meta.get("seed_counts"):
        raise InputError("--format mallet-word-topic-counts: seed words have counts in advance, which are no tokens")
    with atomic_output(out, binary=False) as stream:
        for w, word in enumerate(model.vocabulary):
            span = slice(int(model.indptr[w]), int(model.indptr[w + 1]))
            topics, counts = model.topics[span], model.values[span].astype(np.int64)
            order = np.lexsort((-topics.astype(np.int64), -counts))
            entries = [f"{topics[i]}:{counts[i]}" for i in order if counts[i] > 0]
            stream.write(" ".join([str(w), _word(word, w, "mallet-word-topic-counts"), *entries]) + "\n")


def mallet_diagnostics(rows: Iterable[dict[str, Any]], out: str) -> None:
    """MALLET's --diagnostics-file (XML) from what `topicx.evaluate.diagnostics.topic_diagnostics` computes."""
    with atomic_output(out, binary=False) as stream:
        stream.write('<?xml version="1.0" encoding="UTF-8"?>\n<model>\n')
        for k, row in enumerate(rows):
            stream.write(f"<topic id='{row.get('topic', k)}'")
            _attributes(stream, row, DIAGNOSTICS)
            stream.write(">\n")
            for rank, word in enumerate(row.get("words", []), 1):
                _diagnosed_word(stream, rank, word)
            stream.write("</topic>\n")
        stream.write("</model>\n")


def _diagnosed_word(stream: IO[str], rank: int, word: Any) -> None:
    if isinstance(word, str):
        stream.write(f"<word rank='{rank}'>{escape(word)}</word>\n")
        return
    stream.write(f"<word rank='{rank}'")
    for name in ("count", "docs"):
        if name in word:
            stream.write(f" {name}='{word[name]:.0f}'")
    for name in ("prob", "cumulative"):
        if name in word:
            stream.write(f" {name}='{word[name]:.5f}'")
    _attributes(stream, word, _WORD_DIAGNOSTICS)
    stream.write(f">{escape(str(word['word']))}</word>\n")


def _attributes(stream: IO[str], values: dict[str, Any], names: Iterable[str]) -> None:
    for name in names:
        key = name if name in values else name.replace("-", "_")
        if key in values:
            value = values[key]
            text = f"{value:.4f}" if isinstance(value, int | float | np.number) else str(value)
            stream.write(f" {name}={quoteattr(text)}".replace('"', "'"))


__all__ = [
    "DIAGNOSTICS", "MODEL_FORMATS", "STATE_FORMATS", "mallet_diagnostics", "mallet_doc_topics", "mallet_state",
    "mallet_topic_keys", "mallet_topic_word_weights", "mallet_word_topic_counts", "pyldavis", "warplda",
]  # fmt: skip
