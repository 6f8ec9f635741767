"""θ of a state's documents as a file, written as it is computed: a batch in memory at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from topicx.report.document_topics import Selection, format_of, writer
from topicx.sampling.state import State

Write = Callable[[int, NDArray[np.float64]], None]


@contextlib.contextmanager
def document_topics_file(
    path: str, state: State, *, threshold: float = 0.0, most: int | None = None
) -> Iterator[Write]:
    """A function that takes θ batch by batch: the number of the first document, and its rows. In the form that
    `topicx infer` writes (tsv, jsonl, npz, parquet by the name); the file appears when it is complete."""
    lengths, known = state.lengths, np.zeros(state.n_documents, np.int64)
    with writer(path, format_of(path, None), state.n_topics, Selection(threshold, most or 0)) as add:

        def write(begin: int, rows: NDArray[np.float64]) -> None:
            part = slice(begin, begin + len(rows))
            add(state.ids[part], lengths[part], known[part], rows.astype(np.float32))

        yield write
