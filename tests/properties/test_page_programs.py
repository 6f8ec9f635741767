"""The Python blocks of every page run, one after another, among the files that the pages speak of."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import topicx
from tests.places import ROOT
from tests.properties.test_docs import NAMED, PAGES, prepared

__all__ = ["prepared"]  # the fixture

OTHER_TESTS = {"python.md"}
"""Pages whose blocks another test runs with what they find (`test_public_classes.py`)."""
SHORTER = (
    (r"iterations=\d+", "iterations=3"),
    (r"n_iter=\d+", "n_iter=3"),
    (r"topics=\d+", "topics=4"),
    (r"StochasticLDA\(\d+", "StochasticLDA(4"),
    (r"chains=\d+", "chains=2"),
    (r"topics=\[[\d, ]+\]", "topics=[3, 4]"),
)
"""What makes a program short without changing what it says."""


def blocks(page: Path) -> list[str]:
    """The Python blocks of a page."""
    return re.findall(r"(?ms)^```python\n(.*?)^```$", page.read_text(encoding="utf-8"))


def given(page: str, folder: Path) -> dict[str, Any]:
    """The names that pages take for granted: a corpus, a model, a state, texts and what goes with them."""
    pandas = pytest.importorskip("pandas")
    corpus = topicx.Corpus.load(folder / "texts.train.corpus")
    texts = [text.text for text in topicx.datasets.embedded_texts()][:40]
    years = list(range(1980, 2020))
    frame = pandas.DataFrame({
        "body": texts, "key": [f"text {number}" for number in range(40)], "tags": ["law", "sport"] * 20, "date": years,
        "rating": [1.5, 2.5] * 20, "party": ["left", "left", "right", "right"] * 10, "year": years,
    })  # fmt: skip
    model = topicx.Model.load(folder / "news.model")
    if page in ("dmr.md", "effects.md"):
        frame["party"] = frame["party"].map({"left": "A", "right": "B"})
        frame["author"] = [f"author {number // 2}" for number in range(40)]
        corpus = topicx.Corpus.from_dataframe(frame, "body", columns=["party", "year", "author"])
        model = topicx.LDA(topics=3, iterations=5, verbose=False).fit(corpus).model
    return {
        "corpus": corpus,
        "model": model,
        "state": topicx.State.load(folder / "news.state"),
        "texts": texts,
        "new_texts": texts[:3],
        "labels": [["sport"], ["law", "politics"]] * 20,
        "years": years,
        "frame": frame,
        "new": corpus[:3],
        "vocabulary": list(corpus.vocabulary),
        "pieces": [corpus[:50], corpus[50:80]],
        "counts": corpus[:20].to_matrix(),
    }


@pytest.mark.parametrize("page", [page.name for page in [ROOT / "README.md", *PAGES] if blocks(page)])
def test_the_python_of_a_page_runs(page: str, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page in OTHER_TESTS:
        pytest.skip("another test runs it")
    folder = tmp_path / "page"
    shutil.copytree(prepared, folder)
    monkeypatch.chdir(folder)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    names = given(page, folder)
    found = blocks(NAMED.get(page, ROOT / page))
    for number, block in enumerate(found, 1):
        for pattern, shorter in SHORTER:
            block = re.sub(pattern, shorter, block)
        exec(compile(block, f"{page}, block {number}", "exec"), names)
