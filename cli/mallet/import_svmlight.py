"""topicx mallet import-svmlight: vectors of numbers, `target feature:value …` a line."""

from __future__ import annotations

import math
import re
import sys
from typing import Any

import numpy as np

from topicx.cli.common import check_outputs
from topicx.cli.mallet.arguments import Command, Option, Parsed, flag
from topicx.cli.mallet.importing import PIPE_OPTIONS, extend, lines_of
from topicx.cli.mallet.instances import VALUES, Instances, labels_of, load, printed
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.strings import Strings

MOST = 1e7
"""Of one word in a document."""
COMMENT = re.compile(r"\s*#.+")


def run(parsed: Parsed) -> None:
    inputs = parsed.need("input", "the files to read")
    outputs = parsed.need("output", "as many files to write")
    if len(inputs) != len(outputs):
        raise InputError(f"--output: {len(outputs)} files for {len(inputs)} of --input; there must be as many")
    path = parsed["use-pipe-from"] or parsed["use-pipe-from-without-rewrite"]
    previous = load(path, "--use-pipe-from") if path else None
    rewrite = parsed["use-pipe-from"] if parsed["use-pipe-from"] not in outputs else None
    check_outputs([*outputs, rewrite], inputs)
    features = {word: at for at, word in enumerate(previous.corpus.vocabulary)} if previous else {}
    labels = {label: at for at, label in enumerate(previous.labels)} if previous else {}
    # All are read before one is written: their words and labels have the same numbers.
    rows = [_rows(one, parsed["encoding"], features, labels) for one in inputs]
    made = [_instances(one, features, labels) for one in rows]
    for instances, output in zip(made, outputs):
        instances.save(output)
        if parsed["print-output"]:
            for text in printed(instances):
                sys.stdout.write(text)
    if previous and rewrite:
        extend(previous, made[-1])
        previous.save(rewrite)


Row = tuple[str, dict[int, float]]


def _rows(path: str, encoding: str, features: dict[str, int], labels: dict[str, int]) -> list[Row]:
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


def _instances(rows: list[Row], features: dict[str, int], labels: dict[str, int]) -> Instances:
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


COMMAND = Command(
    "import-svmlight", "cc.mallet.classify.tui.SvmLight2Vectors", "read vectors in SVMlight's format", (
        Option("input", "strings", None, "The files to read; - is standard input."),
        Option("output", "strings", None, "As many files to write."),
        *PIPE_OPTIONS,
        flag("print-output", "Print each vector on standard output."),
        Option("encoding", "string", "UTF-8", "The encoding of the files."),
    ), run,
)  # fmt: skip
