"""Pictures of models, with matplotlib (the extra `plot`): each function returns the axes it has drawn on.

They take a trained `LDA` (or another class that has `model` and `state`) or a `Model`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from topicx.corpus.any_documents import as_corpus
from topicx.errors import InputError
from topicx.model import Model
from topicx.views import topic_pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_groups", "plot_over_time", "plot_topics", "plot_trace"]

MOST = 12
"""Topics that a picture has, unless more are asked for by number."""
MOST_GROUPS = 24
"""Groups that bars are drawn of."""


def plot_topics(trained: Any, topics: Sequence[int] | None = None, *, words: int = 10, axes: Any = None) -> Any:
    """Draw the most probable words of topics as bars, a panel each.

    Parameters
    ----------
    trained : LDA or Model
        A trained object, or its model.
    topics : sequence of int, optional
        Numbers of topics. By default the twelve largest.
    words : int, default 10
        Words of each topic.
    axes : array of matplotlib axes, optional
        Axes to draw on, as many as topics.

    Returns
    -------
    ndarray of axes
        The axes that were drawn on.
    """
    model = _model_of_trained(trained)
    some = _check_chosen_topics(model, topics) if topics is not None else _largest_topics(model)
    if axes is None:
        columns = min(len(some), 4)
        rows = -(-len(some) // columns)
        figure = topic_pictures.new_figure((3.2 * columns, (0.2 * words + 0.6) * rows))
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel in panels[len(some) :]:
            panel.remove()
        axes = panels[: len(some)]
    panels = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    if len(panels) != len(some):
        raise InputError(f"axes: {len(panels)} of them for {len(some)} topics")
    topic_pictures.word_bars(panels, model, some, words)
    return panels


def plot_trace(trained: Any, *, axes: Axes | None = None) -> Axes:
    """Draw the objective of the training (of samplers the log-likelihood per token) after each recorded iteration.

    Parameters
    ----------
    trained : LDA or Model
        A trained object, or its model.
    axes : matplotlib axes, optional
        Axes to draw on.

    Returns
    -------
    axes
        The axes that were drawn on.
    """
    model = _model_of_trained(trained)
    if "sweep" not in model.trace or "score" not in model.trace:
        raise InputError("the model has no trace: it was not trained here")
    axes = topic_pictures.new_figure((6, 4)).subplots() if axes is None else axes
    axes.plot(model.trace["sweep"], model.trace["score"], marker="." if len(model.trace["sweep"]) <= 50 else "")
    axes.set(xlabel="sweep", ylabel="objective")
    return axes


def plot_over_time(
    trained: Any, documents: Any = None, topics: Sequence[int] | None = None, *, unit: str | None = None,
    every: int | None = None, by: str = "time", number: int = 5, axes: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw the shares of topics over time, with 90% intervals, as `topicx topics --by time` has them.

    Parameters
    ----------
    trained : LDA or Model
        A trained object, or its model.
    documents : Corpus, optional
        Documents with times. By default those of the training, of an `LDA`.
    topics : sequence of int, optional
        Numbers of topics. By default the `number` topics that change most.
    unit : str, optional
        Unit of the calendar: "year", "decade", "month" …
    every : int, optional
        So many units a point.
    by : str, default "time"
        Column of times.
    number : int, default 5
        Topics that are drawn if `topics` is not given.
    axes : matplotlib axes, optional
        Axes to draw on.

    Returns
    -------
    axes
        The axes that were drawn on.
    """
    from topicx.views.topics_by_column import by_documents

    model = _model_of_trained(trained)
    if documents is None:
        state = getattr(trained, "state", None)
        if state is None:
            raise InputError("documents: a Model does not keep its documents; give a corpus with times")
        found, groups, _ = by_documents(model, by, state=state, unit=unit, every=every)
    else:
        found, groups, _ = by_documents(model, by, corpus=as_corpus(documents), unit=unit, every=every)
    if not groups.ordered:
        raise InputError(f"by: {by!r} holds no times (unit=… makes bins of it)")
    if topics is None:
        trends = [trend for trend in found.trends(True) if model.shown[trend.topic]]
        some = [trend.topic for trend in sorted(trends, key=lambda trend: -abs(trend.slope))[:number]]
        some = some or _largest_topics(model)[:number]
    else:
        some = _check_chosen_topics(model, topics)
    axes = topic_pictures.new_figure((8, 4.5)).subplots() if axes is None else axes
    topic_pictures.draw_lines(axes, found, some, topic_pictures.topic_names(model))
    return axes


def plot_groups(
    trained: Any, documents: Any = None, topics: Sequence[int] | None = None, *, by: str = "label", number: int = 12
) -> Any:
    """Draw the topic proportions of groups of documents as bars with intervals, a panel a group, on the same axes.

    Parameters
    ----------
    trained : LDA or Model
        A trained object, or its model.
    documents : documents, optional
        Documents that carry the column. By default those of the training.
    topics : sequence of int, optional
        Numbers of topics. By default those with the largest shares in any group.
    by : str, default "label"
        Column: label, collection or a further one.
    number : int, default 12
        Topics that are drawn if `topics` is not given.

    Returns
    -------
    ndarray of axes
        The axes that were drawn on.
    """
    from topicx.views.topics_by_column import by_documents

    model = _model_of_trained(trained)
    state = getattr(trained, "state", None)
    if documents is None and state is None:
        raise InputError("documents: a Model does not keep its documents; give a corpus that carries the column")
    source: dict[str, Any] = {"state": state} if documents is None else {"corpus": as_corpus(documents)}
    found, _, _ = by_documents(model, by, **source)
    if len(found.names) > MOST_GROUPS:
        raise InputError(f"by: {by!r} makes {len(found.names)} groups; bars are drawn of {MOST_GROUPS} at most")
    some = (
        topic_pictures.largest_topics(model, found, number) if topics is None else _check_chosen_topics(model, topics)
    )
    figure = topic_pictures.new_figure(topic_pictures.bar_size(len(found.names), len(some)))
    return topic_pictures.group_bars(figure, found, topic_pictures.topic_names(model), some)


def _model_of_trained(trained: Any) -> Model:
    model = trained if isinstance(trained, Model) else getattr(trained, "model", None)
    if not isinstance(model, Model):
        raise InputError(f"a trained LDA or a Model is needed, not a {type(trained).__name__}")
    return model


def _check_chosen_topics(model: Model, topics: Sequence[int]) -> list[int]:
    some = [int(k) for k in topics]
    wrong = next((k for k in some if not 0 <= k < model.n_topics), None)
    if wrong is not None or not some:
        raise InputError(f"topics: {'none is named' if wrong is None else wrong}; there are 0 to {model.n_topics - 1}")
    return some


def _largest_topics(model: Model) -> list[int]:
    order = np.argsort(-np.where(model.shown, model.topic_weights, -1), kind="stable")
    return sorted(order[: min(MOST, int(model.shown.sum()))].tolist())
