"""topicx import"""

from __future__ import annotations

import contextlib
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import (
    Number,
    cluster_options,
    open_places,
    option,
    print_note,
    quiet,
    refuse_given,
    refuse_overwriting,
    stack_options,
    threads,
)
from topicx.cli.declared import Grouped
from topicx.cli.reading import check_reading, names_without_folders, open_reader, reading_options, say_faults

if TYPE_CHECKING:
    from topicx.corpus.text.tokenizer import Tokenizer
    from topicx.engines.places import Places

stop_options = stack_options(
    option("--remove-stopwords", is_flag=False, flag_value="en", multiple=True, metavar="[LANG]",
           help="Drop the stop words of a language: de, en, es, fr, it, nl (several with commas). [LANG: en]",
           show_default=False),
    option("--stoplist-file", multiple=True, metavar="FILE", help="Drop the words in this file (may be repeated)."),
    option("--extra-stopwords", multiple=True, metavar="WORDS",
           help="Drop these words, too (parted by commas, or the name of a file that has them)."),
)  # fmt: skip

tokenising = stack_options(
    option("--token-regex", default="words", metavar="REGEX",
           help="What a word is: a pattern of the regex package, or words (runs of letters, marks and digits, with "
                "inner apostrophes), mallet (MALLET's pattern), whitespace (text that is tokenised already)."),
    option("--preserve-case", is_flag=True, help="Do not lower-case the text.", show_default=False),
    option("--min-length", type=click.IntRange(1), default=None, metavar="N",
           help="Drop words of fewer characters (a Chinese character or Korean syllable alone is a word).",
           show_default="2; with another --token-regex 1"),
    option("--keep-numbers/--drop-numbers", default=None, help="Whether words without a letter stay.",
           show_default="they go; with another --token-regex they stay"),
    option("--unicode", type=click.Choice(["NFKC", "NFC"], case_sensitive=False), default=None,
           help="The form of Unicode: NFKC makes ligatures, wide letters and the like plain; NFC leaves them.",
           show_default="NFKC; with --token-regex whitespace NFC"),
    option("--dehyphenate", is_flag=True, show_default=False,
           help="Join words that are hyphenated at a line's end (in scanned text, say)."),
    option("--stem", metavar="LANG", default=None,
           help="Let stems stand for words (Snowball's stemmers; needs PyStemmer): en, de, french … Stop words stay as "
                "they are."),
    stop_options,
    option("--keep-stopwords", is_flag=True, show_default=False,
           help="Do not drop the stop words of the language that the texts are found to be in."),
    option("--bigrams", is_flag=True, show_default=False,
           help="Join pairs of words that are said together far more often than chance: new_york."),
    option("--bigram-min-count", type=click.IntRange(2), default=20, help="A joined pair occurs at least this often."),
    option("--bigram-npmi", type=Number(-1, 1), default=0.5,
           help="A joined pair has at least this normalised pointwise mutual information (-1 to 1)."),
)  # fmt: skip

limits = stack_options(
    option("--min-count", type=click.IntRange(1), default=1, help="Drop words with fewer tokens than this."),
    option("--min-doc-freq", type=click.IntRange(1), default=1, help="Drop words in fewer documents than this."),
    option("--max-doc-freq", type=Number(0, 1, above=0), default=1.0,
           help="Drop words in more than this share of the documents."),
    option("--drop-empty", is_flag=True, help="Drop documents that have no word left.", show_default=False),
)  # fmt: skip


SNIPPET = 80
"""Characters of each text's beginning that are kept."""


class LanguagesFirst(Grouped):
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


HEADINGS = {
    "Options that most calls have": (
        "output", "input_format", "text_field", "id_field", "label_field", "time_field", "columns", "min_count",
        "max_doc_freq", "extra_stopwords", "bigrams", "chunk", "bad_documents", "quiet",
    ),
    "What becomes of words": (
        "remove_stopwords", "keep_stopwords", "stoplist_file", "min_length", "keep_numbers", "min_doc_freq", "stem",
        "token_regex", "preserve_case", "unicode", "dehyphenate", "bigram_min_count", "bigram_npmi", "like",
    ),
    "Several machines": ("cluster", "shared"),
}  # fmt: skip
"""Headings of the help; those of the options of reading follow."""


@click.command("import", cls=LanguagesFirst, headings=HEADINGS)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@option("--output", "-o", required=True, metavar="CORPUS", help="The corpus file to write; - is standard output.")
@reading_options("--format")
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
    default=SNIPPET,
    help="Keep this many characters of each text's beginning, for reports (0: none).",
)
@cluster_options
@threads
@quiet
def command(
    inputs: tuple[str, ...], output: str, like: str | None, snippet: int, cluster: str | None, shared: str | None,
    threads: int, quiet: bool, **chosen: Any,
) -> None:  # fmt: skip
    """Read text in many formats and write a corpus file.

    INPUT is a file, a folder (a document a file, a folder a label; or JSON lines and tables in it) or - for standard
    input. Files compressed by gzip, bzip2, xz and Zstandard are unpacked. Several inputs make one corpus; several text
    files are a document each. Memory is bounded by the vocabulary, however large the input or a document.
    Unless told otherwise it leaves out words of one letter, numbers, and stop words of the language it finds.

    \b
    Examples:
      topicx import texts.tsv -o texts.corpus --min-count 5 --max-doc-freq 0.5
      topicx import docs.jsonl.gz --text-field body --label-field tags -o docs.corpus
      topicx import letters/ -o letters.corpus --bigrams --chunk 300
      topicx import letters/*.txt -o letters.corpus --dehyphenate
      topicx import new.txt --like texts.corpus -o new.corpus
    """
    if not chosen["bigrams"]:
        refuse_given(("bigram_min_count", "bigram_npmi"), "is for --bigrams")
    if like is not None:
        _refuse_with_like()
    sides = [like, chosen["vocab"], chosen["label_names"], *chosen["stoplist_file"], *chosen["extra_stopwords"]]
    if output != "-":
        refuse_overwriting(output, [*inputs, *sides])
    if like is not None:
        refuse_given(("cluster", "shared"), "cannot go with --like, whose words are looked up on one machine")
    places = open_places(cluster, shared, output, partial(print_note, quiet=quiet))
    with contextlib.ExitStack() as open_things:
        if places is not None:
            open_things.callback(places.close)
        import_texts(
            inputs, output, chosen, like=like, snippet=snippet, threads=threads, quiet=quiet, places=places
        )  # fmt: skip


def import_texts(
    inputs: tuple[str, ...], output: str, chosen: dict[str, Any], *, like: str | None = None, snippet: int = SNIPPET,
    threads: int = 0, quiet: bool = False, told: str | None = None, places: Places | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Read texts as the options say, write them as a corpus file, and tell what was done (`told`: of what, where it is
    not the file). Returns the corpus's metadata."""
    import os
    from pathlib import Path

    from topicx import progress
    from topicx.corpus.build.corpus_builder import Builder, BuildOptions
    from topicx.corpus.text.bigrams import BigramOptions
    from topicx.engines.threads import available_cores

    tokenizer, vocabulary = (make_tokenizer(chosen), None) if like is None else load_like(like)
    building = BuildOptions(
        chosen["min_count"],
        chosen["min_doc_freq"],
        chosen["max_doc_freq"],
        chosen["drop_empty"],
        snippet,
        BigramOptions(chosen["bigram_min_count"], chosen["bigram_npmi"]) if chosen["bigrams"] else None,
        like is None and finds_stopwords(chosen),
    )
    folder = Path(output).resolve().parent if output != "-" else None
    if folder is not None and not (folder.is_dir() and os.access(folder, os.W_OK)):
        folder = None  # a device, or a mistake that the writer will name
    began = time.monotonic()
    reader = open_reader(inputs, chosen, quiet)
    total = reader.total / 1e6 if reader.total is not None else None
    spilled = output if folder is not None else None  # what waits is beside it
    faults = reader.options.faults
    with Builder(tokenizer, building, like=vocabulary, directory=folder, output=spilled, faults=faults) as builder:
        bar = progress.for_terminal("reading", total, "MB", quiet=quiet)
        with bar:
            reader.say = bar.message if not quiet else reader.say
            done = 0
            at_once = threads or available_cores()
            added = builder.add_all(reader, at_once) if places is None else builder.add_inputs(reader, places, at_once)
            for _ in added:
                if not done and len(inputs) == 1:
                    check_reading(reader)
                bar.advance((reader.consumed - done) / 1e6, f"{builder.n_tokens:,} tokens")
                done = reader.consumed
        if reader.only_counts and like is None:
            builder.forget_tokenizer()
        check_reading(reader)
        meta: dict[str, Any] = {"inputs": names_without_folders(inputs), "input_formats": reader.formats}
        if like is not None:
            meta["like"] = names_without_folders([like])[0]
        meta = builder.save(output, meta)
    _print_report(meta, told or output, time.monotonic() - began, like, quiet)
    say_faults(reader.options.faults, quiet)
    return meta


def _refuse_with_like() -> None:
    """--like brings its own words: options about them would be ignored, so they are mistakes."""
    context = click.get_current_context()
    words = ("token_regex", "preserve_case", "min_length", "keep_numbers", "unicode", "dehyphenate", "stem",
             "keep_stopwords", "remove_stopwords", "stoplist_file", "extra_stopwords", "bigrams", "bigram_min_count",
             "bigram_npmi", "min_count", "min_doc_freq", "max_doc_freq")  # fmt: skip
    for name in words:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            flag = "--" + name.replace("_", "-")
            raise click.UsageError(f"{flag} cannot go with --like, which fixes the words", context)


def make_tokenizer(chosen: dict[str, Any]) -> Tokenizer:
    """The tokenizer that the options describe."""
    from topicx.corpus.text.tokenizer import Tokenizer

    return Tokenizer(
        chosen["token_regex"], not chosen["preserve_case"], chosen_stopwords(chosen),
        min_length=chosen["min_length"], keep_numbers=chosen["keep_numbers"], unicode=chosen["unicode"],
        dehyphenate=chosen["dehyphenate"], stem=chosen["stem"],
    )  # fmt: skip


def finds_stopwords(chosen: dict[str, Any]) -> bool:
    """Whether stop words of the texts' language are dropped without being asked for."""
    if chosen["keep_stopwords"]:
        refuse_given(("remove_stopwords", "stoplist_file"), "cannot go with --keep-stopwords")
        return False
    asked = chosen["remove_stopwords"] or chosen["stoplist_file"]
    return chosen["token_regex"] == "words" and not asked


def chosen_stopwords(chosen: dict[str, Any]) -> frozenset[str]:
    """The stop words that the options name."""
    from pathlib import Path

    from topicx.corpus.text.tokenizer import make_stopwords
    from topicx.errors import InputError

    languages = [part for value in chosen["remove_stopwords"] for part in value.split(",") if part]
    extra: list[str] = []
    stoplists = list(chosen["stoplist_file"])
    for value in chosen["extra_stopwords"]:
        if Path(value).is_file():
            stoplists.append(value)
        elif "/" in value or value.lower().endswith((".txt", ".lst", ".csv", ".tsv", ".gz")):
            raise InputError(f"--extra-stopwords {value}: there is no such file")
        else:
            extra += value.replace(",", " ").split()
    return make_stopwords(languages, stoplists, extra)


def load_like(path: str) -> tuple[Tokenizer, list[str]]:
    """The tokenizer and the vocabulary of a corpus or model file."""
    from topicx.corpus.text.tokenizer import Tokenizer
    from topicx.files import container
    from topicx.files.file_kinds import CORPUS, MODEL

    with container.open_file(path, (CORPUS, MODEL)) as file:
        return Tokenizer.from_meta(file.meta.get("tokenizer")), list(file.strings("vocabulary"))


def _print_report(meta: dict[str, Any], output: str, seconds: float, like: str | None, quiet: bool) -> None:
    counts = meta["counts"]
    kinds = ("tokens", "stopword_tokens", "noise_tokens", "unknown_tokens", "dropped_tokens")
    read = sum(counts[name] for name in kinds)
    print_note(f"{output}: {count_noun(counts['documents'], 'document')}, {count_noun(counts['tokens'], 'token')}, "
        f"{count_noun(counts['words'], 'word')} "
        f"({seconds:.1f} s, {read / max(seconds, 1e-9) / 1e6:.1f} M tokens/s)", quiet=quiet)  # fmt: skip
    if like is not None:
        everything = counts["tokens"] + counts["unknown_tokens"]
        share = counts["unknown_tokens"] / everything if everything else 0.0
        print_note(f"unknown to {like}: {count_noun(counts['unknown_tokens'], 'token')} ({share:.1%})", quiet=quiet)
    left_out = []
    if counts["stopword_tokens"]:
        found = f" (of {meta['stopwords_of']!r}: --keep-stopwords keeps them)" if "stopwords_of" in meta else ""
        left_out.append(f"{count_noun(counts['stopword_tokens'], 'token')} of stop words{found}")
    if counts["noise_tokens"]:
        rule = meta["tokenizer"] or {}
        forms = [f"of less than {rule.get('min_length')} letters"] * (rule.get("min_length", 1) > 1)
        forms += ["without a letter"] * (not rule.get("keep_numbers", True))
        left_out.append(f"{count_noun(counts['noise_tokens'], 'token')} {' or '.join(forms)}")
    if counts["dropped_words"]:
        tokens = count_noun(counts["dropped_tokens"], "token")
        left_out.append(f"{count_noun(counts['dropped_words'], 'word')} ({tokens}) by the limits")
    if counts["dropped_documents"]:
        left_out.append(count_noun(counts["dropped_documents"], "empty document"))
    if left_out:
        print_note(f"left out: {', '.join(left_out)}", quiet=quiet)
    if counts.get("doubled_ids"):
        print_note(f"{count_noun(counts['doubled_ids'], 'document')} with the name of another (the first: "
            f"{meta['first_doubled_id']!r})", quiet=quiet)  # fmt: skip
    say_empty(counts["empty_documents"], quiet)


def say_empty(count: int, quiet: bool) -> None:
    if count:
        print_note(f"kept {count_noun(count, 'empty document')} (--drop-empty drops them)", quiet=quiet)


def count_noun(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
