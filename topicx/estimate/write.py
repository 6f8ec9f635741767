"""θ of many documents as a file, written as it is computed: a batch in memory at a time.

`.npz` (arrays `theta` and `ids`), `.jsonl` (an object a document), and anything else as MALLET's --output-doc-topics:
`number⇥name⇥p_0⇥p_1…`, or with a threshold or a maximum a header and then descending `topic⇥p` pairs.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import zipfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.files import atomic_output
from topicx.sampling.state import State
from topicx.strings import Strings

THRESHOLD_HEADER = "#doc name topic proportion ...\n"


class DocumentTopics:
    """Takes θ batch by batch and writes it in the form that the file's name asks for."""

    def __init__(
        self, out: IO[bytes], name: str, ids: Strings, topics: int, *, threshold: float = 0.0, most: int | None = None
    ) -> None:
        self.out, self.ids, self.topics, self.threshold, self.most = out, ids, topics, threshold, most
        plain = name.removesuffix(".gz")
        self.form = "npz" if plain.endswith(".npz") else "jsonl" if plain.endswith(".jsonl") else "mallet"
        if most is not None and most < 1:
            raise InputError(f"--doc-topics-max: {most} must be at least 1")
        if not 0 <= threshold < 1:
            raise InputError(f"--doc-topics-threshold: {threshold} must be at least 0 and below 1")
        self.partial = threshold > 0 or most is not None
        self._zip: zipfile.ZipFile | None = None
        self._member: IO[bytes] | None = None
        if self.form == "npz":
            if self.partial:
                raise InputError(f"{name}: npz holds all of θ; --doc-topics-threshold and -max are for text")
            self._begin_zip()
        elif self.form == "mallet" and self.partial:
            self.out.write(THRESHOLD_HEADER.encode())

    def _begin_zip(self) -> None:
        self._zip = zipfile.ZipFile(self.out, "w")
        self._save("ids.npy", np.array(list(self.ids), dtype=str))
        self._member = self._zip.open(_member("theta.npy"), "w", force_zip64=True)
        header = {"descr": "<f8", "fortran_order": False, "shape": (len(self.ids), self.topics)}
        np.lib.format.write_array_header_1_0(self._member, header)

    def _save(self, name: str, array: NDArray[Any]) -> None:
        assert self._zip is not None
        data = io.BytesIO()
        np.lib.format.write_array(data, array, allow_pickle=False)
        self._zip.writestr(_member(name), data.getvalue())

    def __call__(self, begin: int, rows: NDArray[np.float64]) -> None:
        """Write the rows of documents begin, begin + 1, …; batches come in order."""
        if self._member is not None:
            self._member.write(np.ascontiguousarray(rows, "<f8").tobytes())
            return
        text = "".join(self._lines(begin, rows))
        self.out.write(text.encode("utf-8", "surrogatepass"))

    def _lines(self, begin: int, rows: NDArray[np.float64]) -> Iterator[str]:
        chosen = self._chosen(rows) if self.partial else None
        for at, row in enumerate(rows.tolist()):
            name = self.ids[begin + at]
            if self.form == "jsonl":
                topics = {str(k): row[k] for k in chosen[at]} if chosen is not None else row
                yield json.dumps({"id": name, "theta": topics}, ensure_ascii=False) + "\n"
                continue
            name = _one_field(name)
            if chosen is None:
                yield f"{begin + at}\t{name}\t" + "\t".join(map(repr, row)) + "\n"
            else:
                yield f"{begin + at}\t{name}\t" + "".join(f"{k}\t{row[k]!r}\t" for k in chosen[at]) + "\n"

    def _chosen(self, rows: NDArray[np.float64]) -> list[list[int]]:
        """The topics of each document that are shown: descending, then by number."""
        order = np.argsort(-rows, axis=1, kind="stable")
        order = order[:, : self.most] if self.most is not None else order
        values = np.take_along_axis(rows, order, axis=1)
        return [o[v >= self.threshold].tolist() for o, v in zip(order, values)]

    def close(self) -> None:
        if self._member is not None and self._zip is not None:
            self._member.close()
            self._zip.close()


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))  # no date: equal arrays give equal bytes


def _one_field(name: str) -> str:
    return " ".join(name.split()) if any(c in name for c in "\t\n\r") else name


@contextlib.contextmanager
def document_topics_file(
    path: str | os.PathLike[str], ids: Strings, topics: int, *, threshold: float = 0.0, most: int | None = None
) -> Iterator[DocumentTopics]:
    """Open such a file; it appears when it is complete."""
    name = os.fspath(path)
    with atomic_output(name) as out:
        writer = DocumentTopics(out, name, ids, topics, threshold=threshold, most=most)
        yield writer
        writer.close()


def write_document_topics(
    state: State, estimator: str, path: str | os.PathLike[str], *, threads: int = 0, threshold: float = 0.0,
    most: int | None = None,
) -> None:  # fmt: skip
    """θ of the state's documents into a file."""
    from topicx.estimate.estimate import document_topics

    with document_topics_file(path, state.ids, state.n_topics, threshold=threshold, most=most) as write:
        for begin, rows in document_topics(state, estimator, threads=threads):
            write(begin, rows)
