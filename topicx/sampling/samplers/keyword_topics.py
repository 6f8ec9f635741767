"""Gibbs sampling of topics with keywords (the kernel: `topicx._kernels.gibbs.keyword`): of every token its topic, and
whether it is one of the topic's keywords.

The second stands in the state's side array `keyed`, a number a token; which words are keywords of which topics in
`keyword_words` and `keyword_topics`, a pair an entry, by word and topic.

The schedule is that of all samplers over cells (topicx/sampling/schedule.py): n0_kw and n1_kw of a cell's words are its
own. The totals n0_k and n1_k are as they were when the epoch began, but for what the cell itself has moved; they are
summed at the epoch's end. One partition is one cell, and exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.gibbs import keyword as kernel
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.files.schema import require_consistent
from topicx.sampling import random_streams
from topicx.sampling.joint_likelihood import joint_log_likelihood
from topicx.sampling.method import Method
from topicx.sampling.run_options import Options
from topicx.sampling.schedule import Cell, Schedule, ScheduleLevels
from topicx.sampling.special_functions import gammaln
from topicx.sampling.updates.prior_fixed_points import CountedWords, WordStatistics
from topicx.state import NONE, Csr, State, document_topics

LANES = 16
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


class KeywordCounts:
    """Tokens' topics, and what is counted of them: n0_kw (a row a word), n0_k; n1 of each keyword entry and topic."""

    def __init__(self, state: State, words: NDArray[np.uint32] | None = None) -> None:
        """`words`: those of the state in another order within documents, which z and keyed have then, too."""
        side = state.side
        if "keyword_words" not in side:
            raise InputError(
                "the state is of another model, and has no keywords: the model keyword begins with a corpus"
            )
        self.words = np.ascontiguousarray(state.words if words is None else words)
        self.offsets = np.ascontiguousarray(state.offsets)
        self.groups = np.ascontiguousarray(state.groups)
        width = -(-state.n_topics // LANES) * LANES
        self.n_topics, self.n_words = state.n_topics, state.n_words
        self.rows = np.zeros((max(state.n_words, 1), width), np.int32)
        self.totals, self.keyed_totals = np.zeros(width, np.int64), np.zeros(width, np.int64)
        self.entry_words, self.entry_topics = side["keyword_words"], side["keyword_topics"]
        per_word = np.bincount(self.entry_words, minlength=len(self.rows))
        self.starts = np.concatenate([[0], np.cumsum(per_word)]).astype(np.int64)
        self.of = np.append(self.entry_topics, 0).astype(np.uint16)  # one more: there is a first, if there are none
        self.counts = np.zeros(len(self.of), np.int64)
        self.lengths = np.bincount(self.entry_topics, minlength=width).astype(np.int64)
        self.a, self.b, self.kappa = (float(value) for value in side["keyword_prior"])
        self.z, self.keyed = np.full(state.n_tokens, NONE, np.uint16), np.zeros(state.n_tokens, np.uint8)
        self.set_priors(state.alpha, state.beta)

    def set_priors(self, alpha: Floats, beta: Floats) -> None:
        self.alpha, self.beta = np.ascontiguousarray(alpha), beta.astype(np.float32)
        self.beta_sum = float(beta.sum())

    def sweeper(self, totals: NDArray[np.int64], keyed_totals: NDArray[np.int64]) -> kernel.Sweeper:
        """The kernel at these tables, with such totals."""
        return kernel.Sweeper(
            self.rows, totals, keyed_totals, self.starts, self.of, self.counts, self.lengths, self.alpha, self.beta,
            self.beta_sum, self.a, self.b, self.kappa,
        )  # fmt: skip

    def adopt(self, z: NDArray[np.uint16], keyed: NDArray[np.uint8]) -> None:
        """Take these topics, and which tokens are keywords."""
        self.z, self.keyed = z, keyed
        strange = kernel.count(
            self.words, z, keyed, self.starts, self.of, self.rows, self.totals, self.keyed_totals, self.counts
        )
        require_consistent(not strange, "tokens that are keywords of topics without them")

    def conditionals(self, begin: int, end: int, documents: Floats, by_word: Floats, by_keyword: Floats) -> None:
        """Add what a further sweep would draw of these documents' tokens; arrays without rows are not wanted."""
        self.sweeper(self.totals, self.keyed_totals).conditionals(
            self.words, self.offsets, self.groups, self.z, self.keyed, begin, end, documents, by_word, by_keyword
        )

    def keyword_shares(self) -> Floats:
        """π of each topic: the mean of its posterior; 0 of topics without keywords."""
        plain, keyed = self.totals[: self.n_topics], self.keyed_totals[: self.n_topics]
        has = self.lengths[: self.n_topics] > 0
        return np.asarray(np.where(has, (keyed + self.a) / (plain + keyed + self.a + self.b), 0.0))

    def regular_topics(self) -> Csr:
        """n0_kw, as row offsets, topics and counts."""
        rows = self.rows[: self.n_words, : self.n_topics]
        indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(rows, axis=1))]).astype(np.int64)
        words, topics = np.nonzero(rows)
        return indptr, topics.astype(np.uint16), rows[words, topics].astype(np.int64)


def first_keyed(state: State, z: NDArray[np.uint16]) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Where tokens begin: those that are keywords in one of their topics (the one that their random topic points at),
    as keywords."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(state.side["keyword_words"], minlength=state.n_words))])
    number = np.diff(starts)[state.words]
    keyed = number > 0
    z = z.copy()
    z[keyed] = state.side["keyword_topics"][starts[state.words[keyed]] + z[keyed] % number[keyed]]
    return z, keyed.astype(np.uint8)


def partitions_of(state: State, options: Options) -> int:
    """Shards and blocks of a run."""
    return ScheduleLevels.of(options.partitions, state.n_tokens, state.n_documents, state.n_words).partitions


class KeywordTopics(Method):
    """The sampler."""

    objective = "joint log-likelihood per token"

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        super().__init__(state, options, engine)
        self.schedule = Schedule(
            state.words, state.offsets, state.n_words, partitions_of(state, options), options.seed, options.chain, 1,
            engine,
        )  # fmt: skip
        self.counts = KeywordCounts(state, self._arranged(np.ascontiguousarray(state.words)))

    @classmethod
    def memory(cls, state: State, options: Options) -> int:
        width, partitions = -(-state.n_topics // LANES) * LANES, partitions_of(state, options)
        ordered = 4 * state.n_tokens if partitions > 1 else 0
        return 4 * state.n_tokens + ordered + 8 * state.n_documents * (partitions + 1) + 4 * state.n_words * width

    def _arranged(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of tokens in the schedule's order; with one partition as they are."""
        return self.schedule.arranged(values) if self.schedule.partitions > 1 else values

    def _restored(self, values: NDArray[np.uint16]) -> NDArray[np.uint16]:
        return self.schedule.restored(values) if self.schedule.partitions > 1 else values.copy()

    def _adopt(self, z: NDArray[np.uint16], keyed: NDArray[np.uint8]) -> None:
        """Take these topics and keywords, in the order of the text."""
        z, keyed = np.array(self._arranged(z)), self._arranged(keyed.astype(np.uint16)).astype(np.uint8)
        self.counts.adopt(z, keyed)

    def set_priors(self, alpha: Floats, beta: Floats) -> None:
        super().set_priors(alpha, beta)
        self.counts.set_priors(alpha, beta)

    def start(self, random: bool) -> None:
        state, options = self.state, self.options
        if not random:
            self._adopt(np.full(state.n_tokens, NONE, np.uint16), np.zeros(state.n_tokens, np.uint8))
        elif state.placed:
            self._adopt(np.ascontiguousarray(state.z), state.side["keyed"])
        else:
            z = random_streams.random_topics(state.n_tokens, state.n_topics, options.seed, options.chain)
            self._adopt(*first_keyed(state, z))

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        changed, counts = 0, self.counts
        for cells in self.schedule.epochs():
            totals, keyed = counts.totals.copy(), counts.keyed_totals.copy()

            def work(
                cell: Cell, totals: Counts = totals, keyed: Counts = keyed
            ) -> tuple[int, Counts, Counts]:  # fmt: skip
                own, own_keyed = totals.copy(), keyed.copy()
                return self._cell(step, cell, own, own_keyed), own, own_keyed

            for moved, own, own_keyed in self.engine.map(work, self.schedule.largest_first(cells)):
                changed += moved
                counts.totals += own - totals
                counts.keyed_totals += own_keyed - keyed
        tokens = max(self.state.n_tokens, 1)
        return {"changed": changed / tokens, "keywords": float(counts.keyed.sum()) / tokens}

    def _cell(self, step: int, cell: Cell, totals: Counts, keyed_totals: Counts) -> int:
        """Draw the tokens of a cell; returns how many changed."""
        options, counts, schedule = self.options, self.counts, self.schedule
        number = cell.shard * schedule.partitions + cell.block
        key = random_streams.stream_key(options.seed, options.chain, random_streams.CELL, step, number)
        first, last = schedule.bounds[cell.shard], schedule.bounds[cell.shard + 1]
        return counts.sweeper(totals, keyed_totals).sweep(
            counts.words, counts.offsets, schedule.segments, schedule.partitions, cell.block, counts.groups, counts.z,
            counts.keyed, first, last, key,
        )  # fmt: skip

    def score(self) -> float:
        counts, state = self.counts, self.state
        placed = int((counts.z != NONE).sum())
        if not placed:
            return 0.0
        topics = slice(0, state.n_topics)
        plain, keyed, lengths = counts.totals[topics], counts.keyed_totals[topics], counts.lengths[topics]
        total = placed * joint_log_likelihood(
            counts.z, counts.offsets, counts.regular_topics(), plain, state.alpha, counts.groups, state.beta,
            state.seeds, self.engine,
        )  # fmt: skip
        has = lengths > 0
        a, b, kappa = counts.a, counts.b, counts.kappa
        total += _log_rising(a, keyed[has]) + _log_rising(b, plain[has]) - _log_rising(a + b, (plain + keyed)[has])
        total += _log_rising(kappa, counts.counts[:-1]) - _log_rising(lengths[has] * kappa, keyed[has])
        return total / placed

    def document_topics(self) -> Csr:
        return document_topics(self.counts.z, self.counts.offsets, self.state.n_topics)

    def word_topics(self) -> Csr:
        self.sync()
        return self.state.word_topics()

    def word_statistics(self) -> WordStatistics:
        """What n0_kw says of β: keywords have a prior of their own."""
        return CountedWords(self.counts.regular_topics(), self.state.beta, self.state.n_topics)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}  # topics and keywords are the state's

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._adopt(np.ascontiguousarray(self.state.z), self.state.side["keyed"])

    def sync(self) -> State:
        self.state.z = self._restored(self.counts.z)
        self.state.side["keyed"] = self._restored(self.counts.keyed.astype(np.uint16)).astype(np.uint8)
        return self.state


def _log_rising(prior: Any, counts: NDArray[np.int64]) -> float:
    """Σ log Γ(prior + n) / Γ(prior)."""
    prior = np.broadcast_to(np.asarray(prior, np.float64), counts.shape)
    return float(np.sum(gammaln(prior + counts) - gammaln(prior))) if len(counts) else 0.0
