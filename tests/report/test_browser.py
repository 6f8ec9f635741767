"""The page in a browser, offline: one request, no error, every view, search, downloads, keys, accessibility."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topicx
from tests.axe_lines import axe_lines
from tests.conftest import run_topicx
from tests.places import ROOT
from topicx.corpus.corpus import Corpus
from topicx.model import Model
from topicx.strings import Strings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (pip install playwright)")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (apt-get install chromium)")

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
AXE = next(
    (path for folder in (os.environ.get("TOPICX_AXE", ""), ROOT / "build/npm/node_modules/axe-core")
     if folder and (path := Path(folder) / "axe.min.js").exists()), None,
)  # fmt: skip
VIEWS = {
    "topics": "#/", "topic": "#/topic/2", "documents": "#/documents?topic=1&min=0.1", "document": "",
    "word": "#/word/blood", "time": "#/over/time", "group": "#/over/collection", "families": "#/families",
    "quality": "#/quality", "about": "#/about", "missing": "#/topic/99",
}  # fmt: skip


class Window:
    """A window of the browser, with all that went wrong in it."""

    def __init__(self, page: Any, file: Path) -> None:
        self.page, self.file = page, file
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)

    def open(self, place: str = "#/") -> None:
        self.page.goto(self.file.as_uri() + place)
        self.page.wait_for_selector("html[data-ready]", timeout=20_000)

    def go(self, place: str) -> None:
        """To another address of the same page."""
        before = self.heading()
        self.page.goto(self.file.as_uri() + place)
        self.page.wait_for_timeout(150)
        assert before is not None

    def heading(self) -> str:
        return str(self.page.locator("h1:visible").first.inner_text())

    def fine(self) -> None:
        """Nothing went wrong, and nothing but the file was asked for."""
        assert self.errors == []
        outside = [url for url in self.requests if not url.startswith(("blob:", "data:"))]
        assert {url.split("#")[0] for url in outside} <= {self.file.as_uri()}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    for line in (
        "datasets texts -o texts.tsv -q",
        "import texts.tsv -o texts.corpus --time-field year --remove-stopwords --snippet 5000 -q",
        "train texts.corpus -k 8 --iterations 100 --alpha 0.5 -o texts.model --state texts.state -q",
        "train texts.corpus -k 8 --iterations 20 --alpha 0.5 --seed 2 -o again.model -q",
        "topics texts.model --name 2=Hospital --hide 5 -o named.model",
        "report named.model --state texts.state --by time --by collection --bins year --snippets full --title Texts "
        "--again again.model -o r.html -q",
        "report named.model -o alone.html -q",
    ):
        done = run_topicx(*line.split(), cwd=folder)
        assert done.returncode == 0, done.stderr
    state = topicx.State.load(folder / "texts.state")
    VIEWS["document"] = "#/document/" + state.ids[7]
    return folder / "r.html"


def window_of(browser: Any, file: Path, **settings: Any) -> Window:
    context = browser.new_context(offline=True, accept_downloads=True, **settings)
    context.set_default_timeout(10_000)
    return Window(context.new_page(), file)


@pytest.fixture
def window(browser: Any, report: Path) -> Iterator[Window]:
    found = window_of(browser, report, viewport={"width": 1280, "height": 900})
    found.open()
    yield found
    found.fine()
    found.page.context.close()


# -- views -------------------------------------------------------------------------------------------------------------


def test_every_view_has_an_address_a_heading_and_a_title(window: Window) -> None:
    for name, place in VIEWS.items():
        window.open(place)
        heading = window.heading()
        assert heading, name
        assert window.page.locator("h1:visible").count() == 1, name
        assert ("Not in this report" in heading) == (name == "missing")
        assert "Texts" in window.page.title()
        assert "null" not in window.page.locator("main").inner_text().split(), name


def test_a_model_alone(browser: Any, report: Path) -> None:
    window = window_of(browser, report.with_name("alone.html"))
    for place in ("#/", "#/topic/2", "#/documents", "#/word/blood", "#/families", "#/quality", "#/about"):
        window.open(place)
        assert window.heading()
    window.open("#/topic/2")
    assert window.page.locator(".passages li").count() == 20
    window.fine()


@pytest.mark.parametrize("width", [320, 375, 1280, 1920])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_nothing_scrolls_sideways(browser: Any, report: Path, width: int, mode: str) -> None:
    window = window_of(browser, report, viewport={"width": width, "height": 800}, color_scheme=mode)
    for place in VIEWS.values():
        window.open(place)
        window.page.wait_for_timeout(60)
        wide = window.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, place
    window.fine()


def test_without_javascript_the_table_reads(browser: Any, report: Path) -> None:
    window = window_of(browser, report, java_script_enabled=False)
    window.page.goto(report.as_uri())
    assert window.page.locator("#front tbody tr").count() == 8
    assert "Hospital" in window.page.locator("#front").inner_text()
    assert "Without JavaScript" in window.page.inner_text("body")


def test_a_topic_s_numbers_are_the_model_s(window: Window, report: Path) -> None:
    model = Model.load(report.with_name("named.model"))
    window.open("#/topic/2?l=1")
    words = window.page.locator(".word-bars tbody th").all_inner_texts()
    assert words[:10] == [word for word, _ in model.top_words(10)[2]]
    assert f"{100 * model.topic_weights[2]:.0f}%" in window.page.locator(".meta").inner_text()


# -- what a reader does ------------------------------------------------------------------------------------------------


def test_find_a_topic_a_word_a_text(window: Window) -> None:
    field = window.page.locator("#find input")
    window.page.keyboard.press("/")
    field.type("hosp")
    window.page.wait_for_selector("#found a")
    assert "Hospital" in window.page.locator("#found").inner_text()
    window.page.keyboard.press("Enter")
    window.page.wait_for_selector("#view .word-bars")
    assert window.heading().startswith("2")
    field.fill("7")
    window.page.wait_for_selector("#found a")
    window.page.keyboard.press("Enter")
    window.page.wait_for_selector("#view h1:has-text('7')")
    field.fill("no such thing at all")
    window.page.wait_for_selector("#found:has-text('Texts that say “no such thing at all”')")
    assert window.page.locator("#found a").count() == 1
    window.page.keyboard.press("Escape")
    assert not window.page.locator("#found").is_visible()


def test_texts_are_searched_and_quoted(window: Window, report: Path) -> None:
    texts = topicx.State.load(report.with_name("texts.state")).table["snippet"].strings
    saying = [text for text in texts if "the bank" in text.lower()]
    assert saying
    window.open("#/documents?q=the%20bank")
    assert window.heading() == f"{len(saying)} of 440 texts {'say' if len(saying) > 1 else 'says'} “the bank”"
    marks = window.page.locator("#view table mark").all_inner_texts()
    assert [mark.lower() for mark in marks] == ["the bank"] * len(saying)
    window.open("#/documents?q=nowhere%20at%20all")
    assert window.heading() == "None of 440 texts says “nowhere at all”"


def test_print_is_light_and_names_the_model(browser: Any, report: Path) -> None:
    window = window_of(browser, report, viewport={"width": 700, "height": 900}, color_scheme="dark")
    window.open()
    window.page.emulate_media(media="print")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    assert window.page.evaluate(paper) == "rgb(255, 255, 255)"
    foot = window.page.evaluate("getComputedStyle(document.body, '::after').content")
    assert foot == f'"Texts · model {Model.load(report.with_name("named.model")).digest[:12]}"'
    assert window.page.locator("#front thead").is_visible()
    window.fine()


def test_filters_of_documents_stand_in_the_address(window: Window) -> None:
    window.open("#/documents")
    window.page.select_option("label:has-text('Topic') select", "2")
    window.page.wait_for_selector("h1:has-text('or more of')")
    assert "topic=2" in window.page.url and "min=0.1" in window.page.url
    number = int(window.heading().split()[0])
    window.page.select_option("label:has-text('At least') select", "0.5")
    window.page.wait_for_selector("h1:has-text('50%')")
    assert int(window.heading().split()[0]) < number
    window.page.fill("label:has-text('In titles') input", "zzz")
    window.page.keyboard.press("Enter")
    window.page.wait_for_selector("text=None has all of this.")


def test_as_many_documents_as_the_topic_s_page_says(window: Window) -> None:
    for topic in range(8):
        window.open(f"#/topic/{topic}")
        told = window.page.get_by_text("with a tenth or more").inner_text()
        window.open(f"#/documents?topic={topic}&min=0.1")
        assert window.heading().split()[0] == told.split()[1]


def test_back_and_forward(window: Window) -> None:
    window.page.click("#front .name a >> nth=0")
    window.page.wait_for_selector("#view .word-bars")
    first = window.heading()
    window.page.click("nav.turn a >> nth=-1")
    window.page.wait_for_timeout(200)
    assert window.heading() != first
    window.page.go_back()
    window.page.wait_for_timeout(200)
    assert window.heading() == first
    window.page.go_back()
    window.page.wait_for_selector("#front-view:not([hidden])")
    window.page.go_forward()
    window.page.wait_for_selector("#view .word-bars")
    assert window.heading() == first


def saved(window: Window, click: str) -> tuple[str, str]:
    with window.page.expect_download() as waiting:
        window.page.locator(click).first.click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_text(encoding="utf-8")


def test_downloads(window: Window) -> None:
    name, text = saved(window, "#front-tools button:has-text('CSV')")
    assert name == "topics.csv" and len(text.splitlines()) == 9 and text.startswith("topic,name,share,words,")
    window.open("#/topic/2")
    name, text = saved(window, "figure button:has-text('CSV')")
    assert name == "topic-2-time.csv" and text.splitlines()[0] == "time,share,low,high,texts,words"
    name, text = saved(window, "figure button:has-text('SVG')")
    assert name == "topic-2-time.svg" and text.startswith("<svg") and "Hospital" in text and "var(" not in text
    window.open("#/documents")
    name, text = saved(window, "#view button:has-text('CSV')")
    assert len(text.splitlines()) == 441


def test_a_saved_picture_is_light_in_a_dark_window_too(browser: Any, report: Path) -> None:
    texts = []
    for mode in ("light", "dark"):
        window = window_of(browser, report, viewport={"width": 1280, "height": 900}, color_scheme=mode)
        window.open("#/over/collection")
        texts.append(saved(window, "figure button:has-text('SVG')")[1])
        window.fine()
    assert texts[0] == texts[1]


def test_what_a_screen_reader_reads(browser: Any, report: Path) -> None:
    """The tree that Chromium gives to screen readers: numbers of pictures, topics of marked words."""
    window = window_of(browser, report, viewport={"width": 1280, "height": 900})

    def names(place: str, role: str) -> list[str]:
        window.open(place)
        session = window.page.context.new_cdp_session(window.page)
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        return [one["name"]["value"] for one in nodes if not one["ignored"] and one["role"]["value"] == role]

    groups = [name for name in names("#/over/collection", "link") if re.search(r": columns \d.*%.*; \w+ ", name)]
    assert len(groups) == 7  # one of eight topics is hidden
    read = names("#/over/time", "button")
    assert {"Table of Topics over time", "CSV of Topics over time", "SVG of Topics over time"} <= set(read)
    assert any(name.startswith(", topic ") for name in names(VIEWS["document"], "StaticText"))
    assert "Hide this topic" in names("#/topic/2", "button")
    window.fine()


def test_names_notes_and_hiding_are_saved(window: Window, report: Path) -> None:
    window.open("#/topic/3")
    window.page.click("#rename")
    window.page.fill("input.rename", "Hospital")
    window.page.keyboard.press("Enter")
    assert window.page.locator("input.rename").is_visible()  # another topic has this name
    window.page.fill("input.rename", "<b>School</b>")
    window.page.keyboard.press("Enter")
    window.page.wait_for_selector("h1:has-text('<b>School</b>')")
    window.page.click("#note")
    window.page.fill("textarea", "Read twice.")
    window.page.click("text=Keep")
    window.page.wait_for_selector(".note-text:has-text('Read twice.')")
    window.page.click("#hide")
    window.page.wait_for_selector("text=3 changes are only in this window")
    name, text = saved(window, "#foot button")
    rows = {row["topic"]: row for row in json.loads(text)["changes"]}
    assert name == "names.json" and rows[3] == {
        "topic": 3,
        "name": "<b>School</b>",
        "note": "Read twice.",
        "hidden": True,
    }
    assert rows[2]["name"] == "Hospital" and rows[5]["hidden"] is True
    report.with_name("names.json").write_text(text, encoding="utf-8")
    done = run_topicx("report", "texts.model", "--edits", "names.json", "-o", "again.html", cwd=report.parent)
    assert done.returncode == 0, done.stderr
    window.page.goto(report.as_uri() + "#/")
    assert "<b>School</b>" in window.page.locator("#front").inner_text()


def test_everything_by_keyboard(window: Window) -> None:
    page = window.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.closest('tr').sectionRowIndex") == 1
    page.keyboard.press("Enter")
    page.wait_for_selector("#view .word-bars")
    first = window.heading()
    page.keyboard.press("j")
    page.wait_for_timeout(200)
    assert window.heading() != first
    assert page.evaluate("document.activeElement.tagName") == "H1"
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.className") == "rename"
    page.keyboard.press("Escape")
    page.locator("figure svg").first.focus()
    page.keyboard.press("ArrowLeft")
    assert "2019" in page.locator(".readout").first.inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    page.wait_for_selector(".multiples")
    page.keyboard.press("f")
    page.wait_for_selector(".family")
    page.keyboard.press("q")
    page.wait_for_selector(".quality-grid")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    page.wait_for_selector("#front-view:not([hidden])")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.textContent"))
    assert {"Over time", "Families", "CSV", "share", "Hospital"} <= reached


def test_letters_can_be_switched_off(window: Window) -> None:
    window.open("#/about")
    window.page.click("label:has-text('Letter keys act')")
    window.page.locator("h1:visible").focus()
    window.page.keyboard.press("f")
    window.page.wait_for_timeout(150)
    assert window.heading() == "How this was made"


def test_words_of_one_topic_alone(window: Window) -> None:
    window.open(VIEWS["document"])
    marked = window.page.locator(".document-text .m").count()
    assert marked > 5
    window.page.locator(".key-row").first.click()
    window.page.wait_for_selector(".one-chosen")
    assert 0 < window.page.locator(".document-text .m.on").count() <= marked
    window.page.click("button:has-text('none')")
    window.page.wait_for_timeout(150)
    assert window.page.locator(".document-text .m").count() == 0
    text = window.page.locator(".document-text").inner_text()
    assert not any(character.isdigit() and text[i - 1].isalpha() for i, character in enumerate(text))


# -- for all -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(AXE is None, reason="axe-core is not there (npm install --prefix build/npm axe-core)")
@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_axe_finds_nothing(browser: Any, report: Path, mode: str, width: int) -> None:
    assert AXE is not None
    context = browser.new_context(
        offline=True, bypass_csp=True, color_scheme=mode, viewport={"width": width, "height": 900}
    )
    page, found = context.new_page(), []
    for name, place in VIEWS.items():
        page.goto(report.as_uri() + place)
        page.wait_for_selector("html[data-ready]")
        page.wait_for_timeout(200)
        page.add_script_tag(path=str(AXE))
        rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
        told = page.evaluate("rules => axe.run(document, rules)", rules)
        found += axe_lines(name, told)
    context.close()
    assert not found, "\n".join(found)


def test_every_picture_has_a_name_and_a_table(window: Window) -> None:
    for place in VIEWS.values():
        window.open(place)
        for picture in window.page.locator("figure").all():
            assert picture.locator("svg[role=img] title, svg[aria-label]").count() >= 1, place
            picture.locator("button:has-text('Table')").click()
            assert picture.locator("table tbody tr").count() >= 1, place


def test_hostile_texts_do_nothing(browser: Any, tmp_path: Path) -> None:
    words = [
        "</script><script>document.title='owned'</script>",
        "<img/src=x>",
        "<!--",
        "a\u2028b",
        "\u202eevil\u202c",
        "\x1b[31m",
        "a\"b'c",
        "w" * 100_000,
    ]
    number = len(words)
    corpus = Corpus.from_documents([[words[i % number], words[(i + 1) % number], "plain"] * 4 for i in range(40)])
    corpus.ids = Strings.of(f"{words[i % 6]}/{i}?x#%y" for i in range(40))
    corpus.columns["party"] = Strings.of(words[i % 7] for i in range(40))
    corpus.columns["weight"] = np.where(np.arange(40) % 3, np.arange(40.0), np.nan)
    corpus.columns["time"] = np.where(np.arange(40) % 4, 1990.0 + np.arange(40), np.nan)
    corpus.columns["title"] = Strings.of(words[i % 6] + "x" * (100_000 if i == 3 else 0) for i in range(40))
    lda = topicx.LDA(topics=2, iterations=5, threads=1, verbose=False).fit(corpus)
    lda.model.topic_names = Strings.of(words[:2])
    asked = {"state": lda.state, "snippets": "full", "by": ("time", "party"), "bins": "decade"}
    lda.model.report(tmp_path / "hostile.html", title="Hostile", **asked)
    assert (tmp_path / "hostile.html").stat().st_size < 1_000_000
    window = window_of(browser, tmp_path / "hostile.html")
    for place in (
        "#/",
        "#/topic/0",
        "#/documents",
        "#/over/time",
        "#/over/party",
        "#/families",
        "#/quality",
        "#/about",
        "#/%E0%A4%A",
        "#/word/%3C!--",
    ):
        window.open(place)
        assert window.heading()
        assert window.page.title().endswith("Hostile")
        assert window.page.locator("main img, main script").count() == 0
        wide = window.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, place
    window.open("#/documents")
    window.page.click("#view table tbody a >> nth=3")
    window.page.wait_for_selector(".document-text")
    assert window.page.locator("#view img").count() == 0
    assert "plain" in window.page.locator(".document-text").inner_text()
    wide = window.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0
    window.fine()


def test_one_topic_one_document(browser: Any, tmp_path: Path) -> None:
    lda = topicx.LDA(topics=1, iterations=3, threads=1, verbose=False).fit(["The cat sat on the mat with a cat"])
    lda.model.report(tmp_path / "one.html", state=lda.state, snippets="full")
    window = window_of(browser, tmp_path / "one.html")
    for place in ("#/", "#/topic/0", "#/documents", "#/document/0", "#/word/cat", "#/families", "#/quality", "#/about"):
        window.open(place)
        assert "failed" not in window.heading() and "Not in this" not in window.heading(), place
    window.fine()
