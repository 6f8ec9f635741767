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
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import pairs, soft
from topicx.corpus.corpus import Corpus
from topicx.corpus.corpus_on_disk import StoredCorpus
from topicx.declare import check_positive
from topicx.engines.threads import Engine, Threads
from topicx.errors import InputError
from topicx.files.array_sizes import PADDED, PRIOR_GROUPS, TOPICS, WORDS
from topicx.files.schema import Array, require_consistent
from topicx.model import Model
from topicx.sampling import random_streams
from topicx.sampling.method import Method
from topicx.sampling.run_options import USUAL, Options
from topicx.sampling.sweep_loop import Interrupted, Step, Stop, Trace, Training, never_stop
from topicx.sampling.updates import prior_fixed_points
from topicx.sampling.updates.prior_fixed_points import DocumentStatistics
from topicx.state import NONE, Csr, State
from topicx.strings import Strings
from topicx.variational.expected_statistics import ExpectedWords, Observed
from topicx.variational.minibatches import InMemory, Learner, Loop, OnDisk, Rate
from topicx.variational.soft_method import Rows, dense_csr


class Scvb0(Method):
    """SCVB0 over the documents of a state: a sweep is one pass over all of them, or over a share, others each time."""

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
            whole = state.n_tokens / np.count_nonzero(state.z != NONE)  # the placed stand for all
            self.learner.nw[words, topics] = counts * whole
            self.learner.totals = soft.column_sums(self.learner.nw, state.n_topics)
            return
        frequencies = np.bincount(state.words, minlength=state.n_words)
        self.learner.start(frequencies, random_streams.stream_key(options.seed, options.chain, random_streams.START))

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        self.loop.sweep(step, parts=round(1 / share))
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
            Array("nw", "float32", (WORDS, PADDED), low=-1, high=most),
            Array("totals", "float64", TOPICS, low=-1, high=most),
            Array("numbers", "float64", 4, low=-1e18, high=1e18),
            Array("gain", "float64", (PRIOR_GROUPS, TOPICS), low=-1e18, high=1e18),
            Array("cost", "float64", PRIOR_GROUPS, low=-1e18, high=1e18),
        )

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        learner, loop = self.learner, self.loop
        learner.nw, learner.totals = arrays["nw"].copy(), arrays["totals"].copy()
        loop.gain, loop.cost = arrays["gain"].copy(), arrays["cost"].copy()
        scale, step, fit, done = arrays["numbers"].tolist()
        require_consistent(1e-7 <= scale <= 1, f"a scale of {scale:g}")
        require_consistent(min(step, done) >= 0, f"{step:g} batches in {done:g} sweeps")
        learner.scale, learner.step, loop.fit, loop.done = scale, int(step), fit, int(done)

    def sync(self) -> State:
        state = self.state
        topics = [batch.keep[:, : state.n_topics].argmax(axis=1).astype(np.uint16) for batch in self.loop.assignments()]
        of_pair = np.concatenate(topics) if topics else np.zeros(0, np.uint16)
        z = np.empty(state.n_tokens, np.uint16)
        pairs.spread_to_tokens(state.words, state.offsets, np.zeros(state.n_words, np.int64), of_pair, z)
        state.z = z
        return state


class Passes(Training):
    """SCVB0 over a corpus that stays on disk: a step is a pass over the file."""

    def __init__(
        self, corpus: StoredCorpus, options: Options, engine: Engine, each: Callable[[int, int, float], None]
    ) -> None:
        self.options, self.each = options, each
        alpha, beta = options.alpha_vector()[None, :], np.full(len(corpus.vocabulary), float(options.beta))
        self.learner = Learner(options.topics, len(corpus.vocabulary), alpha, beta, Rate.of(options), engine)
        self.learner.start(
            corpus.word_frequencies, random_streams.stream_key(options.seed, options.chain, random_streams.START)
        )
        self.loop = Loop(OnDisk(corpus), np.zeros(0, np.uint32), options, self.learner)
        self.trace = Trace({name: [] for name in ("sweep", "score", "alpha_sum", "beta", "rate")})

    @property
    def total(self) -> int:
        return int(self.options.iterations)

    def begin(self) -> None:
        pass  # the learner has begun

    def advance(self, most: int) -> tuple[Step, dict[str, float]]:
        number, seen = self.position + 1, 0

        def told(documents: int) -> None:
            nonlocal seen
            seen += documents
            self.each(number, seen, self.loop.fit)

        self.loop.sweep(self.position, told)
        figures = {"rate": self.learner.rate.at(self.learner.step)}
        if self.options.optimize_interval and number > self.options.optimize_burn_in:
            _learn_priors(self.loop, number)
        self.position = number
        return Step("sweep", 1.0, number), figures

    def record(self, step: Step, figures: dict[str, float], last: bool) -> float | None:
        if not last and step.sweep % self.options.trace_interval:
            return None
        learner, score = self.learner, self.loop.fit / max(self.loop.source.n_tokens, 1)
        row = {"sweep": float(step.sweep), "score": score, "alpha_sum": float(learner.alpha.sum(axis=1).mean())}
        self.trace.add(row | {"beta": float(learner.beta.mean())} | figures)
        return score


def train_file(
    path: str | os.PathLike[str],
    options: Options,
    engine: Engine | None = None,
    each: Callable[[int, int, float], None] = lambda sweep, documents, fit: None,
    stop: Stop = never_stop,
) -> Model:
    """Train on a corpus file that need not fit in memory, by SCVB0.

    The result is that of the sampler scvb0 with these options on the same corpus.

    Parameters
    ----------
    path : str or path
        A corpus file.
    options : Options
        Options of the run; `iterations` is the number of passes over the file.
    engine : Engine, optional
        What runs work in parallel. By default all cores.
    each : callable, optional
        Called with the pass, the documents seen in it, and the objective so far.
    stop : callable, optional
        Asked after each pass; the model is then that of the passes done.

    Returns
    -------
    Model
        The trained model.
    """
    options = options.of_given_sweeps()
    with StoredCorpus.open(path) as corpus:
        passes = Passes(corpus, options, engine or Threads(), each)
        try:
            passes.run(stop=stop)
        except Interrupted:
            if passes.trace.last != passes.position:
                rate = passes.learner.rate.at(passes.learner.step)
                passes.record(Step("sweep", 1.0, passes.position), {"rate": rate}, last=True)
        model = learner_model(passes.learner, corpus.vocabulary)
        model.trace = passes.trace.arrays()
        model.meta |= {"options": options.to_meta(), "sampler": "scvb0", "seed": options.seed}
        model.meta |= {"iterations": options.iterations, "tokens": corpus.n_tokens, "documents": corpus.n_documents}
        model.meta |= {
            "tokenizer": corpus.meta.get("tokenizer"),
            "estimator": {"theta": "cgsp", "phi": "expected counts"},
        }
        if passes.position < passes.total:
            model.meta["stopped_after"] = passes.position
        model.parents = {"corpus": corpus.digest}
        return model


def _learn_priors(loop: Loop, sweep: int) -> None:
    options, learner = loop.options, loop.learner
    if sweep % options.optimize_interval:
        return
    what = set(options.optimize.split("+"))
    alpha, beta = learner.alpha, learner.beta
    if what & {"alpha", "symmetric-alpha"}:
        alpha = prior_fixed_points.round_to_float32(
            prior_fixed_points.learn_alpha(Observed(loop.gain, loop.cost), alpha, "symmetric-alpha" in what)
        )
    if "beta" in what:
        words = ExpectedWords(learner.counts, learner.totals, beta)
        beta = prior_fixed_points.round_to_float32(prior_fixed_points.learn_beta(words, beta, learner.seeds))
    learner.set_priors(alpha, beta)


def learner_model(learner: Learner, vocabulary: Strings) -> Model:
    """The learner's counts and priors as a model."""
    indptr, topics, values = dense_csr(learner.counts, learner.topics)
    return Model(
        vocabulary=vocabulary, alpha=learner.alpha.copy(), beta=learner.beta.copy(), indptr=indptr, topics=topics,
        values=values,
    )  # fmt: skip


class StochasticLDA:
    """Train topics piece by piece with SCVB0: each call of `partial_fit` is one minibatch.

    Parameters
    ----------
    topics : int
        Number of topics.
    vocabulary : sequence of str
        All words that documents may have.
    tokens : float, optional
        Number of tokens that there will be in all: counts are scaled to it. By default the tokens seen so far.
    alpha : float or sequence of float, default 0.1
        Prior of each topic in a document.
    beta : float, default 0.01
        Prior of each word in a topic.
    rate : Rate, optional
        Learning rate.
    seed : int, default 1
        Seed of all random numbers.
    threads : int, default 0
        Threads; 0: all cores. No result depends on it.
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
        options = Options(topics=topics, iterations=USUAL["iterations"], alpha=alpha, beta=beta, seed=seed)
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
        self._key = random_streams.stream_key(seed, 0, random_streams.START)
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
