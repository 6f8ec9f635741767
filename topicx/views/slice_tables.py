"""Topics slice by slice as plain data: words, what came and went, how far a topic moved, and where a word stood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.model import Model
from topicx.models.slice_cuts import SliceCuts
from topicx.predict.slice_reader import SliceTopics
from topicx.views.rounded_numbers import six_digits

Floats = NDArray[np.float64]
INTERVAL = (0.05, 0.95)


def slices_of_model(model: Model) -> SliceTopics:
    """The words of a model's topics, slice by slice.

    Parameters
    ----------
    model : Model
        A model of the kind `slices`.

    Returns
    -------
    SliceTopics
        Names of slices, φ of each, tokens, and draws of how far topics moved.
    """
    if "slice_bounds" not in model.side:
        raise InputError("the model's topics have the same words everywhere: train --model slices has slices of them")
    return SliceTopics(model, SliceCuts.of_meta(model.meta).names)


def _top(row: NDArray[Any], number: int) -> NDArray[np.int64]:
    number = min(number, len(row))
    some = np.argpartition(-row, number - 1)[:number] if number else np.zeros(0, np.int64)
    return np.asarray(some[np.lexsort((some, -row[some]))], np.int64)


def describe_slices(model: Model, words: int = 10, topics: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Topics slice by slice as plain data.

    Parameters
    ----------
    model : Model
        A model of the kind `slices`.
    words : int, default 10
        Words of a topic in a slice.
    topics : sequence of int, optional
        Topics to describe. By default those that are shown.

    Returns
    -------
    list of dict
        A dict a topic: its words in all slices together, b (`closeness`), the words that rose and fell most, and a
        dict a slice: tokens, words with their probabilities, which of them are new and which are gone since the slice
        that it comes from, and the share of the topic's words that is another than there and than in the first slice
        (`moved` and `from_first`: mean, low and high; 5% to 95% of the chain's draws).
    """
    known = slices_of_model(model)
    top_of_all, phi = model.top_words(words), known.words_of_topics()
    ends = known.intervals(*INTERVAL) if len(known.moves) else None
    chosen = [int(k) for k in topics] or np.flatnonzero(model.shown).tolist()
    vocabulary, found = model.vocabulary, []
    for k in chosen:
        of_topic = phi[:, k]
        tops = [_top(row, words) for row in of_topic]
        rows: list[dict[str, Any]] = []
        for at, parent in enumerate(known.parents.tolist()):
            before = set(tops[parent].tolist()) if parent >= 0 else set(tops[at].tolist())
            now = set(tops[at].tolist())
            row: dict[str, Any] = {
                "slice": known.names[at], "tokens": round(float(known.tokens[at, k]), 3),
                "words": [{"word": vocabulary[int(w)], "probability": six_digits(of_topic[at, w])} for w in tops[at]],
                "new": [vocabulary[int(w)] for w in tops[at] if int(w) not in before],
                "gone": [vocabulary[int(w)] for w in tops[parent] if int(w) not in now] if parent >= 0 else [],
            }  # fmt: skip
            for number, name in enumerate(("moved", "from_first")):
                row[name] = None
                if ends is not None and parent >= 0:
                    mean, low, high = (six_digits(part[number, at, k]) for part in ends)
                    row[name] = {"mean": mean, "low": low, "high": high}
            rows.append(row)
        # A slice of few tokens says little: change is from the first to the last third of the topic's tokens.
        rose, fell = _changed(of_topic, known.tokens[:, k], known.drift, words)
        found.append({
            "topic": k, **model.named(k), "weight": six_digits(model.topic_weights[k]),
            "closeness": six_digits(known.closeness[k]), "words": [word for word, _ in top_of_all[k]],
            "rose": [vocabulary[int(w)] for w in rose], "fell": [vocabulary[int(w)] for w in fell], "slices": rows,
        })  # fmt: skip
    return found


def _changed(
    phi: NDArray[np.float32], tokens: Floats, drift: bool, number: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
    """The words whose probability rose and fell most from the first to the last third of a topic's tokens in time."""
    total = float(tokens.sum())
    if not drift or len(phi) < 2 or total <= 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    done = np.cumsum(tokens) / total
    early = np.clip(np.minimum(done, 1 / 3) - np.minimum(np.append(0, done[:-1]), 1 / 3), 0, None)
    late = np.clip(np.maximum(done, 2 / 3) - np.maximum(np.append(0, done[:-1]), 2 / 3), 0, None)
    change = (late / late.sum()) @ phi - (early / early.sum()) @ phi
    return _top(change, number), _top(-change, number)


def slice_rows(model: Model, words: int = 10, topics: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Topics slice by slice as a tidy table.

    Parameters
    ----------
    model : Model
        A model of the kind `slices`.
    words : int, default 10
        Words of a topic in a slice.
    topics : sequence of int, optional
        Topics to tell. By default those that are shown.

    Returns
    -------
    list of dict
        A row for each topic, slice and word.
    """
    found = []
    for topic in describe_slices(model, words, topics):
        for row in topic["slices"]:
            moves = {
                f"{name}{end}": None if row[name] is None else row[name][part]
                for name in ("moved", "from_first")
                for end, part in (("", "mean"), ("_low", "low"), ("_high", "high"))
            }
            found += [
                {"topic": topic["topic"], "slice": row["slice"], "tokens": row["tokens"], **moves, "rank": rank,
                 "word": word["word"], "probability": word["probability"]}
                for rank, word in enumerate(row["words"], 1)
            ]  # fmt: skip
    return found


def describe_word(model: Model, word: str, topics: int = 3, beside: int = 5) -> list[dict[str, Any]]:
    """Where a word stood, slice by slice.

    Parameters
    ----------
    model : Model
        A model of the kind `slices`.
    word : str
        The word.
    topics : int, default 3
        Topics of a slice that are told, those with most of its tokens.
    beside : int, default 5
        Words of these topics that are told beside it.

    Returns
    -------
    list of dict
        A dict a slice: the word's tokens among 10,000 (`rate`, as the topics have it), and the topics that it belongs
        to there: their share of its tokens, its probability in them, and their other words.
    """
    known, index = slices_of_model(model), {one: at for at, one in enumerate(model.vocabulary)}
    if word not in index:
        from difflib import get_close_matches

        close = get_close_matches(word, list(index), n=1)
        raise InputError(f"{word!r} is not a word of the model" + (f"; did you mean {close[0]!r}?" if close else ""))
    number, phi, shown = index[word], known.words_of_topics(), model.shown
    found = []
    for at, name in enumerate(known.names):
        of_word = known.tokens[at] * phi[at, :, number]
        total, tokens = float(of_word.sum()), float(known.tokens[at].sum())
        strongest = [k for k in _top(of_word, topics).tolist() if total > 0 and of_word[k] > 0 and shown[k]]
        found.append({
            "slice": name, "tokens": round(total, 1), "rate": six_digits(1e4 * total / tokens) if tokens else None,
            "topics": [
                {"topic": k, **model.named(k), "share": six_digits(of_word[k] / total),
                 "probability": six_digits(phi[at, k, number]),
                 "words": [model.vocabulary[w] for w in _top(phi[at, k], beside + 1).tolist() if w != number][:beside]}
                for k in strongest
            ],
        })  # fmt: skip
    return found
