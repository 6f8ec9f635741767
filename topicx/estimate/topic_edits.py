"""A model's topics by hand: several made one, names, topics that are not shown.

Topics keep their numbers. Of topics that are merged, the first that is named takes the counts and the α of all; the
others have none left, are drawn for no word of a new document, and are not shown. The model remembers which went where,
so that the state of its run can follow (`follow_model_edits`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.model import Model
from topicx.state import NONE, Seeds, State
from topicx.strings import Strings

GONE = 1.0001e-30
"""α of a topic that is gone: the least that files and options take."""


def targets_of(groups: Iterable[Sequence[int]], topics: int) -> NDArray[np.uint16]:
    """Where each topic goes: of every group to its first."""
    target = np.arange(topics, dtype=np.uint16)
    seen: set[int] = set()
    for group in groups:
        if len(group) < 2:
            raise InputError("merge: a topic alone is merged with nothing; name two at least")
        for topic in group:
            check_topic("merge", topic, topics)
            if topic in seen:
                raise InputError(f"merge: topic {topic} is named twice")
            seen.add(topic)
            target[topic] = group[0]
    return target


def check_topic(what: str, topic: int, topics: int) -> None:
    if not 0 <= topic < topics:
        raise InputError(f"{what}: {topic} is not a topic; there are 0 to {topics - 1}")


def merge_topics(model: Model, groups: Iterable[Sequence[int]]) -> Model:
    """Make one topic of the topics of each group.

    Parameters
    ----------
    model : Model
        The model. It is not changed.
    groups : iterable of sequences of int
        Numbers of topics, two or more a group.

    Returns
    -------
    Model
        A model with fewer topics.
    """
    import scipy.sparse

    target = targets_of(groups, model.n_topics)
    definition = model_registry.of_meta(model.meta)
    definition.merged_side(model.side, target)  # InputError, before anything else, where it can't be
    gone = np.flatnonzero(target != np.arange(len(target)))
    if len(model.merged):
        again = [int(k) for k in (*gone, *target[gone]) if model.merged[k] != k]
        if again:
            raise InputError(f"merge: topic {again[0]} is a part of topic {model.merged[again[0]]} already")
        target = target[model.merged]
    counts = model.counts().tocoo()
    shape = (model.n_words, model.n_topics)
    summed = scipy.sparse.coo_array((counts.data, (counts.row, target[counts.col])), shape=shape).tocsr()
    summed.sum_duplicates()
    result = replace(
        model, alpha=merged_alpha(model.alpha, target), indptr=summed.indptr.astype(np.int64),
        topics=summed.indices.astype(np.uint16), values=summed.data.astype(model.values.dtype), merged=target,
        remainder_share=(
            sum_merged_columns(model.remainder_share, target) if len(model.remainder_share) else model.remainder_share
        ),
        side=definition.merged_side(model.side, target),
        hidden=_hidden_mask(model), topic_names=_left_names(model, gone), meta=dict(model.meta), digest="",
    )  # fmt: skip
    if result.meta.get("seed_counts"):
        seeds = sum_merged_columns(np.array(result.meta["seed_counts"]), target)
        result.meta["seed_counts"] = [int(value) for value in seeds]
    result.hidden[gone] = 1
    _merge_examples(result, target)
    return result


def merged_alpha(alpha: NDArray[np.float64], target: NDArray[np.uint16]) -> NDArray[np.float64]:
    """α adds up; what is left to topics that are gone is next to nothing."""
    found = sum_merged_columns(alpha, target)
    found[:, target != np.arange(len(target))] = GONE
    return found


def sum_merged_columns(values: NDArray[Any], target: NDArray[np.uint16]) -> NDArray[Any]:
    """Sums along the last axis, each at its target's place."""
    found = np.zeros_like(values)
    np.add.at(found.T, target, values.T)
    return found


def _hidden_mask(model: Model) -> NDArray[np.uint8]:
    return model.hidden.copy() if len(model.hidden) else np.zeros(model.n_topics, np.uint8)


def _left_names(model: Model, gone: NDArray[np.int64]) -> Strings:
    """Names without those of topics that are gone."""
    return Strings.of("" if k in gone else name for k, name in enumerate(model.topic_names))


def _merge_examples(model: Model, target: NDArray[np.uint16]) -> None:
    """Typical documents of a merged topic are those of its parts; of one that is among several, θ adds up."""
    if not model.example_documents.size:
        return
    topics, number = model.example_documents.shape
    rows, weights = np.full((topics, number), -1, np.int64), np.zeros((topics, number))
    source = np.full((topics, number), -1, np.int64)
    for k in range(topics):
        flat = (np.flatnonzero(target == k)[:, None] * number + np.arange(number)).ravel()
        flat = flat[model.example_documents.ravel()[flat] >= 0]
        documents, first, place = np.unique(
            model.example_documents.ravel()[flat], return_index=True, return_inverse=True
        )
        total = np.bincount(place.reshape(-1), model.example_weights.ravel()[flat], len(documents))
        order = np.lexsort((documents, -total))[:number]
        size = len(order)
        rows[k, :size], weights[k, :size] = documents[order], np.minimum(total[order], 1)
        source[k, :size] = flat[first[order]]
    model.example_documents, model.example_weights = rows, weights
    model.example_columns = model.example_columns.take(np.maximum(source.ravel(), 0))
    for name in ("example_ids", "example_snippets"):
        texts = getattr(model, name)
        if len(texts):
            setattr(model, name, Strings.of(texts[int(at)] if at >= 0 else "" for at in source.ravel()))


def name_topics(model: Model, names: Mapping[int, str]) -> Model:
    """Give names to some topics.

    Parameters
    ----------
    model : Model
        The model. It is not changed.
    names : mapping of int to str
        Name of each of these topics; "" takes a name away.

    Returns
    -------
    Model
        The model with these names; other topics keep theirs.
    """
    found = list(model.topic_names) or [""] * model.n_topics
    for topic, name in names.items():
        check_topic("name", topic, model.n_topics)
        found[topic] = " ".join(name.split())
    taken = [name for name in found if name]
    doubled = next((name for name in taken if taken.count(name) > 1), None)
    if doubled is not None:
        raise InputError(f"name: two topics cannot both be {doubled!r}")
    wrong = next((name for k, name in enumerate(found) if name.startswith("topic_") and name != f"topic_{k}"), None)
    if wrong is not None:
        raise InputError(f"name: {wrong!r} is what a topic without a name is called")
    return replace(model, topic_names=Strings.of(found if taken else []), meta=dict(model.meta), digest="")


def hide_topics(model: Model, topics: Iterable[int]) -> Model:
    """Hide topics: they go on taking their words, but nothing shows them.

    Parameters
    ----------
    model : Model
        The model. It is not changed.
    topics : iterable of int
        Numbers of topics.

    Returns
    -------
    Model
        The model with these topics hidden.
    """
    marks = _hidden_mask(model)
    for topic in topics:
        check_topic("hide", topic, model.n_topics)
        marks[topic] = 1
    if marks.all():
        raise InputError("hide: no topic would be left to show")
    return replace(model, hidden=marks, meta=dict(model.meta), digest="")


def merged_state(state: State, target: NDArray[np.uint16]) -> State:
    """The state with its tokens' topics where they went."""
    if state.allowed is not None:
        raise InputError(f"merge: a state of the model {state.meta.get('model', '')} knows its topics by number")
    if len(target) != state.n_topics:
        raise InputError(
            f"the state has {state.n_topics} topics, the model {len(target)}: it is not of the model's run"
        )
    place = np.append(target, np.full(NONE + 1 - len(target), NONE, np.uint16))
    side = model_registry.of_meta(state.meta).merged_side(state.side, target)
    seeds = Seeds.of(zip(state.seeds.words.tolist(), target[state.seeds.topics].tolist(), state.seeds.counts.tolist()))
    return replace(
        state, z=place[state.z], alpha=merged_alpha(state.alpha, target), seeds=seeds, side=side, meta=dict(state.meta),
        digest="",
    )  # fmt: skip


def prune_words_of_state(state: State, **limits: Any) -> State:
    """The state without the words that `Corpus.prune` leaves out by these limits; the other tokens keep their topics,
    and documents without a word stay."""
    if state.paths > 1:
        raise InputError("prune: the state has several paths; prune the corpus, and train anew")
    whole = Corpus(state.words, state.offsets, state.vocabulary, ids=state.ids, truth={"z": state.z})
    left = whole.prune(**limits)
    place = {word: number for number, word in enumerate(state.vocabulary)}
    kept = np.array([place[word] for word in left.vocabulary], np.int64)
    new = np.full(state.n_words, -1, np.int64)
    new[kept] = np.arange(len(kept))
    entries = zip(state.seeds.words.tolist(), state.seeds.topics.tolist(), state.seeds.counts.tolist(), strict=True)
    seeds = Seeds.of((int(new[word]), topic, count) for word, topic, count in entries if new[word] >= 0)
    return replace(
        state, words=left.words, offsets=left.offsets, z=left.truth["z"], vocabulary=left.vocabulary, seeds=seeds,
        beta=state.beta[kept], gaps=Strings.of([]), extra={}, meta=dict(state.meta), digest="",
    )  # fmt: skip


def follow_model_edits(state: State, model: Model) -> State:
    """The state of a model's run, with the topics merged that were merged in the model."""
    return merged_state(state, model.merged) if len(model.merged) and state.n_topics == model.n_topics else state


def edit_topics(
    model: Model, merge: Sequence[Sequence[int]] = (), names: Mapping[int, str] | None = None, hide: Iterable[int] = ()
) -> Model:
    """Merge topics, then name, then hide them, all by the numbers that they have in the model.

    Parameters
    ----------
    model : Model
        The model. It is not changed.
    merge : sequence of sequences of int, optional
        Groups of topics that become one each.
    names : mapping of int to str, optional
        Names of topics.
    hide : iterable of int, optional
        Topics that are not to be shown.

    Returns
    -------
    Model
        The edited model.
    """
    hide, names = list(hide), names or {}
    result = merge_topics(model, merge) if merge else model
    for topic in (*names, *hide):
        check_topic("name, hide", topic, model.n_topics)
        if len(result.merged) and result.merged[topic] != topic:
            raise InputError(f"topic {topic} is a part of topic {result.merged[topic]}: name or hide that one")
    result = name_topics(result, names) if names else result
    result = hide_topics(result, hide) if hide else result
    done = [f"merge {','.join(map(str, group))}" for group in merge]
    done += [f"name {topic}={name}" for topic, name in names.items()] + [f"hide {topic}" for topic in hide]
    result.meta["edits"] = [*model.meta.get("edits", []), *done]
    result.parents = dict(model.parents) | ({"model": model.digest} if model.digest else {})
    return result
