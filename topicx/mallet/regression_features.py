"""Dirichlet-multinomial regression as MALLET has it: the two files of `DMRLoader`, features of instances as columns
of a formula, and the file of parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.design.formula import parse_formula
from topicx.errors import InputError
from topicx.interop.mallet_numbers import java_double
from topicx.mallet.instance_lists import TARGETS, Instances, RawTexts
from topicx.mallet.text_import import all_lines, parse_features
from topicx.mallet.text_pipe import Pipe, mallet_stopwords
from topicx.strings import Strings

PIPE_TOKENS = r"\p{Alpha}+"
"""What `DMRLoader` takes for words."""


def loader_pipe() -> Pipe:
    """How `DMRLoader` reads texts: runs of ASCII letters in lower case, without MALLET's stop words."""
    return Pipe(tokens=PIPE_TOKENS, stopwords=mallet_stopwords())


def texts_with_features(words: str, features: str) -> RawTexts:
    """The documents of a file of texts and one of features, a line each; without a feature a line is left out."""
    texts, lists = all_lines(words), all_lines(features)
    if len(lists) < len(texts):
        raise InputError(f"{features}: has {len(lists):,} lines for the {len(texts):,} of {words}: ran out of features")
    kept = [at for at in range(len(texts)) if lists[at]]
    return RawTexts(
        [str(number) for number in range(1, len(kept) + 1)],
        [texts[at] for at in kept],
        features=[parse_features(lists[at], f"{features}:{at + 1}") for at in kept],
    )


def with_feature_columns(instances: Instances) -> tuple[Corpus, str]:
    """The documents with a column of numbers for each feature (0 where a document lacks it), and the formula of all."""
    corpus, values = instances.corpus, instances.corpus.columns.get(TARGETS)
    names = instances.labels
    if not len(corpus.label_offsets) or not names:
        raise InputError("the instances have no features: make them with cc.mallet.topics.tui.DMRLoader")
    place = {str(name): at for at, name in enumerate(names)}
    number = np.array([place[name] for name in corpus.label_names], np.int64)[corpus.label_ids]
    document = np.repeat(np.arange(corpus.n_documents), np.diff(corpus.label_offsets))
    weight = np.ones(len(number))
    if isinstance(values, Strings):
        weight = np.array([float(value) for line in values for value in line.split()])
    for name in names:
        if "`" in name:
            raise InputError(f"the feature {name!r} has a `, which a formula cannot have in a name")
    formula = "~ " + " + ".join(f"`{name}`" for name in names)
    parse_formula(formula)
    columns: dict[str, Strings | NDArray[np.float64]] = {
        name: _column(number == at, document, weight, corpus.n_documents) for name, at in place.items()
    }
    bare = replace(
        corpus, columns=columns, label_names=Strings.of([]), label_offsets=np.zeros(0, np.int64),
        label_ids=np.zeros(0, np.uint32),
    )  # fmt: skip
    return bare, formula


def _column(
    own: NDArray[np.bool_], document: NDArray[np.int64], weight: NDArray[np.float64], documents: int
) -> NDArray[np.float64]:
    return np.bincount(document[own], weight[own], documents).astype(np.float64)


def parameter_lines(coefficients: NDArray[np.float64], names: list[str]) -> Iterator[str]:
    """The file of `--output-params`: the default, which is the first coefficient, and all features of each topic."""
    for topic, row in enumerate(coefficients):
        yield f"FEATURES FOR CLASS topic{topic}\n"
        for name, value in zip(["<default>", *names], row.tolist(), strict=True):
            yield f" {name} {java_double(value)}\n"
