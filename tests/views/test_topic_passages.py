"""Passages: which part of a text says most of a topic."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.corpus.test_import_command import Run, run  # noqa: F401
from tests.report.reading_pages import page_of
from topicx import LDA, Corpus
from topicx.errors import InputError
from topicx.views import typical_passages
from topicx.views.topic_passages import PassageFinder

SEA = "The ship left the harbour at dawn. Sailors raised the anchor and the sails. "
FARM = "Wheat and barley grew in the field. The farmer drove his plough past the barn. "
PLAIN = "Mr. Smith said that it was so. Nobody had asked him about it at all. "


@pytest.fixture(scope="module")
def trained() -> LDA:
    """Two topics; each third text has a passage of the sea far within a text of the farm."""
    texts = []
    for i in range(60):
        own, other = (SEA, FARM) if i % 2 else (FARM, SEA)
        texts.append(PLAIN * 4 + own * (4 + i % 3) + PLAIN * 4 + (other if i % 3 == 0 else ""))
    corpus = Corpus.from_texts(texts, snippet=100_000, min_count=1)
    return LDA(topics=2, iterations=60, seed=3, verbose=False).fit(corpus)


def topic_of(lda: LDA, word: str) -> int:
    return int(np.argmax(lda.topic_word[:, list(lda.model.vocabulary).index(word)]))


def test_the_densest_sentences_are_found(trained: LDA) -> None:
    for word, own, other in (("anchor", SEA, FARM), ("plough", FARM, SEA)):
        topic = topic_of(trained, word)
        for found in typical_passages(trained.model, [topic], documents=5, characters=180):
            passage = found["passage"]
            assert found["topic"] == topic and 0.5 < found["weight"] <= 1
            assert passage.startswith("… ") and passage.endswith(" …") and len(passage) <= 180
            inner = passage[2:-2]
            assert inner in (own * 9), passage  # whole sentences of the topic, and nothing else
            assert len(inner) >= len(own.strip())
        text = PLAIN * 5 + other + PLAIN * 5 + own + other
        (passage,) = PassageFinder(trained.model, 120).passages(topic, [text])
        assert own.strip() in passage and len(passage) <= 120


def test_short_texts_stay_whole_and_long_words_are_cut(trained: LDA) -> None:
    finder = PassageFinder(trained.model, 60)
    texts = ["", "Anchor.", "x" * 500, "anchor " * 100, "船" * 300, " " * 200]
    found = finder.passages(topic_of(trained, "anchor"), texts)
    assert found[:2] == texts[:2]
    assert all(len(passage) <= 60 for passage in found)
    assert found[3].strip("… ") in texts[3] and "anchor" in found[3]


def test_titles_and_initials_end_no_sentence(trained: LDA) -> None:
    text = PLAIN * 20 + "The anchor of Mr. J. Smith was raised. " + PLAIN * 20
    (passage,) = PassageFinder(trained.model, 80).passages(topic_of(trained, "anchor"), [text])
    assert passage.startswith("… The anchor of Mr. J. Smith was raised. ")


def test_wrong_calls(trained: LDA) -> None:
    for wrong, message in (
        ({"topics": [2]}, "2 is not one of 0 to 1"), ({"documents": -1}, "documents"), ({"characters": 3}, "characters")
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            typical_passages(trained.model, **wrong)  # type: ignore[arg-type]
    bare = LDA(topics=2, iterations=5, verbose=False).fit([["a", "b", "a"], ["b", "c", "c"]] * 5)
    with pytest.raises(InputError, match="keeps no texts"):
        typical_passages(bare.model)


def test_the_command_shows_them_in_full(trained: LDA, run: Run, tmp_path: Path) -> None:  # noqa: F811
    trained.model.save(tmp_path / "a.model")
    topic = topic_of(trained, "anchor")
    status, shown, said = run("topics", "a.model", "-t", str(topic), "--passages")
    lines = shown.splitlines()
    assert status == 0 and len(lines) == 4 and not said
    assert "Sailors raised the anchor" in lines[1] and len(lines[1]) > 300
    told = json.loads(run("topics", "a.model", "-d", "1", "--passages", "--json")[1])
    assert [each["passage"] for each in told[topic]["documents"]] == [
        found["passage"] for found in typical_passages(trained.model, [topic], documents=1)
    ]
    beginnings = run("topics", "a.model", "-t", str(topic), "-d", "3")[1]
    assert "Mr. Smith said" in beginnings and "Sailors" not in beginnings


def test_the_command_refuses_or_tells_of_short_texts(run: Run, tmp_path: Path) -> None:  # noqa: F811
    texts = [SEA + PLAIN, FARM + PLAIN] * 10
    for snippet in (0, 40):
        corpus = Corpus.from_texts(texts, snippet=snippet, min_count=1)
        LDA(topics=2, iterations=5, verbose=False).fit(corpus).model.save(tmp_path / f"{snippet}.model")
    status, shown, said = run("topics", "0.model", "--passages")
    assert (status, shown) == (2, "") and "keeps no texts (import --snippet N" in said
    status, _, said = run("topics", "40.model", "--passages")
    assert status == 0 and " characters at most" in said
    status, _, said = run("topics", "40.model", "--passages", "-d", "0")
    assert status == 2 and "-d 0" in said


def test_reports_show_them(trained: LDA, tmp_path: Path) -> None:
    """The page, Markdown and JSON; with the run's state and of the model alone."""
    topic = topic_of(trained, "anchor")
    documents = {"of the state": {"state": trained.state}, "of the model": {}}
    for asked in documents.values():
        page = page_of(trained.model, **asked)
        texts = page.strings("core", "passages" if asked else "examples.texts")
        counts = page.array("core", "typical.counts")
        own = texts[counts[:topic].sum() : counts[: topic + 1].sum()]
        assert len(own) == counts[topic] and all("Sailors raised the anchor" in text for text in own)
        path = tmp_path / "report.json"
        trained.model.report(path, **asked)
        typical = json.loads(path.read_text(encoding="utf-8"))["typical"][topic]
        assert all(each["text"].startswith("Mr. Smith") for each in typical)
        assert all("Sailors raised the anchor" in each["passage"] for each in typical)
    path = tmp_path / "report.md"
    trained.model.report(path, state=trained.state)
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("- ") and "… " in line]
    assert len([line for line in lines if "raised the anchor" in line]) == 5
