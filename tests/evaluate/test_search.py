"""How many topics: each figure against a direct computation, and `topicx search`."""

from __future__ import annotations

import json
import signal
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicx
from tests.conftest import lda_corpus
from tests.corpus.test_import_command import Run, run  # noqa: F401
from topicx import LDA, Corpus
from topicx.errors import InputError
from topicx.evaluate import search as module
from topicx.evaluate.coherence import coherence
from topicx.evaluate.search import CLOSING, MEASURES, arun, cao_juan, exclusivity, mean_of, search, stability


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return lda_corpus(300, 60, 80, 6, seed=4)


@pytest.fixture(scope="module")
def lda(corpus: Corpus) -> LDA:
    return LDA(5, iterations=60, seed=2).fit(corpus)


def test_exclusivity_by_hand(lda: LDA) -> None:
    phi = lda.topic_word
    words = [[list(lda.model.vocabulary).index(word) for word, _ in top] for top in lda.top_words(7)]
    expected = np.mean([np.mean([phi[k, w] / phi[:, w].sum() for w in top]) for k, top in enumerate(words)])
    assert exclusivity(lda.model, 7) == pytest.approx(expected, rel=1e-12)


def test_cao_and_juan_by_hand(lda: LDA) -> None:
    phi = lda.topic_word
    cosines = [
        sum(x * y for x, y in zip(phi[i], phi[j])) / np.sqrt(sum(phi[i] ** 2)) / np.sqrt(sum(phi[j] ** 2))
        for i, j in combinations(range(5), 2)
    ]
    assert cao_juan(lda.model) == pytest.approx(np.mean(cosines), rel=1e-12)


def test_arun_by_hand(lda: LDA, corpus: Corpus) -> None:
    """Section 3 of the paper: singular values of the topic-word matrix, and L·M2, both normalised and sorted."""
    theta, lengths = lda.document_topic, corpus.lengths
    values = np.linalg.svd(lda.topic_word, compute_uv=False)
    one = np.sort(values / values.sum())[::-1]
    sizes = np.array([sum(n * row[k] for n, row in zip(lengths, theta)) for k in range(5)])
    two = np.sort(sizes / sizes.sum())[::-1]
    expected = sum(p * np.log(p / q) + q * np.log(q / p) for p, q in zip(one, two))
    assert arun(lda.model, sizes) == pytest.approx(expected, rel=1e-6)
    assert arun(lda.model, sizes) > 0


def test_mimno_by_hand(lda: LDA, corpus: Corpus) -> None:
    holds = [set(document) for document in corpus]
    found = coherence(lda.model, corpus, "umass", top=6).topics
    for k, top in enumerate(lda.top_words(6)):
        words = [word for word, _ in top]
        value = 0.0
        for m in range(1, 6):
            for before in words[:m]:
                both = sum(words[m] in words_of and before in words_of for words_of in holds)
                value += np.log((both + 1) / sum(before in words_of for words_of in holds))
        assert found[k] == pytest.approx(value)


def test_stability_of_a_model_and_its_permutation(lda: LDA, corpus: Corpus) -> None:
    other = LDA(5, iterations=60, seed=2, chain=1).fit(corpus).model
    assert stability(lda.model, lda.model) == pytest.approx(1, abs=1e-6)
    assert 0 < stability(lda.model, other) < 1
    assert stability(lda.model, other) == pytest.approx(stability(other, lda.model))


def test_means_are_never_missing() -> None:
    assert mean_of([np.nan, 0.2]) == 0.1 and mean_of([np.nan]) == 0 and mean_of([], None) == 0
    assert mean_of([np.nan, -3.0], None) == -3


def test_a_search_finds_what_there_is(corpus: Corpus) -> None:
    found = search(corpus, [3, 6, 12], chains=2, iterations=150, seed=5)
    rows = {row["topics"]: row for row in found.table()}
    assert list(rows) == [3, 6, 12] and not found.stopped
    assert rows[6]["perplexity"] < rows[3]["perplexity"] and rows[6]["stability"] > rows[12]["stability"]
    for row in found.rows:
        for name in MEASURES:
            assert len(row[name]) == (1 if name == "stability" else 2) and np.isfinite(row[name]).all(), name
    assert found.to_dataframe().shape == (3, 2 + 2 * len(MEASURES))
    again = search(corpus, [3], chains=2, iterations=150, seed=5, threads=1).rows[0]
    assert {**again, "seconds": 0} == {**found.rows[0], "seconds": 0}


def test_odd_searches(corpus: Corpus) -> None:
    few = search(Corpus.from_documents([["a", "b"], ["c"]] * 20), [1, 30], chains=2, iterations=3)  # empty topics
    for row in few.table():
        values = [row[name] for name in MEASURES if not (row["topics"] == 1 and name == "cao_juan")]
        assert np.isfinite(np.array(values, float)).all()
    assert few.rows[0]["cao_juan"] == [] and search(corpus, [2], chains=1, iterations=2).rows[0]["stability"] == []
    assert topicx.search(["one text about cats", "another text about dogs"] * 20, [2], iterations=2, chains=1).rows
    for wrong, message in (
        ({"topics": []}, "give the numbers"), ({"topics": [0]}, "topics"), ({"held_out": 1.0}, "held_out"),
        ({"chains": 0}, "chains"), ({"iteration": 3}, "iteration"),
    ):  # fmt: skip
        with pytest.raises((InputError, TypeError), match=message):
            search(corpus, **{"topics": [2], "chains": 1, "iterations": 1, **wrong})
    with pytest.raises(InputError, match="too few documents"):
        search(Corpus.from_documents([["a", "b"]]), [2])


def test_models_that_are_searched_and_those_that_are_not(run: Run, corpus: Corpus) -> None:  # noqa: F811
    documents = [list(document) for document in lda_corpus(60, 30, 40, 3, seed=4)]
    several = Corpus.from_documents(documents, collections=["ab"[d % 2] for d in range(60)])
    found = search(several, [2, 3], chains=1, iterations=4, model="compound", own={"pi": "mgs"})
    assert [row["topics"] for row in found.rows] == [2, 3] and found.rows[0]["perplexity"][0] > 1
    several.save("c")
    common = ("search", "c", "-k", "2", "--chains", "1", "--iterations", "4")
    status, out, err = run(*common, "--model", "compound", "--pi", "mgs", "--json")
    assert status == 0, err
    assert json.loads(out)["rows"][0]["perplexity"] == found.rows[0]["perplexity"]
    for arguments, message in (
        (["--model", "hdp"], "search: is not for the model hdp: it finds the number of topics"),
        (["--model", "labeled"], "its topics are the labels"),
        (["--model", "medlda"], "--try-topics"),
        (["--pi", "mgs"], "--pi is for the model compound, not for lda"),
        (["--model", "compound", "--alpha", "1"], "give gamma and pi_alpha"),
    ):
        status, out, err = run(*common, *arguments)
        assert status == 2 and message in err and not out, err
    with pytest.raises(InputError, match="it finds the number"):
        search(corpus, [2], model="hdp")


def test_an_interrupted_search_keeps_its_rows(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    finished = []
    found = search(corpus, [2, 3, 4], chains=1, iterations=3, each=finished.append, stop=lambda: len(finished) == 2)
    assert found.stopped and [row["topics"] for row in found.rows] == [2, 3]

    def interrupt(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "measure_chains", interrupt)
    again = search(corpus, [2, 3, 4], chains=1, iterations=3, known=found.rows)
    assert again.stopped and again.rows == found.rows


def test_the_command_line(run: Run, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    corpus.save("c")
    common = ("--chains", "2", "--iterations", "4", "--cells", "cells.jsonl")
    status, out, err = run("search", "c", "-k", "2,3", *common, "--plot", "a.png")
    assert status == 0 and CLOSING in err, err
    lines = out.splitlines()
    assert lines[0].split()[:3] == ["topics", "perplexity", "coherence"] and [
        line.split()[0] for line in lines[1:]
    ] == ["2", "3"]
    assert Path("a.png").read_bytes().startswith(b"\x89PNG") and len(Path("cells.jsonl").read_text().splitlines()) == 2
    # finished rows are not made again; other options are another search
    status, out, _ = run("search", "c", "-k", "2,3,4", *common, "--json", "-q")
    assert status == 0 and len(Path("cells.jsonl").read_text().splitlines()) == 3
    found = json.loads(out)
    assert [row["topics"] for row in found["table"]] == [2, 3, 4] and len(found["rows"][0]["perplexity"]) == 2
    assert run("search", "c", "-k", "2", *common, "--beta", "0.1", "-q")[0] == 0
    assert len(Path("cells.jsonl").read_text().splitlines()) == 4
    for arguments, message in (
        (["-k", "2,x"], "--topics: '2,x' is not a list"),
        (["-k", "0"], "topics"),
        (["--sampler", "sparse", "--mh-steps", "3"], "--mh-steps"),
        (["--plot", "a.gif"], "a.gif"),
        (["--cells", "a.png"], "a.png:1: is not a row of topicx search"),
        (["--held-out", "2"], "--held-out"),
    ):
        status, _, err = run("search", "c", *arguments)
        assert status == 2 and message in err, err
    # Ctrl-C
    real = module.measure_chains
    calls = []

    def row(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(module, "measure_chains", row)
    status, out, err = run("search", "c", "-k", "2,3,4", "--iterations", "3", "--chains", "1")
    assert status == 130 and len(out.splitlines()) == 2 and "stopped after 1 of 3 numbers of topics" in err
