"""WarpLDA (Chen, Li, Zhu & Chen 2016): a phase of words and a phase of documents, without any matrix of counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.gibbs import warp
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.files.array_sizes import PATHS, TOKENS, TOPICS
from topicx.files.schema import Array, require_consistent
from topicx.sampling import random_streams
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.partially_collapsed import Assignments
from topicx.state import NONE, State, over_paths, topic_totals

CHUNK_TOKENS = 50_000
"""Words and documents share a random stream in chunks of about so many tokens, whatever the threads."""


class Warp(Assignments):
    """Each token has a record: its topic, and `mh_steps` proposals that the next phase judges."""

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        super().__init__(state, options, engine)
        self.words = state.words
        self.offsets = over_paths(state.offsets, state.paths)
        if self.offsets[-1] >= 1 << 32:
            raise InputError(f"warp: {self.offsets[-1]:,} tokens in all paths are more than it can number (2^32)")
        order = np.arange(len(self.offsets) - 1, dtype=np.uint32)
        random_streams.make_generator(options.seed, options.chain, random_streams.SHUFFLE).shuffle(order)
        self._order = order[np.diff(self.offsets)[order] > 0]
        self._share = 0.0
        self.set_priors(state.alpha, state.beta)
        seeds = state.seeds
        by_word = np.argsort(seeds.words, kind="stable")
        self._seed_topics, self._seed_counts = seeds.topics[by_word], seeds.counts[by_word]
        self._seed_start = np.zeros(state.n_words + 1, np.int64)
        np.cumsum(np.bincount(seeds.words, minlength=state.n_words), out=self._seed_start[1:])

    @classmethod
    def memory(cls, state: State, options: Options) -> int:
        return super().memory(state, options) + (4 + 2 * options.mh_steps) * state.n_tokens  # places, proposals

    def set_priors(self, alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        super().set_priors(alpha, beta)
        self._beta32 = self.state.beta.astype(np.float32)

    def _adopt(self, z: NDArray[np.uint16]) -> None:
        # Until a document has made proposals, each token's are its own topic: nothing to judge.
        self._records = np.repeat(z[:, None], 1 + self.options.mh_steps, axis=1)
        self._totals = topic_totals(z, self.state.n_topics, self.state.seeds)

    @property
    def z(self) -> NDArray[np.uint16]:  # type: ignore[override]
        return np.ascontiguousarray(self._records[:, 0])

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"proposals": self._records[:, 1:].copy()}

    def declared(self) -> tuple[Array, ...]:
        return (Array("proposals", "uint16", (PATHS * TOKENS, self.options.mh_steps), below=TOPICS, none=True),)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(arrays)
        placed = self._records[:, 0] != NONE
        proposed = arrays["proposals"] != NONE
        require_consistent(
            bool((proposed == placed[:, None]).all()), "proposals for tokens without a topic, or none for others"
        )
        self._records[:, 1:] = arrays["proposals"]

    def _activate(self, share: float) -> None:
        """Let this share of the documents take part: where their words stand, and the chunks of work."""
        state = self.state
        self._share = share
        active = np.sort(self._order[: int(np.ceil(share * len(self._order)))])
        self._start, self._places = warp.index_words(state.words, self.offsets, active, state.n_words)
        chunks = max(1, len(self._places) // CHUNK_TOKENS)
        goals = len(self._places) * np.arange(1, chunks) / chunks
        ends = np.searchsorted(np.cumsum(np.diff(self.offsets)[active]), goals)
        self._documents = np.split(active, ends)
        self._words = [0, *np.searchsorted(self._start[1:], goals).tolist(), state.n_words]
        self._active = active

    def _place(self, step: int) -> None:
        """Give new tokens the topic of a placed token of the same word, or any topic, as a word would propose."""
        state, topics = self.state, self.state.n_topics
        new = np.zeros(len(self._records), bool)
        new[self._places] = True
        new &= self._records[:, 0] == NONE
        if not new.any():
            return
        draw = random_streams.make_generator(self.options.seed, self.options.chain, random_streams.UPDATE, step)
        placed = self._places[~new[self._places]]
        words, z = state.words[placed % state.n_tokens], self._records[placed, 0]
        start = np.zeros(state.n_words + 1, np.int64)
        np.cumsum(np.bincount(words, minlength=state.n_words), out=start[1:])
        tokens = np.flatnonzero(new)
        of = state.words[tokens % state.n_tokens]
        n = np.diff(start)[of]
        x = draw.random(len(tokens)) * (n + topics * state.beta[of])
        chosen = draw.integers(0, topics, len(tokens)).astype(np.uint16)
        asks = x < n
        chosen[asks] = z[start[of[asks]] + x[asks].astype(np.int64)]
        self._records[tokens] = chosen[:, None]
        self._totals = topic_totals(self.z, topics, state.seeds)

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        state, options, groups = self.state, self.options, self.groups
        if share != self._share:
            self._activate(share)
        self._place(step)
        beta_sum = float(state.beta.sum())
        figures: dict[str, float] = {}
        changed = 0

        def words(chunk: int) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
            moved, tally = np.zeros(state.n_topics, np.int64), np.zeros(2, np.int64)
            key = random_streams.stream_key(options.seed, options.chain, random_streams.WARP_WORD, step, chunk)
            count = warp.word_phase(
                self._records, self._start, self._places, self._words[chunk], self._words[chunk + 1], self._beta32,
                self._seed_start, self._seed_topics, self._seed_counts, inverse, moved, key, tally,
            )  # fmt: skip
            return count, moved, tally

        def documents(chunk: int) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
            moved, tally = np.zeros(state.n_topics, np.int64), np.zeros(2, np.int64)
            key = random_streams.stream_key(options.seed, options.chain, random_streams.WARP_DOCUMENT, step, chunk)
            count = warp.document_phase(
                self._records, self.offsets, self._documents[chunk], state.alpha, groups, inverse, moved, key,
                tally,
            )  # fmt: skip
            return count, moved, tally

        # Documents propose at the end of their phase, words at the end of theirs: a rate belongs to who proposed.
        for name, work in (("document", words), ("word", documents)):
            inverse = (1.0 / (self._totals + beta_sum)).astype(np.float32)
            results = self.engine.map(work, range(len(self._documents)))
            self._totals = self._totals + sum(result[1] for result in results)
            named, accepted = np.sum([result[2] for result in results], axis=0).tolist()
            changed += sum(result[0] for result in results)
            figures[f"accept_{name}"] = accepted / max(named, 1)
        return {"changed": changed / max(len(self._records), 1), **figures}
