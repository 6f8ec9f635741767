"""Where bytes come from: files, compressed files, standard input; read in blocks, decoded, and cut into lines.

Every fault of a file is an `InputError` that names the file and, where there are lines, the line. Faults of single
lines or documents go through `Faults`, which may leave them out or mend them instead.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from topicx.corpus.formats.compressed import SUFFIXES, compression_of, decompression_error, open_decompressed
from topicx.errors import InputError

BLOCK = 1 << 20
LONG_LINE = 1 << 20
"""Characters from which on a line of text is read in pieces."""
LONGEST_LINE = 1 << 30
LONGEST_WHOLE = 1 << 25
"""Characters of a line that must be read as a whole."""

MARK = "\udfff"
"""What stands for bytes that the encoding does not have, where they do not end the reading."""


@dataclass
class Faults:
    """What is done with documents that cannot be read: `stop` raises, `skip` leaves them out, `repair` mends what can
    be mended (zero bytes and bytes that are no text) and leaves the rest out. Counts, and remembers the first."""

    policy: str = "stop"
    skipped: int = 0
    repaired: int = 0
    first: list[str] = field(default_factory=list)
    read_as: dict[str, list[str]] = field(default_factory=dict)
    """Files that are not of the first of several encodings, by the one that they were read in."""

    def note_encoding(self, shown: str, asked: str, chosen: str) -> None:
        """A file that was not of the first of the encodings that were asked for."""
        if chosen in asked.split(",")[1:]:
            self.read_as.setdefault(chosen, []).append(shown)

    def add(self, other: Faults) -> None:
        """What was met elsewhere, after all that was met here."""
        self.skipped += other.skipped
        self.repaired += other.repaired
        self.first += other.first[: 5 - len(self.first)]
        for encoding, files in other.read_as.items():
            self.read_as.setdefault(encoding, []).extend(files)

    def meet(self, message: str, *, mended: bool = False, call: bool = False) -> None:
        """A fault of one document, `mended` if it can be; or (`call`) of the options more likely."""
        if self.policy == "stop":
            raise InputError(message if call else f"{message} (--bad-documents skip leaves it out)")
        if mended:
            self.repaired += 1
        else:
            self.skipped += 1
        if len(self.first) < 5:
            self.first.append(message)

    def clean(self, text: str, place: str) -> str | None:
        """The text without marks and zero bytes; None: the document goes."""
        if MARK not in text and "\0" not in text:
            return text
        what = "is binary, not text (a zero byte)" if "\0" in text else "has bytes that are not text"
        mended = self.policy == "repair"
        self.meet(f"{place}: {what}", mended=mended)
        return text.replace(MARK, "\ufffd").replace("\0", " ") if mended else None


class UndecodableError(InputError):
    """Bytes that are not text in the encoding."""

    def __init__(self, found: str, advice: str = "see --encoding and --bad-documents") -> None:
        super().__init__(f"{found}; {advice}")
        self.found = found


@dataclass
class Stretch:
    """Lines that follow one another. A long line comes in pieces: the first line `continues` the one before, the last
    is still `open`."""

    first: int
    lines: list[str]
    continues: bool = False
    open: bool = False


_BLANK_LINE = re.compile(rb"\r?\n[ \t]*\r?\n")


class InputSource:
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
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{name!r}: cannot be the name of a file (a zero byte)") from None
        self._counted = _Counted(self._raw, self.shown)
        self._buffered = io.BufferedReader(self._counted, buffer_size=BLOCK)
        self.packing = compression_of(self._guard_peek(6))
        ending = SUFFIXES.get(Path(name).suffix.lower())
        if ending is not None and self.packing != ending and self._guard_peek(1):
            self.close()
            raise InputError(f"{name}: is not a {ending} file, though its name ends in {Path(name).suffix}")
        self._unpacked = None if self.packing is None else open_decompressed(self.packing, self._buffered, self.shown)
        self._held = b""
        self._ends = 0
        """Ends of lines in the texts so far."""
        self._head = 0
        """Ends of lines in a head that was left out."""
        self._chosen: str | None = None

    @property
    def compressed(self) -> bool:
        return self.packing is not None

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
        except Exception as error:
            why = decompression_error(error) if self._unpacked else None
            if why is not None:
                raise InputError(f"{self.shown}: is a broken {self.packing} file ({why})") from None
            if isinstance(error, OSError):
                raise InputError(f"{self.shown}: cannot be read: {error.strerror or error}") from None
            raise

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

    def encoding(self, asked: str) -> str:
        """The encoding to read with: UTF-16 or UTF-32 where the first bytes are their mark and UTF-8 was to be; of
        several the first that all bytes are text in, or the last."""
        if "," in asked:
            self._chosen = self._chosen or self._first_that_fits(asked.split(","))
            asked = self._chosen
        if codec_of(asked) != "utf-8-sig":
            return asked
        start = self.peek(4)[:4]
        if start.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
            return "utf-32"
        return "utf-16" if start.startswith((b"\xff\xfe", b"\xfe\xff")) else asked

    def _first_that_fits(self, encodings: list[str]) -> str:
        for encoding in encodings:
            codec_of(encoding)
        if self.size is None:
            raise InputError(f"--encoding: several are for files, which can be read twice; not for {self.shown}")
        for encoding in encodings[:-1]:
            with InputSource(self.name) as again:
                if self._head:
                    again.skip_head(encoding)
                if again.is_text_in(encoding):
                    return encoding
        return encodings[-1]

    def is_text_in(self, encoding: str) -> bool:
        """Whether all that is left is text in this encoding."""
        decoder = codecs.getincrementaldecoder(codec_of(self.encoding(encoding)))("strict")
        try:
            for data in self.blocks():
                decoder.decode(data)
            decoder.decode(b"", True)
        except UnicodeError:
            return False
        return True

    def skip_head(self, encoding: str) -> bool:
        """Leave out what stands before the first blank line, whatever its bytes; nothing where no line is blank. False
        where characters are wider than bytes."""
        start = self.peek(BLOCK)
        if any(codec_of(self.encoding(one)).startswith(("utf-16", "utf-32")) for one in encoding.split(",")):
            return False
        found = _BLANK_LINE.search(start)
        if found:
            self._head = start.count(b"\n", 0, found.end())
            self._held = start[found.end() :]
        return True

    def texts(self, encoding: str, errors: str, faults: Faults | None = None) -> Iterator[str]:
        """Decoded blocks. A byte order mark is not part of the text. With `faults` that do not stop, bytes that are not
        of the encoding become `MARK`s, and zero bytes stay."""
        lenient = faults is not None and faults.policy != "stop"
        encoding = self.encoding(encoding)
        codec = codec_of(encoding)
        decoder = codecs.getincrementaldecoder(codec)(_MARKING if lenient and errors == "strict" else errors)
        plain = not codec.startswith(("utf-16", "utf-32"))
        self._ends = self._head
        for data in self.blocks():
            if plain and not lenient and (at := data.find(b"\0")) >= 0:
                line = self._ends + data.count(b"\n", 0, at) + 1
                raise InputError(f"{self.shown}:{line}: is binary, not text (a zero byte); see --bad-documents")
            try:
                text = decoder.decode(data)
            except UnicodeError as error:
                raise self._undecodable(error, self._ends, encoding) from None
            self._ends += _line_ends(data) if plain else text.count("\n")
            if text:
                yield text
        try:
            text = decoder.decode(b"", True)
        except UnicodeError as error:
            raise self._undecodable(error, self._ends, encoding) from None
        if text:
            yield text

    def _undecodable(self, error: UnicodeError, lines: int, encoding: str) -> InputError:
        what = "not text in it"
        if isinstance(error, UnicodeDecodeError):
            good = error.object[: error.start]
            lines += good.count(b"\n")
            what = f"byte 0x{error.object[error.start]:02x}, {error.reason}"
        return UndecodableError(f"{self.shown}:{lines + 1}: is not {encoding} ({what})")

    def runs(
        self, encoding: str, errors: str, faults: Faults | None = None, long: int | None = LONG_LINE
    ) -> Iterator[Stretch]:
        """The lines without their ends. A line of more than `long` characters comes in pieces, cut after white space at
        the same places however the blocks fall; with None such a line is refused."""
        for run in self._runs(encoding, errors, faults, long):
            if faults is None or faults.policy == "stop" or not any(MARK in line or "\0" in line for line in run.lines):
                yield run
            else:
                yield from self._clean(run, faults)

    def marked(self, encoding: str, errors: str, faults: Faults) -> Iterator[Stretch]:
        """Whole lines with the marks that faults leave in them."""
        return self._runs(encoding, errors, faults, None)

    def _clean(self, run: Stretch, faults: Faults) -> Iterator[Stretch]:
        """The run without its bad lines; a piece of a long line is always mended."""
        part = Stretch(run.first, [], run.continues)
        for at, line in enumerate(run.lines):
            text = faults.clean(line, f"{self.shown}:{run.first + at}")
            if text is None and ((at == 0 and run.continues) or (at == len(run.lines) - 1 and run.open)):
                text = line.replace(MARK, "\ufffd").replace("\0", " ")
            if text is not None:
                part.lines.append(text)
                continue
            if part.lines:
                yield part
            part = Stretch(run.first + at + 1, [])
        if part.lines:
            part.open = run.open
            yield part

    def _runs(self, encoding: str, errors: str, faults: Faults | None, long: int | None) -> Iterator[Stretch]:
        for number, text, continues, is_open in self._stretches(encoding, errors, faults, long):
            lines = [text] if is_open else text.split("\n")
            if "\r" in text and not is_open:
                lines = [line[:-1] if line.endswith("\r") else line for line in lines]
            yield Stretch(number, lines, continues, is_open)

    def _stretches(
        self, encoding: str, errors: str, faults: Faults | None, long: int | None
    ) -> Iterator[tuple[int, str, bool, bool]]:
        """Lines that follow one another as one text, without the end of the last: the number of the first, the text,
        whether it continues the one before, and whether it is still open."""
        limit = LONGEST_WHOLE if long is None else long
        number, rest, held, continues = 1, [""], 0, False
        for text in self.texts(encoding, errors, faults):
            cut = text.rfind("\n")
            rest.append(text if cut < 0 else text[:cut])
            held += len(rest[-1])
            if held > limit:
                line, newline, others = "".join(rest).partition("\n")
                while len(line) > limit:
                    if long is None:
                        raise InputError(f"{self.shown}:{number}: a line is longer than {limit:,} characters")
                    end = _after_space(line, limit)
                    yield number, line[:end], continues, True
                    line, continues = line[end:], True
                rest = [line, newline, others]
                held = len(line) + len(others)
            if cut < 0:
                continue
            yield number, "".join(rest), continues, False
            rest, held = [text[cut + 1 :]], len(text) - cut - 1
            number, continues = 1 + self._ends, False
        last = "".join(rest)
        if last or continues:
            yield number, last, continues, False

    def whole(self, encoding: str, errors: str, faults: Faults) -> Iterator[tuple[int, str]]:
        """Whole lines as one text, without the end of the last, and the number of the first."""
        if faults.policy == "stop":
            yield from (found[:2] for found in self._stretches(encoding, errors, faults, None))
        else:  # lines may be left out
            yield from ((first, "\n".join(lines)) for first, lines in self.lines(encoding, errors, faults))

    def lines(self, encoding: str, errors: str, faults: Faults | None = None) -> Iterator[tuple[int, list[str]]]:
        """Lists of whole lines without their ends, each with the number of its first line."""
        for run in self.runs(encoding, errors, faults, None):
            yield run.first, run.lines

    def close(self) -> None:
        if self.name != "-":
            self._raw.close()

    def __enter__(self) -> InputSource:
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


def _line_ends(data: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))


def _after_space(line: str, limit: int) -> int:
    """The last place at most `limit` that is behind white space; `limit` itself where there is none for long."""
    for end in range(limit, max(limit - 65_536, 0), -1):
        if line[end - 1].isspace():
            return end
    return limit


def _mark_undecodable(error: UnicodeError) -> tuple[str, int]:
    if isinstance(error, UnicodeDecodeError):
        return MARK, error.end
    raise error


_MARKING = "topicx.mark"
codecs.register_error(_MARKING, _mark_undecodable)


def read_words(name: str, what: str = "word") -> list[str]:
    """A vocabulary file: a word a line (or another `what`)."""
    words: list[str] = []
    with InputSource(name) as source:
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
