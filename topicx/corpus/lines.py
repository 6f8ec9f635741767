"""A document a line: `lines` (name, label and text found by a pattern, as MALLET has it) and `text` (all is
text)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from topicx.corpus.read import Batch, ReadOptions, split_labels
from topicx.corpus.source import Source
from topicx.errors import InputError


def read(source: Source, options: ReadOptions) -> Iterator[Batch]:
    blocks = source.lines(options.encoding, options.encoding_errors)
    if options.format == "text":
        for first, lines in blocks:
            yield Batch(source.shown, range(first, first + len(lines)), lines)
        return
    pattern = compile_line_regex(options)
    for first, lines in blocks:
        numbers: list[int] | range = range(first, first + len(lines))
        found = [pattern.match(line) for line in lines]
        if not all(found) or not all(lines):
            numbers = [first + i for i, line in enumerate(lines) if line.strip()]
            for number in numbers:
                if found[number - first] is None:
                    raise InputError(f"{source.shown}:{number}: the line does not match --line-regex")
            found = [found[number - first] for number in numbers]
        groups = [match.group for match in found if match is not None]
        batch = Batch(source.shown, numbers, [group(options.data) or "" for group in groups])
        if options.name:
            batch.ids = [group(options.name) or None for group in groups]
        if options.label:
            batch.labels = _labels([group(options.label) or "" for group in groups], options)
        yield batch


def _labels(values: list[str], options: ReadOptions) -> list[tuple[str, ...]]:
    """Labels repeat: each spelling is taken apart once a batch."""
    known = {value: split_labels(value, options) for value in set(values)}
    return [known[value] for value in values]


def compile_line_regex(options: ReadOptions) -> re.Pattern[str]:
    """The pattern of a line; the group numbers must exist in it."""
    try:
        pattern = re.compile(options.line_regex)
    except (re.error, OverflowError) as error:
        raise InputError(f"--line-regex {options.line_regex!r}: {error}") from None
    for option, group in (("--name", options.name), ("--label", options.label), ("--data", options.data)):
        if group > pattern.groups:
            raise InputError(f"{option} {group}: --line-regex has only {pattern.groups} groups")
    return pattern
