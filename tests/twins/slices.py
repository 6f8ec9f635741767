"""Slow, readable twins of topics whose words differ by slice: the joint probability of topics and tables, and the
kernel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tests.twins.gibbs import NONE, Stream, dense_draw, f32

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@cache
def stirling(n: int, m: int) -> int:
    """Unsigned Stirling numbers of the first kind."""
    if n == m:
        return 1
    if m == 0 or m > n:
        return 0
    return stirling(n - 1, m - 1) + (n - 1) * stirling(n - 1, m)


def counts_of(words: Ints, slices: Ints, z: Ints, shape: tuple[int, int, int]) -> Ints:
    """n_skw: slices × words × topics."""
    n = np.zeros(shape, np.int64)
    np.add.at(n, (slices, words, z), 1)
    return n


def customers(n: Ints, tables: Ints, parents: list[int]) -> Ints:
    """N_skw: the tokens of a slice, and the tables of those that come from it."""
    found = n.copy()
    for s, parent in enumerate(parents):
        if parent >= 0:
            found[parent] += tables[s]
    return found


def all_tables(n: Ints, parents: list[int]) -> Iterator[Ints]:
    """All numbers of tables that there can be, of the slices from the last on."""

    def below(s: int, tables: Ints) -> Iterator[Ints]:
        if s == 0:
            yield tables.copy()
            return
        of = customers(n, tables, parents)[s]
        places = list(zip(*np.nonzero(of), strict=True))
        for drawn in product(*(range(1, int(of[place]) + 1) for place in places)):
            more = tables.copy()
            for place, number in zip(places, drawn, strict=True):
                more[s][place] = number
            yield from below(s - 1, more)

    yield from below(len(parents) - 1, np.zeros_like(n))


def log_documents(z: Ints, offsets: Ints, alpha: Floats) -> float:
    """log p(z); `alpha`: documents × topics."""
    total = 0.0
    for d, row in enumerate(alpha):
        n = np.bincount(z[offsets[d] : offsets[d + 1]], minlength=len(row))
        total += float(np.sum(gammaln(row + n) - gammaln(row)) - gammaln(row.sum() + n.sum()) + gammaln(row.sum()))
    return total


def log_words(n: Ints, tables: Ints, parents: list[int], beta: Floats, b: Floats) -> float:
    """log p(words, tables | topics), all words of topics integrated out."""
    of = customers(n, tables, parents)
    root = of[0]
    total = float(np.sum(gammaln(beta[:, None] + root) - gammaln(beta[:, None])))
    total -= float(np.sum(gammaln(beta.sum() + root.sum(axis=0)) - gammaln(beta.sum())))
    for s in range(1, len(parents)):
        total -= float(np.sum(gammaln(b + of[s].sum(axis=0)) - gammaln(b)))
        total += float(np.sum(tables[s].sum(axis=0) * np.log(b)))
        total += sum(float(np.log(float(stirling(int(c), int(t))))) for c, t in zip(of[s].ravel(), tables[s].ravel()))
    return total


def expected(n: Ints, tables: Ints, parents: list[int], beta: Floats, b: Floats) -> Floats:
    """E φ of all slices: slices × words × topics."""
    of, found = customers(n, tables, parents).astype(float), np.zeros(n.shape)
    for s, parent in enumerate(parents):
        prior = np.repeat(beta[:, None], n.shape[2], axis=1) if parent < 0 else b * found[parent]
        found[s] = (prior + of[s]) / (prior.sum(axis=0) + of[s].sum(axis=0))
    return found


def draw_tables(places: Ints, numbers: Ints, base: Any, scale: Floats, key: int) -> list[int]:
    """topicx._kernels.gibbs.slices.draw_tables, of customers that have been added up."""
    width, tables, at = base.shape[1], [], -1
    stream = Stream(key)
    for place, c in zip(places.tolist(), numbers.tolist(), strict=True):
        row, k = divmod(place, width)
        if row != at:
            at, stream = row, Stream((key + 0x9E3779B97F4A7C15 * (row + 1)) & ((1 << 64) - 1))
        a = float(scale[k]) * float(base[row, k])
        tables.append(1 + sum(stream.uniform() * (a + seated) < a for seated in range(1, c)))
    return tables


def sweep(
    words: Any, z: Any, offsets: Any, documents: Any, alpha: Any, totals: Any, prior: Any, counts: Any, base: Any,
    key: int,
) -> int:  # fmt: skip
    """topicx._kernels.gibbs.slices.sweep, of a single block."""
    topics, width, stream, changed = len(totals), counts.shape[1], Stream(key), 0
    for d in documents:
        own = np.bincount(z[offsets[d] : offsets[d + 1]], minlength=topics).astype(f32)
        for t in range(offsets[d], offsets[d + 1]):
            old, row = int(z[t]), counts[words[t]]
            assert old != NONE
            row[old] -= 1
            totals[old] -= 1
            own[old] -= f32(1)
            q = np.zeros(width, f32)
            for k in range(topics):
                q[k] = (own[k] + f32(alpha[k])) * f32(1.0 / (float(totals[k]) + base[k]))
            new = dense_draw(q, row.astype(f32) + prior[words[t]], f32(0), -1, f32(0), stream.uniform())
            row[new] += 1
            totals[new] += 1
            own[new] += f32(1)
            changed += new != old
            z[t] = new
    return changed
