"""A corpus in other programs' formats. What import reads of these formats is what is written here."""

from __future__ import annotations

import datetime
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.files import atomic_output

FORMATS = ("lines", "uci", "ldac", "jsonl", "svmlight")


def export_corpus(corpus: Corpus, out: str, format: str) -> list[str]:
    """Write the corpus; returns the names of the files written.

    - `lines`: name, labels (with commas; `-` for none) and words, parted by tabs.
    - `jsonl`: objects with id, label, collection, time, further columns, and text (the words with spaces).
    - `uci`, `ldac`, `svmlight`: counts, and the words in a file of their own, which import finds by its name:
      `vocab.X` beside `docword.X`, else `OUT.vocab`. `svmlight` numbers the labels and writes `OUT.labels`,
      too. When `out` is `-` the counts alone are written.
    """
    if format not in FORMATS:
        raise InputError(f"--format {format}: a corpus can be written as {', '.join(FORMATS)}")
    written = [out]
    words = vocabulary_name(out)
    if format in ("uci", "ldac", "svmlight") and out != "-" and Path(words).exists() and not Path(out).exists():
        raise InputError(f"{words}: is there already, without {out}: it would be overwritten")
    with atomic_output(out, binary=False) as stream:
        for text in _PARTS[format](corpus):
            stream.write(text)
    if format in ("uci", "ldac", "svmlight") and out != "-":
        name = vocabulary_name(out)
        with atomic_output(name, binary=False) as stream:
            stream.writelines(word + "\n" for word in _words(corpus))
        written.append(name)
        if format == "svmlight" and len(corpus.label_names):
            name = _plain(out) + ".labels"
            with atomic_output(name, binary=False) as stream:
                stream.writelines(label + "\n" for label in corpus.label_names)
            written.append(name)
    return written


def vocabulary_name(out: str) -> str:
    """The file of words that belongs to a file of counts."""
    path = Path(_plain(out))
    if path.name.startswith("docword."):
        return str(path.with_name("vocab." + path.name.removeprefix("docword.")))
    return f"{path}.vocab"


def _plain(out: str) -> str:
    return out.removesuffix(".gz")


def _words(corpus: Corpus) -> list[str]:
    """The words, with white space inside a word as an underscore: a word must be one field."""
    return ["_".join(word.split()) or "_" for word in corpus.vocabulary]


def _documents(corpus: Corpus) -> Iterator[list[str]]:
    words = np.array(_words(corpus), dtype=object)
    offsets = corpus.offsets.tolist()
    for begin, end in itertools.pairwise(offsets):
        yield words[corpus.words[begin:end]].tolist()


def _lines(corpus: Corpus) -> Iterator[str]:
    for number, (name, words) in enumerate(zip(corpus.ids, _documents(corpus))):
        labels = ",".join("_".join(label.split()) for label in corpus.labels(number)) or "-"
        yield f"{'_'.join(name.split()) or number}\t{labels}\t{' '.join(words)}\n"


def _jsonl(corpus: Corpus) -> Iterator[str]:
    dates = corpus.meta.get("time") == "date"
    columns = {name: list(values) for name, values in corpus.columns.items()}
    for number, (name, words) in enumerate(zip(corpus.ids, _documents(corpus))):
        row: dict[str, Any] = {"id": name}
        if len(corpus.label_offsets):
            row["label"] = corpus.labels(number)
        if len(corpus.collection):
            row["collection"] = corpus.collection_of(number)
        if len(corpus.time):
            row["time"] = _time(float(corpus.time[number]), dates)
        for column, values in columns.items():
            value = values[number]
            row.setdefault(column, value if isinstance(value, str) else _number(float(value)))
        row["text"] = " ".join(words)
        yield json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def _time(value: float, dates: bool) -> str | float | int | None:
    if not dates or np.isnan(value):
        return _number(value)
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=value)
    return moment.date().isoformat() if value.is_integer() else moment.isoformat()


def _number(value: float) -> float | int | None:
    if not np.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _counts(corpus: Corpus) -> Iterator[tuple[list[int], list[int]]]:
    """Words and counts of each document, words ascending."""
    offsets = corpus.offsets.tolist()
    for begin, end in itertools.pairwise(offsets):
        words, counts = np.unique(corpus.words[begin:end], return_counts=True)
        yield words.tolist(), counts.tolist()


def _uci(corpus: Corpus) -> Iterator[str]:
    entries = sum(len(words) for words, _ in _counts(corpus))
    yield f"{corpus.n_documents}\n{corpus.n_words}\n{entries}\n"
    for number, (words, counts) in enumerate(_counts(corpus), 1):
        yield "".join(f"{number} {word + 1} {count}\n" for word, count in zip(words, counts))


def _ldac(corpus: Corpus) -> Iterator[str]:
    for words, counts in _counts(corpus):
        yield " ".join([str(len(words)), *(f"{word}:{count}" for word, count in zip(words, counts))]) + "\n"


def _svmlight(corpus: Corpus) -> Iterator[str]:
    offsets = corpus.label_offsets.tolist() if len(corpus.label_offsets) else [0] * (corpus.n_documents + 1)
    for number, (name, (words, counts)) in enumerate(zip(corpus.ids, _counts(corpus))):
        labels = ",".join(str(label + 1) for label in corpus.label_ids[offsets[number] : offsets[number + 1]]) or "0"
        features = [f"{word + 1}:{count}" for word, count in zip(words, counts)]
        yield " ".join([labels, *features, "#", " ".join(name.split())]) + "\n"


_PARTS = {"lines": _lines, "uci": _uci, "ldac": _ldac, "jsonl": _jsonl, "svmlight": _svmlight}
