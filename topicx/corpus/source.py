"""Where bytes come from: files, gzip files, standard input; read in blocks, decoded, and cut into lines.

Every fault of a file is an `InputError` that names the file and, where there are lines, the line.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from topicx.errors import InputError

BLOCK = 1 << 20
LONGEST_LINE = 1 << 30


class Source:
    """One input. `consumed` is how many bytes of the file have been read (compressed ones, if it is
    compressed)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.shown = "standard input" if name == "-" else name
        self.size: int | None = None
        try:
            if name == "-" and sys.stdin is None:
                raise InputError("standard input is closed")
            if name == "-":
                self._raw: IO[bytes] = getattr(
                    sys.stdin.buffer, "raw", sys.stdin.buffer
                )  # do not wait for a full buffer
            else:
                path = Path(name)
                if path.is_dir():
                    raise InputError(f"{name}: is a directory (--format dir reads one)")
                self._raw = path.open("rb")
                if path.is_file():
                    self.size = path.stat().st_size
        except OSError as error:
            raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
        self._counted = _Counted(self._raw, self.shown)
        self._buffered = io.BufferedReader(self._counted, buffer_size=BLOCK)
        self.compressed = self._guard_peek(2)[:2] == b"\x1f\x8b"
        if not self.compressed and name.endswith(".gz") and self._guard_peek(1):
            raise InputError(f"{name}: is not a gzip file, though its name ends in .gz")
        self._unpacked = gzip.GzipFile(fileobj=self._buffered, mode="rb") if self.compressed else None
        self._held = b""

    def _guard_peek(self, size: int) -> bytes:
        try:
            return self._buffered.peek(size)
        except OSError as error:
            raise InputError(f"{self.shown}: cannot be read: {error.strerror or error}") from None

    @property
    def consumed(self) -> int:
        return self._counted.total

    def read(self, size: int = BLOCK) -> bytes:
        """The next bytes, uncompressed; empty at the end."""
        if self._held:
            data, self._held = self._held, b""
            return data
        try:
            if self._unpacked:
                return self._unpacked.read(size)
            return self._buffered.read1(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = "it ends too early" if isinstance(error, EOFError) else str(error).rstrip(".")
            raise InputError(f"{self.shown}: is a broken gzip file ({reason})") from None
        except OSError as error:
            raise InputError(f"{self.shown}: cannot be read: {error.strerror or error}") from None

    def peek(self, size: int = 1 << 16) -> bytes:
        """The first bytes without consuming them."""
        parts: list[bytes] = []
        got = 0
        while got < size and (data := self.read(size - got)):
            parts.append(data)
            got += len(data)
        self._held = b"".join(parts)
        return self._held

    def blocks(self) -> Iterator[bytes]:
        while data := self.read():
            yield data

    def texts(self, encoding: str, errors: str) -> Iterator[str]:
        """Decoded blocks. A byte order mark is not part of the text."""
        codec = codec_of(encoding)
        decoder = codecs.getincrementaldecoder(codec)(errors)
        plain = not codec.startswith(("utf-16", "utf-32"))
        lines = 0
        for data in self.blocks():
            if plain and (at := data.find(b"\0")) >= 0:
                line = lines + data.count(b"\n", 0, at) + 1
                raise InputError(f"{self.shown}:{line}: is binary, not text (a zero byte)")
            try:
                text = decoder.decode(data)
            except UnicodeError as error:
                raise self._undecodable(error, lines, encoding) from None
            lines += data.count(b"\n") if plain else text.count("\n")
            if text:
                yield text
        try:
            text = decoder.decode(b"", True)
        except UnicodeError as error:
            raise self._undecodable(error, lines, encoding) from None
        if text:
            yield text

    def _undecodable(self, error: UnicodeError, lines: int, encoding: str) -> InputError:
        what = "not text in it"
        if isinstance(error, UnicodeDecodeError):
            good = error.object[: error.start]
            lines += good.count(b"\n")
            what = f"byte 0x{error.object[error.start]:02x}, {error.reason}"
        return InputError(f"{self.shown}:{lines + 1}: is not {encoding} ({what}); see --encoding and --encoding-errors")

    def lines(self, encoding: str, errors: str) -> Iterator[tuple[int, list[str]]]:
        """Lists of lines without their ends, each with the number of its first line."""
        number, rest = 1, [""]
        held = 0
        for text in self.texts(encoding, errors):
            cut = text.rfind("\n")
            if cut < 0:
                rest.append(text)
                held += len(text)
                if held > LONGEST_LINE:
                    raise InputError(f"{self.shown}:{number}: a line is longer than {LONGEST_LINE:,} characters")
                continue
            rest.append(text[:cut])
            lines = "".join(rest).split("\n")
            if "\r" in text or lines[-1].endswith("\r") or lines[0].endswith("\r"):
                lines = [line[:-1] if line.endswith("\r") else line for line in lines]
            rest, held = [text[cut + 1 :]], len(text) - cut - 1
            yield number, lines
            number += len(lines)
        last = "".join(rest)
        if last:
            yield number, [last.removesuffix("\r")]

    def close(self) -> None:
        if self.name != "-":
            self._raw.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Counted(io.RawIOBase):
    """Counts what is read."""

    def __init__(self, raw: IO[bytes], name: str) -> None:
        self._raw, self.name, self.total = raw, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        count = self._raw.readinto(buffer)  # type: ignore[attr-defined]
        self.total += count or 0
        return count or 0


def codec_of(encoding: str) -> str:
    """The codec to decode with; UTF-8 takes its byte order mark away."""
    try:
        name = codecs.lookup(encoding).name
        b"    ".decode(encoding, "replace")
    except LookupError as error:
        what = "is not an encoding of text" if "text encoding" in str(error) else "is not a known encoding"
        raise InputError(f"--encoding: {encoding!r} {what}") from None
    except ValueError:  # a name with a zero byte, or no name
        raise InputError(f"--encoding: {encoding!r} is not a known encoding") from None
    return "utf-8-sig" if name == "utf-8" else name


def unpacked_name(name: str) -> str:
    """The name of a file without the ending that says how it is compressed."""
    return name.removesuffix(".gz")


def read_words(name: str, what: str = "word") -> list[str]:
    """A vocabulary file: a word a line (or another `what`)."""
    words: list[str] = []
    with Source(name) as source:
        for first, lines in source.lines("utf-8", "strict"):
            for at, line in enumerate(lines, first):
                if not line.strip():
                    raise InputError(f"{name}:{at}: a {what} is missing (an empty line)")
            words.extend(line.strip() for line in lines)
    return words


def total_size(names: list[str]) -> int | None:
    """The bytes of all inputs together, where they can be known."""
    total = 0
    for name in names:
        path = Path(name)
        if name == "-" or not path.exists():
            return None
        if path.is_dir():
            for folder, _, found in os.walk(path):
                total += sum((Path(folder) / file).stat().st_size for file in found if (Path(folder) / file).is_file())
        elif path.is_file():
            total += path.stat().st_size
        else:
            return None
    return total
