"""Sizes of arrays as values: `DOCUMENTS + 1`, `PATHS * TOKENS`, `size_beside("labels")`.

A size has names, which are multiplied, perhaps with a number, and a number more. What a name stands for is learnt from
the first array that has it, and must fit everywhere else. The sizes that several kinds of files share are constants of
this module, so that a misspelt one is an error when the declaration is imported.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

_NAME = re.compile(r"[a-z_]+(\.(\*|[a-z_]+))*")


@dataclass(frozen=True)
class ArraySize:
    """How many entries an array has along one dimension."""

    names: tuple[str, ...] = ()
    """Names whose sizes are multiplied. One * in a name stands for what the * of the array's name stands for."""
    times: int = 1
    """What the product of the names is multiplied with."""
    more: int = 0
    """Entries beside the product."""
    is_beside: bool = False
    """Whether the names are of the arrays that stand under the same prefix, and not of the whole file."""
    is_any: bool = False
    """Whether any size will do."""

    def __add__(self, more: int) -> ArraySize:
        return replace(self, more=self.more + more)

    def __mul__(self, other: ArraySize | int) -> ArraySize:
        right = as_size(other)
        if self.more or right.more:
            raise ValueError(f"sums of sizes are not multiplied: {self} and {right}")
        if self.names and right.names and self.is_beside != right.is_beside:
            raise ValueError(f"{self} and {right} do not belong to the same arrays")
        beside = self.is_beside or right.is_beside
        return ArraySize((*self.names, *right.names), self.times * right.times, is_beside=beside)

    def __str__(self) -> str:
        """The size as messages have it."""
        if self.is_any:
            return "?"
        number = [str(self.times)] if self.times != 1 or not self.names else []
        return " × ".join([*self.names, *number]) + (f"+{self.more}" if self.more else "")

    @property
    def is_plain(self) -> bool:
        """Whether it is one name and nothing else."""
        return len(self.names) == 1 and self.times == 1 and not self.more

    @property
    def has_star(self) -> bool:
        return any("*" in name for name in self.names)

    def under(self, prefix: str) -> ArraySize:
        """This size for arrays under a prefix."""
        if not self.is_beside:
            return self
        return replace(self, names=tuple(prefix + name for name in self.names), is_beside=False)

    def named(self, part: str) -> ArraySize:
        """This size with a name for *."""
        return replace(self, names=tuple(name.replace("*", part) for name in self.names)) if self.has_star else self

    def unknown(self, sizes: Mapping[str, int]) -> list[str]:
        """The names that these sizes do not have."""
        return [name for name in self.names if name not in sizes]

    def known_product(self, sizes: Mapping[str, int]) -> int:
        """The product of what is known."""
        return self.times * math.prod(sizes[name] for name in self.names if name in sizes)


def named_size(name: str) -> ArraySize:
    """A size that belongs to a whole file."""
    return ArraySize((_require_name(name),))


def size_beside(name: str) -> ArraySize:
    """A size that belongs to the arrays under one prefix: a model's side arrays, or those of one sample."""
    return ArraySize((_require_name(name),), is_beside=True)


def _require_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name.count("*") > 1:
        raise ValueError(f"a size has a name of small letters, not {name!r}")
    return name


def as_size(value: ArraySize | int) -> ArraySize:
    """A size; a number is one without a name."""
    if isinstance(value, bool) or not isinstance(value, ArraySize | int):
        raise TypeError(f"a size or a number is wanted, not {value!r}")
    return value if isinstance(value, ArraySize) else ArraySize(times=value)


Shape = ArraySize | int | tuple[ArraySize | int, ...] | None
"""A size for each dimension; None: any shape."""


def as_shape(value: Shape) -> tuple[ArraySize, ...] | None:
    """A size for each dimension."""
    if value is None:
        return None
    return tuple(as_size(one) for one in value) if isinstance(value, tuple) else (as_size(value),)


ANY_SIZE = ArraySize(is_any=True)
DOCUMENTS, TOKENS, WORDS, TOPICS = (
    named_size("documents"),
    named_size("tokens"),
    named_size("words"),
    named_size("topics"),
)
PRIOR_GROUPS = named_size("groups")
"""Rows of α."""
PATHS = named_size("paths")
"""Assignments of the corpus that a state holds one after another."""
LABELS, COLLECTIONS, SEEDS = named_size("labels"), named_size("collections"), named_size("seeds")
ENTRIES = named_size("entries")
"""Pairs of a word and a topic that is kept for it."""
EXAMPLES = named_size("examples")
"""Documents that a model keeps a topic."""
RECORDS = named_size("records")
"""Rows of a trace."""
PAIRS = named_size("pairs")
"""Pairs of a document and a word, or of documents and words cut into pieces."""
PADDED = named_size("padded")
"""Topics, filled up to whole vectors."""
STATES, RESTARTS = named_size("states"), named_size("restarts")
