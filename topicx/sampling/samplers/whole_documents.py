"""Gibbs sampling of a mixture: every document has one topic (see the kernel, `topicx._kernels.gibbs.mixture`).

All tokens of a document have its topic, so that states, counts and files are those of any other model.

Threads work on different topics. With P partitions a sweep has P rounds. In each the runs of 16 topics are dealt to P
hands at random, as far as that goes in packs of four neighbours, and every document takes one of the topics of the hand
that has its own: a draw from its full conditional distribution within that hand. Documents of two hands share no count,
so that hands may go on at the same time, and every round leaves the posterior as it is, exactly. A sweep weighs a
document against K topics, in P parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.gibbs import mixture as kernel
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.sampling import random_streams
from topicx.sampling.joint_likelihood import words_log_likelihood
from topicx.sampling.method import Method
from topicx.sampling.run_options import Options
from topicx.sampling.schedule import default_partitions
from topicx.sampling.special_functions import gammaln
from topicx.state import NONE, Csr, State, document_batches

LANES = 16
PACK = 4
"""Neighbouring runs of 16 topics that are dealt together at most."""
USUAL_HANDS = 2
"""Hands at most, if --partitions does not say: a sweep by four reads counts in small pieces and takes twice as long."""
LEAST_BETA = 1e-15
"""A product of two β must be a number of single precision."""


class DocumentCounts:
    """The documents' topics, and what is counted of them: n_kw (a row a word, all topics), n_k and m_k."""

    def __init__(self, state: State) -> None:
        if state.beta.min(initial=1.0) < LEAST_BETA:
            raise InputError(f"beta: a mixture needs {LEAST_BETA:g} or more of each word")
        self.words, self.offsets = np.ascontiguousarray(state.words), np.ascontiguousarray(state.offsets)
        self.alpha, self.beta = np.ascontiguousarray(state.alpha[0]), state.beta.astype(np.float32)
        self.beta_sum = float(state.beta.sum())
        self.z = np.full(state.n_documents, NONE, np.uint16)
        width = -(-state.n_topics // LANES) * LANES
        self.rows = np.zeros((max(state.n_words, 1), width), np.int32)
        seeds = state.seeds
        np.add.at(self.rows, (seeds.words, seeds.topics), seeds.counts.astype(np.int32))
        self.totals = self.rows.sum(axis=0, dtype=np.int64)
        self.sizes = np.zeros(width, np.int64)
        self.before = np.zeros(state.n_tokens, np.float32)
        last, seen = np.zeros(len(self.rows), np.uint32), np.zeros(len(self.rows), np.uint32)
        kernel.earlier(self.words, self.offsets, last, seen, self.before)

    def adopt(self, z: NDArray[np.uint16]) -> None:
        """Take these documents' topics (65535: none yet)."""
        self.z = z
        kernel.count(self.words, self.offsets, z, self.rows, self.totals, self.sizes)

    @property
    def chunks(self) -> int:
        """Runs of 16 topics."""
        return self.rows.shape[1] // LANES

    def with_words(self) -> NDArray[np.uint32]:
        """The documents that have words."""
        return np.flatnonzero(np.diff(self.offsets)).astype(np.uint32)

    def sweep(self, key: int, documents: NDArray[np.uint32], chunks: NDArray[np.int32]) -> int:
        """Draw these documents' topics anew, within these runs of 16; returns how many changed."""
        if not len(documents):
            return 0
        return kernel.sweep(
            self.words, self.offsets, self.before, self.alpha, self.beta, self.beta_sum, self.z, self.rows,
            self.totals, self.sizes, documents, chunks, key,
        )  # fmt: skip

    def probabilities(self, begin: int, end: int) -> NDArray[np.float64]:
        """p(z_d | all others) of these documents, a row each."""
        out = np.empty((end - begin, len(self.alpha)))
        kernel.conditionals(
            self.words, self.offsets, self.before, self.alpha, self.beta, self.beta_sum, self.z, self.rows,
            self.totals, self.sizes, begin, end, out,
        )  # fmt: skip
        return out


def topics_of_documents(state: State) -> NDArray[np.uint16]:
    """The topic that most tokens of each document have (the lowest of several), 65535 where none has."""
    found = np.full(state.n_documents, NONE, np.uint16)
    if not state.placed:
        return found
    for begin, end in document_batches(state.offsets, 1 << 20):
        bounds = state.offsets[begin : end + 1]
        z = state.z[bounds[0] : bounds[-1]].astype(np.int64)
        document = np.repeat(np.arange(end - begin), np.diff(bounds))
        pairs, counts = np.unique(document[z != NONE] * (NONE + 1) + z[z != NONE], return_counts=True)
        order = np.lexsort((-(pairs % (NONE + 1)), counts, pairs // (NONE + 1)))  # the last of a document is its own
        found[begin + pairs[order] // (NONE + 1)] = pairs[order] % (NONE + 1)
    return found


def hands_of(state: State, options: Options) -> int:
    """How many hands the topics are dealt to: the partitions, as long as each gets two runs of 16 topics."""
    chunks = -(-state.n_topics // LANES)
    usual = min(USUAL_HANDS, default_partitions(state.n_tokens, state.n_documents))
    wanted = int(options.partitions) or usual
    return max(1, min(wanted, chunks // 2))


def deal_runs(random: np.random.Generator, chunks: int, hands: int) -> NDArray[np.uint16]:
    """The hand of each run of 16 topics. Neighbours go together, four at most and at least two packs a hand: a row of
    counts that is read here and there costs twice as much. Where packs begin is drawn, too."""
    pack = max(1, min(PACK, chunks // (2 * hands)))
    packs = (np.arange(chunks) + random.integers(pack)) // pack
    number = int(packs[-1]) + 1
    hand_of_pack = np.empty(number, np.uint16)
    hand_of_pack[random.permutation(number)] = np.arange(number) % hands
    return hand_of_pack[packs]


class WholeDocuments(Method):
    """The sampler."""

    objective = "joint log-likelihood per token"

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        super().__init__(state, options, engine)
        self.counts = DocumentCounts(state)
        self.documents = self.counts.with_words()
        self.hands = hands_of(state, options)

    @classmethod
    def memory(cls, state: State, options: Options) -> int:
        width = -(-state.n_topics // LANES) * LANES
        return 8 * state.n_tokens + 4 * state.n_words * width + 4 * state.n_documents

    def set_priors(self, alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        super().set_priors(alpha, beta)
        self.counts.alpha, self.counts.beta = np.ascontiguousarray(alpha[0]), beta.astype(np.float32)
        self.counts.beta_sum = float(beta.sum())

    def start(self, random: bool) -> None:
        state, options = self.state, self.options
        z = topics_of_documents(state)
        if random and not state.placed:
            z = random_streams.random_topics(state.n_documents, state.n_topics, options.seed, options.chain)
        self.counts.adopt(z)

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        options = self.options
        key = random_streams.stream_key(options.seed, options.chain, random_streams.CELL, step, 0)
        if self.hands == 1 or np.any(self.counts.z[self.documents] == NONE):  # what has no topic is in no hand
            changed = self.counts.sweep(key, self.documents, np.arange(self.counts.chunks, dtype=np.int32))
        else:
            before = self.counts.z.copy()
            for round in range(self.hands):
                self._round(step, round)
            changed = int(np.count_nonzero(before != self.counts.z))
        used = int(np.count_nonzero(self.counts.sizes))
        return {"changed": changed / max(self.state.n_documents, 1), "topics_used": float(used)}

    def _round(self, step: int, round: int) -> None:
        """Every document takes one of the topics of the hand that has its own."""
        options, counts = self.options, self.counts
        parts = options.seed, options.chain, random_streams.CELL, step, 1 + round
        hand_of = deal_runs(random_streams.make_generator(*parts, 0), counts.chunks, self.hands)
        hand = hand_of[counts.z[self.documents] // LANES]
        key = random_streams.stream_key(*parts, 1)
        work = [(self.documents[hand == own], np.flatnonzero(hand_of == own)) for own in range(self.hands)]
        work.sort(key=lambda item: -len(item[0]))  # the largest first
        self.engine.map(lambda item: counts.sweep(key, item[0], item[1].astype(np.int32)), work)

    def score(self) -> float:
        counts, state = self.counts, self.state
        sizes, alpha = counts.sizes[: state.n_topics], state.alpha[0]
        tokens = int((counts.totals[: state.n_topics]).sum()) - int(state.seeds.counts.sum())
        if not tokens:
            return 0.0
        total = float(np.sum(gammaln(alpha + sizes) - gammaln(alpha)))
        total += gammaln(float(alpha.sum())) - gammaln(float(alpha.sum()) + int(sizes.sum()))
        total += words_log_likelihood(self.word_topics(), counts.totals[: state.n_topics], state.beta, state.seeds)
        return total / tokens

    def document_topics(self) -> Csr:
        own = (self.counts.z != NONE) & (self.state.lengths > 0)
        indptr = np.concatenate([[0], np.cumsum(own)]).astype(np.int64)
        return indptr, self.counts.z[own], self.state.lengths[own].astype(np.int64)

    def word_topics(self) -> Csr:
        rows = self.counts.rows[: self.state.n_words, : self.state.n_topics]
        indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(rows, axis=1))]).astype(np.int64)
        words, topics = np.nonzero(rows)
        return indptr, topics.astype(np.uint16), rows[words, topics].astype(np.int64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}  # the documents' topics are those of their tokens

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.counts.adopt(topics_of_documents(self.state))

    def sync(self) -> State:
        self.state.z = np.repeat(self.counts.z, self.state.lengths)
        return self.state
