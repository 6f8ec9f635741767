"""The readable twins of the inference kernels: the same sums in the same order, so that the bits can be compared."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

MASK = (1 << 64) - 1
F = np.float32


def mix(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def document_key(words: Any, seed: int) -> int:
    key = mix((seed + 0x9E3779B97F4A7C15) & MASK)
    for word in words:
        key = mix(((key ^ int(word)) * 0x9E3779B97F4A7C15 + 1) & MASK)
    return key


class Uniforms:
    """xoshiro256++ seeded by splitmix64."""

    def __init__(self, key: int) -> None:
        self.s = []
        for _ in range(4):
            key = (key + 0x9E3779B97F4A7C15) & MASK
            self.s.append(mix(key))

    def __call__(self) -> float:
        s = self.s
        total = (s[0] + s[3]) & MASK
        result = (((total << 23) | (total >> 41)) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = ((s[3] << 45) | (s[3] >> 19)) & MASK
        return (result >> 11) * 2.0**-53


def scan(lanes: NDArray[Any]) -> NDArray[Any]:
    for step in (1, 2, 4, 8):
        lanes = np.concatenate([lanes[:step], lanes[:-step] + lanes[step:]])
    return lanes


def draw(weights: NDArray[Any], u: float) -> int:
    """Running sums down 16 lanes, sums across them, then a search in the lane's column."""
    sums = np.add.accumulate(weights.reshape(-1, 16), axis=0)
    across = scan(sums[-1])
    total = across[-1]
    r = min(F(u * float(total)), total * F(0.99999994))
    lane = int((across <= r).sum())
    assert lane < 16
    r = r - across[lane - 1] if lane else r
    assert r < sums[-1, lane]
    return 16 * int((sums[:-1, lane] <= r).sum()) + lane


def gibbs(
    words: Any, key: int, rows: NDArray[Any], alpha: Any, burn_in: int, samples: int, lag: int, soft: bool
) -> tuple[NDArray[Any], NDArray[Any]]:
    """θ and the last z of one document."""
    topics, width = len(alpha), rows.shape[1]
    prior = np.ones(width, F)
    prior[:topics] = alpha
    counts = np.zeros(width, np.int64)
    z = np.full(len(words), -1)
    uniform = Uniforms(key)
    total = np.zeros(topics)
    for sample in range(samples):
        for _ in range(burn_in if sample == 0 else lag):
            for i, word in enumerate(words):
                if z[i] >= 0:
                    counts[z[i]] -= 1
                z[i] = draw((prior + counts.astype(F)) * rows[word], uniform())
                counts[z[i]] += 1
        if not soft:
            total += counts[:topics]
            continue
        for first in range(0, len(words), 256):
            sums = np.zeros(width, F)
            for i in range(first, min(first + 256, len(words))):
                counts[z[i]] -= 1
                p = (prior + counts.astype(F)) * rows[words[i]]
                counts[z[i]] += 1
                norm = scan(np.add.accumulate(p.reshape(-1, 16), axis=0)[-1])[-1]
                sums += p * (F(1) / norm)
            total += sums[:topics]
    theta = total / samples + prior[:topics]
    norm = 0.0
    for value in theta:
        norm += value
    return (theta / norm).astype(F), z.astype(np.uint16)


def advance(words: Any, rows: NDArray[Any], alpha: Any, sweeps: int, key: int, z: list[int] | None) -> list[int]:
    """The topics of one document after so many sweeps that go on from z; None: no token has a topic yet."""
    width = rows.shape[1]
    prior = np.ones(width, F)
    prior[: len(alpha)] = alpha
    topics = [-1] * len(words) if z is None else list(z)
    counts = np.bincount([k for k in topics if k >= 0], minlength=width)
    uniform = Uniforms(key)
    for _ in range(sweeps):
        for i, word in enumerate(words):
            if topics[i] >= 0:
                counts[topics[i]] -= 1
            topics[i] = draw((prior + counts.astype(F)) * rows[word], uniform())
            counts[topics[i]] += 1
    return topics


def posterior(words: Any, phi: NDArray[Any], alpha: Any) -> tuple[NDArray[Any], list[tuple[int, ...]], float]:
    """p(z | w) of all assignments of a tiny document, the assignments, and p(w)."""
    topics = len(alpha)
    states = list(itertools.product(range(topics), repeat=len(words)))
    weights = []
    for z in states:
        counts = np.zeros(topics)
        weight = 1.0
        for n, (word, k) in enumerate(zip(words, z)):
            weight *= (counts[k] + alpha[k]) / (n + alpha.sum()) * phi[k, word]
            counts[k] += 1
        weights.append(weight)
    total = float(np.sum(weights))
    return np.array(weights) / total, states, total
