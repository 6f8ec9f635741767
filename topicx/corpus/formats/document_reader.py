"""Documents from inputs in any format, in batches: what import, and inference on a stream, read.

A format is a module with `read(source, options) -> Iterator[Batch]`; `format_table` lists them.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.formats.compressed import unpacked_name
from topicx.corpus.formats.format_table import COUNTS, FORMATS
from topicx.corpus.formats.input_bytes import Faults, InputSource, codec_of, total_size
from topicx.errors import InputError, list_first_names
from topicx.files import container


@dataclass
class ReadOptions:
    """How inputs are read. Fields that are None have a default that depends on the format."""

    format: str = "auto"
    encoding: str = "utf-8"
    encoding_errors: str = "strict"
    line_regex: str | None = None
    name: int = 1
    label: int = 2
    data: int = 3
    text_field: str | None = None
    id_field: str | None = None
    label_field: str | None = None
    collection_field: str | None = None
    time_field: str | None = None
    time_regex: str | None = None
    """Pattern for `dir` and `files`: what the first group of this pattern finds in a document's name is its time."""
    label_delimiter: str | None = None
    """What parts labels in one field; "" says that nothing does. By default a comma does in `lines`."""
    no_label: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    usual_columns: tuple[str, ...] = ()
    """Further columns, which are read where they are there."""
    delimiter: str | None = None
    header: bool = True
    quotes: bool = True
    vocab: str | None = None
    label_names: str | None = None
    """File of the labels' names: for `svmlight` one a line, for `arff` the XML file that names them."""
    index_base: int | None = None
    skip_header: bool = False
    """For `dir` and `files`: leave out what stands before the first blank line."""
    follow_links: bool = False
    """For `dir`: read files outside of the folder that links in it lead to."""
    chunk: int | None = None
    """Cut texts into documents of about so many words."""
    faults: Faults = field(default_factory=Faults)
    """What is done with documents that cannot be read."""


@dataclass
class Batch:
    """Some documents of one input. A list that is None stands for no such data in this format.

    A very long document comes in pieces: the first document of a batch may be the next piece of the last one of the
    batch before (`continues`), and the last may be followed by more (`open`).
    """

    source: str
    lines: Sequence[int] | None
    """The line of each document in its file, for messages."""
    texts: Sequence[str] = ()
    ids: Sequence[str | None] | None = None
    labels: Sequence[Sequence[str]] | None = None
    collections: Sequence[str | None] | None = None
    times: Sequence[Any] | None = None
    columns: dict[str, Sequence[Any]] = field(default_factory=dict)
    words: Sequence[Sequence[str]] | None = None
    """Instead of texts: documents that are lists of words already."""
    counts: Counts | None = None
    """Instead of texts: words and how often, for formats of counts."""
    continues: bool = False
    open: bool = False

    def __len__(self) -> int:
        return len(self.counts.lengths) if self.counts else len(self.texts if self.words is None else self.words)

    def place(self, document: int) -> str:
        """`file:line` of a document (or its number, where it came from no file)."""
        if not self.source and self.lines is not None:
            return f"document {self.lines[document]}"
        return self.source if self.lines is None else f"{self.source}:{self.lines[document]}"


@dataclass
class Counts:
    """Word indices (into `vocabulary`) and counts, document after document, `lengths` pairs each."""

    words: NDArray[np.int64]
    counts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    vocabulary: Sequence[str] | None
    """The words; None: a word is its number, counted from `base`."""
    base: int = 0


@dataclass
class Input:
    """One input, or several files that are a document each, and how it is read."""

    name: str
    format: str | None
    """None: to be told when it is opened, since it cannot be looked into before (a pipe)."""
    why: str = ""
    files: list[str] = field(default_factory=list)
    labelled: bool | None = None
    """Whether the folders of `files` are their labels; None: where they differ."""


FILES_A_PIECE = 256
"""Files of a document each that are read together, where inputs are read apart."""


class DocumentReader:
    """Iterates over the batches of all inputs; says through `say` which format each input has."""

    def __init__(self, inputs: Sequence[str], options: ReadOptions, say: Callable[[str], None] | None = None) -> None:
        if not inputs:
            raise InputError("no input is named (- is standard input)")
        self.inputs = list(inputs)
        self.options = options
        self.say = say or (lambda _: None)
        self.total = total_size(self.inputs)
        self.formats: list[str] = []
        self._plan: list[Input] | None = None
        self._said = ""
        self._done = 0
        self._source: InputSource | None = None

    @property
    def consumed(self) -> int:
        """How many bytes have been read so far."""
        return self._done + (self._source.consumed if self._source else 0)

    @property
    def only_counts(self) -> bool:
        """Whether all that was read were counts of words."""
        return bool(self.formats) and set(self.formats) <= set(COUNTS)

    def check(self) -> None:
        """Look into all inputs: InputError if one cannot be read, or nobody can say how."""
        if self._plan is None:
            self._plan = self._planned()

    @classmethod
    def of_plan(cls, plan: list[Input], options: ReadOptions, say: Callable[[str], None]) -> DocumentReader:
        """A reader of inputs that another has looked into."""
        found = cls([one.name for one in plan], options, say)
        found._plan = plan
        return found

    def pieces(self) -> list[Input]:
        """What can be read apart, and elsewhere: an input each, or some of many files of a document each. InputError,
        if an input can only be read here."""
        self.check()
        found: list[Input] = []
        for one in self._plan or []:
            if one.name == "-" or one.format is None:
                raise InputError(f"{one.name}: only files and folders are read by several machines (--cluster)")
            if not one.files:
                found.append(one)
                continue
            labelled = len({Path(name).parent.as_posix() for name in one.files}) > 1
            runs = range(0, len(one.files), FILES_A_PIECE)
            found += [replace(one, files=one.files[at : at + FILES_A_PIECE], labelled=labelled) for at in runs]
        return found

    def take_piece(self, piece: Input, said: Sequence[str], faults: Faults, consumed: int) -> None:
        """What a reader elsewhere has said of a piece, what it met, and how many bytes it has read."""
        assert piece.format is not None
        plain = f"{piece.name}: read as "
        if not piece.files or piece.format not in self.formats:
            self._note(piece.name, piece.format, piece.why)
        for text in said:
            if not text.startswith(plain):
                self.say(text)
        self.options.faults.add(faults)
        self._done += consumed

    def planned_formats(self) -> list[str] | None:
        """The formats of all inputs; None where one is told only when it is opened (a pipe)."""
        self.check()
        formats = [one.format for one in self._plan or []]
        return None if None in formats else [one for one in formats if one is not None]

    def __iter__(self) -> Iterator[Batch]:
        self.check()
        assert self._plan is not None
        if self.options.chunk is None:
            return self._batches(self._plan)
        from topicx.corpus.text.chunks import cut_into_chunks

        return cut_into_chunks(self._batches(self._plan), self.options.chunk)

    def _batches(self, plan: list[Input]) -> Iterator[Batch]:
        from topicx.corpus.formats import folder

        for one in plan:
            if one.format in ("dir", "files"):
                self._note(one.name, one.format, one.why)
                options = self._options(one.format)
                parts = (
                    folder.read_named_files(one.files, options, one.labelled)
                    if one.files
                    else folder.read(one.name, options, self.say)
                )
                undated, documents, example = 0, 0, None
                for batch, size in parts:
                    self._done += size
                    begun = zip(batch.ids or (), batch.times or ())  # no times where no pattern for them was given
                    for name, time in islice(begun, int(batch.continues), None):
                        documents += 1
                        if time is None:
                            undated, example = undated + 1, example or name
                    yield batch
                if undated:
                    self.say(
                        f"note: --time-regex {self.options.time_regex!r} found no time in {undated:,} of {documents:,} "
                        f"names, for instance {example!r}"
                    )
                continue
            with InputSource(one.name) as source:
                self._source = source
                chosen, why = (one.format, one.why) if one.format else self._format(one.name, source)
                self._note(source.shown, chosen, why)
                module = import_module(f"topicx.corpus.formats.{FORMATS[chosen][0]}")
                options = self._options(chosen, source)
                options.faults.note_encoding(source.shown, self.options.encoding, options.encoding)
                yield from module.read(source, options)
                self._done += source.consumed
                self._source = None

    def _planned(self) -> list[Input]:
        from topicx.corpus.formats import folder

        asked = self.options.format
        plan: list[Input] = []
        for name in self.inputs:
            if name == "-" or not Path(name).is_dir():
                plan += self._looked_into([name])
                continue
            if asked in ("dir", "files"):
                plan.append(Input(name, "dir"))
                continue
            found = folder.table_files(name, self.options) if asked == "auto" else [
                str(path) for path, _ in folder.walk_folder(name, self.options.follow_links, self.say)
            ]  # fmt: skip
            if found is None:
                plan.append(Input(name, "dir"))
            elif not found:
                raise InputError(f"{name}: has no files in it")
            else:
                plan += self._looked_into(found)
        names = [one.name for one in plan if one.format in ("text", "files")]
        if asked == "files" or (asked == "auto" and len(names) == len(plan) > 1):
            shown = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"
            why = "" if asked == "files" else "the format 'text' takes a document a line"
            return [Input(shown, "files", why, names), *(one for one in plan if one.format == "dir")]
        return plan

    def _looked_into(self, names: list[str]) -> list[Input]:
        found = []
        for name in names:
            if name != "-" and Path(name).exists() and not Path(name).is_file():
                found.append(Input(name, None))
                continue
            if name == "-":
                found.append(Input(name, "files" if self.options.format == "files" else None))
                continue
            with InputSource(name) as source:
                chosen, why = self._format(name, source)
                module = import_module(f"topicx.corpus.formats.{FORMATS[chosen][0]}")
                if hasattr(module, "check"):
                    module.check(source, self._options(chosen, source))
                found.append(Input(name, chosen, why))
        return found

    def _options(self, chosen: str, source: InputSource | None = None) -> ReadOptions:
        options = replace(self.options, format=chosen)
        if source is not None:
            options.encoding = source.encoding(options.encoding)
        if chosen == "lines":
            if options.label_delimiter is None:
                options.label_delimiter = ","
            options.no_label = (*options.no_label, "-")
        return options

    def _note(self, name: str, chosen: str, why: str) -> None:
        if chosen not in self.formats:
            self.formats.append(chosen)
        text = f"read as {chosen} ({FORMATS[chosen][1]}{'; ' + why if why else ''})"
        if text != self._said or len(self.inputs) <= 5:  # a thousand files of one kind are one message
            self.say(f"{name}: {text}")
        self._said = text

    def _format(self, name: str, source: InputSource) -> tuple[str, str]:
        if self.options.format == "dir":
            raise InputError(f"{name}: --format dir needs a directory")
        if self.options.format != "auto":
            return self.options.format, ""
        start = source.peek()
        if container.starts_topicx(start):
            hint = f"see 'topicx info {name}'" if Path(name).is_file() else "infer takes one with --input-format corpus"
            raise InputError(f"{source.shown}: is a topicx file already ({hint})")
        if start.startswith(b"#doc source pos typeindex type topic"):
            raise InputError(f"{source.shown}: is a state of MALLET's, not text ('topicx estimate' reads it)")
        return detect_format(name, start, replace(self.options, encoding=source.encoding(self.options.encoding)))


def read_documents(
    inputs: Sequence[str], options: ReadOptions | None = None, say: Callable[[str], None] | None = None
) -> DocumentReader:
    """Read the documents of inputs of any format in batches.

    Parameters
    ----------
    inputs : sequence of str
        Files and folders; "-" is standard input.
    options : ReadOptions, optional
        How they are read. By default the format is found out for each input.
    say : callable, optional
        Called with a line where something is left out or guessed.

    Returns
    -------
    DocumentReader
        An iterable of batches.
    """
    return DocumentReader(inputs, options or ReadOptions(), say)


def detect_format(name: str, start: bytes, options: ReadOptions) -> tuple[str, str]:
    """The format of a file by its name and its beginning, and why where that is not plain."""
    base = unpacked_name(Path(name).name.lower())
    suffix = Path(base).suffix
    if start[:4] == b"PAR1" or suffix == ".parquet":
        return "parquet", ""
    if base.startswith("docword.") or suffix == ".uci":
        return "uci", ""
    known = {
        ".jsonl": "jsonl",
        ".ndjson": "jsonl",
        ".json": "jsonl",
        ".csv": "csv",
        ".ldac": "ldac",
        ".ldac-c": "ldac",
    }
    known |= {".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".arff": "arff"}
    if suffix in known:
        return known[suffix], ""
    text = start.decode(codec_of(options.encoding), "replace")
    lines = text.splitlines()[:20]
    first = lines[0] if lines else ""
    if suffix == ".tsv":
        fields = next(csv.reader(io.StringIO(first), delimiter="\t"), [])
        if options.text_field is not None or "text" in fields or not options.header:
            return "tsv", ""
        if len(fields) in (2, 3):
            return "lines", "its first line is no header with a field 'text'"
        raise InputError(
            f"{name}:1: no field 'text' in the header ({', '.join(fields)[:80]}); name it by --text-field, or say "
            "--no-header with its number, or take the format 'lines'"
        )
    if re.match(r'\s*\{\s*"[^"]*"\s*:', first):
        return "jsonl", "by its content"
    if re.match(r"\s*\d+\s*\n\s*\d+\s*\n\s*\d+\s*\n\d+ \d+ \d+\s*\n", text, re.ASCII):
        return "uci", "by its content"
    # Of the formats a document a line, `lines` is told by a tab after the first word (the name).
    filled = [line for line in lines[:-1] or lines if line.strip()]
    if filled and all("\t" in line for line in filled):
        return "lines", "by its tabs"
    if suffix in (".txt", ".text") or name == "-" or not suffix:
        return "text", "by its content; the format 'files' takes it whole, 'lines' a name and a label from each line"
    return "text", "nothing says otherwise"


def split_labels(value: Any, options: ReadOptions) -> tuple[str, ...]:
    """The labels in a field: a text (parted by the delimiter, if there is one), a number, or a list of
    them."""
    if value is None:
        return ()
    parts: Sequence[Any]
    if isinstance(value, (list, tuple)):
        parts = value
    elif isinstance(value, str):
        parts = value.split(options.label_delimiter) if options.label_delimiter else (value,)
    else:
        parts = (value,)
    found = [part.strip() if isinstance(part, str) else field_as_text(part) for part in parts if part is not None]
    return tuple(dict.fromkeys(label for label in found if label and label not in options.no_label))


def field_as_text(value: Any) -> str:
    """A value of a field as text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


@dataclass
class Fields:
    """Which fields hold what, for the formats that have named fields."""

    text: str
    id: str | None
    label: str | None
    collection: str | None
    time: str | None
    columns: tuple[str, ...]

    def all(self) -> list[str]:
        """The fields that are read."""
        named = (self.text, self.id, self.label, self.collection, self.time, *self.columns)
        return list(dict.fromkeys(name for name in named if name))

    @classmethod
    def choose(cls, names: Sequence[str] | None, options: ReadOptions, where: str) -> Fields:
        """The fields by the options, or by their usual names where they are there (None: any name may be
        there)."""

        def pick(asked: str | None, option: str, *usual: str) -> str | None:
            if asked is not None:
                if names is not None and asked not in names:
                    raise InputError(f"{where}: no field {asked!r} ({option}); there are: {list_first_names(names)}")
                return asked or None
            return next((name for name in usual if names is None or name in names), None)

        text = pick(options.text_field, "--text-field", "text")
        if text is None:
            raise InputError(
                f"{where}: no field 'text'; name the field by --text-field; there are: {list_first_names(names or ())}"
            )
        for column in options.columns:
            pick(column, "--column")
        return cls(
            text=text,
            id=pick(options.id_field, "--id-field", "id"),
            label=pick(options.label_field, "--label-field", "label"),
            collection=pick(options.collection_field, "--collection-field", "collection"),
            time=pick(options.time_field, "--time-field", "time"),
            columns=tuple(dict.fromkeys((
                *options.columns, *(name for name in options.usual_columns if names is None or name in names),
            ))),
        )  # fmt: skip
