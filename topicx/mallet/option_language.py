"""MALLET's rules for arguments: what an option is, which values it takes, what a `--config` file says.

A command declares its options once (`Command`, of `command_tables`): parsing, help, the documentation's check and the
tests read the table. What a command does stands elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from topicx.errors import InputError

TRUE, FALSE = ("true", "1"), ("false", "0")
PREFIX = "mallet"


@dataclass(frozen=True)
class Option:
    """One option: `kind` is file, string, integer, decimal, boolean, strings (as many as follow), integers (with
    commas) or code (Java, which is refused)."""

    name: str
    kind: str
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    silent: bool = False
    """Accepted and without effect, as in MALLET itself."""
    fallback: Any = None
    """The value where the option stands without one."""

    @property
    def metavar(self) -> str:
        names = {"file": "FILE", "string": "STRING", "integer": "N", "decimal": "X", "boolean": "[TRUE|FALSE]"}
        return names.get(self.kind) or {"strings": "FILE ...", "integers": "N,N...", "code": "'JAVA CODE'"}[self.kind]

    def convert(self, text: str) -> Any:
        """The value that this text means."""
        if self.kind == "boolean":
            if text.lower() in TRUE + FALSE:
                return text.lower() in TRUE
            raise InputError(f"--{self.name}: {text!r} is not true or false")
        if self.kind == "integer":
            return self._limited(_parse_whole(self.name, text), text)
        if self.kind == "integers":
            return [self._limited(_parse_whole(self.name, part), part) for part in text.split(",")]
        if self.kind == "decimal":
            return self._limited(_parse_decimal(self.name, text), text)
        return text

    def _limited(self, number: Any, text: str) -> Any:
        if self.low is not None and number < self.low:
            raise InputError(f"--{self.name}: {text} must be at least {self.low:g}")
        if self.high is not None and number > self.high:
            raise InputError(f"--{self.name}: {text} must be at most {self.high:g}")
        return number


def file_option(name: str, help: str, default: str | None = None) -> Option:
    """The name of a file."""
    return Option(name, "file", default, help)


def flag_option(name: str, help: str, default: bool = False, fallback: bool | None = None) -> Option:
    """What is so or not."""
    return Option(name, "boolean", default, help, fallback=fallback)


def inert_options(kind: str, why: str = "", **defaults: Any) -> tuple[Option, ...]:
    """Options that MALLET takes and that change nothing, there or here."""
    text = "No effect" + (f": {why}" if why else "") + "."
    return tuple(Option(name.replace("_", "-"), kind, value, text, silent=True) for name, value in defaults.items())


def java_options(*names: str) -> tuple[Option, ...]:
    """Options whose value is Java code."""
    return tuple(Option(name, "code", None, "Java code: refused.") for name in names)


def _parse_whole(name: str, text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or not -(2**31) <= int(text) < 2**31:
        raise InputError(f"--{name}: {text!r} is not a whole number")
    return int(text)


def _parse_decimal(name: str, text: str) -> float:
    try:
        number = float(text.strip().rstrip("dDfF") if not text.lower().startswith("inf") else text)
    except ValueError:
        raise InputError(f"--{name}: {text!r} is not a number") from None
    if math.isnan(number):
        raise InputError(f"--{name}: {text!r} is not a number")
    return number


COMMON = (
    flag_option("help", "Print this help.", fallback=True),
    Option("prefix-code", "code", None, "Java code to run first: refused, there is no Java here."),
    file_option("config", "Read options from a file of lines 'name = value' (or Java's XML)."),
)


@dataclass(frozen=True)
class Command:
    """A command of MALLET's, and its options."""

    name: str
    owner: str
    """The Java class that MALLET runs: a name may stand before an option, and `run` takes it."""
    summary: str
    options: tuple[Option, ...]

    def find(self, name: str) -> Option:
        package, _, last = name.rpartition(".")
        own = "package " + self.owner.rpartition(".")[0]
        for option in (*self.options, *COMMON):
            if option.name == last and (not package or own.endswith(package)):
                return option
        close = get_close_matches(last, [option.name for option in self.options], n=1)
        hint = f"; did you mean --{close[0]}?" if close else ""
        raise InputError(f"{PREFIX} {self.name}: there is no option --{name}{hint}")

    def usage(self) -> str:
        """Every option with its default, as `--help` prints it."""
        lines = [f"topicx {PREFIX} {self.name}: {self.summary}", ""]
        for option in (*self.options, *COMMON):
            lines += [
                f"--{option.name} {option.metavar}",
                f"  {option.help}",
                f"  Default is {_format_value(option.default)}",
            ]
        return "\n".join(lines)


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "none" if value is None else str(value)


@dataclass
class Parsed:
    """The values of a call, by option name."""

    command: Command
    values: dict[str, Any]
    given: set[str] = field(default_factory=set)
    """The options that stood on the command line or in a config file."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def need(self, name: str, why: str) -> Any:
        """The value of an option without which nothing can be done."""
        if self.values[name] in (None, []):
            raise InputError(f"{PREFIX} {self.command.name}: give --{name} {self.command.find(name).metavar}, {why}")
        return self.values[name]


def parse_arguments(command: Command, arguments: Sequence[str]) -> Parsed:
    """MALLET's rules: only `--name`, a value after it, the later of two counts."""
    defaults = {option.name: option.default for option in (*command.options, *COMMON)}
    parsed = Parsed(command, defaults)
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        if not _is_option(argument):
            raise InputError(f"{PREFIX} {command.name}: {argument!r} is neither an option nor the value of one")
        if "=" in argument:
            raise InputError(f"{PREFIX} {command.name}: {argument}: write the value after a blank, not after =")
        option = command.find(argument[2:])
        at += 1
        values: list[str] = []
        most = len(arguments) if option.kind == "strings" else 1
        while at < len(arguments) and len(values) < most and not _is_option(arguments[at]):
            values.append(arguments[at])
            at += 1
        _set_option(parsed, option, values)
    return parsed


def _is_option(argument: str) -> bool:
    return len(argument) > 2 and argument.startswith("--")


def _set_option(parsed: Parsed, option: Option, values: list[str]) -> None:
    if option.kind == "code":
        raise InputError(f"--{option.name}: is Java code, which topicx cannot run")
    parsed.given.add(option.name)
    if option.kind == "strings":
        parsed.values[option.name] = values or None
    elif values:
        parsed.values[option.name] = option.convert(values[0])
    elif option.kind == "boolean":
        parsed.values[option.name] = True
    elif option.fallback is not None:
        parsed.values[option.name] = option.fallback
    else:
        raise InputError(f"--{option.name}: its value is missing")
    if option.name == "config":
        _read_config(parsed, parsed.values["config"])


# -- config files --------------------------------------------------------------------------------------------------


def _read_config(parsed: Parsed, path: str) -> None:
    """Options from a file, where it stands: those that follow on the command line win. Unknown keys are ignored."""
    known = {option.name: option for option in parsed.command.options}
    for key, value in read_java_properties(path).items():
        parts = value.split()
        if key not in known:
            continue
        if "\0" in value:
            raise InputError(f"{path}: --{key}: the value has a zero byte")
        try:
            _set_option(parsed, known[key], parts if known[key].kind == "strings" else parts[:1])
        except InputError as error:
            raise InputError(f"{path}: {error}") from None


def read_java_properties(path: str) -> dict[str, str]:
    """The pairs of a file of Java properties: lines of Latin-1, or XML where the name ends in .xml."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    return _from_xml(path, data) if path.endswith(".xml") else _from_lines(path, data.decode("latin-1"))


def _from_xml(path: str, data: bytes) -> dict[str, str]:
    from xml.etree import ElementTree

    if b"<!ENTITY" in data:
        raise InputError(f"{path}: declares entities, which a list of properties has no use for")
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        raise InputError(f"{path}: is not XML: {error}") from None
    return {entry.get("key", ""): entry.text or "" for entry in root.iter("entry")}


def _from_lines(path: str, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    line = ""
    for part in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        part = part.lstrip(" \t\f")
        if not line and part[:1] in ("#", "!"):
            continue
        line += part
        if (len(line) - len(line.rstrip("\\"))) % 2:
            line = line[:-1]  # goes on in the next line
            continue
        if line:
            key, value = _split_property(line)
            found[_unescape_java(path, key)] = _unescape_java(path, value)
        line = ""
    if line:
        key, value = _split_property(line)
        found[_unescape_java(path, key)] = _unescape_java(path, value)
    return found


def _split_property(line: str) -> tuple[str, str]:
    """The key ends at the first =, : or blank that no backslash stands before."""
    at = 0
    while at < len(line) and line[at] not in "=: \t\f":
        at += 2 if line[at] == "\\" else 1
    rest = line[at:].lstrip(" \t\f")
    return line[:at], rest[1:].lstrip(" \t\f") if rest[:1] in ("=", ":") else rest


def _unescape_java(path: str, text: str) -> str:
    out, at = [], 0
    while at < len(text):
        if text[at] != "\\" or at + 1 == len(text):
            out.append(text[at])
            at += 1
        elif text[at + 1] == "u":
            try:
                out.append(chr(int(text[at + 2 : at + 6], 16)))
            except ValueError:
                raise InputError(f"{path}: \\u{text[at + 2 : at + 6]} is not a character") from None
            at += 6
        else:
            out.append({"n": "\n", "t": "\t", "r": "\r", "f": "\f"}.get(text[at + 1], text[at + 1]))
            at += 2
    return "".join(out)
