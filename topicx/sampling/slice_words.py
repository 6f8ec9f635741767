"""The words of topics in slices, as the counts of a state say them: which slice comes from which, what each has, and
what that makes of a topic's words.

    φ_0k ~ Dirichlet(β),    φ_sk ~ Dirichlet(b_k φ_{p(s) k})

p(s) is the slice before (drift), or slice 0, which has no documents and is what all have in common (dialects). With
N_skw = n_skw + t_{s'kw}, the tokens of a slice and the tables that the slices s' after it have handed to it, and all
φ integrated out, the expected words are linear in those they come from, and so are known without a draw:

    E φ_0kw = (β_w + N_0kw) / (Σβ + N_0k),    E φ_skw = (b_k E φ_{p(s) kw} + N_skw) / (b_k + N_sk)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.state import State

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Entries:
    """Counts by place, the number of a word times that of topics plus the topic; places ascend."""

    places: Ints
    counts: NDArray[Any]
    """Whole numbers, or means of them."""

    def of_topics(self, topics: int) -> Floats:
        """Their sums by topic."""
        return np.asarray(np.bincount(self.places % topics, self.counts, topics), np.float64)


NO_ENTRIES = Entries(np.zeros(0, np.int64), np.zeros(0, np.int64))


def parents_of(slices: int, drift: bool) -> Ints:
    """The slice that each comes from; -1: the first. Of dialects slice 0 is what all have in common."""
    return np.arange(-1, slices - 1) if drift else np.array([-1] + [0] * (slices - 1))


def added(parts: list[Entries]) -> Entries:
    """Entries of several sources, those of one place together."""
    parts = [part for part in parts if len(part.places)]
    if len(parts) < 2:
        return parts[0] if parts else NO_ENTRIES
    places, which = np.unique(np.concatenate([part.places for part in parts]), return_inverse=True)
    counts = np.bincount(which.reshape(-1), np.concatenate([part.counts for part in parts]), len(places))
    whole = all(part.counts.dtype.kind == "i" for part in parts)
    return Entries(places, counts.astype(np.int64) if whole else counts)


def tokens_of_slices(state: State) -> list[Entries]:
    """n_skw of each slice."""
    slices, topics = int(state.side["slices"][0]), state.n_topics
    of_token = np.repeat(state.side["slice_of"].astype(np.int64), state.lengths)
    places = (of_token * state.n_words + state.words) * topics + state.z
    found, counts = np.unique(places, return_counts=True)
    size = state.n_words * topics
    ends = np.searchsorted(found, np.arange(slices + 1) * size)
    return [
        Entries(found[a:b] - at * size, counts[a:b].astype(np.int64))
        for at, (a, b) in enumerate(zip(ends[:-1], ends[1:], strict=True))
    ]


def tables_of_state(state: State) -> list[Entries]:
    """t_skw of each slice, by word and topic; none where nothing has been drawn yet."""
    side, slices = state.side, int(state.side["slices"][0])
    if len(side["table_offsets"]) != slices + 1:
        return [NO_ENTRIES] * slices
    places = side["table_words"].astype(np.int64) * state.n_topics + side["table_topics"]
    bounds = side["table_offsets"]
    return [
        Entries(places[a:b], side["table_counts"][a:b]) for a, b in zip(bounds[:-1], bounds[1:], strict=True)
    ]  # fmt: skip


def pack_tables(tables: list[Entries], topics: int) -> dict[str, NDArray[Any]]:
    """The side arrays that `tables_of_state` reads."""
    places = np.concatenate([part.places for part in tables])
    return {
        "table_offsets": np.concatenate([[0], np.cumsum([len(part.places) for part in tables])]).astype(np.int64),
        "table_words": (places // topics).astype(np.uint32),
        "table_topics": (places % topics).astype(np.uint16),
        "table_counts": np.concatenate([part.counts for part in tables]).astype(np.int64),
    }


def customers_of(parents: Ints, tokens: list[Entries], tables: list[Entries]) -> list[Entries]:
    """N_skw of each slice: its tokens, and the tables of those that come from it."""
    return [
        added([own, *(tables[s] for s in np.flatnonzero(parents == at))]) for at, own in enumerate(tokens)
    ]  # fmt: skip


def expected_words(parents: Ints, customers: list[Entries], closeness: Floats, beta: Floats) -> Iterator[Floats]:
    """E φ of one slice after the other: words × topics. The array of a slice is not kept: copy it, or use it before the
    next is asked for. (Of dialects that of slice 0 stays as it is.)"""
    topics = len(closeness)
    root = np.repeat(beta[:, None], topics, axis=1)
    _add(root, customers[0], beta.sum())
    yield root
    now = root if np.all(parents[1:] == np.arange(len(parents) - 1)) else np.empty_like(root)
    for entries in customers[1:]:
        np.multiply(root, closeness, out=now)
        _add(now, entries, closeness)
        yield now


def _add(words: Floats, entries: Entries, weight: Floats | float) -> None:
    """Adds what is counted to words of this weight, and makes them probabilities."""
    words.reshape(-1)[entries.places] += entries.counts
    words /= weight + entries.of_topics(words.shape[1])
