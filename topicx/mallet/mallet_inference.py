"""What `infer-topics` and `evaluate-topics` compute: shares and log probabilities of new documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.evaluate.left_to_right import left_to_right
from topicx.interop import mallet_write as write
from topicx.mallet.instance_lists import Instances
from topicx.model import Model
from topicx.predict.documents import Documents
from topicx.predict.inference import Inference
from topicx.sampling import random_streams


def known_documents(model: Model, corpus: Corpus) -> Documents:
    """The documents as the model's words; those that it does not know are left out."""
    index = {word: at for at, word in enumerate(model.vocabulary)}
    match = np.array([index.get(word, -1) for word in corpus.vocabulary], np.int64)
    ids = match[corpus.words]
    known = ids >= 0
    before = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
    offsets = before[corpus.offsets]
    return Documents(corpus.ids, ids[known].astype(np.uint32), offsets, corpus.lengths - np.diff(offsets))


def inferred_shares(
    model: Model, documents: Documents, iterations: int, burn_in: int, interval: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.uint16]]:
    """Shares of all documents, and the last topic of each token.

    Samples are taken after the burn-in, every `interval` sweeps; if there is none, the last sweep is the only one.
    Without any sweep each token has its word's most frequent topic, as MALLET's chains begin.
    """
    alpha = model.alpha[0]
    lengths = np.diff(documents.offsets)
    if iterations == 0:
        z = _largest_topic_of_words(model)[documents.words]
        counts = _dense_counts(z, documents.offsets, model.n_topics)
        return (counts + alpha) / (lengths + write.alpha_sum(alpha))[:, None], z
    samples = max(iterations - burn_in, 0) // interval
    first = burn_in + interval if samples else iterations
    inference = Inference(
        model, burn_in=first, samples=max(samples, 1), lag=interval, theta="cgs", seed=seed, threads=0
    )
    rows, assigned = [], []
    for part in inference.stream(_document_batches(documents)):
        rows.append(_exact_shares(part.theta, np.diff(part.documents.offsets), alpha, max(samples, 1)))
        assigned.append(part.z)
    empty = np.zeros((0, model.n_topics))
    return np.concatenate([empty, *rows]), np.concatenate([np.zeros(0, np.uint16), *assigned])


def _document_batches(documents: Documents) -> Iterator[Documents]:
    yield documents


def _exact_shares(
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


def _dense_counts(z: NDArray[np.uint16], offsets: NDArray[np.int64], topics: int) -> NDArray[np.int64]:
    documents = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.bincount(documents * topics + z, minlength=(len(offsets) - 1) * topics).reshape(-1, topics)


def _largest_topic_of_words(model: Model) -> NDArray[np.uint16]:
    """The most frequent topic of each word, the larger of equals; 0 where it has no token."""
    best = np.zeros(model.n_words, np.uint16)
    words = np.repeat(np.arange(model.n_words), np.diff(model.indptr))
    order = np.lexsort((model.topics, model.values, words))
    order = order[model.values[order] > 0]
    best[words[order]] = model.topics[order]  # the last of a word stands
    return best


def log_probabilities(
    model: Model, instances: Instances, particles: int, resample: bool, seed: int,
    show: Callable[[str, float], None] | None = None,
) -> tuple[NDArray[np.float64], int]:  # fmt: skip
    """The log probability of each document from left to right, and how many tokens the topics do not know. `show` is
    told each word, and its logarithm."""
    words = set(model.vocabulary)
    known = np.array([word in words for word in instances.corpus.vocabulary], np.bool_)[instances.corpus.words]
    unknown = int((~known).sum())
    if show:
        return word_by_word(model, instances, particles, resample, seed, show), unknown
    if not known.any():
        return np.zeros(len(instances)), unknown
    found = left_to_right(
        model, None, instances.corpus, particles=particles, form="wallach", resample=resample, seed=seed, threads=0
    )
    return found.documents, unknown


def word_by_word(
    model: Model, instances: Instances, particles: int, resample: bool, seed: int, show: Callable[[str, float], None]
) -> NDArray[np.float64]:
    """The log probability of each document from left to right; `show` is told each word, and its logarithm."""
    index = {word: at for at, word in enumerate(model.vocabulary)}
    corpus = instances.corpus
    values = np.zeros(len(instances))
    for d in range(len(instances)):
        words = [word for word in corpus.document(d) if word in index]
        phi = model.phi_of([index[word] for word in words]) if words else np.zeros((0, model.n_topics))
        logs = word_logs(phi, model.alpha[0], particles, resample, random_streams.make_generator(seed, d))
        for word, value in zip(words, logs.tolist()):
            show(word, value)
        values[d] = math.fsum(logs.tolist())
    return values


def word_logs(
    phi: NDArray[np.float64], alpha: NDArray[np.float64], particles: int, resample: bool, draw: np.random.Generator
) -> NDArray[np.float64]:
    """Logarithm of the mean over particles of p(w_n | topics before n), for each n (Wallach et al. 2009, algorithm 3).

    `phi` has a row for each token. All particles walk at once: `counts` has a row for each of them.
    """
    length, topics = phi.shape
    counts = np.tile(alpha, (particles, 1))
    z = np.zeros((particles, length), np.int64)
    rows = np.arange(particles)
    found = np.zeros(length)

    def place(n: int) -> None:
        weights = np.cumsum(counts * phi[n], axis=1)
        at = (draw.random(particles)[:, None] * weights[:, -1:] >= weights).sum(axis=1)
        z[:, n] = np.minimum(at, topics - 1)
        counts[rows, z[:, n]] += 1

    for n in range(length):
        if resample:
            for before in range(n):
                counts[rows, z[:, before]] -= 1
                place(before)
        found[n] = np.log(np.mean(counts @ phi[n]) / (alpha.sum() + n))
        place(n)
    return found
