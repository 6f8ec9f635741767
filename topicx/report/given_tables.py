"""Tables that other programs made, for a report: a search for a number of topics, and anyone's topics (shares of
documents, words of topics)."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.table import Column, Numbers, Table, Texts
from topicx.errors import InputError
from topicx.model import Model
from topicx.strings import Strings

WEIGHTS = ("weight", "probability", "score", "beta", "prob", "value")
"""What the third column of a table of words may be called."""


def table_rows(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a table (tsv, csv, jsonl by the name) with the numbers of their lines."""
    try:
        with Path(path).open(encoding="utf-8", newline="") as stream:
            if Path(path).suffix in (".jsonl", ".ndjson"):
                for number, line in enumerate(stream, 1):
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise InputError(f"{path}:{number}: is not an object")
                    yield number, row
                return
            delimiter = "," if Path(path).suffix == ".csv" else "\t"
            csv.field_size_limit(1 << 30)
            reader = csv.DictReader(stream, delimiter=delimiter, restkey="", quoting=_quoting(delimiter))
            for row in reader:
                if "" in row or None in row.values():
                    raise InputError(f"{path}:{reader.line_num}: its cells are not those of the header")
                yield reader.line_num, row
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, json.JSONDecodeError, csv.Error) as error:
        raise InputError(f"{path}: is not a table ({error})") from None


def _quoting(delimiter: str) -> Any:
    return csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE


def read_search(path: str) -> list[dict[str, Any]]:
    """What a search for a number of topics measured (`topicx search --cells`): means over chains, by topics."""
    found: list[dict[str, Any]] = []
    for number, row in table_rows(path):
        if not isinstance(row.get("topics"), int):
            raise InputError(f"{path}:{number}: is not a row of a search, which has a number of topics")
        one: dict[str, Any] = {"topics": row["topics"]}
        for name, values in row.items():
            if isinstance(values, list) and values and all(isinstance(value, int | float) for value in values):
                one[name] = round(float(np.mean(values)), 6)
        found.append(one)
    return sorted(found, key=lambda row: row["topics"])


# -- anyone's topics ---------------------------------------------------------------------------------------------------


def read_word_weights(path: str) -> tuple[list[str], list[dict[str, float]]]:
    """Topics' names and words from a table `topic word weight`: topics are numbers, or names in order of appearance."""
    names: list[str] = []
    words: dict[str, dict[str, float]] = {}
    for number, row in table_rows(path):
        key = next((name for name in WEIGHTS if name in row), None)
        if key is None or "topic" not in row or "word" not in row:
            raise InputError(f"{path}: its columns are not topic, word and weight, but {', '.join(map(str, row))}")
        try:
            weight = float(row[key])
        except (TypeError, ValueError):
            raise InputError(f"{path}:{number}: the weight {row[key]!r:.40} is not a number") from None
        if not (math.isfinite(weight) and weight >= 0):
            raise InputError(f"{path}:{number}: the weight {weight} is not a number from 0 on")
        topic = str(row["topic"])
        if topic not in words:
            names.append(topic)
            words[topic] = {}
        if weight:
            words[topic][str(row["word"])] = words[topic].get(str(row["word"]), 0.0) + weight
    if not names:
        raise InputError(f"{path}: has no rows")
    if all(name.lstrip("-").isdecimal() for name in names):
        names.sort(key=int)
    return names, [words[name] for name in names]


def read_shares(path: str, names: list[str]) -> tuple[Strings, Table, NDArray[np.float32]]:
    """Documents' names, what they carry, and their shares from a table whose columns include the topics, by their names
    (or topic_NAME)."""
    ids: list[str] = []
    carried: dict[str, list[str]] = {}
    rows: list[list[float]] = []
    columns: list[str] = []
    for number, row in table_rows(path):
        if not columns:
            known = set(map(str, row))
            columns = [name if name in known else f"topic_{name}" for name in names]
            lacking = [name for name, column in zip(names, columns, strict=True) if column not in known]
            if lacking:
                raise InputError(
                    f"{path}: has no column for topic {lacking[0]}; it has {', '.join(sorted(known)[:6])} …"
                )
            carried = {str(name): [] for name in row if name not in columns and name != "id"}
        try:
            shares = [float(row[name]) for name in columns]
        except (TypeError, ValueError):
            raise InputError(f"{path}:{number}: a share is not a number") from None
        if not all(0 <= share <= 1.001 for share in shares):
            raise InputError(f"{path}:{number}: a share is not from 0 to 1")
        ids.append(str(row.get("id", len(ids))))
        rows.append(shares)
        for name, column in carried.items():
            column.append("" if row[name] is None else str(row[name]))
    if not rows:
        raise InputError(f"{path}: has no rows")
    table = Table({name: _as_column(values) for name, values in carried.items()})
    return Strings.of(ids), table, np.array(rows, np.float32)


def _as_column(values: list[str]) -> Column:
    try:
        return Numbers(np.array([float(value) if value else np.nan for value in values]))
    except ValueError:
        return Texts(Strings.of(values))


def foreign_model(words: list[dict[str, float]], names: list[str], theta: NDArray[np.float32]) -> Model:
    """A model of anyone's topics: words by their weights, topics as large as their shares of the documents. A unit of
    weight is no count of words, so uses are parts of a million."""
    vocabulary = sorted({word for each in words for word in each})
    if not vocabulary:
        raise InputError("--words: no word has a weight above 0")
    place = {word: number for number, word in enumerate(vocabulary)}
    size = np.maximum(theta.sum(axis=0, dtype=np.float64), 0)
    size = size / max(size.sum(), 1e-300) * 1e6
    entries: list[list[tuple[int, float]]] = [[] for _ in vocabulary]
    for k, each in enumerate(words):
        total = sum(each.values())
        for word, weight in each.items():
            entries[place[word]].append((k, weight / total * size[k]))
    indptr = np.cumsum([0, *map(len, entries)]).astype(np.int64)
    flat = [entry for row in entries for entry in row]
    topics = len(words)
    numbers = all(name.lstrip("-").isdecimal() for name in names)
    named = [f"topic {name}" for name in names] if numbers else names
    named = [] if names == [str(k) for k in range(topics)] else named
    return Model(
        vocabulary=Strings.of(vocabulary), alpha=np.full((1, topics), 0.1), beta=np.full(len(vocabulary), 1e-9),
        indptr=indptr, topics=np.array([k for k, _ in flat], np.uint16), values=np.array([v for _, v in flat]),
        topic_names=Strings.of(named), meta={"model": "another program's topics", "documents": len(theta)},
    )  # fmt: skip
