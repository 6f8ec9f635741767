"""Partially collapsed Gibbs sampling: φ is drawn from its Dirichlet, then documents are renewed independently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.gibbs import partial
from topicx.engines.threads import Engine
from topicx.sampling import random_streams
from topicx.sampling.joint_likelihood import joint_log_likelihood
from topicx.sampling.method import Method
from topicx.sampling.run_options import Options
from topicx.sampling.schedule import Schedule
from topicx.state import Csr, State, document_topics, over_paths, topic_totals, unplaced_topics, word_topics

PHI_BYTES, TOKEN_BYTES = 1 << 26, 16
"""φ is drawn for blocks of words of about this size, or of so many bytes for each token, if that is more."""
CHUNK_TOKENS = 20_000
"""Documents share a random stream in chunks of about so many tokens, whatever the threads."""
CHUNK_CELLS = 1 << 18
"""Words share one in chunks of about so many entries of φ."""
FAINT = 1e-20
"""A topic whose gamma variates sum to less has lost some to single precision (1e-38): they are drawn in logarithms."""


class Assignments(Method):
    """What methods share that keep a topic a token and no counts between sweeps: everything is a function of z."""

    z: NDArray[np.uint16]
    words: NDArray[np.uint32]

    def start(self, random: bool) -> None:
        state, options = self.state, self.options
        if not random:
            z = unplaced_topics(state.paths * state.n_tokens).copy()
        elif state.placed:
            z = state.z.copy()
        else:
            z = random_streams.random_topics(
                state.paths * state.n_tokens, state.n_topics, options.seed, options.chain, self.engine.map
            )
        self._adopt(z)

    def _adopt(self, z: NDArray[np.uint16]) -> None:
        """Take these assignments (corpus order)."""
        self.z = z

    def set_priors(self, alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        super().set_priors(np.ascontiguousarray(alpha), np.ascontiguousarray(beta))

    def score(self) -> float:
        state = self.state
        return joint_log_likelihood(
            self.z, over_paths(state.offsets, state.paths), self.word_topics(),
            topic_totals(self.z, state.n_topics, state.seeds), state.alpha, self.groups,
            state.beta, state.seeds,
        )  # fmt: skip

    def document_topics(self) -> Csr:
        return document_topics(self.z, over_paths(self.state.offsets, self.state.paths), self.state.n_topics)

    def word_topics(self) -> Csr:
        return word_topics(self.words, self.z, self.state.n_words, self.state.n_topics, self.state.seeds)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._adopt(self.state.z.copy())

    def sync(self) -> State:
        self.state.z = self.z.copy()
        return self.state


@dataclass(frozen=True)
class Lift:
    """Topics whose φ is drawn in logarithms, as a share of its largest entry: nothing else is left of it otherwise."""

    faint: NDArray[np.uint8]
    peak: NDArray[np.float64]

    @classmethod
    def none(cls, topics: int) -> Lift:
        return cls(np.zeros(topics, np.uint8), np.zeros(topics))


class Partial(Assignments):
    """φ from its Dirichlet (or, sparse_phi, from Poisson variables) at the start of each sweep; documents given φ.

    The schedule's blocks serve memory here: φ of one block of words is there at a time. Its shards only give the
    order in which documents grow in.
    """

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        super().__init__(state, options, engine)
        self._row = (state.n_topics + 15) // 16 * 16
        budget = max(PHI_BYTES, TOKEN_BYTES * state.paths * state.n_tokens)
        blocks = 1 if options.sparse_phi else -(-state.n_words * self._row * 4 // budget)
        blocks = max(1, min(blocks, state.paths * state.n_documents, state.n_words, 1024))
        self.schedule = Schedule(
            state.words, state.offsets, state.n_words, blocks, options.seed, options.chain, state.paths, engine
        )
        self.words = self.schedule.arranged(state.words)
        self.set_priors(state.alpha, state.beta)

    @classmethod
    def memory(cls, state: State, options: Options) -> int:
        tokens = state.paths * state.n_tokens
        phi = min(4 * state.n_words * (state.n_topics + 15), max(PHI_BYTES, TOKEN_BYTES * tokens))
        return super().memory(state, options) + phi + 10 * min(tokens, state.n_words * state.n_topics)

    def _adopt(self, z: NDArray[np.uint16]) -> None:
        self.z = np.ascontiguousarray(self.schedule.arranged(z))

    def sync(self) -> State:
        self.state.z = self.schedule.restored(self.z).copy()
        return self.state

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        blocks = self.schedule.partitions
        documents = np.concatenate([self.schedule.active(shard, share) for shard in range(blocks)])
        tokens = int(self.state.lengths[documents % max(self.state.n_documents, 1)].sum())
        chunks = np.array_split(documents, max(1, min(tokens // CHUNK_TOKENS, len(documents))))
        counts = self.word_topics()
        changed = 0
        if self.options.sparse_phi:
            starts, topics, values, sums = self._draw_sparse(step, counts)
            none = np.zeros((0, self._row), np.float32), np.zeros(0, np.int32)
            changed += self._documents(step, chunks, 0, none[1], none[0], sums, starts, topics, values)
        else:
            empty = np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.float32)
            first, sums, lift = self._draw_sums(step, counts)
            for block in range(blocks):
                # With several blocks each is drawn a second time, from the same stream: its numbers are the same.
                phi = first if blocks == 1 else self._draw(step, block, counts, True, lift)[0]
                assert phi is not None
                row_of = np.zeros(self.state.n_words, np.int32)
                row_of[self._block_words(block)] = np.arange(len(phi))
                changed += self._documents(step, chunks, block, row_of, phi, sums, *empty)
        return {"changed": changed / max(len(self.z), 1)}

    def _block_words(self, block: int) -> NDArray[np.uint32]:
        return np.flatnonzero(self.schedule.block_of_word == block).astype(np.uint32)

    def _draw_sums(self, step: int, counts: Csr) -> tuple[NDArray[np.float32] | None, NDArray[np.float64], Lift]:
        """φ before it is normalised, if one block is all; its sums over the words; and what was drawn in logarithms."""
        blocks, lift = self.schedule.partitions, Lift.none(self.state.n_topics)
        while True:
            drawn = [self._draw(step, block, counts, blocks == 1, lift) for block in range(blocks)]
            sums = np.sum([total for _, total in drawn], axis=0)
            if np.any(lift.faint) or not np.any(sums < FAINT):
                return drawn[0][0], sums, lift
            lift = self._lift(step, counts, sums < FAINT)

    def _draw(
        self, step: int, block: int, counts: Csr, keep: bool, lift: Lift
    ) -> tuple[NDArray[np.float32] | None, NDArray[np.float64]]:
        """φ of a block of words before it is normalised (None if it is not kept), and its sums over them."""
        words = self._block_words(block)
        phi = np.empty((len(words), self._row), np.float32) if keep else None

        def work(chunk: int) -> NDArray[np.float64]:
            part = self._chunk(chunk)
            rows = np.empty((len(words[part]), self._row), np.float32) if phi is None else phi[part]
            sums = np.zeros(self.state.n_topics)
            key = self._phi_key(step, block, chunk)
            partial.draw_dense(words[part], *counts, self.state.beta, key, rows, sums, lift.faint, lift.peak, False)
            return sums

        sums = self.engine.map(work, range(-(-len(words) // self._chunk_words)))
        return phi, np.sum(sums, axis=0) if sums else np.zeros(self.state.n_topics)

    def _lift(self, step: int, counts: Csr, faint: NDArray[np.bool_]) -> Lift:
        """The largest variate of each faint topic, over all words."""
        marks, topics = faint.astype(np.uint8), self.state.n_topics
        peak = np.full(topics, -np.inf)
        for block in range(self.schedule.partitions):
            words = self._block_words(block)

            def work(chunk: int, block: int = block, words: NDArray[np.uint32] = words) -> NDArray[np.float64]:
                found, none = np.full(topics, -np.inf), np.zeros((0, self._row), np.float32)
                key = self._phi_key(step, block, chunk)
                partial.draw_dense(
                    words[self._chunk(chunk)], *counts, self.state.beta, key, none, np.zeros(topics), marks, found, True
                )
                return found

            for found in self.engine.map(work, range(-(-len(words) // self._chunk_words))):
                peak = np.maximum(peak, found)
        return Lift(marks, peak)

    @property
    def _chunk_words(self) -> int:
        return max(1, CHUNK_CELLS // self._row)

    def _chunk(self, chunk: int) -> slice:
        return slice(chunk * self._chunk_words, (chunk + 1) * self._chunk_words)

    def _phi_key(self, step: int, block: int, chunk: int) -> int:
        return random_streams.stream_key(self.options.seed, self.options.chain, random_streams.PHI, step, block, chunk)

    def _draw_sparse(
        self, step: int, counts: Csr
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32], NDArray[np.float64]]:
        """The nonzero entries of φ before it is normalised: row offsets, topics, values; and the sums."""
        options, words, topics = self.options, self.state.n_words, self.state.n_topics
        size = 1024

        def work(chunk: int) -> tuple[Any, ...]:
            first, last = chunk * size, min((chunk + 1) * size, words)
            key = random_streams.stream_key(options.seed, options.chain, random_streams.PHI, step, chunk)
            expected = topics * float(self.state.beta[first:last].sum())
            room = int(counts[0][last] - counts[0][first] + 2 * expected) + 32 * (last - first)
            while True:
                lengths, sums = np.zeros(last - first, np.int64), np.zeros(topics)
                found, values = np.empty(room, np.uint32), np.empty(room, np.float32)
                used = partial.draw_sparse(first, last, *counts, self.state.beta, key, lengths, found, values, sums)
                if used >= 0:
                    return lengths, found[:used].copy(), values[:used].copy(), sums
                room *= 2  # more units than expected: the same numbers again, with more room

        parts = self.engine.map(work, range(-(-words // size)))
        starts = np.zeros(words + 1, np.int64)
        np.cumsum(np.concatenate([part[0] for part in parts]), out=starts[1:])
        sums = np.sum([part[3] for part in parts], axis=0)
        return starts, np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts]), sums

    def _documents(self, step: int, chunks: list[NDArray[np.uint32]], block: int, *phi: Any) -> int:
        """Renew the block's tokens of all documents, given φ."""
        state, options, schedule = self.state, self.options, self.schedule

        def work(chunk: int) -> int:
            row_of, dense, sums, starts, topics, values = phi
            key = random_streams.stream_key(options.seed, options.chain, random_streams.CELL, step, block, chunk)
            cell = partial.Given(
                words=self.words, assigned=self.z, offsets=state.offsets, segments=schedule.segments,
                blocks=schedule.partitions, alpha=state.alpha, groups=state.groups, row_of=row_of, dense=dense,
                sums=sums, starts=starts, phi_topics=topics, phi_values=values,
            )  # fmt: skip
            return int(partial.sweep(cell, chunks[chunk], block, key))

        return sum(self.engine.map(work, range(len(chunks))))
