"""What instance lists look like in print: labels, words, counts and documents, as MALLET prints them."""

from __future__ import annotations

from collections.abc import Iterator

from topicx.interop import mallet_numbers as numbers
from topicx.interop.mallet_numbers import short_decimal
from topicx.mallet.instance_lists import Instances
from topicx.mallet.option_language import Parsed
from topicx.mallet.word_selection import by_gain, information_gain, word_counts


def asked_views(instances: Instances, parsed: Parsed, asked: set[str]) -> Iterator[str]:
    """What `info` prints of what was asked for, in MALLET's order."""
    if "print-labels" in asked:
        yield "".join(f"{label}\n" for label in instances.labels) + "\n"
    if "print-instances" in asked:
        for d in range(len(instances)):
            yield f"{instances.corpus.ids[d]}\t{shown_target(instances, d)}\t{shown_data(instances, d)}\n"
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
            row = _row_text(instances, d, parsed["print-matrix"])
            yield f"{instances.corpus.ids[d]} {shown_target(instances, d)}{row}"
        yield "\n"


def shown_target(instances: Instances, document: int) -> str:
    target = instances.target(document)
    return "null" if target is None else target


def feature_counts(instances: Instances) -> Iterator[str]:
    """`word⇥tokens⇥documents`, in the order of the words' numbers."""
    tokens, documents = word_counts(instances)
    for word, count, frequency in zip(instances.corpus.vocabulary, tokens.tolist(), documents.tolist()):
        yield f"{word}\t{short_decimal(count, 6)}\t{frequency}\n"


def _row_text(instances: Instances, document: int, form: str) -> str:
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


def printed_instances(instances: Instances) -> Iterator[str]:
    """What --print-output shows of each document."""
    for d in range(len(instances)):
        target = instances.target(d)
        shown = "<null>" if target is None else target
        yield f"name: {instances.corpus.ids[d]}\ntarget: {shown}\ninput: {shown_data(instances, d)}\n"


def shown_data(instances: Instances, document: int) -> str:
    """A document's data as MALLET prints it: a line a word."""
    vocabulary = instances.corpus.vocabulary
    if instances.is_sequence:
        begin, end = instances.corpus.offsets[document : document + 2].tolist()
        tokens = instances.corpus.words[begin:end].tolist()
        return "".join(f"{at}: {vocabulary[w]} ({w})\n" for at, w in enumerate(tokens))
    words, values = instances.vector(document)
    if instances.pipe is not None and instances.pipe.binary:
        return "".join(f"{vocabulary[w]}\n" for w in words.tolist())
    return "".join(
        f"{vocabulary[w]}({w})={numbers.java_double(value)}\n" for w, value in zip(words.tolist(), values.tolist())
    )
