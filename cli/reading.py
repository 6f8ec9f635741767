"""The options of reading, which every command that takes texts has: import, split, infer, evaluate."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import Function, check_fit, option, print_note, refuse_given, stack_options
from topicx.corpus.formats.format_table import FORMATS

if TYPE_CHECKING:
    from topicx.corpus.corpus import Corpus
    from topicx.corpus.formats.document_reader import DocumentReader, ReadOptions
    from topicx.corpus.formats.input_bytes import Faults
    from topicx.corpus.text.tokenizer import Tokenizer

GROUP = click.IntRange(0)
FIELDS = ("jsonl", "csv", "tsv", "parquet")
TEXTS = ("lines", "text", "dir", "files", *FIELDS)

fields = stack_options(
    option("--encoding", default="utf-8",
           help="Encoding of the text; a byte order mark is left out, and tells UTF-16 and UTF-32. Of several "
                "(utf-8,latin-1) each file is read in the first that it is text in."),
    option("--encoding-errors", type=click.Choice(["strict", "replace"]), default="strict",
           help="Bytes that the encoding does not have: a bad document (see --bad-documents), or U+FFFD for them."),
    option("--bad-documents", type=click.Choice(["stop", "skip", "repair"]), default="stop",
           help="Documents that cannot be read (zero bytes, bytes that are no text, broken JSON or rows): stop there; "
                "skip them; or repair what can be repaired, and skip the rest. They are counted."),
    option("--line-regex", default=None, metavar="REGEX",
           help="lines: pattern of a line, with groups for name, label and text.",
           show_default=r"^(\S*)[\s,]*(\S*)[\s,]*(.*)$, or by tabs"),
    option("--name", type=GROUP, default=1, help="lines: group of the document's name (0: none)."),
    option("--label", type=GROUP, default=2, help="lines: group of the label (0: none)."),
    option("--data", type=click.IntRange(1), default=3, help="lines: group of the text."),
    option("--text-field", metavar="FIELD", help="jsonl, csv, tsv, parquet: field of the text.", show_default="text"),
    option("--id-field", metavar="FIELD", help="Field of the document's name.", show_default="id, if it is there"),
    option("--label-field", metavar="FIELD", help="Field of the labels (arff: an attribute whose value is the label).",
           show_default="label, if it is there"),
    option("--collection-field", metavar="FIELD", help="Field of the collection.",
           show_default="collection, if it is there"),
    option("--time-field", metavar="FIELD", help="Field of the time: numbers (a year, say) or ISO dates.",
           show_default="time, if it is there"),
    option("--time-regex", metavar="REGEX",
           help=r"dir, files: what the first group of this pattern finds in a file's path is its time: '(\d{4})'."),
    option("--column", "columns", multiple=True, metavar="FIELD",
           help="Keep a further field as a column of the corpus (may be repeated)."),
    option("--label-delimiter", metavar="TEXT", help="Parts several labels in one field ('': one label).",
           show_default="lines: a comma; others: one label"),
    option("--no-label", multiple=True, metavar="LABEL", help="A label that means 'none' (may be repeated).",
           show_default="lines: -"),
    option("--label-names", metavar="FILE",
           help="svmlight: the names of the labels 1, 2 …, one a line; arff: the XML file that says what is a label.",
           show_default="X.labels for X; X.xml for X.arff, X-train.arff, X-test.arff"),
    option("--delimiter", metavar="CHAR", help="csv: what parts the fields.", show_default="comma; tsv: tab"),
    option("--no-header", is_flag=True, help="csv, tsv: there is no header; fields are named 1, 2, 3 …",
           show_default=False),
    option("--no-quotes", is_flag=True, help="csv, tsv: quotes are ordinary characters.", show_default=False),
    option("--vocab", metavar="FILE", help="uci, ldac, svmlight: the words, one a line.",
           show_default="vocab.X for docword.X, X.vocab for X; else words are numbers"),
    option("--index-base", type=click.IntRange(0, 1), default=None,
           help="ldac, svmlight: number of the first word.", show_default="0 for ldac, 1 for svmlight"),
    option("--skip-header", is_flag=True, show_default=False,
           help="dir, files: leave out what stands before the first blank line (the head of a letter or a posting)."),
    option("--follow-links", is_flag=True, show_default=False,
           help="dir: read files outside of the folder, too, that links in it lead to."),
    option("--chunk", type=click.IntRange(1), metavar="WORDS",
           help="Cut long texts into documents of about so many words (300, say): NAME#1, NAME#2 …, with all that the "
                "text carries, and columns `document` and `chunk`.", show_default="whole texts"),
)  # fmt: skip


def reading_options(format_option: str = "--input-format", *further: str) -> Callable[[Function], Function]:
    """The options of reading; import calls the format `--format`, others have an output's format of that name."""
    return stack_options(
        option(format_option, "input_format", type=click.Choice(["auto", *FORMATS, *further]), default="auto",
               help="Format of the inputs; auto looks at names and contents, and says what it found."),
        fields,
    )  # fmt: skip


USES = {
    **dict.fromkeys(("line_regex", "name", "label", "data"), ("lines",)),
    **dict.fromkeys(("text_field", "id_field", "collection_field", "time_field", "columns"), FIELDS),
    "label_field": (*FIELDS, "arff"),
    "label_delimiter": ("lines", *FIELDS),
    "label_names": ("svmlight", "arff"),
    **dict.fromkeys(("delimiter", "no_header", "no_quotes"), ("csv", "tsv")),
    "vocab": ("uci", "ldac", "svmlight"),
    "index_base": ("ldac", "svmlight"),
    "skip_header": ("dir", "files"),
    "time_regex": ("dir", "files"),
    "follow_links": ("dir",),
    "chunk": TEXTS,
}
"""The formats that an option is for."""

NAMES = ("input_format", "encoding", "encoding_errors", "bad_documents", "no_label", *USES)
"""The options of reading, as commands name them."""


OTHERWISE = ("input_format", "bad_documents", "no_header", "no_quotes")
"""Those that `ReadOptions` has under another name."""


def read_options(chosen: dict[str, Any], wanted: tuple[str, ...] = ()) -> ReadOptions:
    """What the options say; columns that are wanted are read where they are there."""
    from topicx.corpus.formats.document_reader import ReadOptions
    from topicx.corpus.formats.input_bytes import Faults

    return ReadOptions(
        format=chosen["input_format"], header=not chosen["no_header"], quotes=not chosen["no_quotes"],
        faults=Faults(chosen["bad_documents"]), usual_columns=wanted,
        **{name: chosen[name] for name in NAMES if name not in OTHERWISE},
    )  # fmt: skip


def open_reader(
    inputs: tuple[str, ...], chosen: dict[str, Any], quiet: bool, wanted: tuple[str, ...] = (),
    say: Callable[[str], None] | None = None,
) -> DocumentReader:  # fmt: skip
    """A reader of these inputs, all of which have been looked into. What it says goes to `say`, or to the terminal."""
    from topicx.corpus.formats.document_reader import read_documents

    reader = read_documents(inputs, read_options(chosen, wanted), say or (lambda text: print_note(text, quiet=quiet)))
    reader.check()
    planned = reader.planned_formats()
    if planned is not None:
        check_fit(click.get_current_context(), USES, "inputs read as", planned)
    return reader


def check_reading(reader: DocumentReader) -> None:
    """Refuse options of reading that are for none of the formats that were found."""
    check_fit(click.get_current_context(), USES, "inputs read as", reader.formats)


def say_faults(faults: Faults, quiet: bool, say: Callable[[str], None] | None = None) -> None:
    """How many documents could not be read, and the first of them; which files were read in another encoding."""
    from topicx.errors import list_first_names

    say = say or (lambda text: print_note(text, quiet=quiet))
    for encoding, files in faults.read_as.items():
        say(f"read as {encoding}: {len(files):,} files ({list_first_names(files)})")
    if faults.first:
        what = [f"{faults.skipped:,} left out"] * bool(faults.skipped) + [f"{faults.repaired:,} repaired"] * bool(
            faults.repaired
        )
        say("\n".join([f"bad documents: {', '.join(what)}; the first:", *(f"  {message}" for message in faults.first)]))


def names_without_folders(inputs: Iterable[str]) -> list[str]:
    """The names of files without their folders, as a file of ours remembers them: where they lay is nobody's matter."""
    return [os.fsencode(Path(name).name or name).decode("utf-8", "replace") for name in inputs]


def is_corpus(inputs: tuple[str, ...]) -> bool:
    """Whether the inputs are topicx files, for which options of reading would be ignored. A pipe is taken for one
    unless `--input-format` says what it is."""
    from topicx.errors import InputError
    from topicx.files import container

    first = Path(inputs[0])
    special = first.exists() and not first.is_file() and not first.is_dir()
    if (
        len(inputs) == 1
        and (inputs[0] == "-" or special)
        and click.get_current_context().params["input_format"] == "auto"
    ):
        return True  # as other commands write it; a pipe can be read only once
    ours = [name != "-" and container.is_topicx(name) for name in inputs]
    if any(ours) and not all(ours):
        raise InputError(f"{inputs[ours.index(True)]}: is a topicx file; give corpus files and text in separate runs")
    if all(ours):
        refuse_given(NAMES, "is for text, not for corpus files")
    return all(ours)


def read_corpus(
    inputs: tuple[str, ...], chosen: dict[str, Any], quiet: bool, like: tuple[Tokenizer, list[str]] | None = None
) -> Corpus:
    """A corpus in memory from texts, as import would read them without options for words; `like`: a tokenizer and a
    vocabulary."""
    from topicx.corpus.build.corpus_builder import Builder, BuildOptions
    from topicx.corpus.text.tokenizer import Tokenizer

    reader = open_reader(inputs, chosen, quiet)
    tokenizer, vocabulary = like or (Tokenizer(), None)
    building, faults = BuildOptions(find_stopwords=True), reader.options.faults
    with Builder(tokenizer, building, like=vocabulary, faults=faults) as builder:
        for batch in reader:
            builder.add(batch)
        check_reading(reader)
        if reader.only_counts:
            builder.forget_tokenizer()
        say_faults(faults, quiet)
        return builder.corpus({"inputs": names_without_folders(inputs), "input_formats": reader.formats})
