"""A method that has another one do its work, on other tokens or with other topics than the chain's own state has."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from topicx.files.schema import Array
from topicx.sampling.method import Method
from topicx.sampling.updates.prior_fixed_points import DocumentStatistics, WordStatistics
from topicx.state import Csr


class InnerMethod(Method):
    """What is asked of it, `inner` answers. The chain's `state` gets the assignments by `sync`."""

    inner: Method

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        return self.inner.sweep(step)

    def score(self) -> float:
        return self.inner.score()

    def document_topics(self) -> Csr:
        return self.inner.document_topics()

    def word_topics(self) -> Csr:
        return self.inner.word_topics()

    def document_statistics(self) -> DocumentStatistics:
        return self.inner.document_statistics()

    def word_statistics(self) -> WordStatistics:
        return self.inner.word_statistics()

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.inner.arrays()

    def declared(self) -> tuple[Array, ...]:
        return self.inner.declared()

    def sizes(self) -> dict[str, int]:
        return self.inner.sizes()

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.inner.restore(arrays)
