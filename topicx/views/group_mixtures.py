"""Collections (or other groups of documents, see `topicx.views.topics_by_column`) compared: the topic proportions of
each, with intervals from the draws of a chain (compound models: π, the side arrays `pi` and `pi_draws`) or from the
documents; which topics rise and fall where groups have an order; which words a topic has in one collection more than
in others.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from topicx.common_methods import Summarized
from topicx.errors import InputError
from topicx.model import Model
from topicx.regression.pooling import share_intervals
from topicx.state import State
from topicx.views.picture_files import check_plot, write_picture

Floats = NDArray[np.float64]

PRIOR = 500.0
"""The tokens that a topic's own word shares count as, beside those of a collection, in contrasts."""


@dataclass(frozen=True)
class Trend:
    """How a topic's share moves over ordered collections."""

    topic: int
    slope: float
    """Share a step (by time: a year), by least squares."""
    low: float
    high: float

    @property
    def sign(self) -> str:
        """Direction, rises or falls, where the interval says so."""
        return "rises" if self.low > 0 else "falls" if self.high < 0 else ""


@dataclass(frozen=True, repr=False)
class Mixtures(Summarized):
    """Groups × topics: means of π over the draws of the chain, or of θ over the documents; and intervals."""

    names: list[str]
    """Names of the groups."""
    documents: NDArray[np.int64]
    """Number of documents in each group."""
    times: Floats
    """The mean time of each collection's documents, or the middle of a span; NaN: unknown."""
    mean: Floats
    """NaN: a group without documents."""
    draws: NDArray[np.float32]
    """Draws × groups × topics; none, where the method leaves none (vem)."""
    share: float
    """The share of the draws, or the confidence, of the intervals."""
    tokens: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The tokens of each group, if they are known."""
    errors: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    """Groups × topics: standard errors of the means over documents; empty: intervals are those of the draws."""
    freedom: Floats = field(default_factory=lambda: np.zeros(0))
    """Degrees of freedom of each group's errors (or of each of its topics'); NaN: it has no interval."""
    drawn: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    """Draws × groups × topics: the means over documents of each draw of their θ; empty: θ was taken as known."""
    sampling: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    """Part of the squared errors of drawn θ that is not between draws."""

    def intervals(self) -> tuple[Floats, Floats]:
        if len(self.errors):
            quantile = student_quantile(self.freedom.reshape(len(self.names), -1), self.share)
            if len(self.drawn):
                return share_intervals(self.mean, self.errors, quantile)
            wide = self.errors * quantile
            return np.maximum(self.mean - wide, 0), np.minimum(self.mean + wide, 1)
        if not len(self.draws):
            nothing = np.full(self.mean.shape, np.nan)
            return nothing, nothing
        tail = 50 * (1 - self.share)
        low, high = np.percentile(self.draws, [tail, 100 - tail], axis=0)
        return low.astype(np.float64), high.astype(np.float64)

    def trends(self, by_time: bool) -> list[Trend]:
        """Every topic's trend, the steepest rise first."""
        if len(self.names) < 2:
            return []
        steps = self.times if by_time else np.arange(len(self.names), dtype=np.float64)
        known = np.isfinite(steps) & np.isfinite(self.mean[:, 0])
        centred = np.where(known, steps - steps[known].mean(), 0) if known.any() else np.zeros(len(steps))
        if not centred.any():
            if len(self.errors):
                return []
            raise InputError("the collections have one time: nothing rises or falls")
        weights = centred / (centred @ centred)
        mean = np.where(known[:, None], self.mean, 0)
        slopes = weights @ mean
        low = high = np.full(len(slopes), np.nan)
        if len(self.errors):
            wide = self._slope_error(weights[known], known) * student_quantile(self._freedom(known), self.share)
            low, high = slopes - wide, slopes + wide
        elif len(self.draws):
            tail = 50 * (1 - self.share)
            low, high = np.percentile(np.einsum("j,sjk->sk", weights, self.draws), [tail, 100 - tail], axis=0)
        order = np.argsort(-slopes, kind="stable")
        return [Trend(int(k), float(slopes[k]), float(low[k]), float(high[k])) for k in order]

    def differences(self) -> list[list[Trend]]:
        """Each group's shares less those of the group before it, the largest first: a list a pair, of all topics."""
        pairs = (self._only(slice(j - 1, j + 1)) for j in range(1, len(self.names)))
        return [pair.trends(False) for pair in pairs]  # Groups a step apart: the slope is the difference.

    def _only(self, some: slice) -> Mixtures:
        """These groups alone."""
        by_group = {name: getattr(self, name)[some] for name in ("names", "documents", "times", "mean")}
        kept = {
            name: value[some]
            for name in ("tokens", "errors", "freedom", "sampling")
            if len(value := getattr(self, name))
        }
        drawn = {name: value[:, some] for name in ("draws", "drawn") if len(value := getattr(self, name))}
        return replace(self, **by_group, **kept, **drawn)

    def _freedom(self, known: NDArray[np.bool_]) -> NDArray[np.int64]:
        return (self.documents[known] - 1).sum(keepdims=True)

    def _slope_error(self, weights: Floats, known: NDArray[np.bool_]) -> Floats:
        """Standard errors of Σ_j w_j mean_j; where one document is alone, with the variance within the other groups."""
        sizes = self.documents[known][:, None].astype(np.float64)
        each = self.sampling[known] if len(self.drawn) else self.errors[known] ** 2
        squares = np.nan_to_num(each * sizes) * (sizes - 1)
        pooled = squares.sum(axis=0) / max(float((sizes - 1).sum()), 1.0)
        variance = weights**2 @ np.where(np.isfinite(each), each, pooled / sizes)
        if len(self.drawn):
            slopes = (weights[:, None] * self.drawn[:, known]).sum(axis=1)
            variance = variance + (1 + 1 / len(slopes)) * slopes.var(axis=0, ddof=1)
        result: Floats = np.sqrt(variance)
        return result


def student_quantile(freedom: NDArray[Any], share: float) -> Floats:
    """How many standard errors an interval of this confidence has on either side; NaN without degrees of freedom."""
    wide: Floats = stdtrit(np.where(freedom > 0, freedom, 1).astype(np.float64), 0.5 + share / 2)
    return np.where(freedom > 0, wide, np.nan)


def mixtures_of_model(model: Model, by: str = "collection", share: float = 0.9) -> Mixtures:
    """Topic proportions of the collections of a compound model.

    Parameters
    ----------
    model : Model
        A compound model.
    by : str, default "collection"
        Order: "collection" as in the file, or "time" by the collections' mean times.
    share : float, default 0.9
        Mass of the intervals.

    Returns
    -------
    Mixtures
        Means, intervals and trends.
    """
    if model.meta.get("model") != "compound" or "pi" not in model.side:
        raise InputError("the model has no collections: train it with --model compound on a corpus that has them")
    groups = len(model.side["pi"])
    names = list(model.group_names) or [str(j) for j in range(groups)]
    times = model.side.get("times", np.full(groups, np.nan))
    order = np.arange(groups)
    if by == "time":
        order = np.argsort(times, kind="stable")[: int(np.isfinite(times).sum())]
        if not len(order):
            raise InputError("no document of the corpus has a time: import it with --time-field")
    draws = model.side.get("pi_draws", np.zeros((0, *model.side["pi"].shape), np.float32))
    documents = model.side.get("documents", np.zeros(groups, np.int64))
    return Mixtures(
        [names[j] for j in order], documents[order], times[order], model.side["pi"][order], draws[:, order], share
    )


def describe_mixtures(
    model: Model, found: Mixtures, topics: int, words: int, chosen: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """Each group's largest topics as plain data.

    Parameters
    ----------
    model : Model
        The model.
    found : Mixtures
        Topic proportions of groups.
    topics : int
        Topics of each group.
    words : int
        Words of each topic.
    chosen : sequence of int, optional
        Topics to tell instead of the largest.

    Returns
    -------
    list of dict
        A dictionary a group.
    """
    low, high = found.intervals()
    top = [[word for word, _ in row] for row in model.top_words(words)]
    rows = []
    for j, name in enumerate(found.names):
        order = np.argsort(-found.mean[j], kind="stable")
        order = order[model.shown[order]][:topics] if not chosen else np.array(chosen)
        rows.append({
            "group": name, "documents": int(found.documents[j]),
            **({"tokens": int(found.tokens[j])} if len(found.tokens) else {}), "time": _rounded_or_none(found.times[j]),
            "topics": [
                {"topic": int(k), **model.named(k), "share": _rounded_or_none(found.mean[j, k]),
                 "low": _rounded_or_none(low[j, k]), "high": _rounded_or_none(high[j, k]), "words": top[k]}
                for k in order
            ],
        })  # fmt: skip
    return rows


def describe_trends(
    model: Model, found: Mixtures, by_time: bool, topics: int, words: int, chosen: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """The topics that rise and fall most (or those chosen), as plain data; the steepest rise first."""
    trends = [trend for trend in found.trends(by_time) if model.shown[trend.topic]]
    if chosen:
        trends = [trend for trend in trends if trend.topic in chosen]
    elif len(trends) > 2 * topics:
        trends = trends[:topics] + trends[-topics:]
    top = [[word for word, _ in row] for row in model.top_words(words)]
    return [
        {"topic": t.topic, **model.named(t.topic), "slope": t.slope, "low": _rounded_or_none(t.low),
         "high": _rounded_or_none(t.high), "trend": t.sign,
         "shares": dict(zip(found.names, map(_rounded_or_none, found.mean[:, t.topic]), strict=True)),
         "words": top[t.topic]}
        for t in trends
    ]  # fmt: skip


def describe_differences(
    model: Model, found: Mixtures, topics: int, words: int, chosen: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """The topics whose shares differ most between each group and the one before it (or those chosen), as plain data."""
    top = [[word for word, _ in row] for row in model.top_words(words)]
    rows = []
    for names, pair in zip(zip(found.names, found.names[1:]), found.differences()):
        some = [each for each in pair if (each.topic in chosen if chosen else model.shown[each.topic])]
        if not chosen and len(some) > 2 * topics:
            some = some[:topics] + some[-topics:]
        rows += [
            {"of": names[1], "less": names[0], "topic": each.topic, **model.named(each.topic),
             "difference": each.slope, "low": _rounded_or_none(each.low), "high": _rounded_or_none(each.high),
             "words": top[each.topic]}
            for each in some
        ]  # fmt: skip
    return rows


def rows_of(model: Model, found: Mixtures, by: str) -> list[dict[str, Any]]:
    """All groups × topics, a row each."""
    low, high = found.intervals()
    named = model.called
    return [
        {
            by: name, "documents": int(found.documents[j]),
            **({"tokens": int(found.tokens[j])} if len(found.tokens) else {}),
            "topic": k, **({"name": named[k]} if named else {}), "share": _rounded_or_none(found.mean[j, k]),
            "low": _rounded_or_none(low[j, k]), "high": _rounded_or_none(high[j, k]),
        }
        for j, name in enumerate(found.names) for k in np.flatnonzero(model.shown).tolist()
    ]  # fmt: skip


def _rounded_or_none(value: float) -> float | None:
    return round(float(value), 12) if np.isfinite(value) else None


def contrast_words(model: Model, state: State, words: int = 10) -> list[list[list[tuple[str, float]]]]:
    """Words that a topic has more often in one collection than elsewhere.

    Log-odds ratios under a Dirichlet prior of the topic's own shares (Monroe, Colaresi & Quinn 2008).

    Parameters
    ----------
    model : Model
        A compound model.
    state : State
        The state that it was made of.
    words : int, default 10
        Words for each topic and collection.

    Returns
    -------
    list of list of list of (str, float)
        For each topic and collection the words and their z-scores.
    """
    if state.n_topics != model.n_topics or state.n_words != model.n_words:
        raise InputError(
            f"the state has {state.n_topics} topics and {state.n_words:,} words, the model {model.n_topics} and "
            f"{model.n_words:,}: it is not of the model's run"
        )
    state = state.spread()
    groups = max(len(state.alpha), 1)
    group = np.repeat(state.groups, state.lengths) if len(state.groups) else np.zeros(state.n_tokens, np.int64)
    placed = state.z < state.n_topics
    key = (state.z[placed].astype(np.int64) * state.n_words + state.words[placed]) * groups + group[placed]
    found, counts = np.unique(key, return_counts=True)
    topic_of = found // groups // state.n_words
    starts = np.searchsorted(topic_of, np.arange(state.n_topics + 1))
    result = []
    for k in range(state.n_topics):
        part = slice(starts[k], starts[k + 1])
        names, at = np.unique(found[part] // groups % state.n_words, return_inverse=True)
        table = np.zeros((groups, len(names)))
        table[found[part] % groups, at] = counts[part]
        z = log_odds(table)
        rows = []
        for j in range(groups):
            own = np.where(table[j] > 0, z[j], 0)  # a collection without tokens of the topic has no words of it
            best = [w for w in np.argsort(-own, kind="stable")[:words] if own[w] > 0]
            rows.append([(state.vocabulary[int(names[w])], float(z[j, w])) for w in best])
        result.append(rows)
    return result


def log_odds(table: Floats) -> Floats:
    """Scores (z) of each row's words against all other rows together."""
    total = table.sum(axis=0)
    prior = PRIOR * total / max(total.sum(), 1.0)
    rest = total - table
    own, other = table + prior, rest + prior
    own_rest, other_rest = own.sum(axis=1, keepdims=True) - own, other.sum(axis=1, keepdims=True) - other
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = np.log(own / own_rest) - np.log(other / other_rest)
        z = difference / np.sqrt(1 / own + 1 / other)
    return np.nan_to_num(z, nan=0.0, posinf=0.0, neginf=0.0)


def plot_mixtures(
    model: Model, found: Mixtures, path: str | os.PathLike[str], by_time: bool, topics: int, chosen: Sequence[int] = ()
) -> None:
    """Draw topic proportions of groups into a file.

    Over time: lines of the topics that rise and fall most. Else: bars of each group's topics, or shades where there are
    many groups.

    Parameters
    ----------
    model : Model
        The model.
    found : Mixtures
        Topic proportions of groups.
    path : str or path
        File to write: .png, .svg or .pdf.
    by_time : bool
        Whether groups are spans of time.
    topics : int
        Topics that are drawn.
    chosen : sequence of int, optional
        Topics to draw instead of the largest.
    """
    check_plot(path)
    from topicx.views.mixture_figures import draw_mixtures

    write_picture(draw_mixtures(model, found, by_time, topics, chosen), path)
