"""Synthetic corpora whose true parameters are known, so that what a sampler finds can be compared with them.

The same name, seed and sizes give the same corpus on every machine. Each keeps its truth in `Corpus.truth`:

- `topic_word`      topics × words, float32
- `document_topic`  documents × topics, float32
- `z`               the topic (for `hmm`, the state) of every token, uint16
- `pi`              collections × topics, float64 (compound corpora)
- `emissions`, `transitions`   of `hmm`, float64
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.datasets.draws import Draws, Floats, portable_exp, portable_log
from topicx.strings import Strings

MAX_TOPICS = 65535
DENSE_LIMIT = 1 << 26
"""Above this many entries, `zipf` keeps its topics as `topic_slots` instead of a `topic_word` matrix."""


@dataclass(frozen=True)
class Limits:
    """What a size option may be."""

    kind: type
    low: float
    high: float
    help: str


SIZES: dict[str, Limits] = {
    "documents": Limits(int, 1, 2**40, "Documents (compound corpora: in each collection)."),
    "tokens": Limits(int, 1, 2**40, "Tokens per document (zipf: on average)."),
    "words": Limits(int, 2, 2**24, "Word types."),
    "topics": Limits(int, 1, MAX_TOPICS, "Topics."),
    "collections": Limits(int, 1, 2**20, "Collections."),
    "exponent": Limits(float, 0, 10, "Zipf exponent: the word of rank r has frequency r to the minus this."),
    "alpha": Limits(float, 1e-6, 1000, "Dirichlet parameter of a document's (compound-drawn: collection's) topics."),
    "beta": Limits(float, 1e-6, 1000, "Dirichlet parameter of words in a topic (the paper's eta)."),
    "gamma": Limits(float, 1e-6, 1000, "How closely documents follow their collection."),
    "transition": Limits(float, 0, 1, "Probability of leaving a state."),
}


@dataclass(frozen=True)
class Generator:
    """A dataset by name: what it is, its sizes with their defaults, and the function that makes it."""

    name: str
    summary: str
    source: str
    sizes: dict[str, Any]
    function: Callable[..., Corpus]


GENERATORS: dict[str, Generator] = {}


Maker = Callable[..., Corpus]


def _register_generator(name: str, source: str, summary: str) -> Callable[[Maker], Maker]:
    def register(function: Maker) -> Maker:
        parameters = list(inspect.signature(function).parameters.values())[1:]  # the first is the seed
        sizes = {parameter.name: parameter.default for parameter in parameters}
        GENERATORS[name] = Generator(name, summary, source, sizes, function)
        return function

    return register


@_register_generator("bars", "Griffiths & Steyvers 2004",
    "the bars: 5 × 5 images made of horizontal and vertical bars, each bar a topic")  # fmt: skip
def make_bars(seed: int, documents: int = 2000, tokens: int = 100, alpha: float = 1.0) -> Corpus:
    pixels = np.arange(25)
    topics = np.zeros((10, 25))
    for bar in range(5):
        topics[bar, pixels // 5 == bar] = 0.2
        topics[5 + bar, pixels % 5 == bar] = 0.2
    names = [f"row{pixel // 5 + 1}col{pixel % 5 + 1}" for pixel in range(25)]
    return _of_topics(Draws(seed, "bars"), topics, documents, tokens, alpha, names)


@_register_generator("bands", "Kozdoba & Mannor, Interdependent Gibbs Samplers, section 4.2.1",
    "the ten bands: overlapping intervals of 100 words, 95% band, 5% uniform, documents of 10 tokens")  # fmt: skip
def make_bands(seed: int, documents: int = 3000, tokens: int = 10, alpha: float = 1.0) -> Corpus:
    # Centres at 0, 11, …, 99. A band reaches ten words to either side, so that it ends beside its neighbours'
    # centres: 90 of the words lie in two bands, the centres in one ("most of the points ... belong to two
    # topics").
    words = np.arange(100)
    topics = np.zeros((10, 100))
    for topic, centre in enumerate(range(0, 100, 11)):
        band = np.abs(words - centre) <= 10
        topics[topic] = 0.95 * band / band.sum() + 0.05 / 100
    return _of_topics(Draws(seed, "bands"), topics, documents, tokens, alpha, [f"w{word:02d}" for word in words])


@_register_generator("compound", "George, Xia & Michailidis, Compound Topic Modeling, section 3.2",
    "two collections over three topics, with the collections' topic proportions that the paper drew")  # fmt: skip
def make_compound(
    seed: int, documents: int = 100, tokens: int = 200, words: int = 40, gamma: float = 1.0, beta: float = 0.25,
) -> Corpus:  # fmt: skip
    # The paper prints π to three digits and calls the smallest entry ε; it does not give the documents'
    # length, which is taken from its Figure 4.
    pi = np.array([[0.002, 0.0001, 0.997], [0.584, 0.386, 0.030]])
    pi /= pi.sum(axis=1, keepdims=True)
    return _draw_compound_corpus(Draws(seed, "compound"), pi, documents, tokens, words, gamma, beta)


@_register_generator("compound-drawn", "George, Xia & Michailidis, Compound Topic Modeling, section 3.3 and Figure 4",
    "a compound corpus of any size, its collections' topic proportions drawn too (as in Figure 4)")  # fmt: skip
def compound_drawn(
    seed: int, documents: int = 100, tokens: int = 200, words: int = 40, topics: int = 3, collections: int = 2,
    alpha: float = 1.0, gamma: float = 0.8, beta: float = 0.5,
) -> Corpus:  # fmt: skip
    draws = Draws(seed, "compound-drawn")
    pi = draws.dirichlet(np.full((collections, topics), alpha))
    return _draw_compound_corpus(draws, pi, documents, tokens, words, gamma, beta)


@_register_generator("hmm", "Kozdoba & Mannor, Interdependent Gibbs Samplers, section 4.1",
    "one sequence from a hidden Markov model of two states that are hard to tell apart")  # fmt: skip
def make_hmm(seed: int, tokens: int = 200_000, transition: float = 0.45) -> Corpus:
    # The paper shows its emissions only as a picture. Here one state's fall evenly from 0.19 to 0.01 over the
    # ten symbols and the other's rise; this too is hard to learn: consecutive tokens are nearly independent.
    emissions = np.array([np.arange(19, 0, -2), np.arange(1, 20, 2)]) / 100
    transitions = np.array([[1 - transition, transition], [transition, 1 - transition]])
    draws = Draws(seed, "hmm")
    moves = draws.uniform(tokens) < np.concatenate([[0.5], np.full(tokens - 1, transition)])
    states = np.cumsum(moves) % 2  # with two states, a path is the parity of its moves
    symbols = draws.choose(emissions, states)
    return Corpus(
        words=symbols.astype(np.uint32),
        offsets=np.array([0, tokens], dtype=np.int64),
        vocabulary=Strings.of([f"s{symbol}" for symbol in range(10)]),
        truth={"emissions": emissions, "transitions": transitions, "z": states.astype(np.uint16)},
    )


_BATCH = 1 << 17  # tokens that are drawn together; part of the definition, as each batch has its own stream
_SLOTS = 1 << 16


@_register_generator("zipf", "this project",
    "LDA at any size with Zipfian word frequencies: for measuring speed and memory")  # fmt: skip
def make_zipf(
    seed: int, documents: int = 10_000, tokens: int = 200, words: int = 20_000, topics: int = 100,
    exponent: float = 1.0, alpha: float = 0.1,
) -> Corpus:  # fmt: skip
    """Any number of tokens in a few operations each and six bytes each (word and topic).

    Topics: φ_kw ∝ w^-s E³, E exponential: Zipf's law overall, strong preferences in each topic. A topic is
    stored as equally likely slots, so that drawing a word is one look-up, and `topic_word` holds exactly the
    slots' shares.

    Topics of a document: the Pólya urn of Dirichlet(α), which gives LDA's joint distribution with θ
    integrated out and needs no number a document and topic: token i repeats the topic of an earlier one,
    chosen evenly, with probability i/(i + Kα), and draws a fresh topic otherwise. What the tokens repeat is
    found for all at once, by halving the chains of pointers.
    """
    slots_each = max(_SLOTS, 1 << int(words - 1).bit_length())
    slots, dense = _zipf_topics(Draws(seed, "zipf-topics"), topics, words, exponent, slots_each)
    # Lengths vary from half to one and a half times the mean; two neighbours have twice the mean together, so
    # that the number of tokens is exactly documents × tokens.
    spread = Draws(seed, "zipf-lengths").uniform((documents + 1) // 2) * (tokens - tokens // 2)
    lengths = np.full(documents, tokens, dtype=np.int64)
    change = spread.astype(np.int64)[: documents // 2]
    lengths[0 : 2 * len(change) : 2] -= change
    lengths[1 : 2 * len(change) : 2] += change
    offsets = np.zeros(documents + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    word = np.empty(offsets[-1], dtype=np.uint32)
    z = np.empty(offsets[-1], dtype=np.uint16)
    frequencies = np.zeros(words, dtype=np.int64)
    per_batch = max(1, _BATCH // tokens)
    counted = 0
    for part, first in enumerate(range(0, documents, per_batch)):
        last = min(first + per_batch, documents)
        begin, end = int(offsets[first]), int(offsets[last])
        raw = Draws(seed, "zipf", part).raw(end - begin)
        starts = np.repeat(offsets[first:last] - begin, lengths[first:last])
        topic = _draw_from_urn(raw, starts, topics, alpha)
        z[begin:end] = topic
        topic *= slots_each
        topic += (raw & np.uint64(slots_each - 1)).view(np.int64)
        np.take(slots, topic, out=word[begin:end], mode="clip")
        if end - counted >= 16 * _BATCH or last == documents:
            frequencies += np.bincount(word[counted:end], minlength=words)
            counted = end
    width = len(str(words - 1))
    topic_truth = {"topic_word": dense} if dense is not None else {"topic_slots": slots.reshape(topics, -1)}
    corpus = Corpus(
        words=word,
        offsets=offsets,
        vocabulary=Strings.of(f"w{index:0{width}d}" for index in range(words)),
        truth={**topic_truth, "z": z},
    )
    corpus.word_frequencies = frequencies
    return corpus


def _zipf_topics(
    draws: Draws, topics: int, words: int, exponent: float, slots_each: int
) -> tuple[NDArray[np.uint32], NDArray[np.float32] | None]:
    base = portable_exp(-exponent * portable_log(np.arange(1, words + 1, dtype=np.float64)))
    names = np.arange(words, dtype=np.uint32)
    slots = np.empty((topics, slots_each), dtype=np.uint32)
    dense = np.zeros((topics, words), dtype=np.float32) if topics * words <= DENSE_LIMIT else None
    for topic in range(topics):
        weight = draws.exponential(words)
        cumulative = np.cumsum(base * weight * weight * weight)
        cumulative /= cumulative[-1]
        # Slots at even steps from a random beginning: a word gets its share, rounded up or down at random.
        edges = np.floor(cumulative * slots_each + draws.uniform(1)).astype(np.int64)
        counts = np.diff(edges, prepend=0)
        slots[topic] = np.repeat(names, counts)
        if dense is not None:
            dense[topic] = counts / slots_each
    return slots.ravel(), dense


def _draw_from_urn(raw: NDArray[np.uint64], starts: NDArray[np.int64], topics: int, alpha: float) -> NDArray[np.int64]:
    """The topics of a batch of documents by Pólya's urn, from the upper 40 bits of each random word."""
    position = np.arange(len(raw), dtype=np.int64)
    before = (position - starts).astype(np.float64)  # tokens of the document before this one
    ball = (raw >> np.uint64(24)).astype(np.float64) * 2.0**-40
    ball *= before + topics * alpha
    fresh = ball >= before
    topic = ((ball - before) / alpha).astype(np.int64)
    np.clip(topic, 0, topics - 1, out=topic)
    points = np.where(fresh, position, starts + ball.astype(np.int64))
    while True:
        further = np.take(points, points)
        if np.array_equal(further, points):
            return np.take(topic, points)
        points = further


def _of_topics(
    draws: Draws, topics: Floats, documents: int, tokens: int, alpha: float, names: list[str]
) -> Corpus:  # fmt: skip
    """LDA with these topics: θ_d ~ Dir(α)."""
    theta = draws.dirichlet(np.full((documents, len(topics)), alpha))
    return _draw_lda_corpus(draws, theta, topics, tokens, names)


def _draw_lda_corpus(draws: Draws, theta: Floats, topics: Floats, tokens: int, names: list[str]) -> Corpus:
    """Documents of equal length from these topic proportions and topics."""
    documents = len(theta)
    z = draws.choose(theta, np.repeat(np.arange(documents), tokens))
    words = draws.choose(topics, z)
    return Corpus(
        words=words.astype(np.uint32),
        offsets=np.arange(documents + 1, dtype=np.int64) * tokens,
        vocabulary=Strings.of(names),
        truth={
            "topic_word": topics.astype(np.float32),
            "document_topic": theta.astype(np.float32),
            "z": z.astype(np.uint16),
        },
    )


def _draw_compound_corpus(
    draws: Draws, pi: Floats, documents: int, tokens: int, words: int, gamma: float, beta: float
) -> Corpus:
    """The compound model given π (George, Xia & Michailidis, eq. 1, 3-5): β_k ~ Dir(η), θ_jd ~ Dir(γ π_j)."""
    collections, topics = pi.shape
    phi = draws.dirichlet(np.full((topics, words), beta))
    collection = np.repeat(np.arange(collections), documents)
    theta = draws.dirichlet(gamma * pi[collection])
    width = len(str(words - 1))
    corpus = _draw_lda_corpus(draws, theta, phi, tokens, [f"w{word:0{width}d}" for word in range(words)])
    width = len(str(collections))
    corpus.collection_names = Strings.of([f"collection{j + 1:0{width}d}" for j in range(collections)])
    corpus.collection = collection.astype(np.int32)
    corpus.truth["pi"] = pi
    return corpus
