"""Texts whose words are marked with their topics: the words of a text are found again, in their order, among those that
the state has kept of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.text.tokenizer import Tokenizer
from topicx.state import NONE, State

AHEAD = 4
"""Kept words that may be skipped to find a text's next word among them."""
LONGEST = 255
"""Units of text between two marks, and of a mark, that a byte tells."""


@dataclass(frozen=True)
class Marks:
    """The marked words of one text, in units of UTF-16, as a page counts them."""

    gaps: list[int]
    """Units from the end of the last mark to this one."""
    sizes: list[int]
    topics: list[int]


class TextMarker:
    """Finds the words of a state in texts."""

    def __init__(self, state: State, meta: Any) -> None:
        self.state = state
        self.tokenizer = Tokenizer.from_meta(meta)
        self.pattern = self.tokenizer.compiled()
        self.forms: dict[str, list[str]] = {}
        self.z = state.z[: state.n_tokens]
        """Make a marker of a state; of several paths it takes the first."""

    def marks(self, document: int, text: str) -> Marks:
        """The marks of this document's text."""
        own = slice(int(self.state.offsets[document]), int(self.state.offsets[document + 1]))
        kept = [self.state.vocabulary[int(w)] for w in self.state.words[own]]
        topics = self.z[own].tolist()
        found: list[tuple[int, int, int]] = []
        at = 0
        for begin, end, parts in self._words(text):
            for part in parts:
                place = _find_next_kept(kept, at, part)
                if place is None:
                    continue
                if "_" in kept[place] and kept[place] != part and not kept[place].endswith(f"_{part}"):
                    found.append((begin, end, topics[place]))  # the first half of a phrase: its other half follows
                    at = place
                    break
                found.append((begin, end, topics[place]))
                at = place + 1
                break
        return _in_units(text, found)

    def _words(self, text: str) -> Iterator[tuple[int, int, list[str]]]:
        """Where the words of a text stand, and their forms."""
        for match in self.pattern.finditer(text):
            raw = match.group()
            forms = self.forms.get(raw)
            if forms is None:
                forms = self.forms[raw] = self._forms(raw)
            if forms:
                yield match.start(), match.end(), forms

    def _forms(self, raw: str) -> list[str]:
        words = self.tokenizer.split(raw)
        if self.tokenizer.stem is not None:
            words = self.tokenizer.stemmed(words)
        if len(self.forms) > 1_000_000:
            self.forms.clear()
        return words


def _find_next_kept(kept: list[str], at: int, word: str) -> int | None:
    """Where this word is among the next kept ones."""
    for place in range(at, min(at + AHEAD, len(kept))):
        if kept[place] == word or ("_" in kept[place] and word in kept[place].split("_")):
            return place
    return None


def _in_units(text: str, found: list[tuple[int, int, int]]) -> Marks:
    """Marks in units of UTF-16; what a byte cannot tell is no mark."""
    unit: Callable[[int], int] = (lambda i: i) if text.isascii() else _utf16_places(text).__getitem__
    gaps, sizes, topics, last = [], [], [], 0
    for begin, end, topic in found:
        first, size = unit(begin), unit(end) - unit(begin)
        if topic == NONE or size > LONGEST:
            continue
        gap = first - last
        while gap > LONGEST:  # a mark without a length carries on
            gaps.append(LONGEST)
            sizes.append(0)
            topics.append(0)
            gap -= LONGEST
        gaps.append(gap)
        sizes.append(size)
        topics.append(topic)
        last = first + size
    return Marks(gaps, sizes, topics)


def _utf16_places(text: str) -> list[int]:
    """The place of each character in UTF-16, and of the end."""
    wide = np.fromiter((1 + (ord(c) > 0xFFFF) for c in text), np.int64, len(text))
    return [0, *np.cumsum(wide).tolist()]


def counted_words(state: State, document: int) -> tuple[str, Marks]:
    """Where the text is not known: the words that were counted, in their order, each with its topic."""
    own = slice(int(state.offsets[document]), int(state.offsets[document + 1]))
    words = [state.vocabulary[int(w)] for w in state.words[own]]
    topics: NDArray[np.uint16] = state.z[: state.n_tokens][own]
    found, at = [], 0
    for word, topic in zip(words, topics.tolist(), strict=True):
        found.append((at, at + len(word), topic))
        at += len(word) + 1
    text = " ".join(words)
    return text, _in_units(text, found)
