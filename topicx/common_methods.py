"""What corpora, states, models and results have in common: their sizes, what they keep of the files that they came
from, and how they are shown in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas


class OfDocuments:
    """Words of documents, one after another; document d is words[offsets[d]:offsets[d + 1]]."""

    words: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    @property
    def n_documents(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_tokens(self) -> int:
        return len(self.words)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each document."""
        return np.diff(self.offsets)


class OfTopics:
    """Priors: α, a row a group and a column a topic, and β of each word."""

    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]

    @property
    def n_topics(self) -> int:
        return self.alpha.shape[1]

    @property
    def n_words(self) -> int:
        return len(self.beta)


@dataclass(eq=False, kw_only=True)
class Kept:
    """What a state or a model says of itself, beside what every one has."""

    side: dict[str, NDArray[Any]] = field(default_factory=dict)
    """Arrays that only the model's definition knows (targets, η, π, label statistics …), by name."""
    extra: dict[str, NDArray[Any]] = field(default_factory=dict)
    """Arrays of its file that this version does not know: they are kept."""
    meta: dict[str, Any] = field(default_factory=dict)
    """How it was made: options, inputs, what was left out."""
    parents: dict[str, str] = field(default_factory=dict)
    """The content digest of each file that it was made of, by role."""
    digest: str = ""
    """The content digest of the file it came from ('' if it never was in a file)."""


SHOWN = 60
"""Characters that one field may take of the line that shows a result."""


class Summarized:
    """Shown in one line: short values as they are, of all others how many there are. Dataclasses that use it are made
    with `repr=False`."""

    def __repr__(self) -> str:
        told = [f"{one.name}={_summary_of(getattr(self, one.name))}" for one in fields(self) if one.repr]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(told)})"


def _summary_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{' × '.join(f'{n:,}' for n in value.shape)}>" if value.ndim else repr(value[()])
    if isinstance(value, float):
        return f"{value:.6g}"
    if is_dataclass(value) and not isinstance(value, type) and not isinstance(value, Summarized):
        return type(value).__name__
    text = repr(value)
    if len(text) <= SHOWN:
        return text
    if isinstance(value, Mapping):
        return f"<{', '.join(map(str, value))}>" if len(value) <= 6 else f"<{len(value):,} entries>"
    if isinstance(value, list | tuple) and len(repr(value[0])) < SHOWN // 3:
        return f"[{value[0]!r}, … {len(value):,} in all]"
    return f"<{len(value):,}>" if isinstance(value, Sized) and not isinstance(value, str) else text[: SHOWN - 2] + " …"


class TraceTable(dict[str, NDArray[np.float64]]):
    """A training's history: columns of equal length by name, among them `sweep` and `score`."""

    def __repr__(self) -> str:
        number = max(map(len, self.values()), default=0)
        scores = self.get("score", np.zeros(0))
        last = f", score {scores[0]:.4f} to {scores[-1]:.4f}" if len(scores) else ""
        return f"TraceTable({number:,} records of {', '.join(self) or 'nothing'}{last})"

    def to_dataframe(self) -> pandas.DataFrame:
        """A pandas frame with a row a record."""
        import pandas

        return pandas.DataFrame(dict(self))
