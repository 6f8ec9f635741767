"""MALLET's text pipeline: what becomes of a text on its way to word ids, in MALLET's order.

lower case · replacements and deletions · tokens by a Java pattern · stop words · stop patterns · n-grams · numbers in
order of first appearance. The pipeline is kept with the instances (`to_meta`), for `--use-pipe-from`.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from topicx._kernels.text.tokens import Characters, Words
from topicx.corpus.text.tokenizer import characters_of
from topicx.errors import InputError
from topicx.files.schema import is_list_of
from topicx.mallet.command_tables import DEFAULT_TOKENS
from topicx.mallet.java_regex import java_pattern

CLASSES = regex.compile(r"[A-Za-z]+|[0-9]+|[!-/:-@\[-`{-~]")
"""With --keep-sequence-bigrams: runs of ASCII letters, of digits, and single signs. Only the letters stay."""
BULK_STOPWORDS = frozenset((
    "the", "a", "an", "and", "or", "of", "for", "in", "on", "to", "with", "by", "this", "that", "these", "those",
    "some", "other", "it", "its", "we", "our", "as", "but", "not", "do", "does", "is", "be", "are", "can", "was",
    "were",
))  # fmt: skip
"""What bulk-load takes for stop words."""
TIMEOUT = 60.0

Rule = tuple[tuple[str, ...], str]
"""Words, and what stands for them."""


@functools.cache
def mallet_stopwords() -> frozenset[str]:
    """MALLET's English list."""
    text = Path(__file__).with_name("stopwords.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


@dataclass
class Pipe:
    """How texts become tokens, as one call of import-file, import-dir or bulk-load said it."""

    tokens: str = DEFAULT_TOKENS
    lowercase: bool = True
    skip_header: bool = False
    skip_html: bool = False
    rules: list[list[Rule]] = field(default_factory=list)
    """Sets of replacements and deletions, applied one after the other."""
    bigrams: bool = False
    """Tokens by ASCII classes, and gaps remembered."""
    stopwords: frozenset[str] = frozenset()
    exact_case: bool = False
    """Whether stop words are compared as they are written, not in lower case."""
    stop_patterns: list[str] = field(default_factory=list)
    grams: list[int] = field(default_factory=lambda: [1])
    simple: bool = False
    """Whether tokens are those of bulk-load: runs of letters and marks; digits vanish without parting."""
    form: str = "sequence"
    """What the instances hold: sequence, bigrams or vector."""
    binary: bool = False

    def to_meta(self) -> dict[str, Any]:
        return asdict(self) | {"stopwords": sorted(self.stopwords)}

    @classmethod
    def from_meta(cls, meta: dict[str, Any]) -> Pipe:
        """What `to_meta` gave; ValueError (TypeError) if these are no options of a pipeline."""
        plain = cls().to_meta()
        values = {name: value for name, value in meta.items() if name in plain}
        for name, value in values.items():
            one = {"grams": int, "rules": list}.get(name, str)
            if not (is_list_of(value, one) if isinstance(plain[name], list) else isinstance(value, type(plain[name]))):
                raise ValueError(name)
        if not all(
            is_list_of(words) and isinstance(to, str) for rules in values.get("rules", ()) for words, to in rules
        ):
            raise ValueError("rules")
        values["stopwords"] = frozenset(values.get("stopwords", ()))
        values["rules"] = [[(tuple(words), to) for words, to in rules] for rules in values.get("rules", ())]
        return cls(**values)

    def tokenizer_meta(self) -> dict[str, Any] | None:
        """Metadata of the tokenizer for topicx's own commands, where their tokenizer can do it."""
        if self.rules or self.bigrams or self.stop_patterns or self.grams != [1] or self.simple or self.skip_html:
            return None
        translated = "(?V1)" + java_pattern(self.tokens, "--token-regex").translated
        return {"pattern": translated, "regex": translated, "lowercase": self.lowercase,
                "stopwords": sorted(self.stopwords), "phrases": []}  # fmt: skip


class Tokens:
    """A pipeline at work on batches of texts: words that stop lists leave out have no number."""

    def __init__(self, pipe: Pipe, vocabulary: Iterable[str] = ()) -> None:
        self.pipe = pipe
        self.words = Words()
        self.known: list[str] = []
        """The vocabulary, in order of first appearance."""
        self._final = np.zeros(0, np.int64)
        self._pattern = java_pattern(pipe.tokens, "--token-regex")
        self._compiled = self._pattern.compiled()
        self._characters = _kernel_characters(self._pattern.translated, self._pattern.single)
        self._stop_patterns = [java_pattern(one, "--stop-pattern-file").compiled() for one in pipe.stop_patterns]
        for word in vocabulary:
            self.words.add(word)
            self.known.append(word)
        if len(self.words) != len(self.known):
            raise InputError("the vocabulary holds a word twice")
        self._final = np.arange(len(self.known), dtype=np.int64)

    def encode(self, texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64], list[list[int]] | None]:
        """Word ids, tokens a text, and with bigrams the places that a gap comes before."""
        pipe = self.pipe
        ready = [self.prepare(text) for text in texts]
        gaps: list[list[int]] | None = None
        if self._characters is not None and not (pipe.bigrams or pipe.simple or pipe.grams != [1]):
            ids, lengths = self.words.encode(ready, self._characters)
        else:
            documents = [self.split(text) for text in ready]
            if pipe.bigrams:
                gaps = [self._gram_gaps(len(words), gap) for words, gap in documents]
            ids, lengths = self.words.encode_words([self._grams(words) for words, _ in documents])
        self._number_new()
        final = self._final[ids]
        kept = final >= 0
        if not kept.all():
            before = np.concatenate([[0], np.cumsum(kept)])
            ends = np.concatenate([[0], np.cumsum(lengths)])
            lengths, final = np.diff(before[ends]), final[kept]
        return final.astype(np.uint32), lengths.astype(np.int64), gaps

    def _number_new(self) -> None:
        """Numbers for the words that have come for the first time; none for those that are left out."""
        begin = len(self._final)
        if begin == len(self.words):
            return
        new = [self.words.word(i) for i in range(begin, len(self.words))]
        numbers = np.full(len(new), -1, np.int64)
        joined = self.pipe.bigrams or self.pipe.grams != [1]  # stop words are out already
        for at, word in enumerate(new):
            if joined or not self.stopped(word):
                numbers[at] = len(self.known)
                self.known.append(word)
        self._final = np.concatenate([self._final, numbers])

    def stopped(self, word: str) -> bool:
        """Whether a word is left out."""
        if (word if self.pipe.exact_case else word.lower()) in self.pipe.stopwords:
            return True
        return any(pattern.fullmatch(word) for pattern in self._stop_patterns)

    def prepare(self, text: str) -> str:
        """The text as the pattern sees it."""
        pipe = self.pipe
        if pipe.skip_header:
            text = text[at + 2 :] if (at := text.find("\n\n")) >= 0 else ""
        if pipe.skip_html:
            text = without_tags(text)
        if pipe.lowercase:
            text = text.lower()
        return replace_text(text, pipe.rules) if pipe.rules else text

    def split(self, text: str) -> tuple[list[str], list[int]]:
        """The words of a prepared text, and with bigrams the places that a gap comes before (stop words are out)."""
        pipe = self.pipe
        if pipe.simple:
            return simple_words(text), []
        if not pipe.bigrams:
            try:
                words = [m.group() for m in self._compiled.finditer(text, timeout=TIMEOUT)]
            except TimeoutError:
                raise InputError(
                    f"--token-regex {pipe.tokens!r}: took more than {TIMEOUT:g} seconds on one text"
                ) from None
            words = [word for word in words if word]
            return [word for word in words if not self.stopped(word)] if pipe.grams != [1] else words, []
        words, gaps = [], []
        gap = False
        for word in CLASSES.findall(text):
            # A stop pattern leaves no gap, in MALLET: what it drops is not remembered.
            if not word[0].isalpha() or (word if pipe.exact_case else word.lower()) in pipe.stopwords:
                gap = bool(words)
            elif not self.stopped(word):
                if gap:
                    gaps.append(len(words))
                words.append(word)
                gap = False
        return words, gaps

    def _grams(self, words: list[str]) -> list[str]:
        """At each place, for each size, the gram that ends there."""
        sizes = self.pipe.grams
        if sizes == [1]:
            return words
        return [
            "_".join(words[at - size + 1 : at + 1]) for at in range(len(words)) for size in sizes if 1 <= size <= at + 1
        ]

    def _gram_gaps(self, n: int, gaps: list[int]) -> list[int]:
        """The places among the grams: a gap follows the single word, not the grams that end in it."""
        if self.pipe.grams == [1]:
            return gaps
        before = set(gaps)
        placed = [(at, size) for at in range(n) for size in self.pipe.grams if 1 <= size <= at + 1]
        return [j for j in range(1, len(placed)) if placed[j - 1][1] == 1 and placed[j - 1][0] + 1 in before]


def _kernel_characters(translated: str, single: str | None) -> Characters | None:
    """The kernel's classes for a pattern that is one class and +, and for MALLET's default."""
    if translated == r"[\p{L}][\p{L}\p{P}]+[\p{L}]":
        return characters_of(((1, r"[\p{L}\p{P}]"), (4, r"[\p{L}]")), trimmed=True, flags=regex.V1)
    return characters_of(((1, single),), trimmed=False, flags=regex.V1) if single else None


# -- parts ---------------------------------------------------------------------------------------------------------


class _Texts(HTMLParser):
    """The text between tags; what scripts and styles hold is none."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in ("script", "style"):
            self._hidden = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = ""

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def without_tags(text: str) -> str:
    parser = _Texts()
    parser.feed(text)
    parser.close()
    return "\n".join(parser.parts)


ENTITIES = (("&apos;", "'"), ("&quot;", '"'), ("&gt;", ">"), ("&lt;", "<"))


def replace_text(text: str, rules: list[list[Rule]]) -> str:
    """Replacements and deletions: lower case, letters and numbers alone, then set after set."""
    text = text.lower()
    for entity, sign in ENTITIES:
        text = text.replace(entity, sign)
    text = regex.sub(r"[^\p{L}\p{N}\-']+", " ", text)
    for one in rules:
        text = _apply_rules(text, one)
    return text


def _apply_rules(text: str, rules: list[Rule]) -> str:
    index: dict[str, list[Rule]] = {}
    for rule in rules:
        index.setdefault(rule[0][0], []).append(rule)
    words = text.split(" ")
    out: list[str] = []
    at = 0
    while at < len(words):
        for source, target in index.get(words[at], ()):
            if tuple(words[at : at + len(source)]) == source:
                out.append(target)
                at += len(source)
                break
        else:
            out.append(words[at])
            at += 1
    return " ".join(out) + " "


def read_rules(path: str, deletions: bool, lines: Callable[[str], list[str]]) -> list[Rule]:
    """A file of replacements (`a b⇥c d`, or `a b` for `a_b`) or of deletions, a line each."""
    found: list[Rule] = []
    for number, line in enumerate(lines(path), 1):
        if not line.strip():
            continue
        source, *target = line.split("\t")
        if len(target) > 1 or not source.split():
            raise InputError(f"{path}:{number}: is not 'words' or 'words<tab>replacement'")
        words = tuple(source.split())
        to = "" if deletions else "_".join((target[0] if target else source).split())
        if unicodedata.category(to[:1] or "a") == "Nd":
            to = "_" + to
        found.append((words, to))
    return found


DELIMITERS = frozenset(("Zs", "Zl", "Zp", "Pe", "Pd", "Pc", "Ps", "Pi", "Pf", "Po"))
PARTS = frozenset(("Ll", "Lu", "Mc", "Me", "Mn", "Lt", "Lm", "Lo"))


@functools.cache
def _kind_of_character(character: str) -> int:
    """1: part of a word, 2: parts words, 0: vanishes."""
    if character == "_" or (category := unicodedata.category(character)) in PARTS:
        return 1
    return 2 if category in DELIMITERS else 0


def simple_words(text: str, longest: int = 1000) -> list[str]:
    """Words as bulk-load finds them: letters, marks and _; blanks and punctuation part them, all else vanishes."""
    found: list[str] = []
    word: list[str] = []
    for character in text:
        kind = _kind_of_character(character)
        if kind == 1:
            word.append(character)
        if (kind == 2 and word) or len(word) == longest:
            found.append("".join(word))
            word = []
    return [*found, "".join(word)] if word else found
