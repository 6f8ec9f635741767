"""Many strings in two arrays (UTF-8 bytes and offsets), as files store them and as memory can afford them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

_CONTROLS = dict.fromkeys((*range(32), *range(127, 160), *range(8234, 8239), *range(8294, 8298)), "�")
_CONTROLS |= dict.fromkeys((*b"\t\n\v\f\r", 0x85, 0x2028, 0x2029), " ")


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
    def __getitem__(self, index: slice) -> Strings: ...
    def __getitem__(self, index: int | slice) -> str | Strings:
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
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
        return Strings.of(self[int(i)] for i in np.asarray(indices))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Strings):
            return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.data, other.data)
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[i]) for i in range(min(len(self), 3)))
        return f"Strings({len(self)}: {shown}{', …' if len(self) > 3 else ''})"


def same_arrays(some: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether the same names stand for the same arrays (NaN is NaN)."""
    if some.keys() != others.keys():
        return False
    pairs = [(np.asarray(some[name]), np.asarray(others[name])) for name in some]
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f") for a, b in pairs)
