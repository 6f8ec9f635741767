"""A readable twin of a sweep on two levels: the probability of everything that it can lead to, token by token."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Topics = tuple[int, ...]


def outcomes_of_a_sweep(
    words: Ints, documents: Ints, shards: Ints, blocks: Ints, begin: Topics, outer: int, inner: int,
    alpha: NDArray[np.float64], beta: NDArray[np.float64],
) -> dict[Topics, float]:  # fmt: skip
    """Where one sweep leads from these topics, and how probably. `shards`, `blocks`: those of each token.

    In round r machine m works on the outer block m + r; in epoch e of it, its shard i on the block i + e there. A token
    sees the topics of its own cell as they are, those of its machine as the epoch found them, and those of other
    machines as the round found them. Only the totals n_k can tell: no other count has tokens of two cells.
    """
    now: dict[Topics, float] = {begin: 1.0}
    machine = shards // inner
    for round in range(outer):
        branches = {(z, z, z): p for z, p in now.items()}  # topics now, at the round's begin, at the epoch's
        for epoch in range(inner):
            branches = _collect({(z, first, z): p} for (z, first, _), p in branches.items())
            for shard in range(outer * inner):
                m, i = divmod(shard, inner)
                block = (m + round) % outer * inner + (i + epoch) % inner
                mine = (shards == shard) & (blocks == block)
                for token in np.flatnonzero(mine):
                    steps = []
                    for (z, first, before), p in branches.items():
                        seen = np.where(mine, z, np.where(machine == m, before, first))
                        others = np.arange(len(words)) != token
                        of_document = others & (documents == documents[token])
                        of_word = others & (words == words[token])
                        topics = np.arange(len(alpha))
                        n_dk, n_kw = ((np.array(z)[some][:, None] == topics).sum(0) for some in (of_document, of_word))
                        n_k = (seen[others][:, None] == topics).sum(0)
                        weight = (n_dk + alpha) * (n_kw + beta[words[token]]) / (n_k + beta.sum())
                        for k, share in enumerate(weight / weight.sum()):
                            steps.append({((*z[:token], k, *z[token + 1 :]), first, before): p * share})
                    branches = _collect(steps)
        now = _collect({z: p} for (z, _, _), p in branches.items())
    return now


def _collect(steps):  # type: ignore[no-untyped-def]
    found = defaultdict(float)
    for step in steps:
        for where, p in step.items():
            found[where] += p
    return dict(found)
