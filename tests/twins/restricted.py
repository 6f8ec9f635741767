"""Slow, readable twins of the kernels for documents with topics of their own (allowed.pyx, allowed_soft.pyx).

The sampler's twin has the same random stream and the same order of every addition: the same z. Word counts are a dense
V x K array here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.twins.gibbs import NONE, Stream

Array = NDArray[Any]


def weights(
    own: Array, n_d: Array, n_w: Array, totals: Array, old: int, alpha: Array, beta: float, total: float
) -> Array:
    """(α + n_dk)(n_kw + β) / (n_k + B) over the document's topics, the token on `old` (NONE: nowhere) left out."""
    less = (own == old).astype(np.int64)
    return (alpha[own] + (n_d[own] - less)) * (1.0 / ((totals[own] - less) + total)) * ((n_w[own] - less) + beta)


def sweep_cell(
    words: Array, z: Array, offsets: Array, segments: Array, n_blocks: int, docs: Array, block: int,
    allowed_offsets: Array, allowed: Array, n_kw: Array, totals: Array, alpha: Array, groups: Array, beta: Array,
    beta_sum: float, key: int, maximise: bool = False,
) -> int:  # fmt: skip
    stream, changed = Stream(key), 0
    for d in docs:
        first, last = segments[d * (n_blocks + 1) + block], segments[d * (n_blocks + 1) + block + 1]
        own = allowed[allowed_offsets[d] : allowed_offsets[d + 1]].astype(np.int64)
        if first == last or (len(own) == 1 and np.all(z[first:last] != NONE)):
            continue
        here = z[offsets[d] : offsets[d + 1]]
        n_d = np.bincount(here[here != NONE], minlength=len(totals))
        for t in range(first, last):
            w, old = words[t], int(z[t])
            p = weights(own, n_d, n_kw[w], totals, old, alpha[groups[d] if len(groups) else 0], beta[w], beta_sum)
            if maximise:
                new = int(own[np.argmax(p)])
            else:
                sums = np.cumsum(p)
                new = int(own[np.count_nonzero(sums[:-1] <= stream.uniform() * sums[-1])])
            if new == old:
                continue
            changed += 1
            for topic, step in ((old, -1), (new, 1)):
                if topic != NONE:
                    n_kw[w, topic] += step
                    totals[topic] += step
                    n_d[topic] += step
            z[t] = new
    return changed


def soft_counts(state: Any) -> tuple[Array, Array]:
    """Σ p by document and topic, and by word and topic (eq. 40 and 41), seeds' pseudo-counts in the latter."""
    topics = state.n_topics
    n_kw = np.zeros((state.n_words, topics), np.int64)
    np.add.at(n_kw, (state.words, state.z), 1)
    by_document, by_word = np.zeros((state.n_documents, topics)), np.zeros((state.n_words, topics))
    seeds = np.zeros_like(n_kw)
    np.add.at(seeds, (state.seeds.words, state.seeds.topics), state.seeds.counts)
    totals = (n_kw + seeds).sum(axis=0)
    for d in range(state.n_documents):
        own = state.allowed[1][state.allowed[0][d] : state.allowed[0][d + 1]].astype(np.int64)
        tokens = range(state.offsets[d], state.offsets[d + 1])
        n_d = np.bincount(state.z[state.offsets[d] : state.offsets[d + 1]], minlength=topics)
        alpha = state.alpha[state.groups[d] if len(state.groups) else 0]
        for t in tokens:
            w = state.words[t]
            p = weights(own, n_d, (n_kw + seeds)[w], totals, int(state.z[t]), alpha, state.beta[w], state.beta.sum())
            by_document[d, own] += p / p.sum()
            by_word[w, own] += p / p.sum()
    return by_document, by_word + seeds


def cvb0_sweep(state: Any, pairs: list[list[tuple[int, int]]], gamma: list[list[Array]]) -> None:
    """One sweep of eq. 6 in the order of documents and pairs. pairs: (word, count); gamma: over the own topics."""
    topics = state.n_topics
    n_d, n_w = np.zeros((state.n_documents, topics)), np.zeros((state.n_words, topics))
    np.add.at(n_w, (state.seeds.words, state.seeds.topics), state.seeds.counts)
    own = [state.allowed[1][a:b].astype(int) for a, b in zip(state.allowed[0][:-1], state.allowed[0][1:])]
    for d, entries in enumerate(pairs):
        for (w, count), g in zip(entries, gamma[d]):
            n_d[d, own[d]] += count * g
            n_w[w, own[d]] += count * g
    n = n_w.sum(axis=0)
    for d, entries in enumerate(pairs):
        k = own[d]
        alpha = state.alpha[state.groups[d] if len(state.groups) else 0][k]
        for i, (w, count) in enumerate(entries):
            g = gamma[d][i]
            p = (n_d[d, k] - g + alpha) * (n_w[w, k] - g + state.beta[w]) / (n[k] - g + state.beta.sum())
            gamma[d][i] = p / p.sum()
            change = count * (gamma[d][i] - g)
            n_d[d, k] += change
            n_w[w, k] += change
            n[k] += change
