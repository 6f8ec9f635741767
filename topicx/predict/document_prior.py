"""The priors of new documents' topics: one for all, one a group, or one each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError

LEAST = 1e-30
"""The least α in single precision."""


@dataclass(frozen=True)
class DocumentPrior:
    """α of some documents: rows, and which of them each document has. Make one by `constant`, `by_group` or `of_each`.

    Readers and kernels take `alpha` and `groups`; others ask for `rows`.
    """

    alpha: NDArray[np.float32]
    """Rows of topics."""
    groups: NDArray[np.uint32]
    """The row of each document."""
    strangers: int = 0
    """Documents of groups that the model does not know, which have the mean of all."""
    each: bool = False
    """Whether every document has a row of its own, made for it."""

    def __len__(self) -> int:
        return len(self.groups)

    @classmethod
    def constant(cls, alpha: Any, documents: int) -> DocumentPrior:
        """One prior for so many documents."""
        return cls(as_float32_prior(np.atleast_2d(alpha)), np.zeros(documents, np.uint32))

    @classmethod
    def by_group(cls, alpha: Any, groups: NDArray[np.uint32], strangers: int = 0) -> DocumentPrior:
        """That of each document's group: its row of `alpha`."""
        return cls(as_float32_prior(alpha), groups, strangers)

    @classmethod
    def of_each(cls, alpha: Any) -> DocumentPrior:
        """A row a document. InputError unless all are positive numbers."""
        if not (np.all(np.isfinite(alpha)) and np.all(np.asarray(alpha) > 0)):
            raise InputError("the prior of a document is not a positive number for every topic")
        rows = as_float32_prior(alpha)
        return cls(rows, np.arange(len(rows), dtype=np.uint32), each=True)

    def rows(self, begin: int, end: int) -> NDArray[np.float32]:
        """α of these documents, a row each."""
        return self.alpha[self.groups[begin:end]]

    def part(self, begin: int, end: int) -> DocumentPrior:
        """The priors of these documents."""
        if self.each:
            return DocumentPrior.of_each(self.alpha[begin:end])
        return DocumentPrior(self.alpha, self.groups[begin:end])

    def of_topics(self, begin: int, end: int) -> DocumentPrior:
        """This prior for some of the topics alone."""
        alpha = np.ascontiguousarray(self.alpha[:, begin:end])
        return DocumentPrior(alpha, self.groups, self.strangers, self.each)


def state_priors(
    alpha: NDArray[np.float64], priors: Sequence[DocumentPrior]
) -> tuple[NDArray[np.float64], NDArray[np.uint32]]:  # fmt: skip
    """The priors of documents, one batch after the other, as a state keeps them: rows of α, and the row of each.
    `alpha`: the rows of documents that share them (`Reader.alpha`)."""
    if any(prior.each for prior in priors):
        rows = np.concatenate([prior.rows(0, len(prior)) for prior in priors]).astype(np.float64)
        return rows, np.arange(len(rows), dtype=np.uint32)
    groups = [prior.groups for prior in priors if len(alpha) > 1]
    return alpha, np.concatenate([np.zeros(0, np.uint32), *groups])


def as_float32_prior(alpha: Any) -> NDArray[np.float32]:
    """α in single precision, no entry of which is 0."""
    if isinstance(alpha, np.ndarray) and alpha.dtype == np.float32:
        return np.ascontiguousarray(alpha)
    return np.maximum(np.asarray(alpha, np.float64), LEAST).astype(np.float32)
