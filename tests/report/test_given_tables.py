"""Reports of what others made: names, effects, searches, other runs, other programs' states and tables."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import run_topicx
from tests.foreign import small_state, write
from tests.report.reading_pages import Page, page_of
from topicx.errors import InputError
from topicx.model import Model
from topicx.report.report_groups import SHRUNK
from topicx.state import State

EFFECTS = "topic\tterm\testimate\tstd_error\tstatistic\tp_value\tconf_low\tconf_high\n"


def test_names_from_a_report_and_from_a_program(made: Path, model: Model) -> None:
    changes = [{"topic": 1, "name": "Care", "note": "Seen twice"}, {"topic": 4, "hidden": True}]
    (made / "n.json").write_text(json.dumps({"format": "topicx-names", "topics": 6, "changes": changes}))
    done = run_topicx("topics", "texts.model", "--edits", "n.json", "-o", "n.model", cwd=made)
    assert done.returncode == 0, done.stderr
    named = Model.load(made / "n.model")
    assert named.topic_names[1] == "Care" and not named.shown[4]
    assert page_of(named).facts["notes"] == {"1": "Seen twice"}
    done = run_topicx("topics", "n.model", "--name-by", "exit 3", "--dry-run", cwd=made)
    asked = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["topic"] for one in asked] == [0, 2, 3, 5]
    assert asked[0]["words"][:10] == [word for word, _ in model.top_words(10)[0]] and len(asked[0]["snippets"]) == 5
    program = 'python3 -c \'import json; print("", "\\"About " + json.loads(input())["words"][0] + "\\"", sep="\\n")\''
    done = run_topicx("topics", "n.model", "--name-by", program, "-o", "m.model", cwd=made)
    assert done.returncode == 0, done.stderr
    assert list(Model.load(made / "m.model").topic_names)[:3] == [
        f"About {asked[0]['words'][0]}",
        "Care",
        f"About {asked[1]['words'][0]}",
    ]
    done = run_topicx("topics", "n.model", "--name-by", 'echo "[$OPENBLAS_NUM_THREADS]"', "-o", "b.model", cwd=made)
    found = f"[{os.environ.get('OPENBLAS_NUM_THREADS', '')}]"  # the user's own, not that of topicx
    assert Model.load(made / "b.model").topic_names[0] == found
    done = run_topicx("topics", "n.model", "--name-by", "echo Same", "-o", "s.model", cwd=made)
    assert list(Model.load(made / "s.model").topic_names) == ["Same", "Care", "Same (2)", "Same (3)", "", "Same (5)"]
    for command, said in (
        ("echo no >&2; exit 3", "failed for topic 0 (exit status 3): no"),
        ("true", "printed no name for topic 0"),
    ):
        done = run_topicx("topics", "n.model", "--name-by", command, "-o", "w.model", cwd=made)
        assert done.returncode == 1 and said in done.stderr and not (made / "w.model").exists()
    assert run_topicx("topics", "n.model", "--dry-run", cwd=made).returncode == 2


def test_effects_and_a_search_stand_in_the_report(made: Path, model: Model) -> None:
    row = {"topic": 2, "term": "year", "estimate": 0.1, "std_error": 0.02, "statistic": 5.0, "p_value": 0.001,
           "p_adjusted": 0.004, "conf_low": 0.06, "conf_high": 0.14}  # fmt: skip
    (made / "e.tsv").write_text("\t".join(row) + "\n" + "\t".join(map(str, row.values())) + "\n")
    (made / "s.jsonl").write_text('{"topics": 8, "perplexity": [4.0, 6.0]}\n{"topics": 4, "perplexity": [9.0]}\n')
    done = run_topicx("report", "texts.model", "--effects", "e.tsv", "--search", "s.jsonl", "-o", "e.html", cwd=made)
    assert done.returncode == 0, done.stderr
    facts = Page((made / "e.html").read_bytes()).facts
    assert facts["effects"] == [row]
    assert facts["search"] == [{"topics": 4, "perplexity": 9.0}, {"topics": 8, "perplexity": 5.0}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("topic\tterm\n1\tx\n", "has no column estimate"),
        (f"{EFFECTS}9\tx\t1\t1\t1\t1\t1\t1\n", "e.tsv:2: there is no topic 9"),
        (f"{EFFECTS}1\tx\tq\t1\t1\t1\t1\t1\n", "e.tsv:2: a number of it"),
        ("topic\tterm\n1\n", "e.tsv:2: its cells are not those of the header"),
    ],
)  # fmt: skip
def test_a_wrong_table_of_effects_is_refused(tmp_path: Path, model: Model, text: str, said: str) -> None:
    (tmp_path / "e.tsv").write_text(text)
    with pytest.raises(InputError, match=re.escape(said)):
        model.report(effects=tmp_path / "e.tsv")


def test_the_state_of_another_program(made: Path, tmp_path: Path) -> None:
    done = run_topicx("export", "texts.state", "--format", "mallet-state", "-o", str(tmp_path / "m.gz"), cwd=made)
    assert done.returncode == 0, done.stderr
    done = run_topicx("report", str(tmp_path / "m.gz"), "--snippets", "full", "-o", str(tmp_path / "m.html"), cwd=made)
    assert done.returncode == 0, done.stderr
    page = Page((tmp_path / "m.html").read_bytes())
    assert page.head["documents"] == 440 and page.facts["topics"] == 6
    text, found = page.marked(0)
    assert text.split() == [word for word, _ in found]
    done = run_topicx("report", "texts.state", "--state", "texts.state", "-o", "w.html", cwd=made)
    assert done.returncode == 2 and "is a state, which has its documents" in done.stderr


def test_anyone_s_topics_from_two_tables(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text('topic,word,weight\n-1,the,0.5\n0,"a,b",2\n0,cat,1\n1,dog,3\n')
    (tmp_path / "t.csv").write_text("id,year,-1,0,1\nx,1999,0.2,0.8,0\ny,2003,0,0.1,0.9\nz,,1,0,0\n")
    call = ["report", "--theta", "t.csv", "--words", "w.csv", "-o", "o.html", "--by", "year", "--bins", "decade"]
    done = run_topicx(*call, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = Page((tmp_path / "o.html").read_bytes())
    facts = page.facts
    assert (
        facts["names"] == ["topic -1", "topic 0", "topic 1"]
        and facts["share_of"] == "the average text"
        and facts["top"] == [["the"], ["a,b", "cat"], ["dog"]]
    )
    assert np.allclose(facts["share"], [0.4, 0.3, 0.3]) and facts["sizes"]["tokens"] is None
    assert facts["by"][0]["names"] == ["1990s", "2000s", "(none)"] and page.strings("docs", "ids") == ["x", "y", "z"]
    for wrong, said in (
        ("id,year,-1,0\nx,1999,0.2,0.8\n", "has no column for topic 1"),
        ("id,-1,0,1\nx,0.2,0.8,q\n", "t.csv:2: a share is not a number"),
        ("id,-1,0,1\nx,0.2,0.8,7\n", "t.csv:2: a share is not from 0 to 1"),
    ):
        (tmp_path / "t.csv").write_text(wrong)
        done = run_topicx(*call[:7], cwd=tmp_path)
        assert done.returncode == 2 and said in done.stderr
    for arguments in (["--theta", "t.csv"], [], ["a.model", "--theta", "t.csv", "--words", "w.csv"]):
        assert run_topicx("report", *arguments, "-o", "w.html", cwd=tmp_path).returncode == 2


def test_the_data_of_dfr_browser(made: Path, state: State) -> None:
    import csv
    import gzip

    done = run_topicx(
        "export",
        "texts.model",
        "--state",
        "texts.state",
        "--format",
        "dfr-browser2",
        "--words",
        "5",
        "-o",
        "data",
        cwd=made,
    )
    assert done.returncode == 0, done.stderr
    folder = made / "data"
    keys = [line.split("\t") for line in (folder / "topic-keys.txt").read_text().splitlines()]
    assert [row[0] for row in keys] == list("012345") and all(len(row[2].split()) == 5 for row in keys)
    shares = [line.split("\t") for line in (folder / "doc-topic.txt").read_text().splitlines()]
    assert [row[1] for row in shares] == list(state.ids) and all(
        abs(sum(map(float, row[2:])) - 1) < 1e-6 for row in shares
    )
    rows = list(csv.DictReader((folder / "metadata.csv").open()))
    assert [row["docName"] for row in rows] == list(state.ids)
    assert [int(row["year"]) for row in rows] == state.columns["time"].tolist() and "collection" in rows[0]
    places = list(csv.DictReader((folder / "topic_coords.csv").open()))
    assert len({row["x"] for row in places}) == 6
    with gzip.open(folder / "topic-state.gz", "rt") as lines:
        assert sum(not line.startswith("#") for line in lines) == state.n_tokens
    assert len((folder / "doc-lengths.txt").read_text().splitlines()) == 441
    done = run_topicx("export", "texts.state", "--format", "dfr-browser2", "-o", "-", cwd=made)
    assert done.returncode == 2 and "is several files" in done.stderr


# -- shares of groups --------------------------------------------------------------------------------------------------


def test_predicted_shares_stand_instead_of_means(made: Path, model: Model, state: State) -> None:
    call = ["effects", "texts.model", "texts.corpus", "--formula", "~ collection + time", "--draws", "2", "--lag", "1"]
    done = run_topicx(*call, "--burn-in", "2", "--predictions", "p.tsv", "-q", cwd=made)
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in (made / "p.tsv").read_text().splitlines()[1:]]
    page = page_of(model, state=state, by="collection", shares="plug-in", effects=made / "p.tsv")
    by = page.facts["by"][0]
    assert by["way"] == "predicted"
    scale = page.array("core", "by0.mean.scale")[0] / 65534
    found = (page.array("core", "by0.mean") * scale).reshape(len(by["names"]), -1)
    for topic, column, value, share, *_ in rows:
        assert column == "collection"
        assert abs(found[by["names"].index(value), int(topic)] - max(float(share), 0)) <= scale
    with pytest.raises(InputError, match="predicts shares by collection, and the report shows no groups of that"):
        model.report(state=state, by="label", shares="plug-in", effects=made / "p.tsv")


def test_a_curve_is_drawn_over_time(made: Path, model: Model, state: State) -> None:
    call = ["effects", "texts.model", "texts.corpus", "--formula", "~ s(time, df=3)", "--curve", "time", "--draws", "2"]
    done = run_topicx(*call, "--lag", "1", "--burn-in", "2", "--predictions", "c.tsv", "-q", cwd=made)
    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in (made / "c.tsv").read_text().splitlines()]
    rows = [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]
    page = page_of(model, state=state, by="time", bins="decade", shares="plug-in", effects=made / "c.tsv")
    by = page.facts["by"][0]
    assert by["way"] == "predicted" and by["ordered"]
    times = np.array([np.nan if time is None else time for time in by["times"]])
    seen = np.flatnonzero(np.isfinite(times) & (np.array(by["documents"]) > 0))
    assert len(seen) > 2
    for name, column in (("mean", "share"), ("low", "conf_low"), ("high", "conf_high")):
        scale = page.array("core", f"by0.{name}.scale")[0] / 65534
        found = (page.array("core", f"by0.{name}") * scale).reshape(len(by["names"]), -1)
        for topic in range(6):
            curve = sorted((float(row["value"]), float(row[column])) for row in rows if int(row["topic"]) == topic)
            told = np.interp(times[seen], *np.array(curve).T).clip(0, 1)
            assert np.abs(found[seen, topic] - told).max() <= scale
    (made / "far.tsv").write_text("\n".join("\t".join(line) for line in lines).replace("\ttime\t", "\ttime\t9"))
    with pytest.raises(InputError, match="no groups of that"):
        model.report(state=state, by="time", bins="decade", shares="plug-in", effects=made / "far.tsv")


def test_shares_are_plugged_in_where_drawing_takes_long(
    model: Model, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    from topicx.report import report_groups

    drawn = page_of(model, state=state, by="collection").facts["by"][0]
    assert (drawn["way"], drawn["note"]) == ("effects", "")
    monkeypatch.setattr(report_groups, "WORK", 1000)
    long = page_of(model, state=state, by="collection").facts["by"][0]
    assert long["way"] == "plug-in" and "takes about 1 minute of one core here (--shares effects)" in long["note"]
    asked = page_of(model, state=state, by="collection", shares="effects").facts["by"][0]
    assert asked["way"] == "effects"
    with pytest.raises(InputError, match="shares: 'both' is none of effects, plug-in"):
        model.report(state=state, shares="both")


def test_a_table_of_shares_cannot_be_drawn_anew(made: Path, model: Model) -> None:
    page = page_of(model, doc_topics=made / "theta.tsv", by="collection")
    assert page.facts["by"][0]["note"] == SHRUNK
    with pytest.raises(InputError, match="--shares effects: the documents' words are not known"):
        model.report(doc_topics=made / "theta.tsv", by="collection", shares="effects")


# -- other runs --------------------------------------------------------------------------------------------------------


def swapped(model: Model, topics: int) -> Model:
    """The model with its topics in the opposite order, and the words of one of them spread over all."""
    from dataclasses import replace

    order = np.arange(topics)[::-1].astype(np.uint16)
    values = model.values.copy()
    lost = model.topics == 2
    values[lost] = values[lost].mean()
    return replace(model, topics=order[model.topics], values=values, digest="", topic_names=model.topic_names[:0])


def test_topics_that_come_again_in_another_run(made: Path, model: Model) -> None:
    page = page_of(model, again=swapped(model, 6))
    again = page.facts["quality"]["again"]
    assert again["runs"] == 1 and again["times"][:2] == [1, 1] and again["times"][3:] == [1, 1, 1]
    assert np.allclose([again["overlap"][k] for k in (0, 1, 3, 4, 5)], 1, atol=1e-3)
    assert again["overlap"][2] < 0.95
    assert "It comes again in the other run (its words overlap by 1.00)." in page.facts["making"][0]
    done = run_topicx("report", "texts.model", "--again", "texts.model", "-o", "w.html", cwd=made)
    assert done.returncode == 2 and "--again: is the model of the report itself" in done.stderr


def test_a_topic_that_no_other_run_has_is_read_with_care() -> None:
    from topicx.report.topic_recurrence import TopicRecurrence

    came = np.array([[True, False, True], [True, False, False], [True, True, False]])
    found = TopicRecurrence(np.full((3, 3), 0.7), came)
    shown = np.ones(3, bool)
    assert found.sentence(shown) == "1 of 3 topics comes again in all 3 other runs"
    assert found.doubtful() == {1: ["comes again in 1 of 3 other runs"], 2: ["comes again in 1 of 3 other runs"]}
    assert found.of_topic(1) == "It comes again in 1 of 3 other runs (its words overlap by 0.70 on average)."
    alone = TopicRecurrence(np.array([[0.9, 0.2]]), np.array([[True, False]]))
    assert alone.doubtful() == {1: ["does not come again in the other run"]}
    assert alone.of_topic(1) == "The other run has no such topic (of the one most like it words overlap by 0.20)."
    assert TopicRecurrence(np.ones((1, 1)), np.ones((1, 1), bool)).sentence(shown[:1]) == (
        "the topic comes again in the other run"
    )


def test_what_a_search_says_of_stability(made: Path, model: Model) -> None:
    rows = ['{"topics": 6, "stability": [0.5, 0.7]}', '{"topics": 9, "stability": [0.3]}']
    (made / "cells.jsonl").write_text("\n".join(rows) + "\n")
    told = page_of(model, search=made / "cells.jsonl").facts["quality"]["searched"]
    assert told == "In the search, runs with 6 topics agree by 0.60, where 1 is the same; by 0.30 with 9."
    (made / "cells.jsonl").write_text(rows[1] + "\n")
    told = page_of(model, search=made / "cells.jsonl").facts["quality"]["searched"]
    assert told == "In the search, runs agree by 0.30 with 9 topics; with 6 none was tried."
    assert page_of(model).facts["quality"]["searched"] == ""


# -- Markdown ----------------------------------------------------------------------------------------------------------


def test_markdown_has_sections_by_group_and_over_time(made: Path, model: Model, state: State) -> None:
    report = model.report(made / "m.md", state=state, by=("collection", "time"), bins="decade", shares="plug-in")
    text = report.data.decode()
    facts = page_of(model, state=state, by=("collection", "time"), bins="decade", shares="plug-in").facts
    section = text[text.index("## By collection") : text.index("## Over time")].splitlines()
    headline = "".join(
        " ".join(facts["top"][one][:3]) if isinstance(one, int) else one for one in facts["by"][0]["headline"]
    )
    assert section[2] == f"{headline}." and "against" in headline
    assert section[6].startswith("| No. | Topic | columns, 166 texts | letters, 126 texts |")
    assert len([line for line in section if line.startswith("| ")]) == 1 + model.n_topics
    over = text[text.index("## Over time") : text.index("## Families")].splitlines()
    assert "| No. | Topic | 1990s | Highest | 2010s | |" in over
    assert len([line for line in over if line.startswith("| ")]) == 1 + model.n_topics


@pytest.mark.parametrize("program", ["mallet", "warplda", "lightlda", "gibbslda", "jgibblda", "mallet.gz"])
def test_states_of_other_programs_as_they_are(tmp_path: Path, program: str) -> None:
    state = small_state(documents=12, words=9)
    path, _ = write(state, program, tmp_path)
    done = run_topicx("report", str(path), "--snippets", "full", "-o", "r.html", "--threads", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = Page((tmp_path / "r.html").read_bytes())
    assert page.head["documents"] == state.n_documents and page.facts["topics"] == state.n_topics
    text, found = page.marked(3)
    assert len(text.split()) == len(found) == state.lengths[3]


def test_sentences_of_tables_speak_of_texts_not_of_words(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("topic,word,weight\n0,cat,1\n1,dog,3\n")
    (tmp_path / "t.csv").write_text("id,0,1\nx,0.2,0.8\ny,0.1,0.9\n")
    call = ["report", "--theta", "t.csv", "--words", "w.csv", "--unit", "letter", "-o", "o.md"]
    assert run_topicx(*call, cwd=tmp_path).returncode == 0
    text = (tmp_path / "o.md").read_text()
    assert text.startswith("# t\n") and "The largest of 2 topics is dog, 85% of the average letter" in text
    assert "| No. | Topic | Mean share |" in text and "of the words" not in text
