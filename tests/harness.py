"""Exact checks for any sampler: the posterior of tiny corpora by enumeration, and Geweke's joint-distribution test.

Both checks start a sampler at an exact draw of its target and look at what one sweep makes of it: the result must
again be a draw of the target. The replicates are independent, so that the p-values are true ones, whatever the
autocorrelation of the chain. That a chain also gets there is another test (`chain_p_value`), from a fixed start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from topicx.engines.threads import Threads
from topicx.sampling import sampler_registry
from topicx.sampling.method import Method
from topicx.sampling.run_options import Options
from topicx.state import NONE, Seeds, State
from topicx.strings import Strings

LEVEL = 1e-3
"""The chance that a correct sampler fails anywhere in a family of tests (Bonferroni: divided by their number)."""


def make_state(
    docs: list[list[int]],
    alpha: NDArray[np.float64] | list[Any],
    beta: NDArray[np.float64] | list[float],
    groups: list[int] | None = None,
    seeds: list[tuple[int, int, int]] | None = None,
) -> State:
    """A state of these documents (lists of word ids), no token placed."""
    beta = np.asarray(beta, np.float64)
    words = np.array([word for doc in docs for word in doc], np.uint32)
    offsets = np.zeros(len(docs) + 1, np.int64)
    np.cumsum([len(doc) for doc in docs], out=offsets[1:])
    state = State(
        words=words,
        offsets=offsets,
        z=np.full(len(words), NONE, np.uint16),
        alpha=np.atleast_2d(np.asarray(alpha, np.float64)),
        beta=beta,
        vocabulary=Strings.of([f"w{i}" for i in range(len(beta))]),
        ids=Strings.of([f"d{i}" for i in range(len(docs))]),
        groups=np.array(groups or [], np.uint32),
        seeds=Seeds.of(seeds or []),
    )
    state.verify()
    return state


def make_method(name: str, state: State, threads: int = 1, partitions: int | str = 1, **options: Any) -> Method:
    """A sampler of the registry over this state; `option:value` pairs may follow the name, as in `light:mh_steps=3`."""
    name, _, settings = name.partition(":")
    for setting in filter(None, settings.split(",")):
        key, value = setting.split("=")
        options.setdefault(key, type(getattr(Options, key))(int(value)))
    chosen = Options(topics=state.n_topics, sampler=name, partitions=partitions, **options)
    return sampler_registry.find_sampler(name).load()(state, chosen, Threads(threads))


def synthetic(
    documents: int = 200,
    length: int = 60,
    words: int = 300,
    topics: int = 10,
    seed: int = 1,
    model_topics: int = 0,
    alpha: float = 0.1,
    beta: float = 0.05,
) -> State:
    """A corpus drawn from an LDA of `topics` topics, to be sampled with `model_topics` (or as many)."""
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(words, 0.1), topics)
    docs = []
    for _ in range(documents):
        theta = random.dirichlet(np.full(topics, 0.2))
        docs.append(random.choice(words, size=1 + random.poisson(length), p=theta @ phi).tolist())
    return make_state(docs, np.full(model_topics or topics, alpha), np.full(words, beta))


# -- the posterior by enumeration ------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """A tiny corpus whose posterior can be written down."""

    name: str
    make: Callable[[], State]


def _wide() -> State:
    random = np.random.default_rng(3)
    seeds = [(0, topic, int(random.integers(1, 5))) for topic in range(40)]  # every topic: word 0 has a dense row
    return make_state([[0, 1]], random.uniform(0.1, 1, 40), [0.5, 0.7], seeds=seeds)


def _wider() -> State:
    random = np.random.default_rng(4)
    return make_state([[0, 1]], random.uniform(0.01, 0.3, 300), [0.5, 0.7], seeds=[(0, 17, 4), (1, 17, 2), (1, 299, 9)])


PROBLEMS = [
    Problem("plain", lambda: make_state([[0, 1, 1], [0, 2, 0]], [0.3, 0.7, 1.2], [0.5, 0.3, 0.8])),
    Problem(
        "groups",
        lambda: make_state(
            [[0, 1, 0], [1, 1, 2], [], [0, 0]], [[0.9, 0.2], [0.1, 1.5]], [0.2, 0.4, 0.3], groups=[1, 0, 0, 1]
        ),
    ),
    Problem(
        "seeds",
        lambda: make_state([[0, 1, 0], [1, 2]], [0.5, 0.4, 0.8], [0.1, 0.6, 0.2], seeds=[(0, 1, 3), (2, 2, 1)]),
    ),
    Problem("one", lambda: make_state([[0, 0, 1, 0]], [0.2, 0.1, 0.4], [0.05, 0.1])),
    Problem("wide", _wide),
    Problem("wider", _wider),
]


def enumerate_posterior(state: State) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
    """All assignments (one a row) and their probabilities, by the chain rule over tokens (a Pólya urn)."""
    topics = state.n_topics
    if state.n_tokens == 2:
        z = np.stack(np.divmod(np.arange(topics**2), topics), axis=1)
    else:
        z = np.array(list(product(range(topics), repeat=state.n_tokens)))
    return z.astype(np.uint16), urn(state, z)


def urn(state: State, z: NDArray[Any]) -> NDArray[np.float64]:
    """The probabilities of these assignments (a row each), scaled to sum to 1, by the chain rule over tokens."""
    topics = state.n_topics
    doc = np.repeat(np.arange(state.n_documents), state.lengths)
    prior = np.zeros((state.n_words, topics))
    prior += state.beta[:, None]
    np.add.at(prior, (state.seeds.words, state.seeds.topics), state.seeds.counts)
    groups = state.groups if len(state.groups) else np.zeros(state.n_documents, int)
    log_p = np.zeros(len(z))
    for i in range(state.n_tokens):
        same = z[:, :i] == z[:, i : i + 1]
        in_doc = (same & (doc[:i] == doc[i])).sum(axis=1)
        in_word = (same & (state.words[:i] == state.words[i])).sum(axis=1)
        log_p += np.log(state.alpha[groups[doc[i]], z[:, i]] + in_doc)
        log_p += np.log(prior[state.words[i], z[:, i]] + in_word) - np.log(
            prior.sum(axis=0)[z[:, i]] + same.sum(axis=1)
        )
    p = np.exp(log_p - log_p.max())
    scaled: NDArray[np.float64] = p / p.sum()
    return scaled


def chi_square_p(observed: NDArray[Any], expected: NDArray[np.float64], at_least: float = 5.0) -> float:
    """Pearson's test, neighbouring cells merged until each expects `at_least` observations."""
    totals, merged = np.cumsum(expected), []
    start = 0.0
    for i, total in enumerate(totals):
        if total - start >= at_least and (totals[-1] - total >= at_least or i == len(totals) - 1):
            merged.append(i + 1)
            start = total
    if not merged or merged[-1] != len(totals):
        merged.append(len(totals))
    starts = [0, *merged[:-1]]
    have, want = np.add.reduceat(observed, starts), np.add.reduceat(expected, starts)
    if len(starts) < 2:
        return 1.0
    return float(stats.chi2.sf(((have - want) ** 2 / want).sum(), len(starts) - 1))


def _code(z: NDArray[np.uint16], topics: int) -> int:
    value = 0
    for topic in z.tolist():
        value = value * topics + topic
    return value


def invariance_p_value(name: str, state: State, replicates: int = 5000, seed: int = 1, **options: Any) -> float:
    """p-value of: one sweep leaves the enumerated posterior as it is."""
    assignments, p = enumerate_posterior(state)
    random = np.random.default_rng(seed)
    method = make_method(name, state, seed=seed, **options)
    observed = np.zeros(len(p), np.int64)
    moved = 0
    for step, draw in enumerate(random.choice(len(p), replicates, p=p)):
        state.z = assignments[draw].copy()
        method.start(random=True)
        method.sweep(step)
        result = _code(method.sync().z, state.n_topics)
        observed[result] += 1
        moved += result != draw
    assert moved > replicates / 10, "the sampler hardly moves"
    return chi_square_p(observed, replicates * p)


def chain_p_value(name: str, state: State, samples: int = 1500, thin: int = 20, seed: int = 1, **options: Any) -> float:
    """p-value of: a chain that begins with no token placed ends up at the enumerated posterior."""
    _, p = enumerate_posterior(state)
    method = make_method(name, state, seed=seed, **options)
    method.start(random=False)
    observed = np.zeros(len(p), np.int64)
    for step in range(samples * thin):
        method.sweep(step)
        if step % thin == thin - 1:
            observed[_code(method.sync().z, state.n_topics)] += 1
    return chi_square_p(observed, samples * p)


# -- Geweke's test ------------------------------------------------------------


def draw_joint(random: np.random.Generator, shape: State) -> State:
    """Words and topics from the model itself: the priors, groups, seeds and document lengths are those of `shape`."""
    prior = np.tile(shape.beta, (shape.n_topics, 1))
    np.add.at(prior, (shape.seeds.topics, shape.seeds.words), shape.seeds.counts)
    phi = np.array([random.dirichlet(row) for row in prior])
    groups = shape.groups if len(shape.groups) else np.zeros(shape.n_documents, int)
    z = np.zeros(shape.n_tokens, np.uint16)
    words = np.zeros(shape.n_tokens, np.uint32)
    for d in range(shape.n_documents):
        at = slice(shape.offsets[d], shape.offsets[d + 1])
        own = np.arange(shape.n_topics)
        if shape.allowed is not None:
            own = shape.allowed[1][shape.allowed[0][d] : shape.allowed[0][d + 1]].astype(np.int64)
        theta = random.dirichlet(shape.alpha[groups[d], own])
        z[at] = random.choice(own, shape.offsets[d + 1] - shape.offsets[d], p=theta)
    cumulative = phi.cumsum(axis=1)
    for i, u in enumerate(random.random(len(z))):
        words[i] = min(np.searchsorted(cumulative[z[i]], u), shape.n_words - 1)
    return State(
        words=words, offsets=shape.offsets, z=z, alpha=shape.alpha, beta=shape.beta, vocabulary=shape.vocabulary,
        ids=shape.ids, groups=shape.groups, seeds=shape.seeds, allowed=shape.allowed,
    )  # fmt: skip


def figures(state: State) -> NDArray[np.float64]:
    """What the test compares: how concentrated documents, words and topics are, and how often two topics occur."""

    def squares(counts: NDArray[np.int64]) -> float:
        return float((counts**2).sum())

    totals = np.bincount(state.z, minlength=state.n_topics)
    by_doc = state.document_topics()[2]
    by_word = np.bincount(state.words.astype(np.int64) * state.n_topics + state.z)
    first = state.z[state.offsets[:-1][state.lengths > 0]]
    return np.array(
        [
            squares(by_doc), len(by_doc), squares(by_word), np.count_nonzero(by_word), squares(totals), totals[0],
            totals[-1], np.count_nonzero(first < state.n_topics // 2),
            (totals * np.log(np.arange(2, state.n_topics + 2))).sum(),
        ],
        np.float64,
    )  # fmt: skip


def geweke_p_value(
    name: str, shape: State, replicates: int = 600, sweeps: int = 2, seed: int = 1, **options: Any
) -> float:
    """Smallest p-value (Bonferroni-corrected) of: a few sweeps change no mean of `figures` (Geweke 2004, in one step).

    (words, topics) are drawn from the model; topics renewed given the words are again a draw from the model. The
    differences are paired, which takes out the spread between corpora.
    """
    random = np.random.default_rng(seed)
    before, after = [], []
    for replicate in range(replicates):
        state = draw_joint(random, shape)
        before.append(figures(state))
        method = make_method(name, state, seed=seed * 1_000_003 + replicate, **options)
        method.start(random=True)
        for step in range(sweeps):
            method.sweep(step)
        after.append(figures(method.sync()))
    difference = np.array(after) - np.array(before)
    spread = difference.std(axis=0, ddof=1)
    t = difference.mean(axis=0)[spread > 0] / (spread[spread > 0] / np.sqrt(replicates))
    assert len(t), "the sampler does not move"
    p = 2 * stats.t.sf(np.abs(t), replicates - 1)
    return float(min(1.0, p.min() * len(p)))


def geweke_shape() -> State:
    """Documents of several lengths in two groups, 20 topics, unequal priors, a few seed words."""
    random = np.random.default_rng(8)
    docs = [[0] * length for length in (30, 0, 12, 25, 1, 40)]
    return make_state(
        docs, random.uniform(0.05, 0.5, (2, 20)), random.uniform(0.05, 0.4, 12), groups=[0, 0, 1, 0, 1, 1],
        seeds=[(0, 3, 2), (5, 0, 4), (7, 19, 1)],
    )  # fmt: skip
