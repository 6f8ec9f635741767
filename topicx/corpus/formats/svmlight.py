"""Counts as SVMlight and LIBSVM have features: `label,label word:count … # name`, words numbered from 1.

Where a file `X.labels` lies beside X, or `--label-names` gives one, labels are numbers of its lines (0: none).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from topicx.corpus.formats.compressed import unpacked_name
from topicx.corpus.formats.document_reader import Batch, ReadOptions
from topicx.corpus.formats.input_bytes import InputSource, read_words
from topicx.corpus.formats.ldac import make_counted_batch
from topicx.corpus.formats.uci import find_vocabulary
from topicx.errors import InputError


def read(source: InputSource, options: ReadOptions) -> Iterator[Batch]:
    base = 1 if options.index_base is None else options.index_base
    vocabulary = find_vocabulary(source, options, None)
    named = _label_names(source, options)
    shown = source.shown
    for first, lines in source.lines(options.encoding, options.encoding_errors, options.faults):
        numbers: list[int] = []
        pairs: list[str] = []
        lengths: list[int] = []
        labels: list[tuple[str, ...]] = []
        ids: list[str | None] = []
        for number, line in enumerate(lines, first):
            features, _, comment = line.partition("#")
            if not features.strip():
                continue
            parts = features.split()
            # Without a label (scikit-learn writes documents of no class so) the line begins with a feature or a space.
            label = "" if ":" in parts[0] else parts.pop(0)
            before = len(pairs)
            for part in parts:
                word, colon, value = part.partition(":")
                if word == "qid" and colon:
                    continue
                if not (colon and word.isdecimal()):
                    raise InputError(f"{shown}:{number}: 'word:count' was expected, not {part[:40]!r}")
                pairs.append(word)
                pairs.append(_parse_count(value, shown, number, part))
            lengths.append((len(pairs) - before) // 2)
            numbers.append(number)
            found = list(dict.fromkeys(one for one in label.split(",") if one and one not in options.no_label))
            labels.append(tuple(found if named is None else _names_of_labels(found, *named, f"{shown}:{number}")))
            ids.append(comment.strip() or None)
        batch = make_counted_batch(shown, numbers, pairs, lengths, vocabulary, base)
        batch.labels, batch.ids = labels, ids
        yield batch


def _label_names(source: InputSource, options: ReadOptions) -> tuple[str, list[str]] | None:
    """The file of the labels' names and the names, if there is one."""
    name = options.label_names
    if name is None and source.name != "-":
        near = Path(unpacked_name(source.name) + ".labels")
        name = str(near) if near.is_file() else None
    return None if name is None else (name, read_words(name, "label"))


def _names_of_labels(labels: list[str], file: str, names: list[str], place: str) -> list[str]:
    for label in labels:
        if not (label.isdecimal() and int(label) <= len(names)):
            raise InputError(
                f"{place}: the label {label[:40]!r} is not a number from 0 to {len(names)}, as {file} has it"
            )
    return [names[int(label) - 1] for label in labels if int(label)]


def _parse_count(value: str, shown: str, number: int, part: str) -> str:
    """A whole number, possibly written as 3.0."""
    if value.isdecimal():
        return value
    try:
        count = float(value)
    except ValueError:
        raise InputError(f"{shown}:{number}: 'word:count' was expected, not {part[:40]!r}") from None
    if not (count >= 0 and count.is_integer() and count < 2**31):
        kind = "negative" if count < 0 else "not a whole number"
        raise InputError(f"{shown}:{number}: the count in {part[:40]!r} is {kind}")
    return str(int(count))
