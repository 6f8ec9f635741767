"""Seed words at the end of a run: whether they are among the words of the topics that they were to steer."""

from __future__ import annotations

from topicx.model import Model
from topicx.state import State

AMONG = 20
"""Words of a topic, the most probable ones, among which its seeds are looked for."""


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


def seeds_message(model: Model, state: State) -> str | None:
    """One line if seed words did not steer their topics."""
    lost = lost_seeds(model, state)
    if not lost:
        return None
    shown = "; ".join(f"topic {topic}: {' '.join(words[:5])}" for topic, words in list(lost.items())[:5])
    number = sum(map(len, lost.values()))
    more = ", …" if len(lost) > 5 else ""
    return (
        f"{number:,} of {len(state.seeds):,} seed words are not among the {AMONG} top words of their topics "
        f"({shown}{more}): a larger --seed-weight holds them"
    )
