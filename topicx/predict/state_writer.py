"""The last states of inference as a state file, written batch by batch."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.files import container
from topicx.files.file_kinds import STATE
from topicx.model import Model
from topicx.predict.reader import Read
from topicx.state import State
from topicx.strings import Strings


class StateWriter:
    """The last states of the chains as a state file: words, topics, and the priors they were drawn under."""

    def __init__(self, path: str, model: Model, alpha: NDArray[np.float64], about: dict[str, Any]) -> None:
        folder = os.path.dirname(os.path.abspath(path)) if path != "-" else None  # noqa: PTH100, PTH120
        self.path, self.model, self.alpha, self.about = path, model, alpha, about
        self.words, self.z = container.Spool(np.uint32, folder, path), container.Spool(np.uint16, folder, path)
        self.offsets, self.groups = container.Spool(np.int64, folder, path), container.Spool(np.uint32, folder, path)
        self.names, self.places = container.Spool(np.uint8, folder, path), container.Spool(np.int64, folder, path)
        self.rows = container.Spool(np.float64, folder, path, columns=model.n_topics)
        self.offsets.append([0])
        self.places.append([0])
        self.n_tokens = self.n_bytes = self.n_documents = 0

    def add(self, part: Read) -> None:
        documents = part.documents
        self.words.append(documents.words)
        self.z.append(part.z)
        self.offsets.append(documents.offsets[1:] + self.n_tokens)
        if part.prior.each:
            self.rows.append(part.prior.rows(0, len(documents)))
            self.groups.append(np.arange(len(documents)) + self.n_documents)
        elif len(self.alpha) > 1:
            self.groups.append(part.prior.groups)
        begin, end = documents.ids.offsets[0], documents.ids.offsets[-1]
        self.names.append(documents.ids.data[begin:end])
        self.places.append(documents.ids.offsets[1:] - begin + self.n_bytes)
        self.n_tokens += len(documents.words)
        self.n_documents += len(documents)
        self.n_bytes += int(end - begin)

    def finish(self) -> str:
        none = State(
            words=np.zeros(0, np.uint32), offsets=np.zeros(1, np.int64), z=np.zeros(0, np.uint16), alpha=self.alpha,
            beta=self.model.beta, vocabulary=self.model.vocabulary, ids=Strings.of([]),
        )  # fmt: skip
        arrays: dict[str, NDArray[Any] | container.Spool] = none.arrays() | {
            "words": self.words, "offsets": self.offsets, "z": self.z, "groups": self.groups, "ids.bytes": self.names,
            "ids.offsets": self.places,
        }  # fmt: skip
        if self.rows.size:
            arrays["alpha"] = self.rows
        meta = {"tokenizer": self.model.meta.get("tokenizer"), "inference": self.about, "tokens": self.n_tokens,
                "documents": self.n_documents}  # fmt: skip
        parents = {"model": self.model.digest} if self.model.digest else {}
        return container.write(self.path, STATE, arrays, meta, parents)

    def close(self) -> None:
        for spool in (self.words, self.z, self.offsets, self.groups, self.names, self.places, self.rows):
            spool.close()
