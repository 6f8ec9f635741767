"""topicx mallet evaluate-topics: log probabilities of new documents, from left to right."""

from __future__ import annotations

import math
import secrets

import numpy as np
from numpy.typing import NDArray

from topicx.cli.common import check_outputs, say
from topicx.cli.mallet.arguments import Command, Option, Parsed, file, flag, inert
from topicx.cli.mallet.instances import Instances, sequences
from topicx.cli.mallet.training import load_topics
from topicx.evaluate.left_to_right import left_to_right
from topicx.files.container import atomic_output
from topicx.interop import mallet_write as write
from topicx.interop.mallet_numbers import fixed_decimals, java_double
from topicx.model import Model
from topicx.sampling import random_streams


def run(parsed: Parsed) -> None:
    path = parsed.need("evaluator", "what train-topics --evaluator-filename wrote")
    source = parsed.need("input", "the instances, made with --use-pipe-from")
    check_outputs([parsed["output-doc-probs"], parsed["output-prob"]])
    model = load_topics(path)
    write.check_writable(model, "--evaluator")
    instances = sequences(source)
    seed = parsed["random-seed"]
    if seed == -1:
        seed = secrets.randbits(31)
        say(f"random seed: {seed}")
    particles, resample = parsed["num-particles"], parsed["use-resampling"]
    index = {word: at for at, word in enumerate(model.vocabulary)}
    known = np.array([word in index for word in instances.corpus.vocabulary], np.bool_)[instances.corpus.words]
    if parsed["show-words"]:
        values = _word_by_word(model, instances, index, particles, resample, seed % 2**32)
    elif known.any():
        values = left_to_right(
            model, None, instances.corpus, particles=particles, form="wallach", resample=resample, seed=seed % 2**32,
            threads=0,
        ).documents  # fmt: skip
    else:
        values = np.zeros(len(instances))
    if not known.all():
        say(f"note: {int((~known).sum()):,} of {len(known):,} tokens are of words that the topics do not know; "
            "they count nothing")  # fmt: skip
    if parsed["output-doc-probs"]:
        with atomic_output(parsed["output-doc-probs"], binary=False) as stream:
            stream.writelines(f"{java_double(value)}\n" for value in values.tolist())
    with atomic_output(parsed["output-prob"], binary=False) as stream:
        stream.write(f"{java_double(math.fsum(values.tolist()))}\n")


def _word_by_word(
    model: Model, instances: Instances, index: dict[str, int], particles: int, resample: bool, seed: int
) -> NDArray[np.float64]:
    """The same estimator, with the share of each word on standard output."""
    corpus = instances.corpus
    values = np.zeros(len(instances))
    for d in range(len(instances)):
        words = [word for word in corpus.document(d) if word in index]
        phi = model.phi_of([index[word] for word in words]) if words else np.zeros((0, model.n_topics))
        logs = word_logs(phi, model.alpha[0], particles, resample, random_streams.make_generator(seed, d))
        for word, value in zip(words, logs.tolist()):
            print(f"{word}\t{fixed_decimals(value, 6)}")
        values[d] = math.fsum(logs.tolist())
    return values


def word_logs(
    phi: NDArray[np.float64], alpha: NDArray[np.float64], particles: int, resample: bool, draw: np.random.Generator
) -> NDArray[np.float64]:
    """log of the mean over particles of p(w_n | topics before n), for each n (Wallach et al. 2009, algorithm 3).

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


COMMAND = Command(
    "evaluate-topics", "cc.mallet.topics.tui.EvaluateTopics", "estimate the probability of new documents", (
        file("evaluator", "What train-topics --evaluator-filename wrote."),
        file("input", "The instances, made with --use-pipe-from; - is standard input."),
        file("output-doc-probs", "The logarithm of each document's probability, one a line."),
        file("output-prob", "Their sum; - is standard output.", "-"),
        Option("num-particles", "integer", 10, "Particles of the left-to-right estimator.", low=1),
        flag("show-words", "Print the logarithm of each word's probability."),
        flag("use-resampling", "Draw earlier topics anew at every word: better, and slower."),
        *inert("integer", num_iterations=100, sample_interval=10, burn_in=10),
        Option("random-seed", "integer", -1, "The seed; -1: one is drawn, and said."),
    ), run,
)  # fmt: skip
