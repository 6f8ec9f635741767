"""Instance lists of vectors of numbers, `target feature:value …` a line, in SVMlight's format."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.mallet.instance_lists import VALUES, Instances, labels_of
from topicx.mallet.text_import import lines_of
from topicx.strings import Strings

MOST = 1e7
"""Largest count of one word in a document."""
COMMENT = re.compile(r"\s*#.+")

Row = tuple[str, dict[int, float]]


def vectors_of_files(paths: list[str], encoding: str, previous: Instances | None) -> list[Instances]:
    """The instances of several files, whose words and labels have the same numbers: those of `previous`, and new ones
    after them."""
    features = {word: at for at, word in enumerate(previous.corpus.vocabulary)} if previous else {}
    labels = {label: at for at, label in enumerate(previous.labels)} if previous else {}
    rows = [read_vectors(one, encoding, features, labels) for one in paths]
    return [vector_instances(one, features, labels) for one in rows]


def read_vectors(path: str, encoding: str, features: dict[str, int], labels: dict[str, int]) -> list[Row]:
    rows: list[Row] = []
    for first, lines in lines_of(path, encoding):
        for number, line in enumerate(lines, first):
            if COMMENT.match(line):
                continue
            label, *terms = line.partition("#")[0].split() or [""]
            label = "1" if label == "+1" else label
            labels.setdefault(label, len(labels))
            values: dict[int, float] = {}
            for term in terms:
                name, colon, value = term.partition(":")
                try:
                    amount = float(value) if colon and name else math.nan
                except ValueError:
                    amount = math.nan
                if not math.isfinite(amount):
                    raise InputError(f"{path}:{number}: {term!r} is not feature:value")
                if amount > MOST:
                    raise InputError(f"{path}:{number}: a word that is there {amount:,.0f} times: that cannot be")
                at = features.setdefault(name, len(features))
                values[at] = values.get(at, 0.0) + amount
            rows.append((label, dict(sorted(values.items()))))
    return rows


def vector_instances(rows: list[Row], features: dict[str, int], labels: dict[str, int]) -> Instances:
    """Whole values are tokens; where one is not, the values are a column."""
    whole = all(value >= 1 and value == int(value) for _, values in rows for value in values.values())
    if whole:
        documents = [np.repeat(list(values), [int(v) for v in values.values()]) for _, values in rows]
    else:
        documents = [np.array(list(values), np.int64) for _, values in rows]
    columns: dict[str, Any] = {}
    if not whole:
        columns[VALUES] = Strings.of(" ".join(map(repr, values.values())) for _, values in rows)
    corpus = Corpus(
        words=np.concatenate([*documents, np.zeros(0, np.int64)]).astype(np.uint32),
        offsets=np.concatenate([[0], np.cumsum([len(one) for one in documents])]).astype(np.int64),
        vocabulary=Strings.of(features), ids=Strings.of(f"array:{at}" for at in range(len(rows))), columns=columns,
        **labels_of([[label] for label, _ in rows], labels),
    )  # fmt: skip
    return Instances(corpus, "vector", None, list(labels))
