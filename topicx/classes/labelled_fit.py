"""`fit(documents, y)`, as scikit-learn has it, for classes that learn from labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self, Unpack, cast

import numpy as np

from topicx.classes.fit_session import Callback
from topicx.classes.lda_class import LDA
from topicx.corpus.any_documents import Reading, as_corpus


class FitsLabels(LDA):
    """What learns from documents and their labels."""

    def fit(  # type: ignore[override]
        self,
        documents: Any,
        y: Iterable[Any] | None = None,
        callbacks: Sequence[Callback] = (),
        *,
        verbose: bool | int | None = None,
        **reading: Unpack[Reading],
    ) -> Self:
        """Train and return self.

        `y`: what is to be learnt of each document: a label, several, a number, or None; without it, what the corpus's
        documents carry. The rest is as in `LDA.fit` (whose callbacks may also stand in the place of `y`).
        """
        if callable(y) or (isinstance(y, list | tuple) and len(y) > 0 and all(map(callable, y))):
            callbacks, y = cast(Sequence[Callback], y), None
        corpus = as_corpus(documents, **reading)
        if y is not None:
            corpus = corpus.with_labels([told_label(value) for value in y])
        return super().fit(corpus, callbacks, verbose=verbose)


def told_label(value: Any) -> Any:
    """A label as text: of numbers, with all their digits; of several labels, each."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | tuple | set | np.ndarray):
        return [told_label(one) for one in value]
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else repr(float(value)).removesuffix(".0")
    return str(value.item() if isinstance(value, np.generic) else value)
