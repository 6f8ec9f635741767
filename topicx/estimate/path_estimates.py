"""Estimators of states with several paths (Kozdoba & Mannor, "Interdependent Gibbs Samplers", Algorithm 4): topics'
word counts are those of all paths together, and a document's θ is the average of its paths', or that of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from topicx.engines.threads import Engine
from topicx.estimate.cgsp_counts import Conditionals, ThetaRows
from topicx.state import State


def join_path_rows(rows: Iterable[ThetaRows], paths: int, path: int | None = None) -> Iterator[ThetaRows]:
    """Rows of documents from those of their paths, which come one after another: the average, or those of one path."""
    left = None
    for begin, found in rows:
        have = found if left is None else np.concatenate([left, found])
        first = begin - (0 if left is None else len(left))
        whole = len(have) // paths
        if whole:
            each = have[: whole * paths].reshape(whole, paths, -1)
            yield first // paths, each.mean(axis=1) if path is None else each[:, path].copy()
        left = have[whole * paths :]


class PathConditionals(Conditionals):
    """The full conditionals of all paths' tokens: word counts are pooled, document counts are each path's own."""

    def __init__(self, state: State, threads: int | Engine = 0, path: int | None = None) -> None:
        super().__init__(state.spread(), threads)
        self.paths, self.path = state.paths, path

    def documents(
        self, *, proportions: bool = True, wanted: bool = True, for_words: bool = True
    ) -> Iterator[ThetaRows]:
        rows = super().documents(proportions=proportions, wanted=wanted, for_words=for_words)
        yield from join_path_rows(rows, self.paths, self.path)
