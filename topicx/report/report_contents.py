"""All that a report says, whatever its format: numbers, words, sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.table import Numbers, Times
from topicx.model import Model
from topicx.report.collected_documents import CollectedDocuments
from topicx.report.figures import as_percent, bin_name, format_count, plural_unit, singular_unit
from topicx.report.group_sentences import groups_sentence
from topicx.report.model_tables import ModelTable, model_tables
from topicx.report.report_groups import GroupedShares
from topicx.report.report_options import ReportOptions
from topicx.report.topic_phrases import topic_phrases
from topicx.report.topic_quality import (
    Settling,
    TopicQuality,
    interpret_topic,
    judge_settling,
    quality_sentence,
    topic_quality,
)
from topicx.report.topic_recurrence import TopicRecurrence
from topicx.report.topic_relations import Families, nearest_topics, topic_families, topics_together, word_overlap
from topicx.report.topic_words import ReportWords, report_words, topic_rows
from topicx.report.trend_sentences import (
    Sentence,
    Spans,
    centre_of,
    change_sentence,
    leaders_sentence,
    most_in,
    spans_of,
    trend_sentence,
)

LISTED = 10
"""Words of a topic in a list."""


@dataclass
class ColumnView:
    """Topics by one column: what the view of it says."""

    shares: GroupedShares
    names: list[str]
    label: str
    ordered: bool
    """Spans of time, one after another."""
    spans: Spans | None = None
    headline: Sentence = field(default_factory=list)
    leaders: list[int] = field(default_factory=list)
    trends: list[str] = field(default_factory=list)
    """A sentence a topic."""
    most: list[int] = field(default_factory=list)
    """The span where each topic is largest."""
    order: list[int] = field(default_factory=list)
    """Topics by when they stand."""
    partial: str = ""
    """The years that the last span has, where documents end before it does."""


@dataclass
class ReportContents:
    """What every format of a report shows."""

    model: Model
    options: ReportOptions
    notes: dict[int, str]
    words: ReportWords
    top: list[list[str]]
    """The most frequent words of each topic."""
    weights: NDArray[np.float64]
    quality: TopicQuality
    settled: Settling
    families: Families
    overlap: NDArray[np.float64]
    near: list[list[tuple[int, float]]]
    making: list[list[str]]
    """What to make of each topic."""
    own_words: list[str]
    """A sentence a topic on the words that tell it apart."""
    headline: Sentence
    documents: CollectedDocuments | None = None
    beside: list[list[tuple[int, float, int]]] = field(default_factory=list)
    phrases: list[list[tuple[str, int]]] = field(default_factory=list)
    columns: list[ColumnView] = field(default_factory=list)
    typical: list[list[tuple[int, float]]] = field(default_factory=list)
    about: list[tuple[str, str]] = field(default_factory=list)
    effects: list[dict[str, Any]] = field(default_factory=list)
    search: list[dict[str, Any]] = field(default_factory=list)
    tables: list[ModelTable] = field(default_factory=list)
    """What the model knows of its topics beside words and shares."""
    again: TopicRecurrence | None = None
    """Whether other runs find the same topics."""

    @property
    def counted(self) -> bool:
        """Whether words were counted; else topics' sizes are their shares of the documents."""
        return self.documents.counted if self.documents else True

    @property
    def whole(self) -> str:
        """What shares of topics are shares of."""
        return "the words" if self.counted else f"the average {singular_unit(self.options.unit)}"

    @property
    def share_heading(self) -> str:
        """The heading of a column of such shares."""
        return "Share of words" if self.counted else "Mean share"

    def quality_sentence(self) -> str:
        """Whether the model may be relied on."""
        shown = self.model.shown
        told = [quality_sentence(self.quality, self.settled, int(shown.sum()))]
        return "; ".join(told + ([self.again.sentence(shown)] if self.again else []))

    @property
    def time(self) -> ColumnView | None:
        """The first view over time."""
        return next((one for one in self.columns if one.ordered), None)

    def called(self, topic: int) -> str:
        """The topic's name, or its three most frequent words."""
        names = self.model.topic_names
        return (names[topic] if len(names) else "") or " ".join(self.top[topic][:3]) or f"topic {topic}"

    def told(self, sentence: Sentence) -> str:
        """A sentence as plain text."""
        return "".join(self.called(part) if isinstance(part, int) else part for part in sentence)

    def topic_sentence(self, topic: int) -> str:
        """What is found of a topic: how it goes over time, else the words that tell it apart."""
        trend = self.time.trends[topic] if self.time else ""
        return trend or self.own_words[topic]

    def order(self) -> list[int]:
        """The topics of the front page: by when, or by share."""
        if self.time:
            return self.time.order
        return [int(k) for k in np.lexsort((np.arange(len(self.weights)), -self.weights))]


def report_contents(
    model: Model, options: ReportOptions, documents: CollectedDocuments | None, notes: Mapping[int, str],
    again: TopicRecurrence | None = None,
) -> ReportContents:  # fmt: skip
    """Everything that the reports of these inputs say."""
    rows = topic_rows(model)
    words = report_words(model, rows)
    weights = np.nan_to_num(model.topic_weights)
    state = documents.state if documents else None
    above = documents.above if documents else np.zeros((0, 0), np.int64)
    counted = documents.counted if documents else True
    quality = topic_quality(model, rows, words, state, above, options.unit, counted)
    for k, why in (again.doubtful() if again else {}).items():
        if model.shown[k]:
            quality.care.setdefault(k, []).append(why)
    quality.care = dict(sorted(quality.care.items()))
    settled = judge_settling(model)
    overlap = word_overlap(rows)
    totals = np.asarray(rows.sum(axis=1)).ravel()
    contents = ReportContents(
        model, options, dict(notes), words, [words.names(k, 1.0, LISTED) for k in range(model.n_topics)], weights,
        quality, settled, topic_families(rows, weights), overlap, nearest_topics(overlap, model.shown),
        [interpret_topic(k, quality, words, totals, options.unit) for k in range(model.n_topics)],
        [_own_words(words, k) for k in range(model.n_topics)], [],
    )  # fmt: skip
    contents.again, contents.tables = again, model_tables(model)
    if again:
        for k, told in enumerate(contents.making):
            told.append(again.of_topic(k))
    if documents:
        contents.documents = documents
        contents.columns = [_column_view(one, documents, model, singular_unit(options.unit)) for one in documents.by]
        contents.beside = topics_together(
            documents.indptr, documents.topics, documents.shares, model.n_topics, model.shown
        )
        contents.typical = documents.typical(model.n_topics)
        if state is not None and state.placed:
            contents.phrases = topic_phrases(state)
    contents.headline = _headline_sentence(contents)
    return contents


def _own_words(words: ReportWords, topic: int) -> str:
    """The words that tell a topic from the others, where at least half of their uses are there."""
    own = slice(words.starts[topic], words.starts[topic + 1])
    uses = words.uses[words.chosen[own]]
    half = {int(w) for w, n, all_ in zip(words.chosen[own], words.used[own], uses, strict=True) if n >= all_ / 2}
    said = [f"“{words.words[w]}”" for w in words.of_topic(topic, 0.6, 20) if w in half][:3]
    if len(said) < 2 or not len(words.starts) > 2:
        return ""
    return f"More than half of all uses of {', '.join(said[:-1])} and {said[-1]} are here"


def _column_view(shares: GroupedShares, documents: CollectedDocuments, model: Model, unit: str) -> ColumnView:
    groups = shares.groups
    names = [bin_name(name) if groups.ordered else name for name in shares.found.names]
    label = {"time": "time", "label": "label", "collection": "collection"}.get(shares.column, shares.column)
    view = ColumnView(shares, names, label, groups.ordered)
    if not groups.ordered:
        low, high = shares.intervals()
        view.headline = groups_sentence(names, shares.found.documents, shares.mean, low, high, model.shown)
    if groups.ordered:
        spans = view.spans = spans_of(shares.found)
        view.headline, view.leaders = leaders_sentence(spans, model.shown)
        if not view.headline:
            view.headline = change_sentence(spans, model.shown, unit)
            view.leaders = list(dict.fromkeys(part for part in view.headline if isinstance(part, int)))
        view.trends = [trend_sentence(spans, k) for k in range(model.n_topics)]
        view.most = [most_in(spans, k) for k in range(model.n_topics)]
        middle = [centre_of(spans, k) for k in range(model.n_topics)]
        view.order = sorted(range(model.n_topics), key=lambda k: (middle[k], k))
        view.partial = _partial_span_note(shares, documents)
    return view


def _partial_span_note(shares: GroupedShares, documents: CollectedDocuments) -> str:
    """Say of spans of years what the last one has, where the documents end before it does."""
    column = documents.columns.get(shares.column)
    last = [name for name in shares.groups.names if re.fullmatch(r"\d{4}-\d{4}", name)][-1:]
    if not last or column is None or not len(column):
        return ""
    if isinstance(column, Numbers | Times) and not (isinstance(column, Times) and column.dates):
        latest = int(np.nanmax(column.values))
    else:
        texts = {value for value in column.told() if isinstance(value, str)}
        latest = max((int(text[:4]) for text in texts if re.match(r"\d{4}", text)), default=0)
    first, end = map(int, last[0].split("-"))
    if not first <= latest < end:
        return ""
    return str(first) if latest == first else f"{first} to {latest}"


def _headline_sentence(contents: ReportContents) -> Sentence:
    """The front page's sentence."""
    shown, weights = contents.model.shown, contents.weights
    if contents.time and contents.time.spans:
        told = change_sentence(contents.time.spans, shown, singular_unit(contents.options.unit))
        if told:
            return told
    order = [int(k) for k in np.lexsort((np.arange(len(weights)), -weights)) if shown[k]]
    if not order:
        return ["All topics are hidden"]
    if len(order) == 1:
        return ["One topic holds all the words: " if contents.counted else "There is one topic: ", order[0]]
    if len(order) <= 12:
        least = order[-1]
        return [
            f"The largest of {len(order)} topics is ", order[0],
            f", {as_percent(weights[order[0]])} of {contents.whole}; the smallest is ", least,
            f", {as_percent(weights[least])}",
        ]  # fmt: skip
    ten = as_percent(float(weights[order[:10]].sum()))
    return [f"The ten largest of {len(order)} topics hold {ten} of {contents.whole}; the largest is ", order[0]]


def size_sentence(contents: ReportContents) -> str:
    """How much there is, in one line."""
    model, documents = contents.model, contents.documents
    number = int(model.shown.sum())
    made = [f"{format_count(number)} topic{'s' if number != 1 else ''}"]
    n_documents = len(documents) if documents else model.meta.get("documents")
    n_tokens = int(documents.lengths.sum()) if documents else model.meta.get("tokens")
    n_tokens = None if documents and not documents.counted else n_tokens
    if isinstance(n_documents, int):
        unit = plural_unit(contents.options.unit) if n_documents != 1 else singular_unit(contents.options.unit)
        made.append(f"in {format_count(n_documents)} {unit}")
    time = contents.time
    if time and len(time.names) > 1:
        known = [name for name in time.names if name != "(none)"]
        made[-1] += f", {known[0]} to {known[-1]}"
    told = " ".join(made)
    if isinstance(n_tokens, int):
        told += f"; {format_count(n_tokens)} words counted"
    order = np.sort(contents.weights[model.shown])[::-1]
    if number > 12 and n_tokens is not None:
        told += f". The ten largest topics hold {as_percent(float(order[:10].sum()))} of them"
    return told + "."


def families_sentence(contents: ReportContents, number: int) -> list[Any]:
    """How many families, and the largest."""
    families = contents.families
    members = families.cuts[number]
    held = [float(contents.weights[one].sum()) for one in members]
    if len(members) == 1:
        return ["All topics are one family"]
    largest = int(np.argmax(held))
    vocabulary = contents.model.vocabulary
    words = ", ".join(vocabulary[w] for w in families.words[number][largest])
    return [
        f"The {len(families.order)} topics fall into {number} families; the largest, around ", {"w": words},
        f", holds {as_percent(held[largest])} of {contents.whole}",
    ]  # fmt: skip


__all__ = ["ColumnView", "ReportContents", "families_sentence", "report_contents", "size_sentence"]
