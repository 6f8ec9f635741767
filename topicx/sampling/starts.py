"""Where a chain begins: the start that `auto` means, by the corpus and the options alone, never by the machine.

A soft start finds expected counts first (CVB0, `topicx.variational`), draws every token's topic from its
probabilities, and goes on with exact Gibbs sampling: the same chain from a far better state (page "performance").
Its first sweeps are hot, where that helps: with a larger β, which cools to its own, topics leave what CVB0 settled on.
A hot start has them alone, from random topics: for corpora whose soft start would take too much room.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.sampling import random_streams, sampler_registry
from topicx.sampling.method import Method
from topicx.sampling.run_length import (
    AUTO_HOT_SWEEPS,
    AUTO_MANY_HOT_SWEEPS,
    AUTO_RARE_HOT_SWEEPS,
    AUTO_SOFT_SWEEPS,
    FEW_WORDS,
    MANY_TOPICS,
    SOFT_TOPICS,
)
from topicx.sampling.run_options import Options
from topicx.sampling.schedule import first_of, shard_bounds, shuffled_documents
from topicx.sampling.special_functions import exp, log
from topicx.state import NONE, State

GROWING_FROM = (1_000_000, 500, 10_000)
"""Tokens, tokens a document and tokens a topic on average, from which a growing start pays (page "performance")."""
DENSE = (60, 3)
"""Tokens of a word, and of a word and topic, on average, from which a run that ends by itself begins with a part of the
documents, where these are not long and there are at most `FEW_WORDS` words: for rare ones random topics are slow to
become better."""
THIN_DENSE = 0.5
"""Tokens of a word and topic from which, where there are fewer than that, it begins with a part of every document's
tokens; where documents are long it always does."""
THIN_TOKENS, THIN_LENGTH, LONG_SHARE = 4200, 100, 0.3
"""Tokens a topic in that part; tokens a document, on average, that it has at least; and the share of the tokens that it
is at most where documents are long."""
THIN_WORK, MOST_THIN = 40, 150
"""What the sweeps over it cost, in sweeps over all tokens; and how many there are at most."""
THIN_SOFT, THIN_LONG_SOFT = 10, 20
"""The sweeps of CVB0 after them; and where documents are long."""
SHORT, SHORT_UNEVEN = 140, 450
"""Tokens a document below which documents are short: on average over documents; and on average over tokens, of the
document that each is in."""
PART, PART_LENGTH = 0.75, 100
"""The share of the documents that the soft start of a run has which ends by itself; and the tokens a document, on
average, from which it has only these. Shorter ones say too little each."""
PART_SOFT, PART_HOT = 10, 5
"""The sweeps of CVB0 over that share; and how many of the hot ones are over it, before the other documents join."""
SCVB0_STEPS, AT_A_TIME = 12, 0.5
"""The steps of SCVB0 with which such a run begins where documents are short; and the share of them that each learns
from."""
FIRST_TOKENS, FIRST_SWEEPS, GROWTH_SWEEPS = 7500, 30, 20
"""Tokens a topic in that part; the sweeps over it; and those over each larger part."""
GROWTH_FACTOR, MOST_GROWN = 2.5, 0.6
"""How many times the one before a larger part is; and the share of the documents that no part goes beyond."""
SETTLING = 2
"""Sweeps over a part, or over all, that has just grown, in which no priors are learnt: new tokens are not settled."""
SOFT_SWEEPS, LONG_SWEEPS = 10, 40
"""The sweeps of CVB0 in a soft start; and where documents are long: there sampling gains less, and they gain more."""
HOT_SWEEPS, MANY_HOT_SWEEPS, MOST_HOT_SWEEPS = 20, 45, 200
"""The hot sweeps after them at least; where there are more topics than `SOFT_TOPICS`; and at most. Long documents need
none."""
COOLING = 20
"""The last hot sweeps of a run that ends by itself with so many topics that they begin divided: priors go over in them
from those of its beginning to those that are learnt meanwhile. Learnt ones are too cold before: few of so many topics
become large, and the others stay as they were divided (page "performance")."""
HELD_ALPHA, HELD_ALPHA_RARE = 30, 10
"""Σα of such a run before that; and with more words than `FEW_WORDS`."""
HOT_FROM_RANDOM = 40
"""The hot sweeps of a hot start at least, if there are so many iterations."""
SWEEPS_A_HOT = 10
"""For so many iterations there is a hot sweep: the slower β cools, the better the topics (page "performance")."""
HEAT, HEAT_SCVB0 = 0.3, 0.2
"""β of the first of them, in tokens of a word and topic, as they are on average; and after SCVB0 on short documents."""
FEW_TOPICS, FEW_SWEEPS = 100, 5
"""Topics and sweeps of a soft start where there are too many topics for it: each of them is then divided."""
LONG = 500
"""Tokens a document above which documents are long. Few topics that are divided do not pay there: a long document has
too many of the parts at once."""
SOFT_FROM = 50_000
"""Tokens from which `auto` makes a soft or a hot start: smaller corpora are done in a moment anyhow."""
MANY_SWEEPS, SCANT_TOPICS = 500, 50
"""Sweeps beyond which, for fewer topics than these, a soft start ends in a worse place (page "performance"). One of
SCVB0 makes so few less coherent."""
SOFT_ROOM = 2 << 30
"""Bytes that the assignments of a soft start may take."""


AlphaBeta = tuple[NDArray[np.float64], NDArray[np.float64]]
"""α of each group, and β of each word."""


def choose_start(state: State, options: Options, sampler: sampler_registry.Entry, needs: Iterable[str] = ()) -> str:
    """The start that `auto` means for this corpus, this method, and a model that needs this of its sampler."""
    if state.placed:
        return "state"  # assignments came with it
    if options.start == "soft":
        check_soft(state, needs, options.model)
    if options.start != "auto":
        return options.start
    if (
        sampler_registry.SOFTENS in sampler.capabilities
        and not set(needs)
        and state.paths == 1
        and hot_pays(state, options)
    ):
        grows = options.ends_itself and is_dense(state) and sampler_registry.GROWS in sampler.capabilities
        if grows and not begins_with_scvb0(state, options, "soft"):
            return "growing"
        return "soft" if soft_pays(state, options) else "hot"
    tokens, a_document, a_topic = GROWING_FROM
    pays = state.n_tokens >= max(tokens, a_document * state.n_documents, a_topic * state.n_topics)
    return "growing" if sampler_registry.GROWS in sampler.capabilities and pays else "random"


def growth_of(state: State) -> tuple[tuple[float, int], ...]:
    """The parts of the documents with which a run begins that ends by itself and grows, and the sweeps over each. Its
    first part has random topics. Priors are learnt from there on, which needs few documents and gives topics sizes of
    their own: they are more coherent than those of any other start (page "performance")."""
    share = min(FIRST_TOKENS * state.n_topics / max(state.n_tokens, 1), MOST_GROWN)
    parts = [(share, FIRST_SWEEPS)]
    while (share := GROWTH_FACTOR * share) <= MOST_GROWN:
        parts.append((share, GROWTH_SWEEPS))
    return tuple(parts)


def is_thinned(state: State, options: Options, start: str) -> bool:
    """Whether a soft start begins with sweeps over a part of every document's tokens: where words are seen often, but
    not as often as a growing start needs, and where documents are long."""
    if start != "soft" or not options.ends_itself or len(state.seeds) or begins_with_scvb0(state, options, start):
        return False
    if has_long_documents(state):
        return not has_many_topics(state, options) or has_room(state, state.n_topics)
    return is_dense(state, THIN_DENSE)


def thin_part(state: State) -> tuple[float, int]:
    """The share of the tokens that such a start begins with, and the sweeps over it."""
    most = LONG_SHARE if has_long_documents(state) else 1.0
    wanted = max(THIN_TOKENS * state.n_topics, THIN_LENGTH * state.n_documents)
    share = min(most, wanted / max(state.n_tokens, 1))
    return share, min(MOST_THIN, round(THIN_WORK / share))


def begins_with_scvb0(state: State, options: Options, start: str) -> bool:
    """Whether a soft start is steps of SCVB0, which stores no assignments: where documents are short."""
    if start != "soft" or not options.ends_itself or len(state.seeds):
        return False
    return state.n_topics >= SCANT_TOPICS and not has_many_topics(state, options) and has_short_documents(state)


def soft_part(state: State, options: Options, start: str) -> tuple[float, int]:
    """The share of the documents that a soft start has, and the hot sweeps over it alone. Without these, its steps have
    so many of them each, others every time."""
    if begins_with_scvb0(state, options, start):
        return AT_A_TIME, 0
    unfit = has_long_documents(state) or state.n_tokens < PART_LENGTH * state.n_documents
    if start != "soft" or not options.ends_itself or unfit or has_many_topics(state, options) or len(state.seeds):
        return 1.0, 0
    return (PART, PART_HOT) if hot_sweeps(state, options, start) else (1.0, 0)


def first_documents(state: State, options: Options, share: float) -> NDArray[np.bool_]:
    """Which documents a sampler sweeps first that sweeps this share of them."""
    from topicx.sampling.samplers.gibbs import levels_of  # whose documents are in this order

    first = np.zeros(state.n_documents, bool)
    partitions = levels_of(state, options).partitions
    bounds = shard_bounds(state.offsets, partitions)
    for shard in range(partitions):
        order = shuffled_documents(
            bounds[shard], bounds[shard + 1], state.lengths, options.seed, options.chain, shard
        )  # fmt: skip
        first[order[: first_of(order, share)]] = True
    return first


def place_first(state: State, options: Options, engine: Engine) -> None:
    """Random topics for the tokens of the documents with which a run begins that ends by itself and grows."""
    z = random_streams.random_topics(state.n_tokens, state.n_topics, options.seed, options.chain, engine.map)
    z[~np.repeat(first_documents(state, options, growth_of(state)[0][0]), state.lengths)] = NONE
    state.z = z


def soft_method(state: State, topics: int, scvb0: bool = False) -> type[Method]:
    """What makes soft sweeps that have so many topics; `scvb0`: for short documents."""
    if scvb0:
        from topicx.variational.first_passes import FirstPasses

        return FirstPasses
    if topics < state.n_topics:
        from topicx.variational.divided_start import Divided

        return Divided
    from topicx.variational.soft_start import Opening

    return Opening


def soft_topics(state: State, options: Options) -> int:
    """How many topics they have: all, or few that are divided."""
    whole = not has_many_topics(state, options) or is_thinned(state, options, "soft")
    return state.n_topics if whole else FEW_TOPICS


def soft_sweeps(state: State, options: Options) -> int:
    """How many there are."""
    if begins_with_scvb0(state, options, "soft"):
        return SCVB0_STEPS
    long = has_long_documents(state)
    if is_thinned(state, options, "soft"):
        return THIN_LONG_SOFT if long and not has_many_topics(state, options) else THIN_SOFT
    if has_many_topics(state, options):
        return FEW_SWEEPS
    if long:
        return LONG_SWEEPS
    if soft_part(state, options, "soft")[1]:
        return PART_SOFT
    return AUTO_SOFT_SWEEPS if options.ends_itself else SOFT_SWEEPS


def hot_sweeps(state: State, options: Options, start: str) -> int:
    """How many hot ones this start has."""
    if start not in ("soft", "hot") or (start == "soft" and has_long_documents(state)):
        return 0
    if is_thinned(state, options, start):
        return 0
    if holds_priors(state, options):
        return AUTO_RARE_HOT_SWEEPS if state.n_words > FEW_WORDS else AUTO_MANY_HOT_SWEEPS
    if _first_heat(state, state.beta, begins_with_scvb0(state, options, start)) <= 1:
        return 0
    if options.ends_itself:
        return AUTO_HOT_SWEEPS if start == "soft" else HOT_FROM_RANDOM
    iterations = int(options.iterations)
    least = MANY_HOT_SWEEPS if has_many_topics(state, options) else HOT_SWEEPS
    if start == "hot":
        least = min(HOT_FROM_RANDOM, iterations)
    return max(least, min(iterations // SWEEPS_A_HOT, MOST_HOT_SWEEPS))


def holds_priors(state: State, options: Options) -> bool:
    """Whether hot sweeps hold the priors of the beginning: where there are so many topics that they begin divided."""
    return options.ends_itself and has_many_topics(state, options)


def hot_priors(state: State, options: Options, number: int, sweeps: int, scvb0: bool = False) -> AlphaBeta:
    """α and β with which hot sweep `number` of so many samples, counted from 0. `scvb0`: after SCVB0 on short
    documents."""
    if not holds_priors(state, options):
        return state.alpha, hot_beta(state, state.beta, number, sweeps, scvb0)
    alpha, beta = _held_priors(state, options)
    beta = hot_beta(state, beta, number, sweeps)
    cooled = max(0, number + 1 - (sweeps - COOLING)) / (COOLING + 1)
    return _geometric_mean(alpha, state.alpha, cooled), _geometric_mean(beta, state.beta, cooled)


def hot_beta(
    state: State, beta: NDArray[np.float64], number: int, sweeps: int, scvb0: bool = False
) -> NDArray[np.float64]:  # fmt: skip
    """This β, larger in hot sweep `number`: each is as many times the next, down to β itself."""
    heat = max(1.0, _first_heat(state, beta, scvb0))
    return beta * float(exp(float(log(heat)) * (1 - number / sweeps)))


def _first_heat(state: State, beta: NDArray[np.float64], scvb0: bool) -> float:
    """How many times this β is in the first hot sweep."""
    return (HEAT_SCVB0 if scvb0 else HEAT) * state.n_tokens / (state.n_topics * float(beta.sum()))


def _held_priors(state: State, options: Options) -> AlphaBeta:
    """Priors of the beginning, where others are learnt meanwhile."""
    learnt = set(options.optimize.split("+")) if options.optimize_interval else set()
    alpha, beta = state.alpha, state.beta
    if learnt & {"alpha", "symmetric-alpha"}:
        total = HELD_ALPHA_RARE if state.n_words > FEW_WORDS else HELD_ALPHA
        given = options.alpha is not None or options.alpha_sum is not None
        held = options.alpha_vector() if given else np.full(state.n_topics, total / state.n_topics)
        alpha = np.tile(held, (len(alpha), 1))
    return alpha, np.full(len(beta), float(options.beta)) if "beta" in learnt else beta


def _geometric_mean(first: NDArray[np.float64], last: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """The geometric mean of both, with this share of the last."""
    if share == 0 or first is last:
        return first
    mean: NDArray[np.float64] = exp((1 - share) * log(first) + share * log(last))
    return mean


def has_short_documents(state: State) -> bool:
    """Whether documents are so short that one pass over each tells more of topics than several."""
    if state.n_tokens >= SHORT * state.n_documents:
        return False
    lengths = state.lengths
    return int(np.dot(lengths, lengths)) < SHORT_UNEVEN * state.n_tokens


def has_many_topics(state: State, options: Options) -> bool:
    """Whether there are so many topics that a soft start has few, which are divided. (One that begins with a share of
    every document's tokens has all.)"""
    soon = options.ends_itself and not has_long_documents(state)
    return state.n_topics > (MANY_TOPICS if soon else SOFT_TOPICS)


def has_long_documents(state: State) -> bool:
    """Whether documents are so long that soft sweeps gain more than others."""
    return state.n_tokens > LONG * state.n_documents


def check_soft(state: State, needs: Iterable[str], model: str) -> None:
    """InputError if a soft start is not for this model."""
    if state.paths > 1:
        raise InputError("start: soft is for one path: several would begin at the same place")
    if sampler_registry.NEW_TOPICS in needs:
        raise InputError(f"start: soft has a fixed number of topics, which the model {model} has not")


def hot_pays(state: State, options: Options) -> bool:
    """Whether a hot start gives the better topics at the end; and a soft one, which has hot sweeps, too."""
    many = not options.ends_itself and int(options.iterations) > MANY_SWEEPS
    if state.n_tokens < SOFT_FROM or (many and state.n_topics < SCANT_TOPICS):
        return False
    fitting = not has_many_topics(state, options) or not has_long_documents(state)
    return fitting or is_thinned(state, options, "soft")


def is_dense(state: State, of_topic: float = DENSE[1]) -> bool:
    """Whether words are seen so often (in each topic, too) that topics are found from random ones soon. Those of seed
    words are not: a topic that begins at random is often named by its seeds alone, and their tokens settle in another.
    """
    of_word = DENSE[0]
    often = state.n_tokens >= state.n_words * max(of_word, of_topic * state.n_topics) and state.n_words <= FEW_WORDS
    return often and state.n_topics <= MANY_TOPICS and not has_long_documents(state) and not len(state.seeds)


def soft_pays(state: State, options: Options) -> bool:
    """Whether a soft start, which is better still, has room."""
    return begins_with_scvb0(state, options, "soft") or has_room(state, soft_topics(state, options))


def has_room(state: State, topics: int) -> bool:
    """Whether soft assignments to so many topics have room."""
    from topicx.variational.soft_start import room_for

    return room_for(state, topics) <= SOFT_ROOM
