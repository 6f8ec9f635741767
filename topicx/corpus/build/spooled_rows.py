"""Ragged arrays that wait on disk (`container.Spool`), read again some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from topicx.files import container

PIECE = 1 << 18

class New(Protocol):
    """Makes a spool of a type; one that is `passing` is in no output as it is."""

    def __call__(self, dtype: Any, *, passing: bool = False) -> container.Spool: ...


def read_whole_documents(
    lengths: container.Spool, data: container.Spool
) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Runs of whole documents: their lengths and their data, about a quarter of a million values at a time."""
    held: list[NDArray[Any]] = []
    counts: list[NDArray[np.int64]] = []
    begun = 0
    for part, values, is_open in read_bounded_pieces(lengths, data):
        part[0] += begun
        held.append(values)
        begun = 0
        if is_open:
            begun, part = int(part[-1]), part[:-1]
            counts.append(part)
            continue
        yield np.concatenate([*counts, part]), np.concatenate(held)
        held, counts = [], []


def read_bounded_pieces(
    lengths: container.Spool, data: container.Spool
) -> Iterator[tuple[NDArray[np.int64], NDArray[Any], bool]]:
    """Runs of documents in bounded memory: a document longer than a piece comes in several runs, as a run's last document that
    is still open (True), and the next one's first."""
    pieces = data.chunks(PIECE)
    held = np.empty(0, dtype=data.dtype)
    for all_lengths in lengths.chunks(PIECE // 8):
        left = all_lengths.copy()
        begin = 0
        while begin < len(left):
            ends = np.cumsum(left[begin:])
            if ends[0] > PIECE:  # the beginning of a long document
                part, is_open, need = np.array([PIECE], dtype=np.int64), True, PIECE
                left[begin] -= PIECE
            else:
                many = int(np.searchsorted(ends, PIECE, side="right"))
                part, is_open, need = left[begin : begin + many].copy(), False, int(ends[many - 1])
                begin += many
            parts, have = [held], len(held)
            while have < need:
                parts.append(next(pieces))
                have += len(parts[-1])
            held = np.concatenate(parts)
            yield part, held[:need], is_open
            held = held[need:]


class Lengths:
    """Lengths of documents that come in pieces, for a spool of whole ones."""

    def __init__(self, spool: container.Spool) -> None:
        self.spool = spool
        self._begun = 0

    def add(self, lengths: NDArray[np.int64], is_open: bool) -> None:
        """The lengths of a run; the last one is not the whole document's if it `is_open`."""
        if len(lengths):
            lengths = lengths.copy()
            lengths[0] += self._begun
            self._begun = 0
        if is_open:
            self._begun = int(lengths[-1])
            lengths = lengths[:-1]
        self.spool.append(lengths)


def filter_documents(
    new: New, lengths: container.Spool, data: container.Spool, mask: Iterator[NDArray[np.bool_]]
) -> tuple[container.Spool, container.Spool]:
    """The data and lengths of the documents that the mask keeps."""
    new_data, new_lengths = new(data.dtype), new(np.int64)
    held = np.empty(0, dtype=bool)
    for piece, values in read_whole_documents(lengths, data):
        while len(held) < len(piece):
            held = np.concatenate([held, next(mask)])
        keep, held = held[: len(piece)], held[len(piece) :]
        new_data.append(values[np.repeat(keep, piece)])
        new_lengths.append(piece[keep])
    return new_data, new_lengths


def offsets_of(new: New, lengths: container.Spool, filled_only: bool = False) -> container.Spool:
    """Offsets from lengths; with `filled_only`, of the documents that are not empty."""
    offsets = new(np.int64)
    offsets.append(np.zeros(1, np.int64))
    total = 0
    for piece in lengths.chunks(PIECE):
        if filled_only:
            piece = piece[piece > 0]
        ends = np.cumsum(piece) + total
        offsets.append(ends)
        total = int(ends[-1]) if len(ends) else total
    return offsets


def load_spool(spool: container.Spool) -> NDArray[Any]:
    pieces = list(spool.chunks())
    return np.concatenate(pieces) if pieces else np.zeros(0, spool.dtype)
