"""How topics are related: whose words overlap, which stand in the same documents, and families of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

NEIGHBOURS = 6
"""Topics that are told beside each."""
HEATMAP = 300
"""The most topics whose overlaps are all kept."""
PRESENT = 0.1
"""The share from which on a topic counts as standing in a document."""
MEETINGS = 5
"""Documents that two topics must share, before it is said that they stand beside each other."""

Floats = NDArray[np.float64]


def word_overlap(rows: scipy.sparse.csr_array) -> Floats:
    """The overlap of topics' words, 0 to 1: Σ_w √(p(w | a) p(w | b)), Bhattacharyya's coefficient."""
    totals = np.maximum(np.asarray(rows.sum(axis=1)).ravel(), 1e-300)
    roots = rows.copy()
    roots.data = np.sqrt(np.maximum(roots.data, 0) / np.repeat(totals, np.diff(roots.indptr)))
    return np.minimum(np.asarray((roots @ roots.T).toarray()), 1.0)


def nearest_topics(
    overlap: Floats, shown: NDArray[np.bool_], number: int = NEIGHBOURS
) -> list[list[tuple[int, float]]]:
    """Each topic's most similar shown topics."""
    found: list[list[tuple[int, float]]] = []
    for k in range(len(overlap)):
        order = np.argsort(-overlap[k], kind="stable")
        best = [int(j) for j in order if j != k and shown[j] and overlap[k, j] > 0.01][:number]
        found.append([(j, round(float(overlap[k, j]), 4)) for j in best])
    return found


def topics_together(
    indptr: NDArray[np.int64], topics: NDArray[np.uint16], shares: NDArray[np.float32], n_topics: int,
    shown: NDArray[np.bool_],
) -> list[list[tuple[int, float, int]]]:  # fmt: skip
    """For each topic those that stand in the same documents more often than by chance: how many times as often, and in
    how many documents. Only where the documents are more than chance would scatter (two standard deviations)."""
    documents = len(indptr) - 1
    kept = shares >= PRESENT
    row = np.repeat(np.arange(documents), np.diff(indptr))[kept]
    there = scipy.sparse.csr_array(
        (np.ones(len(row), np.int64), (row, topics[kept].astype(np.int64))), shape=(documents, n_topics)
    )
    both = np.asarray((there.T @ there).toarray(), np.float64)
    single = both.diagonal().copy()
    expected = np.outer(single, single) / max(documents, 1)
    ratio = np.divide(both, expected, out=np.zeros_like(both), where=expected > 0)
    sure = (both >= MEETINGS) & (both > expected + 2 * np.sqrt(expected))
    np.fill_diagonal(sure, False)
    found: list[list[tuple[int, float, int]]] = []
    for k in range(n_topics):
        order = np.argsort(-ratio[k], kind="stable")
        best = [int(j) for j in order if sure[k, j] and shown[j]][:NEIGHBOURS]
        found.append([(j, round(float(ratio[k, j]), 3), int(both[k, j])) for j in best])
    return found


@dataclass(frozen=True)
class Families:
    """A tree over the topics, and where it is cut."""

    order: list[int]
    """Topics as leaves, from top to bottom."""
    merges: list[tuple[int, int, float]]
    """What each inner node joins (leaves are 0 … K-1, inner nodes follow) and at which height, the lowest first."""
    cuts: dict[int, list[list[int]]]
    """Families by their number: members in the order of the leaves."""
    usual: int
    """The number of families shown first."""
    words: dict[int, list[list[int]]]
    """Three words of each family, by their ids."""


def family_tree(rows: scipy.sparse.csr_array, weights: Floats) -> tuple[list[tuple[int, int, float]], list[int]]:
    """Ward's linkage of topics by what is particular to them: √p(w | k) times the positive logarithm of the lift."""
    import scipy.cluster.hierarchy
    import scipy.spatial.distance

    topics = rows.shape[0]
    if topics < 2:
        return [], list(range(topics))
    particular = _particular_words(rows)
    gram = np.asarray((particular @ particular.T).toarray())
    squares = np.maximum(gram.diagonal()[:, None] + gram.diagonal() - 2 * gram, 0)
    np.fill_diagonal(squares, 0)
    distances = np.round(np.sqrt((squares + squares.T) / 2), 9)
    linked = scipy.cluster.hierarchy.linkage(scipy.spatial.distance.squareform(distances, checks=False), "ward")
    merges = [(int(a), int(b), float(height)) for a, b, height, _ in linked]
    return merges, _order_leaves(merges, topics, weights)


def _particular_words(rows: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Topics × words: √p log⁺ lift, each row of length 1."""
    totals = np.maximum(np.asarray(rows.sum(axis=1)).ravel(), 1e-300)
    uses = np.maximum(np.asarray(rows.sum(axis=0)).ravel(), 1e-300)
    found = rows.copy()
    inside = np.maximum(found.data, 1e-300) / np.repeat(totals, np.diff(found.indptr))
    lift = np.log(inside / (uses[found.indices] / max(uses.sum(), 1e-300)))
    found.data = np.sqrt(inside) * np.maximum(lift, 0)
    length = np.sqrt(np.asarray(found.multiply(found).sum(axis=1)).ravel())
    found.data = found.data / np.repeat(np.maximum(length, 1e-300), np.diff(found.indptr))
    return found


def _order_leaves(merges: list[tuple[int, int, float]], topics: int, weights: Floats) -> list[int]:
    """The order of the leaves: of two branches the larger comes first."""
    branches: dict[int, tuple[float, list[int]]] = {k: (float(weights[k]), [k]) for k in range(topics)}
    for number, (a, b, _) in enumerate(merges, topics):
        first, second = branches.pop(a), branches.pop(b)
        if (second[0], -second[1][0]) > (first[0], -first[1][0]):
            first, second = second, first
        branches[number] = (first[0] + second[0], first[1] + second[1])
    return branches[topics + len(merges) - 1][1]


def _cut_families(merges: list[tuple[int, int, float]], topics: int, number: int, order: list[int]) -> list[list[int]]:
    """So many families, as the leaves have them."""
    parent = list(range(topics + len(merges)))
    for at, (a, b, _) in enumerate(merges[: topics - number], topics):
        parent[a] = parent[b] = at
    found: dict[int, list[int]] = {}
    for k in order:
        root = k
        while parent[root] != root:
            root = parent[root]
        found.setdefault(root, []).append(k)
    return list(found.values())


def topic_families(rows: scipy.sparse.csr_array, weights: Floats) -> Families:
    """Families of the topics: about √K + 3 of them, and three other numbers to choose."""
    topics = rows.shape[0]
    merges, order = family_tree(rows, weights)
    usual = max(min(round(topics**0.5) + 3, topics // 2), 1)
    numbers = sorted({n for n in (round(usual * 0.45), round(usual * 0.67), usual, round(usual * 1.55)) if n > 1})
    numbers = [n for n in numbers if n <= topics] or [usual]
    cuts = {n: _cut_families(merges, topics, n, order) for n in numbers}
    words = {n: [_excess_words(rows, members) for members in families] for n, families in cuts.items()}
    return Families(order, merges, cuts, usual if usual in cuts else numbers[-1], words)


def _excess_words(rows: scipy.sparse.csr_array, members: list[int]) -> list[int]:
    """The three words that these topics have most above their share of the corpus, by excess probability."""
    uses = np.asarray(rows.sum(axis=0)).ravel()
    own = np.asarray(rows[members].sum(axis=0)).ravel()
    excess = own / max(own.sum(), 1e-300) - uses / max(uses.sum(), 1e-300)
    if len(members) == rows.shape[0]:
        excess = own
    best = np.lexsort((np.arange(len(excess)), -excess))[:3]
    return [int(w) for w in best if own[w] > 0]
