"""Sentences about topics over time, made from mean shares and their intervals. They claim only what the intervals part.

A sentence is a list: texts, and the numbers of topics, whose names are put there when it is shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicx.report.figures import as_percent, bin_name, listed_words, of_bin
from topicx.views.group_mixtures import Mixtures

Sentence = list[str | int]
Floats = NDArray[np.float64]
LARGE = 0.02
"""A topic that never reaches this share is never large."""


@dataclass(frozen=True)
class Spans:
    """Shares of topics by spans of time, in their order, those without documents left out of what is said."""

    names: list[str]
    known: NDArray[np.int64]
    """The spans whose shares have an interval."""
    mean: Floats
    low: Floats
    high: Floats
    documents: NDArray[np.int64]
    errors: Floats

    @property
    def kind(self) -> str:
        """What several spans are called."""
        first = self.names[0] if self.names else ""
        kinds = (
            (r"\d{3}0s", "decades"),
            (r"-?\d{1,4}", "years"),
            (r"\d{4}-\d\d", "months"),
            (r"\d{4} Q\d", "quarters"),
        )
        return next((word for pattern, word in kinds if re.fullmatch(pattern, first)), "spans")


def spans_of(found: Mixtures) -> Spans:
    """The spans of time among these groups."""
    low, high = found.intervals()
    timed = np.isfinite(found.times)
    known = np.flatnonzero(timed & np.isfinite(low[:, 0]) & np.isfinite(found.mean[:, 0]))
    errors = found.errors if len(found.errors) else np.zeros(found.mean.shape)
    return Spans([bin_name(name) for name in found.names], known, found.mean, low, high, found.documents, errors)


def trend_sentence(spans: Spans, topic: int) -> str:
    """How the share of a topic goes; empty: nothing can be said."""
    if len(spans.known) < 2:
        return ""
    mean, low, high = (one[spans.known, topic] for one in (spans.mean, spans.low, spans.high))
    when = [of_bin(spans.names[j]) for j in spans.known]
    last, peak = len(mean) - 1, int(np.argmax(mean))
    first_told, last_told = f"{as_percent(mean[0])} in {when[0]}", f"{as_percent(mean[last])} in {when[last]}"
    ends, sure = max(mean[0], mean[last]), low[peak] > max(high[0], high[last])
    if sure and mean[peak] > (2 if mean[peak] >= LARGE else 3) * ends:
        return (
            f"Highest in {_peak_phrase(peak, low, high, when)} {as_percent(mean[peak])}; {first_told} and {last_told}"
        )
    if mean[peak] < LARGE and mean[peak] <= 3 * max(min(mean[0], mean[last]), 1e-9):
        return f"Never large: at most {as_percent(mean[peak])}, in {when[peak]}"
    if mean[last] > 1.6 * mean[0] and low[last] > high[0]:
        between = peak not in (0, last) and mean[peak] > 1.3 * mean[last] and low[peak] > high[last]
        way = f", by way of {as_percent(mean[peak])} in {when[peak]}" if between else ""
        return f"Rises from {first_told} to {last_told}{way}"
    if mean[0] > 2 * mean[last] and low[0] > high[last]:
        between = peak not in (0, last) and mean[peak] > 1.3 * mean[0] and low[peak] > high[0]
        way = f", by way of {as_percent(mean[peak])} in {when[peak]}" if between else ""
        return f"Falls from {first_told} to {last_told}{way}"
    return _level_sentence(mean, low, high, when)


def _peak_phrase(peak: int, low: Floats, high: Floats, when: list[str]) -> str:
    """The peak and the neighbours whose interval reaches its own, and the word before the number."""
    begin = end = peak
    while begin > 0 and high[begin - 1] >= low[peak]:
        begin -= 1
    while end + 1 < len(low) and high[end + 1] >= low[peak]:
        end += 1
    if begin == end:
        return f"{when[peak]}, at"
    if end == begin + 1:
        return f"{when[begin]} and {when[end].removeprefix('the ')}, at up to"
    return f"{when[begin]} to {when[end]}, at up to"


def _level_sentence(mean: Floats, low: Floats, high: Floats, when: list[str]) -> str:
    """A topic that neither rises nor falls."""
    least, most = int(np.argmin(mean)), int(np.argmax(mean))
    if low[most] <= high[least]:
        return f"No clear change: {as_percent(mean[least])} to {as_percent(mean[most])} throughout"
    told = f"between {as_percent(mean[least])} ({when[least].removeprefix('the ')}) and {as_percent(mean[most])} "
    told += f"({when[most].removeprefix('the ')})"
    return f"Always there: {told}" if mean[least] >= 0.01 else f"Comes and goes: {told}"


def change_sentence(spans: Spans, shown: NDArray[np.bool_], unit: str) -> Sentence:
    """The topics that fell and rose most, the first spans against the last; empty: none did."""
    known = spans.known
    if len(known) < 2 or not shown.any():
        return []
    ends = 3 if len(known) >= 9 else 1
    before, before_wide = _pool_spans(spans, known[:ends])
    after, after_wide = _pool_spans(spans, known[-ends:])
    sure = (np.abs(after - before) > before_wide + after_wide) & shown
    rise, fall = np.where(sure, after - before, 0), np.where(sure, before - after, 0)
    up, down = int(np.argmax(rise)), int(np.argmax(fall))
    number = {1: "one", 3: "three"}[ends]
    then = f"in the first {number} {spans.kind}" if ends > 1 else f"in {of_bin(spans.names[known[0]])}"
    now = f"in the last {number}" if ends > 1 else f"in {of_bin(spans.names[known[-1]])}"
    if rise[up] > 0 and fall[down] > 0:
        fallen = f", {as_percent(before[down])} of the average {unit} {then} and {as_percent(after[down])} {now}, to "
        return ["From ", down, fallen, up, f", {as_percent(before[up])} then and {as_percent(after[up])} at the end"]
    topic, verb = (up, "grows") if rise[up] > 0 else (down, "shrinks")
    if not (rise[up] > 0 or fall[down] > 0):
        return []
    told = f" {verb} most: {as_percent(before[topic])} of the average {unit} {then}, {as_percent(after[topic])} {now}"
    return [topic, told]


def _pool_spans(spans: Spans, chosen: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Mean shares over several spans, and the half width of a 90% interval."""
    weight = spans.documents[chosen][:, None] / max(int(spans.documents[chosen].sum()), 1)
    mean = (spans.mean[chosen] * weight).sum(axis=0)
    return mean, 1.645 * np.sqrt(((np.nan_to_num(spans.errors[chosen]) * weight) ** 2).sum(axis=0))


def leaders_sentence(spans: Spans, shown: NDArray[np.bool_]) -> tuple[Sentence, list[int]]:
    """Which topic is the largest when: the first run, the longest in between, the last; and these topics. A span where
    the largest is not sure belongs to no run, and breaks none."""
    runs = _runs_of_largest(spans, shown)
    if not runs:
        return [], []
    chosen = [runs[0]]
    between = sorted(runs[1:-1], key=lambda run: (run[1] - run[2], run[1]))
    between = [run for run in between if run[0] not in (runs[0][0], runs[-1][0])]
    chosen += between[:1]
    if len(runs) > 1:
        chosen.append(runs[-1])
    if len(chosen) == 1:
        sure = sum(_sure_largest(spans, shown, j) is not None for j in spans.known.tolist()) == len(spans.known)
        return [runs[0][0], f" is the largest topic {'throughout' if sure else 'where one stands out'}"], [runs[0][0]]
    ends = int(spans.known[0]), int(spans.known[-1])
    told: Sentence = []
    for number, (topic, begin, end) in enumerate(chosen):
        first, last = of_bin(spans.names[begin]), of_bin(spans.names[end])
        if number == 0:
            when = f"until {last}" if begin == ends[0] else f"from {first} to {last}"
            told += [topic, " is the largest topic " + (when if begin != end else f"in {first}")]
        elif number == len(chosen) - 1:
            when = f" since {first}" if end == ends[1] else f" from {first} to {last}"
            told += [", ", topic, when if begin != end else f" in {first}"]
        else:
            told += [", ", topic, f" from {first} to {last}" if begin != end else f" in {first}"]
    return told, list(dict.fromkeys(topic for topic, _, _ in chosen))


def _runs_of_largest(spans: Spans, shown: NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    """Topic, first and last span of each run of the largest topic."""
    runs: list[tuple[int, int, int]] = []
    for j in spans.known.tolist():
        top = _sure_largest(spans, shown, j)
        if top is None:
            continue
        if runs and runs[-1][0] == top:
            runs[-1] = (top, runs[-1][1], j)
        else:
            runs.append((top, j, j))
    return runs


def _sure_largest(spans: Spans, shown: NDArray[np.bool_], span: int) -> int | None:
    """The largest topic of a span, if its interval is above the mean of the second."""
    mean = np.where(shown, spans.mean[span], -1)
    top = int(np.argmax(mean))
    second = np.max(np.delete(mean, top)) if len(mean) > 1 else -1
    return top if spans.low[span, top] > second else None


def most_in(spans: Spans, topic: int) -> int:
    """The span where the topic's share is largest; -1: none is known."""
    mean = spans.mean[:, topic]
    known = np.isfinite(mean) & (np.array([bool(name) for name in spans.names]))
    return int(np.nanargmax(np.where(known, mean, -1))) if known.any() else -1


def centre_of(spans: Spans, topic: int) -> float:
    """When the topic stands: the middle of its shares over the spans."""
    mean = np.nan_to_num(spans.mean[:, topic])
    total = mean.sum()
    return float((mean * np.arange(len(mean))).sum() / total) if total > 0 else 0.0


__all__ = [
    "Sentence", "Spans", "centre_of", "change_sentence", "leaders_sentence", "listed_words", "most_in", "spans_of",
    "trend_sentence",
]  # fmt: skip
