"""topicx import"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import Number, check_fit, option, quiet, refuse, say, stack

if TYPE_CHECKING:
    from topicx.corpus.tokenize import Tokenizer

FORMATS = ("auto", "lines", "text", "dir", "jsonl", "csv", "tsv", "parquet", "uci", "ldac", "svmlight", "arff")
GROUP = click.IntRange(0)

reading = stack(
    option("--format", "format_", type=click.Choice(FORMATS), default="auto",
           help="Format of the inputs; auto looks at names and contents, and says what it found."),
    option("--encoding", default="utf-8", help="Encoding of the text; a byte order mark is left out."),
    option("--encoding-errors", type=click.Choice(["strict", "replace"]), default="strict",
           help="What to do with bytes that the encoding does not have: stop, or put U+FFFD for them."),
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
)  # fmt: skip

stop_options = stack(
    option("--remove-stopwords", is_flag=False, flag_value="en", multiple=True, metavar="[LANG]",
           help="Drop the stop words of a language: de, en, es, fr, it, nl (several with commas). [LANG: en]",
           show_default=False),
    option("--stoplist-file", multiple=True, metavar="FILE", help="Drop the words in this file (may be repeated)."),
    option("--extra-stopwords", multiple=True, metavar="WORDS", help="Drop these words, too (parted by commas)."),
)  # fmt: skip

tokenising = stack(
    option("--token-regex", default="words", metavar="REGEX",
           help="What a word is: a pattern of the regex package, or words (runs of letters, marks and digits, with "
                "inner apostrophes), mallet (MALLET's pattern), whitespace (text that is tokenised already)."),
    option("--preserve-case", is_flag=True, help="Do not lower-case the text.", show_default=False),
    stop_options,
    option("--bigrams", is_flag=True, show_default=False,
           help="Join pairs of words that are said together far more often than chance: new_york."),
    option("--bigram-min-count", type=click.IntRange(2), default=20, help="A joined pair occurs at least this often."),
    option("--bigram-npmi", type=Number(-1, 1), default=0.5,
           help="A joined pair has at least this normalised pointwise mutual information (-1 to 1)."),
)  # fmt: skip

limits = stack(
    option("--min-count", type=click.IntRange(1), default=1, help="Drop words with fewer tokens than this."),
    option("--min-doc-freq", type=click.IntRange(1), default=1, help="Drop words in fewer documents than this."),
    option("--max-doc-freq", type=Number(0, 1, above=0), default=1.0,
           help="Drop words in more than this share of the documents."),
    option("--drop-empty", is_flag=True, help="Drop documents that have no word left.", show_default=False),
)  # fmt: skip


FIELDS = ("jsonl", "csv", "tsv", "parquet")
USES = {
    **dict.fromkeys(("line_regex", "name", "label", "data"), ("lines",)),
    **dict.fromkeys(("text_field", "id_field", "collection_field", "time_field", "columns"), FIELDS),
    "label_field": (*FIELDS, "arff"),
    "label_delimiter": ("lines", *FIELDS),
    "label_names": ("svmlight", "arff"),
    **dict.fromkeys(("delimiter", "no_header", "no_quotes"), ("csv", "tsv")),
    "vocab": ("uci", "ldac", "svmlight"),
    "index_base": ("ldac", "svmlight"),
}
"""The formats that an option is for."""


class ImportCommand(click.Command):
    """Lets --remove-stopwords stand before an input: only languages are taken as its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        done: list[str] = []
        for i, argument in enumerate(args):
            done.append(argument)
            if argument == "--remove-stopwords":
                following = args[i + 1] if i + 1 < len(args) else "-"
                if not all(len(part) == 2 and part.isalpha() for part in following.split(",")):
                    done[-1] += "=en"
        return super().parse_args(ctx, done)


@click.command("import", cls=ImportCommand)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@option("--output", "-o", required=True, metavar="CORPUS", help="The corpus file to write; - is standard output.")
@reading
@tokenising
@limits
@option(
    "--like",
    metavar="FILE",
    help="Use the tokenising and the vocabulary of this corpus or model; other words are "
    "counted as unknown, and the options about words must be left out.",
)
@option(
    "--snippet",
    type=click.IntRange(0, 100_000),
    default=80,
    help="Keep this many characters of each text's beginning, for reports (0: none).",
)
@quiet
def command(inputs: tuple[str, ...], output: str, like: str | None, snippet: int, quiet: bool, **chosen: Any) -> None:
    """Read text in many formats and write a corpus file.

    INPUT is a file, a folder (a document a file, a folder a label) or - for standard input; .gz is unpacked.
    Several inputs make one corpus. Memory is bounded by the vocabulary, however large the input.

    \b
    Examples:
      topicx import texts.tsv -o texts.corpus --remove-stopwords --min-count 5
      topicx import docs.jsonl.gz --text-field body --label-field tags -o docs.corpus
      topicx import letters/ -o letters.corpus --bigrams
      topicx import new.txt --like texts.corpus -o new.corpus
    """
    import os
    from pathlib import Path

    from topicx import progress
    from topicx.corpus.bigrams import BigramOptions
    from topicx.corpus.build import Builder, BuildOptions
    from topicx.corpus.read import COUNTS, ReadOptions, read_documents

    options = ReadOptions(
        format=chosen["format_"], header=not chosen["no_header"], quotes=not chosen["no_quotes"],
        **{name: chosen[name] for name in (
            "encoding", "encoding_errors", "name", "label", "data", "text_field", "id_field", "label_field",
            "collection_field", "time_field", "columns", "label_delimiter", "no_label", "delimiter", "vocab",
            "index_base", "label_names",
        )},
    )  # fmt: skip
    if chosen["line_regex"] is not None:
        options.line_regex = chosen["line_regex"]
    if not chosen["bigrams"]:
        refuse(("bigram_min_count", "bigram_npmi"), "is for --bigrams")
    vocabulary = None
    if like is not None:
        _refuse_with_like()
        tokenizer, vocabulary = load_like(like)
    else:
        tokenizer = make_tokenizer(chosen)
    bigrams = BigramOptions(chosen["bigram_min_count"], chosen["bigram_npmi"]) if chosen["bigrams"] else None
    building = BuildOptions(
        chosen["min_count"],
        chosen["min_doc_freq"],
        chosen["max_doc_freq"],
        chosen["drop_empty"],
        snippet,
        bigrams,
    )
    folder = Path(output).resolve().parent if output != "-" else None
    if folder is not None and not (folder.is_dir() and os.access(folder, os.W_OK)):
        folder = None  # a device, or a mistake that the writer will name
    for name in inputs:
        if name != "-" and Path(name).is_file() and Path(output).is_file() and Path(name).samefile(output):
            raise click.BadParameter(f"{output} is an input: it would be overwritten", param_hint="--output")
    began = time.monotonic()
    reader = read_documents(inputs, options, lambda text: say(text, quiet=quiet))
    total = reader.total / 1e6 if reader.total is not None else None
    with Builder(tokenizer, building, like=vocabulary, directory=folder) as builder:
        bar = progress.for_terminal("reading", total, "MB", quiet=quiet)
        with bar:
            reader.say = bar.message if not quiet else reader.say
            done = 0
            for batch in reader:
                if not done and len(inputs) == 1:
                    check_fit(click.get_current_context(), USES, "inputs read as", reader.formats)
                builder.add(batch)
                bar.advance((reader.consumed - done) / 1e6, f"{builder.n_tokens:,} tokens")
                done = reader.consumed
        if set(reader.formats) <= set(COUNTS) and like is None:
            builder.tokenizer = None
        check_fit(click.get_current_context(), USES, "inputs read as", reader.formats)
        meta: dict[str, Any] = {"inputs": list(inputs), "input_formats": reader.formats}
        if like is not None:
            meta["like"] = like
        counts = builder.save(output, meta)["counts"]
    _report(counts, output, time.monotonic() - began, like, quiet)


def _refuse_with_like() -> None:
    """--like brings its own words: options about them would be ignored, so they are mistakes."""
    context = click.get_current_context()
    words = ("token_regex", "preserve_case", "remove_stopwords", "stoplist_file", "extra_stopwords", "bigrams",
             "bigram_min_count", "bigram_npmi", "min_count", "min_doc_freq", "max_doc_freq")  # fmt: skip
    for name in words:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            flag = "--" + name.replace("_", "-")
            raise click.UsageError(f"{flag} cannot go with --like, which fixes the words", context)


def make_tokenizer(chosen: dict[str, Any]) -> Tokenizer:
    """The tokenizer that the options describe."""
    from topicx.corpus.tokenize import Tokenizer

    return Tokenizer(chosen["token_regex"], not chosen["preserve_case"], chosen_stopwords(chosen))


def chosen_stopwords(chosen: dict[str, Any]) -> frozenset[str]:
    """The stop words that the options name."""
    from topicx.corpus.tokenize import make_stopwords

    languages = [part for value in chosen["remove_stopwords"] for part in value.split(",") if part]
    extra = [word for value in chosen["extra_stopwords"] for word in value.replace(",", " ").split()]
    return make_stopwords(languages, chosen["stoplist_file"], extra)


def load_like(path: str) -> tuple[Tokenizer, list[str]]:
    """The tokenizer and the vocabulary of a corpus or model file."""
    from topicx import files
    from topicx.corpus.tokenize import Tokenizer
    from topicx.kinds import CORPUS, MODEL

    with files.open_file(path, (CORPUS, MODEL)) as file:
        return Tokenizer.from_meta(file.meta.get("tokenizer")), list(file.strings("vocabulary"))


def _report(counts: dict[str, int], output: str, seconds: float, like: str | None, quiet: bool) -> None:
    read = sum(counts[name] for name in ("tokens", "stopword_tokens", "unknown_tokens", "dropped_tokens"))
    say(f"{output}: {many(counts['documents'], 'document')}, {many(counts['tokens'], 'token')}, "
        f"{many(counts['words'], 'word')} "
        f"({seconds:.1f} s, {read / max(seconds, 1e-9) / 1e6:.1f} M tokens/s)", quiet=quiet)  # fmt: skip
    if like is not None:
        everything = counts["tokens"] + counts["unknown_tokens"]
        share = counts["unknown_tokens"] / everything if everything else 0.0
        say(f"unknown to {like}: {many(counts['unknown_tokens'], 'token')} ({share:.1%})", quiet=quiet)
    left_out = []
    if counts["stopword_tokens"]:
        left_out.append(f"{many(counts['stopword_tokens'], 'token')} of stop words")
    if counts["dropped_words"]:
        tokens = many(counts["dropped_tokens"], "token")
        left_out.append(f"{many(counts['dropped_words'], 'word')} ({tokens}) by the limits")
    if counts["dropped_documents"]:
        left_out.append(many(counts["dropped_documents"], "empty document"))
    if left_out:
        say(f"left out: {', '.join(left_out)}", quiet=quiet)
    say_empty(counts["empty_documents"], quiet)


def say_empty(count: int, quiet: bool) -> None:
    if count:
        say(f"kept {many(count, 'empty document')} (--drop-empty drops them)", quiet=quiet)


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
