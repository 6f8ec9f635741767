"""Topics as a table, topics that are alike, and results that show themselves in one line."""

from __future__ import annotations

import dataclasses
import inspect
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import topicx
from tests.properties.test_public_api import public_module
from topicx.common_methods import TraceTable
from topicx.errors import InputError
from topicx.estimate import align_topics, edit_topics
from topicx.views import by_documents, similar_topics, topic_table

PACKAGES = [
    "topicx", "topicx.corpus", "topicx.estimate", "topicx.evaluate", "topicx.predict", "topicx.views", "topicx.bench"
]  # fmt: skip


@pytest.fixture(scope="module")
def lda() -> topicx.LDA:
    return topicx.LDA(topics=6, iterations=40, seed=2, verbose=False).fit(topicx.datasets.embedded())


def test_a_row_a_topic(lda: topicx.LDA) -> None:
    pytest.importorskip("pandas")
    table = lda.topic_table(words=4)
    assert table.index.tolist() == list(range(6)) and (table["name"] == "").all()
    assert table["share"].to_numpy() == pytest.approx(lda.model.topic_weights)
    assert table["alpha"].to_numpy() == pytest.approx(lda.alpha)
    for k, top in enumerate(lda.top_words(4)):
        assert table.loc[k, "words"] == " ".join(word for word, _ in top)
        assert table.loc[k, "document"] == lda.state.ids[int(lda.model.example_documents[k, 0])]
        phi = lda.topic_word[k]
        assert table.loc[k, "effective_words"] == pytest.approx(np.exp(-(phi * np.log(phi)).sum()))


def test_names_and_hidden_topics(lda: topicx.LDA) -> None:
    pytest.importorskip("pandas")
    model = edit_topics(lda.model, names={2: "school"}, hide=[0, 4])
    table = topic_table(model)
    assert table.index.tolist() == [1, 2, 3, 5] and table["name"].tolist() == ["", "school", "", ""]
    assert {0, 4}.isdisjoint(dict(similar_topics(model, 2, number=5)))


def test_similar_topics_are_near_by_hellinger_s_distance(lda: topicx.LDA) -> None:
    phi = lda.topic_word
    for k in range(6):
        found = lda.similar_topics(k, number=5)
        truth = 1 - np.sqrt(1 - np.minimum(np.sqrt(phi[k]) @ np.sqrt(phi).T, 1))
        assert sorted(dict(found)) == [j for j in range(6) if j != k]
        assert [value for _, value in found] == pytest.approx(sorted(np.delete(truth, k), reverse=True))
        assert all(value == pytest.approx(truth[j]) for j, value in found)
        assert lda.similar_topics(k, number=2) == found[:2]
    for wrong in ({"topic": 6}, {"topic": -1}, {"topic": 0, "number": 0}):
        with pytest.raises(InputError):
            lda.similar_topics(**wrong)


def test_a_plot_by_class(lda: topicx.LDA) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    panels = lda.plot_groups("label", topics=[1, 3])
    assert len(panels) == len(lda.state.table["label"].names)
    assert {panel.get_title() for panel in panels} == set(lda.state.table["label"].names)
    assert all(len(panel.patches) == 2 for panel in panels)


def test_the_trace_is_a_table(lda: topicx.LDA) -> None:
    assert isinstance(lda.trace, TraceTable) and lda.trace["sweep"][-1] == 40
    assert repr(lda.trace).startswith("TraceTable(4 records of sweep, score")
    assert repr(TraceTable()) == "TraceTable(0 records of nothing)"
    pytest.importorskip("pandas")
    assert lda.trace.to_dataframe()["score"].tolist() == lda.trace["score"].tolist()


def results(lda: topicx.LDA) -> list[Any]:
    corpus, model, measures = topicx.datasets.embedded(), lda.model, topicx.evaluate
    groups = by_documents(model, "label", state=lda.state)
    return [
        *groups[:2], *corpus.table.values(), measures.completion.completion(model, None, corpus),
        measures.coherence.coherence(model, corpus), measures.clusters.measure_silhouettes(lda.document_topic, [3]),
        align_topics(model, model)[0], model.predictor(), model.infer(["music"]), lda.trace,
        topicx.effects(model, corpus, "~ label", draws=2, burn_in=2, lag=1), topicx.evaluate.labels.LabelMeasures(3),
        topicx.search(corpus, [2], chains=1, iterations=2), topicx.HMM(2),
        topicx.HMM(2, n_iter=2).fit(np.array([0, 1, 1, 0])), lda, model, lda.state, corpus,
    ]  # fmt: skip


def test_results_are_shown_in_a_line(lda: topicx.LDA) -> None:
    for each in results(lda):
        shown = repr(each)
        assert len(shown) < 400 and "\n" not in shown, shown
        assert "array(" not in shown and "{'" not in shown and " object at " not in shown, shown


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_class_shows_its_arrays(package: str) -> None:
    here = import_module(package)
    found = [getattr(here, name) for name in here.__all__]
    found += [getattr(each, name) for each in found if inspect.ismodule(each) for name in getattr(each, "__all__", ())]
    for each in found:
        if dataclasses.is_dataclass(each) and hasattr(each.__repr__, "__wrapped__"):  # made by dataclass
            long = [one.name for one in dataclasses.fields(each) if one.repr and "NDArray" in str(one.type)]
            assert not long, f"{each.__name__} shows the arrays {long}"
    assert public_module(package) is not None


def test_inferred_frames_keep_their_index(lda: topicx.LDA) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["a concert of music", "a doctor in hospital"], "who": ["x", "y"]}, index=[7, 3])
    found = lda.model.infer(frame).to_dataframe()
    assert found.index.tolist() == [7, 3] and found["who"].tolist() == ["x", "y"]
    assert frame.join(found["main_topic"])["main_topic"].tolist() == found["main_topic"].tolist()
    assert lda.model.infer(frame["text"]).to_dataframe().index.tolist() == [7, 3]
    assert lda.model.infer(["a", "b"]).to_dataframe().index.tolist() == [0, 1]
