"""topicx mallet info: labels, words, counts and documents of an instance list, on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from topicx.cli.mallet.arguments import Command, Option, Parsed, file, flag
from topicx.cli.mallet.instances import Instances, data, load
from topicx.cli.mallet.words import by_gain, counts, information_gain
from topicx.errors import InputError
from topicx.interop.mallet_numbers import short_decimal


def run(parsed: Parsed) -> None:
    asked = {name for name in parsed.given if name.startswith("print-") and parsed[name] not in (False, 0)}
    if not asked:
        names = ", ".join(f"--{option.name}" for option in COMMAND.options if option.name.startswith("print-"))
        raise InputError(f"mallet info: say what to print: {names}")
    matrix = parsed["print-matrix"]
    if len(matrix) != 3 or matrix[0] not in "as" or matrix[1] not in "bi" or matrix[2] not in "nwce":
        raise InputError(f"--print-matrix: {matrix!r} is not of the form (a|s)(b|i)(n|w|c|e)")
    instances = load(parsed["input"])
    for text in _printed(instances, parsed, asked):
        sys.stdout.write(text)


def _printed(instances: Instances, parsed: Parsed, asked: set[str]) -> Iterator[str]:
    if "print-labels" in asked:
        yield "".join(f"{label}\n" for label in instances.labels) + "\n"
    if "print-instances" in asked:
        for d in range(len(instances)):
            yield f"{instances.corpus.ids[d]}\t{shown(instances, d)}\t{data(instances, d)}\n"
    if "print-feature-counts" in asked:
        yield from feature_counts(instances)
    if "print-features" in asked:
        yield from (f"{word}\n" for word in instances.corpus.vocabulary)
    if "print-infogain" in asked:
        ranked = by_gain(information_gain(instances), parsed["print-infogain"])
        for rank, word in enumerate(ranked):
            yield f"{rank} {instances.corpus.vocabulary[word]}\n"
        yield "\n"
    if "print-matrix" in asked:
        for d in range(len(instances)):
            yield f"{instances.corpus.ids[d]} {shown(instances, d)}{_row(instances, d, parsed['print-matrix'])}"
        yield "\n"


def shown(instances: Instances, document: int) -> str:
    target = instances.target(document)
    return "null" if target is None else target


def feature_counts(instances: Instances) -> Iterator[str]:
    """`word⇥tokens⇥documents`, in the order of the words' numbers."""
    tokens, documents = counts(instances)
    for word, count, frequency in zip(instances.corpus.vocabulary, tokens.tolist(), documents.tolist()):
        yield f"{word}\t{short_decimal(count, 6)}\t{frequency}\n"


def _row(instances: Instances, document: int, form: str) -> str:
    words = instances.corpus.vocabulary
    if instances.is_sequence:
        begin, end = instances.corpus.offsets[document : document + 2].tolist()
        named = {"w": "{1}", "n": "{0}", "c": "{1}:{0}", "e": ""}[form[2]]
        tokens = [named.format(w, words[w]) for w in instances.corpus.words[begin:end].tolist()]
        return "".join(f" {token}" for token in tokens if token) + "\n\n"
    found, values = instances.vector(document)
    if form[0] == "a":
        known = dict(zip(found.tolist(), values.tolist()))
        pairs = [(w, known.get(w, 0.0)) for w in range(len(words))]
    else:
        pairs = list(zip(found.tolist(), values.tolist()))
    named = {"w": "  {1}", "n": "  {0}", "c": "  {1}:{0}", "e": ""}[form[2]]
    numbered = (
        named.format(w, words[w]) + f" {int(value + 0.5) if form[1] == 'i' else int(value > 0.5)}" for w, value in pairs
    )
    return "".join(numbered) + "\n"


COMMAND = Command(
    "info", "cc.mallet.classify.tui.Vectors2Info", "print what an instance list holds", (
        file("input", "The instances; - is standard input.", "-"),
        flag("print-labels", "The labels, one a line."),
        flag("print-features", "The words, one a line, in the order of their numbers."),
        flag("print-feature-counts", "Lines word<tab>tokens<tab>documents."),
        flag("print-instances", "Every document: name, label and words."),
        Option("print-infogain", "integer", 0, "The N words that say most of the labels.", low=0),
        Option("print-matrix", "string", "sic",
               "Documents and words, as (a|s)(b|i)(n|w|c|e): all or sparse, 0/1 or counts, words by number, word, "
               "both or neither.", fallback="sic"),
    ), run,
)  # fmt: skip
