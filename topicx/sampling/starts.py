"""Where a chain begins: the start that `auto` means, by the corpus and the options alone, never by the machine.

A soft start finds expected counts first (CVB0, `topicx.variational`), draws every token's topic from its
probabilities, and goes on with exact Gibbs sampling: the same chain from a far better state (docs/performance.md).
"""

from __future__ import annotations

from collections.abc import Iterable

from topicx._kernels import harden
from topicx.errors import InputError
from topicx.sampling import registry
from topicx.sampling.options import Options
from topicx.state import State

GROWING_FROM = (1_000_000, 500, 10_000)
"""Tokens, tokens a document and tokens a topic on average, from which a growing start pays (docs/performance.md)."""
SOFT_METHOD, SOFT_SWEEPS = "cvb0", 20
"""The method of a soft start, and its sweeps."""
SOFT_FROM = 50_000
"""Tokens from which `auto` makes a soft start: smaller corpora are done in a moment anyhow."""
SOFT_TOPICS = 200
"""Topics up to which a soft start pays: its sweeps cost as many numbers a pair as there are topics."""
SOFT_ROOM = 2 << 30
"""Bytes that the assignments of a soft start may take."""


def choose_start(state: State, options: Options, sampler: registry.Entry, needs: Iterable[str] = ()) -> str:
    """The start that `auto` means for this corpus, this method, and a model that needs this of its sampler."""
    if state.placed:
        return "state"  # assignments came with it
    if options.start == "soft":
        check_soft(state, needs, options.model)
    if options.start != "auto":
        return options.start
    if registry.SOFTENS in sampler.capabilities and not set(needs) and state.paths == 1 and soft_pays(state):
        return "soft"
    tokens, a_document, a_topic = GROWING_FROM
    pays = state.n_tokens >= max(tokens, a_document * state.n_documents, a_topic * state.n_topics)
    return "growing" if registry.GROWS in sampler.capabilities and pays else "random"


def check_soft(state: State, needs: Iterable[str], model: str) -> None:
    """InputError if a soft start is not for this model."""
    if state.paths > 1:
        raise InputError("start: soft is for one path: several would begin at the same place")
    if registry.NEW_TOPICS in needs:
        raise InputError(f"start: soft has a fixed number of topics, which the model {model} has not")


def soft_pays(state: State) -> bool:
    """Whether a soft start gives the better topics at every time, and has room."""
    if state.n_tokens < SOFT_FROM or state.n_topics > SOFT_TOPICS:
        return False
    return 4 * state.n_topics * harden.count_pairs(state.words, state.offsets, state.n_words) <= SOFT_ROOM
