"""Texts on their way into instance lists: the pipeline that options mean, documents of lines and of folders."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from topicx.corpus.formats.input_bytes import InputSource
from topicx.errors import InputError
from topicx.mallet.command_tables import TEXT_OPTIONS
from topicx.mallet.instance_lists import Instances, RawTexts, load_instances
from topicx.mallet.java_regex import java_pattern
from topicx.mallet.option_language import Parsed
from topicx.mallet.text_pipe import BULK_STOPWORDS, Pipe, mallet_stopwords, read_rules

LANGUAGES = ("de", "en", "es", "fr", "it", "nl")
UNQUOTED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/;:@&=+$,_-!.~'()*")
"""What a URI's path takes as it is, of ASCII."""

Note = Callable[[str], None]
"""Is told what the user should know."""


def lines_of(path: str, encoding: str = "utf-8") -> Iterator[tuple[int, list[str]]]:
    """Lines of a file as Java reads them (a carriage return alone ends one, too), some at a time."""
    extra = 0
    with InputSource(path) as source:
        for first, lines in source.lines(encoding, "replace"):
            begin = first + extra
            if any("\r" in line for line in lines):
                parted = [part for line in lines for part in line.split("\r")]
                extra += len(parted) - len(lines)
                lines = parted
            yield begin, lines


def all_lines(path: str, encoding: str = "utf-8") -> list[str]:
    return [line for _, lines in lines_of(path, encoding) for line in lines]


def stop_list(path: str, encoding: str, say: Note) -> list[str]:
    """The words of a stop list. A path into MALLET's own folder (stoplists/de.txt) finds topicx's list of that
    language."""
    place = Path(path.replace("\\", "/"))
    language = place.stem
    if not Path(path).exists() and place.parent.name == "stoplists" and place.suffix == ".txt":
        from topicx.corpus.text.tokenizer import load_stopwords as of_language

        if language == "en":
            return sorted(mallet_stopwords())
        if language in LANGUAGES:
            say(f"note: {path} is not here; topicx's own list for {language} is taken, which is another one")
            return sorted(of_language(language))
        raise InputError(f"{path}: is not here, and topicx has no list of its own for {language!r}")
    return [word for line in all_lines(path, encoding) for word in line.split()]


def pipe_of(parsed: Parsed, say: Note, *, directory: bool = False) -> Pipe:
    """The pipeline that the options of a call mean; `say` is told of options without effect."""
    get = parsed.values.get
    encoding = parsed["encoding"]
    words: frozenset[str] = frozenset()
    if get("stoplist-file"):
        words = frozenset(stop_list(parsed["stoplist-file"], encoding, say))
    elif parsed["remove-stopwords"]:
        words = mallet_stopwords()
    if get("extra-stopwords"):
        if words or get("stoplist-file"):
            words |= frozenset(stop_list(parsed["extra-stopwords"], "utf-8", say))
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


def bulk_pipe(parsed: Parsed) -> Pipe:
    """The pipeline that the options of bulk-load mean."""
    words: frozenset[str] = frozenset()
    if parsed["stoplist"]:
        words = frozenset(all_lines(parsed["stoplist"]))
    elif parsed["remove-stopwords"]:
        words = BULK_STOPWORDS
    return Pipe(simple=True, lowercase=not parsed["preserve-case"], stopwords=words, exact_case=True)


def previous_of(parsed: Parsed, say: Note) -> tuple[Instances | None, str | None]:
    """The instances whose pipeline and numbers a call takes over, and the file to rewrite, if it is to be."""
    path = parsed["use-pipe-from"] or parsed["use-pipe-from-without-rewrite"]
    if not path:
        return None, None
    previous = load_instances(path, "--use-pipe-from")
    if previous.pipe is None:
        raise InputError(f"{path}: has no text pipeline (it was not made of texts by import-file, import-dir or "
                         "bulk-load)")  # fmt: skip
    own = {option.name for option in TEXT_OPTIONS} - {"print-output", "encoding"}
    stray = sorted(parsed.given & (own | {"gram-sizes", "binary-features", "skip-header", "skip-html"}))
    if stray:
        say(f"note: the text options are those of {path}; --{', --'.join(stray)} of this call "
            f"{'has' if len(stray) == 1 else 'have'} no effect")  # fmt: skip
    return previous, parsed["use-pipe-from"]


def extend_pipe(previous: Instances, instances: Instances) -> None:
    """The words and labels that have come with `instances` become known to the older ones."""
    old = previous.corpus.n_words
    corpus = previous.corpus
    corpus.vocabulary = instances.corpus.vocabulary
    for name in ("word_frequencies", "document_frequencies"):
        counts = getattr(corpus, name)
        setattr(corpus, name, np.concatenate([counts, np.zeros(corpus.n_words - old, np.int64)]))
    previous.labels = instances.labels


def lists_of(items: Iterable[Any], size: int = 256) -> Iterator[list[Any]]:
    """Lists of so many."""
    held: list[Any] = []
    for item in items:
        held.append(item)
        if len(held) == size:
            yield held
            held = []
    if held:
        yield held


# -- lines -------------------------------------------------------------------------------------------------------------


def texts_of_lines(parsed: Parsed, path: str, encoding: str = "utf-8") -> Iterator[RawTexts]:
    """The documents of a file of lines. A line that the pattern does not find anything in is refused by number."""
    pattern = java_pattern(parsed["line-regex"], "--line-regex").compiled()
    name, label, data = parsed["name"], parsed["label"], parsed["data"]
    for option, group in (("name", name), ("label", label), ("data", data)):
        if group > pattern.groups:
            raise InputError(f"--{option} {group}: --line-regex has only {pattern.groups} groups")
    for first, lines in lines_of(path, encoding):
        found = [pattern.search(line) for line in lines]
        matches = []
        for at, match in enumerate(found):
            if match is None:
                line = " ".join(lines[at][:60].split())
                raise InputError(f"{path}:{first + at}: Line #{first + at} does not match regex: {line}")
            matches.append(match)
        names = [(match.group(name) if name else None) for match in matches]
        labels = [match.group(label) or "" for match in matches] if label else None
        batch = RawTexts(
            [f"csvline:{first + at}" if one is None else one for at, one in enumerate(names)],
            [match.group(data) or "" for match in matches],
        )
        if labels is not None and parsed.values.get("label-as-features"):
            batch.features = [parse_features(one, f"{path}:{first + at}") for at, one in enumerate(labels)]
        else:
            batch.labels = labels
        yield batch


def parse_features(label: str, where: str) -> list[tuple[str, float]]:
    """`feature other=0.5`: 1 where no number is given."""
    found = []
    for part in re.split(r",?\s+", label):
        name, equal, value = part.partition("=")
        try:
            found.append((name, float(value) if equal else 1.0))
        except ValueError:
            raise InputError(f"{where}: the feature {part!r} has no number after =") from None
    return [one for one in found if one[0]]


# -- folders -----------------------------------------------------------------------------------------------------------


def common_length(folders: list[str]) -> int:
    """How many characters all paths begin with (letters, not parts: `pos` and `part` are labelled `os`, `art`)."""
    return next((at for at, all_there in enumerate(zip(*folders)) if len(set(all_there)) > 1), min(map(len, folders)))


def checked_folder(name: str) -> str:
    """The path as Java's File shows it: no slash at the end, none doubled."""
    shown = name
    if not Path(name).is_dir() and "\\" in name and Path(name.replace("\\", "/")).is_dir():
        shown = name.replace("\\", "/")
    if not Path(shown).is_dir():
        raise InputError(f"{name}: is not a directory")
    while "//" in shown:
        shown = shown.replace("//", "/")
    return shown.rstrip("/") or "/"


def files_in(folder: str) -> Iterator[str]:
    """Every file below a folder, hidden ones too, sorted by name in each."""
    try:
        names = sorted(path.name for path in Path(folder).iterdir())
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror or error}") from None
    for name in names:
        path = f"{folder.rstrip('/')}/{name}"
        if os.path.isdir(path):  # noqa: PTH112
            yield from files_in(path)
        else:
            yield path


def texts_of_files(found: list[tuple[str, str]], codec: str, save: bool) -> Iterator[RawTexts]:
    """The documents of (path, label) pairs; `save`: their texts are their sources, else their paths."""
    for batch in lists_of(found):
        texts = [_read_text(path, codec) for path, _ in batch]
        yield RawTexts(
            [file_uri(path) for path, _ in batch], texts, [label for _, label in batch],
            texts if save else [path.replace(" ", "%20") for path, _ in batch],  # one field of the state's six
        )  # fmt: skip


def _read_text(path: str, codec: str) -> str:
    try:
        return Path(path).read_bytes().decode(codec, "replace")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def file_uri(path: str) -> str:
    """`file:/…` as Java's File.toURI writes it: letters of all scripts stay, blanks and signs are quoted."""
    absolute = path if path.startswith("/") else f"{Path.cwd()}/{path}"
    return "file:" + "".join(c if _stays_unquoted(c) else "".join(f"%{b:02X}" for b in c.encode()) for c in absolute)


def _stays_unquoted(c: str) -> bool:
    return c in UNQUOTED if c.isascii() else not (c.isspace() or ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000)
