"""Learning from minibatches: rates, sources of documents, and what SCVB0 keeps between one minibatch and the next.

scvb0.py has the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import bounds, scvb0, soft
from topicx.corpus.corpus_on_disk import StoredCorpus
from topicx.declare import check_positive, check_whole
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.sampling import random_streams
from topicx.sampling.run_options import Options
from topicx.state import Seeds
from topicx.strings import take_rows
from topicx.variational.expected_statistics import document_cost
from topicx.variational.soft_method import Rows, pair_up

SLICES = 8
"""Parts of a minibatch that are worked on at once: a fixed number (of words, too), so that results do not depend on
threads."""
RUN = 16
"""Documents that are read together: a minibatch is of runs from all over the corpus."""


@dataclass(frozen=True)
class Rate:
    """The learning rate ρ_t = scale · (delay + t)^-power of minibatch t, at most 1; and passes over a document."""

    scale: float = 1.0
    """Larger: faster and noisier."""
    delay: float = 4.0
    """Larger: the first minibatches count for less."""
    power: float = 0.6
    """Larger: earlier minibatches are forgotten more slowly; above 0.5 the averages converge."""
    passes: int = 2
    """Passes over each document of a minibatch."""

    def __post_init__(self) -> None:
        for name in ("scale", "delay", "power"):
            check_positive(f"learning-rate {name}", getattr(self, name))
        if self.power > 1:
            raise InputError(f"learning-rate power must be at most 1, or learning stops early; not {self.power}")
        check_whole("learning-rate passes", self.passes, 1, 1000)

    @classmethod
    def of(cls, options: Options) -> Rate:
        """The rate that the options of a run name."""
        return cls(options.rate_scale, options.rate_delay, options.rate_power, options.document_passes)

    def at(self, step: int) -> float:
        return min(1.0, self.scale * float(_portable_power(np.array([self.delay + step]), -self.power)[0]))


DOCUMENT_DELAY, DOCUMENT_POWER = 10.0, 0.9
"""The rate within a document, as in the paper: position t moves its counts by (10 + t)^-0.9."""


def _portable_power(x: NDArray[Any], power: float) -> NDArray[np.float64]:
    """Raise x to a power by the kernels' arithmetic, which has the same bits everywhere."""
    result: NDArray[np.float64] = bounds.special_function("exp", power * bounds.special_function("log", x))
    return result


class MinibatchSource(Protocol):
    """Where documents come from."""

    n_documents: int
    n_tokens: int

    def take(self, runs: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Tokens and offsets of these runs of RUN documents, one after the other."""
        ...


def _members_of_runs(runs: NDArray[np.int64], documents: int) -> NDArray[np.int64]:
    every = (runs[:, None] * RUN + np.arange(RUN)).ravel()
    return every[every < documents]


class InMemory:
    """Documents of arrays."""

    def __init__(self, words: NDArray[np.uint32], offsets: NDArray[np.int64]) -> None:
        self.words, self.offsets = words, offsets
        self.n_documents, self.n_tokens = len(offsets) - 1, len(words)

    def take(self, runs: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        return take_rows(self.words, self.offsets, _members_of_runs(runs, self.n_documents))


class OnDisk:
    """Documents of an open corpus file."""

    def __init__(self, corpus: StoredCorpus) -> None:
        self.corpus = corpus
        self.n_documents, self.n_tokens = corpus.n_documents, corpus.n_tokens

    def take(self, runs: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        words, offsets = [], [np.zeros(1, np.int64)]
        for run in runs.tolist():
            ends = self.corpus.offsets(run * RUN, min((run + 1) * RUN, self.n_documents))
            words.append(self.corpus.words(int(ends[0]), int(ends[-1])))
            offsets.append(offsets[-1][-1] + ends[1:] - ends[0])
        return np.concatenate(words), np.concatenate(offsets)


class Learner:
    """The words' running counts (scale · nw, seeds included), the totals, and how a minibatch changes them."""

    def __init__(
        self, topics: int, words: int, alpha: NDArray[np.float64], beta: NDArray[np.float64], rate: Rate,
        engine: Engine, seeds: Seeds | None = None,
    ) -> None:  # fmt: skip
        self.topics, self.rate, self.engine = topics, rate, engine
        self.seeds = Seeds() if seeds is None else seeds
        self.padded = (topics + 15) // 16 * 16
        self.slices = SLICES
        """Parts of a minibatch, and of its words, that are worked on at once."""
        self.nw: Rows = np.zeros((words, self.padded), np.float32)
        self.scale, self.step = 1.0, 0
        self.totals = np.zeros(topics)
        self._rates = np.zeros(0)
        self._room = np.empty((0, self.padded), np.float32)
        self._seen = np.zeros(words, np.int64)
        self.set_priors(alpha, beta)

    def set_priors(self, alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        self.alpha, self.beta = np.ascontiguousarray(alpha), beta
        self._alpha32 = np.zeros((len(alpha), self.padded), np.float32)
        self._alpha32[:, : self.topics] = alpha
        self._beta32, self._beta_sum = beta.astype(np.float32), float(beta.sum())
        self._base = bounds.special_function("digamma", self.alpha)

    def start(self, frequencies: NDArray[Any], key: int) -> None:
        """Each word's tokens spread at random over the topics."""
        scvb0.random_words(self.nw, self.topics, np.asarray(frequencies, np.float64), key)
        self._with_seeds(1.0)
        self.totals = soft.column_sums(self.nw, self.topics)

    def _with_seeds(self, share: float) -> None:
        if not len(self.seeds):
            return
        added = (share * self.seeds.counts / self.scale).astype(np.float32)
        np.add.at(self.nw, (self.seeds.words, self.seeds.topics), added)

    @property
    def counts(self) -> Rows:
        """The words' expected counts."""
        found = self.nw.copy()
        scvb0.scale_rows(found, self.scale)
        return found

    def assign(
        self, words: NDArray[np.uint32], offsets: NDArray[np.int64], groups: NDArray[np.uint32], gains: bool = False
    ) -> Minibatch:
        """The assignments of these documents, given the words' counts."""
        pair_words, counts, pair_offsets = self._pairs(words, offsets)
        documents = len(offsets) - 1
        if len(self._room) < len(pair_words):
            self._room = np.empty((len(pair_words) * 5 // 4, self.padded), np.float32)
        keep = self._room[: len(pair_words)]
        nd = np.empty((documents, self.padded), np.float32)
        weight = np.zeros(self.padded, np.float32)
        weight[: self.topics] = 1.0 / (self.totals + self._beta_sum)
        longest = int(np.diff(pair_offsets).max(initial=0)) * self.rate.passes
        if len(self._rates) < longest:
            self._rates = _portable_power(DOCUMENT_DELAY + np.arange(2 * longest), -DOCUMENT_POWER)
        ends = np.searchsorted(pair_offsets, len(pair_words) * np.arange(1, self.slices) / self.slices)
        ranges = [0, *ends.tolist(), documents]

        batch = scvb0.Batch(
            words=pair_words, counts=counts, offsets=pair_offsets, nw=self.nw, scale=self.scale, weight=weight,
            alpha=self._alpha32, groups=groups, beta=self._beta32, rates=self._rates, passes=self.rate.passes,
            keep=keep, nd=nd, base=self._base,
        )  # fmt: skip

        def work(part: int) -> tuple[float, NDArray[np.float64]]:
            gain = np.zeros((len(self.alpha) if gains else 0, self.topics))
            return scvb0.scvb0_documents(batch, ranges[part], ranges[part + 1], gain), gain

        results = self.engine.map(work, range(self.slices)) if len(words) else []
        lengths = np.diff(offsets)
        sums = self.alpha.sum(axis=1)[groups if len(groups) else np.zeros(documents, np.int64)]
        fit = float(sum(fit for fit, _ in results)) - float(
            np.sum(lengths * bounds.special_function("log", sums + lengths))
        )
        gain = np.zeros((len(self.alpha), self.topics)) + (sum(g for _, g in results) if gains else 0)
        return Minibatch(pair_words, counts, pair_offsets, keep, nd, lengths, fit, gain)

    def use_room(self, memory: Rows) -> None:
        """Put minibatches' assignments here, as long as there is room."""
        rows = len(memory) // self.padded
        self._room = memory[: rows * self.padded].reshape(rows, self.padded)

    def _pairs(
        self, words: NDArray[np.uint32], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]:
        return pair_up(np.ascontiguousarray(words), offsets, len(self.nw), self._seen)

    def learn(self, batch: Minibatch, corpus_tokens: float) -> None:
        """Move the counts towards what the minibatch says of the whole corpus."""
        tokens = float(batch.lengths.sum())
        if tokens == 0:
            return
        rho = self.rate.at(self.step)
        self.step += 1
        if self.scale * (1 - rho) < 1e-6:
            scvb0.scale_rows(self.nw, self.scale * (1 - rho))
            self.scale = 1.0
        else:
            self.scale *= 1 - rho
        self._with_seeds(rho)
        share = rho * corpus_tokens / tokens
        distinct = np.empty(len(batch.words), np.uint32)
        distinct = np.sort(distinct[: scvb0.distinct_words(batch.words, self._seen, distinct)])
        starts, order = np.empty(len(distinct) + 1, np.int64), np.empty(len(batch.words), np.int64)
        scvb0.order_by_word(batch.words, distinct, self._seen, starts, order)

        def work(part: int) -> NDArray[np.float64]:
            total = np.zeros(self.padded)
            begin, end = (len(distinct) * p // self.slices for p in (part, part + 1))
            scvb0.scvb0_words(
                distinct, starts, order, begin, end, batch.counts, batch.keep, share / self.scale, self.nw, total
            )
            return total

        sums: Any = sum(self.engine.map(work, range(self.slices)))
        seeded = np.bincount(self.seeds.topics, self.seeds.counts, self.topics) if len(self.seeds) else 0.0
        self.totals = (1 - rho) * self.totals + share * sums[: self.topics] + rho * seeded


@dataclass
class Minibatch:
    """Pairs of a minibatch, their assignments (padded rows; theirs until the next call of `assign`), and the documents'
    counts."""

    words: NDArray[np.uint32]
    counts: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    keep: Rows
    nd: Rows
    lengths: NDArray[np.int64]
    fit: float
    gain: NDArray[np.float64]


class Loop:
    """Sweeps of a learner over a source, in minibatches of runs in random order."""

    def __init__(self, source: MinibatchSource, groups: NDArray[np.uint32], options: Options, learner: Learner) -> None:
        self.source, self.groups, self.options, self.learner = source, groups, options, learner
        self.fit, self.done = 0.0, 0
        self.gain, self.cost = np.zeros_like(learner.alpha), np.zeros(len(learner.alpha))

    def sweep(self, step: int, each: Callable[[int], None] | None = None, parts: int = 1) -> None:
        """Learn from every document once, or from one of so many parts of them: as many steps see all. `each` is told
        after each minibatch how many documents have been seen."""
        options, learner = self.options, self.learner
        draw = random_streams.make_generator(options.seed, options.chain, random_streams.CELL, step // parts)
        gains = options.optimize_interval > 0
        self.fit, self.gain, self.cost = 0.0, np.zeros_like(learner.alpha), np.zeros(len(learner.alpha))
        runs = np.array_split(draw.permutation(-(-self.source.n_documents // RUN)), parts)[step % parts]
        for groups, words, offsets in self._batches(runs, options.batch_documents):
            batch = learner.assign(words, offsets, groups, gains)
            learner.learn(batch, self.source.n_tokens)
            self.fit += batch.fit
            if gains:
                self.gain += batch.gain
                self.cost += document_cost(learner.alpha, batch.lengths, groups)
            if each is not None:
                each(len(offsets) - 1)
        self.done += 1

    def assignments(self, documents: int = 4 * RUN) -> Iterator[Minibatch]:
        """Every document's assignments under the counts as they are, some documents at a time, in the order of the
        corpus; nothing is learnt."""
        runs = np.arange(-(-self.source.n_documents // RUN))
        self.learner.use_room(np.zeros(0, np.float32))  # a few documents at a time now: it need not be so large
        for groups, words, offsets in self._batches(runs, documents):
            yield self.learner.assign(words, offsets, groups)

    def _batches(
        self, runs: NDArray[np.int64], documents: int
    ) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]]:
        size = max(1, documents // RUN)
        for begin in range(0, len(runs), size):
            chosen = runs[begin : begin + size].astype(np.int64)
            words, offsets = self.source.take(chosen)
            groups = self.groups
            if len(groups):
                groups = np.ascontiguousarray(groups[_members_of_runs(chosen, self.source.n_documents)])
            yield groups, words, offsets
