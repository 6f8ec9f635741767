"""Documents with topics of their own (`State.allowed`): their counts, and what samplers and estimators share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.gibbs import restricted as kernel
from topicx.errors import InputError
from topicx.state import State

Allowed = tuple[NDArray[np.int64], NDArray[np.uint16]]
"""For each document, where its topics begin; and the topics, ascending."""


class Hashed:
    """Counts by word and topic in memory proportional to the tokens (restricted.h): a row a word, dense or hashed."""

    def __init__(self, frequencies: NDArray[np.int64], topics: int) -> None:
        """`frequencies`: the most topics that can have a count at once, of each word (its tokens, and seeds)."""
        most = np.maximum(np.minimum(frequencies, topics), 1)
        capacity = 2 ** np.ceil(np.log2(2 * most)).astype(np.int64)
        dense = 2 * capacity >= topics
        self.mask: NDArray[np.int64] = np.where(dense, -1, capacity - 1)
        self.start = np.zeros(len(most) + 1, np.int64)
        np.cumsum(np.where(dense, topics, 2 * capacity), out=self.start[1:])
        self.cells = np.zeros(int(self.start[-1]), np.uint32)

    def add(
        self, words: NDArray[np.uint32], topics: NDArray[np.uint16], numbers: NDArray[np.int64] | None = None
    ) -> Hashed:
        none = np.zeros(0, np.int64)
        kernel.fill_row_cells(words, topics, none if numbers is None else numbers, *self.arrays())
        return self

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
        """Where the rows begin, their masks (-1: dense), and the cells."""
        return self.start, self.mask, self.cells

    def cell_arrays(self, allowed: Allowed) -> dict[str, NDArray[Any]]:
        """These, and the topics of each document, as the kernels name them."""
        names = ("row_start", "row_mask", "row_cells", "allowed_offsets", "allowed")
        return dict(zip(names, (*self.arrays(), *allowed), strict=True))

    @classmethod
    def of(
        cls, state: State, words: NDArray[np.uint32], z: NDArray[np.uint16], seed_words: NDArray[np.uint32]
    ) -> Hashed:  # fmt: skip
        """The counts of these tokens and of the state's seeds; words may be numbered anew."""
        frequencies = np.bincount(words, minlength=state.n_words) + np.bincount(seed_words, minlength=state.n_words)
        table = cls(frequencies, state.n_topics).add(words, z)
        return table.add(seed_words, state.seeds.topics, state.seeds.counts) if len(seed_words) else table


def allowed_of(state: State) -> Allowed:
    """The topics of each document; a state that leaves it open allows all."""
    if state.allowed is not None:
        offsets, topics = state.allowed
        without = np.flatnonzero((np.diff(offsets) == 0) & (state.lengths > 0))
        if len(without):
            raise InputError(f"document {state.ids[int(without[0])]!r} has words, but no topic that it may have")
        rises = np.diff(topics.astype(np.int64)) > 0
        begins = offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < len(topics))]
        rises[begins - 1] = True  # from one document to the next
        if not np.all(rises):
            raise InputError("the topics that documents may have do not ascend")
        return np.ascontiguousarray(offsets, np.int64), np.ascontiguousarray(topics, np.uint16)
    every = np.arange(state.n_topics, dtype=np.uint16)
    return np.arange(state.n_documents + 1, dtype=np.int64) * state.n_topics, np.tile(every, state.n_documents)


def document_of_entry(allowed: Allowed) -> NDArray[np.int64]:
    """The document of each entry of `allowed`."""
    return np.repeat(np.arange(len(allowed[0]) - 1), np.diff(allowed[0]))


def entry_alpha(state: State, allowed: Allowed) -> NDArray[np.float64]:
    """α of each entry of `allowed`."""
    group = state.groups[document_of_entry(allowed)] if len(state.groups) else 0
    return state.alpha[group, allowed[1]]


def check_topics(z: NDArray[np.uint16], state: State, allowed: Allowed) -> None:
    """InputError unless every token has a topic that its document may have."""
    stray = kernel.find_stray_document(np.ascontiguousarray(z), state.offsets, *allowed)
    if stray >= 0:
        raise InputError(f"document {state.ids[stray]!r} has a token on a topic that is not among its own")


def random_topics(state: State, allowed: Allowed, draw: np.random.Generator) -> NDArray[np.uint16]:
    """For each token one of its document's topics, all alike."""
    choices = np.diff(allowed[0])
    lengths = state.lengths
    place = (draw.random(state.n_tokens) * np.repeat(choices, lengths)).astype(np.int64)
    return allowed[1][np.repeat(allowed[0][:-1], lengths) + place]


def aligned_counts(z: NDArray[np.uint16], state: State, allowed: Allowed) -> NDArray[np.int32]:
    """n_dk beside `allowed`: a number for each topic that a document may have."""
    counts = np.zeros(len(allowed[1]), np.int32)
    kernel.allowed_topic_counts(np.ascontiguousarray(z), state.offsets, *allowed, state.n_topics, counts)
    return counts


def by_document(values: NDArray[Any], allowed: Allowed) -> NDArray[np.float64]:
    """Sums of `values` (beside `allowed`) over each document."""
    return np.bincount(document_of_entry(allowed), values, len(allowed[0]) - 1).astype(np.float64)
