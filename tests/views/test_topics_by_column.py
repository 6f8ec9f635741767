"""Topics by what documents carry: calendar bins, means with intervals, and `topicx topics --by` for any model."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.conftest import lda_corpus
from tests.corpus.test_import_command import Run, run  # noqa: F401
from topicx import LDA, Corpus, State
from topicx.corpus import slices, time_texts
from topicx.corpus import table as typed_columns
from topicx.corpus.table import Labels, Numbers, Table, Texts
from topicx.errors import InputError
from topicx.strings import Strings
from topicx.views.topics_by_column import LENT, Groups, by_documents, groups_of, mixtures_of


def test_groups_of_columns() -> None:
    columns = Table({
        "label": Labels.of([["b"], ["a, c", "b"], [], ["b"]]), "n": Numbers(np.array([2, 10, np.nan, 2])),
        "when": Texts(Strings.of(["1990-05", "", "1992-01-01", "1990-06-01"])),
        "mixed": Texts(Strings.of(["1990", "1990-01-01", "", "x"])),
    })  # fmt: skip
    found = groups_of(columns, "label")
    assert found.names == ["a, c", "b", "(none)"] and not found.ordered
    assert list(zip(found.documents.tolist(), found.groups.tolist())) == [(0, 1), (1, 0), (1, 1), (2, 2), (3, 1)]
    assert groups_of(columns, "n").names == ["2", "10", "(none)"]
    assert groups_of(columns, "when", "year").names == ["1990", "1991", "1992", "(none)"]
    assert groups_of(columns, "n", None, 5).names == ["0-4", "5-9", "10-14", "(none)"]
    assert groups_of(Table({"n": Numbers(np.arange(500.0))}), "n").ordered
    for by, unit, message in (("x", None, "they carry label, mixed, n, when"), ("mixed", "year", "neither"),
                              ("label", "year", "neither")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            groups_of(columns, by, unit)
    with pytest.raises(InputError, match="some values are dates"):
        groups_of(Table({"m": Texts(Strings.of(["1990", "1990-01-01"]))}), "m", "year")


def test_means_and_intervals_are_those_of_the_documents() -> None:
    rng = np.random.default_rng(3)
    theta = rng.dirichlet(np.full(4, 0.3), 50)
    members = rng.integers(0, 3, 50)
    members[7], lengths = 3, rng.integers(1, 9, 50)
    lengths[[2, 3]] = 0
    groups = Groups(["a", "b", "c", "one", "none"], np.arange(50), members, np.arange(5.0), True)
    found = mixtures_of(groups, [(0, theta[:20]), (20, theta[20:])], lengths)
    low, high = found.intervals()
    parts = [theta[(members == j) & (lengths > 0)] for j in range(3)]
    within = sum(((part - part.mean(axis=0)) ** 2).sum(axis=0) for part in parts) / sum(len(part) - 1 for part in parts)
    for j in range(3):
        mine = theta[(members == j) & (lengths > 0)]
        assert found.documents[j] == len(mine) and found.tokens[j] == lengths[members == j].sum()
        assert np.allclose(found.mean[j], mine.mean(axis=0))
        freedom = len(mine) - 1 + LENT
        variance = (((mine - mine.mean(axis=0)) ** 2).sum(axis=0) + LENT * within) / freedom
        expected = stats.t.interval(0.9, freedom, mine.mean(axis=0), np.sqrt(variance / len(mine)))
        assert np.allclose(low[j], np.maximum(expected[0], 0)) and np.allclose(high[j], np.minimum(expected[1], 1))
    assert np.isnan(low[3]).all() and np.allclose(found.mean[3], theta[7]) and np.isnan(found.mean[4]).all()
    trends = {trend.topic: trend for trend in found.trends(True)}
    for k in range(4):
        assert trends[k].slope == pytest.approx(np.polyfit([0, 1, 2, 3], found.mean[:4, k], 1)[0])
        assert trends[k].low < trends[k].slope < trends[k].high


def test_a_group_alone_has_the_plain_interval() -> None:
    theta = np.random.default_rng(1).dirichlet([1, 2, 3], 12)
    groups = Groups(["a", "one"], np.arange(12), np.repeat([0, 1], [11, 1]), np.arange(2.0), True)
    low, high = mixtures_of(groups, [(0, theta)], np.ones(12, np.int64)).intervals()
    expected = stats.t.interval(0.9, 10, theta[:11].mean(axis=0), stats.sem(theta[:11], axis=0))
    assert np.allclose([low[0], high[0]], expected) and np.isnan(low[1]).all()


@pytest.mark.parametrize("size", [3, 5, 30, 100])
def test_intervals_hold_the_true_mean_as_often_as_they_say(size: int) -> None:
    """400 times five groups of as many documents; θ is from a Dirichlet with the mean .4, .3, .2, .1. A topic's shares,
    and slopes over the groups, whose true value is 0. The limits are five standard deviations of a binomial, beside the
    loss that skewed shares cost Student's t."""
    rng = np.random.default_rng(1)
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    inside = slopes = 0
    for _ in range(400):
        theta = rng.dirichlet(2 * truth, 5 * size)
        groups = Groups(list("abcde"), np.arange(5 * size), np.repeat(np.arange(5), size), np.arange(5.0), True)
        found = mixtures_of(groups, [(0, theta)], np.ones(5 * size, np.int64))
        low, high = found.intervals()
        inside += int(((low <= truth) & (truth <= high)).sum())
        slopes += sum(trend.low <= 0 <= trend.high for trend in found.trends(True))
    assert 0.87 < inside / (400 * 5 * 4) < 0.92
    assert abs(slopes / 1600 - 0.9) < 5 * np.sqrt(0.09 / 1600) + 0.005


def carried(documents: int = 60) -> Corpus:
    corpus = lda_corpus(documents)
    corpus.time = np.where(np.arange(documents) % 7 == 0, np.nan, 1980 + np.arange(documents) // 20 * 10.0)
    corpus.columns = {"party": Strings.of("xy"[d % 2] for d in range(documents))}
    return corpus


def test_a_corpus_and_its_state_tell_the_same(tmp_path: Path) -> None:
    corpus = carried(120)
    lda = LDA(4, iterations=200, seed=2).fit(corpus)
    lda.state.save(tmp_path / "s")
    one, groups, empty = by_documents(lda.model, "time", corpus=corpus, unit="decade")
    two, _, _ = by_documents(lda.model, "time", state=State.load(tmp_path / "s"), unit="decade")
    assert groups.names == ["1980-1989", "1990-1999", "2000-2009", "2010-2019", "2020-2029", "2030-2039", "(none)"]
    assert one.documents.tolist() == two.documents.tolist() and empty == int((corpus.lengths == 0).sum()) > 0
    assert np.abs(one.mean - two.mean).max() < 0.03 and np.allclose(one.mean.sum(axis=1), 1, atol=1e-6)
    assert len(one.drawn) == 20 and np.isnan(one.errors).sum() == np.isnan(two.errors).sum()
    theta = lda.transform(corpus)
    mine = (corpus.time == 1990) & (corpus.lengths > 0)
    plain, _, _ = by_documents(lda.model, "time", corpus=corpus, unit="decade", method="plug-in")
    other, _, _ = by_documents(lda.model, "time", state=lda.state, unit="decade", method="plug-in")
    assert np.abs(plain.mean - other.mean).max() < 0.03 and not len(plain.drawn)
    assert np.allclose(plain.mean[1], theta[mine].mean(axis=0), atol=1e-6)


def test_columns_of_a_corpus_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times and labels are what they were imported as: no text is made or read to group by them."""
    corpus = carried(40).with_labels(["ab"[d % 2] for d in range(40)])
    corpus.time = np.arange(40) * 400.0
    corpus.meta["time"] = "date"
    model = LDA(2, iterations=3, seed=2, verbose=False).fit(corpus).model

    def refuse(*_: object) -> None:
        raise AssertionError("a text was read, or made")

    for name in ("parse_time", "parse_times", "told_time", "told_times"):
        for module in (time_texts, slices, typed_columns):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, refuse)
    decades = ["1970-1979", "1980-1989", "1990-1999", "2000-2009", "2010-2019"]
    for by, unit, groups in (("time", "decade", decades), ("label", None, ["a", "b"])):
        assert by_documents(model, by, corpus=corpus, unit=unit, threads=1)[1].names == groups


def test_the_command_line(run: Run) -> None:  # noqa: F811
    carried().save("c")
    assert run("train", "c", "-k", "4", "--iterations", "20", "-o", "m", "--state", "s", "-q")[0] == 0
    status, out, err = run("topics", "m", "--by", "time", "--corpus", "c", "--every", "5", "--json", "--plot", "a.png",
                           "--table", "t.csv")  # fmt: skip
    assert status == 0 and "documents without a word that the model knows are left out" in err, err
    found = json.loads(out)
    assert [row["group"] for row in found["groups"]] == [
        "1980-1984", "1985-1989", "1990-1994", "1995-1999", "2000-2004", "(none)",
    ]  # fmt: skip
    assert found["groups"][1]["documents"] == 0 and found["groups"][1]["topics"][0]["share"] is None
    assert len(found["trends"]) == 4 and Path("a.png").read_bytes().startswith(b"\x89PNG")
    with Path("t.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24 and list(rows[0]) == ["time", "documents", "tokens", "topic", "share", "low", "high"]
    assert rows[4]["share"] == "" and float(rows[0]["share"]) > 0
    status, out, _ = run("topics", "m", "--by", "time", "--state", "s", "-t", "2")
    assert status == 0 and out.startswith("topic 2  ") and "documents       -\n" in out and "rising" in out
    status, out, _ = run("topics", "m", "--by", "party", "--corpus", "c", "--plot", "b.svg", "-t", "1", "-t", "3")
    assert status == 0 and out.count("topic") == 2 and "rising" not in out and "<svg" in Path("b.svg").read_text()
    for table in ("t.tsv", "t.jsonl", "t.parquet"):
        assert (
            run("topics", "m", "--by", "party", "--corpus", "c", "--table", table)[0] == 0
            and Path(table).stat().st_size
        )
    assert Path("t.tsv").read_text().startswith("party\tdocuments\ttokens\ttopic\tshare\tlow\thigh\nx\t")
    for arguments, message in (
        (["--by", "time"], "--by: give the documents"),
        (["--by", "x", "--corpus", "c"], "the documents do not carry it; they carry time, party"),
        (["--by", "decade", "--corpus", "c"], "they carry time, party (--by time --bins decade makes such groups)"),
        (["--by", "time", "--corpus", "c", "--state", "s"], "not of several"),
        (["--by", "time", "--state", "s", "--shares", "plug-in", "--seed", "2"], "--seed: is for --by with --corpus"),
        (["--by", "time", "--corpus", "c", "--bins", "month"], "--bins month: the times are numbers"),
        (["--by", "time", "--corpus", "c", "--table", "x.txt.zip"], "x.txt.zip: a table is written as"),
        (["--by", "time", "--corpus", "c", "--plot", "x.gif"], "x.gif"),
        (["--bins", "year"], "--bins: is for --by"),
        (["--by", "party", "--corpus", "c", "--bins", "year"], "neither a number nor an ISO date"),
    ):
        status, _, err = run("topics", "m", *arguments)
        assert status == 2 and message in err, err
    lda_corpus(words=30).save("other")
    assert run("train", "other", "-k", "4", "--iterations", "2", "-o", "n", "--state", "o", "-q")[0] == 0
    status, _, err = run("topics", "m", "--by", "time", "--state", "o")
    assert status == 2 and "it is not of the model's run" in err


def test_names_stand_beside_numbers(run: Run) -> None:  # noqa: F811
    """What a topic was called is told wherever its number is; a hidden one nowhere."""
    carried().save("c")
    assert run("train", "c", "-k", "4", "--iterations", "20", "-o", "plain", "--state", "s", "-q")[0] == 0
    assert run("topics", "plain", "--name", "1=the sea", "--hide", "2", "-o", "m")[0] == 0
    times, party = (["--by", by, "--corpus", "c", "--top", "4"] for by in ("time", "party"))
    for arguments in (
        ["topics", "m", *times], ["topics", "m", *times, "-t", "1"], ["topics", "m", *party],
        ["topics", "m", *times, "--periods", "1980-1985,1990-1999"],
        ["topics", "m", "--compare", "plain"], ["topics", "plain", "--compare", "m"],
        ["evaluate", "m", "s", "-m", "time", "-m", "diagnostics"],
        ["effects", "m", "c", "--formula", "~ party", "--draws", "20"],
    ):  # fmt: skip
        status, out, _ = run(*arguments)
        assert status == 0 and re.search(r"\b1 the sea  |\b1 the sea ~|~ 1 the sea |the sea: ", out), (arguments, out)
        if arguments[0] == "effects":
            continue
        told = run(*arguments, "--json")[1]
        assert '"the sea"' in told and ('"topic": 2,' not in told or "--compare" in arguments), (arguments, told)


def test_many_groups_are_shades(run: Run) -> None:  # noqa: F811
    corpus = carried()
    corpus.columns["page"] = np.arange(60) % 20.0
    corpus.save("c")
    assert run("train", "c", "-k", "4", "--iterations", "5", "-o", "m", "-q")[0] == 0
    status, out, _ = run("topics", "m", "--by", "page", "--corpus", "c", "--plot", "a.png", "--json")
    assert status == 0 and [row["group"] for row in json.loads(out)["groups"]] == [str(i) for i in range(20)]
    assert Path("a.png").stat().st_size > 1000


@pytest.mark.parametrize("name", ["t.tsv", "t.csv.gz", "t.jsonl", "t.npz", "t.parquet"])
def test_a_table_of_topics_tells_the_same(run: Run, name: str) -> None:  # noqa: F811
    """What infer wrote, in each format, all shares or the largest."""
    corpus = carried()
    corpus = corpus.with_labels([[("a", "b", "a, c")[d % 3], "z"] if d % 4 else [] for d in range(60)])
    corpus.save("c")
    assert run("train", "c", "-k", "4", "--iterations", "20", "-o", "m", "-q")[0] == 0
    assert run("infer", "m", "c", "-o", name, "-q")[0] == 0
    for by, further in (("time", ["--bins", "decade"]), ("party", [])):
        told = ["topics", "m", "--by", by, *further, "--json", "--top", "4"]
        one, two = (
            run(*told, *source) for source in (("--corpus", "c", "--shares", "plug-in"), ("--doc-topics", name))
        )
        assert one[0] == two[0] == 0, two[2]
        first, second = json.loads(one[1])["groups"], json.loads(two[1])["groups"]
        for a, b in zip(first, second, strict=True):
            assert (a["group"], a["documents"], a["tokens"]) == (b["group"], b["documents"], b["tokens"])
            shares = [{topic["topic"]: topic["share"] for topic in row["topics"]} for row in (a, b)]
            assert all(shares[0][k] == (x if x is None else pytest.approx(x, abs=1e-6)) for k, x in shares[1].items())
    groups = json.loads(run("topics", "m", "--by", "label", "--doc-topics", name, "--json")[1])["groups"]
    parted = [] if name in ("t.jsonl", "t.parquet") else ["a", "c"]  # text has commas between labels
    assert {"b", "z", "(none)", *parted} <= {row["group"] for row in groups}
    few = f"few-{name}"
    assert run("infer", "m", "c", "-o", few, "-q", "--top", "1")[0] == 0
    status, out, err = run("topics", "m", "--by", "party", "--doc-topics", few, "--json")
    assert status == 0 and "the largest shares of each document alone" in err, err
    assert sum(topic["share"] for topic in json.loads(out)["groups"][0]["topics"]) < 0.99


def test_tables_of_other_models_are_refused(run: Run) -> None:  # noqa: F811
    carried().save("c")
    for number in ("4", "5"):
        assert run("train", "c", "-k", number, "--iterations", "5", "-o", number, "-q", "--doc-topics", f"{number}.tsv",
                   "--state", "s")[0] == 0  # fmt: skip
    for ending in ("csv", "jsonl", "npz", "parquet"):
        assert run("infer", "5", "c", "-o", f"5.{ending}", "-q")[0] == 0
        assert run("infer", "5", "c", "-o", f"few.{ending}", "-q", "--threshold", "0.000001")[0] == 0
    assert run("topics", "4", "--by", "party", "--doc-topics", "4.tsv")[0] == 0
    lines = Path("4.tsv").read_text().splitlines(keepends=True)
    Path("cut.tsv").write_text(lines[0] + lines[1].rpartition("\t")[0] + "\n")
    Path("word.tsv").write_text(lines[0] + lines[1].rpartition("\t")[0] + "\tx\n")
    Path("many.tsv").write_text(lines[0] + lines[1].rpartition("\t")[0] + "\t7\n")
    Path("other.csv").write_text("a,b\n1,2\n")
    Path("no.jsonl").write_text("{\n")
    Path("no.npz").write_bytes(b"PK")
    Path("no.parquet").write_bytes(b"PAR1")
    for name, message in (
        ("5.tsv", "5.tsv: is not a table of θ of this model: its columns are not the 4 topics"),
        ("5.csv", "5.csv: is not"), ("5.jsonl", "it has 5 topics, the model 4"), ("5.npz", "it has 5 topics"),
        ("5.parquet", "it has 5 topics"), ("few.csv", "a topic 4"), ("few.jsonl", "a topic 4"),
        ("few.npz", "a topic 4"), ("few.parquet", "a topic 4"), ("cut.tsv", "cut.tsv:2: has"),
        ("word.tsv", "word.tsv:2: a number"), ("many.tsv", "a share of a topic is not from 0 to 1"),
        ("other.csv", "its columns are a, b"), ("no.jsonl", "is not a table of θ"), ("no.npz", "no.npz: "),
        ("no.parquet", "no.parquet: "), ("missing.tsv", "missing.tsv: cannot be read"), ("4", "4: is not a table"),
    ):  # fmt: skip
        status, _, err = run("topics", "4", "--by", "party", "--doc-topics", name)
        assert status == 2 and message in err and len(err.splitlines()) == 1, (name, err)


def said(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    from topicx.cli import main

    capfd.readouterr()
    with pytest.raises(SystemExit) as stop:
        main([*map(str, arguments)])
    told = capfd.readouterr()
    return int(stop.value.code or 0), told.out, told.err


def test_trends_are_told_in_the_column_s_own_unit(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Percentage points a year for dates, a unit of the rating for ratings; a group that has no document is none."""
    from tests.conftest import lda_corpus

    corpus = lda_corpus(documents=80)
    years = [f"{1990 + d % 4}-03-01" if corpus.lengths[d] else None for d in range(80)]
    lines = [
        json.dumps(
            {"text": " ".join(corpus.document(d)), "time": years[d], "rating": d % 150 + 0.5, "year": 1990 + d % 4}
        )
        for d in range(80)
    ]
    (tmp_path / "d.jsonl").write_text("\n".join(lines) + "\n")
    place = {name: tmp_path / f"d.{name}" for name in ("jsonl", "corpus", "model", "state")}
    assert (
        said(capfd, "import", place["jsonl"], "-o", place["corpus"], "--column", "rating", "--column", "year")[0] == 0
    )
    train = ("-k", 3, "--iterations", 5, "-o", place["model"], "--state", place["state"], "-q")
    assert said(capfd, "train", place["corpus"], *train)[0] == 0
    for by, told in (
        (["time"], "a year"),
        (["rating", "--every", "20"], "a unit of rating"),
        (["year", "--bins", "year"], "a year"),
    ):
        status, out, _ = said(capfd, "topics", place["model"], "--by", *by, "--state", place["state"])
        trends = out[out.index("rising and falling") :].splitlines()
        assert (
            status == 0 and trends[0] == f"rising and falling, percentage points {told}:" and "%" not in "".join(trends)
        )
        assert "(none)" not in out
    status, out, _ = said(capfd, "topics", place["model"], "--by", "time", "--state", place["state"], "--json")
    first = json.loads(out)["trends"][0]
    status, out, _ = said(capfd, "topics", place["model"], "--by", "time", "--state", place["state"])
    assert f"{100 * first['slope']:+7.3f} ({100 * first['low']:+.3f} to" in out
    status, _, err = said(capfd, "topics", place["model"], "--by", "time", "--by", "year", "--state", place["state"])
    assert status == 2 and "--by time --by year: topics are shown by one column at a time" in err
