"""The parts of a page: which arrays each view needs, as small as they may be."""

from __future__ import annotations

import itertools
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.table import Column, Numbers, Times
from topicx.model import Model
from topicx.report.collected_documents import CollectedDocuments
from topicx.report.marked_texts import Marks, TextMarker, counted_words
from topicx.report.packed_arrays import PackedPart, cut_text, shorten_texts, square_root_bytes
from topicx.report.page_facts import page_facts
from topicx.report.report_contents import ReportContents
from topicx.report.report_options import SizeLimits
from topicx.report.topic_relations import HEATMAP
from topicx.strings import Strings
from topicx.views.topic_passages import PassageFinder

BLOCK = 1 << 20
"""Bytes of texts in one part: a page unpacks only those that are opened."""
TRACKED = 5_000
"""Words whose uses over time are told."""
TITLE = "title"
"""The column that holds titles, if none is named."""


@dataclass(frozen=True)
class KeptDocuments:
    """The documents that a page has, by their numbers in the source."""

    rows: NDArray[np.int64]
    place: NDArray[np.int64]
    """Place of each document of the source here; -1: it is left out."""


def kept_documents(documents: CollectedDocuments, typical: list[list[tuple[int, float]]], part: float) -> KeptDocuments:
    """All documents, or the typical ones and a sample by a hash of their names, which depends on nothing else."""
    number = len(documents)
    if part >= 1:
        return KeptDocuments(np.arange(number), np.arange(number))
    hashed = np.fromiter((zlib.crc32(name.encode("utf-8", "replace")) for name in documents.ids), np.uint32, number)
    chosen = hashed < part * 2**32
    chosen[[document for each in typical for document, _ in each]] = True
    rows, place = np.flatnonzero(chosen), np.full(number, -1, np.int64)
    place[rows] = np.arange(len(rows))
    return KeptDocuments(rows, place)


def about_part(contents: ReportContents, left_out: str) -> PackedPart:
    """How the report was made, and what it left out."""
    part = PackedPart("about")
    part.add_json("rows", [*contents.about, ("Left out here", left_out)])
    return part


def core_part(contents: ReportContents, limits: SizeLimits, kept: KeptDocuments | None) -> PackedPart:
    """What every view needs: facts, words, shares by columns, typical documents."""
    part, words = PackedPart("core"), contents.words
    part.add_strings("words", words.words)
    part.add("words.uses", words.uses.astype(np.float32))
    part.add("words.counts", np.minimum(np.diff(words.indptr), 255).astype(np.uint8))
    part.add("words.topics", words.topics)
    part.add("words.parts", np.rint(np.clip(words.parts, 0, 1) * 65535).astype(np.uint16))
    part.add("topics.starts", words.starts.astype(np.uint32))
    part.add("topics.words", words.chosen.astype(np.uint32))
    part.add("topics.uses", words.used.astype(np.float32))
    for number, view in enumerate(contents.columns):
        low, high = view.shares.intervals()
        part.add_scaled(f"by{number}.mean", view.shares.mean)
        part.add_scaled(f"by{number}.low", low)
        part.add_scaled(f"by{number}.high", high)
    if contents.model.n_topics <= HEATMAP:
        part.add("overlap", np.rint(255 * np.clip(contents.overlap, 0, 1)).astype(np.uint8))
    _add_typical(part, contents, limits, kept)
    _add_word_trends(part, contents)
    part.add_json("facts", page_facts(contents))
    return part


def _add_typical(
    part: PackedPart, contents: ReportContents, limits: SizeLimits, kept: KeptDocuments | None
) -> None:  # fmt: skip
    """Typical documents, and the passages of their texts that say most of the topic."""
    documents = contents.documents
    if documents is None or kept is None:
        _add_examples(part, contents.model, contents.options.snippets, limits)
        return
    typical = [each[: limits.passages] for each in contents.typical]
    part.add("typical.counts", np.array([len(each) for each in typical], np.uint8))
    part.add("typical.documents", kept.place[_flatten_field(typical, 0, np.int64)].astype(np.uint32))
    part.add("typical.shares", square_root_bytes(_flatten_field(typical, 1, np.float32)))
    if contents.options.snippets == "none" or not len(documents.texts):
        return
    finder, texts = PassageFinder(contents.model, limits.passage), documents.texts
    passages = (finder.passages(k, [texts[d] for d, _ in each]) for k, each in enumerate(typical))
    part.add_strings("passages", Strings.of(itertools.chain.from_iterable(passages)))


def _flatten_field(typical: list[list[tuple[int, float]]], field: int, kind: Any) -> NDArray[Any]:
    return np.array([one[field] for each in typical for one in each], kind)


def _add_examples(part: PackedPart, model: Model, snippets: str, limits: SizeLimits) -> None:
    """Add the examples of a model alone: the typical documents that it remembers."""
    flat = model.example_documents.ravel()
    there = np.flatnonzero(flat >= 0)
    if not len(there):
        return
    rank = there % model.example_documents.shape[1]
    there = there[rank < limits.passages]
    topic = there // model.example_documents.shape[1]
    part.add("typical.counts", np.bincount(topic, minlength=model.n_topics).astype(np.uint8))
    part.add("typical.shares", square_root_bytes(model.example_weights.ravel()[there].astype(np.float32)))
    part.add_strings("examples.ids", model.example_ids.take(there))
    if model.example_columns:
        part.add_strings("examples.columns", Strings.of(model.example_columns.objects(there)))
    if snippets != "none" and len(model.example_snippets):
        finder = PassageFinder(model, limits.passage)
        texts = [finder.passages(k, [model.example_snippets[i]])[0] for k, i in zip(topic.tolist(), there.tolist())]
        part.add_strings("examples.texts", Strings.of(texts))


def _add_word_trends(part: PackedPart, contents: ReportContents) -> None:
    """How often the most frequent words are used in each span of time."""
    documents, time = contents.documents, contents.time
    if documents is None or documents.state is None or time is None:
        return
    state, groups = documents.state, time.shares.groups
    spans = np.full(len(documents), -1, np.int64)
    spans[groups.documents] = groups.groups
    words = contents.words
    tracked = np.sort(np.lexsort((np.arange(len(words.uses)), -words.uses))[:TRACKED])
    column = np.full(state.n_words, -1, np.int64)
    column[words.numbers[tracked]] = np.arange(len(tracked))
    table = np.zeros((len(tracked), len(groups.names)), np.int64)
    for first in range(0, state.n_documents, 1 << 14):
        last = min(first + (1 << 14), state.n_documents)
        own = slice(int(state.offsets[first]), int(state.offsets[last]))
        word = column[state.words[own]]
        span = np.repeat(spans[first:last], np.diff(state.offsets[first : last + 1]))
        there = (word >= 0) & (span >= 0)
        key = word[there] * len(groups.names) + span[there]
        table += np.bincount(key, minlength=table.size).reshape(table.shape)
    part.add("tracked.words", tracked.astype(np.uint32))
    part.add("tracked.uses", table.astype(np.uint32))


def documents_part(contents: ReportContents, limits: SizeLimits, kept: KeptDocuments) -> PackedPart:
    """Names, titles, what documents carry, and their topics."""
    documents = contents.documents
    assert documents is not None
    part, rows = PackedPart("docs"), kept.rows
    everything = len(rows) == len(documents)
    part.add_strings("ids", documents.ids if everything else documents.ids.take(rows))
    part.add("lengths", documents.lengths[rows].astype(np.uint32))
    titles = contents.options.titles or (TITLE if TITLE in documents.columns else None)
    described: list[dict[str, Any]] = []
    for name, column in documents.columns.items():
        column = column if everything else column.take(rows)
        if isinstance(column, Numbers) or (isinstance(column, Times) and not column.dates):
            part.add(f"column.{name}", column.values)
            described.append({"name": name, "kind": "number"})
        elif name == titles:
            part.add_strings("titles", shorten_texts(_texts_of_column(column), limits.title))
        else:
            described.append(_add_text_column(part, name, _texts_of_column(column), limits))
    part.add_json("columns", described)
    for view in contents.columns:
        if view.ordered:
            groups = view.shares.groups
            spans = np.full(len(documents), 65535, np.uint16)
            spans[groups.documents] = groups.groups
            part.add_planes(f"span.{view.shares.column}", spans[rows])
    _add_shares(part, documents, limits, rows)
    return part


def _texts_of_column(column: Column) -> list[str]:
    """A text for each document: several labels with commas between, an empty one where there is no value."""
    return [", ".join(value) if isinstance(value, list) else value or "" for value in column.told()]


def _add_text_column(part: PackedPart, name: str, values: list[str], limits: SizeLimits) -> dict[str, Any]:
    """A column of texts: by the numbers of its different values, where there are few."""
    different = sorted(set(values))
    if len(different) > min(65535, max(len(values) // 2, 100)):
        part.add_strings(f"column.{name}", shorten_texts(values, limits.title))
        return {"name": name, "kind": "text"}
    place = {value: number for number, value in enumerate(different)}
    part.add_planes(f"column.{name}", np.array([place[value] for value in values], np.uint16))
    return {"name": name, "kind": "names", "values": different}


def _add_shares(
    part: PackedPart, documents: CollectedDocuments, limits: SizeLimits, rows: NDArray[np.int64]
) -> None:  # fmt: skip
    counts = np.diff(documents.indptr)
    kept = documents.shares >= limits.share
    chosen = np.zeros(len(documents), bool)
    chosen[rows] = True
    kept &= np.repeat(chosen, counts)
    row = np.repeat(np.arange(len(documents)), counts)[kept]
    part.add("theta.counts", np.minimum(np.bincount(row, minlength=len(documents))[rows], 255).astype(np.uint8))
    part.add_planes("theta.topics", documents.topics[kept])
    part.add("theta.shares", square_root_bytes(documents.shares[kept]))


def text_parts(contents: ReportContents, limits: SizeLimits, kept: KeptDocuments) -> list[PackedPart]:
    """Whole texts with the topics of their words, in blocks."""
    documents, parts = contents.documents, list[PackedPart]()
    assert documents is not None
    state = documents.state if documents.state is not None and documents.state.placed else None
    if not len(documents.texts) and state is None:
        return parts
    marker = TextMarker(state, contents.model.meta.get("tokenizer")) if state is not None else None
    texts: list[str] = []
    marks: list[Marks] = []
    size, begun = 0, 0
    for place, document in enumerate(kept.rows.tolist()):
        if len(documents.texts):
            text = documents.texts[document]
            text = cut_text(text, limits.text)
            marked = marker.marks(document, text) if marker else Marks([], [], [])
        else:
            assert state is not None
            text, marked = counted_words(state, document)
        texts.append(text)
        marks.append(marked)
        size += len(text)
        if size >= BLOCK or place + 1 == len(kept.rows):
            parts.append(_text_block(len(parts), begun, texts, marks))
            parts[-1].packed()  # packed at once, so that one block's texts are held and not all
            texts, marks, size, begun = [], [], 0, place + 1
    return parts


def _text_block(number: int, first: int, texts: list[str], marks: list[Marks]) -> PackedPart:
    part = PackedPart(f"texts{number}")
    part.add("first", np.array([first], np.uint32))
    part.add_strings("texts", Strings.of(texts))
    part.add("marks.counts", np.array([len(one.gaps) for one in marks], np.uint32))
    part.add("marks.gaps", np.array([gap for one in marks for gap in one.gaps], np.uint8))
    part.add("marks.sizes", np.array([size for one in marks for size in one.sizes], np.uint8))
    part.add_planes("marks.topics", np.array([topic for one in marks for topic in one.topics], np.uint16))
    return part
