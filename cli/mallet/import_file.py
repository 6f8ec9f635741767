"""topicx mallet import-file: a document a line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from topicx.cli.mallet.arguments import Command, Option, Parsed, file, flag
from topicx.cli.mallet.importing import PIPE_OPTIONS, TEXT_OPTIONS, build, lines_of, pipe_of
from topicx.cli.mallet.instances import RawTexts
from topicx.errors import InputError
from topicx.interop.mallet_regex import java_pattern

LINE = r"^(\S*)[\s,]*(\S*)[\s,]*(.*)$"

LINE_OPTIONS = (
    Option("line-regex", "string", LINE, "A Java pattern of a line; its groups are name, label and text."),
    Option("name", "integer", 1, "The group of the name; 0: there is none.", low=0),
    Option("label", "integer", 2, "The group of the label; 0: there is none.", low=0),
    Option("data", "integer", 3, "The group of the text.", low=1),
)


def run(parsed: Parsed) -> None:
    path = parsed.need("input", "the file to read")
    pipe = pipe_of(parsed)
    build(parsed, pipe, texts(parsed, path, parsed["encoding"]))


def texts(parsed: Parsed, path: str, encoding: str = "utf-8") -> Iterator[RawTexts]:
    """The documents of a file of lines. A line that the pattern does not find anything in is refused by number."""
    pattern = java_pattern(parsed["line-regex"], "--line-regex").compiled()
    name, label, data = parsed["name"], parsed["label"], parsed["data"]
    for option, group in (("name", name), ("label", label), ("data", data)):
        if group > pattern.groups:
            raise InputError(f"--{option} {group}: --line-regex has only {pattern.groups} groups")
    for first, lines in lines_of(path, encoding):
        found = [pattern.search(line) for line in lines]
        matches = []
        for at, match in enumerate(found):
            if match is None:
                line = " ".join(lines[at][:60].split())
                raise InputError(f"{path}:{first + at}: Line #{first + at} does not match regex: {line}")
            matches.append(match)
        names = [(match.group(name) if name else None) for match in matches]
        labels = [match.group(label) or "" for match in matches] if label else None
        batch = RawTexts(
            [f"csvline:{first + at}" if one is None else one for at, one in enumerate(names)],
            [match.group(data) or "" for match in matches],
        )
        if labels is not None and parsed.values.get("label-as-features"):
            batch.features = [_features(one, f"{path}:{first + at}") for at, one in enumerate(labels)]
        else:
            batch.labels = labels
        yield batch


def _features(label: str, where: str) -> list[tuple[str, float]]:
    """`feature other=0.5`: 1 where no number is given."""
    found = []
    for part in re.split(r",?\s+", label):
        name, equal, value = part.partition("=")
        try:
            found.append((name, float(value) if equal else 1.0))
        except ValueError:
            raise InputError(f"{where}: the feature {part!r} has no number after =") from None
    return [one for one in found if one[0]]


COMMAND = Command(
    "import-file", "cc.mallet.classify.tui.Csv2Vectors", "read a file of documents, one a line", (
        file("input", "The file to read; - is standard input."),
        file("output", "The instances to write; - is standard output.", "text.vectors"),
        *LINE_OPTIONS, *PIPE_OPTIONS, *TEXT_OPTIONS,
        flag("label-as-features", "The label is a list of features, each perhaps with =number."),
    ), run,
)  # fmt: skip
