"""Keywords of topics: read from files, matched with a vocabulary, told before training.

A file is JSON (`{"school": ["teach*", "pupil"]}`), or lines `name: word, word`, `name: [word, word]`, or a line `name:`
with lines `- word` below, which is what YAML looks like for such lists. A word may have `*` (any letters) and `?` (one
letter); upper and lower case are the same.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError

Keywords = dict[str, list[str]]
RARE, COMMON = 0.001, 0.01
"""Shares of the tokens below and above which a keyword is told to be rare or common."""


def keywords_of(given: Any) -> Keywords:
    """Names of topics and their words, from a mapping or a file."""
    if isinstance(given, Mapping):
        found = {str(name): _listed(str(name), words) for name, words in given.items()}
    else:
        found = read_keywords(str(given))
    if not found:
        raise InputError("keywords: no topic has any")
    for name, words in found.items():
        if not name.strip() or not words:
            raise InputError(f"keywords: the topic {name!r} has no words")
    return found


def read_keywords(path: str) -> Keywords:
    """The keywords of a file."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if text.lstrip().startswith("{"):
        try:
            loaded = json.loads(text)
        except ValueError as error:
            raise InputError(f"{path}: {error}") from None
        return {str(name): _listed(str(name), words) for name, words in loaded.items()}
    return _read_lines(path, text)


def _read_lines(path: str, text: str) -> Keywords:
    found: Keywords = {}
    name = ""
    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        if not line or line == "---":
            continue
        if line.startswith("-"):
            if not name:
                raise InputError(f"{path}:{number}: a word before the name of its topic")
            found[name] += _split(line[1:])
            continue
        head, colon, rest = line.partition(":")
        if not colon:
            raise InputError(f"{path}:{number}: 'name: word, word' is expected, not {line[:40]!r}")
        name = head.strip().strip("\"'")
        if name in found:
            raise InputError(f"{path}:{number}: the topic {name!r} is there twice")
        found[name] = _split(rest.strip().removeprefix("[").removesuffix("]"))
    return found


def _split(words: str) -> list[str]:
    return [word.strip("\"'") for word in re.split(r"[,\s]+", words.strip()) if word.strip("\"'")]


def _listed(name: str, words: Any) -> list[str]:
    if isinstance(words, str) or not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
        raise InputError(f"keywords: the topic {name!r} needs a list of words, not {words!r:.60}")
    return [str(word) for word in words]


def match_keywords(
    keywords: Mapping[str, Iterable[str]], vocabulary: Iterable[str]
) -> tuple[NDArray[np.uint32], NDArray[np.uint16], list[str]]:
    """The keywords as pairs of word and topic (by word, then topic), and the patterns that match nothing."""
    words = list(vocabulary)
    lower: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        lower.setdefault(word.lower(), []).append(number)
    pairs: set[tuple[int, int]] = set()
    missing = []
    for topic, (name, patterns) in enumerate(keywords.items()):
        before = len(pairs)
        for pattern in patterns:
            found = _matching(pattern.lower(), lower)
            pairs.update((number, topic) for number in found)
            missing += [] if found else [f"{pattern} ({name})"]
        if len(pairs) == before and not any(at == topic for _, at in pairs):
            raise InputError(f"keywords: no word of the topic {name!r} is in the vocabulary")
    ordered = sorted(pairs)
    words_of = np.array([word for word, _ in ordered], np.uint32)
    return words_of, np.array([topic for _, topic in ordered], np.uint16), missing


def _matching(pattern: str, lower: Mapping[str, list[int]]) -> list[int]:
    if not re.search(r"[*?]", pattern):
        return lower.get(pattern, [])
    fits = re.compile(fnmatch.translate(pattern.replace("[", "[[]"))).match
    return [number for word, numbers in lower.items() if fits(word) for number in numbers]


def describe_keyword_lists(
    names: Sequence[str], words: NDArray[np.uint32], topics: NDArray[np.uint16], vocabulary: Sequence[str],
    frequencies: NDArray[np.int64],
) -> list[str]:  # fmt: skip
    """A line a topic: its keywords, how many tokens each has, what share of all, and which are rare or common."""
    total = max(int(frequencies.sum()), 1)
    lines = []
    for topic, name in enumerate(names):
        own = words[topics == topic]
        own = own[np.argsort(-frequencies[own], kind="stable")]
        told = []
        for word in own.tolist():
            share = int(frequencies[word]) / total
            remark = ", common" if share > COMMON else ", rare" if share < RARE else ""
            told.append(f"{vocabulary[word]} {int(frequencies[word]):,} ({share:.2%}{remark})")
        more = f" and {len(told) - 12} more" if len(told) > 12 else ""
        lines.append(f"keywords of {name}: {'; '.join(told[:12])}{more}")
    return lines
