"""What corpora, states and models have in common: their sizes, and what they keep of the files that they came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
