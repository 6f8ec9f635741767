"""SCVB0: stochastic CVB0 (Foulds, Boyles, DuBois, Smyth & Welling 2013): minibatches, no stored assignments.

Every document of a minibatch is passed over a few times with the words' counts held still; its assignments in the last
pass, scaled up to the corpus, are what the counts move towards:

    N ← (1 - ρ) N + ρ (tokens of the corpus / tokens of the minibatch) Σ γ,      ρ_t = scale · (delay + t)^-power

and within a document its own counts, equal at first, move likewise, word after word, at rate ρ = (10 + position)^-0.9
(γ is CVB0's formula without taking the token out: the average that is kept has no part of its own for a token). The m
tokens of a word move them together, by 1 - (1 - ρ)^m ("clumping"). t and the position count from 0.

Memory: 4 bytes × words × K, and the minibatch. A corpus is read from its file a minibatch at a time (`train_file`), or
handed over piece by piece (`StochasticLDA.partial_fit`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from topicx._kernels import soft
from topicx.corpus.corpus import Corpus, take_rows
from topicx.corpus.stored import StoredCorpus
from topicx.declare import check_positive, check_whole
from topicx.engines.threads import Engine, Threads
from topicx.errors import InputError
from topicx.model import Model
from topicx.sampling import hyper, streams
from topicx.sampling.hyper import DocumentStatistics
from topicx.sampling.method import Method
from topicx.sampling.options import Options
from topicx.schema import Array, require
from topicx.state import Csr, Seeds, State
from topicx.strings import Strings
from topicx.variational.base import WORD_PARTS, Rows, dense_csr, pair_up
from topicx.variational.statistics import ExpectedWords, Observed, document_cost

SLICES = 8
"""Parts of a minibatch that are worked on at once: a fixed number, so that results do not depend on threads."""
RUN = 16
"""Documents that are read together: a minibatch is of runs from all over the corpus."""


@dataclass(frozen=True)
class Rate:
    """The learning rate ρ_t = scale · (delay + t)^-power of minibatch t, at most 1; and passes over a document."""

    scale: float = 1.0
    delay: float = 4.0
    power: float = 0.6
    passes: int = 2

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
        return min(1.0, self.scale * float(_power(np.array([self.delay + step]), -self.power)[0]))


DOCUMENT_DELAY, DOCUMENT_POWER = 10.0, 0.9
"""The rate within a document, as in the paper: position t moves its counts by (10 + t)^-0.9."""


def _power(x: NDArray[Any], power: float) -> NDArray[np.float64]:
    """x^power by the kernels' arithmetic, which has the same bits everywhere."""
    result: NDArray[np.float64] = soft.special("exp", power * soft.special("log", x))
    return result


class MinibatchSource(Protocol):
    """Where documents come from."""

    n_documents: int
    n_tokens: int

    def take(self, runs: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Tokens and offsets of these runs of RUN documents, one after the other."""
        ...


def _members(runs: NDArray[np.int64], documents: int) -> NDArray[np.int64]:
    every = (runs[:, None] * RUN + np.arange(RUN)).ravel()
    return every[every < documents]


class InMemory:
    """Documents of arrays."""

    def __init__(self, words: NDArray[np.uint32], offsets: NDArray[np.int64]) -> None:
        self.words, self.offsets = words, offsets
        self.n_documents, self.n_tokens = len(offsets) - 1, len(words)

    def take(self, runs: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        return take_rows(self.words, self.offsets, _members(runs, self.n_documents))


class OnDisk:
    """Documents of an open corpus file."""

    def __init__(self, corpus: StoredCorpus) -> None:
        self.corpus = corpus
        self.n_documents, self.n_tokens = corpus.n_documents, corpus.n_tokens

    def take(self, runs: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        words, offsets = [], [np.zeros(1, np.int64)]
        for run in runs.tolist():
            bounds = self.corpus.offsets(run * RUN, min((run + 1) * RUN, self.n_documents))
            words.append(self.corpus.words(int(bounds[0]), int(bounds[-1])))
            offsets.append(offsets[-1][-1] + bounds[1:] - bounds[0])
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
        self._base = soft.special("digamma", self.alpha)

    def start(self, frequencies: NDArray[Any], key: int) -> None:
        """Each word's tokens spread at random over the topics."""
        soft.random_words(self.nw, self.topics, np.asarray(frequencies, np.float64), key)
        self._with_seeds(1.0)
        self.totals = soft.column_sums(self.nw, self.topics)

    def _with_seeds(self, share: float) -> None:
        added = (share * self.seeds.counts / self.scale).astype(np.float32)
        np.add.at(self.nw, (self.seeds.words, self.seeds.topics), added)

    @property
    def counts(self) -> Rows:
        """The words' expected counts."""
        found = self.nw.copy()
        soft.scale_rows(found, self.scale)
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
            self._rates = _power(DOCUMENT_DELAY + np.arange(2 * longest), -DOCUMENT_POWER)
        ends = np.searchsorted(pair_offsets, len(pair_words) * np.arange(1, SLICES) / SLICES)
        bounds = [0, *ends.tolist(), documents]

        def work(part: int) -> tuple[float, NDArray[np.float64]]:
            gain = np.zeros((len(self.alpha) if gains else 0, self.topics))
            fit = soft.scvb0_documents(
                pair_words, counts, pair_offsets, bounds[part], bounds[part + 1], groups, self._alpha32, self.nw,
                self.scale, self._beta32, weight, self._rates, self.rate.passes, keep, nd, gain, self._base,
            )  # fmt: skip
            return fit, gain

        results = self.engine.map(work, range(SLICES)) if len(words) else []
        lengths = np.diff(offsets)
        sums = self.alpha.sum(axis=1)[groups if len(groups) else np.zeros(documents, np.int64)]
        fit = float(sum(fit for fit, _ in results)) - float(np.sum(lengths * soft.special("log", sums + lengths)))
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
            soft.scale_rows(self.nw, self.scale * (1 - rho))
            self.scale = 1.0
        else:
            self.scale *= 1 - rho
        self._with_seeds(rho)
        share = rho * corpus_tokens / tokens
        order = np.argsort(batch.words, kind="stable")
        ordered = batch.words[order]
        first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        starts = np.append(first, len(order)).astype(np.int64)
        distinct = ordered[first]

        def work(part: int) -> NDArray[np.float64]:
            total = np.zeros(self.padded)
            begin, end = (len(distinct) * p // WORD_PARTS for p in (part, part + 1))
            soft.scvb0_words(
                distinct, starts, order, begin, end, batch.counts, batch.keep, share / self.scale, self.nw, total
            )
            return total

        sums: Any = sum(self.engine.map(work, range(WORD_PARTS)))
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

    def sweep(self, step: int, each: Callable[[int], None] | None = None) -> None:
        """Learn from every document once. `each` is told after each minibatch how many documents have been seen."""
        options, learner = self.options, self.learner
        draw = streams.generator(options.seed, options.chain, streams.CELL, step)
        gains = options.optimize_interval > 0
        self.fit, self.gain, self.cost = 0.0, np.zeros_like(learner.alpha), np.zeros(len(learner.alpha))
        runs = draw.permutation(-(-self.source.n_documents // RUN))
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

    def assignments(self) -> Iterator[Minibatch]:
        """Every document's assignments under the counts as they are, in the order of the corpus; nothing is learnt."""
        runs = np.arange(-(-self.source.n_documents // RUN))
        self.learner.use_room(np.zeros(0, np.float32))  # a few documents at a time now: it need not be so large
        for groups, words, offsets in self._batches(runs, RUN):
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
                groups = np.ascontiguousarray(groups[_members(chosen, self.source.n_documents)])
            yield groups, words, offsets


class Scvb0(Method):
    """SCVB0 over the documents of a state: a sweep is one pass over all of them."""

    objective: ClassVar[str] = "predictive log-likelihood per token (each minibatch before it was learnt)"

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        super().__init__(state, options, engine)
        rate = Rate.of(options)
        self.learner = Learner(state.n_topics, state.n_words, state.alpha, state.beta, rate, engine, state.seeds)
        self.loop = Loop(InMemory(state.words, state.offsets), state.groups, options, self.learner)

    def set_priors(self, alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        super().set_priors(alpha, beta)
        self.learner.set_priors(alpha, beta)

    def start(self, random: bool) -> None:
        state, options = self.state, self.options
        if state.placed:
            indptr, topics, counts = state.word_topics()
            words = np.repeat(np.arange(state.n_words), np.diff(indptr))
            self.learner.nw[words, topics] = counts
            self.learner.totals = soft.column_sums(self.learner.nw, state.n_topics)
            return
        frequencies = np.bincount(state.words, minlength=state.n_words)
        self.learner.start(frequencies, streams.key(options.seed, options.chain, streams.START))

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        self.loop.sweep(step)
        return {"rate": self.learner.rate.at(self.learner.step)}

    def score(self) -> float:
        fit = self.loop.fit if self.loop.done else sum(batch.fit for batch in self.loop.assignments())
        return fit / max(self.state.n_tokens, 1)

    def _document_counts(self) -> Rows:
        rows = [batch.nd for batch in self.loop.assignments()]
        return np.concatenate(rows) if rows else np.zeros((0, self.learner.padded), np.float32)

    def document_topics(self) -> Csr:
        return dense_csr(self._document_counts(), self.state.n_topics)

    def word_topics(self) -> Csr:
        return dense_csr(self.learner.counts, self.state.n_topics)

    def document_statistics(self) -> DocumentStatistics:
        """From the assignments of the last sweep: good for one round."""
        return Observed(self.loop.gain, self.loop.cost)

    def word_statistics(self) -> ExpectedWords:
        return ExpectedWords(self.learner.counts, self.learner.totals, self.state.beta)

    def arrays(self) -> dict[str, NDArray[Any]]:
        learner, loop = self.learner, self.loop
        numbers = np.array([learner.scale, learner.step, loop.fit, loop.done])
        return {
            "nw": learner.nw, "totals": learner.totals, "numbers": numbers, "gain": loop.gain, "cost": loop.cost,
        }  # fmt: skip

    def declared(self) -> tuple[Array, ...]:
        most = 1e7 * (self.state.n_tokens + float(self.state.seeds.counts.sum()) + 1)  # over a scale of 1e-6 or more
        return (
            Array("nw", "float32", "words padded", low=-1, high=most),
            Array("totals", "float64", "topics", low=-1, high=most),
            Array("numbers", "float64", "4", low=-1e18, high=1e18),
            Array("gain", "float64", "groups topics", low=-1e18, high=1e18),
            Array("cost", "float64", "groups", low=-1e18, high=1e18),
        )

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        learner, loop = self.learner, self.loop
        learner.nw, learner.totals = arrays["nw"].copy(), arrays["totals"].copy()
        loop.gain, loop.cost = arrays["gain"].copy(), arrays["cost"].copy()
        scale, step, fit, done = arrays["numbers"].tolist()
        require(1e-7 <= scale <= 1, f"a scale of {scale:g}")
        require(min(step, done) >= 0, f"{step:g} batches in {done:g} sweeps")
        learner.scale, learner.step, loop.fit, loop.done = scale, int(step), fit, int(done)

    def sync(self) -> State:
        state = self.state
        topics = [batch.keep[:, : state.n_topics].argmax(axis=1).astype(np.uint16) for batch in self.loop.assignments()]
        of_pair = np.concatenate(topics) if topics else np.zeros(0, np.uint16)
        z = np.empty(state.n_tokens, np.uint16)
        soft.spread(state.words, state.offsets, np.zeros(state.n_words, np.int64), of_pair, z)
        state.z = z
        return state


def train_file(
    path: str | os.PathLike[str],
    options: Options,
    engine: Engine | None = None,
    each: Callable[[int, int, float], None] | None = None,
) -> Model:
    """A model of a corpus file that need not fit in memory, by SCVB0: `options.iterations` passes over the file.

    The result is that of the sampler scvb0 with these options on the same corpus. `each` is told the sweep, the
    documents seen in it, and the objective so far in it.
    """
    engine = engine or Threads()
    with StoredCorpus.open(path) as corpus:
        source = OnDisk(corpus)
        vocabulary = corpus.vocabulary
        words = len(vocabulary)
        alpha, beta = options.alpha_vector()[None, :], np.full(words, float(options.beta))
        learner = Learner(options.topics, words, alpha, beta, Rate.of(options), engine)
        learner.start(corpus.word_frequencies, streams.key(options.seed, options.chain, streams.START))
        loop = Loop(source, np.zeros(0, np.uint32), options, learner)
        trace: dict[str, list[float]] = {name: [] for name in ("sweep", "score", "alpha_sum", "beta", "rate")}
        for sweep in range(options.iterations):
            seen = 0

            def told(documents: int, sweep: int = sweep) -> None:
                nonlocal seen
                seen += documents
                if each is not None:
                    each(sweep + 1, seen, loop.fit)

            loop.sweep(sweep, told)
            rate = learner.rate.at(learner.step)
            if options.optimize_interval and sweep + 1 > options.optimize_burn_in:
                _learn_priors(loop, sweep + 1)
            if (sweep + 1) % options.trace_interval == 0 or sweep + 1 == options.iterations:
                score, alpha_sum = loop.fit / max(source.n_tokens, 1), float(learner.alpha.sum(axis=1).mean())
                row = (float(sweep + 1), score, alpha_sum, float(learner.beta.mean()), rate)
                for column, value in zip(trace.values(), row, strict=True):
                    column.append(value)
        model = learner_model(learner, vocabulary)
        model.trace = {name: np.array(values) for name, values in trace.items()}
        model.meta |= {"options": options.to_meta(), "sampler": "scvb0", "seed": options.seed}
        model.meta |= {"iterations": options.iterations, "tokens": source.n_tokens, "documents": source.n_documents}
        model.meta |= {
            "tokenizer": corpus.meta.get("tokenizer"),
            "estimator": {"theta": "cgsp", "phi": "expected counts"},
        }
        model.parents = {"corpus": corpus.digest}
        return model


def _learn_priors(loop: Loop, sweep: int) -> None:
    options, learner = loop.options, loop.learner
    if sweep % options.optimize_interval:
        return
    what = set(options.optimize.split("+"))
    alpha, beta = learner.alpha, learner.beta
    if what & {"alpha", "symmetric-alpha"}:
        alpha = hyper.rounded(hyper.learn_alpha(Observed(loop.gain, loop.cost), alpha, "symmetric-alpha" in what))
    if "beta" in what:
        words = ExpectedWords(learner.counts, learner.totals, beta)
        beta = hyper.rounded(hyper.learn_beta(words, beta, learner.seeds))
    learner.set_priors(alpha, beta)


def learner_model(learner: Learner, vocabulary: Strings) -> Model:
    """The learner's counts and priors as a model."""
    indptr, topics, values = dense_csr(learner.counts, learner.topics)
    return Model(
        vocabulary=vocabulary, alpha=learner.alpha.copy(), beta=learner.beta.copy(), indptr=indptr, topics=topics,
        values=values,
    )  # fmt: skip


class StochasticLDA:
    """SCVB0 that is fed piece by piece: each call of `partial_fit` is one minibatch.

    `tokens` is the number of tokens in all that will be (or could be) seen: the counts are scaled to it. Without it,
    the tokens seen so far are used.
    """

    def __init__(
        self,
        topics: int,
        vocabulary: Sequence[str],
        *,
        tokens: float | None = None,
        alpha: float | Sequence[float] = 0.1,
        beta: float = 0.01,
        rate: Rate | None = None,
        seed: int = 1,
        threads: int = 0,
    ) -> None:
        options = Options(topics=topics, alpha=alpha, beta=beta, seed=seed)
        if tokens is not None:
            check_positive("tokens", tokens)
        self.vocabulary = Strings.of(vocabulary)
        self.tokens, self.seen = tokens, 0
        self._index: dict[str, int] | None = None
        priors_of_words = np.full(len(self.vocabulary), float(beta))
        self._learner = Learner(
            topics,
            len(self.vocabulary),
            options.alpha_vector()[None, :],
            priors_of_words,
            rate or Rate(),
            Threads(threads),
        )
        self._key = streams.key(seed, 0, streams.START)
        self._options = options

    def partial_fit(self, corpus: Corpus) -> StochasticLDA:
        """Learn from these documents. Words that are not in the vocabulary are left out."""
        words, offsets = self._known(corpus)
        if not len(words):
            return self
        self.seen += len(words)
        total = float(self.tokens) if self.tokens is not None else float(self.seen)
        learner = self._learner
        if learner.step == 0:
            # As if the corpus were like its beginning, with a token more of every word.
            frequencies = np.bincount(words, minlength=len(self.vocabulary)) + 1.0
            learner.start(frequencies * (total / frequencies.sum()), self._key)
        learner.learn(learner.assign(words, offsets, np.zeros(0, np.uint32)), total)
        return self

    def _known(self, corpus: Corpus) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        mine, theirs = self.vocabulary, corpus.vocabulary
        if len(mine) == len(theirs) and list(mine) == list(theirs):
            return corpus.words, corpus.offsets
        if self._index is None:
            self._index = {word: number for number, word in enumerate(mine)}
        numbers = np.array([self._index.get(word, -1) for word in theirs], np.int64)[corpus.words]
        kept = numbers >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[corpus.offsets]
        return numbers[kept].astype(np.uint32), ends.astype(np.int64)

    def model(self) -> Model:
        """What has been learnt so far."""
        if self._learner.step == 0:
            raise InputError("nothing has been learnt yet: call partial_fit with documents first")
        model = learner_model(self._learner, self.vocabulary)
        options = replace(self._options, sampler="scvb0").to_meta()
        model.meta = {"options": options, "sampler": "scvb0", "seed": self._options.seed, "tokens": self.seen}
        model.meta |= {"iterations": self._learner.step, "estimator": {"theta": "cgsp", "phi": "expected counts"}}
        return model
