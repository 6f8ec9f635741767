"""Counts as Weka's ARFF files have them, for several labels: Mulan's (an XML file names the labels) and MEKA's (the
relation's name says how many of the attributes are labels: `-C 3` the first, `-C -3` the last).

Attributes are words, and their values counts: numbers, or nominal values that are numbers ({0,1}). A label that an
attribute stands for is there where the value is not 0. `--label-field` names a nominal attribute whose value is the
label. Rows are sparse (`{3 1, 17 2}`, from 0) or hold all values with commas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from topicx.corpus.formats.compressed import unpacked_name
from topicx.corpus.formats.document_reader import Batch, Counts, ReadOptions
from topicx.corpus.formats.input_bytes import BLOCK, InputSource
from topicx.errors import InputError

_NAME = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s{},%]+"
_ATTRIBUTE = re.compile(rf"@attribute\s+({_NAME})\s*(.*)", re.IGNORECASE)
_VALUE = re.compile(rf"\s*({_NAME})\s*(?:,|$)")
_PAIR = re.compile(rf"\s*(\d+)\s+({_NAME})\s*(?:,|$)", re.ASCII)
_MEKA = re.compile(r"-C\s+(-?\d+)")


@dataclass
class _Head:
    """The attributes: which are words, which are labels."""

    relation: str = ""
    names: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    """Kind of each attribute: numeric, string, or a nominal attribute's first value (what a sparse row leaves out)
    after a brace."""
    place: dict[int, int] = field(default_factory=dict)
    """The number of the word that an attribute is."""
    labels: dict[int, str] = field(default_factory=dict)
    """The label that an attribute is."""
    nominal: int = -1
    """The attribute whose value is a label."""


def read(source: InputSource, options: ReadOptions) -> Iterator[Batch]:
    head = _Head()
    vocabulary: list[str] | None = None
    shown = source.shown
    for first, lines in source.lines(options.encoding, options.encoding_errors, options.faults):
        rows: list[tuple[int, dict[int, str]]] = []
        for number, line in enumerate(lines, first):
            text = line.strip()
            if not text or text.startswith("%"):
                continue
            if vocabulary is not None:
                rows.append((number, _parse_row(text, head, f"{shown}:{number}")))
            elif text.lower() == "@data":
                _choose_word_attributes(head, source, options)
                vocabulary = [head.names[i] for i in head.place]
            else:
                _read_attribute(text, head, f"{shown}:{number}")
        if rows and vocabulary is not None:
            yield _make_batch(shown, rows, head, vocabulary, options)
    if vocabulary is None:
        raise InputError(f"{shown}: has no line '@data'")


def _strip_quotes(text: str) -> str:
    if text[:1] in "'\"" and len(text) > 1:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _read_attribute(text: str, head: _Head, place: str) -> None:
    if text.lower().startswith("@relation"):
        head.relation = text
        return
    found = _ATTRIBUTE.fullmatch(text)
    if found is None:
        raise InputError(f"{place}: '@attribute NAME TYPE' or '@data' was expected, not {text[:40]!r}")
    name, kind = _strip_quotes(found[1]), found[2].strip()
    if kind.startswith("{") and kind.endswith("}"):
        first = _VALUE.match(kind[1:-1])
        kind = "{" + (_strip_quotes(first[1]) if first else "")
    elif kind.lower() in ("numeric", "real", "integer"):
        kind = "numeric"
    elif kind.lower() != "string":
        raise InputError(f"{place}: the attribute {name[:40]!r} has the type {kind[:40]!r}, which cannot be counted")
    head.names.append(name)
    head.kinds.append(kind)


def _choose_word_attributes(head: _Head, source: InputSource, options: ReadOptions) -> None:
    """Which attributes are words and which are labels."""
    numbers = {name: i for i, name in enumerate(head.names)}
    file = options.label_names or _find_label_file(source.name)
    meka = _MEKA.search(head.relation)
    if file is not None:
        for name in _xml_labels(file):
            if name not in numbers:
                raise InputError(f"{file}: the label {name!r} is no attribute of {source.shown}")
            head.labels[numbers[name]] = name
    elif meka:
        many = int(meka[1])
        if abs(many) > len(head.names):
            raise InputError(f"{source.shown}: -C {many}, but there are {len(head.names)} attributes")
        chosen = range(many) if many > 0 else range(len(head.names) + many, len(head.names))
        head.labels = {i: head.names[i] for i in chosen}
    if options.label_field:
        if options.label_field not in numbers:
            raise InputError(f"{source.shown}: no attribute {options.label_field!r} (--label-field)")
        head.nominal = numbers[options.label_field]
    words = [i for i in range(len(head.names)) if i not in head.labels and i != head.nominal]
    seen: set[str] = set()
    for i in words:
        if head.kinds[i] == "string":
            raise InputError(f"{source.shown}: the attribute {head.names[i]!r} is a text, which is no count")
        if head.names[i] in seen:
            raise InputError(f"{source.shown}: the attribute {head.names[i]!r} is there twice")
        seen.add(head.names[i])
    head.place = {attribute: word for word, attribute in enumerate(words)}


def _find_label_file(name: str) -> str | None:
    """`x.xml` for `x.arff`, `x-train.arff` and `x-test.arff`, where it exists."""
    if name == "-":
        return None
    path = Path(unpacked_name(name))
    stems = [path.stem, re.sub(r"-(train|test)$", "", path.stem)]
    near = [path.with_name(f"{stem}.xml") for stem in stems]
    return next((str(one) for one in near if one.is_file()), None)


def _xml_labels(name: str) -> list[str]:
    """The labels of an XML file, also those inside others (Mulan's hierarchies)."""
    with InputSource(name) as source:
        data = b"".join(source.blocks())
    if b"<!ENTITY" in data or len(data) > 64 * BLOCK:
        raise InputError(f"{name}: is no list of labels (it has entities, or is larger than 64 MB)")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise InputError(f"{name}: is not readable XML: {error}") from None
    found = [element.get("name") for element in root.iter() if element.tag.rpartition("}")[2] == "label"]
    labels = [label for label in found if label]
    if not labels or len(labels) < len(found):
        raise InputError(f'{name}: has no labels, or one without a name (<label name="…"/> was expected)')
    return labels


def _parse_row(text: str, head: _Head, place: str) -> dict[int, str]:
    """The values of a row that it names."""
    values: dict[int, str] = {}
    sparse = text.startswith("{")
    if sparse and not text.endswith("}"):
        raise InputError(f"{place}: a row that begins with a brace must end with one")
    body = text[1:-1].strip() if sparse else text
    at = 0
    while at < len(body):
        found = (_PAIR if sparse else _VALUE).match(body, at)
        if found is None:
            what = "'ATTRIBUTE VALUE, …'" if sparse else "a value"
            raise InputError(f"{place}: {what} was expected, not {body[at : at + 40]!r}")
        number = int(found[1]) if sparse else len(values)
        if number >= len(head.names) or number in values:
            raise InputError(f"{place}: there is no attribute {number}, or it is there twice")
        values[number] = _strip_quotes(found[found.re.groups])
        at = found.end()
    if not sparse and len(values) != len(head.names):
        raise InputError(f"{place}: {len(values)} values, but there are {len(head.names)} attributes")
    return values


def _make_batch(
    shown: str, rows: list[tuple[int, dict[int, str]]], head: _Head, vocabulary: list[str], options: ReadOptions
) -> Batch:
    words: list[int] = []
    counts: list[int] = []
    lengths: list[int] = []
    labels: list[tuple[str, ...]] = []
    for number, values in rows:
        place = f"{shown}:{number}"
        before = len(words)
        found: list[str] = []
        for attribute, value in values.items():
            if attribute == head.nominal:
                continue
            count = _parse_count(value, place)
            if count and attribute in head.labels:
                found.append(head.labels[attribute])
            elif count:
                words.append(head.place[attribute])
                counts.append(count)
        if head.nominal >= 0:
            value = values.get(head.nominal, head.kinds[head.nominal].removeprefix("{"))
            found += [value] if value != "?" else []
        lengths.append(len(words) - before)
        labels.append(tuple(dict.fromkeys(label for label in found if label not in options.no_label)))
    table = Counts(np.array(words, np.int64), np.array(counts, np.int64), np.array(lengths, np.int64), vocabulary)
    return Batch(shown, [number for number, _ in rows], labels=labels, counts=table)


def _parse_count(value: str, place: str) -> int:
    """A whole number, possibly written as 3.0; missing values (?) are none."""
    if value == "?":
        return 0
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not (0 <= number < 2**31 and number.is_integer()):
        raise InputError(f"{place}: the value {value[:40]!r} is not a count")
    return int(number)
