"""Collections compared: the topic proportions π of each (models with the side arrays `pi` and `pi_draws`), which topics
rise and fall where collections have an order, and which words a topic has in one collection more than in the others.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.files import atomic_output
from topicx.model import Model
from topicx.report.plots import check_plot
from topicx.state import State

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
        """rises or falls, where the interval says so."""
        return "rises" if self.low > 0 else "falls" if self.high < 0 else ""


@dataclass(frozen=True)
class Mixtures:
    """Collections × topics: means of π over the draws of the chain, and intervals."""

    names: list[str]
    documents: NDArray[np.int64]
    times: Floats
    """The mean time of each collection's documents; NaN: unknown."""
    mean: Floats
    draws: NDArray[np.float32]
    """Draws × collections × topics; none, where the method leaves none (vem)."""
    share: float
    """The share of the draws within the intervals."""

    def intervals(self) -> tuple[Floats, Floats]:
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
        centred = steps - steps.mean()
        if not centred.any():
            raise InputError("the collections have one time: nothing rises or falls")
        weights = centred / (centred @ centred)
        slopes = weights @ self.mean
        low = high = np.full(len(slopes), np.nan)
        if len(self.draws):
            tail = 50 * (1 - self.share)
            low, high = np.percentile(np.einsum("j,sjk->sk", weights, self.draws), [tail, 100 - tail], axis=0)
        order = np.argsort(-slopes, kind="stable")
        return [Trend(int(k), float(slopes[k]), float(low[k]), float(high[k])) for k in order]


def mixtures(model: Model, by: str = "collection", share: float = 0.9) -> Mixtures:
    """The collections of a model, as the file has them, or (by="time") in the order of their mean times."""
    if "pi" not in model.side:
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


def describe(model: Model, found: Mixtures, topics: int, words: int) -> list[dict[str, Any]]:
    """Each collection's foremost topics as plain data."""
    low, high = found.intervals()
    top = [[word for word, _ in row] for row in model.top_words(words)]
    rows = []
    for j, name in enumerate(found.names):
        order = np.argsort(-found.mean[j], kind="stable")[:topics]
        rows.append({
            "collection": name, "documents": int(found.documents[j]), "time": _number(found.times[j]),
            "topics": [
                {"topic": int(k), "share": float(found.mean[j, k]), "low": _number(low[j, k]),
                 "high": _number(high[j, k]), "words": top[k]}
                for k in order
            ],
        })  # fmt: skip
    return rows


def describe_trends(model: Model, found: Mixtures, by_time: bool, topics: int, words: int) -> list[dict[str, Any]]:
    """The topics that rise and fall most, as plain data; the steepest rise first."""
    trends = found.trends(by_time)
    chosen = trends if len(trends) <= 2 * topics else trends[:topics] + trends[-topics:]
    top = [[word for word, _ in row] for row in model.top_words(words)]
    return [
        {"topic": t.topic, "slope": t.slope, "low": _number(t.low), "high": _number(t.high), "trend": t.sign,
         "shares": dict(zip(found.names, found.mean[:, t.topic].tolist(), strict=True)), "words": top[t.topic]}
        for t in chosen
    ]  # fmt: skip


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def contrasts(model: Model, state: State, words: int = 10) -> list[list[list[tuple[str, float]]]]:
    """For each topic and collection, the words that its tokens there have more than its tokens elsewhere, and z-scores:
    log-odds ratios under a Dirichlet prior of the topic's own shares (Monroe, Colaresi & Quinn 2008)."""
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
            best = [w for w in np.argsort(-z[j], kind="stable")[:words] if z[j, w] > 0]
            rows.append([(state.vocabulary[int(names[w])], float(z[j, w])) for w in best])
        result.append(rows)
    return result


def log_odds(table: Floats) -> Floats:
    """z-scores of each row's words against all other rows together."""
    total = table.sum(axis=0)
    prior = PRIOR * total / max(total.sum(), 1.0)
    rest = total - table
    own, other = table + prior, rest + prior
    own_rest, other_rest = own.sum(axis=1, keepdims=True) - own, other.sum(axis=1, keepdims=True) - other
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = np.log(own / own_rest) - np.log(other / other_rest)
        z = difference / np.sqrt(1 / own + 1 / other)
    return np.nan_to_num(z, nan=0.0, posinf=0.0, neginf=0.0)


def plot(model: Model, found: Mixtures, path: str | os.PathLike[str], by_time: bool, topics: int) -> None:
    """Bars of each collection's foremost topics; by time the topics that rise and fall most, as lines."""
    kind = check_plot(path)
    from matplotlib.figure import Figure

    low, high = found.intervals()
    names = [" ".join(word for word, _ in row) for row in model.top_words(3)]
    if by_time and len(found.names) > 1:
        trends = found.trends(True)
        figure = Figure(figsize=(11, 4.5), layout="constrained")
        for panel, title, some in zip(
            figure.subplots(1, 2), ("rising", "falling"), (trends[:topics], trends[::-1][:topics]), strict=True
        ):
            for number, trend in enumerate(some):
                k, color = trend.topic, f"C{number % 10}"
                panel.plot(found.times, found.mean[:, k], color=color, marker="o", label=f"{k} {names[k]}")
                panel.fill_between(found.times, low[:, k], high[:, k], color=color, alpha=0.2)
            panel.set(title=title, xlabel="time", ylabel="share", ylim=(0, None))
            panel.legend(fontsize=7)
    else:
        rows = len(found.names)
        figure = Figure(figsize=(max(6, 0.18 * found.mean.shape[1] + 3), 1.6 * rows + 0.8), layout="constrained")
        panels = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
        for j, panel in enumerate(panels):
            error = None
            if len(found.draws):
                error = np.maximum(np.stack([found.mean[j] - low[j], high[j] - found.mean[j]]), 0)
            panel.bar(np.arange(found.mean.shape[1]), found.mean[j], yerr=error, color="C0", ecolor="0.3")
            panel.set_title(found.names[j], fontsize=9)
            for k in np.argsort(-found.mean[j])[: min(topics, 3)]:
                panel.annotate(names[k], (k, found.mean[j, k]), fontsize=6, ha="center", va="bottom")
        panels[-1].set_xlabel("topic")
    with atomic_output(path) as out:
        figure.savefig(out, format=kind, dpi=120)
