"""A document a file: all files of a folder (`dir`, the folder a file lies in is its label), or files that are named
one by one (`read_named_files`)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import regex

from topicx.corpus.formats.compressed import unpacked_name
from topicx.corpus.formats.document_reader import Batch, ReadOptions
from topicx.corpus.formats.input_bytes import BLOCK, LONG_LINE, InputSource, UndecodableError, _after_space, codec_of
from topicx.errors import InputError

TABLES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".ldac", ".svm", ".svmlight", ".libsvm", ".arff")
"""Endings of files that hold many documents each."""

_HEADER_END = re.compile(r"\r?\n[ \t]*\r?\n")

Named = tuple[str, str, tuple[str, ...]]
"""The file, the document's name, its labels."""


def read(root: str, options: ReadOptions, say: Callable[[str], None] = lambda _: None) -> Iterator[tuple[Batch, int]]:
    """Batches of the files of a folder and their sizes. Files are read in the order of their names; hidden
    ones are left out, and so are links that lead out of the folder."""
    found = list(walk_folder(root, options.follow_links, say))
    if not found:
        raise InputError(f"{root}: has no files in it")
    named = [(str(path), inside, _label_of_folder(inside)) for path, inside in found]
    yield from _telling_of_all([name for name, *_ in named], options, read_file_documents(named, root, options))


def read_named_files(
    names: list[str], options: ReadOptions, labelled: bool | None = None
) -> Iterator[tuple[Batch, int]]:  # fmt: skip
    """Documents of files that are named; their folders are their labels (None: where they differ)."""
    if labelled is None:
        labelled = len({Path(name).parent.as_posix() for name in names}) > 1
    labels = (lambda name: _label_of_folder(Path(name).as_posix())) if labelled else (lambda _: ())
    documents = read_file_documents(((name, Path(name).as_posix(), labels(name)) for name in names), "files", options)
    yield from _telling_of_all(names, options, documents)


def _telling_of_all(
    names: list[str], options: ReadOptions, batches: Iterator[tuple[Batch, int]]
) -> Iterator[tuple[Batch, int]]:
    """The batches; where a file is of another encoding, how many are, and which option reads them."""
    try:
        yield from batches
    except UndecodableError as error:
        if "," in options.encoding or codec_of(options.encoding) != "utf-8-sig":
            raise
        others = sum(not _is_text(name, options) for name in names) - 1
        also = ""
        if others > 0:
            also = f", nor {'is 1 other' if others == 1 else f'are {others:,} others'} of {len(names):,} files"
        raise UndecodableError(
            f"{error.found}{also}",
            "--encoding utf-8,latin-1 reads what is not utf-8 as latin-1, --bad-documents skip leaves it out",
        ) from None


def _is_text(name: str, options: ReadOptions) -> bool:
    try:
        with InputSource(name) as source:
            if options.skip_header:
                source.skip_head(options.encoding)
            return source.is_text_in(options.encoding)
    except InputError:  # it is told of where it is reached
        return True


def _label_of_folder(inside: str) -> tuple[str, ...]:
    parent = Path(inside).parent.as_posix()
    return () if parent == "." else (parent,)


def read_file_documents(named: Iterable[Named], shown: str, options: ReadOptions) -> Iterator[tuple[Batch, int]]:
    """A document a file, many of them a batch with its size; a long one in pieces."""
    ids: list[str | None] = []
    texts: list[str] = []
    labels: list[tuple[str, ...]] = []
    size = 0
    dated = _times_from_names(options)
    for name, document, label in named:
        with InputSource(name) as source:
            continues = False
            for text, is_open in _read_text_pieces(source, options):
                ids.append(document)
                texts.append(text)
                labels.append(() if label and label[0] in options.no_label else label)
                size += len(text)
                if is_open or continues or size >= BLOCK or len(texts) >= 10_000:
                    times = dated(ids)
                    yield Batch(shown, None, texts, ids, labels, times=times, continues=continues, open=is_open), size
                    ids, texts, labels, size = [], [], [], 0
                continues = is_open
    if texts:
        yield Batch(shown, None, texts, ids, labels, times=dated(ids)), size


def _times_from_names(options: ReadOptions) -> Callable[[list[Any]], list[str | None] | None]:
    """Says the times of documents by their names: what the first group of a pattern finds there."""
    if options.time_regex is None:
        return lambda names: None
    try:
        pattern = regex.compile(options.time_regex)
    except regex.error as error:
        raise InputError(f"--time-regex {options.time_regex!r}: {error}") from None

    def time(name: str) -> str | None:
        found = pattern.search(name)
        return found[min(pattern.groups, 1)] if found else None

    return lambda names: [time(name) for name in names]


def _read_text_pieces(source: InputSource, options: ReadOptions) -> Iterator[tuple[str, bool]]:
    """The text of a file, and whether more of it comes; nothing where the file is to be left out."""
    held, first = "", True
    if options.skip_header and source.skip_head(options.encoding):
        options = replace(options, skip_header=False)  # done: bytes of a head need not be text
    encoding = source.encoding(options.encoding)
    options.faults.note_encoding(source.shown, options.encoding, encoding)
    for text in source.texts(encoding, options.encoding_errors, options.faults):
        held += text
        while len(held) > LONG_LINE:
            end = _after_space(held, LONG_LINE)
            yield _clean_text_piece(held[:end], source, options, first, whole=False) or "", True
            held, first = held[end:], False
    last = _clean_text_piece(held, source, options, first, whole=first)
    if last is not None:
        yield last, False


def _clean_text_piece(text: str, source: InputSource, options: ReadOptions, first: bool, whole: bool) -> str | None:
    if first and options.skip_header:
        found = _HEADER_END.search(text)
        text = text[found.end() :] if found else text  # without a blank line there is no head
    cleaned = options.faults.clean(text, source.shown) if options.faults.policy != "stop" else text
    if cleaned is None and not whole:
        return text.replace("\0", " ").replace("\udfff", "\ufffd")
    return cleaned


def walk_folder(root: str, follow: bool, say: Callable[[str], None]) -> Iterator[tuple[Path, str]]:
    """The files of a folder and their names in it."""
    place = Path(root).resolve()
    left_out: list[Path] = []
    for path in _walk_sorted(Path(root)):
        if path.is_symlink() and not follow and not path.resolve().is_relative_to(place):
            left_out.append(path)
            continue
        yield path, path.relative_to(root).as_posix()
    if left_out:
        many = f"{len(left_out):,} links lead" if len(left_out) > 1 else "1 link leads"
        say(f"{root}: {many} out of the folder and left out ({left_out[0]}; --follow-links reads them)")


def _walk_sorted(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror or error}") from None
    for name, is_folder in names:
        if name.startswith("."):
            continue
        path = folder / name
        if is_folder:
            yield from _walk_sorted(path)
        elif path.is_file():
            yield path


def table_files(root: str, options: ReadOptions) -> list[str] | None:
    """The files of a folder where each holds many documents (JSON lines, tables): None where they are texts."""
    found = [(path, inside) for path, inside in walk_folder(root, options.follow_links, lambda _: None)]
    parts = [path for path, _ in found if Path(unpacked_name(path.name)).suffix.lower() in TABLES]
    if not parts:
        return None
    others = [path for path, inside in found if path not in set(parts) and not path.name.startswith("_")]
    if others:
        raise InputError(
            f"{root}: has tables ({parts[0].name}) and other files ({others[0].name}): name the files to read, or say "
            "--format dir for a document a file"
        )
    return [str(path) for path in parts]
