"""topicx export: corpora, states and models in other programs' formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from topicx.cli.common import (
    Number,
    any_state,
    check_fit,
    check_outputs,
    check_state,
    option,
    print_note,
    quiet,
    threads,
)
from topicx.errors import InputError
from topicx.interop.format_names import MODEL, STATE

if TYPE_CHECKING:
    from topicx.model import Model
    from topicx.state import State

CORPUS = ("lines", "jsonl", "parquet", "uci", "ldac", "svmlight")
TOKENS = (
    "mallet-state", "mallet-doc-topics", "mallet-topic-docs", "mallet-topic-phrase-report", "warplda", "dfr-browser2",
)  # fmt: skip
"""The formats that a model alone cannot give."""


WARP = (".z.estimate", ".model", ".vocab")
USES = {
    "state_path": ("mallet-diagnostics", "pyldavis", *TOKENS),
    "theta": ("mallet-doc-topics", "pyldavis"),
    "phi": (*MODEL, "pyldavis"),
    "doc_topics_threshold": ("mallet-doc-topics",),
    "doc_topics_max": ("mallet-doc-topics",),
    "words": (
        "mallet-topic-keys",
        "mallet-diagnostics",
        "mallet-topic-report",
        "mallet-topic-phrase-report",
        "dfr-browser2",
    ),
    "documents": ("mallet-topic-docs",),
    "path": STATE,
    "threads": (*STATE, *MODEL),
    "any_state": ("mallet-diagnostics", "pyldavis", *TOKENS),
}
"""The formats that an option is for."""


@click.command("export")
@click.argument("file")
@option(
    "--format", "format", type=click.Choice([*CORPUS, *STATE, *MODEL]), required=True, show_default=False,
    help="What to write.",
)  # fmt: skip
@option("--output", "-o", required=True, metavar="FILE", show_default=False,
        help="The file to write; - is standard output. warplda: the prefix of three files; dfr-browser2: a folder."
        )  # fmt: skip
@option("--state", "state_path", default=None, metavar="STATE", show_default=False,
        help="The state that goes with a model (mallet-diagnostics, pyldavis).")  # fmt: skip
@option("--theta", type=click.Choice(["cgs", "cgsp"]), default="cgs",
        help="Estimator of the documents' topics; cgs is what MALLET writes.")  # fmt: skip
@option("--phi", type=click.Choice(["cgs", "cgsp"]), default=None, show_default="cgs",
        help="Estimator of φ, where FILE is a state.")  # fmt: skip
@option("--doc-topics-threshold", type=Number(0, 1), default=0.0, help="Show a document's topics from this share on.")
@option("--doc-topics-max", type=click.IntRange(1), default=None, help="With a threshold: at most N of them.")
@option("--words", type=click.IntRange(1), default=20, help="Words a topic (topic keys, reports, diagnostics).")
@option("--path", type=click.IntRange(1), default=None, show_default=False,
        help="The assignment to write, of a state with several (train --paths).")  # fmt: skip
@option("--documents", type=click.IntRange(1), default=100, help="Documents a topic (mallet-topic-docs).")
@any_state
@threads
@quiet
@click.pass_context
def command(
    context: click.Context,
    file: str, format: str, output: str, state_path: str | None, theta: str, phi: str | None,
    doc_topics_threshold: float, doc_topics_max: int | None, words: int, path: int | None, documents: int,
    threads: int, quiet: bool, any_state: bool,
) -> None:  # fmt: skip
    """Write FILE, a corpus, a model or a state (any program's that 'topicx estimate' reads), in another format.

    \b
    A corpus: lines, jsonl, parquet, uci, ldac, svmlight (what 'topicx import' reads again).
    A state:  mallet-state, mallet-doc-topics, mallet-topic-docs, mallet-topic-phrase-report, warplda,
              pyldavis, dfr-browser2 (a folder), and all that a model gives.
    A model:  mallet-topic-keys, mallet-topic-report, mallet-topic-word-weights, mallet-word-topic-counts;
              with --state mallet-diagnostics and pyldavis.

    \b
    Examples:
      topicx export run.state --format mallet-doc-topics --doc-topics-threshold 0.05 -o doc-topics.txt
      topicx export run.state --format mallet-state -o state.gz
      topicx export texts.corpus --format uci -o docword.txt
    """
    if doc_topics_threshold >= 1:
        raise InputError("--doc-topics-threshold: 1 would leave nothing; it must be below 1")
    check_fit(context, USES, "--format", [format])
    if format in ("warplda", "dfr-browser2") and output == "-":
        raise InputError(f"--output -: {format} is several files, which standard output cannot take")
    written = [output] if format != "warplda" else [f"{output}.{end}" for end in ("z.estimate", "model", "vocab")]
    written = [] if format == "dfr-browser2" else written
    inputs = [file, *(f"{file.removesuffix(end)}{other}" for end in WARP for other in WARP if file.endswith(end))]
    check_outputs(written, [*inputs, state_path])
    written = _export_one(
        file, format, output, state_path, theta, phi, doc_topics_threshold, doc_topics_max, words, documents, threads,
        path, any_state, quiet,
    )  # fmt: skip
    print_note(f"wrote {', '.join(written)}", quiet=quiet or output == "-")


def _tell_numbers(model: Model, quiet: bool) -> None:
    """Which topic is which in pyLDAvis, where topics have names or are hidden."""
    if model.called or not model.shown.all():
        called = [name for name, shown in zip(model.called or map(str, range(model.n_topics)), model.shown) if shown]
        told = ", ".join(f"{at}: {name}" for at, name in enumerate(called))
        print_note(f"pyLDAvis shows topics by numbers without gaps: {told}", quiet=quiet)


def _export_one(
    file: str, format: str, output: str, state_path: str | None, theta: str, phi: str | None, threshold: float,
    most: int | None, words: int, documents: int, threads: int, path: int | None, any_state: bool, quiet: bool,
) -> list[str]:  # fmt: skip
    if format in CORPUS:
        from topicx.corpus.corpus import Corpus
        from topicx.corpus.formats.corpus_writers import export_corpus

        return export_corpus(Corpus.load(file), output, format)
    kind = _kind_of_file(file)
    if kind == "corpus":
        raise InputError(f"--format {format}: writes a state or a model, and {file} is a corpus")
    from topicx.interop import model_export

    model, state = _load_file(file, kind, state_path, phi, threads, path, any_state)
    if format in TOKENS:
        if kind == "model" and state_path is None:
            raise InputError(f"--format {format}: needs every token's topic, and {file} is a model; give its state")
        assert state is not None
        return _export_tokens(model, state, format, output, theta, threshold, most, words, documents, threads)
    if format in ("pyldavis", "mallet-diagnostics") and state is None:
        raise InputError(f"--format {format}: needs the documents, and {file} is a model; give --state as well")
    assert model is not None
    if format == "mallet-topic-keys":
        model_export.mallet_topic_keys(model, output, words)
    elif format == "mallet-topic-report":
        model_export.mallet_topic_report(model, output, words)
    elif format == "mallet-topic-word-weights":
        model_export.mallet_topic_word_weights(model, output)
    elif format == "mallet-word-topic-counts":
        model_export.mallet_word_topic_counts(model, output, state)
    else:
        assert state is not None
        if format == "pyldavis":
            model_export.write_pyldavis(state, model, output, theta=theta, threads=threads)
            _tell_numbers(model, quiet or output == "-")
        else:
            from topicx.evaluate.diagnostics import topic_diagnostics

            rows = topic_diagnostics(model if kind == "model" else None, state, top=words)
            model_export.mallet_diagnostics(rows, output, words)
    return [output]


def _export_tokens(
    model: Model | None, state: State, format: str, output: str, theta: str, threshold: float, most: int | None,
    words: int, documents: int, threads: int,
) -> list[str]:  # fmt: skip
    """Write what needs every token's topic; the files."""
    from topicx.interop import model_export

    if format == "mallet-state":
        model_export.mallet_state(state, output)
        lost = int((state.lengths[::-1] > 0).argmax()) if state.lengths.any() else state.n_documents
        if lost:
            print_note(
                f"the last {lost:,} documents are empty, which MALLET's state cannot say: it has lines for tokens"
            )
    elif format == "warplda":
        return model_export.warplda.write(state, output)
    elif format == "dfr-browser2":
        from topicx.interop.dfr_browser import write_dfr_data

        assert model is not None
        return write_dfr_data(model, state, output, words)
    elif format == "mallet-topic-docs":
        model_export.mallet_topic_docs(state, output, documents)
    elif format == "mallet-topic-phrase-report":
        model_export.mallet_topic_phrase_report(state, output, words)
    else:
        model_export.mallet_doc_topics(state, output, theta=theta, threshold=threshold, most=most, threads=threads)
    return [output]


def _kind_of_file(file: str) -> str:
    """Kind of a file: corpus, model, or state (other programs' files are states)."""
    from topicx.files import container

    if not container.is_topicx(file):  # standard input and pipes are states, too
        return "state"
    kind = container.kind_of(file)
    if kind not in ("corpus", "model", "state"):
        raise InputError(f"{file}: is a topicx {kind}; a corpus, a model or a state can be exported")
    return kind


def _load_file(
    file: str, kind: str, state_path: str | None, phi: str | None, threads: int, path: int | None, any_state: bool
) -> tuple[Model | None, State | None]:
    from topicx.estimate import estimate
    from topicx.estimate.topic_edits import follow_model_edits
    from topicx.interop import read_state

    if kind == "state":
        if state_path is not None:
            raise InputError(f"--state: {file} is a state itself")
        state = _one_path(read_state(file), file, path)
        return estimate(state, theta="cgs", phi=phi or "cgs", threads=threads, examples=0), state
    from topicx.model import Model

    model = Model.load(file)
    if phi:
        raise InputError(f"--phi: {file} is a model, with a φ of its own")
    if state_path is None:
        if path is not None:
            raise InputError(f"--path: {file} is a model, which has no assignments; paths are of a state")
        return model, None
    state = read_state(state_path)
    if (state.n_topics, state.vocabulary) != (model.n_topics, model.vocabulary):
        raise InputError(f"{state_path}: is not the state of {file} (its topics or its words are others)")
    check_state(model, state, state_path, any_state)
    return model, follow_model_edits(_one_path(state, state_path, path), model)


def _one_path(state: State, name: str, path: int | None) -> State:
    """The assignment that was asked for (counted from 1), or all that there are."""
    if path is None:
        return state
    if path > state.paths:
        raise InputError(f"--path: {name} has {state.paths} of them, so there is no path {path}")
    return state.path(path - 1)
