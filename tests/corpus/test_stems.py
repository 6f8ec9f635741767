"""Stems in the place of words: a library's stemmer, and what the tokenizer makes of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.corpus.test_import_command import Run, corpus_of, run, write  # noqa: F401
from topicx import Corpus
from topicx.corpus.text.stems import make_stemmer
from topicx.corpus.text.tokenizer import Tokenizer, load_stopwords
from topicx.errors import InputError

TEXTS = ["The wills, willing presidents; running & runs. 1234", "a president's others  according to wolves!"]


class Stemmer:
    """A stand-in of the library's class: it cuts off endings."""

    def __init__(self, name: str) -> None:
        assert name in ("english", "swedish")

    def stemWord(self, word: str) -> str:
        for ending in ("'s", "ning", "ing", "s"):
            if word.endswith(ending):
                return word.removesuffix(ending)
        return word


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module = ModuleType("Stemmer")
    module.Stemmer, module.algorithms = Stemmer, lambda: ["english", "swedish"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "Stemmer", module)
    make_stemmer.cache_clear()
    yield
    make_stemmer.cache_clear()


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("language", ["en", "english"])
def test_stems_stand_for_words(language: str) -> None:
    tokenizer = Tokenizer(stem=language, stopwords="en", min_length=4)
    # `willing` would be the stop word `will`, `runs` too short a stem: they stay as they are. `wills` likewise.
    expected = [["wills", "willing", "president", "running", "runs"], ["president", "accord", "wolve"]]
    assert [tokenizer.tokenize(text) for text in TEXTS] == expected
    corpus = Corpus.from_texts(TEXTS, tokenizer=tokenizer)
    assert list(corpus) == expected
    again = Tokenizer.from_meta(corpus.meta["tokenizer"])
    assert again == tokenizer
    words, offsets, unknown = again.encode(["Presidents and presidencies"], corpus.vocabulary)
    assert [corpus.vocabulary[int(w)] for w in words] == ["president"]
    assert offsets.tolist() == [0, 1] and unknown == 1


@pytest.mark.usefixtures("library")
def test_stop_words_are_found_among_stems() -> None:
    """The stop words of the texts' language, which are known only at the end, go as without stems."""
    text = " ".join(sorted(load_stopwords("en")) * 3)
    plain = Corpus.from_texts([f"{text} ships"] * 3, stopwords="auto")
    assert list(plain.vocabulary) == ["ships"]
    assert list(Corpus.from_texts([f"{text} ships"] * 3, tokenizer=Tokenizer(stem="en", stopwords="en"))[0]) == ["ship"]
    assert {make_stemmer("en")[word] for word in load_stopwords("en")} == load_stopwords("en")
    assert make_stemmer("en")["others"] == "others" and make_stemmer("swedish")["others"] == "other"


@pytest.mark.usefixtures("library")
def test_stems_of_the_command_line(run: Run) -> None:  # noqa: F811
    write("a.txt", ("this is what the presidents of the old towns said when they had been there for a while\n") * 20)
    assert run("import", "a.txt", "-o", "c", "--stem", "en")[0] == 0
    assert {"president", "town", "old"} <= set(corpus_of().vocabulary)
    assert corpus_of().meta["stopwords_of"] == "en" and "this" not in corpus_of().vocabulary
    write("new.txt", "president, town; unheard\n")
    assert run("import", "new.txt", "--like", "c", "-o", "d")[0] == 0
    assert [corpus_of("d").n_tokens, corpus_of("d").meta["counts"]["unknown_tokens"]] == [2, 1]
    status, _, err = run("import", "a.txt", "-o", "e", "--stem", "xx")
    assert status == 2 and "no stemmer for 'xx'" in err and err.count("\n") == 1
    assert run("prune", "c", "-o", "f", "--drop-most", "1")[0] == 0
    assert list(corpus_of("f").vocabulary) == list(corpus_of().vocabulary)[1:]


@pytest.mark.usefixtures("library")
def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(InputError, match=r"no stemmer for 'xx'; there are english, swedish"):
        Tokenizer(stem="xx")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    make_stemmer.cache_clear()
    with pytest.raises(InputError, match=r"pip install 'topicx\[stem\]'"):
        Tokenizer(stem="en")


def test_the_library_itself() -> None:
    pytest.importorskip("Stemmer", reason="PyStemmer is not installed")
    tokenizer = Tokenizer(stem="en")
    found = tokenizer.tokenize("Presidents' generously running, naïve C3PO")
    assert found == ["presid", "generous", "run", "naïv", "c3po"]
    assert Tokenizer(stem="de").tokenize("Häuser laufende") == ["haus", "laufend"]
