"""A soft start: CVB0 for some sweeps, in half the memory and less time than `cvb0`, then a topic for every token.

`_kernels/soft_start.pyx` says what it does otherwise. Memory: 2 bytes × pairs × K (to a multiple of 16) for the
assignments, 4 bytes × (documents + words) × K for the counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import bounds, pairs, soft, soft_start
from topicx.engines.threads import Engine
from topicx.files.array_sizes import PADDED, PAIRS
from topicx.files.schema import Array
from topicx.sampling.run_options import Options
from topicx.sampling.schedule import Cell
from topicx.state import State
from topicx.variational.expected_statistics import ExpectedDocuments
from topicx.variational.first_assignments import warm_start
from topicx.variational.soft_method import WORD_PARTS, Rows, Soft, require_memory

ALPHA_DOCUMENTS = 5000
"""Documents at least, evenly spread, from which α is learnt between these sweeps: more hardly change it."""
ONE = 0x3F80
"""1 as the upper half of a float: no number is more than the next."""


def room_for(state: State, topics: int) -> int:
    """Bytes that the assignments of so many topics take."""
    return 2 * ((topics + 15) // 16 * 16) * pairs.count_pairs(state.words, state.offsets, state.n_words)


class Opening(Soft):
    """γ, the upper halves of floats, a padded row for every pair."""

    objective = "log p(token | all others) under the expected counts, per token"

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        super().__init__(state, options, engine)
        self.gamma = np.zeros((0, self.padded), np.uint16)
        self.fit = 0.0
        """Σ log p(token | all others), as the last sweep found it."""

    @classmethod
    def memory(cls, state: State, options: Options) -> int:
        return super().memory(state, options) + room_for(state, state.n_topics)

    def _check_memory(self, pairs: int) -> None:
        rows = self.state.n_documents + self.state.n_words
        require_memory(self.engine, "a soft start", pairs, self.topics, self.padded * (2 * pairs + 4 * rows))

    def start(self, random: bool) -> None:
        # Not zeros: every row is written by a start, and untouched memory costs nothing until then.
        self.gamma = np.empty((len(self.words), self.padded), np.uint16)

        def take(rows: Rows, order: NDArray[np.uint32], begin: int) -> None:
            soft_start.take_rows(rows, order, self.topics, self.gamma, begin)

        room = self.gamma.reshape(-1).view(np.float32)
        self.nw = warm_start(self.state, self.options, self.engine, self.schedule, room, take)
        self.nw[:] = 0
        self.nd = self._rows(self.state.n_documents)
        self._over_cells(self._count)
        self._add_seeds()
        self.totals = soft.column_sums(self.nw, self.topics)

    def _count(self, cell: Cell) -> None:
        soft_start.count_cell(self.pairs, self._documents(cell), cell.block, self.gamma, self.nd, self.nw)

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        moved, fit = 0.0, -self._normaliser()
        for cells in self.schedule.epochs():
            before = self.totals
            results = self.engine.map(self._cell, cells)
            self.totals = before + sum(after - before for _, after in results)
            moved += sum(amount for (amount, _), _ in results)
            fit += sum(amount for (_, amount), _ in results)
        self.fit = fit
        return {"changed": moved / max(self.state.n_tokens, 1)}

    def _cell(self, cell: Cell) -> tuple[tuple[float, float], NDArray[np.float64]]:
        totals = self.totals.copy()
        found = soft_start.sweep_cell(
            self.pairs, self._documents(cell), cell.block, self.gamma, self.nd, self.nw, totals, self._alpha32,
            self._beta32, self._beta_sum,
        )  # fmt: skip
        return found, totals

    def _normaliser(self) -> float:
        """Σ over the tokens of log(Σα + n_d - 1)."""
        lengths = self.state.lengths
        others = np.maximum(self.state.document_alpha() + lengths - 1, 1e-300)
        return float(np.sum(lengths * bounds.special_function("log", others)))

    def drawn(self, key: int) -> NDArray[np.uint16]:
        """A topic for every token of the text, drawn from its assignment."""
        state = self.state
        z = np.empty(state.n_tokens, np.uint16)
        pairs_of_documents, text = (self.words, self.offsets), (state.words, state.offsets)
        draw_documents(self.engine, self.gamma, pairs_of_documents, text, state.n_words, key, z)
        return z

    def document_statistics(self) -> ExpectedDocuments:
        """What some of the documents say of α: it need not be exact between these sweeps, and all of them would cost as
        much as a sweep."""
        state, step = self.state, max(self.state.n_documents // ALPHA_DOCUMENTS, 1)
        groups = state.groups[::step] if len(state.groups) else state.groups
        return ExpectedDocuments(np.ascontiguousarray(self.nd[::step]), state.lengths[::step], groups)

    def score(self) -> float:
        return self.fit / max(self.state.n_tokens, 1)

    def _best(self) -> NDArray[np.uint16]:
        return self.gamma.argmax(axis=1).astype(np.uint16)  # the halves of floats have their order

    def arrays(self) -> dict[str, NDArray[Any]]:
        return super().arrays() | {"gamma": self.gamma, "fit": np.array([self.fit])}

    def declared(self) -> tuple[Array, ...]:
        gamma = Array("gamma", "uint16", (PAIRS, PADDED), low=0, high=ONE + 1)
        return *super().declared(), gamma, Array("fit", "float64", 1)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(arrays)
        self.gamma, self.fit = arrays["gamma"].copy(), float(arrays["fit"][0])


Documents = tuple[NDArray[np.uint32], NDArray[np.int64]]
"""Words, and where each document's begin."""


def draw_documents(
    engine: Engine, gamma: NDArray[np.uint16], pairs: Documents, text: Documents, n_words: int, key: int,
    z: NDArray[np.uint16],
) -> None:  # fmt: skip
    """Draw z, a topic for every token of the text of some documents, from `gamma`, the assignments of their pairs."""
    (words, offsets), (tokens, of_documents) = pairs, text
    ends = np.searchsorted(offsets, len(words) * np.arange(1, WORD_PARTS) / WORD_PARTS)
    edges = [0, *ends.tolist(), len(offsets) - 1]

    def work(part: int) -> None:
        soft_start.draw_topics(
            gamma, words, offsets, tokens, of_documents, edges[part], edges[part + 1], n_words, key, z
        )  # fmt: skip

    engine.map(work, range(WORD_PARTS))
