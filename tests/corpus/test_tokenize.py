"""Words: the rule, its kernel, stop words, phrases."""

from __future__ import annotations

from unicodedata import normalize

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from topicx._kernels.text.tokens import Words
from topicx.corpus.text.language import find_language
from topicx.corpus.text.tokenizer import (
    LANGUAGES,
    PATTERNS,
    Tokenizer,
    character_classes,
    form_alone,
    load_stopwords,
    make_stopwords,
    normalize_text,
    normalizing_kernel_form,
)
from topicx.errors import InputError

# Characters at which the rule turns: letters, marks, digits, joiners, scripts outside the first plane, odd lower cases.
EDGE = "abZ.é'’\u200c\u200d-_ \n\t0٣²हि्ा\u0301İΣςß\U0001d400\U0001f600\U00010400ﬁ中の\u00a0\u2028"
TEXTS = st.text(st.one_of(st.sampled_from(EDGE), st.characters(exclude_categories=["Cs"])), max_size=60)


def by_pattern(
    name: str, text: str, lowercase: bool = True, least: int | None = None, numbers: bool | None = None
) -> list[str]:
    """The documented rule, word for word, behind the preparation of the text."""
    found = regex.findall(PATTERNS[name], Tokenizer(name, lowercase).prepare(text))
    if name == "words":
        found = [word.replace("’", "'") for word in found]
    least = least or (2 if name == "words" else 1)
    numbers = name != "words" if numbers is None else numbers
    long = [word for word in found if len(word) >= least or regex.search(r"[\p{Han}\p{Hangul}]", word)]
    return [word for word in long if numbers or regex.search(r"\p{L}", word)]


@pytest.mark.parametrize("name", sorted(PATTERNS))
@pytest.mark.parametrize("lowercase", [True, False])
@given(text=TEXTS)
@settings(max_examples=300, deadline=None)
def test_kernel_equals_pattern(name: str, lowercase: bool, text: str) -> None:
    assert kernel_words(Tokenizer(name, lowercase), text) == by_pattern(name, text, lowercase)
    assert Tokenizer(name, lowercase).tokenize(text) == by_pattern(name, text, lowercase)


ASCII = st.lists(
    st.sampled_from(["a", "Bc", "'", "''", "7", " ", "-", "\0", "\x7f", "z" * 7, "y" * 63, "x" * 130, "é"]), max_size=60
)


@pytest.mark.parametrize("name", sorted(PATTERNS))
@pytest.mark.parametrize("numbers", [True, False])
@given(parts=ASCII)
@settings(max_examples=150, deadline=None)
def test_words_of_any_length_at_any_place(name: str, numbers: bool, parts: list[str]) -> None:
    """Classes are looked at 64 characters at a time where all are ASCII, a thousand at a time in other texts."""
    for text in ("".join(parts), "".join(parts).replace("é", "e"), " ".join(3 * parts) + "中"):
        tokenizer = Tokenizer(name, min_length=2, keep_numbers=numbers)
        expected = by_pattern(name, text, least=2, numbers=numbers)
        assert kernel_words(tokenizer, text) == expected == tokenizer.tokenize(text)


def test_words_that_differ_behind_or_before_eight_letters() -> None:
    words = [f"{'a' * n}{end}" for n in range(20) for end in ("", "b", "c", "bb")]
    table = Words()
    ids, _ = table.encode([" ".join(["", *words, *reversed(words)])], character_classes("words"))
    assert [table.word(i) for i in ids.tolist()] == [word for word in (*words, *reversed(words)) if word]
    assert len(table) == len(set(words) - {""})


@pytest.mark.parametrize("name", sorted(PATTERNS))
@pytest.mark.parametrize("least, numbers", [(1, True), (3, True), (1, False), (4, False)])
@given(text=TEXTS)
@settings(max_examples=100, deadline=None)
def test_words_that_are_left_out_for_their_form(name: str, least: int, numbers: bool, text: str) -> None:
    tokenizer = Tokenizer(name, min_length=least, keep_numbers=numbers)
    expected = by_pattern(name, text, least=least, numbers=numbers)
    assert kernel_words(tokenizer, text) == tokenizer.tokenize(text) == expected
    own = Tokenizer(PATTERNS[name], min_length=least, keep_numbers=numbers, unicode=tokenizer.unicode)
    if name != "words" or "’" not in text:
        assert kernel_words(own, text) == expected


def kernel_words(tokenizer: Tokenizer, text: str) -> list[str]:
    """The words of a text as import finds them."""
    words = Words()
    ids, lengths = tokenizer.ids([text], words)
    assert lengths.tolist() == [len(ids)]
    return [words.word(i) for i in ids.tolist() if i != words.noise]


@pytest.mark.parametrize("name", sorted(PATTERNS))
@pytest.mark.parametrize("lowercase", [True, False])
@given(text=st.text(st.one_of(st.sampled_from(EDGE + "\u00ad\u2060´™\r\0Ϲ가각ｶﾞ\u0327\ud800 "), st.characters())))
@settings(max_examples=300, deadline=None)
def test_a_text_in_pieces_has_the_form_of_the_whole(name: str, lowercase: bool, text: str) -> None:
    whole, compatible, kinds = Words(), Tokenizer(name).unicode == "NFKC", character_classes(name)
    expected = whole.encode([normalize_text(text, compatible, lowercase)], kinds)[0].tolist()
    for piece in (1, 5, 1024):
        words = Words()
        ids, lengths = words.encode([text, "", text], kinds, normalizing_kernel_form(compatible, lowercase, piece))
        assert ids.tolist() == [*expected, *expected] and lengths.tolist() == [len(expected), 0, len(expected)]
        assert [words.word(i) for i in range(len(words))] == [whole.word(i) for i in range(len(whole))]


@pytest.mark.parametrize("compatible", [True, False])
@pytest.mark.parametrize("lowercase", [True, False])
def test_characters_that_stand_apart_stand_apart(compatible: bool, lowercase: bool) -> None:
    """All characters in random orders: the text's form is what the kernel takes for the characters' forms."""
    spelled = [
        (chr(c), form_alone(chr(c), compatible, lowercase)) for c in (*range(0x20000), *range(0x20000, 0x110000, 97))
    ]
    apart = [(character, form) for character, form in spelled if form is not None]
    assert len(apart) > 0.98 * len(spelled)
    random = np.random.default_rng(1)
    for _ in range(3):
        order = random.permutation(len(apart)).tolist()
        text, expected = "".join(apart[i][0] for i in order), "".join(apart[i][1] for i in order)
        assert normalize_text(text, compatible, lowercase) == expected


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_every_character_has_the_class_of_the_pattern(name: str) -> None:
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and (c < 0x3000 or c % 13 == 0)]
    text = " ".join(map(chr, points)) + " " + " ".join(f"a{chr(c)}b'{chr(c)}" for c in points if c % 7 == 0)
    assert Tokenizer(name, lowercase=False).tokenize(text) == by_pattern(name, text, lowercase=False)


@pytest.mark.parametrize(
    "text, words",
    [
        ("किताब हिन्दी में", ["किताब", "हिन्दी", "में"]),
        ("Don't stop—don’t!", ["don't", "stop", "don't"]),
        ("C3PO naïve nai\u0308ve", ["c3po", "naïve", "naïve"]),
        ("'quoted' rock'n'roll dogs' '90s 5'6", ["quoted", "rock'n'roll", "dogs", "90s"]),
        ("well-known snake_case e.g. 3.14", ["well", "known", "snake", "case"]),
        ("a I 7 42 ½ x² 3rd é", ["x2", "3rd"]),
        ("猫 が 집 山", ["猫", "집", "山"]),
        ("ﬁnd ｆｕｌｌ ①② exam\u00adple ex\u00ad\nam", ["find", "full", "example", "exam"]),
        ("l´art Acme™ ¨", ["l'art", "acme"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("ΟΔΟΣ ΟΔΟΣ", ["οδος", "οδος"]),
        ("Привет, мир! 你好 世界", ["привет", "мир", "你好", "世界"]),
        ("", []),
        ("... — !", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert Tokenizer().tokenize(text) == words


def test_mallet_pattern_is_mallets() -> None:
    assert Tokenizer("mallet").tokenize("A big, well-known cat's 42 C3PO ab I'm") == [
        "big",
        "well-known",
        "cat's",
        "i'm",
    ]


def test_own_pattern_takes_the_whole_match() -> None:
    assert Tokenizer(r"(\w)\w+").tokenize("ab c def") == ["ab", "def"]
    assert Tokenizer(r"\w*").tokenize("ab c") == ["ab", "c"]


def test_a_pattern_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicx.corpus.text.tokenizer.TIMEOUT", 0.2)
    with pytest.raises(InputError, match=r"took more than 0\.2 seconds"):
        Tokenizer(r"(x|xx)+[yz]").tokenize("x" * 60)


def test_bad_pattern() -> None:
    with pytest.raises(InputError, match=r"token pattern '\(a'"):
        Tokenizer("(a")


def test_lone_surrogates_become_question_marks_or_nothing() -> None:
    assert Tokenizer(min_length=1).tokenize("a\ud800b") == ["a", "b"]
    assert Tokenizer("whitespace").tokenize("a\ud800b") == ["a?b"]
    assert Tokenizer(r"\S+").tokenize("a\ud800b") == ["a?b"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_stop_words(language: str) -> None:
    words = load_stopwords(language)
    assert len(words) >= 250
    assert all(word == normalize("NFC", word.lower()) for word in words)
    assert all(Tokenizer(min_length=1).tokenize(word) == [word] or word.endswith("'") for word in words)
    with pytest.raises(InputError, match="no stop words for the language 'xx'"):
        load_stopwords("xx")


def test_stop_words_are_dropped_by_both_roads() -> None:
    tokenizer = Tokenizer(stopwords=make_stopwords(["en"], extra=["Cat", "don’t"]))
    text = "The cat don't sit on a MAT"
    assert tokenizer.tokenize(text) == ["sit", "mat"]
    words, offsets, unknown = tokenizer.encode([text, ""], ["mat"])
    assert (words.tolist(), offsets.tolist(), unknown) == ([0], [0, 1, 1], 1)
    kept = Tokenizer(lowercase=False, stopwords=frozenset({"the", "US"}))
    assert kept.tokenize("The US and us") == ["and", "us"]


def test_phrases_and_meta() -> None:
    tokenizer = Tokenizer(phrases=(("new", "york"), ("york", "city")), stopwords=frozenset({"in"}))
    again = Tokenizer.from_meta(tokenizer.to_meta())
    assert again == tokenizer
    assert again.tokenize("In New York City, york city new new york") == [
        "new_york",
        "city",
        "york_city",
        "new",
        "new_york",
    ]
    words, _, unknown = again.encode(["In New York City, york new york"], ["city", "new_york"])
    assert (words.tolist(), unknown) == ([1, 0, 1], 1)
    assert Tokenizer.from_meta(None) == Tokenizer()


def test_an_older_corpus_is_read_as_it_was() -> None:
    meta = {"pattern": "words", "lowercase": True, "stopwords": ["the"], "phrases": []}
    assert Tokenizer.from_meta(meta).tokenize("The 7 ﬁnds I") == ["7", "ﬁnds", "i"]


def test_dehyphenate() -> None:
    text = "The exam-\nple of the Anglo-\nSaxon well-known ex-  \r\n  ample, 3-\n4 ab\u2010\ncd"
    tokenizer = Tokenizer(dehyphenate=True)
    assert tokenizer.tokenize(text) == [
        "the", "example", "of", "the", "anglo", "saxon", "well", "known", "example", "abcd"
    ]  # fmt: skip
    assert Tokenizer.from_meta(tokenizer.to_meta()) == tokenizer
    assert "exam" in Tokenizer().tokenize(text)


def test_languages_by_name() -> None:
    assert Tokenizer(stopwords="en").tokenize("the cat and en") == ["cat", "en"]
    assert Tokenizer(stopwords="de, en").stopwords == load_stopwords("de") | load_stopwords("en")
    with pytest.raises(InputError, match="no stop words for the language 'the'"):
        Tokenizer(stopwords="the")
    for wrong in ({"unicode": "NFD"}, {"min_length": 0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Tokenizer(**wrong)  # type: ignore[arg-type]


def language_of(text: str) -> str | None:
    words = Tokenizer().tokenize(text)
    return find_language(words.count, len(words))


def test_the_language_is_found() -> None:
    english = "This is what the people of the town said when they had been there for a while and it was over. " * 12
    german = "Das ist es, was die Leute aus der Stadt sagten, als sie dort waren und es für sie vorbei war. " * 12
    assert language_of(english) == "en" and language_of(german) == "de"
    assert language_of("topic model corpus word token document " * 100) is None
    assert language_of(english[:90]) is None


@given(
    st.lists(TEXTS, max_size=8),
    st.sets(st.sampled_from(["a", "aa", "é", "0", "中の"])),
    st.integers(1, 2),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_encode_agrees_with_tokenize(texts: list[str], known: set[str], least: int, numbers: bool) -> None:
    tokenizer = Tokenizer(stopwords=frozenset({"z"}), phrases=(("a", "a"),), min_length=least, keep_numbers=numbers)
    vocabulary = sorted(known)
    words, offsets, unknown = tokenizer.encode(texts, vocabulary)
    missing = 0
    for text, begin, end in zip(texts, offsets[:-1], offsets[1:]):
        expected = tokenizer.tokenize(text)
        kept = [word for word in expected if word in known]
        missing += len(expected) - len(kept)
        assert [vocabulary[i] for i in words[begin:end].tolist()] == kept
    assert unknown == missing
    assert words.dtype == np.uint32 and offsets.dtype == np.int64


def test_a_vocabulary_with_a_word_twice_is_refused() -> None:
    with pytest.raises(InputError, match="a word twice"):
        Tokenizer().encode(["a"], ["a", "a"])


def test_many_words_survive_growth() -> None:
    names = [f"w{i}" for i in range(70_000)]
    words, offsets, unknown = Tokenizer().encode([" ".join(names)], names)
    assert unknown == 0 and np.array_equal(words, np.arange(70_000)) and offsets.tolist() == [0, 70_000]
