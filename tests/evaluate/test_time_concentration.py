"""`evaluate --method time`: topics' weights over time, entropies, intervals of equal weight."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.corpus.test_import_command import Run as Called
from tests.corpus.test_import_command import run  # noqa: F401
from tests.harness import make_state
from topicx import Corpus
from topicx.corpus.table import Table, Times
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.evaluate.time_concentration import TimeConcentration, spans_of_times, time_concentration, weight_quantiles
from topicx.model import Model
from topicx.predict.inference import infer
from topicx.run import Run
from topicx.sampling.run_options import Options
from topicx.state import State
from topicx.views import picture_files


def trained(corpus: Corpus, **further: object) -> tuple[Model, State]:
    options = Options(**{"topics": 3, "iterations": 5, "seed": 2} | further)  # type: ignore[arg-type]
    found = Run.start(corpus, options, Threads(1)).train().result()
    return found.model, found.state


def small(times: list[float | str | None]) -> Corpus:
    """Documents of one to six tokens, the fourth of which is empty."""
    rng = np.random.default_rng(3)
    words = [rng.choice(list("abcdefg"), 0 if d == 3 else 1 + d % 6).tolist() for d in range(len(times))]
    return Corpus.from_documents(words, times=times)


YEARS: list[float | str | None] = [1801, 1800, 1801, 1801, 1805, None, 1800, 1805, 1805, 1801]


@pytest.mark.parametrize("path", [None, 0, 1])
def test_a_states_weights_by_hand(path: int | None) -> None:
    corpus = small(YEARS)
    model, state = trained(corpus, paths=2)
    found = time_concentration(model, state, corpus, buckets=4, path=path)
    z = state.z.reshape(2, -1)
    chosen = [z[0], z[1]] if path is None else [z[path]]
    assert found.names == ["1800", "1801", "1805"] and found.begins.tolist() == [1800, 1801, 1805]
    assert found.documents.tolist() == [2, 3, 3] and found.untimed == 2
    for y, year in enumerate((1800, 1801, 1805)):
        members = [d for d in range(10) if corpus.time[d] == year and corpus.lengths[d]]
        theta = []
        for d in members:
            tokens = slice(corpus.offsets[d], corpus.offsets[d + 1])
            theta.append(np.mean([np.bincount(one[tokens], minlength=3) / corpus.lengths[d] for one in chosen], axis=0))
        expected = np.mean(theta, axis=0)
        np.testing.assert_allclose(found.weights[y], expected, rtol=1e-12)
        positive = expected[expected > 0]
        assert found.entropy[y] == pytest.approx(-(positive * np.log(positive)).sum())
    own = time_concentration(model, state, buckets=4, path=path)
    assert np.array_equal(own.weights, found.weights) and own.names == found.names
    np.testing.assert_allclose(found.totals, found.weights.sum(axis=0))
    np.testing.assert_allclose(found.totals.sum(), 3)


def test_weights_of_a_corpus_are_those_of_inference() -> None:
    """θ less its prior; words that the model does not know are not there, and groups have their own α."""
    corpus = small(YEARS)
    model, _ = trained(corpus)
    other = Corpus.from_documents([[*document, "zzz"] for document in corpus], times=YEARS)
    found = time_concentration(model, other, seed=5, threads=1)
    theta, lengths = infer(model, corpus, seed=5, threads=1).astype(np.float64), corpus.lengths[:, None]
    counts = theta * (lengths + model.alpha.sum()) - model.alpha
    shares = np.maximum(counts, 0) / np.maximum(np.maximum(counts, 0).sum(axis=1, keepdims=True), 1e-9)
    expected = [shares[(corpus.time == year) & (corpus.lengths > 0)].mean(axis=0) for year in (1800, 1801, 1805)]
    np.testing.assert_allclose(found.weights, expected, atol=1e-6)
    again = time_concentration(model, other, seed=5, threads=2)
    assert np.array_equal(again.weights, found.weights)


@pytest.mark.parametrize("buckets", [2, 3, 20])
def test_buckets_have_equal_weight(buckets: int) -> None:
    rng = np.random.default_rng(buckets)
    weights = rng.random((40, 30)) ** 4 * (rng.random((40, 30)) < 0.3)
    weights[:, 7] = 0
    weights[:, 8], weights[13, 8] = 0, 0.2
    edges = weight_quantiles(weights, buckets)
    assert np.isnan(edges[7]).all()
    for k in range(30):
        if k == 7:
            continue
        assert edges[k, 0] == 0 and edges[k, -1] == 40 and (np.diff(edges[k]) > 0).all()
        # The integral of the weights between two edges, by the overlap of every span with the interval.
        begins = np.arange(40)
        for low, high in zip(edges[k], edges[k, 1:]):
            overlap = np.clip(np.minimum(begins + 1, high) - np.maximum(begins, low), 0, None)
            assert overlap @ weights[:, k] == pytest.approx(weights[:, k].sum() / buckets)
    # One span that has everything: all its buckets but the first and the last are within it.
    np.testing.assert_allclose(edges[8, 1:-1], 13 + np.arange(1, buckets) / buckets)


def test_even_topics_have_even_buckets() -> None:
    edges = weight_quantiles(np.full((30, 2), 0.5), 6)
    np.testing.assert_allclose(edges, np.tile(np.arange(7) * 5.0, (2, 1)))


def test_densest_and_quartiles() -> None:
    weights = np.array([[0.0, 0.5], [0.9, 0.5], [0.1, 0.0], [0.0, 0.0]])
    names = ["a", "b", "c", "d"]
    found = TimeConcentration(
        np.arange(4.0), names, np.ones(4, np.int64), weights, np.zeros(4), weight_quantiles(weights, 10), 0
    )
    begins, ends = found.densest()
    np.testing.assert_allclose(ends - begins, [0.5 / 0.9, 1.0])
    assert found.between(begins[0], ends[0]) == ("b", "b")
    assert found.between(0.0, 4.0) == ("a", "d") and found.between(1.0, 2.0) == ("b", "b")
    every = np.sort(found.lengths.reshape(-1))
    assert found.quartiles() == pytest.approx(list(every[[4, 9, 14]]), rel=1e-12)
    alone = TimeConcentration(
        np.arange(4.0), names, np.ones(4, np.int64), weights * [1, 1e-9], np.zeros(4), found.edges, 0
    )
    assert alone.quartiles(weighted=True) == pytest.approx(list(np.sort(found.lengths[0])[[2, 4, 7]]))


@pytest.mark.parametrize(
    ("span", "names", "numbers"),
    [
        (None, ["1999", "2000", "2001"], [1, 0, 2, 1]),
        ("month", ["1999-12", "2000-01", "2000-02", "2001-01"], [2, 0, 3, 1]),
        ("day", ["1999-12-31", "2000-01-01", "2000-02-29", "2001-01-01"], [2, 0, 3, 1]),
        (60.0, ["1999-12-31", "2000-02-29", "2000-12-25"], [1, 0, 2, 0]),
    ],
)
def test_spans_of_dates(span: str | float | None, names: list[str], numbers: list[int]) -> None:
    days = np.array(["2000-02-29", "1999-12-31", "2001-01-01", "2000-01-01"], "datetime64[D]").astype(np.float64)
    found = spans_of_times(Times(days + 0.5, True), span)
    of_document = found.of_documents(len(days))
    assert found.names == names and of_document.tolist() == numbers
    assert (found.begins[of_document] <= days).all()


def test_dates_of_a_state() -> None:
    corpus = small(["2000-02-29", "1999-12-31", None, "2001-01-01", "2000-01-01"])
    model, state = trained(corpus)
    own = time_concentration(model, state)
    assert own.dates and own.names == ["1999", "2000"]
    assert np.array_equal(own.weights, time_concentration(model, state, corpus).weights)


def test_spans_of_numbers() -> None:
    found = spans_of_times(Times(np.array([1805.7, 1790.0, 1799.9, 1800.0]), False), 10.0)
    assert (found.begins.tolist(), found.names, found.slices.tolist()) == ([1790, 1800], ["1790", "1800"], [1, 0, 0, 1])
    assert spans_of_times(Times(np.array([-2.5, 0.5]), False), None).names == ["-3", "0"]


def test_what_cannot_be_is_refused() -> None:
    corpus = small(YEARS)
    model, state = trained(corpus)
    timeless = Corpus.from_documents([["zzz"], ["a"]], times=[1800, None])
    for message, call in {
        "has a time": lambda: time_concentration(model, small([None] * 4)),
        "at least 2": lambda: time_concentration(model, corpus, buckets=1),
        "for dates": lambda: time_concentration(model, corpus, span="month"),
        "neither": lambda: time_concentration(model, corpus, span="weak"),
        "above 0": lambda: time_concentration(model, corpus, span=-1.0),
        "holds no times": lambda: time_concentration(model, unplaced(state)),
        "not those of the state": lambda: time_concentration(model, state, corpus[::-1]),
        "topics": lambda: time_concentration(trained(corpus, topics=4)[0], state, corpus),
        "no document has": lambda: time_concentration(model, timeless),
        "no topic yet": lambda: time_concentration(model, unplaced(state), corpus),
    }.items():
        with pytest.raises(InputError, match=message):
            call()


def unplaced(state: State) -> State:
    empty = make_state([[0]], state.alpha, state.beta)
    empty.words, empty.offsets, empty.ids = state.words, state.offsets, state.ids
    empty.z = np.full(state.n_tokens, 0xFFFF, np.uint16)
    return empty


def test_time_of_the_command_line(run: Called, tmp_path: Path) -> None:  # noqa: F811
    corpus = small([*YEARS, *YEARS])
    corpus.save("a.corpus")
    model, state = trained(corpus, paths=2)
    model.save("a.model")
    state.save("a.state")
    asked = ["evaluate", "a.model", "a.state", "-m", "time", "--times", "a.corpus"]
    chosen = [*asked, "--path", "2", "--buckets", "4", "--span", "5", "--top", "2", "--json"]
    if picture_files.can_plot():
        chosen += ["--plot", "a.svg"]
    status, out, err = run(*chosen)
    assert status == 0, err
    if picture_files.can_plot():
        assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    found = json.loads(out)["time"]
    expected = time_concentration(model, state, corpus, span=5, buckets=4, path=1)
    assert [row["time"] for row in found["spans"]] == expected.names == ["1800", "1805"]
    np.testing.assert_allclose([row["entropy"] for row in found["spans"]], expected.entropy)
    for row in found["topics"]:
        np.testing.assert_allclose(row["weights"], expected.weights[:, row["topic"]])
        np.testing.assert_allclose(row["lengths"], expected.lengths[row["topic"]])
        assert len(row["words"]) == 2 and row["half"]["length"] > 0
    text = run(*asked)[1]
    assert run(*asked[:-2])[1] == text
    assert "3 spans, 1800 to 1805, of 17 documents (3 without time or words left out)" in text
    assert run("evaluate", "a.model", "a.corpus", "-m", "time", "--samples", "3")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("b.state -m time", "--times CORPUS"),
        ("a.state -m time --times a.corpus --path 3", "--path 3: the state has 2"),
        ("a.corpus -m time --times a.corpus", "--times is for a state"),
        ("a.corpus -m time --path 1", "--path is for a state"),
        ("a.corpus -m time --span weak", "neither a unit of the calendar"),
        ("a.corpus -m time --plot a.txt", "plots "),
        ("a.corpus --span 3", "--span: is for --method time"),
    ],
)
def test_what_the_command_line_refuses(arguments: str, named: str, run: Called) -> None:  # noqa: F811
    corpus = small(YEARS)
    corpus.save("a.corpus")
    model, state = trained(corpus, paths=2)
    model.save("a.model")
    state.save("a.state")
    state.table = Table()
    state.save("b.state")
    status, _, err = run("evaluate", "a.model", *arguments.split())
    assert status == 2 and named in err and err.strip().count("\n") == 0
