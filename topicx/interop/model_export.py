"""A state or a model in other programs' formats, so that what was written for them goes on working.

MALLET's text formats are written by `mallet_write` and `mallet_reports`, as MALLET 2.1 writes them; what their α, β and
counts cannot say is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.files.container import atomic_output
from topicx.interop import mallet_reports as reports
from topicx.interop import mallet_write as write
from topicx.interop import warplda
from topicx.interop.mallet_reports import DIAGNOSTICS
from topicx.model import Model
from topicx.state import State

# -- a state -------------------------------------------------------------------------------------------------------


def mallet_state(state: State, out: str) -> None:
    """MALLET's --output-state: a line a token; gzip where the name ends so."""
    sources = ["NA" if name == str(d) else name for d, name in enumerate(state.ids)]
    write.write_state(state, out, sources, "--format mallet-state", packed=False)


def mallet_doc_topics(
    state: State, out: str, *, theta: str = "cgs", threshold: float = 0.0, most: int | None = None, threads: int = 0
) -> None:
    """MALLET's --output-doc-topics, with --doc-topics-threshold and --doc-topics-max."""
    from topicx.estimate.estimators import theta_rows

    if most is not None and most < 1:
        raise InputError(f"--doc-topics-max: {most} must be at least 1")
    if most is not None and threshold == 0:
        raise InputError("--doc-topics-max: is for --doc-topics-threshold; without one MALLET writes all topics")
    if not 0 <= threshold < 1:
        raise InputError(f"--doc-topics-threshold: {threshold} must be at least 0 and below 1")
    plain = theta == "cgs" and len(state.alpha) == 1 and state.paths == 1 and not np.any(state.z >= state.n_topics)
    rows = write.document_shares(state) if plain else theta_rows(state, theta, threads=threads)
    write.doc_topics(rows, state.ids, out, threshold=threshold, most=-1 if most is None else most)


def mallet_topic_docs(state: State, out: str, number: int = 100) -> None:
    """MALLET's --output-topic-docs."""
    write.check_writable(state, "--format mallet-topic-docs")
    write.topic_docs(state, out, number)


def mallet_topic_phrase_report(state: State, out: str, words: int = 20) -> None:
    """MALLET's --xml-topic-phrase-report."""
    write.check_writable(state, "--format mallet-topic-phrase-report")
    ranked = write.ranked_words(write.word_counts(state), max(words, reports.TITLE_WORDS))
    reports.phrase_report(state, ranked, out, words)


def write_pyldavis(state: State, model: Model, out: str, *, theta: str = "cgsp", threads: int = 0) -> None:
    """The arguments of pyLDAvis.prepare as one JSON object: `pyLDAvis.prepare(**json.load(open(FILE)))`.

    Topics keep their order, and are numbered from 0 as everywhere (pyLDAvis by itself sorts them, from 1). Documents
    without tokens are left out, since they have no topics to show, and so are hidden topics.
    """
    from topicx.estimate.estimators import theta_rows

    filled, shown = state.lengths > 0, model.shown
    if shown.sum() < 2:
        raise InputError("--format pyldavis: needs two topics that are not hidden")
    with atomic_output(out, binary=False) as stream:
        stream.write('{"topic_term_dists": [\n')
        for at, k in enumerate(np.flatnonzero(shown)):
            stream.write(("" if at == 0 else ",\n") + _json_numbers(model.topic_word[k]))
        stream.write('],\n"doc_topic_dists": [\n')
        first = True
        for begin, rows in theta_rows(state, theta, threads=threads):
            for row in rows[filled[begin : begin + len(rows)]][:, shown]:
                if not shown.all():
                    row = row / row.sum() if row.sum() > 0 else np.full(len(row), 1 / len(row))
                stream.write(("" if first else ",\n") + _json_numbers(row))
                first = False
        stream.write('],\n"doc_lengths": ' + json.dumps(state.lengths[filled].tolist()))
        stream.write(',\n"vocab": ' + json.dumps(list(state.vocabulary), ensure_ascii=False))
        frequency = np.bincount(state.words, minlength=state.n_words)
        stream.write(',\n"term_frequency": ' + json.dumps(frequency.tolist()))
        stream.write(',\n"sort_topics": false, "start_index": 0}\n')


def _json_numbers(values: NDArray[np.float64]) -> str:
    return "[" + ",".join(map(repr, values.tolist())) + "]"


# -- a model -------------------------------------------------------------------------------------------------------


def mallet_topic_keys(model: Model, out: str, words: int = 20) -> None:
    """MALLET's --output-topic-keys: `topic⇥alpha⇥words `."""
    write.check_writable(model, "--format mallet-topic-keys")
    write.topic_keys(model.alpha[0], write.ranked_words(model.counts(), words), model.vocabulary, out, words)


def mallet_topic_report(model: Model, out: str, words: int = 20) -> None:
    """MALLET's --xml-topic-report."""
    write.check_writable(model, "--format mallet-topic-report")
    ranked = write.ranked_words(model.counts(), words)
    reports.topic_report(model.alpha[0], np.rint(model.totals), ranked, model.vocabulary, out, words)


def mallet_topic_word_weights(model: Model, out: str) -> None:
    """MALLET's --topic-word-weights-file: all K × V lines `topic⇥word⇥count + β`."""
    write.topic_word_weights(_topic_weight_rows(model), model.vocabulary, out)


def _topic_weight_rows(model: Model) -> Iterator[NDArray[np.float64]]:
    for k, weights in enumerate(write.smoothed_counts(model.counts(), model.beta)):
        yield weights + model.remainder * model.remainder_share[k] if len(model.remainder) else weights


def mallet_word_topic_counts(model: Model, out: str, state: State | None = None) -> None:
    """MALLET's --word-topic-counts-file: `id word topic:count …`, the counts falling."""
    if len(model.values) and not np.array_equal(model.values, np.round(model.values)):
        raise InputError(
            "--format mallet-word-topic-counts: the model has expected counts (its φ is by "
            f"{model.meta.get('estimator', {}).get('phi', 'another estimator')}), which are not whole numbers; "
            "give the state, or a model made with --phi cgs"
        )
    if model.meta.get("seed_counts"):
        raise InputError("--format mallet-word-topic-counts: seed words have counts in advance, which are no tokens")
    counts = model.counts().astype(np.int64)
    write.word_topic_counts(counts, model.vocabulary, out, state, "--format mallet-word-topic-counts")


def mallet_diagnostics(rows: Iterable[dict[str, Any]], out: str, top: int = 20) -> None:
    """MALLET's --diagnostics-file (XML) from what `topicx.evaluate.diagnostics.topic_diagnostics` computes."""
    reports.write_diagnostics(rows, out, top)


__all__ = [
    "DIAGNOSTICS",
    "mallet_diagnostics",
    "mallet_doc_topics",
    "mallet_state",
    "mallet_topic_docs",
    "mallet_topic_keys",
    "mallet_topic_phrase_report",
    "mallet_topic_report",
    "mallet_topic_word_weights",
    "mallet_word_topic_counts",
    "warplda",
    "write_pyldavis",
]  # fmt: skip
