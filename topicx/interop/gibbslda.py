"""GibbsLDA++'s and JGibbLDA's models: NAME.tassign, with NAME.others and wordmap.txt beside it.

NAME.tassign    a line a document: w:k w:k …        (the order of the text; no names)
NAME.others     alpha=…, beta=…, ntopics=…, ndocs=…, nwords=…, liter=…
wordmap.txt     the number of words, then `word id` a line
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from topicx.errors import InputError
from topicx.interop.text_parsing import PairLines, parse_positive, parse_whole_number, read_lines, shorten_for_message
from topicx.state import MAX_TOPICS, State
from topicx.strings import Strings


def read(path: str) -> State:
    prefix = Path(path.removesuffix(".gz"))
    prefix = prefix.with_name(prefix.name.removesuffix(".tassign").removesuffix(".others"))
    assignments = _find_beside([Path(f"{prefix}.tassign"), Path(f"{prefix}.tassign.gz")], "the assignments")
    others = _find_beside([Path(f"{prefix}.others"), Path(f"{prefix}.others.gz")], "the priors and sizes")
    wordmap = _find_beside([prefix.with_name("wordmap.txt"), prefix.with_name("wordmap.txt.gz")], "the words")
    alpha, beta, topics, documents, words = _read_others_file(others)
    vocabulary = _read_wordmap(wordmap, words)
    tokens = PairLines(
        assignments, lead=0, names=("word", "topic"), limits=(words, topics), types=(np.uint32, np.uint16)
    )
    if len(tokens.lengths) != documents:
        raise InputError(f"{tokens.shown}: has {len(tokens.lengths)} documents, and {others} declares {documents}")
    if not len(tokens.left):
        raise InputError(f"{tokens.shown}: has no tokens")
    return tokens.as_state("gibbslda", np.full((1, topics), alpha), beta, vocabulary)


def _find_beside(candidates: list[Path], what: str) -> str:
    for candidate in candidates:
        if candidate.is_file():
            return str(candidate)
    raise InputError(f"{candidates[0]}: is not there ({what})")


def _read_others_file(path: str) -> tuple[float, float, int, int, int]:
    found: dict[str, tuple[str, str]] = {}
    for line, text in enumerate(read_lines(path), 1):
        key, equals, value = text.partition("=")
        if not text.strip():
            continue
        if not equals:
            raise InputError(f"{path}:{line}: expected `name=value`, not {shorten_for_message(text)}")
        if key.strip() in found:
            raise InputError(f"{path}:{line}: {key.strip()} is there twice")
        found[key.strip()] = (value.strip(), f"{path}:{line}")
    for key in ("alpha", "beta", "ntopics", "ndocs", "nwords"):
        if key not in found:
            raise InputError(f"{path}: has no line `{key}=…`")
    return (
        parse_positive(*found["alpha"], "alpha"),
        parse_positive(*found["beta"], "beta"),
        parse_whole_number(*found["ntopics"], "ntopics", low=1, high=MAX_TOPICS),
        parse_whole_number(*found["ndocs"], "ndocs", low=1),
        parse_whole_number(*found["nwords"], "nwords", low=1, high=(1 << 32) - 1),
    )


def _read_wordmap(path: str, words: int) -> Strings:
    lines = read_lines(path)
    declared = parse_whole_number(
        lines[0].strip() if lines else "", f"{path}:1", "the number of words", high=(1 << 32) - 1
    )
    if declared != words or len(lines) - 1 != declared:
        raise InputError(f"{path}: has {len(lines) - 1} words, declares {declared}, and the model has {words}")
    found: list[str | None] = [None] * words
    seen: dict[str, int] = {}
    for line, text in enumerate(lines[1:], 2):
        fields = text.split()
        if len(fields) != 2:
            raise InputError(f"{path}:{line}: expected `word id`, not {shorten_for_message(text)}")
        at = parse_whole_number(fields[1], f"{path}:{line}", "the id", high=words - 1)
        if found[at] is not None:
            raise InputError(f"{path}:{line}: id {at} is there twice")
        if fields[0] in seen:
            raise InputError(
                f"{path}:{line}: the word {shorten_for_message(fields[0])} is there twice (line {seen[fields[0]]})"
            )
        found[at] = fields[0]
        seen[fields[0]] = line
    return Strings.of(word or "" for word in found)
