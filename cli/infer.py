"""topicx infer: topic proportions of new documents."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from topicx.cli import labels
from topicx.cli.common import (
    Number,
    check_outputs,
    cluster_options,
    engine_meanwhile,
    log_option,
    metadata,
    option,
    quiet,
    refuse_given,
    seed,
    stack_options,
    threads,
)
from topicx.cli.declared import Grouped
from topicx.cli.log import JsonLog, Log
from topicx.cli.reading import NAMES, check_reading, open_reader, reading_options, say_faults

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from topicx.corpus.formats.document_reader import DocumentReader
    from topicx.predict.documents import Source
    from topicx.predict.inference import Inference
    from topicx.predict.reader import Read
    from topicx.predict.state_writer import StateWriter
    from topicx.tables.theta_writers import Selection

chain = stack_options(
    option("--iterations", type=click.IntRange(1), default=None, show_default="burn-in + (samples - 1) × lag",
           help="Sweeps over each document in all; settles whichever of the next two is left out."),
    option("--burn-in", type=click.IntRange(1), default=None, show_default="10; medlda: 20, cvb0: 10",
           help="Sweeps before the first sample."),
    option("--samples", type=click.IntRange(1), default=None, show_default="10", help="Samples that are averaged."),
    option("--lag", type=click.IntRange(1), default=1, help="Sweeps from one sample to the next."),
    option("--chains", type=click.IntRange(1), default=None, show_default="1; medlda: 5, where samples are drawn",
           help="Chains of these sweeps, whose θ is averaged."),
    option("--theta", type=click.Choice(["cgs", "cgsp", "cvb0"]), default=None,
           show_default="as the model was made; medlda: cvb0; else cgsp",
           help="Estimator: counts of topics (cgs), or the probabilities behind them (cgsp; one sample says more); "
           "cvb0: no sampling, expected counts."),
)  # fmt: skip


output_options = stack_options(
    option("--output", "-o", default="-", metavar="FILE|DIR/",
           help="Where θ goes; - is standard output; with a slash at its end a folder of files (--part-size)."),
    option("--part-size", type=click.IntRange(1), default=None, show_default="100,000",
           help="Documents of each file, where the output is a folder."),
    option("--format", "format_", type=click.Choice(["tsv", "csv", "jsonl", "npz", "parquet", "feather"]), default=None,
           show_default="by the output's ending; else tsv", help="Format of the output."),
    option("--threshold", type=Number(0, 1), default=0, help="Write only shares from this on (0: all of them)."),
    option("--top", type=click.IntRange(0), default=0, help="Write only the largest shares of a document (0: all)."),
    metadata,
    option("--escape-formulas", is_flag=True, show_default=False,
           help="csv, tsv: an apostrophe before names and texts that a spreadsheet would compute (= + - @)."),
    option("--wide", is_flag=True, show_default=False,
           help="parquet, feather: a column a topic, as csv has, where there would be one column of lists."),
    option("--state", metavar="FILE", help="Write the words and their last topics as a state file, too."),
)  # fmt: skip

input_options = stack_options(
    option("--group", "--collection", "group", metavar="NAME", show_default="the document's collection; else the mean",
           help="Use this group's α (a collection or a number), where the model has several."),
    option("--join-chunks", is_flag=True, show_default=False,
           help="Write one row for each text that import or --chunk has cut up, by its chunks' lengths."),
    reading_options("--input-format", "corpus"),
)  # fmt: skip


HEADINGS = {
    "Options that most calls have": (
        "output",
        "part_size",
        "format_",
        "top",
        "threshold",
        "escape_formulas",
        "wide",
        "metadata",
        "join_chunks",
        "threads",
        "quiet",
        "log_form",
    ),
    "Several machines": ("cluster", "shared"),
    "How topics are found": ("theta", "burn_in", "samples", "lag", "iterations", "chains", "group", "seed", "state"),
    "Models of labels": ("what", "ranking", "score"),
    "How texts are read (as in import)": ("input_format", *[name for name in NAMES if name != "input_format"]),
}


@click.command(cls=Grouped, headings=HEADINGS)
@click.argument("model")
@click.argument("inputs", nargs=-1, required=True, metavar="CORPUS...")
@output_options
@labels.infer_options
@chain
@input_options
@seed
@cluster_options
@threads
@quiet
@log_option
def command(
    model: str, inputs: tuple[str, ...], output: str, part_size: int | None, format_: str | None, threshold: float,
    top: int, metadata: str, escape_formulas: bool, wide: bool,
    state: str | None, iterations: int | None, burn_in: int | None, samples: int | None, lag: int, chains: int | None,
    theta: str | None, group: str | None, join_chunks: bool, what: str | None, ranking: int, score: str, seed: int,
    cluster: str | None, shared: str | None, threads: int, quiet: bool, log_form: str, **reading_options: Any,
) -> None:  # fmt: skip
    """Topic proportions (θ) of new documents under MODEL, whose topics stay as they are.

    CORPUS is a corpus file, or text in any format that `topicx import` reads (- is standard input), which is then split
    into words as the model's own corpus was. Everything is read, inferred and written in batches: memory does not
    grow with the documents. Words that the model does not know are left out and counted. A document's θ depends on its
    words and the seed alone. A model of labels gives each document's labels and a ranking of labels instead.

    \b
    Examples:
      topicx infer news.model new.corpus -o new.tsv
      zcat *.txt.gz | topicx infer news.model - --input-format text --top 3
      topicx infer news.model new.jsonl --text-field body -o new.parquet --threshold 0.01
      topicx infer tags.model new.corpus -o labels.tsv --ranking 20
    """
    if log_form == "json":
        refuse_given(("quiet",), "does not go with --log json")
    log = JsonLog() if log_form == "json" else Log(quiet)
    with log.errors():
        from topicx.model import Model
        from topicx.predict.inference import Inference
        from topicx.tables.theta_parts import PART, check_folder, is_folder
        from topicx.tables.theta_writers import Selection, format_of

        parted = is_folder(output)
        chosen = format_of(output, format_)
        if not parted:
            refuse_given(("part_size",), "is for an output that is a folder (-o NAME/)")
        if chosen not in ("csv", "tsv"):
            refuse_given(("escape_formulas",), "is for csv and tsv")
        if chosen not in ("parquet", "feather"):
            refuse_given(("wide",), "is for parquet and feather; csv and tsv have a column a topic")
        if threshold or top:
            refuse_given(("wide",), "is for all shares, not for the largest alone")
        check_outputs([None if parted else output, state], [model, *inputs])
        if parted:
            check_folder(output)
        with contextlib.ExitStack() as open_things:
            engine = open_things.enter_context(engine_meanwhile(cluster, shared, output, threads, None, log.tell))
            loaded = Model.load(model)
            how: dict[str, Any] = {"iterations": iterations, "burn_in": burn_in, "samples": samples, "lag": lag}
            how |= {"chains": chains, "theta": theta, "seed": seed, "group": group}
            labeller = labels.labeller_of(loaded, what, threshold, top, score)
            if labeller is not None:
                refuse_given(("wide",), "is for topics (--what topics), not for labels")
            table = ThetaOutput(
                output, chosen, Selection(threshold, top, escape_formulas, wide), ranking, join_chunks, metadata,
                (part_size or PART) if parted else None,
            )  # fmt: skip
            wants = Inference(loaded, **how).reader.wants
            source, reader = _open_source(wants, inputs, reading_options, log, open_things)
            inference = Inference(loaded, **how, threads=engine())
            saved = _state_writer(inference, state, open_things) if state is not None else None
            seen = _write_results(inference, source, labeller, table, saved, log, open_things)
            if reader is not None:
                check_reading(reader)
                say_faults(reader.options.faults, quiet, log.tell)
        seen.tell(inference, log)


@dataclass
class ThetaOutput:
    """The table of θ that is wanted."""

    path: str
    format: str
    selection: Selection
    ranking: int
    join_chunks: bool
    metadata: str
    """Which columns of the documents stand before θ."""
    part_size: int | None
    """Documents of a file, where the path is that of a folder."""

    def open(self, topics: int, selection: Selection, columns: Any, *named: Any) -> Any:
        """A context with a function that writes θ of some documents."""
        from topicx.tables.theta_parts import open_theta_parts
        from topicx.tables.theta_writers import open_theta_writer

        how = (topics, selection, columns, *named)
        if self.part_size is None:
            return open_theta_writer(self.path, self.format, *how)
        return open_theta_parts(self.path, self.format, self.part_size, *how)


def _state_writer(
    inference: Inference, path: str, open_things: contextlib.ExitStack
) -> StateWriter:  # fmt: skip
    from topicx.predict.state_writer import StateWriter

    inference.reader.need_assignments()
    sampling = inference.sampling
    about: dict[str, Any] = {"burn_in": sampling.burn_in, "samples": sampling.samples, "lag": sampling.lag}
    about |= {"chains": sampling.chains, "theta": sampling.theta, "seed": sampling.seed}
    writer = StateWriter(path, inference.model, inference.reader.alpha, about)
    return open_things.enter_context(contextlib.closing(writer))


def _write_results(
    inference: Inference, source: Source, labeller: Any, table: ThetaOutput, saved: StateWriter | None, log: Log,
    open_things: contextlib.ExitStack,
) -> Seen:  # fmt: skip
    """Infer the documents, batch by batch, and write what is wanted of each."""
    from topicx.corpus.table import choose_columns
    from topicx.corpus.text.chunks import COLUMNS, join_chunks
    from topicx.errors import InputError
    from topicx.predict.label_reader import LabelReader
    from topicx.tables.theta_writers import columns_with_free_names

    model, reader = inference.model, inference.reader
    columns = {} if isinstance(reader, LabelReader) else reader.predicted_columns()  # labels have a table of their own
    topics, selection, columns, *named = labels.table_layout(model, labeller, table.selection, table.ranking, columns)
    if table.join_chunks and columns:
        raise InputError("--join-chunks: what this model predicts is of chunks; it does not go together")
    carried = choose_columns(table.metadata, source.kinds(), COLUMNS if table.join_chunks else ())
    written = columns_with_free_names(carried, topics, named[0], columns) | columns
    add = open_things.enter_context(table.open(topics, selection, written, *named))
    if table.join_chunks:
        add = open_things.enter_context(join_chunks(add))
    bar = open_things.enter_context(log.progress(source.n_documents, "inferring", "documents"))
    seen = Seen()
    if labeller is not None or columns or saved is not None:  # they ask for words
        parts = inference.stream(inference.documents(source, carried))
    else:
        parts = inference.shares(source, carried)
    for part in parts:
        lengths = seen.add(part)
        shares = part.theta
        if labeller is None:
            found = reader.predict(part) if columns else ()
            shares = shares * model.shown
        else:
            shares, found = labels.rows_of(labeller, part)
        values = [part.documents.told(name) for name in carried]
        add(part.documents.ids, lengths, part.documents.unknown, shares, [*values, *found])
        if saved is not None:
            saved.add(part)
        bar.advance(len(lengths))
    if saved is not None:
        saved.finish()
    return seen


class Seen:
    """What has been read, for the last lines."""

    def __init__(self) -> None:
        self.documents = self.tokens = self.unknown = self.empty = self.strangers = 0
        self.started = time.monotonic()

    def add(self, read: Read) -> NDArray[np.int64]:
        """Count some documents; returns their lengths."""
        documents = read.documents
        lengths = documents.offsets[1:] - documents.offsets[:-1]
        self.documents += len(lengths)
        self.tokens += int(lengths.sum())
        self.unknown += int(documents.unknown.sum())
        self.empty += int((lengths == 0).sum())
        self.strangers += read.prior.strangers
        return lengths

    def tell(self, inference: Inference, log: Log) -> None:
        seconds = max(time.monotonic() - self.started, 1e-9)
        share = self.unknown / max(self.tokens + self.unknown, 1)
        log.tell(
            f"{self.documents:,} documents, {self.tokens:,} tokens, {self.unknown:,} unknown words left out "
            f"({share:.1%}); {seconds:.1f} s, {self.documents / seconds:,.0f} documents/s",
            "end", documents=self.documents, tokens=self.tokens, unknown=self.unknown, empty=self.empty,
            seconds=round(seconds, 3), documents_per_second=round(self.documents / seconds, 1),
        )  # fmt: skip
        if self.unknown and not self.tokens:
            some = inference.model.vocabulary[0]
            log.tell(f"the model knows none of the words (it knows words such as {some!r})")
        if self.strangers:
            log.tell(f"{self.strangers:,} {inference.reader.stranger_note}")
        if self.empty:
            log.tell(f"{self.empty:,} documents have no word that the model knows: their θ is the prior's mean")


def _open_source(
    wanted: Sequence[str], inputs: tuple[str, ...], reading_options: dict[str, Any], log: Log,
    open_things: contextlib.ExitStack,
) -> tuple[Source, DocumentReader | None]:  # fmt: skip
    """Where the documents come from, and what reads them if they are texts; `wanted`: columns that the model's reader
    asks for. All inputs have been looked into."""
    from topicx.corpus.corpus_on_disk import StoredCorpus
    from topicx.corpus.table import FIRST
    from topicx.errors import InputError
    from topicx.files import container
    from topicx.files.file_kinds import CORPUS
    from topicx.predict.documents import BatchSource, SeveralSources, StoredSource

    corpora = [name != "-" and container.is_topicx(name) for name in inputs]
    input_format = reading_options["input_format"]
    if input_format == "corpus" or (input_format == "auto" and all(corpora)):
        opened = [open_things.enter_context(container.open_file(name, CORPUS)) for name in inputs]
        refuse_given([name for name in NAMES if name != "input_format"], "is for text, not for corpus files")
        return SeveralSources([StoredSource(StoredCorpus(file)) for file in opened]), None
    if any(corpora):
        name = inputs[corpora.index(True)]
        raise InputError(f"{name}: is a topicx file; give corpus files and text in separate runs")
    further = tuple(name for name in wanted if name not in FIRST)
    reader = open_reader(inputs, reading_options, log.quiet, further, log.tell)
    return BatchSource(reader), reader
