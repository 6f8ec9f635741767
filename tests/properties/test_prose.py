"""Pages are written for people who read quickly, and whose first language is not English.

Sentences of at most 30 words, paragraphs of at most 80, words that everybody knows, a text for every picture, a
README of at most 60 lines. Pages that are not there yet are listed with how many problems they have.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.properties.test_docs import PAGES

LONGEST_SENTENCE, LONGEST_PARAGRAPH, README_LINES = 30, 80, 60
BANNED = (
    "unless told otherwise", "joined by +", "parted by", "a thousandth", "seldom", "anew", "foremost", "dealt",
    "beside", "all but", "typical documents", "kin", "mend", "mended",
)  # fmt: skip
"""Words that have a plainer one: by default, separated by, 0.1%, rarely, again, top, assigned, next to, except …"""
ALL = [ROOT / "README.md", *PAGES]
NAMES = [page.relative_to(ROOT).as_posix() for page in ALL]


def prose_of(text: str) -> list[str]:
    """The paragraphs and items of a page, without code, tables, headings, directives and addresses."""
    text = re.sub(r"(?ms)^(```|~~~).*?^\1", "\n", text)
    text = re.sub(r"(?s)<!--.*?-->", "", text)
    text = re.sub(r"(?m)^(?:    .*|\t.*|#.*|\|.*|:::.*|\([a-z-]+\)=)$", "", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"(?m)^(?:[-*]|\d+\.) ", "\n\n", text)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def sentences_of(paragraph: str) -> list[str]:
    """The sentences of a paragraph."""
    return re.split(r"(?<=[.!?])[)\"*]*\s+(?=[\"(*A-Zα-ωΑ-Ω])", paragraph)


def problems_of(page: Path) -> list[str]:
    """Sentences and paragraphs that are too long, words with a plainer one, pictures without a text."""
    text = page.read_text(encoding="utf-8")
    found = [f"a picture without a text: {place}" for place in re.findall(r"!\[\s*\]\(([^)]*)\)", text)]
    for paragraph in prose_of(text):
        if len(paragraph.split()) > LONGEST_PARAGRAPH:
            found.append(f"{len(paragraph.split())} words in a paragraph: {paragraph[:60]}")
        for sentence in sentences_of(paragraph):
            if len(sentence.split()) > LONGEST_SENTENCE:
                found.append(f"{len(sentence.split())} words in a sentence: {sentence[:60]}")
        found += [
            f"'{word}': {paragraph[:60]}" for word in BANNED if re.search(rf"(?i)\b{re.escape(word)}\b", paragraph)
        ]
    return found


def exceptions() -> dict[str, int]:
    """Pages with problems, and how many each may have."""
    lines = (ROOT / "tests" / "properties" / "prose_exceptions.txt").read_text(encoding="utf-8").splitlines()
    return {name: int(number) for name, number in (line.split() for line in lines if not line.startswith("#"))}


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_easy_to_read(name: str) -> None:
    found, allowed = problems_of(ROOT / name), exceptions().get(name, 0)
    assert len(found) <= allowed, f"{allowed} allowed:\n" + "\n".join(found)
    assert found or not allowed, f"{name} has no problems any more: take it off prose_exceptions.txt"


def test_exceptions_are_pages() -> None:
    assert not set(exceptions()) - set(NAMES)
    assert all(number > 0 for number in exceptions().values()), "a page without problems needs no line"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= README_LINES


def test_problems_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    long = " ".join(["word"] * 31) + "."
    page.write_text(
        f"# Title\n\n{long}\n\n{'Four words are here. ' * 21}\n\n![](a.png)\n\nIt is seldom so.\n\n| {long} |\n"
    )
    assert [one.split(":")[0] for one in problems_of(page)] == [
        "a picture without a text", "31 words in a sentence", "84 words in a paragraph", "'seldom'",
    ]  # fmt: skip
