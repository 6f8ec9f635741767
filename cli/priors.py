"""Priors and seed words from the command line: numbers, and files of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click

from topicx.cli.common import Number
from topicx.errors import InputError


def one_alpha(text: str | None) -> float | None:
    """--alpha beside a state, which takes one number for all topics."""
    try:
        return None if text is None else Number(above=0).convert(text, None, None)
    except click.BadParameter as error:
        raise InputError(f"--alpha: {error.message} (a state can have one for all topics)") from None


def parse_alpha(text: str | None, topics: int) -> float | list[float] | None:
    """--alpha: a number, or a file with one a topic."""
    if text is None:
        return None
    with contextlib.suppress(click.BadParameter, ValueError):
        return Number(above=0).convert(float(text), None, None)
    if Path(text).is_file():
        values = [_positive_number(text, n, field) for n, line in _numbered_lines(text) for field in line.split()]
        if len(values) != topics:
            raise InputError(f"{text}: holds {len(values)} numbers for {topics} topics (--alpha)")
        return values
    raise InputError(f"--alpha: {text!r} is neither a number greater than 0 nor a file")


def seed_words(path: str) -> dict[int, list[str]]:
    """The file of --seed-words."""
    seeds: dict[int, list[str]] = {}
    for number, line in _numbered_lines(path):
        topic, *words = line.replace(",", " ").split() or [""]
        if not topic.isdecimal() or len(topic) > 5 or not words:
            raise InputError(f"{path}:{number}: a line is 'topic word word …', not {line.strip()!r}")
        seeds.setdefault(int(topic), []).extend(words)
    return seeds


def word_prior(path: str) -> dict[str, float]:
    """The file of --word-prior."""
    prior: dict[str, float] = {}
    for number, line in _numbered_lines(path):
        fields = line.split()
        if len(fields) != 2:
            raise InputError(f"{path}:{number}: a line is 'word β', not {line.strip()!r}")
        prior[fields[0]] = _positive_number(path, number, fields[1])
    return prior


def _positive_number(path: str, line: int, text: str) -> float:
    try:
        return Number(above=0).convert(text, None, None)
    except click.BadParameter as error:
        raise InputError(f"{path}:{line}: {error.message}") from None


def _numbered_lines(path: str) -> Iterator[tuple[int, str]]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line
