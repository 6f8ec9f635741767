"""What the commands that read text share: their options, the pipeline that the options mean, and writing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from topicx.cli.common import check_outputs, say
from topicx.cli.mallet.arguments import Option, Parsed, file, flag
from topicx.cli.mallet.instances import InstanceBuilder, Instances, RawTexts, load, printed
from topicx.cli.mallet.pipe import DEFAULT_TOKENS, Pipe, read_rules, stopwords
from topicx.corpus.formats.input_bytes import Source
from topicx.errors import InputError
from topicx.interop.mallet_regex import java_pattern
from topicx.progress import for_terminal

NO_FILE = ("", None)
LANGUAGES = ("de", "en", "es", "fr", "it", "nl")

PIPE_OPTIONS = (
    file("use-pipe-from",
           "Take the text options and the words' numbers of this file; it is rewritten with the words that are new."),
    file("use-pipe-from-without-rewrite", "The same, and that file stays as it is."),
)  # fmt: skip

TEXT_OPTIONS = (
    flag("preserve-case", "Keep the case of letters."),
    Option("replacement-files", "strings", None,
           "Files of replacements, a line each: 'A B<tab>C' replaces A B by C, 'A B' by A_B."),
    Option("deletion-files", "strings", None, "Files of words to take out before tokenising, a line each."),
    flag("remove-stopwords", "Take out MALLET's 523 English stop words."),
    file("stoplist-file", "Take out the words of this file instead."),
    file("extra-stopwords", "Words to add to either of the two lists."),
    file("stop-pattern-file", "Java patterns, one a line: words that match one wholly go."),
    flag("keep-sequence", "Keep the order of words: what train-topics needs."),
    flag("keep-sequence-bigrams",
           "The same for runs of ASCII letters alone, with a memory of where something was left out."),
    Option("encoding", "string", "UTF-8", "The encoding of the texts and of --stoplist-file."),
    Option("token-regex", "string", DEFAULT_TOKENS, "A Java pattern whose matches are the words."),
    flag("print-output", "Print each document's words on standard output."),
)  # fmt: skip


def lines_of(path: str, encoding: str = "utf-8") -> Iterator[tuple[int, list[str]]]:
    """Lines of a file as Java reads them (a carriage return alone ends one, too), some at a time."""
    extra = 0
    with Source(path) as source:
        for first, lines in source.lines(encoding, "replace"):
            begin = first + extra
            if any("\r" in line for line in lines):
                parted = [part for line in lines for part in line.split("\r")]
                extra += len(parted) - len(lines)
                lines = parted
            yield begin, lines


def all_lines(path: str, encoding: str = "utf-8") -> list[str]:
    return [line for _, lines in lines_of(path, encoding) for line in lines]


def stop_list(path: str, encoding: str) -> list[str]:
    """The words of a stop list. A path into MALLET's own folder (stoplists/de.txt) finds topicx's list of that
    language."""
    place = Path(path.replace("\\", "/"))
    language = place.stem
    if not Path(path).exists() and place.parent.name == "stoplists" and place.suffix == ".txt":
        from topicx.corpus.text.tokenizer import load_stopwords as of_language

        if language == "en":
            return sorted(stopwords())
        if language in LANGUAGES:
            say(f"note: {path} is not here; topicx's own list for {language} is taken, which is another one")
            return sorted(of_language(language))
        raise InputError(f"{path}: is not here, and topicx has no list of its own for {language!r}")
    return [word for line in all_lines(path, encoding) for word in line.split()]


def pipe_of(parsed: Parsed, *, directory: bool = False) -> Pipe:
    """The pipeline that the options of a call mean."""
    get = parsed.values.get
    encoding = parsed["encoding"]
    words: frozenset[str] = frozenset()
    if get("stoplist-file"):
        words = frozenset(stop_list(parsed["stoplist-file"], encoding))
    elif parsed["remove-stopwords"]:
        words = stopwords()
    if get("extra-stopwords"):
        if words or get("stoplist-file"):
            words |= frozenset(stop_list(parsed["extra-stopwords"], "utf-8"))
        else:
            say("note: --extra-stopwords adds to --remove-stopwords or --stoplist-file; alone it does nothing")
    rules = [read_rules(path, False, all_lines) for path in get("replacement-files") or ()]
    rules += [read_rules(path, True, all_lines) for path in get("deletion-files") or ()]
    bigrams = parsed["keep-sequence-bigrams"]
    patterns = [line for line in all_lines(parsed["stop-pattern-file"]) if line] if get("stop-pattern-file") else []
    for pattern in patterns:
        java_pattern(pattern, "--stop-pattern-file")
    return Pipe(
        tokens=java_pattern(parsed["token-regex"], "--token-regex").java,
        lowercase=not parsed["preserve-case"],
        skip_header=directory and parsed["skip-header"],
        skip_html=directory and parsed["skip-html"],
        rules=[one for one in rules if one],
        bigrams=bigrams,
        stopwords=words,
        exact_case=bool(get("stoplist-file")) and parsed["preserve-case"],
        stop_patterns=patterns,
        grams=parsed["gram-sizes"] if directory else [1],
        form="bigrams" if bigrams else "sequence" if parsed["keep-sequence"] else "vector",
        binary=directory and parsed["binary-features"],
    )


def previous_of(parsed: Parsed) -> tuple[Instances | None, str | None]:
    """The instances whose pipeline and numbers a call takes over, and the file to rewrite, if it is to be."""
    path = parsed["use-pipe-from"] or parsed["use-pipe-from-without-rewrite"]
    if not path:
        return None, None
    previous = load(path, "--use-pipe-from")
    if previous.pipe is None:
        raise InputError(f"{path}: has no text pipeline (it was not made of texts by import-file, import-dir or "
                         "bulk-load)")  # fmt: skip
    own = {option.name for option in TEXT_OPTIONS} - {"print-output", "encoding"}
    stray = sorted(parsed.given & (own | {"gram-sizes", "binary-features", "skip-header", "skip-html"}))
    if stray:
        say(f"note: the text options are those of {path}; --{', --'.join(stray)} of this call "
            f"{'has' if len(stray) == 1 else 'have'} no effect")  # fmt: skip
    return previous, parsed["use-pipe-from"]


def build(parsed: Parsed, pipe: Pipe, batches: Iterable[RawTexts], size: int | None = None) -> None:
    """Read all documents, and write what they become: what every import ends with."""
    output = parsed["output"]
    previous, rewrite = previous_of(parsed)
    named = parsed["input"]
    check_outputs([output, rewrite if rewrite != output else None], [named] if isinstance(named, str) else named)
    if output == "-" and parsed["print-output"]:
        raise InputError("--print-output: standard output is taken by --output -")
    chosen = previous.pipe if previous and previous.pipe else pipe
    with InstanceBuilder(chosen, previous) as builder, for_terminal("import", size, "documents") as progress:
        for batch in batches:
            builder.add(batch)
            progress.advance(len(batch.names))
        instances = builder.finish()
    instances.save(output)
    if parsed["print-output"]:
        for text in printed(instances):
            sys.stdout.write(text)
    if previous is not None and rewrite and rewrite != output:
        extend(previous, instances)
        previous.save(rewrite)
        out = sys.stderr if output == "-" else sys.stdout
        print(f" Rewriting extended pipe from {rewrite}", file=out)
        print(f"  Instance ID = {previous.corpus.digest}", file=out)


def extend(previous: Instances, instances: Instances) -> None:
    """The words and labels that have come with `instances` become known to the older ones."""
    old = previous.corpus.n_words
    corpus = previous.corpus
    corpus.vocabulary = instances.corpus.vocabulary
    for name in ("word_frequencies", "document_frequencies"):
        counts = getattr(corpus, name)
        setattr(corpus, name, np.concatenate([counts, np.zeros(corpus.n_words - old, np.int64)]))
    previous.labels = instances.labels


def batched(items: Iterable[Any], size: int = 256) -> Iterator[list[Any]]:
    """Lists of so many."""
    held: list[Any] = []
    for item in items:
        held.append(item)
        if len(held) == size:
            yield held
            held = []
    if held:
        yield held
