"""How `train-topics` trains: the one place of these commands that knows topicx's chains, options and states.

MALLET's terms: a random start, collapsed Gibbs sampling, Σα and β as given, and from a burn-in on every N sweeps new
priors by MALLET's rules (`MalletPriors`). The random numbers are topicx's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from topicx.cli.mallet.instances import JAVA, Instances, java_refused
from topicx.corpus.formats.input_bytes import Source
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.estimate import estimate
from topicx.files import container
from topicx.interop import read_state
from topicx.model import Model
from topicx.sampling import random_streams
from topicx.sampling.chain import Chain
from topicx.sampling.joint_likelihood import joint_log_likelihood
from topicx.sampling.method import Update
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Event, Interrupted
from topicx.sampling.updates.prior_fixed_points import round_to_float32
from topicx.state import Csr, State
from topicx.strings import Strings

SHAPE, SCALE = 1.001, 1.0
"""The Gamma prior of each α."""
ROUNDS = 200
SMALLEST = 1e-6


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
    """Sweeps from one time that α and β are learnt to the next (0: never),"""
    optimize_burn_in: int
    """and before the first."""
    symmetric_alpha: bool
    icm: int
    """Last sweeps, in which each token takes its best topic."""
    threads: int


# -- states --------------------------------------------------------------------------------------------------------


def first_state(instances: Instances, settings: MalletSettings) -> State:
    """Every token in a random topic, under the given priors."""
    corpus = instances.corpus
    draw = random_streams.make_generator(settings.seed, 0, random_streams.START)
    z = draw.integers(0, settings.topics, corpus.n_tokens, dtype=np.uint16)
    alpha = np.full(settings.topics, settings.alpha_sum / settings.topics)
    return _state(instances, z, alpha, settings.beta)


def _state(instances: Instances, z: NDArray[np.uint16], alpha: NDArray[np.float64], beta: float) -> State:
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
            return _state(instances, found.z, found.alpha[0], float(found.beta[0]))
        wrong = np.flatnonzero(found.words == differing[0])
    at = int(wrong[0])
    document = int(np.searchsorted(corpus.offsets, at, side="right")) - 1
    theirs, ours = found.vocabulary[int(found.words[at])], corpus.vocabulary[int(corpus.words[at])]
    raise InputError(
        f"{path}: instance list and state do not match: token {at - int(corpus.offsets[document])} of document "
        f"{document} is {theirs!r} in the state and {ours!r} in the instances"
    )


def log_likelihood(state: State) -> float:
    """The joint log-likelihood per token."""
    if not state.n_tokens:
        return 0.0
    return joint_log_likelihood(
        state.z, state.offsets, state.word_topics(), state.topic_totals(), state.alpha, state.groups, state.beta,
        state.seeds,
    )  # fmt: skip


# -- priors --------------------------------------------------------------------------------------------------------


@dataclass
class MalletPriors:
    """New priors after every `interval` sweeps beyond the burn-in, as MALLET finds them.

    α: one round of the fixed point on the histograms of n_dk under a Gamma prior; with `symmetric` Σα by 200 rounds.
    β, the same for all words: 200 rounds. MALLET adds up the histograms of all sweeps since the last time; here those
    of the present sweep stand for as many, so that nothing has to be remembered between sweeps.
    """

    interval: int
    burn_in: int
    symmetric: bool
    told: Callable[[float, bool], None]
    """Called with the new β, and whether α had to be set back."""
    name: str = "mallet-priors"

    # -- as the model of a chain: nothing but these updates

    def needs(self, options: Options) -> frozenset[str]:
        return frozenset()

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        return [self]

    # -- as an update

    def due(self, sweep: int) -> bool:
        return self.interval > 0 and sweep > self.burn_in and sweep % self.interval == 0

    def __call__(self, method: Any, key: int) -> dict[str, float]:
        state = method.state
        alpha, stable = state.alpha[0], True
        if self.symmetric:
            total = _symmetric_alpha(method.document_topics(), float(alpha.sum()), state.n_topics)
            alpha = np.full(state.n_topics, total / state.n_topics)
        else:
            alpha = one_round(method.document_topics(), alpha, self.interval)
            stable = bool(np.all(np.isfinite(alpha)) and np.all(alpha > 0))
            if not stable:  # known of very small corpora
                alpha = np.ones(state.n_topics)
        beta = learn_beta(method.word_topics(), float(state.beta[0]), state.n_words, state.n_topics)
        new = np.maximum(round_to_float32(alpha), SMALLEST)
        method.set_priors(new[None, :], np.full(state.n_words, max(float(round_to_float32(np.array(beta))), SMALLEST)))
        self.told(float(method.state.beta[0]), not stable)
        return {}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """There is nothing to remember."""


def one_round(counts: Csr, alpha: NDArray[np.float64], times: int) -> NDArray[np.float64]:
    """α_k (times · g_k + shape) / (times · h - 1 / scale), with g_k and h the sums of digammas' differences over the
    documents' n_dk and N_d: Minka's fixed point (2000, eq. 55) with the Gamma prior as MALLET has it."""
    indptr, topics, values = counts
    running = np.concatenate([[0], np.cumsum(values)])
    lengths = running[indptr[1:]] - running[indptr[:-1]]
    gain = np.bincount(topics, digamma(values + alpha[topics]) - digamma(alpha[topics]), len(alpha))
    total = float(alpha.sum())
    cost = float(np.sum(digamma(lengths + total) - digamma(total)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(alpha * (gain * times + SHAPE) / (cost * times - 1 / SCALE))


def _symmetric_alpha(counts: Csr, total: float, topics: int) -> float:
    indptr, _, values = counts
    running = np.concatenate([[0], np.cumsum(values)])
    return concentration(values, running[indptr[1:]] - running[indptr[:-1]], topics, total)


def learn_beta(counts: Csr, beta: float, words: int, topics: int) -> float:
    """β from n_kw and n_k."""
    _, column, values = counts
    totals = np.bincount(column, values, topics).astype(np.int64)
    return concentration(values, totals, words, beta * words) / words


def concentration(values: NDArray[Any], lengths: NDArray[Any], size: int, total: float) -> float:
    """The sum of a symmetric Dirichlet's parameters, by 200 rounds of Minka's fixed point."""
    count, times = np.unique(values[values > 0], return_counts=True)
    length, length_times = np.unique(lengths[lengths > 0], return_counts=True)
    for _ in range(ROUNDS):
        one = total / size
        gain = float(np.sum(times * (digamma(count + one) - digamma(one))))
        cost = float(np.sum(length_times * (digamma(length + total) - digamma(total))))
        if not (gain > 0 and cost > 0):
            break
        total = one * gain / cost
    return total


# -- a run ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Swept:
    """What a run tells after a sweep."""

    kind: str
    """sweep or icm."""
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
        self.chain = Chain(state, options, self.engine, MalletPriors(interval, burn_in, settings.symmetric_alpha, told))

    def state(self) -> State:
        """The state as it is now."""
        return self.chain.method.sync() if self.chain.position else self.start

    def go(self, listen: Callable[[Swept], None], stop: Callable[[], bool]) -> bool:
        """Run to the end; False: it was asked to stop."""
        tokens = self.start.n_tokens

        def heard(event: Event) -> None:
            icm = event.step.kind == "icm"
            score = self.chain.method.score() if icm else event.score
            changed = round(event.figures.get("changed", 0.0) * tokens)
            sweep = event.step.sweep - (self.settings.iterations if icm else 0)
            listen(Swept(event.step.kind, sweep, changed, float("nan") if score is None else score))

        with self.engine:
            try:
                self.chain.run([heard], None, stop)
            except Interrupted:
                return False
        return True


# -- models --------------------------------------------------------------------------------------------------------


def save_model(path: str, state: State, instances: Instances, settings: MalletSettings) -> None:
    """--output-model: a state file of topicx's, with what the instances hold beside the tokens."""
    from topicx.cli.mallet.instances import GAPS, SOURCE

    columns = {name: instances.corpus.columns[name] for name in (SOURCE, GAPS) if name in instances.corpus.columns}
    beside: dict[str, NDArray[Any]] = {}
    for name, column in columns.items():
        assert isinstance(column, Strings)
        beside |= column.arrays(name)
    about = {"form": instances.form, "columns": sorted(columns), "seed": settings.seed}
    replace(state, extra=beside, meta=dict(state.meta) | {"mallet": about}).save(path)


def load_model(path: str) -> tuple[State, Instances]:
    """What --output-model wrote (or any state file of topicx's): the state, and its instances."""
    from topicx.corpus.corpus import Corpus

    _refuse_java(path, "train-topics --output-model")
    state = State.load(path)
    if state.paths > 1:
        raise InputError(f"{path}: has {state.paths} paths, and MALLET's states one (topicx export --path)")
    about = state.meta.get("mallet") or {}
    columns: dict[str, Any] = {name: Strings.from_arrays(state.extra, name) for name in about.get("columns", ())}
    corpus = Corpus(
        words=state.words, offsets=state.offsets, vocabulary=state.vocabulary, ids=state.ids, columns=columns,
        meta={name: value for name, value in state.meta.items() if name == "tokenizer"},
    )  # fmt: skip
    return state, Instances(corpus, about.get("form", "sequence"))


def save_topics(path: str, state: State, settings: MalletSettings) -> None:
    """--inferencer-filename and --evaluator-filename: a model file of topicx's, φ by the counts."""
    if not state.n_tokens:
        raise InputError(f"{path}: there are no tokens, so there are no topics to write")
    model = estimate(state, theta="cgs", phi="cgs", examples=0)
    model.meta = dict(model.meta) | {"mallet": {"seed": settings.seed}}
    model.parents = dict(state.parents)
    model.save(path)


def load_topics(path: str) -> Model:
    """Topics to infer with: a model file, or the state of an --output-model."""
    _refuse_java(path, "train-topics --inferencer-filename")
    if container.kind_of(path) != "state":
        return Model.load(path)
    state = State.load(path)
    model = estimate(state, theta="cgs", phi="cgs", examples=0)
    model.meta = dict(model.meta) | {"mallet": state.meta.get("mallet", {})}
    return model


def _refuse_java(path: str, maker: str) -> None:
    with Source(path) as source:
        if source.peek(4) == JAVA:
            raise InputError(java_refused(path, maker))


def more_sweeps(settings: MalletSettings, state: State, **changes: Any) -> MalletSettings:
    """The settings of a run that goes on from a state: its topics and priors stand."""
    alpha, beta = float(state.alpha[0].sum()), float(state.beta[0])
    return replace(settings, topics=state.n_topics, alpha_sum=alpha, beta=beta, **changes)
