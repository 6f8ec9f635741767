"""Seed words at the end of a run: whether they are among the words of the topics that they were to steer, and whether
these topics have tokens of them. The weight of its seeds alone puts them first in a topic that nothing else is in."""

from __future__ import annotations

import numpy as np

from topicx.model import Model
from topicx.state import NONE, State

AMONG = 20
"""Words of a topic, the most probable ones, among which its seeds are looked for."""
LEAST = 0.2
"""The part of its seed words' tokens that a topic has at least, if it is what they say."""


def lost_seeds(model: Model, state: State) -> dict[int, list[str]]:
    """The seed words of each topic that are not among its most probable words (as many as it has seeds, AMONG at
    least)."""
    seeded: dict[int, list[str]] = {}
    for word, topic in zip(state.seeds.words.tolist(), state.seeds.topics.tolist(), strict=True):
        seeded.setdefault(int(topic), []).append(state.vocabulary[word])
    if not seeded:
        return {}
    top = model.top_words(max(AMONG, *map(len, seeded.values())))
    found = {
        topic: [word for word in words if word not in {w for w, _ in top[topic]}] for topic, words in seeded.items()
    }
    return {topic: words for topic, words in sorted(found.items()) if words}


def deserted_topics(state: State) -> dict[int, float]:
    """The topics that have less than a fifth of their seed words' tokens, and what they have. Nothing where the tokens
    are not in memory."""
    if not len(state.seeds) or not isinstance(state.words, np.ndarray) or not isinstance(state.z, np.ndarray):
        return {}
    words, place = np.unique(state.seeds.words, return_inverse=True)
    number = np.full(state.n_words, len(words))
    number[words] = np.arange(len(words))
    z = state.z[: state.n_tokens]
    seeds = (number[state.words] < len(words)) & (z != NONE)
    pairs = number[state.words[seeds]] * state.n_topics + z[seeds]
    counts = np.bincount(pairs, minlength=len(words) * state.n_topics).reshape(len(words), state.n_topics)
    own = np.bincount(state.seeds.topics, counts[place, state.seeds.topics], state.n_topics)
    all_of_them = np.bincount(state.seeds.topics, counts.sum(axis=1)[place], state.n_topics)
    few = np.flatnonzero(own < LEAST * all_of_them)
    return {int(topic): float(own[topic] / all_of_them[topic]) for topic in few}


def seeds_message(model: Model, state: State) -> str | None:
    """One line if seed words did not steer their topics."""
    lost = lost_seeds(model, state)
    if not lost:
        return _deserted_message(state)
    shown = "; ".join(f"topic {topic}: {' '.join(words[:5])}" for topic, words in list(lost.items())[:5])
    number = sum(map(len, lost.values()))
    more = ", …" if len(lost) > 5 else ""
    return (
        f"{number:,} of {len(state.seeds):,} seed words are not among the {AMONG} top words of their topics "
        f"({shown}{more}): a larger --seed-weight holds them"
    )


def _deserted_message(state: State) -> str | None:
    deserted = deserted_topics(state)
    if not deserted:
        return None
    shown = ", ".join(f"topic {topic}: {share:.0%}" for topic, share in list(deserted.items())[:5])
    more = ", …" if len(deserted) > 5 else ""
    return (
        f"most tokens of the seed words are in other topics than theirs ({shown}{more}): "
        "the documents do not part these topics from others; a larger --seed-weight, or fewer topics, may help"
    )
