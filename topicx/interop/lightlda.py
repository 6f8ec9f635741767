"""LightLDA's results: the data blocks it works on hold the assignments; the server's dumps hold counts alone.

    block.N                     int64 D, int64 offset[D+1] (counted in int32), then per document an int32 cursor and
                                (word, topic) int32 pairs
    dict.txt                    id⇥word⇥frequency
    server_S_table_0.model      word topic:count …
    server_S_table_1.model      one row, 0: the topic totals
    doc_topic.N                 document  topic:count …

None of them says α and β; LightLDA's own defaults are α = 0.1 for every topic and β = 0.01.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.formats.input_bytes import InputSource
from topicx.errors import InputError
from topicx.interop.text_parsing import (
    PairLines,
    check_distinct_words,
    parse_whole_number,
    read_lines,
    shorten_for_message,
)
from topicx.state import MAX_TOPICS, Csr, State, topic_totals, word_topics
from topicx.strings import Strings

ALPHA, BETA = 0.1, 0.01
_BLOCK = re.compile(r"block\.(\d+)(\.gz)?$")
_DOC_TOPIC = re.compile(r"doc_topic\.(\d+)(\.gz)?$")
_TABLE = re.compile(r"server_(\d+)_table_([01])\.model(\.gz)?$")


def _numbered_files(folder: Path, pattern: re.Pattern[str]) -> list[tuple[tuple[str, ...], Path]]:
    """The files whose names match, by their numbers."""
    found = [(match.groups(), path) for path in folder.iterdir() if (match := pattern.match(path.name))]
    return sorted(found, key=lambda item: (int(item[0][0]), item[1].name))


def is_block(path: str) -> bool:
    return bool(_BLOCK.match(Path(path).name))


def is_dump(path: str) -> bool:
    name = Path(path).name
    return bool(_DOC_TOPIC.match(name) or _TABLE.match(name))


def read(path: str, *, alpha: float | None = None, beta: float | None = None, topics: int | None = None) -> State:
    """All blocks of the folder (or the one block named), with the words of dict.txt beside them."""
    given = Path(path)
    folder = given if given.is_dir() else given.parent
    blocks = [item[1] for item in _numbered_files(folder, _BLOCK)] if given.is_dir() else [given]
    if not blocks:
        raise InputError(f"{path}: has no block.N")
    numbers = [int(_BLOCK.match(b.name)[1]) for b in blocks if _BLOCK.match(b.name)]  # type: ignore[index]
    if given.is_dir() and numbers != list(range(len(blocks))):
        raise InputError(f"{path}: has blocks {numbers}; they must count from 0 without a gap, and each once")
    vocabulary = _read_dictionary(folder)
    parts = [_read_block(block, len(vocabulary)) for block in blocks]
    words = np.concatenate([part[0] for part in parts])
    z = np.concatenate([part[1] for part in parts])
    lengths = np.concatenate([part[2] for part in parts])
    if not len(words):
        raise InputError(f"{path}: has no tokens")
    tables = _read_count_tables(folder)
    known = int(z.max()) + 1
    if tables is not None:
        known = max(known, tables.topics)
    if topics is not None and topics < known:
        raise InputError(f"{path}: has topic {known - 1}, which is beyond --topics {topics}")
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    k = topics or known
    state = State(
        words=words,
        offsets=offsets,
        z=z,
        alpha=np.full((1, k), ALPHA if alpha is None else alpha),
        beta=np.full(len(vocabulary), BETA if beta is None else beta),
        vocabulary=vocabulary,
        ids=Strings.of(str(d) for d in range(len(lengths))),
        meta={"format": "lightlda", "notes": _notes_on_priors(alpha, beta)},
    )
    if tables is not None and given.is_dir():
        tables.compare(state)
    return state


def _notes_on_priors(alpha: float | None, beta: float | None) -> list[str]:
    notes = []
    if alpha is None:
        notes.append(f"LightLDA's files do not say α: {ALPHA} for each topic is assumed (--alpha)")
    if beta is None:
        notes.append(f"LightLDA's files do not say β: {BETA} is assumed (--beta)")
    return notes


def _read_dictionary(folder: Path) -> Strings:
    for name in ("dict.txt", "dict.txt.gz"):
        if (folder / name).is_file():
            path = str(folder / name)
            break
    else:
        raise InputError(f"{folder / 'dict.txt'}: is not there (the words)")
    words: list[str] = []
    for line, text in enumerate(read_lines(path), 1):
        fields = text.split("\t")
        if len(fields) != 3:
            raise InputError(f"{path}:{line}: expected `id⇥word⇥frequency`, not {shorten_for_message(text)}")
        at = parse_whole_number(fields[0], f"{path}:{line}", "the id")
        parse_whole_number(fields[2], f"{path}:{line}", "the frequency")
        if at != line - 1:
            raise InputError(f"{path}:{line}: expected id {line - 1}, not {at}")
        words.append(fields[1])
    if not words:
        raise InputError(f"{path}: has no words")
    return check_distinct_words(words, path)


def _read_block(path: Path, n_words: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.int64]]:
    """Words, topics and document lengths of one block."""
    with InputSource(str(path)) as source:
        data = b"".join(source.blocks())
    if len(data) < 16:
        raise InputError(f"{path}: is truncated ({len(data)} bytes)")
    documents = int(np.frombuffer(data, "<i8", 1)[0])
    if not 0 <= documents <= (len(data) - 16) // 8:
        raise InputError(f"{path}: declares {documents} documents, more than its {len(data):,} bytes hold")
    offsets = np.frombuffer(data, "<i8", documents + 1, 8)
    start = 8 * (documents + 2)
    body = (len(data) - start) // 4
    if len(data) != start + 4 * body or offsets[-1] != body:
        raise InputError(
            f"{path}: {len(data) - start:,} bytes of documents where {4 * int(offsets[-1]):,} are declared: "
            "it is truncated or damaged"
        )
    values = np.frombuffer(data, "<i4", body, start)
    spans = np.diff(offsets)
    wrong = np.flatnonzero((spans < 1) | (spans % 2 != 1))
    if offsets[0] != 0 or len(wrong):
        at = int(wrong[0]) if len(wrong) else 0
        raise InputError(f"{path}: document {at} has {int(spans[at]) if documents else 0} numbers; damaged")
    pairs = np.delete(values, offsets[:-1])  # without the cursors
    words, topics = pairs[0::2], pairs[1::2]
    of = np.repeat(np.arange(documents), (spans - 1) // 2)
    for values_of, limit, what in ((words, n_words, "word"), (topics, MAX_TOPICS, "topic")):
        bad = np.flatnonzero((values_of < 0) | (values_of >= limit))
        if len(bad):
            at = int(bad[0])
            raise InputError(f"{path}: document {of[at]} has {what} {values_of[at]}, which is not below {limit}")
    return words.astype(np.uint32), topics.astype(np.uint16), (spans - 1) // 2


# -- the dumps -----------------------------------------------------------------------------------------------------


@dataclass
class Tables:
    """Word-topic counts and topic totals as the server dumped them."""

    folder: Path
    words: NDArray[np.int64]
    topic: NDArray[np.int64]
    count: NDArray[np.int64]
    """The entries: word, topic and count of each."""
    totals: NDArray[np.int64]
    """The count of each topic."""
    where: list[str] = field(repr=False)
    """File and line of each entry's row."""
    row: NDArray[np.int64] = field(repr=False)

    @property
    def topics(self) -> int:
        return int(max(self.topic.max(initial=-1) + 1, len(self.totals)))

    def compare(self, state: State) -> None:
        """Say so if the tables are not those of the assignments."""
        indptr, topics, counts = word_topics(state.words, state.z, state.n_words, state.n_topics, state.seeds)
        ours = np.repeat(np.arange(state.n_words), np.diff(indptr)) * state.n_topics + topics
        keys = self.words * state.n_topics + self.topic
        order = np.argsort(keys, kind="stable")
        keep = order[self.count[order] > 0]
        if np.array_equal(keys[keep], ours) and np.array_equal(self.count[keep], counts):
            totals = np.zeros(state.n_topics, np.int64)
            totals[: len(self.totals)] = self.totals
            if not len(self.totals) or np.array_equal(totals, topic_totals(state.z, state.n_topics, state.seeds)):
                return
        raise InputError(
            f"{self.folder}: the counts of server_*_table_*.model are not those of the blocks: they are not of one "
            "run, or one is damaged (name the block to leave the tables aside)"
        )


def _read_count_tables(folder: Path) -> Tables | None:
    files = _numbered_files(folder, _TABLE)
    words: list[NDArray[np.int64]] = []
    topic: list[NDArray[np.int64]] = []
    count: list[NDArray[np.int64]] = []
    row: list[NDArray[np.int64]] = []
    where: list[str] = []
    totals = np.zeros(0, np.int64)
    for (_, table, _), path in files:
        lines = PairLines(path, lead=1, names=("topic", "count"), limits=(MAX_TOPICS, 1 << 40))
        if table == "1":
            if len(lines.lengths) != 1 or lines.leads[0, 0] != 0:
                raise InputError(f"{path}: expected one row, numbered 0")
            part = np.zeros(int(lines.left.max(initial=-1)) + 1, np.int64)
            np.add.at(part, lines.left, lines.right)
            size = max(len(part), len(totals))
            totals = np.pad(totals, (0, size - len(totals))) + np.pad(part, (0, size - len(part)))
            continue
        words.append(np.repeat(lines.leads[:, 0], lines.lengths))
        topic.append(lines.left)
        count.append(lines.right)
        row.append(np.repeat(np.arange(len(lines.lengths)) + len(where), lines.lengths))
        where += [lines.line(i) for i in range(len(lines.lengths))]
    if not words:
        return None
    return Tables(
        folder, np.concatenate(words), np.concatenate(topic), np.concatenate(count), totals, where, np.concatenate(row)
    )


@dataclass
class LightldaTables:
    """What count dumps alone say: n_kw, and n_dk if there is doc_topic.N; no token's topic."""

    vocabulary: Strings
    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    word_rows: Csr
    document_rows: Csr | None
    totals: NDArray[np.int64]
    meta: dict[str, Any]


def read_dumps(
    path: str, *, alpha: float | None = None, beta: float | None = None, topics: int | None = None
) -> LightldaTables:
    """server_*_table_*.model, doc_topic.* and dict.txt of a folder (or of the folder of the file named)."""
    given = Path(path)
    folder = given if given.is_dir() else given.parent
    vocabulary = _read_dictionary(folder)
    tables = _read_count_tables(folder)
    if tables is None or not len(tables.words):
        raise InputError(f"{folder}: has no server_*_table_0.model with counts in it")
    beyond = np.flatnonzero(tables.words >= len(vocabulary))
    if len(beyond):
        at = int(beyond[0])
        where = tables.where[int(tables.row[at])]
        raise InputError(f"{where}: word {tables.words[at]} is not in dict.txt, which has {len(vocabulary)}")
    documents = _document_topics(folder)
    known = max(tables.topics, documents[1] if documents else 0)
    if topics is not None and topics < known:
        raise InputError(f"{path}: has topic {known - 1}, which is beyond --topics {topics}")
    k = topics or known
    word_rows = _as_csr(tables.words, tables.topic, tables.count, len(vocabulary))
    summed = np.bincount(tables.topic, weights=tables.count, minlength=k).astype(np.int64)
    totals = np.zeros(k, np.int64)
    totals[: len(tables.totals)] = tables.totals
    if len(tables.totals) and not np.array_equal(totals, summed):
        at = int(np.flatnonzero(totals != summed)[0])
        raise InputError(
            f"{folder}: topic {at} has {summed[at]} tokens in server_*_table_0.model and {totals[at]} in "
            "server_*_table_1.model: they are not of one run, or one is damaged"
        )
    return LightldaTables(
        vocabulary=vocabulary,
        alpha=np.full((1, k), ALPHA if alpha is None else alpha),
        beta=np.full(len(vocabulary), BETA if beta is None else beta),
        word_rows=word_rows,
        document_rows=documents[0] if documents else None,
        totals=summed,
        meta={"format": "lightlda", "notes": _notes_on_priors(alpha, beta)},
    )


def _document_topics(folder: Path) -> tuple[Csr, int] | None:
    rows, topic, count = [], [], []
    begin = 0
    files = _numbered_files(folder, _DOC_TOPIC)
    for _, path in files:
        lines = PairLines(path, lead=1, names=("topic", "count"), limits=(MAX_TOPICS, 1 << 40))
        wrong = np.flatnonzero(lines.leads[:, 0] != np.arange(len(lines.lengths)))
        if len(wrong):
            at = int(wrong[0])
            raise InputError(f"{lines.line(at)}: expected document {at}, not {lines.leads[at, 0]}")
        rows.append(np.repeat(np.arange(len(lines.lengths)) + begin, lines.lengths))
        topic.append(lines.left)
        count.append(lines.right)
        begin += len(lines.lengths)
    if not files:
        return None
    topics = np.concatenate(topic)
    return _as_csr(np.concatenate(rows), topics, np.concatenate(count), begin), int(topics.max(initial=-1)) + 1


def _as_csr(rows: NDArray[np.int64], topics: NDArray[np.int64], counts: NDArray[np.int64], number_of_rows: int) -> Csr:
    """Entries by row and topic; equal ones are added, empty ones left out."""
    keys = rows * (MAX_TOPICS + 1) + topics
    distinct_keys, inverse = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(distinct_keys), np.int64)
    np.add.at(sums, inverse, counts)
    distinct_keys, sums = distinct_keys[sums > 0], sums[sums > 0]
    indptr = np.zeros(number_of_rows + 1, np.int64)
    np.cumsum(np.bincount(distinct_keys // (MAX_TOPICS + 1), minlength=number_of_rows), out=indptr[1:])
    return indptr, (distinct_keys % (MAX_TOPICS + 1)).astype(np.uint16), sums
