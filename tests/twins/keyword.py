"""Slow, readable twins of the kernel of topics with keywords."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

Floats = NDArray[np.float64]


def log_joint(
    docs: list[list[int]], z: NDArray[np.int64], s: NDArray[np.int64], alpha: Floats, beta: Floats,
    keywords: list[set[int]], a: float, b: float, kappa: float,
) -> float:  # fmt: skip
    """log p(words, topics, keywords) up to a constant; -inf where a token can't be a keyword of its topic. `alpha`:
    documents × topics."""
    words = np.array([w for doc in docs for w in doc])
    total, at = 0.0, 0
    for row, doc in zip(alpha, docs, strict=True):
        n = np.bincount(z[at : at + len(doc)], minlength=len(row))
        at += len(doc)
        total += float(np.sum(gammaln(row + n) - gammaln(row)) - gammaln(row.sum() + n.sum()) + gammaln(row.sum()))
    for k, own in enumerate(keywords):
        plain = np.bincount(words[(z == k) & (s == 0)], minlength=len(beta))
        total += float(np.sum(gammaln(beta + plain) - gammaln(beta)))
        total -= float(gammaln(beta.sum() + plain.sum()) - gammaln(beta.sum()))
        keyed = words[(z == k) & (s == 1)]
        if set(keyed.tolist()) - own:
            return -np.inf
        if own:
            total += float(betaln(a + len(keyed), b + plain.sum()) - betaln(a, b))
            n = np.array([np.sum(keyed == w) for w in own])
            total += float(np.sum(gammaln(kappa + n) - gammaln(kappa)))
            total -= float(gammaln(len(own) * kappa + n.sum()) - gammaln(len(own) * kappa))
    return total


def conditional(
    docs: list[list[int]], z: NDArray[np.int64], s: NDArray[np.int64], i: int, alpha: Floats, beta: Floats,
    keywords: list[set[int]], a: float, b: float, kappa: float,
) -> Floats:  # fmt: skip
    """p(z_i = k, s_i = 0), and p(z_i = k, s_i = 1), given all others: 2 × topics."""
    logs = np.empty((2, len(keywords)))
    for keyed in (0, 1):
        for k in range(len(keywords)):
            other, bits = z.copy(), s.copy()
            other[i], bits[i] = k, keyed
            logs[keyed, k] = log_joint(docs, other, bits, alpha, beta, keywords, a, b, kappa)
    p = np.exp(logs - logs.max())
    return np.asarray(p / p.sum())


def sweep_outcomes(
    docs: list[list[int]], z: NDArray[np.int64], s: NDArray[np.int64], alpha: Floats, beta: Floats,
    keywords: list[set[int]], a: float, b: float, kappa: float, epochs: list[list[tuple[int, int]]],
    bounds: list[int], block_of_word: list[int],
) -> dict[tuple[int, ...], float]:  # fmt: skip
    """All that a sweep of cells (shard, block) can lead to, topics and then keywords of tokens, with probabilities. A
    cell's totals are those of its epoch's beginning and what it has itself moved."""
    topics, lengths = len(keywords), np.array([len(own) for own in keywords])
    words = [w for doc in docs for w in doc]
    owner = [d for d, doc in enumerate(docs) for _ in doc]

    def weights(
        z: tuple[int, ...], s: tuple[int, ...], i: int, plain: NDArray[np.int64], keyed: NDArray[np.int64]
    ) -> Floats:
        others = [j for j in range(len(words)) if j != i]
        found = np.zeros((2, topics))
        for k in range(topics):
            own = alpha[owner[i], k] + sum(owner[j] == owner[i] and z[j] == k for j in others)
            same = [j for j in others if words[j] == words[i] and z[j] == k]
            share = keyed[k] + a, plain[k] + b
            found[0, k] = own * (beta[words[i]] + sum(not s[j] for j in same)) / (plain[k] + beta.sum())
            if keywords[k]:
                found[0, k] *= share[1] / sum(share)
            if words[i] in keywords[k]:
                found[1, k] = own * share[0] / sum(share) * (kappa + sum(s[j] for j in same))
                found[1, k] /= keyed[k] + lengths[k] * kappa
        return found

    def totals(z: tuple[int, ...], s: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        own, bits = np.array(z), np.array(s)
        return np.bincount(own[bits == 0], minlength=topics), np.bincount(own[bits == 1], minlength=topics)

    reached = {(tuple(z.tolist()), tuple(s.tolist())): 1.0}
    for cells in epochs:
        after: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        for (first_z, first_s), chance in reached.items():
            begin = totals(first_z, first_s)
            branches = [(first_z, first_s, chance)]
            for shard, block in cells:
                moved = [(one_z, one_s, p, begin[0], begin[1]) for one_z, one_s, p in branches]
                for i, word in enumerate(words):
                    if not bounds[shard] <= owner[i] < bounds[shard + 1] or block_of_word[word] != block:
                        continue
                    following = []
                    for one_z, one_s, p, plain, keyed in moved:
                        plain, keyed = plain.copy(), keyed.copy()
                        (keyed if one_s[i] else plain)[one_z[i]] -= 1
                        w = weights(one_z, one_s, i, plain, keyed)
                        for bit, k in zip(*np.nonzero(w), strict=True):
                            new = plain.copy(), keyed.copy()
                            new[bit][k] += 1
                            new_z = (*one_z[:i], int(k), *one_z[i + 1 :])
                            new_s = (*one_s[:i], int(bit), *one_s[i + 1 :])
                            following.append((new_z, new_s, p * float(w[bit, k] / w.sum()), *new))
                    moved = following
                branches = [(one_z, one_s, p) for one_z, one_s, p, _, _ in moved]
            for one_z, one_s, p in branches:
                after[one_z, one_s] = after.get((one_z, one_s), 0.0) + p
        reached = after
    return {(*one_z, *one_s): p for (one_z, one_s), p in reached.items()}
