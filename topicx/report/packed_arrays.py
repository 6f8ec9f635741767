"""Arrays and texts as parts of a page: each part is gzip in base64, and a directory says what lies where in it.

The same arrays give the same bytes: gzip holds no date.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.strings import Strings

KINDS = {"uint8": "u1", "uint16": "u2", "uint32": "u4", "int32": "i4", "float32": "f4", "float64": "f8"}
"""The types of arrays that a page reads, and what it calls them."""
LARGE = 4_000_000
"""Bytes from which on a part is packed less hard."""
MISSING = 65535
"""What stands for NaN among scaled numbers."""


@dataclass
class PackedPart:
    """One part of a page: arrays, one after another, each at a multiple of eight bytes."""

    name: str
    directory: dict[str, list[Any]] = field(default_factory=dict)
    """Directory of the arrays: of each its type, its first byte and its length."""
    _pieces: list[bytes] = field(default_factory=list)
    _size: int = 0
    _packed: bytes | None = None

    def add(self, name: str, values: NDArray[Any]) -> None:
        """Add an array under a name."""
        data = np.ascontiguousarray(values)
        raw = data.astype(data.dtype.newbyteorder("<"), copy=False).tobytes()
        self.directory[name] = [KINDS[data.dtype.name], self._size, int(data.size)]
        raw += b"\0" * (-len(raw) % 8)
        self._pieces.append(raw)
        self._size += len(raw)

    def add_strings(self, name: str, values: Strings) -> None:
        """Add texts: their bytes, and how many bytes each has."""
        self.add(f"{name}.bytes", values.data)
        self.add(f"{name}.lengths", np.diff(values.offsets).astype(np.uint32))

    def add_json(self, name: str, value: Any) -> None:
        """Add plain data."""
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        self.add(name, np.frombuffer(text.encode("utf-8", "replace"), np.uint8))

    def add_scaled(self, name: str, values: NDArray[np.float64]) -> None:
        """Add numbers from 0 on as 16 bits of their largest, which follows under NAME.scale; NaN is kept."""
        known = np.isfinite(values)
        most = float(values[known].max()) if known.any() else 1.0
        most = most if most > 0 else 1.0
        scaled = np.full(values.shape, MISSING, np.uint16)
        scaled[known] = np.rint(np.clip(values[known], 0, most) / most * (MISSING - 1)).astype(np.uint16)
        self.add(name, scaled)
        self.add(f"{name}.scale", np.array([most]))

    def add_planes(self, name: str, values: NDArray[np.uint16]) -> None:
        """Add 16-bit numbers as their low bytes and then their high bytes, which gzip packs better."""
        self.add(f"{name}.low", (values & 255).astype(np.uint8))
        self.add(f"{name}.high", (values >> 8).astype(np.uint8))

    def packed(self) -> bytes:
        """The part as the page has it: base64 of gzip; of a large part less hard packed, which is twice as fast."""
        if self._packed is None:
            level = 9 if self._size < LARGE else 6
            self._packed = base64.b64encode(gzip.compress(b"".join(self._pieces), level, mtime=0))
            self._pieces.clear()  # the page needs the packed part alone, and all parts are held until it is written
        return self._packed


def square_root_bytes(shares: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Shares from 0 to 1 as bytes round(255 √share): an error below 0.4 points, and less for small ones."""
    return np.rint(255 * np.sqrt(np.clip(shares, 0, 1))).astype(np.uint8)


def shorten_texts(texts: Iterable[str], length: int) -> Strings:
    """Texts cut to so many characters, where it can be after a word."""
    return Strings.of(cut_text(text, length) for text in texts)


def cut_text(text: str, length: int) -> str:
    """The text, or its beginning and a mark; a word that would be cut is left out, unless it is long."""
    if len(text) <= length:
        return text
    begin = text[: length - 2]
    last = begin.rfind(" ")
    whole = text[length - 2] == " " or last < length * 3 // 4
    return (begin if whole else begin[:last]).rstrip() + " …"
