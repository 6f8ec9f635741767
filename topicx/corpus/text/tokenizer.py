"""Text to words: the rule, the stop words, the phrases; and `Tokenizer`, which does to new text what import
did.

The default rule, `words`, as a pattern of the `regex` package:

    [\\p{L}\\p{M}\\p{N}]+(?:(?<=[\\p{L}\\p{M}])['’\\u200c\\u200d](?=\\p{L})[\\p{L}\\p{M}\\p{N}]+)*

A word is a run of letters, marks and digits; an apostrophe or a zero-width joiner is part of it between two
letters, and a curly apostrophe becomes a straight one. So `don't`, `naïve`, `C3PO` and `हिन्दी` are one word
each. A hyphen parts words: `well-known` is `well`, `known`.

Before that, text is brought to Unicode's compatibility form (NFKC: ligatures, wide letters and the like become the
plain letters), soft hyphens go, and it is lower-cased (unless the case is kept) and composed, so that one word has one
spelling. After that, words of one character and words without a letter are left out; a Chinese character or a Korean
syllable alone is a word.

A pattern that the user names says what a word is: then nothing is left out unless it is asked for.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unicodedata import combining, decomposition, normalize

import numpy as np
import regex
from numpy.typing import NDArray

from topicx._kernels.text.tokens import Characters, Forms, Words
from topicx.corpus.text.stems import make_stemmer
from topicx.corpus.text.word_tally import NOISE_WORD, STOP_WORD, UNKNOWN_WORD, WANTED_WORD, PairTable, WordTally
from topicx.errors import InputError
from topicx.files.file_kinds import LONGEST

NOISE = "\0"
"""What stands in the table of words for all that are left out for their form."""

LANGUAGES = ("de", "en", "es", "fr", "it", "nl")
"""The languages that have a list of stop words."""

PATTERNS = {
    "words": r"[\p{L}\p{M}\p{N}]+(?:(?<=[\p{L}\p{M}])['’\u200c\u200d](?=\p{L})[\p{L}\p{M}\p{N}]+)*",
    "mallet": r"\p{L}[\p{L}\p{P}]+\p{L}",
    "whitespace": r"\S+",
}
"""The patterns that have a name. `words` is the default; `mallet` is MALLET's own; `whitespace` suits
tokenised text."""

TIMEOUT = 20.0
MOST_REPEATS = 65_535
_repeats = re.compile(r"(?<=[{,\s])[0-9]+(?=\s*[,}])")
"""Seconds after which a pattern is given up on one text (a pattern can take for ever)."""

_JOINERS = "'’\u200c\u200d"
_WIDE = r"[\p{Han}\p{Hangul}]"
_wide, _letter = regex.compile(_WIDE), regex.compile(r"\p{L}")

_INVISIBLE = re.compile("\u00ad(?:[ \\t]*\\r?\\n[ \\t]*)?|[\u2060\ufeff]")
"""Soft hyphens (with the line's end that follows), and characters that have no width and part nothing."""
_SPACING = re.compile(
    "[\u00a8\u00af\u00b8\u02d8-\u02dd\u037a\u0384\u0385\u1fbd\u1fbf-\u1fc1\u1fcd-\u1fcf\u1fdd-\u1fdf\u1fed-\u1fef"
    "\u1ffd\u1ffe™℠]"
)
"""Accents that stand alone, which NFKC would put onto the next letter, and trade marks, which it would spell out."""
_HYPHENATED = regex.compile(r"(?<=\p{L})[-\u2010\u00ac][ \t]*\r?\n[ \t]*(?=\p{Ll})")
"""A hyphen at a line's end, within a word."""


@functools.cache
def character_classes(name: str) -> Characters:
    """The character classes of a named pattern, which the kernel asks for a page at a time."""
    classes = {"words": r"[\p{L}\p{M}\p{N}]", "mallet": r"[\p{L}\p{P}]", "whitespace": r"\S"}
    kinds = [(1, classes[name]), (4, r"\p{L}"), (32, _WIDE)]  # the numbers are those of the kernel
    if name == "words":
        kinds += [(2, r"[\p{L}\p{M}]"), (8, f"[{_JOINERS}]"), (16, "’")]
    return characters_of(tuple(kinds), trimmed=name == "mallet")


@functools.cache
def characters_of(kinds: tuple[tuple[int, str], ...], *, trimmed: bool, flags: int = 0) -> Characters:
    """Character classes by the kernel's numbers of them; `trimmed`: words begin and end with a letter."""
    patterns = [(kind, regex.compile(f"{members}+", flags)) for kind, members in kinds]

    def classify(page: int) -> bytes:
        text = "".join(map(chr, range(256 * page, 256 * page + 256)))
        values = bytearray(256)
        for kind, pattern in patterns:
            for match in pattern.finditer(text):
                for i in range(*match.span()):
                    values[i] |= kind
        return bytes(values)

    return Characters(classify, trimmed=trimmed)


def normalize_text(text: str, compatible: bool, lowercase: bool) -> str:
    """A text in Unicode's composed form (the compatibility form: NFKC, else NFC), and in lower case."""
    if text.isascii():
        return text.lower() if lowercase else text
    if compatible:
        text = normalize("NFKC", _SPACING.sub(" ", _INVISIBLE.sub("", text).replace("´", "'")))
    return normalize("NFC", text.lower() if lowercase else text)


@functools.cache
def normalizing_kernel_form(compatible: bool, lowercase: bool, piece: int = 1024) -> Forms:
    """Normal forms for the kernel: where the forms of all characters of a text are known, its form is theirs one after
    the other."""

    def spell(page: int) -> list[str | None]:
        return [form_alone(chr(c), compatible, lowercase) for c in range(256 * page, 256 * page + 256)]

    return Forms(spell, lambda text: normalize_text(text, compatible, lowercase), piece)


def form_alone(character: str, compatible: bool, lowercase: bool) -> str | None:
    """The form of a character, whatever stands beside it. None: it depends on that (marks, the parts of Korean
    syllables, soft hyphens, which take a line's end with them, and capital sigma, another letter at a word's end)."""
    plain, found = (
        normalize("NFKC" if compatible else "NFC", character),
        normalize_text(character, compatible, lowercase),
    )
    joined = any(combining(form[0]) or form[0] in _combining_characters() for form in (plain, found) if form)
    return None if joined or character == "\u00ad" or "Σ" in plain else found


@functools.cache
def _combining_characters() -> set[str]:
    """The characters that may become one with the character before them."""
    places = (*range(0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0x20000))  # not Chinese and Korean
    parts = (decomposition(chr(c)).split() for c in places)
    found = {chr(int(two[1], 16)) for two in parts if len(two) == 2 and not two[0].startswith("<")}
    return found | {chr(c) for c in range(0x1161, 0x1200)}  # vowels and endings of Korean syllables


@functools.cache
def load_stopwords(language: str) -> frozenset[str]:
    """The stop words of a language.

    Parameters
    ----------
    language : str
        Code of the language: "de", "en", "es", "fr", "it" or "nl".

    Returns
    -------
    frozenset of str
        Words in lower case.

    Examples
    --------
    >>> "the" in load_stopwords("en")
    True
    """
    if language not in LANGUAGES:
        raise InputError(f"no stop words for the language {language!r}; there are {', '.join(LANGUAGES)}")
    text = Path(__file__).with_name(f"stopwords_{language}.txt").read_text(encoding="utf-8")
    return frozenset(line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))


@dataclass(frozen=True)
class Tokenizer:
    """How text becomes words. Everything is in `to_meta()`, so that a model can read new text as its corpus
    was read."""

    pattern: str = "words"
    """A name of `PATTERNS`, or a pattern of the `regex` package; its whole match is a word."""
    lowercase: bool = True
    """Whether text is lower-cased first."""
    stopwords: Collection[str] = frozenset()
    """Words to leave out, compared in lower case unless they have capitals and the case is kept; or languages that have
    a list of them, as one text ("en", "de,en")."""
    phrases: tuple[tuple[str, str], ...] = ()
    """Pairs of words that become one word with an underscore, found by `bigrams` at import."""
    min_length: int | None = None
    """Characters that a word must have (None: 2 for the pattern `words`, else 1). An ideograph or a Korean syllable is
    long enough."""
    keep_numbers: bool | None = None
    """Whether words without a letter stay (None: they go for the pattern `words`, else they stay)."""
    unicode: str | None = None
    """The form of Unicode: NFKC or NFC (None: NFC for the pattern `whitespace`, else NFKC)."""
    dehyphenate: bool = False
    """Whether words that are hyphenated at a line's end are joined."""
    stem: str | None = None
    """The language whose stems stand for words, by a code or by Snowball's name (needs the extra `stem`)."""
    _cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        stop = self.stopwords
        if isinstance(stop, str):
            stop = make_stopwords([part.strip() for part in stop.split(",")])
        chosen = {
            "stopwords": frozenset(word.lower() if self.lowercase else word for word in stop),
            "min_length": (2 if self.pattern == "words" else 1) if self.min_length is None else self.min_length,
            "keep_numbers": self.pattern != "words" if self.keep_numbers is None else self.keep_numbers,
            "unicode": ("NFC" if self.pattern == "whitespace" else "NFKC") if self.unicode is None else self.unicode,
        }
        for name, value in chosen.items():
            object.__setattr__(self, name, value)
        if chosen["unicode"] not in ("NFC", "NFKC"):
            raise InputError(f"unicode: {self.unicode!r} is neither 'NFC' nor 'NFKC'")
        if not (isinstance(self.min_length, int) and 1 <= self.min_length <= LONGEST):
            raise InputError(f"min_length: {self.min_length!r} is not a whole number from 1 to {LONGEST:,}")
        if self.stem is not None:
            make_stemmer(self.stem)
        if self.pattern not in PATTERNS:
            large = [number for number in _repeats.findall(self.pattern) if int(number[:9]) > MOST_REPEATS]
            if large:  # regex hears no timeout while it counts
                raise InputError(
                    f"token pattern {self.pattern!r}: repeats {large[0]} times, of {MOST_REPEATS:,} at most"
                )
            try:
                self.compiled()
            except (regex.error, ValueError, OverflowError) as error:
                raise InputError(f"token pattern {self.pattern!r}: {error}") from None

    # -- files ---------------------------------------------------------------------------------------------------

    def to_meta(self) -> dict[str, Any]:
        """The options as a dictionary for JSON."""
        return {
            "pattern": self.pattern,
            "regex": PATTERNS.get(self.pattern, self.pattern),
            "lowercase": self.lowercase,
            "stopwords": sorted(self.stopwords),
            "phrases": [list(pair) for pair in self.phrases],
            "min_length": self.min_length,
            "keep_numbers": self.keep_numbers,
            "unicode": self.unicode,
            "dehyphenate": self.dehyphenate,
        } | ({"stem": self.stem} if self.stem is not None else {})

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any] | None) -> Tokenizer:
        """The tokenizer of a corpus or model file (`meta["tokenizer"]`); the default one where there was no
        text."""
        if not meta:
            return cls()
        return cls(
            pattern=meta["pattern"],
            lowercase=bool(meta["lowercase"]),
            stopwords=frozenset(meta.get("stopwords", ())),
            phrases=tuple((a, b) for a, b in meta.get("phrases", ())),
            min_length=meta.get("min_length", 1),
            keep_numbers=meta.get("keep_numbers", True),
            unicode=meta.get("unicode", "NFC"),
            dehyphenate=meta.get("dehyphenate", False),
            stem=meta.get("stem"),
        )

    # -- use -----------------------------------------------------------------------------------------------------

    def prepare(self, text: str) -> str:
        """The text as the pattern sees it."""
        if self.dehyphenate:
            text = _HYPHENATED.sub("", text)
        return normalize_text(text, self.unicode == "NFKC", self.lowercase)

    def compiled(self) -> regex.Pattern[str]:
        """The pattern, compiled."""
        found: regex.Pattern[str] = regex.compile(PATTERNS.get(self.pattern, self.pattern))
        return found

    def split(self, text: str) -> list[str]:
        """The words of a text by the pattern alone, with stop words and noise, and without phrases."""
        if self.pattern in PATTERNS:
            words = Words()
            ids, _ = words.encode([_strip_surrogates(self.prepare(text))], character_classes(self.pattern))
            return [words.word(i) for i in ids.tolist()]
        return _find_words(self.compiled(), _strip_surrogates(self.prepare(text)))

    def tokenize(self, text: str) -> list[str]:
        """The words of a text, as import would keep them (without the limits on frequency)."""
        phrases = set(self.phrases)
        result: list[str] = []
        words = self.split(text) if self.stem is None else self.stemmed(self.split(text))
        i = 0
        while i < len(words):
            word = words[i]
            i += 1
            if phrases and i < len(words) and (word, words[i]) in phrases:
                word = f"{word}_{words[i]}"
                i += 1
            if not (self.is_stopword(word) or self.is_noise(word)):
                result.append(word)
        return result

    def stemmed(self, words: Iterable[str]) -> list[str]:
        """The stems of words; what is left out stays as it is, and so do words whose stem would be left out."""
        stem_of = make_stemmer(str(self.stem))

        def goes(word: str) -> bool:
            return self.is_stopword(word) or self.is_noise(word)

        return [word if goes(word) or goes(stem_of[word]) else stem_of[word] for word in words]

    def is_stopword(self, word: str) -> bool:
        return word in self.stopwords or (not self.lowercase and word.lower() in self.stopwords)

    def is_noise(self, word: str) -> bool:
        """Whether a word is too short, or has no letter and is not wanted."""
        short = len(word) < self.min_length and not _wide.search(word)  # type: ignore[operator]
        return short or not (self.keep_numbers or _letter.search(word))

    @property
    def drops_noise(self) -> bool:
        """Whether any word is left out for its form."""
        return not self.keep_numbers or self.min_length > 1  # type: ignore[operator]

    def ids(self, texts: Sequence[str], words: Words) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids of all words of these texts in a table of words, and how many each text has. Nothing is left out, but
        noise has one id for all of it, `words.noise`."""
        if self.drops_noise:
            words.leave_out(self.min_length, not self.keep_numbers)
        if self.stem is not None:  # of every word of these texts once
            plain = Words()
            ids, lengths = replace(self, stem=None).ids(texts, plain)
            stem_of, _ = words.encode_words([self.stemmed(plain.word(i) for i in range(len(plain)))])
            return stem_of[ids], lengths
        if self.pattern in PATTERNS:
            joined = [_HYPHENATED.sub("", text) for text in texts] if self.dehyphenate else list(texts)
            return words.encode(
                joined, character_classes(self.pattern), normalizing_kernel_form(self.unicode == "NFKC", self.lowercase)
            )
        compiled = self.compiled()
        found = [_find_words(compiled, _strip_surrogates(self.prepare(text))) for text in texts]
        if self.drops_noise:
            found = [[NOISE if self.is_noise(word) else word for word in document] for document in found]
        return words.encode_words(found)

    def encode(
        self, texts: Sequence[str], vocabulary: Sequence[str]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], int]:
        """The texts as word ids of this vocabulary: ids, offsets, and how many words it does not have.

        The table for the vocabulary is kept, so encoding batch after batch against the same object is fast.
        """
        encoder = self._cache.get("encoder")
        if encoder is None or encoder.vocabulary is not vocabulary:
            encoder = self._cache["encoder"] = Encoder(self, vocabulary)
        words, lengths = encoder.encode(texts)
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return words, offsets, int(encoder.last_unknown.sum())


class Encoder:
    """Words to ids of a fixed vocabulary: stop words vanish, phrases are joined, unknown words are
    counted."""

    def __init__(self, tokenizer: Tokenizer, vocabulary: Sequence[str]) -> None:
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary
        self.words = Words()
        for word in vocabulary:
            self.words.add(word)
        if len(self.words) != len(vocabulary):
            raise InputError("the vocabulary holds a word twice")
        self.n_words = len(vocabulary)
        pairs = {(a, b): self.words.add(f"{a}_{b}") for a, b in tokenizer.phrases}
        self.pairs = PairTable.of({(self.words.add(a), self.words.add(b)): word for (a, b), word in pairs.items()})
        known = len(self.words)
        for word in sorted(tokenizer.stopwords):
            self.words.add(word)
        if tokenizer.drops_noise:
            self.words.leave_out(tokenizer.min_length, not tokenizer.keep_numbers)
        self.words.freeze()
        flags = np.full(len(self.words), UNKNOWN_WORD, dtype=np.uint8)
        flags[: self.n_words] = WANTED_WORD
        flags[known:] = STOP_WORD
        if self.words.noise >= 0:
            flags[self.words.noise] = NOISE_WORD
        if tokenizer.stopwords:
            stop = [i for i in range(known) if tokenizer.is_stopword(self.words.word(i))]
            flags[stop] = STOP_WORD
        self.counts, self._uncounted = WordTally.of(flags), WordTally.uncounted(flags)
        self.unknown = self.stopped = self.noise = self.n_documents = 0
        self.last_unknown: NDArray[np.int64] = np.zeros(0, np.int64)
        """The unknown tokens of each document of the last batch."""

    def encode(self, texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Ids and the number of them in each text. Counts go on in `counts`, `unknown` and `stopped`."""
        return self.settle(*self.tokenizer.ids(texts, self.words))

    def word_ids(
        self, texts: Sequence[str] | None, words: Sequence[Sequence[str]] = ()
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
        """Ids of these texts (None: of these lists of words), their number in each document, and the unknown words of
        each. Nothing is counted or changed, so that threads may share the encoder."""
        table = self.words.shared()
        if texts is None:
            ids, lengths = table.encode_words(list(words))
        else:
            ids, lengths = self.tokenizer.ids(texts, table)
        settled = self._uncounted.settle(ids, lengths, self.pairs, 0)
        return settled.ids, settled.lengths, settled.unknown

    def settle(
        self, ids: NDArray[np.uint32], lengths: NDArray[np.int64], begun: int = 0
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Word ids of a vocabulary from the ids of the table of words. `begun` is 1 where the first document continues
        the last."""
        settled = self.counts.settle(ids, lengths, self.pairs, self.n_documents - begun)
        self.last_unknown = settled.unknown
        self.unknown += int(settled.unknown.sum())
        self.stopped += settled.stopped
        self.noise += settled.noise
        self.n_documents += len(lengths) - begun
        return settled.ids, settled.lengths


def _find_words(pattern: regex.Pattern[str], text: str) -> list[str]:
    try:
        if pattern.groups:
            found = [match.group() for match in pattern.finditer(text, timeout=TIMEOUT)]
        else:
            found = pattern.findall(text, timeout=TIMEOUT)
    except TimeoutError:
        start = " ".join(text[:40].split())
        raise InputError(
            f"token pattern {pattern.pattern!r} took more than {TIMEOUT:g} seconds on the text beginning {start!r}"
        ) from None
    return [word for word in found if word]


def _strip_surrogates(text: str) -> str:
    """Without lone surrogates, which no encoding can write."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def make_stopwords(
    languages: Iterable[str] = (), files: Iterable[str] = (), extra: Iterable[str] = ()
) -> frozenset[str]:
    """Stop words of these languages, files (a word a line, or several with spaces) and words."""
    words: set[str] = set(extra)
    for language in languages:
        words |= load_stopwords(language)
    for name in files:
        try:
            text = Path(name).read_text(encoding="utf-8-sig")
        except OSError as error:
            raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise InputError(f"{name}:{line}: is not UTF-8 ({error.reason})") from None
        words.update(text.split())
    return frozenset(normalize("NFC", word.replace("’", "'")) for word in words)
