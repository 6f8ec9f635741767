"""What a report's page holds, read as its own script reads it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import numpy as np

import topicx
from topicx.corpus.corpus import Corpus
from topicx.model import Model
from topicx.state import State

KINDS = {"u1": np.uint8, "u2": np.uint16, "u4": np.uint32, "i4": np.int32, "f4": np.float32, "f8": np.float64}


class Page:
    """The parts of a page."""

    def __init__(self, data: bytes) -> None:
        self.text = data.decode("utf-8")
        found = re.search(r'<script type="application/json" id="head">(.*?)</script>', self.text)
        assert found
        self.head = json.loads(found[1])
        self.buffers: dict[str, bytes] = {}

    def part(self, name: str) -> bytes:
        if name not in self.buffers:
            found = re.search(rf'<script type="text/plain" id="part-{name}">(.*?)</script>', self.text)
            assert found, name
            self.buffers[name] = gzip.decompress(base64.b64decode(found[1]))
        return self.buffers[name]

    def array(self, part: str, name: str) -> np.ndarray[Any, Any]:
        kind, offset, length = self.head["parts"][part][name]
        return np.frombuffer(self.part(part), KINDS[kind], length, offset)

    def strings(self, part: str, name: str) -> list[str]:
        data = self.array(part, f"{name}.bytes").tobytes()
        ends = np.cumsum(self.array(part, f"{name}.lengths")).tolist()
        return [data[a:b].decode("utf-8", "replace") for a, b in zip([0, *ends[:-1]], ends)]

    def planes(self, part: str, name: str) -> np.ndarray[Any, Any]:
        low, high = (self.array(part, f"{name}.{half}").astype(np.int64) for half in ("low", "high"))
        return low + 256 * high

    @property
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.array("core", "facts").tobytes())
        return found

    @property
    def about(self) -> list[list[str]]:
        found: list[list[str]] = json.loads(self.array("about", "rows").tobytes())
        return found

    def marked(self, document: int) -> tuple[str, list[tuple[str, int]]]:
        """A text, and its marked words with their topics (all texts are in one block)."""
        text = self.strings("texts0", "texts")[document]
        counts = self.array("texts0", "marks.counts")
        own = slice(int(counts[:document].sum()), int(counts[: document + 1].sum()))
        units = text.encode("utf-16-le")
        at, found = 0, []
        gaps, sizes = self.array("texts0", "marks.gaps")[own], self.array("texts0", "marks.sizes")[own]
        for gap, size, topic in zip(gaps.tolist(), sizes.tolist(), self.planes("texts0", "marks.topics")[own].tolist()):
            at += gap
            if size:
                found.append((units[2 * at : 2 * (at + size)].decode("utf-16-le"), topic))
            at += size
        return text, found


def page_of(model: Model, **asked: Any) -> Page:
    return Page(model.report(**asked).data)


def fitted(texts: list[str], topics: int = 2, **columns: Any) -> tuple[Model, State]:
    corpus = Corpus.from_texts(texts, **columns)
    lda = topicx.LDA(topics=topics, iterations=10, threads=1, verbose=False).fit(corpus)
    return lda.model, lda.state
