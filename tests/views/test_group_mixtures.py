"""Collections compared: mixtures with intervals, trends, contrast words, spans of time, and `topicx topics --by`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import run_topicx
from tests.models.test_compound import corpus_of, train
from tests.places import ROOT
from topicx.errors import InputError
from topicx.estimate import estimate
from topicx.models.compound import mean_times, spans_of
from topicx.state import State
from topicx.strings import Strings
from topicx.views.group_mixtures import contrast_words, log_odds, mixtures_of_model


def test_mixtures_are_those_of_the_draws_and_trends_their_slopes() -> None:
    corpus = corpus_of(60, gamma=3.0)
    corpus.time = np.repeat([2001.0, 1990.0, 1995.0], 60)
    model = train(corpus, "compound", own={"gamma": 3.0, "pi_burn_in": 20}, iterations=120).model
    plain, ordered = mixtures_of_model(model), mixtures_of_model(model, "time", 0.8)
    assert plain.names == ["c0", "c1", "c2"] and ordered.names == ["c1", "c2", "c0"]
    assert ordered.times.tolist() == [1990, 1995, 2001] and plain.documents.tolist() == [60, 60, 60]
    low, high = ordered.intervals()
    assert np.all(low <= high) and np.mean((low <= ordered.mean) & (ordered.mean <= high)) > 0.8
    assert np.allclose(ordered.mean, ordered.draws.mean(axis=0), atol=1e-6)
    trends = ordered.trends(by_time=True)
    assert sorted(t.topic for t in trends) == list(range(4)) and trends[0].slope == max(t.slope for t in trends)
    for trend in trends:
        line = np.polyfit(ordered.times - 1990, ordered.mean[:, trend.topic], 1)[0]
        assert trend.slope == pytest.approx(line, abs=1e-6) and trend.low <= trend.high
    with pytest.raises(InputError, match="no collections"):
        mixtures_of_model(train(corpus, "lda", iterations=5).model)


def test_contrast_words() -> None:
    corpus = corpus_of(60, gamma=3.0)
    result = train(corpus, "compound", own={"gamma": 3.0}, iterations=60)
    state = result.state
    first = int(np.argmax(result.model.totals))
    words = result.state.words.copy()  # the topic's tokens in c2 use one more word of their own
    inside = np.flatnonzero((state.z == first) & (np.repeat(state.groups, state.lengths) == 2))
    words[inside[::3]] = 59
    state.words = words
    found = contrast_words(result.model, state, 3)
    assert found[first][2][0][0] == "w59" and found[first][2][0][1] > 3
    assert all(word != "w59" for word, _ in found[first][0] + found[first][1])
    assert np.array_equal(np.sign(log_odds(np.array([[9.0, 1], [1, 9]]))), [[1, -1], [-1, 1]])


def test_spans_of_time() -> None:
    corpus = corpus_of(10, collections=1)
    corpus.time = np.array([1990.0, 1990, 1991, 1992, 1992, 1992, 1993, 1994, np.nan, 1995])
    groups, names = spans_of(corpus, 3)
    assert names == ["1990-1991", "1992", "1993-1995", "(none)"]
    assert groups.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3, 2]
    times = mean_times(corpus, groups, 4)
    assert times[:3].tolist() == [pytest.approx(1990 + 1 / 3), 1992, 1994] and np.isnan(times[3])
    with pytest.raises(InputError, match="at most 6"):
        spans_of(corpus, 7)
    corpus.time = np.array([0.0, 31] * 5)
    corpus.meta["time"] = "date"
    assert spans_of(corpus, 2)[1] == ["1970-01-01", "1970-02-01"]
    assert train(corpus, "compound", own={"spans": 2}, iterations=3).model.side["times"].tolist() == [0, 31]


def test_topics_by_collection_on_the_command_line(tmp_path: Path) -> None:
    corpus = corpus_of(30)
    corpus.time = np.repeat([2001.0, 1990.0, 1995.0], 30)
    place = {
        name: str(tmp_path / name) for name in ("corpus", "model", "state", "plain", "a.png", "b.svg", "theta.tsv")
    }
    corpus.save(place["corpus"])
    common = ("-k", "4", "--iterations", "30", "--quiet")
    run_topicx("train", place["corpus"], "--model", "compound", "--pi-burn-in", "5", *common, "--state", place["state"],
               "-o", place["model"])  # fmt: skip
    shown = run_topicx(
        "topics", place["model"], "--by", "collection", "--top", "2", "-n", "3", "--plot", place["a.png"]
    )
    assert shown.stdout.startswith("c0  (30 documents)\n")
    assert "rising and falling" not in shown.stdout  # collections have no order but by time
    assert Path(place["a.png"]).read_bytes().startswith(b"\x89PNG")
    shown = run_topicx("topics", place["model"], "--by", "time", "--json", "--contrast", place["state"],
                       "--plot", place["b.svg"])  # fmt: skip
    found = json.loads(shown.stdout)
    assert [row["time"] for row in found["groups"]] == [1990, 1995, 2001]
    assert found["trends"][0]["slope"] >= found["trends"][-1]["slope"] and len(found["contrasts"]) == 12
    run_topicx("infer", place["model"], place["corpus"], "--collection", "c1", "-o", place["theta.tsv"], "--quiet")
    run_topicx("train", place["corpus"], *common, "-o", place["plain"])
    corpus.collection_names = Strings.of(["c0", "c1", "c2", "c3"])
    corpus.save(place["corpus"])
    said = run_topicx(
        "train", place["corpus"], "--model", "compound", "-k", "4", "--iterations", "2", "-o", place["b.svg"]
    ).stderr
    assert "no words in c3" in said
    corpus.collection_names = Strings.of(["c0", "new", "c2"])
    corpus.save(place["corpus"])
    said = run_topicx("infer", place["model"], place["corpus"], "-o", place["theta.tsv"]).stderr
    assert "30 documents are of collections that the model does not know" in said
    for arguments, message in (
        (("topics", place["plain"], "--by", "time"), "--by: give the documents"),
        (("topics", place["model"], "--by", "time", "--documents", "2"), "--by"),
        (("topics", place["model"], "--top", "2"), "--by"),
        (("topics", place["model"], "--by", "time", "--plot", "x.gif"), "x.gif"),
        (("infer", place["model"], place["corpus"], "--collection", "c9"), "c9"),
    ):
        refused = run_topicx(*arguments)
        assert refused.returncode == 2 and message in refused.stderr


BENCHMARKS = ROOT / "benchmarks" / "papers"


@pytest.mark.parametrize(("script", "part"), [("compound.py", "recovery,em"), ("hdp.py", "starts")])
def test_the_reproductions_run(tmp_path: Path, paper_data: Path, script: str, part: str) -> None:
    """--quick, and again: the second run finds every cell done."""
    call = [
        sys.executable,
        str(BENCHMARKS / script),
        "--data",
        str(paper_data),
        "--out",
        str(tmp_path),
        "--quick",
        "--part",
        part,
    ]
    cells = []
    for _ in range(2):
        done = subprocess.run(call, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        cells.append([path.read_text() for path in sorted(tmp_path.glob("*.jsonl"))])
    assert cells[0] == cells[1] and cells[0][0]


def test_a_collection_without_a_topic_s_tokens_has_no_words_of_it(tmp_path: Path) -> None:
    """Topic 0 is nowhere in the second and third collection: no words are made up for them; nor do collections, which
    have no order, rise and fall."""
    from topicx.strings import Strings

    groups = 3
    words = np.tile(np.arange(4, dtype=np.uint32), 6)
    offsets = np.arange(0, 25, 4)
    z = np.ones(24, np.uint16)
    z[:8] = 0
    state = State(
        words, offsets, z, np.full((groups, 2), 0.1), np.full(4, 0.1), Strings.of(["a", "b", "c", "d"]),
        Strings.of([str(d) for d in range(6)]), groups=np.repeat(np.arange(3), 2).astype(np.uint32),
    )  # fmt: skip
    model = estimate(state)
    found = contrast_words(model, state)
    assert found[0][1] == [] and found[0][2] == [] and found[1][0] == []
    state.words[0] = 1  # not all words alike: the first collection has some more
    assert contrast_words(model, state)[0][1:] == [[], []]
