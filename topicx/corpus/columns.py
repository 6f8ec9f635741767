"""What documents carry beside their words, as columns of a table: label, collection, time, and the columns that import
has kept. Every output with a row a document takes them from here.

A column is strings or numbers, one a document. Several labels of one document are one string, parted by SEPARATOR;
dates are ISO texts. A text that is empty, or a number that is NaN, is no value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.table import SNIPPET, Digits, Kinds
from topicx.corpus.time_texts import told_number
from topicx.errors import InputError
from topicx.strings import Strings

if TYPE_CHECKING:
    from topicx.corpus.corpus import Corpus

Column = Strings | NDArray[np.float64]
SEPARATOR = "\x1f"


def columns_of(corpus: Corpus, begin: int = 0, end: int | None = None, snippets: bool = False) -> dict[str, Column]:
    """The columns of a corpus, or of some of its documents."""
    table = corpus.table.part(begin, corpus.n_documents if end is None else end)
    return (table if snippets else table.without(SNIPPET)).packed()


def kinds_of(columns: Mapping[str, Column]) -> Kinds:
    """What each column holds."""
    kinds: Kinds = {name: str if isinstance(column, Strings) else Digits for name, column in columns.items()}
    return kinds | ({"label": list} if kinds.get("label") is str else {})


@overload
def part_of_column(column: Strings, begin: int, end: int) -> Strings: ...
@overload
def part_of_column(column: Column, begin: int, end: int) -> Column: ...
def part_of_column(column: Column, begin: int, end: int) -> Column:
    """The column of some documents."""
    if isinstance(column, Strings):
        places = column.offsets[begin : end + 1]
        return Strings(column.data[places[0] : places[-1]], places - places[0])
    return column[begin:end]


def rows_of(column: Column, rows: NDArray[np.int64]) -> Column:
    """The column of these documents."""
    return column.take(rows) if isinstance(column, Strings) else column[rows]


def values_of(name: str, column: Column) -> list[Any]:
    """A column as plain values: texts, lists of labels, whole or broken numbers; None: no value."""
    if not isinstance(column, Strings):
        return [told_number(value) for value in column.tolist()]
    if name == "label":
        return [text.split(SEPARATOR) if text else [] for text in column]
    return [text or None for text in column]


def choose_columns(asked: str, kinds: Kinds, leave: Collection[str] = ()) -> Kinds:
    """The columns that an option names: all (but for snippets, and what else is to `leave`), none, or names with commas
    between."""
    if asked == "all":
        return {name: kind for name, kind in kinds.items() if name != SNIPPET and name not in leave}
    if asked == "none":
        return {}
    names = [name.strip() for name in asked.split(",")]
    for name in names:
        if name not in kinds:
            known = ", ".join(kinds) or "nothing beside their words"
            raise InputError(f"--metadata: the documents do not carry {name!r}; they carry {known}")
    return {name: kinds[name] for name in dict.fromkeys(names)}
