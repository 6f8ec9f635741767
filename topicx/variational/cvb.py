"""CVB: collapsed variational Bayes with the Gaussian approximation (Teh, Newman & Welling 2006, eq. 16-18).

As CVB0 with the variances of all counts; its memory is that of CVB0 and another 4 bytes × (documents + words) × K.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import soft
from topicx.files.array_sizes import DOCUMENTS, PADDED, TOPICS, WORDS
from topicx.files.schema import Array
from topicx.sampling.schedule import Cell
from topicx.variational.cvb0 import Stored
from topicx.variational.soft_method import Rows


class Cvb(Stored):
    """γ ∝ a b / t · exp(-v_dk / 2a² - v_kw / 2b² + v_k / 2t²), a, b, t and v without the token itself."""

    name = "cvb"
    words_rows = 2

    def start(self, random: bool) -> None:
        self.vd, self.vw = self._rows(self.state.n_documents), self._rows(self.state.n_words)
        self.variances = np.zeros(self.topics)
        super().start(random)
        self.variances = soft.column_sums(self.vw, self.topics)

    def _document_variances(self) -> list[Rows]:
        return [self.vd]

    def _word_variances(self) -> list[Rows]:
        return [self.vw]

    def _settle(self) -> None:
        super()._settle()
        self.variances = soft.column_sums(self.vw, self.topics)

    def _sweep(self) -> float:
        moved = 0.0
        for epoch, cells in enumerate(self.schedule.epochs()):
            totals, variances = self.totals, self.variances
            results = self.engine.map(partial(self._cell, epoch == 0), cells)
            self.totals = totals + sum(after - totals for _, after, _ in results)
            self.variances = variances + sum(after - variances for _, _, after in results)
            moved += sum(amount for amount, _, _ in results)
        return moved

    def _cell(self, rebuild: bool, cell: Cell) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        totals, variances = self.totals.copy(), self.variances.copy()
        moved = soft.cvb_cell(
            self.pairs, self._documents(cell), cell.block, rebuild, self.gamma, self.nd, self.vd, self.nw, self.vw,
            totals, variances, self._alpha32, self._beta32, self._beta_sum,
        )  # fmt: skip
        return moved, totals, variances

    def arrays(self) -> dict[str, NDArray[Any]]:
        return super().arrays() | {"vd": self.vd, "vw": self.vw, "variances": self.variances}

    def declared(self) -> tuple[Array, ...]:
        most = 1.01 * self.state.n_tokens + 1  # the variance of an indicator is at most a quarter
        return (
            *super().declared(),
            Array("vd", "float32", (DOCUMENTS, PADDED), low=-1, high=most),
            Array("vw", "float32", (WORDS, PADDED), low=-1, high=most),
            Array("variances", "float64", TOPICS, low=-1, high=most),
        )

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(arrays)
        self.vd, self.vw = arrays["vd"].copy(), arrays["vw"].copy()
        self.variances = arrays["variances"].copy()
