"""Periods of one's own: which documents are in them, and the differences of their topic proportions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import lda_corpus
from tests.corpus.test_import_command import Run, run  # noqa: F401
from topicx import LDA, Corpus
from topicx.corpus.periods import parse_periods, period_slices
from topicx.corpus.table import Times
from topicx.errors import InputError
from topicx.views.group_mixtures import student_quantile
from topicx.views.topics_by_column import Groups, by_documents, mixtures_of


def days(*dates: str) -> Times:
    return Times(np.array(dates, "datetime64[s]").astype(np.float64) / 86400, True)


def test_both_ends_are_in() -> None:
    times = days("1989-12-31T23:59:59", "1990-01-01", "1992-12-31T23:59:59", "1993-01-01", "NaT")
    times.values[-1] = np.nan
    found = period_slices(times, ["1993-1994", "1990-1992"])
    assert found.names == ["1993-1994", "1990-1992"] and not found.ordered
    assert found.documents.tolist() == [1, 2, 3] and found.slices.tolist() == [1, 1, 0]
    assert period_slices(times, ["1989-12/1990-01", "1992-12-31/1992-12-31"]).documents.tolist() == [0, 1, 2]
    assert period_slices(times, ["1990-01", "1993"]).documents.tolist() == [1, 3]
    numbers = Times(np.array([1800.0, 1849.0, 1850.0, -3.5, np.nan]), False)
    found = period_slices(numbers, ["-4--3", "1800-1849", "1850"])
    assert found.documents.tolist() == [0, 1, 2, 3] and found.slices.tolist() == [1, 1, 2, 0]


def test_refusals() -> None:
    times = days("1990-05-01", "1999-01-01")
    for periods, message in (
        (["1990-1995", "1995-1999"], "1990-1995 and 1995-1999 overlap"), (["1990-1980", "1999"], "before it begins"),
        (["1990", "1991-1998"], "1991-1998: no document has a time"), (["1990", "then"], "then: it is neither"),
        (["1990-13/1991-01", "1999"], "'1990-13' is not"), (["199-300", "1999"], "'199' is not a year"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            period_slices(times, periods)
    with pytest.raises(InputError, match="are numbers, not dates"):
        period_slices(Times(np.arange(3.0), False), ["1990-05/1990-06", "1"])
    assert parse_periods("1800-1849, 1900-1949") == ["1800-1849", "1900-1949"]
    for text in ("1800-1849", "1800,,1900", ""):
        with pytest.raises(InputError, match="two periods at least"):
            parse_periods(text)


def test_differences_are_those_of_the_means() -> None:
    rng = np.random.default_rng(5)
    theta = rng.dirichlet(np.full(4, 0.5), 90)
    members = np.repeat([0, 1, 2], [40, 20, 30])
    groups = Groups(["a", "b", "c"], np.arange(90), members, np.full(3, np.nan), False)
    found = mixtures_of(groups, [(0, theta)], np.full(90, 5))
    for j, pair in enumerate(found.differences()):
        assert [each.slope for each in pair] == sorted((each.slope for each in pair), reverse=True)
        freedom = (members == j).sum() + (members == j + 1).sum() - 2
        for each in pair:
            k = each.topic
            assert each.slope == pytest.approx(theta[members == j + 1, k].mean() - theta[members == j, k].mean())
            error = np.hypot(found.errors[j, k], found.errors[j + 1, k])
            assert each.high - each.low == pytest.approx(2 * error * student_quantile(np.array([freedom]), 0.9)[0])


def test_intervals_of_differences_hold_as_often_as_they_say() -> None:
    """Two samples of 30 and 20 documents, 400 times: nine of ten intervals hold the true difference of each topic."""
    rng, hits = np.random.default_rng(8), []
    truth = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    members = np.repeat([0, 1], [30, 20])
    groups = Groups(["a", "b"], np.arange(50), members, np.full(2, np.nan), False)
    for _ in range(400):
        theta = np.stack([rng.dirichlet(3 * truth[j]) for j in members])
        (pair,) = mixtures_of(groups, [(0, theta)], np.full(50, 9)).differences()
        hits += [each.low <= truth[1, each.topic] - truth[0, each.topic] <= each.high for each in pair]
    assert 0.87 < np.mean(hits) < 0.93  # 1,200 of which three and three hang together: a standard error of .012 at most


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("periods")
    corpus = lda_corpus(80)
    corpus.time = 1990.0 + np.arange(80) // 20
    corpus.save(folder / "c")
    LDA(4, iterations=30, seed=2).fit(corpus).save(folder / "m")
    return folder


def test_the_command(run: Run, files: Path, tmp_path: Path) -> None:  # noqa: F811
    asked = ["topics", str(files / "m"), "--by", "time", "--corpus", str(files / "c"), "--periods", "1990-1991,1993"]
    found = json.loads(run(*asked, "--json")[1])
    assert [row["group"] for row in found["groups"]] == ["1990-1991", "1993"] and "trends" not in found
    share = {row["group"]: {each["topic"]: each["share"] for each in row["topics"]} for row in found["groups"]}
    assert len(found["differences"]) == 4
    for row in found["differences"]:
        assert (row["of"], row["less"]) == ("1993", "1990-1991") and row["low"] < row["difference"] < row["high"]
        k = row["topic"]
        assert row["difference"] == pytest.approx(share["1993"][k] - share["1990-1991"][k], abs=1e-6)
    told = run(*asked, "-t", "2", "--plot", str(tmp_path / "p.svg"))[1]
    assert "1993 less 1990-1991, percentage points:" in told and (tmp_path / "p.svg").stat().st_size > 0
    for more, message in ((["--bins", "year"], "--periods: bins"), (["--periods", "1990"], "two periods at least")):
        status, _, err = run(*asked, *more)
        assert status == 2 and message in err


def test_from_python(files: Path) -> None:
    corpus = Corpus.load(files / "c")
    lda = LDA(4, iterations=10, seed=2).fit(corpus)
    found, groups, _ = by_documents(lda.model, "time", corpus=corpus, periods=["1993", "1990", "1991-1992"])
    assert groups.names == found.names == ["1993", "1990", "1991-1992"] and found.documents.sum() <= 80
    assert len(found.differences()) == 2 and len(found.differences()[0]) == 4
