"""Pictures from Python: what is drawn, on which axes, and the error where matplotlib is missing."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import topicx
from tests.conftest import lda_corpus
from topicx import LDA, Corpus
from topicx.errors import InputError
from topicx.estimate.topic_edits import edit_topics

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    corpus = lda_corpus(80)
    corpus.time = 1990.0 + np.arange(80) // 20
    return corpus


@pytest.fixture(scope="module")
def lda(corpus: Corpus) -> LDA:
    return LDA(4, iterations=30, seed=2).fit(corpus)


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    pyplot.close("all")


def test_words_as_bars(lda: LDA) -> None:
    panels = lda.plot_topics(words=5)
    assert len(panels) == 4
    for k, panel in enumerate(panels):
        assert panel.get_title().startswith(f"{k} (")
        assert [bar.get_width() for bar in panel.patches] == pytest.approx([p for _, p in lda.top_words(5)[k]])
        assert [label.get_text() for label in panel.get_yticklabels()] == [word for word, _ in lda.top_words(5)[k]]
    one = pyplot.figure().subplots()
    assert topicx.plots.plot_topics(lda.model, [2], axes=one)[0] is one
    model = edit_topics(lda.model, [[0, 1]], {2: "school"})
    titles = [panel.get_title() for panel in topicx.plots.plot_topics(model)]
    weights = model.topic_weights
    assert titles == [f"0 ({weights[0]:.1%})", f"2 school ({weights[2]:.1%})", f"3 ({weights[3]:.1%})"]


def test_the_trace(lda: LDA) -> None:
    axes = lda.plot_trace()
    (line,) = axes.get_lines()
    assert np.array_equal(line.get_xdata(), lda.trace["sweep"]) and np.array_equal(line.get_ydata(), lda.trace["score"])
    assert topicx.plots.plot_trace(lda.model, axes=axes) is axes and len(axes.get_lines()) == 2


def test_shares_over_time(lda: LDA, corpus: Corpus) -> None:
    axes = lda.plot_over_time(unit="year")
    assert len(axes.get_lines()) == 4 and list(axes.get_lines()[0].get_xdata()) == [1990, 1991, 1992, 1993]
    assert axes.get_legend() is not None and len(axes.collections) == 4  # intervals
    same = topicx.plots.plot_over_time(lda.model, corpus, [1, 3], every=2)
    assert [text.get_text()[0] for text in same.get_legend().get_texts()] == ["1", "3"]
    theta = lda.transform(corpus)[(corpus.time < 1992) & (corpus.lengths > 0)]
    assert same.get_lines()[0].get_ydata()[0] == pytest.approx(theta[:, 1].mean(), abs=0.02)


def test_shares_by_class(lda: LDA, corpus: Corpus) -> None:
    labelled = corpus.with_labels(["abcde"[d % 5] for d in range(80)])
    panels = topicx.plots.plot_groups(lda, labelled)
    assert [panel.get_title() for panel in panels] == list("abcde")
    assert len({(panel.get_xlim(), panel.get_ylim()) for panel in panels}) == 1  # to be compared by eye
    assert panels[0].get_xlim()[0] == 0 and panels[0].get_ylim()[0] > panels[0].get_ylim()[1]
    for panel in panels:
        assert sum(bar.get_width() for bar in panel.patches) == pytest.approx(1, abs=1e-5)
        assert panel.get_xlim()[1] > max(bar.get_width() for bar in panel.patches)
    labels = [label.get_text() for label in panels[0].get_yticklabels()]
    assert [label.split()[0] for label in labels] == list("0123")
    (one, *_) = topicx.plots.plot_groups(lda.model, labelled, [2])
    assert [label.get_text()[0] for label in one.get_yticklabels()] == ["2"]
    for call, message in ((lambda: topicx.plots.plot_groups(lda.model), "does not keep its documents"),
                          (lambda: topicx.plots.plot_groups(lda, labelled, by="x"), "do not carry")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            call()


def test_refusals(lda: LDA, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    for call, message in (
        (lambda: topicx.plots.plot_over_time(lda.model), "a Model does not keep its documents"),
        (lambda: lda.plot_topics([7]), "there are 0 to 3"), (lambda: lda.plot_topics([]), "none is named"),
        (lambda: lda.plot_topics([1, 2], axes=pyplot.figure().subplots()), "1 of them for 2 topics"),
        (lambda: topicx.plots.plot_trace(corpus), "not a Corpus"), (lambda: LDA(3).plot_trace(), "not trained"),
        (lambda: lda.plot_over_time(lda_corpus(20)), "do not carry"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            call()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"plots need matplotlib: pip install 'topicx\[plot\]'"):
        lda.plot_trace()


def test_a_search_as_a_picture(corpus: Corpus) -> None:
    found = topicx.search(corpus, [2, 3], chains=2, iterations=2)
    axes = found.plot()
    assert len(axes) == 4 and list(axes[0].get_lines()[-1].get_xdata()) == [2, 3]
