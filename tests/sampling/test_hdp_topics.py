"""The hierarchical Dirichlet process against an enumeration of all partitions of tiny corpora, and its books."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import product
from math import lgamma

import numpy as np
import pytest
from scipy import stats

from tests import harness
from topicx.sampling import random_streams
from topicx.sampling.updates.hdp_topics import Franchise, break_sticks, complete_sticks
from topicx.state import State

FAMILY = 8
"""Tests of a distribution here: each is made at harness.LEVEL / FAMILY."""
DOCS, BETA = [[0, 1], [0, 1, 1]], [0.6, 0.4]
ALPHA, GAMMA = 1.3, 0.8


def partitions(n: int) -> list[tuple[int, ...]]:
    """All partitions of n tokens, as labels in the order of appearance."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(n):
        found = [(*p, label) for p in found for label in range(max(p, default=-1) + 2)]
    return found


@cache
def stirling(n: int, m: int) -> float:
    if n == m == 0:
        return 1.0
    if n == 0 or m == 0:
        return 0.0
    return stirling(n - 1, m - 1) + (n - 1) * stirling(n - 1, m)


def word_part(z: tuple[int, ...], words: list[int], beta: list[float]) -> float:
    """log p(words | partition), φ integrated out."""
    total = 0.0
    for topic in set(z):
        counts = Counter(w for w, k in zip(words, z, strict=True) if k == topic)
        total += lgamma(sum(beta)) - lgamma(sum(beta) + sum(counts.values()))
        total += sum(lgamma(beta[w] + n) - lgamma(beta[w]) for w, n in counts.items())
    return total


def table_sums(z: tuple[int, ...], lengths: list[int]) -> list[tuple[float, int, list[int]]]:
    """For each way to seat the documents' tokens at tables: Π S(n_dk, m_dk), all tables, tables of each topic."""
    ends = np.cumsum([0, *lengths])
    cells = [Counter(z[ends[d] : ends[d + 1]]) for d in range(len(lengths))]
    keys = [(d, k, n) for d, cell in enumerate(cells) for k, n in cell.items()]
    found = []
    for tables in product(*(range(1, n + 1) for _, _, n in keys)):
        weight = float(np.prod([stirling(n, m) for (_, _, n), m in zip(keys, tables, strict=True)]))
        of_topic = [sum(m for (_, k, _), m in zip(keys, tables, strict=True) if k == topic) for topic in set(z)]
        found.append((weight, sum(tables), of_topic))
    return found


def franchise(z: tuple[int, ...], lengths: list[int], alpha: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """p(partition) in the Chinese restaurant franchise, the tables summed out."""
    from scipy.special import gammaln

    total = np.zeros(np.broadcast(alpha, gamma).shape)
    for weight, tables, of_topic in table_sums(z, lengths):
        root = gamma ** len(of_topic) * np.exp(gammaln(gamma) - gammaln(gamma + tables) + sum(map(lgamma, of_topic)))
        total += weight * alpha**tables * root
    for n in lengths:
        total *= np.exp(gammaln(alpha) - gammaln(alpha + n))
    return total


def exact(docs: list[list[int]], beta: list[float], learn: bool) -> tuple[list[tuple[int, ...]], np.ndarray]:
    words, lengths = [w for doc in docs for w in doc], [len(doc) for doc in docs]
    found = partitions(len(words))
    if learn:  # the gamma priors of both concentrations by quantiles
        grid = stats.gamma(1.5, scale=1 / 1.2).ppf((np.arange(200) + 0.5) / 200)
        prior = [float(franchise(z, lengths, grid[:, None], grid[None, :]).mean()) for z in found]
    else:
        prior = [float(franchise(z, lengths, np.array(ALPHA), np.array(GAMMA))) for z in found]
    assert sum(prior) == pytest.approx(1)
    p = np.array(prior) * np.exp([word_part(z, words, beta) for z in found])
    return found, p / p.sum()


def start(docs: list[list[int]], beta: list[float], topics: int = 3) -> State:
    state = harness.make_state(docs, np.full(topics, ALPHA / (topics + 1)), beta)
    state.side = {"concentrations": np.array([ALPHA, GAMMA])}
    return state


def canonical(z: np.ndarray) -> tuple[int, ...]:
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(int(k), len(seen)) for k in z)


@pytest.mark.parametrize(("sampler", "learn"), [("dense", False), ("sparse", False), ("sparse", True)])
def test_all_partitions_have_their_probability(sampler: str, learn: bool) -> None:
    found, p = exact(DOCS, BETA, learn)
    state = start(DOCS, BETA)
    method = harness.make_method(sampler, state, seed=11)
    method.start(random=True)
    update = Franchise(1.5, 1.2, learn=learn)
    code = {z: at for at, z in enumerate(found)}
    observed = np.zeros(len(p), np.int64)
    samples, thin = 1200, 8
    for step in range(samples * thin):
        method.sweep(step)
        update(method, random_streams.stream_key(5, step))
        if step % thin == thin - 1:
            observed[code[canonical(method.sync().z)]] += 1
    assert harness.chi_square_p(observed, samples * p) > harness.LEVEL / FAMILY
    method.verify()  # type: ignore[attr-defined]


def test_sticks() -> None:
    """Their mean is geometric, they add up but for the least, and more columns only go on breaking the same stick."""
    first, need = break_sticks(0.3, 2.0, 1e-9, 0, 4)
    more, same = break_sticks(0.3, 2.0, 1e-9, need + 40, 4)
    assert len(first) == need == same and len(more) == need + 40
    assert np.allclose(first, more[:need]) and 0.3 - 1e-9 < first.sum() <= 0.3
    gathered = complete_sticks(more[:5], 0.3)
    assert np.array_equal(gathered[:4], more[:4]) and gathered.sum() == pytest.approx(0.3, rel=1e-15)
    drawn = np.array([break_sticks(1.0, 2.0, 1e-6, 3, key)[0][:3] for key in range(4000)])
    expected = np.array([1 / 3, 2 / 9, 4 / 27])
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - expected) < 4 * error)


def test_concentrations_given_tables() -> None:
    """The auxiliary variables leave p(c | tables) as it is: against numerical integration."""
    from scipy.special import gammaln

    customers, tables = np.array([7, 3, 12]), 9
    grid = np.linspace(0.005, 25, 20_000)
    log_p = stats.gamma(1.5, scale=1 / 1.2).logpdf(grid) + tables * np.log(grid)
    for n in customers:
        log_p += gammaln(grid) - gammaln(grid + n)
    p = np.exp(log_p - log_p.max())
    cdf = np.cumsum(p) / p.sum()
    update, random = Franchise(1.5, 1.2), np.random.default_rng(3)
    drawn = [
        update._concentration(float(c), customers, tables, key)
        for key, c in enumerate(random.choice(grid, 2000, p=p / p.sum()))
    ]
    assert stats.kstest(np.interp(drawn, grid, cdf), "uniform").pvalue > harness.LEVEL / FAMILY


@pytest.mark.parametrize("sampler", ["dense", "sparse", "tree", "alias", "light"])
def test_topics_are_born_and_die_and_the_books_are_kept(sampler: str) -> None:
    state = harness.synthetic(documents=60, topics=6, model_topics=8)
    state.alpha, state.side = np.full((1, 8), 0.1), {"concentrations": np.ones(2)}
    method = harness.make_method(sampler, state, partitions=2)
    method.start(random=True)
    update, topics = Franchise(), []
    for step in range(120):
        method.sweep(step)
        topics.append(update(method, random_streams.stream_key(1, step))["topics"])
        method.verify()  # type: ignore[attr-defined]
        alpha, used = method.state.alpha[0], len(np.unique(method.sync().z))
        assert used == topics[-1] and method.state.n_topics > used
        assert np.all(alpha > 0) and alpha.sum() == pytest.approx(method.state.side["concentrations"][0], rel=1e-4)
    steps = np.diff(topics)
    assert topics[0] >= 7 and 4 <= topics[-1] <= 40 and steps.max() > 0 and steps.min() < 0
