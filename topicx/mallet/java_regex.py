"""Java's regular expressions, for the `regex` package.

In Java \\w, \\d, \\s and the POSIX classes (\\p{Alpha}, \\p{Punct} …) are ASCII, a dot leaves out five line ends, $
stands before the last line end too, and classes hold others ([a-z&&[^x]]). The rest is written alike. A flag is
translated where it stands at the beginning of a pattern; (?U) makes the classes Unicode's.
"""

from __future__ import annotations

from dataclasses import dataclass

import regex

from topicx.errors import InputError

WORD, DIGIT, SPACE = "A-Za-z0-9_", "0-9", r" \t\n\x0b\f\r"
HORIZONTAL = r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
VERTICAL = r"\n\x0b\f\r\x85\u2028\u2029"
LINE_END = r"\n\r\x85\u2028\u2029"
END = rf"(?=(?:\r\n|[{LINE_END}])?\Z)"

ASCII = {"w": WORD, "d": DIGIT, "s": SPACE, "h": HORIZONTAL, "v": VERTICAL}
UNICODE = ASCII | {
    "w": r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d", "d": r"\p{Nd}", "s": r"\p{White_Space}",
}  # fmt: skip

POSIX = {
    "Lower": "a-z", "Upper": "A-Z", "ASCII": r"\x00-\x7f", "Alpha": "A-Za-z", "Digit": "0-9", "Alnum": "A-Za-z0-9",
    "Punct": r"!-/:-@\[-`{-\~", "Graph": r"!-\~", "Print": r"\ -\~", "Blank": r" \t", "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F", "Space": SPACE,
}  # fmt: skip
UNICODE_POSIX = {
    "Lower": r"\p{Lowercase}", "Upper": r"\p{Uppercase}", "Alpha": r"\p{Alphabetic}", "Digit": r"\p{Nd}",
    "Alnum": r"\p{Alphabetic}\p{Nd}", "Punct": r"\p{P}", "Space": r"\p{White_Space}", "Blank": r"\p{Zs}\t",
    "Cntrl": r"\p{Cc}", "XDigit": r"\p{Nd}\p{Hex_Digit}",
}  # fmt: skip
OF_JAVA = {
    "LC": r"\p{Lu}\p{Ll}\p{Lt}", "LD": r"\p{L}\p{Nd}", "L1": r"\x00-\xff", "all": r"\x00-\U0010ffff",
    "javaLowerCase": r"\p{Lowercase}", "javaUpperCase": r"\p{Uppercase}", "javaAlphabetic": r"\p{Alphabetic}",
    "javaLetter": r"\p{L}", "javaDigit": r"\p{Nd}", "javaLetterOrDigit": r"\p{L}\p{Nd}", "javaTitleCase": r"\p{Lt}",
    "javaIdeographic": r"\p{Ideographic}", "javaSpaceChar": r"\p{Z}", "javaISOControl": r"\p{Cc}",
    "javaDefined": r"\P{Cn}",
    "javaWhitespace": r"\t\n\x0b\f\r\x1c-\x20\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000",
    "IsLetter": r"\p{L}", "IsPunctuation": r"\p{P}", "IsControl": r"\p{Cc}", "IsDigit": r"\p{Nd}",
    "IsTitlecase": r"\p{Lt}", "IsAssigned": r"\P{Cn}",
}  # fmt: skip
BLOCKS = {"greek": "GreekAndCoptic", "combiningmarksforsymbols": "CombiningDiacriticalMarksForSymbols"}
SIMPLE = {"t": r"\t", "n": r"\n", "r": r"\r", "f": r"\f", "a": r"\x07", "e": r"\x1b"}


@dataclass(frozen=True)
class JavaPattern:
    """A pattern of Java's and its translation."""

    java: str
    translated: str
    single: str | None
    """The class, where the pattern is one class and + alone: then words are runs of its characters."""

    def compiled(self) -> regex.Pattern[str]:
        found: regex.Pattern[str] = regex.compile(self.translated, regex.V1)
        return found


def java_pattern(pattern: str, option: str) -> JavaPattern:
    """Translate a pattern of Java's; `option` is what a message names."""
    try:
        translator = _Translator(pattern)
        translated = translator.whole()
        regex.compile(translated, regex.V1)
    except (ValueError, OverflowError, regex.error) as error:
        raise InputError(f"{option} {pattern!r}: {error}") from None
    return JavaPattern(pattern, translated, translator.single)


class _Translator:
    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.flags: set[str] = set()
        self.single: str | None = None

    def whole(self) -> str:
        prefix = self.global_flags()
        out: list[str] = []
        while self.at < len(self.text):
            begin = self.at
            atom = self.atom()
            if begin == 0 and self.text[self.at :] == "+" and _is_class(self.text[: self.at]):
                self.single = atom
            out.append(atom)
        return prefix + "".join(out)

    def global_flags(self) -> str:
        match = regex.match(r"\(\?([a-zA-Z]+)\)", self.text)
        if not match:
            return ""
        self.at = match.end()
        self.flags = set(match[1])
        unknown = self.flags - set("idmsuxU")
        if unknown:
            raise ValueError(f"unknown flag {min(unknown)!r}")
        kept = "".join(sorted(self.flags & set("ix")))
        if "i" in self.flags and not self.flags & set("uU"):
            kept += "a"  # without u, Java folds ASCII letters alone; our classes are written out and do not change
        return f"(?{kept})" if kept else ""

    def atom(self) -> str:
        c = self.text[self.at]
        if c == "\\":
            return self.escape(inside=False)
        if c == "[":
            return self.char_class()
        self.at += 1
        if c == ".":
            if "s" in self.flags:
                return r"[\x00-\U0010ffff]"
            return r"[^\n]" if "d" in self.flags else f"[^{LINE_END}]"
        if c == "^":
            return rf"(?:\A|(?<=[{LINE_END}])(?<!\r(?=\n))(?!\Z))" if "m" in self.flags else r"\A"
        if c == "$":
            return rf"(?:(?=[{LINE_END}])(?<!\r(?=\n))|\Z)" if "m" in self.flags else END
        if c == "(":
            return self.group()
        return c

    def group(self) -> str:
        match = regex.match(r"\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])", self.text, pos=self.at)
        if not match or not (match[1] or match[2]):
            return "("
        if set(match[1] + (match[2] or "")) - set("iu"):
            raise ValueError(f"the flags {match[0][:-1]!r} can only stand at the beginning of a pattern")
        if match[3] == ")":
            raise ValueError(f"the flags {match[0][:-1]!r} can only stand at the beginning or as '(?i:…)'")
        self.at = match.end()
        off = "-i" if "i" in (match[2] or "") else ""
        on = "i" if "i" in match[1] else ""
        return f"(?{on}{off}:"

    # -- escapes -------------------------------------------------------------------------------------------------

    def escape(self, inside: bool) -> str:
        """What a backslash begins; `inside` a class the parts of a class, without brackets."""
        if self.at + 1 >= len(self.text):
            raise ValueError("a backslash ends the pattern")
        c = self.text[self.at + 1]
        self.at += 2
        classes = UNICODE if "U" in self.flags else ASCII
        if c.lower() in classes:
            return _as_bracketed_class(classes[c.lower()], negated=c.isupper(), inside=inside)
        if c in "pP":
            return _as_bracketed_class(self.property(), negated=c == "P", inside=inside)
        if c == "Q":
            end = self.text.find("\\E", self.at)
            quoted = self.text[self.at : end if end >= 0 else len(self.text)]
            self.at = end + 2 if end >= 0 else len(self.text)
            return "".join(_escape_literal(one) for one in quoted)
        if c in SIMPLE:
            return SIMPLE[c]
        if c in "xu0cN":
            return self.character(c)
        if not inside and (found := self.assertion(c)) is not None:
            return found
        if c.isascii() and c.isalpha():
            raise ValueError(f"\\{c} has no meaning in Java")
        return c if c.isdigit() and not inside else _escape_literal(c)

    def assertion(self, c: str) -> str | None:
        word = f"[{(UNICODE if 'U' in self.flags else ASCII)['w']}]"
        edge = f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
        fixed = {"b": edge, "B": f"(?!{edge})", "A": r"\A", "z": r"\Z", "Z": END, "G": r"\G", "R": r"\R", "X": r"\X"}
        if c in fixed:
            return fixed[c]
        if c == "k":
            match = regex.match(r"<(\w+)>", self.text, pos=self.at)
            if not match:
                raise ValueError("\\k is not followed by a group's name in <>")
            self.at = match.end()
            return f"(?P={match[1]})"
        return "\\" + c if c in "123456789" else None

    def character(self, c: str) -> str:
        forms = {"x": r"\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2})", "u": r"([0-9a-fA-F]{4})", "0": r"([0-3]?[0-7]{1,2})",
                 "c": r"(.)", "N": r"\{([^}]+)\}"}  # fmt: skip
        match = regex.match(forms[c], self.text, pos=self.at)
        if not match:
            raise ValueError(f"\\{c} is not followed by a character's number or name")
        self.at = match.end()
        found = next(group for group in match.groups() if group is not None)
        if c == "N":
            import unicodedata

            try:
                return _escape_literal(unicodedata.lookup(found))
            except KeyError:
                raise ValueError(f"there is no character named {found!r}") from None
        if c == "c":
            return _escape_literal(chr(ord(found) ^ 64))
        number = int(found, 8 if c == "0" else 16)
        low = regex.match(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})", self.text, pos=self.at)
        if 0xD800 <= number < 0xDC00 and low:
            self.at = low.end()
            number = 0x10000 + ((number - 0xD800) << 10) + (int(low[1], 16) - 0xDC00)
        if number > 0x10FFFF:
            raise ValueError(f"\\{c}{found} is not a character")
        return _escape_literal(chr(number))

    def property(self) -> str:
        """The parts of a class for \\p{…}."""
        match = regex.match(r"\{(\^?[^}]+)\}|([A-Za-z])", self.text, pos=self.at)
        if not match:
            raise ValueError("\\p is not followed by a name in {}")
        self.at = match.end()
        name = (match[1] or match[2]).strip()
        if "U" in self.flags and name in UNICODE_POSIX:
            return UNICODE_POSIX[name]
        known = POSIX.get(name) or OF_JAVA.get(name)
        if known:
            return known
        kind, _, value = name.rpartition("=")
        if not kind and name.startswith("In"):
            kind, value = "block", name[2:]
        elif not kind and name.startswith("Is"):
            value = name[2:]
        if kind.lower() in ("block", "blk"):
            value = BLOCKS.get(regex.sub(r"[\s_-]", "", value).lower(), value)
            kind = "Block"
        if value in OF_JAVA:
            return OF_JAVA[value]
        written = rf"\p{{{kind}={value}}}" if kind else rf"\p{{{value}}}"
        try:
            regex.compile(f"[{written}]", regex.V1)
        except regex.error:
            raise ValueError(f"there is no property \\p{{{name}}}") from None
        return written

    # -- classes -------------------------------------------------------------------------------------------------

    def char_class(self) -> str:
        """A class with its brackets: unions, and intersections by &&."""
        self.at += 1
        negated = self.text[self.at : self.at + 1] == "^"
        self.at += negated
        parts: list[str] = []
        items: list[str] = []
        first = True
        while True:
            if self.at >= len(self.text):
                raise ValueError("a class is not closed by ]")
            c = self.text[self.at]
            if c == "]" and not first:
                self.at += 1
                break
            if self.text.startswith("&&", self.at):
                self.at += 2
                if items:
                    parts.append("".join(items))
                items = []
                continue
            items.append(self.char_class() if c == "[" else self.member())
            first = False
        if items:
            parts.append("".join(items))
        inner = parts[0] if len(parts) == 1 else "&&".join(f"[{part}]" for part in parts)
        return f"[{'^' if negated else ''}{inner}]"

    def member(self) -> str:
        low = self.one()
        following = self.text[self.at + 1 : self.at + 2]
        if self.text[self.at : self.at + 1] != "-" or following in ("]", "[", "") or len(low) == 0:
            return low
        if low.startswith("[") or low.startswith("\\p"):
            return low
        self.at += 1
        high = self.one()
        return f"{low}-{high}"

    def one(self) -> str:
        if self.text[self.at] == "\\":
            return self.escape(inside=True)
        c = self.text[self.at]
        self.at += 1
        return _escape_literal(c)


def _as_bracketed_class(parts: str, negated: bool, inside: bool) -> str:
    if negated:
        return f"[^{parts}]"
    return parts if inside and not parts.startswith("[") and "-" not in parts else f"[{parts}]"


def _escape_literal(c: str) -> str:
    return c if c.isalnum() or c == "_" or ord(c) > 127 else f"\\x{ord(c):02x}"


def _is_class(text: str) -> bool:
    """Whether this begins like a class of characters, not a group or an assertion."""
    return text[0] == "[" or regex.match(r"\\[wWdDsShHvVpP]", text) is not None
