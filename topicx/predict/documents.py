"""Documents as a model reads them: words by its numbers, and what they carry beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.strings import Strings


@dataclass(frozen=True)
class Documents:
    """Some documents, as the model's word ids; words that it does not know are left out and counted."""

    ids: Strings
    words: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    """Document d is words[offsets[d]:offsets[d + 1]]."""
    unknown: NDArray[np.int64]
    """The tokens left out of each."""
    carried: Mapping[str, list[Any]] = field(default_factory=dict)
    """What the documents carry, by column: a plain value each, None where there is none."""

    def __len__(self) -> int:
        return len(self.offsets) - 1
