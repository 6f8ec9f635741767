"""A report from a model and its documents, in the format that is asked for."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.estimate import estimate
from topicx.files.atomic_output import atomic_output
from topicx.model import Model
from topicx.report.collected_documents import CollectedDocuments, GivenShares, collected_documents
from topicx.report.figures import format_count, plural_unit
from topicx.report.given_effects import read_effects, use_predictions
from topicx.report.given_tables import foreign_model, read_search, read_shares, read_word_weights
from topicx.report.html_page import html_report
from topicx.report.name_edits import read_name_edits
from topicx.report.report_contents import ReportContents, report_contents
from topicx.report.report_options import ReportOptions
from topicx.report.topic_recurrence import Runs, read_runs, topic_recurrence
from topicx.state import State

Source = str | os.PathLike[str]
MODEL_NAMES = {
    "lda": "LDA", "hdp": "HDP", "dmr": "DMR", "medlda": "MedLDA", "labeled": "Labeled LDA", "compound": "Compound LDA",
    "mixture": "a mixture (one topic a document)", "keyword": "LDA with keywords", "prior": "Prior-LDA",
    "dependency": "Dependency-LDA",
}  # fmt: skip
"""What models are called; others by the name that they are trained by."""


@dataclass(frozen=True)
class ReportInputs:
    """What a report is made of beside a model: at most one source of documents, and tables that others made."""

    state: Source | State | None = None
    corpus: Source | Corpus | None = None
    doc_topics: Source | None = None
    shares: GivenShares | None = None
    edits: Source | None = None
    effects: Source | Sequence[Source] | None = None
    """Tables of coefficients, or of predicted shares."""
    search: Source | None = None
    again: Runs = ()
    """Other runs of the same documents."""
    threads: int | Engine = 0


def gathered_contents(model: Model, options: ReportOptions, inputs: ReportInputs) -> ReportContents:
    """All that a report of these inputs says."""
    notes = {int(k): str(note) for k, note in dict(model.meta.get("topic_notes", {})).items()}
    if inputs.edits is not None:
        changes = read_name_edits(inputs.edits, model.n_topics)
        digest = model.digest
        model, notes = changes.applied(model), notes | changes.notes
        model.digest = digest
    documents = collected_documents(
        model, state=inputs.state, corpus=inputs.corpus, doc_topics=inputs.doc_topics, shares=inputs.shares,
        by=options.by, unit=options.bins, way=options.shares, seed=options.seed, threads=inputs.threads,
    )  # fmt: skip
    if options.titles:
        if documents is None:
            raise InputError("--titles: needs documents: --state, --corpus or --doc-topics")
        if options.titles not in documents.columns:
            known = ", ".join(documents.columns) or "nothing beside their words"
            raise InputError(f"--titles {options.titles}: no such column. Columns: {known}")
    effects = inputs.effects or ()
    tables = [effects] if isinstance(effects, str | os.PathLike) else effects
    given = read_effects([os.fspath(one) for one in tables], model.n_topics)
    use_predictions(given, documents.by if documents else ())
    runs = read_runs(inputs.again, model, inputs.threads)
    contents = report_contents(model, options, documents, notes, topic_recurrence(model, runs) if runs else None)
    contents.about = about_rows(model, options, documents)
    contents.effects = given.coefficients
    if inputs.search is not None:
        contents.search = read_search(os.fspath(inputs.search))
    return contents


def foreign_inputs(source: Source, threads: int | Engine = 0) -> tuple[Model, State]:
    """The state that another program wrote, and the model that is estimated from it."""
    from topicx.interop import read_state

    state = read_state(source)
    return estimate(state, threads=threads), state


def table_inputs(theta: Source, words: Source) -> tuple[Model, GivenShares]:
    """Anyone's topics from two tables: shares of documents, and words of topics."""
    names, weights = read_word_weights(os.fspath(words))
    ids, columns, shares = read_shares(os.fspath(theta), names)
    return foreign_model(weights, names, shares), (ids, columns, shares)


def write_report(path: Source, form: str, contents: ReportContents) -> int:
    """Write the report and return its size in bytes."""
    data = render_report(form, contents)
    with atomic_output(path) as out:
        out.write(data)
    return len(data)


def render_report(form: str, contents: ReportContents) -> bytes:
    """The report's bytes."""
    if form == "html":
        return html_report(contents)
    if form == "md":
        from topicx.report.markdown_report import markdown_report

        return markdown_report(contents).encode("utf-8", "replace")
    from topicx.report.json_report import json_report

    return (json.dumps(json_report(contents), ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def about_rows(model: Model, options: ReportOptions, documents: CollectedDocuments | None) -> list[tuple[str, str]]:
    """How it was made, in rows; the last are digests."""
    meta: dict[str, Any] = model.meta
    rows: list[tuple[str, str]] = []
    if options.command:
        rows.append(("Command", options.command))
    kind = str(meta.get("model", "lda"))
    topics = f"{model.n_topics} topic{'s' if model.n_topics != 1 else ''}"
    made = [MODEL_NAMES.get(kind, kind), topics]
    sampler = f" by {meta['sampler']}" if "sampler" in meta else ""
    made += [f"{meta['iterations']} iterations{sampler}"] if "iterations" in meta else []
    made += [f"seed {meta['seed']}"] if "seed" in meta else []
    estimator = meta.get("estimator")
    if isinstance(estimator, dict):
        made.append(f"topics by {estimator.get('phi')}, shares of documents by {estimator.get('theta')}")
    rows.append(("Model", ", ".join(made)))
    rows.append(("Texts", _tell_about_texts(model, options, documents)))
    if documents and not documents.whole:
        rows.append(("Shares", "The table has the largest shares of each document alone: the others count as nothing."))
    rows.append(("Made with", f"topicx {_package_version()}"))
    cited = f"{options.title or 'Topics'}. Topics by topicx {_package_version()}"
    rows.append(("Cite as", f"{cited}, model {model.digest[:12]}." if model.digest else f"{cited}."))
    rows.append(("Digest of the model", model.digest or "it was not read from a file"))
    rows.append(("Digest of the corpus", model.parents.get("corpus", "not known")))
    return rows


def _tell_about_texts(model: Model, options: ReportOptions, documents: CollectedDocuments | None) -> str:
    unit = plural_unit(options.unit)
    tokenizer = model.meta.get("tokenizer") or {}
    stop = len(tokenizer.get("stopwords", ()))
    told = []
    if documents:
        empty = int((documents.lengths == 0).sum())
        words = f", {format_count(int(documents.lengths.sum()))} words counted" if documents.counted else ""
        told.append(f"{format_count(len(documents))} {unit}{words}")
        if empty:
            told.append(f"{format_count(empty)} {unit} without a word that the model knows count for nothing")
    else:
        for key, name in (("documents", unit), ("tokens", "words counted")):
            told += [f"{format_count(model.meta[key])} {name}"] if isinstance(model.meta.get(key), int) else []
    told.append(f"{format_count(model.n_words)} different words")
    if stop:
        told.append(f"{format_count(stop)} stop words left out")
    return "; ".join(told) + "."


def _package_version() -> str:
    from topicx import __version__

    return __version__


def default_title(path: Source) -> str:
    """A report's title where nobody gives one: the model's file name."""
    name = Path(os.fspath(path)).name
    for ending in (".gz", ".model", ".state", ".csv", ".tsv", ".jsonl", ".bin"):
        name = name.removesuffix(ending)
    return name or "Topics"


def with_title(options: ReportOptions, path: Source) -> ReportOptions:
    """The options with a title."""
    return options if options.title else replace(options, title=default_title(path))
