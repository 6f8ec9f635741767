"""MALLET's states (`--output-state`), with or without gzip.

    #doc source pos typeindex type topic
    #alpha : a_1 … a_K
    #beta : b
    0 NA 0 0 action 6

The vocabulary is what occurs in the state: MALLET's alphabet may hold more types, of which the state says nothing.
"""

from __future__ import annotations

import numpy as np

from topicx._kernels.text import parse
from topicx.corpus.formats.input_bytes import InputSource
from topicx.errors import InputError
from topicx.interop.text_parsing import decode_utf8, line_blocks, parse_positive, shorten_for_message
from topicx.state import MAX_TOPICS, State
from topicx.strings import Strings

HEADER = b"#doc source pos typeindex type topic"


def read(path: str, source: InputSource | None = None) -> State:
    """Read a state; `source` if it is already open (to look at its beginning)."""
    source = source or InputSource(path)
    with source:
        return _read_mallet_lines(source)


def _read_mallet_lines(source: InputSource) -> State:
    name = source.shown
    alpha: np.ndarray | None = None
    beta: float | None = None
    tokens: parse.MalletTokens | None = None
    for line, block in line_blocks(source):
        while block[:1] == b"#" and tokens is None:
            head, _, block = block.partition(b"\n")
            text = decode_utf8(head.rstrip(b"\r"), f"{name}:{line}")
            if line == 1 and text.encode() != HEADER:
                raise InputError(
                    f"{name}:1: a MALLET state begins with `{HEADER.decode()}`, not {shorten_for_message(text)}"
                )
            if line == 2:
                alpha = _parse_alpha(text, f"{name}:2")
            elif line == 3:
                beta = parse_positive(_text_after(text, "#beta :", f"{name}:3"), f"{name}:3", "beta")
            elif line > 3:
                raise InputError(f"{name}:{line}: expected a token, not {shorten_for_message(text)}")
            line += 1
        if not block:
            continue
        if tokens is None:
            if alpha is None or beta is None:
                raise InputError(f"{name}:{line}: expected the lines `#alpha : …` and `#beta : …` (2 and 3)")
            tokens = parse.MalletTokens(name, line, len(alpha))
        tokens.feed(block)
    if alpha is None or beta is None:
        raise InputError(f"{name}: ends before its `#alpha : …` and `#beta : …` lines")
    if tokens is None:
        raise InputError(f"{name}: has no tokens")
    return _make_state(name, tokens, alpha, beta)


def _text_after(text: str, start: str, where: str) -> str:
    if not text.startswith(start):
        raise InputError(f"{where}: expected `{start} …`, not {shorten_for_message(text)}")
    return text[len(start) :].strip()


def _parse_alpha(text: str, where: str) -> np.ndarray:
    fields = _text_after(text, "#alpha :", where).split()
    if not 1 <= len(fields) <= MAX_TOPICS:
        raise InputError(f"{where}: {len(fields)} topics; there must be from 1 to {MAX_TOPICS}")
    return np.array([[parse_positive(field, where, f"alpha of topic {k}") for k, field in enumerate(fields)]])[0]


def _make_state(name: str, tokens: parse.MalletTokens, alpha: np.ndarray, beta: float) -> State:
    words, z, begins, types, type_bytes, source_ends, source_bytes = tokens.finish()
    text = type_bytes.tobytes()
    seen = np.flatnonzero(types[:, 2])
    vocabulary: list[str] = []
    first: dict[str, int] = {}
    for kind in seen.tolist():
        begin, length, line = types[kind].tolist()
        word = decode_utf8(text[begin : begin + length], f"{name}:{line}")
        if word in first:
            raise InputError(
                f"{name}:{line}: the type {shorten_for_message(word)} has a second index, {kind} (line {first[word]})"
            )
        first[word] = line
        vocabulary.append(word)
    if len(seen) < len(types):  # types without a token: numbers close up
        new = np.zeros(len(types), np.uint32)
        new[seen] = np.arange(len(seen), dtype=np.uint32)
        words = new[words]
    sources = Strings(source_bytes, np.concatenate([[0], source_ends]).astype(np.int64))
    ids = Strings.of(source if source not in ("", "NA", "null-source") else str(d) for d, source in enumerate(sources))
    return State(
        words=words,
        offsets=np.concatenate([begins, [len(words)]]).astype(np.int64),
        z=z,
        alpha=alpha[None, :].astype(np.float64),
        beta=np.full(len(seen), beta),
        vocabulary=Strings.of(vocabulary),
        ids=ids,
        meta={"format": "mallet", "types_without_tokens": len(types) - len(seen)},
    )
