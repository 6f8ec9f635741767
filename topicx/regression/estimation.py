"""Effects of what documents have on their topics: documents swept with the topics held, under a prior that knows the
formula's columns; a regression of E[θ] for each draw; the draws pooled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.common_methods import Summarized
from topicx.design.design import Design
from topicx.design.formula import Formula
from topicx.engines.memory_limits import told_size
from topicx.engines.threads import Engine, engine_of
from topicx.errors import InputError
from topicx.estimate.topic_alignment import align_topics
from topicx.model import Model
from topicx.predict.topic_rows import FixedTopics
from topicx.regression.arrangement import Arranged, Bag, arrange_documents
from topicx.regression.correlations import (
    correlation_variances,
    mean_shares,
    prior_correlations,
    share_correlations,
)
from topicx.regression.drawn_priors import LogLinearPrior
from topicx.regression.regressions import Basis, Regressions
from topicx.regression.topic_chain import Draw, TopicChain
from topicx.sampling import random_streams

Floats = NDArray[np.float64]

DRAW_ARRAYS, GROUP_ARRAYS, TOPIC_ARRAYS, TOKEN_BYTES = 3, 10, 8, 24
"""What is held at once: arrays of draws × topics × columns², of groups × topics and of topics × columns²; and the bytes
of a word: its id, its topic, and its part of the counts."""
COSTLY, TOKEN_WORK, SELDOM = 5e7, 10, 4
"""Groups × topics × columns² from which on a draw of λ takes a fifth of a second; how many of them take the time of a
token's sweep; and the sweeps between draws at most."""
FAMILIES, WEIGHTS, UNCERTAINTIES = ("linear", "logit"), ("documents", "tokens"), ("local", "global", "none")


@dataclass(frozen=True)
class EffectSettings:
    """How effects are estimated."""

    family: str = "linear"
    se: str = "robust"
    """Standard errors: robust, classical, or cluster:COLUMN."""
    weights: str = "documents"
    """What documents are weighted by: documents, tokens, or a column."""
    draws: int = 20
    lag: int = 8
    """Sweeps between draws."""
    burn_in: int = 80
    uncertainty: str = "local"
    missing: str = "drop"
    groups_max: int = 20_000
    seed: int = 1
    correlations: bool = False
    """Whether correlations of topics are kept, too: topics × topics for each draw."""

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise InputError(f"family: {self.family!r} must be linear or logit")
        if self.se not in ("robust", "classical") and not self.se.startswith("cluster:"):
            raise InputError(f"se: {self.se!r} must be robust, classical or cluster:COLUMN")
        if self.se == "classical" and (self.weights != "documents" or self.family != "linear"):
            raise InputError("se: classical errors are for linear fits in which documents weigh alike; take robust")
        if self.uncertainty not in UNCERTAINTIES:
            raise InputError(f"uncertainty: {self.uncertainty!r} must be local, global or none")
        if self.missing not in ("drop", "refuse"):
            raise InputError(f"missing: {self.missing!r} must be drop or refuse")
        for name, least in (("draws", 2), ("lag", 1), ("burn_in", 1), ("groups_max", 2)):
            if getattr(self, name) < least:
                raise InputError(f"{name}: {getattr(self, name)} must be at least {least}")

    @property
    def cluster(self) -> str | None:
        return self.se.removeprefix("cluster:") if self.se.startswith("cluster:") else None


@dataclass
class Correlations:
    """Topics × topics, draw after draw."""

    shares: list[Floats] = field(default_factory=list)
    """Correlations of θ over documents."""
    priors: list[Floats] = field(default_factory=list)
    """Correlations of x·λ over documents."""
    variances: list[Floats] = field(default_factory=list)
    """Variances of `shares` with other documents: one for each model."""

    def add(self, draw: Draw, mine: Arranged, order: NDArray[np.int64]) -> None:
        """Those of one draw, in the first model's order of topics."""
        pairs = np.ix_(order, order)
        self.shares.append(share_correlations(draw.counts, draw.alpha, mine.groups, mine.lengths)[pairs])
        self.priors.append(prior_correlations(draw.alpha, mine.groups)[pairs])

    def add_variances(self, draw: Draw, mine: Arranged, order: NDArray[np.int64]) -> None:
        """What they would vary with other documents."""
        means = mean_shares(draw.counts, draw.alpha, mine.groups, mine.lengths)
        found = correlation_variances(means) * (len(means) / len(mine.lengths))
        self.variances.append(found[np.ix_(order, order)])


@dataclass(frozen=True, repr=False)
class EffectDraws(Summarized):
    """The fits of all draws, in orthogonal columns (`Basis`)."""

    coefficients: Floats
    """Coefficients: draws × topics × columns."""
    variances: Floats
    """Variances, draws × topics × columns × columns: with other documents and other θ, given the words' topics."""
    shaped: Floats
    """Mean over draws of such variances if residuals' variances go with the shares (`Fit.shaped`)."""
    regressions: Regressions
    arranged: Arranged
    models: int
    """Draws come from so many models, one after another."""
    accepted: float
    """The share of proposals of λ that were accepted."""
    prior_weight: float
    """Mean Σα over documents."""
    correlations: Correlations | None = None

    @property
    def freedom(self) -> float:
        return self.regressions.freedom


def draw_effects(
    models: Sequence[Model],
    bag: Bag,
    formula: str | Formula | Design,
    settings: EffectSettings,
    threads: int | Engine = 0,
) -> EffectDraws:
    """Fits of draws of these models' topics, all in the order of the first model's."""
    if settings.uncertainty == "global" and len(models) < 2:
        raise InputError("uncertainty: global needs several models or states of the same documents")
    if settings.uncertainty != "global" and len(models) > 1:
        raise InputError("uncertainty: several models are for global")
    arranged = _arrange(models[0], bag, formula, settings)
    engine = engine_of(threads)
    with np.errstate(over="ignore", invalid="ignore"):
        basis = arranged.basis()
    _check_sizes(arranged, basis, settings)
    _check_memory(arranged, basis, models, settings, engine)
    errors = "cluster" if settings.cluster else settings.se
    regressions = Regressions(basis, arranged.cells, settings.family, errors)
    values, variances, accepted, weight = [], [], [], 0.0
    shaped: Floats = np.zeros(1)
    correlations = Correlations() if settings.correlations else None
    for number, model in enumerate(models):
        mine = arranged if number == 0 else _arrange(model, bag, formula, settings)
        if not np.array_equal(mine.order, arranged.order):
            raise InputError("uncertainty: the models know words of different documents: give models of one corpus")
        order = np.arange(model.n_topics) if number == 0 else _matched(models[0], model)
        seed = random_streams.stream_key(settings.seed, number) if number else settings.seed
        fixed = FixedTopics(model)
        prior = LogLinearPrior(mine.prior_rows, np.log(fixed.alpha.mean(axis=0)))
        chain = TopicChain(
            fixed,
            mine.words,
            mine.offsets,
            prior,
            mine.groups,
            engine,
            seed,
            settings.uncertainty != "none",
            _sweeps_a_prior(mine, model.n_topics),
        )
        for draw in chain.run(settings.burn_in, settings.draws, settings.lag):

            def sums(draw: Any = draw, mine: Arranged = mine) -> Any:
                return mine.cells.sums(draw.counts, draw.alpha, mine.groups, mine.lengths)

            fit = regressions.fit(sums)
            more = 0 if settings.uncertainty == "none" else fit.within
            values.append(fit.coefficients[order])
            variances.append((fit.sampling + more)[order])
            shaped = shaped + (fit.shaped + more)[order]
            if correlations is not None:
                correlations.add(draw, mine, order)
        if correlations is not None:
            correlations.add_variances(draw, mine, order)
        accepted += chain.accepted
        weight = float(chain.alpha.sum(axis=1)[mine.groups].mean())
    means = np.stack(values)
    if settings.uncertainty == "none":
        means = np.broadcast_to(means.mean(axis=0), means.shape)
    return EffectDraws(
        means, np.stack(variances), shaped / len(means), regressions, arranged, len(models),
        float(np.mean(accepted or [1.0])), weight, correlations,
    )  # fmt: skip


def _arrange(model: Model, bag: Bag, formula: str | Formula | Design, settings: EffectSettings) -> Arranged:
    return arrange_documents(
        model, bag, formula, cluster=settings.cluster, weights=settings.weights, missing=settings.missing,
        groups_max=settings.groups_max,
    )  # fmt: skip


def _check_sizes(arranged: Arranged, basis: Basis, settings: EffectSettings) -> None:
    columns, documents = basis.rows.shape[1], arranged.cells.documents
    if documents <= columns:
        raise InputError(
            f"documents: {documents:,} are too few for {columns:,} column{'s' * (columns != 1)} of the design"
        )
    if not np.isfinite(basis.back).all():
        raise InputError(f"formula: its {columns:,} columns are too nearly sums of each other: take fewer")
    if settings.cluster is not None and arranged.cells.clusters[-1] < 1:
        raise InputError(f"se: all documents have one value of {settings.cluster!r}: clusters need two at least")


def _check_memory(
    arranged: Arranged, basis: Basis, models: Sequence[Model], settings: EffectSettings, engine: Engine
) -> None:
    """InputError, before the work, where its arrays have no room."""
    topics, columns = models[0].n_topics, basis.rows.shape[1]
    draws = len(models) * settings.draws * topics * columns**2
    priors = GROUP_ARRAYS * len(arranged.prior_rows) * topics + TOPIC_ARRAYS * topics * columns**2
    pairs = 2 * len(models) * settings.draws * topics**2 if settings.correlations else 0
    words = TOKEN_BYTES * len(arranged.words)
    needed, room = 8 * (DRAW_ARRAYS * draws + priors + pairs) + words, engine.room()
    if needed > room:
        largest = "draws, topics or columns" if DRAW_ARRAYS * draws > priors else "--groups-max or topics"
        raise InputError(
            f"memory: effects take about {told_size(needed)}, and may take {told_size(max(room, 0))}: fewer {largest}, "
            "or more memory"
        )


def _sweeps_a_prior(arranged: Arranged, topics: int) -> int:
    """Sweeps between draws of λ: one, unless groups and columns are so many that its draw takes longer than sweeps."""
    groups, columns = arranged.prior_rows.shape
    work = float(groups) * topics * columns**2
    return 1 if work < COSTLY else min(max(round(work / (TOKEN_WORK * max(len(arranged.words), 1))), 1), SELDOM)


def _matched(first: Model, other: Model) -> NDArray[np.int64]:
    """The other model's topic for each of the first's."""
    if first.n_topics != other.n_topics:
        raise InputError(f"uncertainty: models of {first.n_topics} and of {other.n_topics} topics cannot be compared")
    return np.array([pair.b for pair in align_topics(first, other) if pair.a is not None], np.int64)
