"""The data folder of dfr-browser2 (github.com/scottkleinman/dfr-browser2), which shows topics on a web site.

These are the files that its script makes of MALLET's state, with the documents' own names, titles and years.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.table import SNIPPET
from topicx.errors import InputError
from topicx.estimate.estimators import theta_rows
from topicx.files.atomic_output import atomic_output
from topicx.interop import mallet_write as write
from topicx.model import Model
from topicx.state import State
from topicx.strings import one_line

FILES = ("topic-keys.txt", "doc-topic.txt", "doc-lengths.txt", "metadata.csv", "topic_coords.csv", "topic-state.gz")
"""What is written, by the names that its configuration has."""
LEADING = ("docNum", "docName", "title", "author", "year")
"""The columns that it shows by themselves; what else documents carry follows."""


def write_dfr_data(model: Model, state: State, folder: str, words: int = 20) -> list[str]:
    """Write the files of its folder `data`; the names written."""
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made a folder: {error.strerror}") from None
    write.check_writable(state, "--format dfr-browser2")
    texts = {
        "topic-keys.txt": _topic_keys(model, words), "doc-topic.txt": _shares(state),
        "doc-lengths.txt": _lengths(state), "metadata.csv": _metadata(state), "topic_coords.csv": _places(model),
    }  # fmt: skip
    for name, lines in texts.items():
        with atomic_output(place / name, binary=False) as stream:
            stream.writelines(lines)
    sources = [one_line(name).replace(" ", "_") or "NA" for name in state.ids]
    write.write_state(state, str(place / FILES[-1]), sources, "--format dfr-browser2", packed=False)
    return [str(place / name) for name in FILES]


def _topic_keys(model: Model, words: int) -> Iterator[str]:
    for k, top in enumerate(model.top_words(words)):
        yield f"{k}\t{model.alpha[0, k]:.6g}\t{' '.join(word for word, _ in top)}\n"


def _shares(state: State) -> Iterator[str]:
    names = list(state.ids)
    for begin, rows in theta_rows(state, "cgs"):
        for d, row in enumerate(rows, begin):
            yield f"{d}\t{one_line(names[d])}\t" + "\t".join(f"{share:.10f}" for share in row.tolist()) + "\n"


def _lengths(state: State) -> Iterator[str]:
    yield "docId,tokenCount\n"
    yield from (f"{d},{length}\n" for d, length in enumerate(state.lengths.tolist()))


def _metadata(state: State) -> Iterator[str]:
    told = {name: column.told() for name, column in state.table.items() if name != SNIPPET}
    nothing = [None] * state.n_documents
    years = told.get("year", told.get("time", nothing))
    titles, authors = told.get("title", nothing), told.get("author", nothing)
    further = [name for name in told if name not in (*LEADING, "time")]
    yield _csv_line([*LEADING, *further])
    for d, name in enumerate(state.ids):
        cells = [titles[d] or name, authors[d], str(years[d] or "")[:4], *(told[other][d] for other in further)]
        yield _csv_line([d, name, *map(_cell_text, cells)])


def _cell_text(value: Any) -> str:
    """A value as a cell."""
    return one_line("; ".join(value) if isinstance(value, list) else "" if value is None else str(value))


def _csv_line(cells: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _places(model: Model) -> Iterator[str]:
    """Each topic's place on its map: classical scaling of the distances between topics' words."""
    yield "topic,x,y\n"
    for k, (x, y) in enumerate(topic_places(model).tolist()):
        yield f"{k},{x:.6f},{y:.6f}\n"


def topic_places(model: Model) -> NDArray[np.float64]:
    """Two coordinates a topic: the largest axes of Hellinger's distances, their signs fixed by the first topic that is
    not at 0."""
    import scipy.sparse

    rows = scipy.sparse.csr_array(model.counts().T).astype(np.float64)
    totals = np.maximum(np.asarray(rows.sum(axis=1)).ravel(), 1e-300)
    rows.data = np.sqrt(rows.data / np.repeat(totals, np.diff(rows.indptr)))
    likeness = np.asarray((rows @ rows.T).toarray())
    squares = np.round(np.maximum(1 - likeness, 0), 12)
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    found = np.zeros((len(squares), 2))
    for axis, at in enumerate(np.argsort(-values, kind="stable")[:2]):
        vector = vectors[:, at] * np.sqrt(max(float(values[at]), 0.0))
        large = np.flatnonzero(np.abs(vector) > 1e-6)
        found[:, axis] = vector * (np.sign(vector[large[0]]) if len(large) else 1)
    return found
