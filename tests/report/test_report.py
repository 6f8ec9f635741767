"""Reports: what they hold, that they are the same again, that sizes are kept, that nothing in a text does harm."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import topicx
from tests.conftest import run_topicx
from tests.report.reading_pages import Page, fitted, page_of
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.estimate import theta_rows
from topicx.model import Model
from topicx.report.collected_documents import collected_documents
from topicx.report.figures import as_percent, bin_name, format_count
from topicx.report.report_contents import report_contents
from topicx.report.report_options import ReportOptions, smaller_limits
from topicx.report.trend_sentences import Spans, change_sentence, leaders_sentence, trend_sentence
from topicx.state import State

HOSTILE = ["</script><b>", "<!--", "a\"b'c", "line\u2028sep", "\u202eevil\u202c", "\x1b[31mred", "=1+1", "שלום", "😀x"]


# -- the page ----------------------------------------------------------------------------------------------------------


def test_a_model_alone_makes_a_page_that_reads_without_a_script(model: Model) -> None:
    page = page_of(model)
    assert page.text.count("<tr data-topic=") == model.n_topics
    for k, words in enumerate(model.top_words(10)):
        row = re.search(rf'<tr data-topic="{k}".*?</tr>', page.text, re.S)
        assert row and all(word in row[0] for word, _ in words)
    assert "http" not in re.sub(r"<script.*?</script>", "", page.text, flags=re.S).replace("http-equiv", "")
    assert page.head["documents"] == 0 and set(page.head["parts"]) == {"about", "core"}


def test_the_policy_names_the_hashes_of_script_and_style(model: Model) -> None:
    from topicx.report.html_page import hash_of

    text = page_of(model).text
    script, style = re.findall(r"<script>(.*?)</script>", text, re.S), re.findall(r"<style>(.*?)</style>", text, re.S)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy and policy[1].startswith("default-src 'none'")
    assert len(script) == len(style) == 1
    assert f"script-src 'sha256-{hash_of(script[0])}'" in policy[1]
    assert f"style-src 'sha256-{hash_of(style[0])}'" in policy[1]
    assert "style=" not in re.sub(r"<style>.*?</style>|<script.*?</script>", "", text, flags=re.S)


@pytest.mark.parametrize("source", ["state", "corpus", "doc_topics"])
def test_the_same_inputs_give_the_same_bytes(made: Path, model: Model, source: str) -> None:
    file = {"state": "texts.state", "corpus": "texts.corpus", "doc_topics": "theta.tsv"}[source]
    pages = [model.report(**{source: made / file}, threads=threads).data for threads in (1, 2)]
    assert pages[0] == pages[1]
    assert Page(pages[0]).head["documents"] == 440


def test_shares_of_documents_are_what_the_estimator_says(model: Model, state: State) -> None:
    page = page_of(model, state=state)
    theta = np.concatenate([rows for _, rows in theta_rows(state)])
    counts = page.array("docs", "theta.counts")
    rows = np.repeat(np.arange(len(theta)), counts)
    topics, shares = page.planes("docs", "theta.topics"), (page.array("docs", "theta.shares") / 255.0) ** 2
    assert np.abs(theta[rows, topics] - shares).max() < 0.004
    assert len(rows) == int((theta >= 0.01).sum())
    assert page.strings("docs", "ids") == list(state.ids)
    assert page.facts["tenth"] == (theta >= 0.1).sum(axis=0).tolist()
    assert np.allclose(page.facts["mean"], theta.mean(axis=0), atol=1e-6)


def test_shares_over_time_are_those_of_topics_by(made: Path, model: Model, state: State) -> None:
    done = run_topicx(
        "topics",
        "texts.model",
        "--by",
        "time",
        "--state",
        "texts.state",
        "--bins",
        "decade",
        "--shares",
        "plug-in",
        "--table",
        "by.jsonl",
        cwd=made,
    )
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in (made / "by.jsonl").read_text().splitlines()]
    page = page_of(model, state=state, by="time", bins="decade", shares="plug-in")
    for name in ("mean", "low", "high"):
        scale = page.array("core", f"by0.{name}.scale")[0] / 65534
        mine = page.array("core", f"by0.{name}").astype(float) * scale
        assert np.allclose(mine, [row["share" if name == "mean" else name] for row in told], atol=scale)
    assert page.facts["by"][0]["names"] == ["1990s", "2000s", "2010s"]


def test_shares_of_groups_are_drawn_under_their_prior(model: Model, state: State) -> None:
    from topicx.views.topics_by_column import drawn_mixtures, groups_of

    page = page_of(model, state=state, by="collection", seed=3)
    found = drawn_mixtures(model, state, groups_of(state.table, "collection"), "collection", seed=3, quick=True)
    for name, wanted in zip(("mean", "low", "high"), (found.mean, *found.intervals()), strict=True):
        scale = page.array("core", f"by0.{name}.scale")[0] / 65534
        assert np.allclose(page.array("core", f"by0.{name}") * scale, wanted.ravel(), atol=scale)


def test_words_are_marked_with_the_topics_that_the_state_has(model: Model, state: State) -> None:
    page = page_of(model, state=state, snippets="full")
    marked = 0
    for document in range(0, 440, 37):
        _, found = page.marked(document)
        own = slice(state.offsets[document], state.offsets[document + 1])
        words, topics = [state.vocabulary[int(w)] for w in state.words[own]], state.z[own].tolist()
        assert [(word.lower().replace("’", "'"), topic) for word, topic in found] == list(zip(words, topics))
        marked += len(found)
    assert marked > 300


def test_without_texts_the_counted_words_are_shown(model: Model, state: State) -> None:
    from dataclasses import replace

    bare = replace(state, table=state.table.without("snippet"))
    text, found = page_of(model, state=bare, snippets="full").marked(3)
    assert text.split() == [word for word, _ in found]
    assert len(found) == state.lengths[3]


def test_typical_documents_have_the_largest_shares(model: Model, state: State) -> None:
    page = page_of(model, state=state)
    counts, documents = page.array("core", "typical.counts"), page.array("core", "typical.documents")
    theta = np.concatenate([rows for _, rows in theta_rows(state)])
    theta[state.lengths < np.median(state.lengths) / 2] = 0
    for k in range(model.n_topics):
        own = documents[counts[:k].sum() : counts[: k + 1].sum()]
        assert np.allclose(theta[own, k], np.sort(theta[:, k])[::-1][: len(own)])


# -- options -----------------------------------------------------------------------------------------------------------


def test_the_command_writes_the_format_of_the_name(made: Path) -> None:
    line = "report texts.model --state texts.state --by time --bins decade --unit story,stories --snippets none"
    common = [*line.split(), "--title", "Many texts", "--language", "de", "--threads", "1", "--max-size", "9M", "-q"]
    (made / "about.txt").write_text("Made for a <test>.")
    for name in ("out.html", "out.md", "out.json"):
        done = run_topicx(*common, "--about", "about.txt", "-o", name, cwd=made)
        assert done.returncode == 0, done.stderr
    page = Page((made / "out.html").read_bytes())
    assert page.facts["unit"] == ["story", "stories"] and page.facts["title"] == "Many texts"
    assert page.facts["about_text"] == "Made for a <test>." and 'data-texts="de"' in page.text
    assert dict(page.about)["Command"].startswith("topicx report texts.model --state texts.state --by time")
    assert "passages.bytes" not in page.head["parts"]["core"]
    assert (made / "out.md").read_text().startswith("# Many texts\n")
    found = json.loads((made / "out.json").read_text())
    assert len(found["by"][0]["mean"]) == 3 and found["topics"] == 6 and len(found["typical"][0]) == 20
    done = run_topicx(*common, "--format", "md", "-o", "-", cwd=made)
    assert done.stdout.startswith("# Many texts\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--by", "time"], "--by: needs documents"),
        (["--titles", "label"], "--titles: needs documents"),
        (["--state", "texts.state", "--titles", "author"], "no such column. Columns: label, collection, time"),
        (["--state", "texts.state", "--by", "author"], "--by author"),
        (["--state", "texts.state", "--corpus", "texts.corpus"], "not of several"),
        (["--edits", "texts.tsv"], "texts.tsv: is not JSON"),
        (["--about", "nothing"], "nothing: cannot be read"),
    ],
)  # fmt: skip
def test_wrong_calls_are_one_line(made: Path, options: list[str], said: str) -> None:
    done = run_topicx("report", "texts.model", "-o", "wrong.html", *options, cwd=made)
    assert done.returncode == 2
    assert said in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (made / "wrong.html").exists()


def test_titles_and_columns_of_documents(model: Model, state: State) -> None:
    page = page_of(model, state=state, titles="collection")
    assert set(page.strings("docs", "titles")) == set(state.table["collection"].packed)
    described = json.loads(page.array("docs", "columns").tobytes())
    assert [column["name"] for column in described] == ["label", "time"]
    label = described[0]
    codes = page.planes("docs", "column.label")
    assert [label["values"][code] for code in codes.tolist()] == list(state.table["label"].packed)


def test_a_page_is_no_larger_than_it_may_be_and_says_what_it_lost(model: Model, state: State) -> None:
    whole = model.report(state=state, snippets="full")
    assert Page(whole.data).about[-1][1].startswith("Nothing")
    for size in (len(whole.data) - 1000, 330_000):
        small = model.report(state=state, snippets="full", max_size=size)
        assert len(small.data) <= size
        told = Page(small.data).about[-1][1]
        assert "texts are" in told and "to stay below" in told


def test_a_sample_of_documents_has_all_typical_ones(model: Model, state: State) -> None:
    from topicx.report.page_parts import kept_documents

    documents = collected_documents(model, state=state)
    assert documents is not None
    typical = [each[:8] for each in documents.typical(model.n_topics)]
    kept = kept_documents(documents, typical, 0.1)
    assert {document for each in typical for document, _ in each} <= set(kept.rows.tolist())
    assert len(kept.rows) < 200
    assert (kept.place[kept.rows] == np.arange(len(kept.rows))).all()


def test_what_a_page_loses_first() -> None:
    steps = smaller_limits(True)
    said = [limits.left_out(round(2000 * limits.documents), 2000, "stories", True) for limits in steps]
    assert said[0] == [] and said[1] == ["texts are cut at 4000 characters"]
    assert said[4:7] == [
        ["whole texts are left out"],
        ["whole texts are left out", "passages are cut at 200 characters"],
        ["whole texts are left out", "passages are cut at 200 characters", "titles are cut at 40 characters"],
    ]
    assert said[-1][-3:] == [
        "shares of stories begin at 2%",
        "topics have 8 passages at most",
        "20 of 2\u202f000 stories are here, the typical ones and a sample of the others",
    ]
    assert len(smaller_limits(False)) == len(steps) - 4


def test_a_size_that_no_page_has_is_refused(made: Path) -> None:
    done = run_topicx("report", "texts.model", "--state", "texts.state", "--max-size", "50k", "-o", "w.html", cwd=made)
    assert done.returncode == 2 and "--max-size: the smallest page of these inputs has" in done.stderr
    assert not (made / "w.html").exists()


# -- names -------------------------------------------------------------------------------------------------------------


def test_edits_name_note_and_hide(made: Path, model: Model) -> None:
    changes = [{"topic": 1, "name": "<Health> & care", "note": "Seen twice"}, {"topic": 4, "hidden": True}]
    (made / "names.json").write_text(
        json.dumps({"format": "topicx-names", "version": 1, "topics": 6, "changes": changes})
    )
    page = page_of(model, edits=made / "names.json")
    assert page.facts["names"][1] == "<Health> & care" and page.facts["notes"] == {"1": "Seen twice"}
    assert page.facts["hidden"] == [4] and "&lt;Health&gt; &amp; care</a>" in page.text
    row = re.search(r'<tr data-topic="4".*?</tr>', page.text)
    assert row and "hidden</span>" in row[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "is not a file of names"),
        ('{"format": "topicx-names", "topics": 7}', "is for a model of 7 topics, and this one has 6"),
        ('{"format": "topicx-names", "changes": 3}', "its changes are not a list"),
        ('{"format": "topicx-names", "changes": [{"topic": 9}]}', "a change is of topic 9; there are 0 to 5"),
        ('{"format": "topicx-names", "changes": [{"topic": true}]}', "a change is of topic True"),
        ('{"format": "topicx-names", "changes": [{"topic": 1, "name": 3}]}', "name of topic 1 is 3"),
    ],
)
def test_a_wrong_file_of_names_is_refused(tmp_path: Path, model: Model, text: str, said: str) -> None:
    (tmp_path / "names.json").write_text(text)
    with pytest.raises(InputError, match=re.escape(said)):
        model.report(edits=tmp_path / "names.json")


# -- texts that would do harm ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["page.html", "page.md", "page.json"])
def test_hostile_words_titles_and_names(tmp_path: Path, form: str) -> None:
    words = [[HOSTILE[i % 9], HOSTILE[(i + 3) % 9], "plain"] * 3 for i in range(30)]
    corpus = Corpus.from_documents(words)
    corpus.columns["title"] = topicx.strings.Strings.of(
        (HOSTILE[i % 9] + "x" * (100_000 if i == 5 else 0)) for i in range(30)
    )
    corpus.ids = topicx.strings.Strings.of(f"{HOSTILE[i % 9]}#{i}" for i in range(30))
    lda = topicx.LDA(topics=3, iterations=5, threads=1, verbose=False).fit(corpus)
    model = lda.model
    model.topic_names = topicx.strings.Strings.of(HOSTILE[:3])
    model.report(tmp_path / form, state=lda.state, snippets="full", title=HOSTILE[0])
    text = (tmp_path / form).read_text(encoding="utf-8")
    if form == "page.json":
        assert json.loads(text)["names"] == HOSTILE[:3]
        return
    assert "\x1b" not in text
    if form == "page.html":
        page = Page(text.encode())
        assert text.count("<script") == text.count("</script>") == 2 + len(page.head["parts"])
        outside = re.sub(r"<script.*?</script>|<style.*?</style>", "", text, flags=re.S)
        assert "<b>" not in outside and "<!--" not in text
        assert set(page.strings("core", "words")) == {*HOSTILE, "plain"}
        assert max(map(len, page.strings("docs", "titles"))) == 200
    else:
        assert "<b>" not in text and "<!--" not in text


def test_one_topic_one_document_no_times() -> None:
    model, state = fitted(["The cat sat on the mat with a cat"], topics=1)
    page = page_of(model, state=state, snippets="full")
    assert page.facts["headline"] == ["One topic holds all the words: ", 0]
    assert page.facts["families"]["sentences"] == {"1": ["All topics are one family"]}
    assert page.facts["quality"]["settled"]["known"] is False and page.facts["by"] == []
    assert page.marked(0)[0] == "The cat sat on the mat with a cat"


def test_documents_without_words_and_times_that_are_not_known() -> None:
    texts, times = ["cat dog cat", "", "dog bird", "bird cat bird"] * 5, [1990, None, None, 2004] * 5
    corpus = Corpus.from_texts(texts, times=times)
    lda = topicx.LDA(topics=2, iterations=5, threads=1, verbose=False).fit(corpus)
    page = page_of(lda.model, state=lda.state, by="time", bins="decade")
    by = page.facts["by"][0]
    assert by["names"] == ["1990s", "2000s", "(none)"] and by["documents"] == [5, 5, 5]
    assert all(value is not None for value in page.facts["mean"])


def test_a_topic_without_words_has_a_row() -> None:
    model, state = fitted(["cat dog"] * 4, topics=5)
    page = page_of(model, state=state)
    assert page.text.count("<tr data-topic=") == 5


# -- sentences ---------------------------------------------------------------------------------------------------------


def spans(*rows: list[float], width: float = 0.004) -> Spans:
    """Spans of decades, a row a topic."""
    mean = np.array(rows).T
    names = [f"{1900 + 10 * j}s" for j in range(len(mean))]
    low, high = np.maximum(mean - width, 0), mean + width
    return Spans(
        names, np.arange(len(mean)), mean, low, high, np.full(len(mean), 100), np.full(mean.shape, width / 1.645)
    )


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        (
            [0.03, 0.07, 0.074, 0.02, 0.009],
            "Highest in the 1910s and 1920s, at up to 7.4%; 3.0% in the 1900s and 0.9% in the 1940s",
        ),
        ([0.03, 0.02, 0.09, 0.02, 0.009], "Highest in the 1920s, at 9.0%; 3.0% in the 1900s and 0.9% in the 1940s"),
        ([0.01, 0.02, 0.05, 0.11], "Rises from 1.0% in the 1900s to 11% in the 1930s"),
        ([0.11, 0.08, 0.02], "Falls from 11% in the 1900s to 2.0% in the 1920s"),
        ([0.05, 0.03, 0.06], "Always there: between 3.0% (1910s) and 6.0% (1920s)"),
        ([0.05, 0.052, 0.05], "No clear change: 5.0% to 5.2% throughout"),
        ([0.01, 0.012, 0.009], "Never large: at most 1.2%, in the 1910s"),
        ([0.05], ""),
    ],
)  # fmt: skip
def test_the_shape_of_a_trend(shares: list[float], said: str) -> None:
    assert trend_sentence(spans(shares), 0) == said


def test_sentences_claim_only_what_intervals_part() -> None:
    wide = spans([0.01, 0.02, 0.05, 0.11], [0.3, 0.2, 0.1, 0.05], width=0.5)
    assert trend_sentence(wide, 0).startswith("No clear change")
    assert change_sentence(wide, np.ones(2, bool), "text") == []
    assert leaders_sentence(wide, np.ones(2, bool)) == ([], [])
    narrow = spans([0.01, 0.02, 0.05, 0.11], [0.3, 0.2, 0.1, 0.05])
    told = "of the average text in the 1900s and 5.0% in the 1930s, to "
    assert change_sentence(narrow, np.ones(2, bool), "text") == [
        "From ",
        1,
        f", 30% {told}",
        0,
        ", 1.0% then and 11% at the end",
    ]
    assert leaders_sentence(narrow, np.ones(2, bool)) == (
        [1, " is the largest topic until the 1920s", ", ", 0, " in the 1930s"],
        [1, 0],
    )
    assert leaders_sentence(narrow, np.array([False, True])) == ([1, " is the largest topic throughout"], [1])


def test_the_largest_topic_is_told_of_the_time_it_is_sure_of() -> None:
    """A span in which no topic stands out is not claimed for one."""
    shown = np.ones(2, bool)
    doubtful = spans([0.3, 0.3, 0.1], [0.1, 0.299, 0.098])
    assert leaders_sentence(doubtful, shown) == ([0, " is the largest topic where one stands out"], [0])
    late = spans([0.2, 0.4, 0.4, 0.1, 0.1, 0.2], [0.2, 0.1, 0.1, 0.3, 0.3, 0.2])
    assert leaders_sentence(late, shown) == (
        [0, " is the largest topic from the 1910s to the 1920s", ", ", 1, " from the 1930s to the 1940s"], [0, 1],
    )  # fmt: skip


def test_figures_read_well() -> None:
    told = {0.274: "27%", 0.0741: "7.4%", 0.0001: "<0.1%", 0.0: "0%", 0.9999: "100%", 0.0996: "10%"}
    assert {value: as_percent(value) for value in told} == told
    assert format_count(1234567) == "1\u202f234\u202f567"
    assert [bin_name(name) for name in ("1890-1899", "1987-Q1", "1987", "1900-1949", "1987-03")] == [
        "1890s", "1987 Q1", "1987", "1900–1949", "1987-03",
    ]  # fmt: skip


def test_what_is_to_be_read_with_care() -> None:
    """Two topics that say the same are told of each other."""
    texts = ["apple pear plum fig"] * 30 + ["iron steel coal tin"] * 30
    model, state = fitted(texts, topics=2)
    contents = report_contents(model, ReportOptions(), collected_documents(model, state=state), {})
    assert contents.quality.care == {}
    counts = model.counts().toarray().sum(axis=1)
    model.indptr, model.topics = np.arange(0, 2 * len(counts) + 1, 2), np.tile(np.array([0, 1], np.uint16), len(counts))
    model.values = np.repeat(counts / 2, 2)
    for name in ("totals",):
        model.__dict__.pop(name, None)
    contents = report_contents(model, ReportOptions(), None, {})
    assert contents.quality.care == {0: [["says almost the same as ", 1]], 1: [["says almost the same as ", 0]]}


# -- notebooks ---------------------------------------------------------------------------------------------------------


def test_notebooks_show_plain_tables(model: Model, state: State) -> None:
    lda = topicx.LDA(topics=40, iterations=2, threads=1, verbose=False)
    assert "<table" not in lda._repr_html_()
    lda.fit(["cat dog bird", "stock rate bond"] * 3)
    for shown in (model._repr_html_(), state._repr_html_(), lda._repr_html_()):
        assert "<table>" in shown and not re.search(r"<script|<style|<svg|style=", shown)
    assert "… and 10 more: model.report() shows all." in lda._repr_html_()
    assert model._repr_html_().count("<tr>") == 7
    assert f"<th>{int(model.topic_weights.argmax())}</th>" in model._repr_html_().split("</tr>")[1]


def test_a_report_in_a_notebook(tmp_path: Path, model: Model, state: State) -> None:
    report = model.report(tmp_path / "a.html", title="A & B")
    assert (tmp_path / "a.html").read_bytes() == report.data
    assert 'sandbox="allow-scripts allow-downloads"' in report._repr_html_() and "A &amp;amp; B" in report._repr_html_()
    assert model.report(tmp_path / "a.md")._repr_html_().startswith("<p>A report of")
    with pytest.raises(InputError, match="colour: is no option of a report"):
        model.report(colour="red")
    with pytest.raises(InputError, match="snippets: 'all' is none of none, short, full"):
        model.report(snippets="all")


def test_right_to_left_and_wide_letters_are_marked_in_their_places() -> None:
    texts = ["שלום עולם 😀 𝔘nder naïve ﬁne", "שלום עולם naïve"] * 3
    model, state = fitted(texts, topics=2)
    text, found = page_of(model, state=state, snippets="full").marked(0)
    assert text == texts[0] or "😀" not in text
    assert [word for word, _ in found][:2] == ["שלום", "עולם"]
    assert all(word in text for word, _ in found)
