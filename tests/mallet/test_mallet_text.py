"""MALLET's tokens, patterns, numbers and stop words: a table of what Java gives, and the rules one by one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicx.errors import InputError
from topicx.interop import mallet_numbers as numbers
from topicx.mallet.instance_changes import java_shuffle
from topicx.mallet.java_regex import java_pattern
from topicx.mallet.text_pipe import Pipe, Tokens, mallet_stopwords, read_rules, replace_text, simple_words, without_tags

TABLE = json.loads(Path(__file__).with_name("mallet_tokens.json").read_text(encoding="utf-8"))


def tokens(pipe: Pipe, text: str) -> list[str]:
    work = Tokens(pipe)
    ids, lengths, _ = work.encode([text])
    assert lengths.tolist() == [len(ids)]
    return [work.known[i] for i in ids.tolist()]


def test_the_table_is_as_large_as_it_should_be() -> None:
    assert len(TABLE["texts"]) >= 60
    assert len(TABLE["patterns"]) >= 12


@pytest.mark.parametrize("pattern", TABLE["patterns"])
def test_a_pattern_finds_what_java_finds(pattern: str) -> None:
    pipe = Pipe(tokens=pattern, lowercase=False)
    work = Tokens(pipe)
    for text, want in zip(TABLE["texts"], TABLE["patterns"][pattern], strict=True):
        assert tokens(pipe, text) == want, text
        assert work.split(text)[0] == want, text  # without the kernel


def test_lower_case_is_javas() -> None:
    for text, want in zip(TABLE["texts"], TABLE["lower"], strict=True):
        assert tokens(Pipe(), text) == want


@pytest.mark.parametrize(
    ("pattern", "text", "want"),
    [
        (r"\bfoo\b", "foo éfooé foo1 (foo)", ["foo", "foo", "foo"]),
        (r"a$", "ba\n", ["a"]),
        (r"(?m)^\w+$", "one\ntwo\r\nthree", ["one", "two", "three"]),
        (r"(?s)a.b", "a\nb", ["a\nb"]),
        (r"a.b", "a\u2028b a-b", ["a-b"]),
        (r"(?x)a b # joined", "ab a b", ["ab"]),
        (r"\p{L}{2,3}+", "abcdefg", ["abc", "def"]),
        (r"[\p{L}--a]+", "a-b", ["a-b"]),
        (r"[a||b]+", "a|b", ["a|b"]),
        (r"\x41\u0042\0103", "ABC", ["ABC"]),
        (r"\uD83D\uDE00", "a😀", ["😀"]),
    ],
)
def test_more_of_java(pattern: str, text: str, want: list[str]) -> None:
    assert tokens(Pipe(tokens=pattern, lowercase=False), text) == want


@pytest.mark.parametrize(
    "pattern", ["[a", "(", r"\y", r"\p{Nonsense}", "a\\", r"[a-\w", "*", r"(?q)a", r"a(?m)b", r"\u12", r"\k{x}", r"\p{"]
)
def test_what_java_would_not_take_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(InputError, match="--token-regex"):
        java_pattern(pattern, "--token-regex")


@given(st.text(alphabet=st.sampled_from("ab1'.-_ é\u0301中\n"), max_size=40))
def test_the_kernel_and_the_pattern_agree(text: str) -> None:
    for pattern in (r"\p{L}[\p{L}\p{P}]+\p{L}", r"\S+", r"[\p{L}\p{M}']+", r"[^\s\p{P}]+"):
        work = Tokens(Pipe(tokens=pattern))
        assert tokens(work.pipe, text) == work.split(work.prepare(text))[0]


# -- the rest of the pipeline --------------------------------------------------------------------------------------


def test_the_stop_words_are_mallets_523() -> None:
    words = mallet_stopwords()
    assert len(words) == 523
    assert {"able", "according", "allow", "apart", "appear", "would", "zero"} <= words
    assert tokens(Pipe(stopwords=words), "The able seaman, according to us") == ["seaman"]


def test_stop_words_and_case() -> None:
    assert tokens(Pipe(lowercase=False, stopwords=frozenset({"the"})), "The THE the cat") == ["cat"]
    kept = Pipe(lowercase=False, stopwords=frozenset({"the"}), exact_case=True)
    assert tokens(kept, "The THE the cat") == ["The", "THE", "cat"]
    assert tokens(Pipe(stop_patterns=[".*ing", "ca"]), "sing cat singer") == ["cat", "singer"]


def test_bigrams_remember_gaps() -> None:
    work = Tokens(Pipe(bigrams=True, stopwords=frozenset({"of"})))
    ids, _, gaps = work.encode(["New York, state of mind 2 café"])
    assert [work.known[i] for i in ids.tolist()] == ["new", "york", "state", "mind", "caf"]
    assert gaps == [[2, 3, 4]]
    joined = Tokens(Pipe(bigrams=True, grams=[1, 2]))
    ids, _, gaps = joined.encode(["a b, c"])
    assert [joined.known[i] for i in ids.tolist()] == ["a", "b", "a_b", "c", "b_c"]
    assert gaps == [[2]]


def test_grams_end_where_they_are() -> None:
    assert tokens(Pipe(grams=[1, 2], tokens=r"\w+"), "a b c") == ["a", "b", "a_b", "c", "b_c"]
    assert tokens(Pipe(grams=[3], tokens=r"\w+"), "a b c d") == ["a_b_c", "b_c_d"]
    assert tokens(Pipe(grams=[2], tokens=r"\w+", stopwords=frozenset({"b"})), "a b c") == ["a_c"]


def test_bulk_loads_words() -> None:
    assert simple_words("C3PO's don't_stop naïve-हिन्दी x2\ty") == ["CPO", "s", "don", "t_stop", "naïve", "हिन्दी", "xy"]
    assert [len(word) for word in simple_words("a" * 2001)] == [1000, 1000, 1]


def test_replacements_and_deletions(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("new york\nu s a\tunited states\nbig\t3 apples\n")
    (tmp_path / "d").write_text("of the\n")

    def lines(path: str) -> list[str]:
        return Path(path).read_text().splitlines()

    rules = [read_rules(str(tmp_path / "r"), False, lines), read_rules(str(tmp_path / "d"), True, lines)]
    assert replace_text("The Big of the New York: U.S.A.!", rules).split() == [
        "the",
        "_3_apples",
        "new_york",
        "united_states",
    ]
    (tmp_path / "bad").write_text("a\tb\tc\n")
    with pytest.raises(InputError, match="bad:1"):
        read_rules(str(tmp_path / "bad"), False, lines)


def test_tags_and_headers_go() -> None:
    html = "<html><script>var x;</script><p>Hello <b>bold</b> caf&eacute;</p><!-- no --></html>"
    assert without_tags(html).split() == ["Hello", "bold", "café"]
    assert Tokens(Pipe(skip_header=True)).prepare("From: me\n\nText\n\nmore") == "text\n\nmore"
    assert Tokens(Pipe(skip_header=True)).prepare("no header") == ""


def test_the_pipeline_survives_its_file() -> None:
    pipe = Pipe(rules=[[(("a", "b"), "a_b")]], stopwords=frozenset({"x"}), grams=[1, 2], lowercase=False)
    assert Pipe.from_meta(json.loads(json.dumps(pipe.to_meta()))) == pipe


# -- numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.05, "0.05"), (1.0, "1.0"), (0.001, "0.001"), (7.042253521126761e-4, "7.042253521126761E-4"),
        (7e-5, "7.0E-5"),
        (1e7, "1.0E7"), (9999999.0, "9999999.0"), (1.2345e10, "1.2345E10"), (-3e-10, "-3.0E-10"), (0.0, "0.0"),
        (-0.0, "-0.0"), (1e22, "1.0E22"), (float("nan"), "NaN"), (float("inf"), "Infinity"), (123456.789, "123456.789"),
        (100000.0, "100000.0"),
    ],
)  # fmt: skip
def test_doubles_as_java_writes_them(value: float, text: str) -> None:
    assert numbers.java_double(value) == text
    assert numbers.java_doubles([value, 1.5]).tolist() == [text, "1.5"]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_read_back(value: float) -> None:
    assert float(numbers.java_double(value)) == value


def test_short_and_fixed_numbers() -> None:
    assert [numbers.short_decimal(x) for x in (1.0, 0.02995, 0.1234565, 1234.5, 0.000004)] == [
        "1",
        "0.02995",
        "0.12346",
        "1234.5",
        "0",
    ]
    assert numbers.fixed_decimals(0.00005, 4) == "0.0001"  # halves of the shortest digits go up
    assert numbers.fixed_decimals(2.5, 0) == "3"
    assert numbers.fixed_decimals(-1.00005, 4) == "-1.0001"
    assert numbers.fixed_decimals(1e-9, 4) == "0.0000"


def test_shuffling_is_javas() -> None:
    """Collections.shuffle of 0 … 9 with new Random(5), new Random(0) and new Random(-7), as a JVM gives them."""
    assert java_shuffle(10, 5) == [3, 4, 2, 8, 5, 6, 9, 0, 1, 7]
    assert java_shuffle(10, 0) == [4, 8, 9, 6, 3, 5, 2, 1, 7, 0]
    assert java_shuffle(10, -7) == [1, 4, 7, 8, 9, 0, 3, 5, 6, 2]
