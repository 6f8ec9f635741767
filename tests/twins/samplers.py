"""Slow, readable twins of the samplers: one document, word or token at a time, in NumPy and plain Python.

They draw other random numbers than the kernels, so that they agree with them in distribution, not in bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def conditional(n_d: Ints, n_w: Ints, n: Ints, alpha: Floats, beta: float, beta_sum: float) -> Floats:
    """p(z = k) of a token that no count includes."""
    p = (n_d + alpha) * (n_w + beta) / (n + beta_sum)
    return np.asarray(p / p.sum())


def walker(weights: Floats) -> tuple[Floats, Ints]:
    """Walker's table by Vose's construction: slot i is i with probability keep[i], else other[i]."""
    scaled = np.asarray(weights, np.float64) * len(weights) / np.sum(weights)
    keep, other = np.ones(len(weights)), np.arange(len(weights))
    small = [i for i, x in enumerate(scaled) if x < 1]
    large = [i for i, x in enumerate(scaled) if x >= 1]
    while small and large:
        lesser, greater = small.pop(), large.pop()
        keep[lesser], other[lesser] = scaled[lesser], greater
        scaled[greater] -= 1 - scaled[lesser]
        (small if scaled[greater] < 1 else large).append(greater)
    return keep, other


def probabilities(keep: Floats, other: Ints) -> Floats:
    """The probabilities that a Walker table stands for."""
    p = np.asarray(keep, np.float64).copy()
    np.add.at(p, other, 1 - np.asarray(keep, np.float64))
    return p / len(keep)


def metropolis_hastings(p: Floats, q: Floats) -> Floats:
    """The transition matrix of one independent proposal from q, accepted by p: rows are where the token was."""
    k = len(p)
    step = np.zeros((k, k))
    for s in range(k):
        for t in range(k):
            if s != t:
                step[s, t] = q[t] * min(1.0, p[t] * q[s] / (p[s] * q[t]))
        step[s, s] = 1 - step[s].sum()
    return step


def light_step(n_d: Ints, n_w: Ints, n: Ints, alpha: Floats, beta: float, beta_sum: float) -> Floats:
    """The transition matrix of one cycle of LightLDA: a word proposal, then a document proposal."""
    p = conditional(n_d, n_w, n, alpha, beta, beta_sum)
    word, document = (n_w + beta) / (n_w + beta).sum(), (n_d + alpha) / (n_d + alpha).sum()
    return np.asarray(metropolis_hastings(p, word) @ metropolis_hastings(p, document))


def alias_step(
    n_d: Ints, n_w: Ints, n: Ints, m_w: Ints, m: Ints, alpha: Floats, beta: float, beta_sum: float
) -> Floats:
    """The transition matrix of one proposal of AliasLDA; m_w and m are the counts that the tables were made of."""
    p = conditional(n_d, n_w, n, alpha, beta, beta_sum)
    q = n_d * (n_w + beta) / (n + beta_sum) + alpha * (m_w + beta) / (m + beta_sum)
    return metropolis_hastings(p, q / q.sum())


def partial_sweep(
    words: Ints, docs: Ints, z: Ints, alpha: Floats, beta: float, vocabulary: int, random: np.random.Generator
) -> Ints:
    """Algorithm 3 of Kozdoba & Mannor with one path: φ from its Dirichlet, then each token given φ."""
    topics = len(alpha)
    counts = np.zeros((topics, vocabulary))
    np.add.at(counts, (z, words), 1)
    phi = np.array([random.dirichlet(row + beta) for row in counts])
    n_d = np.zeros((int(docs.max()) + 1, topics))
    np.add.at(n_d, (docs, z), 1)
    z = z.copy()
    for i, (w, d) in enumerate(zip(words, docs, strict=True)):
        n_d[d, z[i]] -= 1
        p = (n_d[d] + alpha) * phi[:, w]
        z[i] = random.choice(topics, p=p / p.sum())
        n_d[d, z[i]] += 1
    return z
