"""What the readers of text formats share: whole lines in large buffers, checked numbers, names that are unique."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.text import parse
from topicx.corpus.formats.input_bytes import LONGEST_LINE, InputSource
from topicx.errors import InputError
from topicx.state import State
from topicx.strings import Strings

BLOCK = 1 << 20


def line_blocks(source: InputSource, first: int = 1) -> Iterator[tuple[int, bytes]]:
    """Buffers of whole lines, each with the number of its first. A last line without its end is an error: whoever wrote
    the file did not finish."""
    held: list[bytes] = []
    size, line = 0, first
    for data in _read_blocks_ahead(source):
        held.append(data)
        size += len(data)
        if size < BLOCK:
            continue
        cut = data.rfind(b"\n")
        if cut < 0:
            if size > LONGEST_LINE:
                raise InputError(f"{source.shown}:{line}: a line is longer than {LONGEST_LINE:,} bytes")
            continue
        held[-1] = data[: cut + 1]
        block = b"".join(held)
        held = [data[cut + 1 :]]
        size = len(held[0])
        yield line, block
        line += block.count(b"\n")
    rest = b"".join(held)
    if rest:
        if not rest.endswith(b"\n"):
            raise cut_off(source.shown, line + rest.count(b"\n"))
        yield line, rest


def _read_blocks_ahead(source: InputSource) -> Iterator[bytes]:
    """The source's blocks; the next is inflated in another thread while this one is parsed."""
    if not source.compressed:
        yield from source.blocks()
        return
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(source.read)
        while data := coming.result():
            coming = reader.submit(source.read)
            yield data


def parse_whole_number(text: str, where: str, what: str, *, low: int = 0, high: int = (1 << 62)) -> int:
    """A whole number in a range; the error says where it stood."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InputError(f"{where}: {what} must be a whole number, not {shorten_for_message(text)}")
    value = int(text)
    if not low <= value <= high:
        raise InputError(f"{where}: {what} is {value}, and must be from {low} to {high}")
    return value


def parse_positive(text: str, where: str, what: str) -> float:
    """A number above 0 that training takes as a prior weight, too."""
    try:
        value = float(text) if "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{where}: {what} must be a positive number, not {shorten_for_message(text)}")
    if not 1e-30 <= value <= 1e30:
        raise InputError(f"{where}: {what} must be from 1e-30 to 1e30, not {shorten_for_message(text)}")
    return value


def shorten_for_message(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")


def check_distinct_words(words: list[str], name: str, lines: list[int] | None = None) -> Strings:
    """The words, if no two are equal; `lines` are theirs in the file (from 1 upwards unless given)."""
    seen: dict[str, int] = {}
    for at, word in enumerate(words):
        line = lines[at] if lines else at + 1
        if word in seen:
            raise InputError(f"{name}:{line}: the word {shorten_for_message(word)} is there twice (line {seen[word]})")
        seen[word] = line
    return Strings.of(words)


def decode_utf8(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: is not UTF-8 (byte 0x{data[error.start]:02x}: {error.reason})") from None


def read_lines(path: str | Path) -> list[str]:
    """All lines of a file of words; each must have its end."""
    with InputSource(str(path)) as source:
        data = b"".join(source.blocks())
    lines = data.split(b"\n")
    if lines.pop():
        raise cut_off(source.shown, len(lines) + 1)
    for line, text in enumerate(lines, 1):
        if b"\0" in text:
            raise InputError(f"{source.shown}:{line}: is binary, not text (a zero byte)")
    return [decode_utf8(text.removesuffix(b"\r"), f"{source.shown}:{line}") for line, text in enumerate(lines, 1)]


def cut_off(name: str, line: int) -> InputError:
    return InputError(f"{name}:{line}: the line has no end: the file is cut off")


class PairLines:
    """Every line of a file of `left:right` pairs, as arrays; see `topicx._kernels.text.parse.parse_pairs`."""

    def __init__(
        self, path: str | Path, *, lead: int, names: tuple[str, str], limits: tuple[int, int] = (1 << 62, 1 << 62),
        types: tuple[Any, Any] = (np.int64, np.int64), skip: int = 0,
    ) -> None:  # fmt: skip
        self.path, self.skip = str(path), skip
        self.head = b""
        leads, lefts, rights, lengths = [], [], [], []
        with InputSource(self.path) as source:
            self.shown = source.shown
            for first, block in line_blocks(source):
                if first == 1 and skip:
                    self.head, _, block = block.partition(b"\n")
                    first = 2
                found = parse.parse_pairs(self.shown, first, block, lead, *limits, *names)
                leads.append(found[0])
                lefts.append(found[1].astype(types[0]))
                rights.append(found[2].astype(types[1]))
                lengths.append(np.diff(found[3]))
        self.leads: NDArray[np.int64] = np.concatenate(leads) if leads else np.zeros((0, lead), np.int64)
        self.left: NDArray[Any] = np.concatenate(lefts) if lefts else np.zeros(0, types[0])
        self.right: NDArray[Any] = np.concatenate(rights) if rights else np.zeros(0, types[1])
        self.lengths: NDArray[np.int64] = np.concatenate(lengths) if lengths else np.zeros(0, np.int64)

    @property
    def offsets(self) -> NDArray[np.int64]:
        offsets = np.zeros(len(self.lengths) + 1, np.int64)
        np.cumsum(self.lengths, out=offsets[1:])
        return offsets

    def line(self, row: int) -> str:
        """Where a row stands: file and line."""
        return f"{self.shown}:{row + 1 + self.skip}"

    def as_state(self, format: str, alpha: NDArray[np.float64], beta: float, vocabulary: Strings) -> State:
        """Lines that are documents, of pairs that are words and topics."""
        return State(
            words=self.left, offsets=self.offsets, z=self.right, alpha=alpha, beta=np.full(len(vocabulary), beta),
            vocabulary=vocabulary, ids=Strings.of(str(d) for d in range(len(self.lengths))), meta={"format": format},
        )  # fmt: skip

    def check_declared(self, what: str) -> None:
        """The first leading number of each line is its number of pairs."""
        wrong = np.flatnonzero(self.leads[:, 0] != self.lengths)
        if len(wrong):
            row = int(wrong[0])
            raise InputError(f"{self.line(row)}: declares {self.leads[row, 0]} {what} and has {self.lengths[row]}")
