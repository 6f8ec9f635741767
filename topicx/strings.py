"""Many strings in two arrays (UTF-8 bytes and offsets), as files store them and as memory can afford them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

_CONTROLS = dict.fromkeys((*range(32), *range(127, 160), *range(8234, 8239), *range(8294, 8298)), "�")
_CONTROLS |= dict.fromkeys((*b"\t\n\v\f\r", 0x85, 0x2028, 0x2029), " ")

_ROWS = 1 << 14
"""Strings that are copied at a time."""


def one_line(text: str) -> str:
    """A text as a terminal or a table may have it: white space becomes blanks, other control characters are marked."""
    return text if text.isascii() and text.isprintable() else text.translate(_CONTROLS)


class Strings(Sequence[str]):
    """An immutable sequence of strings that costs its bytes plus eight, not a Python object each."""

    __slots__ = ("data", "offsets")

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.data = data
        self.offsets = offsets

    @classmethod
    def of(cls, values: Iterable[str]) -> Strings:
        if isinstance(values, Strings):
            return values
        encoded = [value.encode("utf-8", "surrogatepass") for value in values]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(value) for value in encoded], out=offsets[1:]) if encoded else None
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Strings:
        return cls(arrays[f"{name}.bytes"], arrays[f"{name}.offsets"])

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The two arrays as a file names them."""
        return {f"{name}.bytes": self.data, f"{name}.offsets": self.offsets}

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice | NDArray[np.int64]) -> Strings: ...
    def __getitem__(self, index: int | slice | NDArray[np.int64]) -> str | Strings:
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        if isinstance(index, np.ndarray):
            return self.take(index)
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes().decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        data, offsets = self.data.tobytes(), self.offsets.tolist()
        for begin, end in zip(offsets[:-1], offsets[1:]):
            yield data[begin:end].decode("utf-8", "replace")

    def take(self, indices: Any) -> Strings:
        """These strings, in this order."""
        rows = np.asarray(indices, dtype=np.int64)
        out = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(np.diff(self.offsets)[rows], out=out[1:])
        data = np.empty(out[-1], np.uint8)
        for begin in range(0, len(rows), _ROWS):  # an index of all bytes would be eight times as large as they are
            end = min(begin + _ROWS, len(rows))
            data[out[begin] : out[end]] = take_rows(self.data, self.offsets, rows[begin:end])[0]
        return Strings(data, out)

    def part(self, begin: int, end: int) -> Strings:
        """The strings from `begin` to before `end`, which are not copied."""
        places = self.offsets[begin : end + 1]
        return Strings(self.data[places[0] : places[-1]], places - places[0])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Strings):
            return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.data, other.data)
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[i]) for i in range(min(len(self), 3)))
        return f"Strings({len(self)}: {shown}{', …' if len(self) > 3 else ''})"


def take_rows(
    values: NDArray[Any], offsets: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The named rows of a ragged array, and their offsets."""
    begins = offsets[:-1][rows]
    lengths = offsets[1:][rows] - begins
    new = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths, out=new[1:])
    index = np.arange(new[-1], dtype=np.int64) + np.repeat(begins - new[:-1], lengths)
    return values[index], new


def same_arrays(some: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether the same names stand for the same arrays (NaN is NaN)."""
    if some.keys() != others.keys():
        return False
    pairs = [(np.asarray(some[name]), np.asarray(others[name])) for name in some]
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f") for a, b in pairs)
