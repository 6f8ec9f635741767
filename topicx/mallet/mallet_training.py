"""How `train-topics` trains: MALLET's terms, said in those of topicx's runs, options and states.

MALLET's terms: a random start, collapsed Gibbs sampling, Σα and β as given, and from a burn-in on every N sweeps new
priors by MALLET's rules (`MalletPriors`). The random numbers are topicx's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.interop import read_state
from topicx.mallet.instance_lists import Instances
from topicx.mallet.mallet_priors import MalletLDA, MalletPriors
from topicx.run import Run
from topicx.sampling import random_streams
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Event, Interrupted
from topicx.state import State


@dataclass(frozen=True)
class MalletSettings:
    """What train-topics' options say of training."""

    topics: int
    iterations: int
    alpha_sum: float
    """Σα over all topics, at first alike."""
    beta: float
    """β of each word."""
    seed: int
    optimize_interval: int
    """Sweeps from one time that α and β are learnt to the next (0: never)."""
    optimize_burn_in: int
    """Sweeps before α and β are learnt for the first time."""
    symmetric_alpha: bool
    icm: int
    """Last sweeps, in which each token takes its best topic."""
    threads: int


def continued_settings(settings: MalletSettings, state: State) -> MalletSettings:
    """The settings of a run that goes on from a state: its topics and priors stand."""
    alpha, beta = float(state.alpha[0].sum()), float(state.beta[0])
    return replace(settings, topics=state.n_topics, alpha_sum=alpha, beta=beta)


# -- states --------------------------------------------------------------------------------------------------------


def random_state(instances: Instances, settings: MalletSettings) -> State:
    """Every token in a random topic, under the given priors."""
    corpus = instances.corpus
    draw = random_streams.make_generator(settings.seed, 0, random_streams.START)
    z = draw.integers(0, settings.topics, corpus.n_tokens, dtype=np.uint16)
    alpha = np.full(settings.topics, settings.alpha_sum / settings.topics)
    return _make_state(instances, z, alpha, settings.beta)


def _make_state(instances: Instances, z: NDArray[np.uint16], alpha: NDArray[np.float64], beta: float) -> State:
    corpus = instances.corpus
    if not corpus.n_words:
        raise InputError("the instances have no words: there is nothing to learn from")
    tokenizer = {name: corpus.meta[name] for name in ("tokenizer",) if corpus.meta.get(name)}
    return State(
        words=corpus.words, offsets=corpus.offsets, z=z, alpha=alpha[None, :], beta=np.full(corpus.n_words, beta),
        vocabulary=corpus.vocabulary, ids=corpus.ids, meta=tokenizer,
        parents={"corpus": corpus.digest} if corpus.digest else {},
    )  # fmt: skip


def state_from_file(path: str, instances: Instances) -> State:
    """The topics of a state file (--input-state) for these instances, which have to be the same tokens."""
    found = read_state(path)
    corpus = instances.corpus
    used = np.flatnonzero(corpus.word_frequencies)
    if found.n_tokens != corpus.n_tokens:
        raise InputError(
            f"{path}: instance list and state do not match: the state has {found.n_tokens:,} tokens, the instances "
            f"{corpus.n_tokens:,}"
        )
    number = np.searchsorted(used, corpus.words)
    wrong = np.flatnonzero(found.words != number) if len(used) == found.n_words else np.zeros(1, np.int64)
    last = found.n_documents
    offsets = np.concatenate([found.offsets, np.full(max(corpus.n_documents - last, 0), found.n_tokens)])
    if not np.array_equal(offsets, corpus.offsets):
        wrong = np.zeros(1, np.int64)
        at = int(np.argmax(offsets[: len(corpus.offsets)] != corpus.offsets[: len(offsets)])) - 1
        raise InputError(f"{path}: instance list and state do not match: document {at} has other tokens")
    if not len(wrong):
        words = [corpus.vocabulary[int(w)] for w in used]
        differing = [at for at, (a, b) in enumerate(zip(words, found.vocabulary)) if a != b]
        if not differing:
            return _make_state(instances, found.z, found.alpha[0], float(found.beta[0]))
        wrong = np.flatnonzero(found.words == differing[0])
    at = int(wrong[0])
    document = int(np.searchsorted(corpus.offsets, at, side="right")) - 1
    theirs, ours = found.vocabulary[int(found.words[at])], corpus.vocabulary[int(corpus.words[at])]
    raise InputError(
        f"{path}: instance list and state do not match: token {at - int(corpus.offsets[document])} of document "
        f"{document} is {theirs!r} in the state and {ours!r} in the instances"
    )


# -- a run -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Swept:
    """What a run tells after a sweep."""

    kind: str
    """Kind of the sweep: sweep or icm."""
    sweep: int
    changed: int
    """Tokens that got another topic."""
    score: float
    """The joint log-likelihood per token, where it was computed (icm: always), else NaN."""


class MalletTraining:
    """Sampling from a state on, with somebody listening."""

    def __init__(self, state: State, settings: MalletSettings, told: Callable[[float, bool], None]) -> None:
        self.settings = settings
        self.start = state
        options = Options(
            topics=state.n_topics, sampler="sparse", iterations=settings.iterations, seed=settings.seed,
            icm=settings.icm, alpha=state.alpha[0].tolist(), beta=float(state.beta[0]), trace_interval=10,
        )  # fmt: skip
        self.engine = Threads(settings.threads)
        interval, burn_in = settings.optimize_interval, settings.optimize_burn_in
        model = MalletLDA(MalletPriors(interval, burn_in, settings.symmetric_alpha, told))
        self.run = Run.from_state(state, options, self.engine, model)

    def state(self) -> State:
        """The state as it is now."""
        return self.run.chain.method.sync() if self.run.chain.position else self.start

    def go(self, listen: Callable[[Swept], None], stop: Callable[[], bool]) -> bool:
        """Run to the end; False: it was asked to stop."""
        tokens = self.start.n_tokens

        def heard(event: Event) -> None:
            icm = event.step.kind == "icm"
            score = self.run.chain.method.score() if icm else event.score
            changed = round(event.figures.get("changed", 0.0) * tokens)
            sweep = event.step.sweep - (self.settings.iterations if icm else 0)
            listen(Swept(event.step.kind, sweep, changed, float("nan") if score is None else score))

        with self.engine:
            try:
                self.run.train([heard], None, stop)
            except Interrupted:
                return False
        return True
