"""Collapsed Gibbs sampling over the schedule's cells: what every cell kernel shares. A kernel is a subclass of its own.

Griffiths & Steyvers 2004: p(z = k) ∝ (n_dk + α_gk) (n_kw + β_w) / (n_k + Σβ), all counts without the token itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.gibbs import cell as cell_kernel
from topicx._kernels.gibbs import rows
from topicx.engines.threads import Engine
from topicx.files.array_sizes import ENTRIES, WORDS
from topicx.files.schema import Array, require_consistent
from topicx.sampling import random_streams
from topicx.sampling.joint_likelihood import (
    documents_log_likelihood,
    in_shards,
    joint_log_likelihood,
    per_token,
    words_in_batches,
)
from topicx.sampling.method import Method
from topicx.sampling.run_options import Options
from topicx.sampling.schedule import Cell, Schedule, ScheduleLevels, outer_ranks
from topicx.state import Csr, State, document_topics, over_paths, topic_totals, unplaced_topics


def levels_of(state: State, options: Options) -> ScheduleLevels:
    """The shards and blocks of a run."""
    tokens, documents = state.paths * state.n_tokens, state.paths * state.n_documents
    return ScheduleLevels.of(options.partitions, tokens, documents, state.n_words)


class Gibbs(Method):
    """Word rows, topics, totals, and the loop over epochs. Subclasses name their kernel."""

    kernel_name: ClassVar[str]
    """The module of `topicx._kernels.gibbs` whose `sweep` renews a cell (see `cell.pxd`)."""
    travels: ClassVar[str] = "rows"
    """The form of the blocks of words that go from machine to machine (`topicx.sampling.ring.word_blocks`)."""
    tallied: tuple[str, ...] = ()
    """Names of the acceptance rates, a pair of numbers in the tally each: proposals, acceptances."""

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        super().__init__(state, options, engine)
        levels = levels_of(state, options)
        self.schedule = Schedule(
            state.words, state.offsets, state.n_words, levels.partitions, options.seed, options.chain, state.paths,
            engine, levels.outer,
        )  # fmt: skip
        self.offsets = over_paths(state.offsets, state.paths)
        rank = self.schedule.rank
        self.words: NDArray[np.uint32] = np.zeros(0, np.uint32)  # numbered by rank, as the rows are
        self.z: NDArray[np.uint16] = np.zeros(0, np.uint16)
        seeds = state.seeds
        self.pseudo = (rank[seeds.words], seeds.topics, seeds.counts)
        self.word_tokens = np.empty(state.n_words, np.int64)
        self.word_tokens[rank] = state.paths * self.schedule.frequencies
        self.row_capacity = self.word_tokens.copy()
        np.add.at(self.row_capacity, self.pseudo[0], seeds.counts)
        self.set_priors(state.alpha, state.beta)

    @classmethod
    def memory(cls, state: State, options: Options) -> int:
        tokens, partitions = state.paths * state.n_tokens, levels_of(state, options).partitions
        rows = 4 * min(tokens, state.n_words * (state.n_topics + 15)) + 16 * state.n_words
        return super().memory(state, options) + 8 * state.n_documents * (partitions + 1) + rows

    def set_priors(self, alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        super().set_priors(np.ascontiguousarray(alpha), np.ascontiguousarray(beta))
        self._beta32 = np.empty(self.state.n_words, np.float32)
        self._beta32[self.schedule.rank] = self.state.beta
        self._beta_sum = float(self.state.beta.sum())

    def renumber(self, number: NDArray[np.uint16], alpha: NDArray[np.float64]) -> None:
        self.set_priors(alpha, self.state.beta)
        self.z[:] = number[self.z]  # in place: a sampler may hold a view of it
        self._count()

    def start(self, random: bool) -> None:
        state, options = self.state, self.options
        if not random:
            z = unplaced_topics(state.paths * state.n_tokens)
        elif state.placed:
            z = state.z  # assignments that came with it
        else:
            z = random_streams.random_topics(
                state.paths * state.n_tokens, state.n_topics, options.seed, options.chain, self.engine.map
            )
        self._adopt(z)

    def _adopt(self, z: NDArray[np.uint16]) -> None:
        """Take these assignments (corpus order; ours, if not the state's) and build the rows from them."""
        self.words, self.z = self.schedule.ranked(z, in_place=z is not self.state.z)
        self._count()

    def _count(self) -> None:
        """Rows and totals from the assignments."""
        schedule = self.schedule
        built = rows.build_rows(
            self.words, self.z, self.state.n_topics, self.word_tokens, self.pseudo,
            segments=schedule.segments, blocks=schedule.partitions, share=self.engine.map, threads=self.engine.threads,
        )  # fmt: skip
        self.row_start, self.row_cells, self.row_len, self.topic_bits = built
        self.totals = rows.topic_totals_of_rows(*built, self.state.n_topics)

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        return self._sweep(step, share, maximise=False)

    def maximise(self, step: int) -> dict[str, float]:
        return self._sweep(step, 1.0, maximise=True)

    def _sweep(self, step: int, share: float, maximise: bool) -> dict[str, float]:
        changed, inner = 0, self.schedule.levels.inner
        work: Callable[[Cell], tuple[int, NDArray[np.int64]]] = partial(self._cell, step, share, maximise)
        for epochs in self.schedule.rounds():
            self._seen = [self.totals] * self.schedule.levels.outer
            for cells in epochs:
                before, after = self._seen, list(self._seen)
                ordered = self.schedule.largest_first(cells)
                for cell, (count, totals) in zip(ordered, self.engine.map(work, ordered), strict=True):
                    outer = cell.shard // inner
                    after[outer] = after[outer] + (totals - before[outer])
                    changed += count
                self._seen = after
            self.totals = self.totals + sum(seen - self.totals for seen in self._seen)
        self._rebalance()
        return {"changed": changed / max(len(self.z), 1)}

    def _rebalance(self) -> None:
        """Rows take the form that suits their length now."""
        rows.rebalance_rows(
            self.row_start, self.row_cells, self.row_len, self.topic_bits, self.state.n_topics, self.row_capacity
        )

    def _cell(self, step: int, share: float, maximise: bool, cell: Cell) -> tuple[int, NDArray[np.int64]]:
        options, schedule = self.options, self.schedule
        number = cell.shard * schedule.partitions + cell.block
        totals = self._totals_for(cell)
        changed = self._sweeper(maximise)(
            cell_kernel.Cell(**self._arrays(), totals=totals, **self._asked(number, maximise)),
            schedule.active(cell.shard, share),
            cell.block,
            random_streams.stream_key(options.seed, options.chain, random_streams.CELL, step, number),
        )
        return int(changed), totals

    def _totals_for(self, cell: Cell) -> NDArray[np.int64]:
        """The topic totals as the cell's machine knows them: a copy."""
        return self._seen[cell.shard // self.schedule.levels.inner].copy()

    @classmethod
    def kernel_for(cls, maximise: bool, proposing: bool) -> str:
        """The kernel of a sweep. One that draws only leaves the modes to another; `proposing`: every token has a topic,
        which samplers that propose need."""
        return cls.kernel_name

    def _sweeper(self, maximise: bool) -> Callable[..., int]:
        """The kernel's `sweep`."""
        return import_module(f"topicx._kernels.gibbs.{self.kernel_for(maximise, self._proposing)}").sweep

    _proposing = False

    def _arrays(self) -> dict[str, Any]:
        """What all cells have in common, as `cell.pxd` names it."""
        state, schedule = self.state, self.schedule
        return {
            "words": self.words, "assigned": self.z, "offsets": state.offsets, "segments": schedule.segments,
            "blocks": schedule.partitions, "row_start": self.row_start, "row_cells": self.row_cells,
            "row_len": self.row_len, "topic_bits": self.topic_bits, "alpha": state.alpha, "groups": state.groups,
            "beta": self._beta32, "beta_sum": self._beta_sum,
        }  # fmt: skip

    def _asked(self, number: int, maximise: bool) -> dict[str, Any]:
        """What is asked of the cell of this number."""
        return {"maximise": maximise}

    def score(self) -> float:
        state, schedule = self.state, self.schedule
        if schedule.levels.outer == 1:
            return joint_log_likelihood(
                self.z, self.offsets, self.word_topics(), self.totals, state.alpha, self.groups, state.beta,
                state.seeds, self.engine,
            )  # fmt: skip
        # Batch by batch of every machine: added in the same order wherever the machines are.
        batches = in_shards(schedule.outer_bounds(), self.offsets)
        documents = documents_log_likelihood(self.z, self.offsets, state.alpha, self.groups, self.engine, batches)
        indptr, topics, counts = rows.to_csr(
            self.row_start, self.row_cells, self.row_len, self.topic_bits, state.n_topics, share=self.engine.map
        )
        beta = np.empty_like(state.beta)
        beta[schedule.rank] = state.beta
        words = (
            found
            for first, last in pairwise(outer_ranks(schedule.block_of_word, schedule.levels))
            for found in words_in_batches((indptr[first : last + 1], topics, counts), beta[first:last])
        )
        return per_token(documents, words, self.totals, self._beta_sum, state.beta, state.seeds)

    def document_topics(self) -> Csr:
        return document_topics(self.z, self.offsets, self.state.n_topics)

    def word_topics(self) -> Csr:
        return rows.to_csr(
            self.row_start, self.row_cells, self.row_len, self.topic_bits, self.state.n_topics, self.schedule.rank,
            self.engine.map,
        )  # fmt: skip

    def arrays(self) -> dict[str, NDArray[Any]]:
        # The order of a row's entries is history, and decides which topic a number falls on: kept verbatim.
        return {"row_cells": self.row_cells, "row_len": self.row_len}

    def declared(self) -> tuple[Array, ...]:
        return Array("row_cells", "uint32", ENTRIES), Array("row_len", "int32", WORDS, low=-1)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._adopt(self.state.z)
        cells, length = rows.as_aligned_cells(arrays["row_cells"]), arrays["row_len"].copy()
        strange = rows.strange_row(
            self.row_start, self.row_cells, self.row_len, cells, length, self.row_capacity, self.topic_bits,
            self.state.n_topics,
        )  # fmt: skip
        require_consistent(strange < 0, f"counts of word number {strange} that are not those of its tokens")
        self.row_cells, self.row_len = cells, length

    def sync(self) -> State:
        self.state.z = self.schedule.restored(self.z, self.words)
        return self.state

    def verify(self) -> None:
        """Raise AssertionError unless rows and totals are the counts of z (what tests and debugging call)."""
        problem = rows.check_rows(
            self.row_start, self.row_cells, self.row_len, self.topic_bits, self.state.n_topics, self.words, self.z,
            self.word_tokens, self.pseudo,
        )  # fmt: skip
        assert not problem, problem
        assert np.array_equal(self.totals, topic_totals(self.z, self.state.n_topics, self.state.seeds)), "n_k"
        self.sync().verify()


class Dense(Gibbs):
    """Every topic of every token, sixteen at a time. It knows a document's factor (`cell.pxd`)."""

    kernel_name = "dense"


class Sparse(Gibbs):
    """SparseLDA's three buckets (Yao, Mimno & McCallum 2009), sixteen topics of a word at a time."""

    kernel_name = "sparse"
