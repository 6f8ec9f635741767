"""topicx mallet infer-topics: the topics of new documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.cli.common import check_outputs, say
from topicx.cli.mallet.arguments import Command, Option, Parsed, file
from topicx.cli.mallet.instances import sequences
from topicx.cli.mallet.training import load_topics
from topicx.errors import InputError
from topicx.interop import mallet_write as write
from topicx.model import Model
from topicx.predict.documents import Documents
from topicx.predict.inference import Inference
from topicx.state import State
from topicx.strings import Strings


def run(parsed: Parsed) -> None:
    path = parsed.need("inferencer", "what train-topics --inferencer-filename wrote")
    source = parsed.need("input", "the instances, made with --use-pipe-from")
    if not (parsed["output-doc-topics"] or parsed["output-state"]):
        raise InputError("mallet infer-topics: give --output-doc-topics FILE, or --output-state FILE")
    check_outputs([parsed["output-doc-topics"], parsed["output-state"]])
    model = load_topics(path)
    write.check_writable(model, "--inferencer")
    corpus = sequences(source).corpus
    # The generator that MALLET keeps in the inferencer makes repeated calls agree; so does its seed.
    seed = parsed["random-seed"] or int((model.meta.get("mallet") or {}).get("seed", 1))
    documents = _known(model, corpus)
    unknown = int(documents.unknown.sum())
    if unknown:
        say(f"note: {unknown:,} of {corpus.n_tokens:,} tokens are of words that the topics do not know; left out")
    rows, z = infer(model, documents, parsed["num-iterations"], parsed["burn-in"], parsed["sample-interval"],
                    seed % 2**32)  # fmt: skip
    if parsed["output-doc-topics"]:
        threshold, most = parsed["doc-topics-threshold"], parsed["doc-topics-max"]
        threshold = threshold if threshold > 0 else -1.0 if parsed["mallet-version"] == "2.0.7" else 0.0
        batches = ((begin, rows[begin : begin + 1024]) for begin in range(0, len(rows), 1024))
        write.doc_topics(batches, corpus.ids, parsed["output-doc-topics"], threshold=threshold, most=most,
                         inferred=True)  # fmt: skip
    if parsed["output-state"]:
        state = State(
            words=documents.words, offsets=documents.offsets, z=z, alpha=model.alpha, beta=model.beta,
            vocabulary=model.vocabulary, ids=corpus.ids,
        )  # fmt: skip
        write.write_state(state, parsed["output-state"], sequences_sources(corpus))


def sequences_sources(corpus: Any) -> list[str] | None:
    from topicx.cli.mallet.instances import SOURCE

    column = corpus.columns.get(SOURCE)
    return list(column) if isinstance(column, Strings) else None


def _known(model: Model, corpus: Any) -> Documents:
    """The documents as the model's words; those that it does not know are left out."""
    index = {word: at for at, word in enumerate(model.vocabulary)}
    match = np.array([index.get(word, -1) for word in corpus.vocabulary], np.int64)
    ids = match[corpus.words]
    known = ids >= 0
    before = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
    offsets = before[corpus.offsets]
    return Documents(corpus.ids, ids[known].astype(np.uint32), offsets, corpus.lengths - np.diff(offsets))


def infer(
    model: Model, documents: Documents, iterations: int, burn_in: int, interval: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.uint16]]:
    """Shares of all documents, and the last topic of each token.

    Samples are taken after the burn-in, every `interval` sweeps; if there is none, the last sweep is the only one.
    Without any sweep each token has its word's most frequent topic, as MALLET's chains begin.
    """
    alpha = model.alpha[0]
    lengths = np.diff(documents.offsets)
    if iterations == 0:
        z = _foremost(model)[documents.words]
        counts = _dense(z, documents.offsets, model.n_topics)
        return (counts + alpha) / (lengths + write.alpha_sum(alpha))[:, None], z
    samples = max(iterations - burn_in, 0) // interval
    first = burn_in + interval if samples else iterations
    inference = Inference(
        model, burn_in=first, samples=max(samples, 1), lag=interval, theta="cgs", seed=seed, threads=0
    )
    rows, assigned = [], []
    for part in inference.stream(_batches(documents)):
        rows.append(_exact(part.theta, np.diff(part.documents.offsets), alpha, max(samples, 1)))
        assigned.append(part.z)
    empty = np.zeros((0, model.n_topics))
    return np.concatenate([empty, *rows]), np.concatenate([np.zeros(0, np.uint16), *assigned])


def _batches(documents: Documents) -> Iterator[Documents]:
    yield documents


def _exact(
    theta: NDArray[np.float32], lengths: NDArray[np.int64], alpha: NDArray[np.float64], samples: int
) -> NDArray[np.float64]:
    """Shares in double precision: the counts that single precision still tells apart are whole."""
    total = write.alpha_sum(alpha)
    size = (lengths + total)[:, None] * samples
    counts = theta.astype(np.float64) * size - samples * alpha
    whole = np.maximum(np.rint(counts), 0)
    sums = whole.sum(axis=1) == lengths * samples
    exact = (whole + samples * alpha) / size
    return np.where(sums[:, None], exact, theta.astype(np.float64))


def _dense(z: NDArray[np.uint16], offsets: NDArray[np.int64], topics: int) -> NDArray[np.int64]:
    documents = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.bincount(documents * topics + z, minlength=(len(offsets) - 1) * topics).reshape(-1, topics)


def _foremost(model: Model) -> NDArray[np.uint16]:
    """The most frequent topic of each word, the larger of equals; 0 where it has no token."""
    best = np.zeros(model.n_words, np.uint16)
    words = np.repeat(np.arange(model.n_words), np.diff(model.indptr))
    order = np.lexsort((model.topics, model.values, words))
    order = order[model.values[order] > 0]
    best[words[order]] = model.topics[order]  # the last of a word stands
    return best


COMMAND = Command(
    "infer-topics", "cc.mallet.topics.tui.InferTopics", "find the topics of new documents", (
        file("inferencer", "What train-topics --inferencer-filename wrote."),
        file("input", "The instances, made with --use-pipe-from; - is standard input."),
        file("output-doc-topics", "The shares of the topics in each document."),
        file("output-state", "The topic of every token at the end, as gzipped text."),
        Option("doc-topics-threshold", "decimal", 0.0, "Show shares from this one on, falling; 0: all, as a table."),
        Option("doc-topics-max", "integer", -1, "With a threshold: show at most N topics a document."),
        Option("num-iterations", "integer", 100, "Sweeps over each document.", low=0, high=1_000_000),
        Option("sample-interval", "integer", 10, "Sweeps from one sample to the next.", low=1),
        Option("burn-in", "integer", 10, "Sweeps before samples.", low=0),
        Option("random-seed", "integer", 0, "The seed; 0: that of the inferencer."),
        Option("mallet-version", "string", "2.1", "2.0.7: doc-topics in the form that this version wrote."),
    ), run,
)  # fmt: skip
