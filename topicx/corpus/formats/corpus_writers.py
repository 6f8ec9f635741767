"""A corpus in other programs' formats. What import reads of these formats is what is written here."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from topicx.corpus.corpus import Corpus
from topicx.corpus.time_texts import told_number, told_time
from topicx.errors import InputError
from topicx.files.container import atomic_output
from topicx.strings import Strings

FORMATS = ("lines", "uci", "ldac", "jsonl", "parquet", "svmlight")
COUNTS = ("uci", "ldac", "svmlight")


def export_corpus(corpus: Corpus, out: str, format: str) -> list[str]:
    """Write the corpus; returns the names of the files written.

    - `lines`: name, labels (with commas; `-` for none) and words, parted by tabs.
    - `jsonl`, `parquet`: id, label (a list), collection, time, further columns, and text: the words with spaces, or
      the list of them where a word has white space in it.
    - `uci`, `ldac`, `svmlight`: counts, and the words in a file of their own, which import finds by its name:
      `vocab.X` beside `docword.X`, else `OUT.vocab`. `svmlight` numbers the labels from 1 (0: none) and writes their
      names into `OUT.labels`. When `out` is `-` the counts alone are written.

    What a format cannot say in a way that import would read again is refused.
    """
    if format not in FORMATS:
        raise InputError(f"--format {format}: a corpus can be written as {', '.join(FORMATS)}")
    _check_names(corpus, format)
    if format == "parquet" and out.endswith(".gz"):
        raise InputError(f"{out}: a Parquet table is compressed inside: leave .gz away")
    beside: dict[str, Sequence[str]] = {}
    if format in COUNTS and out != "-":
        beside[vocabulary_name(out)] = corpus.vocabulary
        if format == "svmlight":
            beside[_without_gz(out) + ".labels"] = corpus.label_names
    for name in beside:
        if Path(name).exists() and not Path(out).exists():
            raise InputError(f"{name}: is there already, without {out}: it would be overwritten")
    if format == "parquet":
        _write_parquet(corpus, out)
        return [out]
    with atomic_output(out, binary=False) as stream:
        for text in _PARTS[format](corpus):
            stream.write(text)
    for name, values in beside.items():
        with atomic_output(name, binary=False) as stream:
            stream.writelines(value + "\n" for value in values)
    return [out, *beside]


def _check_names(corpus: Corpus, format: str) -> None:
    """Refuse names that would come back as others."""
    if format in ("jsonl", "parquet"):
        return

    def refuse(what: str, wrong: str | None, why: str) -> None:
        if wrong is not None:
            raise InputError(
                f"--format {format}: the {what} {wrong!r} {why}, which this format cannot say; jsonl and parquet can"
            )

    if format == "lines":
        refuse(
            "word", _first_wrong(corpus.vocabulary, lambda word: word.split() != [word]), "is empty or has white space"
        )
    else:
        refuse("word", _first_wrong(corpus.vocabulary, _would_change_read), _UNCLEAN)
    if format in ("lines", "svmlight"):
        refuse("name", _first_wrong(corpus.ids, lambda name: bool(name) and _would_change_read(name)), _UNCLEAN)
        refuse("label", _first_wrong(corpus.label_names, _would_change_read), _UNCLEAN)
    if format == "lines":
        refuse("name", _first_wrong(corpus.ids, lambda name: "\t" in name), "has a tab")
        refuse("label", _first_wrong(corpus.label_names, lambda one: one == "-" or "\t" in one or "," in one),
               "has a comma or a tab or means 'none'")  # fmt: skip


_UNCLEAN = "is empty, begins or ends with white space, or has a line end"


def _would_change_read(text: str) -> bool:
    return not text or text != text.strip() or "\n" in text or text[0] == "\ufeff"


def _first_wrong(values: Iterable[str], wrong: Callable[[str], bool]) -> str | None:
    return next((value for value in values if wrong(value)), None)


def vocabulary_name(out: str) -> str:
    """The file of words that belongs to a file of counts."""
    path = Path(_without_gz(out))
    if path.name.startswith("docword."):
        return str(path.with_name("vocab." + path.name.removeprefix("docword.")))
    return f"{path}.vocab"


def _without_gz(out: str) -> str:
    return out.removesuffix(".gz")


def _words_by_document(corpus: Corpus) -> Iterator[list[str]]:
    words = np.array(list(corpus.vocabulary), dtype=object)
    offsets = corpus.offsets.tolist()
    for begin, end in itertools.pairwise(offsets):
        yield words[corpus.words[begin:end]].tolist()


def _text_lines(corpus: Corpus) -> Iterator[str]:
    for number, (name, words) in enumerate(zip(corpus.ids, _words_by_document(corpus))):
        yield f"{name or number}\t{','.join(corpus.labels(number)) or '-'}\t{' '.join(words)}\n"


def _jsonl_lines(corpus: Corpus) -> Iterator[str]:
    for row in _document_rows(corpus):
        yield json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"


def _document_rows(corpus: Corpus) -> Iterator[dict[str, Any]]:
    """Each document as fields, its text last."""
    dates = corpus.meta.get("time") == "date"
    listed = _words_need_list(corpus)
    columns = {name: list(values) for name, values in corpus.columns.items()}
    for number, (name, words) in enumerate(zip(corpus.ids, _words_by_document(corpus))):
        row: dict[str, Any] = {"id": name}
        if len(corpus.label_offsets):
            row["label"] = corpus.labels(number)
        if len(corpus.collection):
            row["collection"] = corpus.collection_of(number)
        if len(corpus.time):
            row["time"] = told_time(float(corpus.time[number]), dates)
        for column, values in columns.items():
            value = values[number]
            row.setdefault(column, value if isinstance(value, str) else told_number(float(value)))
        row["text"] = words if listed else " ".join(words)
        yield row


def _words_need_list(corpus: Corpus) -> bool:
    """Whether the words have to be written as a list, since one has white space in it."""
    return _first_wrong(corpus.vocabulary, lambda word: word.split() != [word]) is not None


def _write_parquet(corpus: Corpus, out: str) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(f"{out}: Parquet needs the library pyarrow: pip install 'topicx[parquet]'") from None
    text = pyarrow.string()
    types: dict[str, Any] = {"id": text}
    if len(corpus.label_offsets):
        types["label"] = pyarrow.list_(text)
    if len(corpus.collection):
        types["collection"] = text
    if len(corpus.time):
        types["time"] = text if corpus.meta.get("time") == "date" else pyarrow.float64()
    for name, column in corpus.columns.items():
        types.setdefault(name, text if isinstance(column, Strings) else pyarrow.float64())
    types["text"] = pyarrow.list_(text) if _words_need_list(corpus) else text
    schema = pyarrow.schema(types.items())
    with atomic_output(out) as stream, pyarrow.parquet.ParquetWriter(stream, schema) as writer:
        rows = _document_rows(corpus)
        while part := list(itertools.islice(rows, 5_000)):
            writer.write_table(pyarrow.Table.from_pylist(part, schema))


def _counts_by_document(corpus: Corpus) -> Iterator[tuple[list[int], list[int]]]:
    """Words and counts of each document, words ascending."""
    offsets = corpus.offsets.tolist()
    for begin, end in itertools.pairwise(offsets):
        words, counts = np.unique(corpus.words[begin:end], return_counts=True)
        yield words.tolist(), counts.tolist()


def _uci_lines(corpus: Corpus) -> Iterator[str]:
    entries = sum(len(words) for words, _ in _counts_by_document(corpus))
    yield f"{corpus.n_documents}\n{corpus.n_words}\n{entries}\n"
    for number, (words, counts) in enumerate(_counts_by_document(corpus), 1):
        yield "".join(f"{number} {word + 1} {count}\n" for word, count in zip(words, counts))


def _ldac_lines(corpus: Corpus) -> Iterator[str]:
    for words, counts in _counts_by_document(corpus):
        yield " ".join([str(len(words)), *(f"{word}:{count}" for word, count in zip(words, counts))]) + "\n"


def _svmlight_lines(corpus: Corpus) -> Iterator[str]:
    offsets = corpus.label_offsets.tolist() if len(corpus.label_offsets) else [0] * (corpus.n_documents + 1)
    for number, (name, (words, counts)) in enumerate(zip(corpus.ids, _counts_by_document(corpus))):
        labels = ",".join(str(label + 1) for label in corpus.label_ids[offsets[number] : offsets[number + 1]]) or "0"
        features = [f"{word + 1}:{count}" for word, count in zip(words, counts)]
        yield " ".join([labels, *features, "#", " ".join(name.split())]) + "\n"


_PARTS = {
    "lines": _text_lines,
    "uci": _uci_lines,
    "ldac": _ldac_lines,
    "jsonl": _jsonl_lines,
    "svmlight": _svmlight_lines,
}
