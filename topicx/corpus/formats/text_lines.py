"""A document a line: `lines` (name, label and text found by a pattern) and `text` (all is text).

The pattern is MALLET's, where names and labels have no white space; or, if all the first lines have two tabs, one that
goes by tabs alone. Both find the same in lines with tabs and without blanks in names and labels. A very long line is
read in pieces, unless the pattern is the user's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from topicx.corpus.formats.document_reader import Batch, ReadOptions, split_labels
from topicx.corpus.formats.input_bytes import LONG_LINE, InputSource, Stretch, codec_of
from topicx.errors import InputError

MALLET = r"^(\S*)[\s,]*(\S*)[\s,]*(.*)$"
TABS = r"^([^\t]*)\t([^\t]*)\t(.*)$"
TIMEOUT = 20.0
"""Seconds after which a pattern is given up on one line (a pattern can take for ever)."""

Match = Callable[[str], Any]


def read(source: InputSource, options: ReadOptions) -> Iterator[Batch]:
    if options.format == "text":
        for run in source.runs(options.encoding, options.encoding_errors, options.faults):
            numbers = range(run.first, run.first + len(run.lines))
            yield Batch(source.shown, numbers, run.lines, continues=run.continues, open=run.open)
        return
    match = make_line_matcher(source, options)
    long = LONG_LINE if options.line_regex is None else None
    for run in source.runs(options.encoding, options.encoding_errors, options.faults, long):
        if run.continues:
            alone = len(run.lines) == 1
            yield Batch(source.shown, [run.first], run.lines[:1], continues=True, open=run.open and alone)
            run = Stretch(run.first + 1, run.lines[1:], open=run.open)
        if run.lines:
            yield _make_batch(run, match, source.shown, options)


def _make_batch(run: Stretch, match: Match, shown: str, options: ReadOptions) -> Batch:
    first, lines = run.first, run.lines
    numbers: list[int] | range = range(first, first + len(lines))
    try:
        found = [match(line) for line in lines]
    except TimeoutError:
        last = first + len(lines) - 1
        raise InputError(
            f"{shown}: --line-regex took more than {TIMEOUT:g} seconds on one of the lines {first} to {last}"
        ) from None
    if not all(found) or not all(lines):
        numbers = [first + i for i, line in enumerate(lines) if line.strip()]
        for number in numbers:
            if found[number - first] is None:
                options.faults.meet(f"{shown}:{number}: the line does not match --line-regex", call=True)
        numbers = [number for number in numbers if found[number - first] is not None]
        found = [found[number - first] for number in numbers]
    groups = [match.group for match in found]
    batch = Batch(shown, numbers, [group(options.data) or "" for group in groups], open=run.open)
    if options.name:
        batch.ids = [group(options.name) or None for group in groups]
    if options.label:
        batch.labels = _split_labels([group(options.label) or "" for group in groups], options)
    return batch


def _split_labels(values: list[str], options: ReadOptions) -> list[tuple[str, ...]]:
    """Labels repeat: each spelling is taken apart once a batch."""
    known = {value: split_labels(value, options) for value in set(values)}
    return [known[value] for value in values]


def make_line_matcher(source: InputSource, options: ReadOptions) -> Match:
    """What finds name, label and text in a line; the group numbers must exist in the pattern."""
    usual = re.compile(MALLET)
    if options.line_regex is None:
        _check_groups(usual.groups, options)
        if not has_tabs(source.peek(), 2, source.encoding(options.encoding)):
            return usual.match
        tabbed = re.compile(TABS)
        return lambda line: tabbed.match(line) or usual.match(line)
    import regex

    try:
        pattern = regex.compile(options.line_regex)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"--line-regex {options.line_regex!r}: {error}") from None
    _check_groups(pattern.groups, options)
    return lambda line: pattern.match(line, timeout=TIMEOUT)


def _check_groups(groups: int, options: ReadOptions) -> None:
    for option, group in (("--name", options.name), ("--label", options.label), ("--data", options.data)):
        if group > groups:
            raise InputError(f"{option} {group}: --line-regex has only {groups} groups")


def has_tabs(start: bytes, least: int, encoding: str) -> bool:
    """Whether all the first lines that are not blank have so many tabs."""
    lines = start.decode(codec_of(encoding), "replace").split("\n")[:20]
    filled = [line for line in lines[:-1] or lines if line.strip()]
    return bool(filled) and all(line.count("\t") >= least for line in filled)
