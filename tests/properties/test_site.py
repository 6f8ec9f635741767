"""The site builds without a warning, needs no network, and has every page within two clicks.

In a browser, where there is one: axe finds nothing, no page is wider than a phone, the search works from file://.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

from tests.axe_lines import axe_lines
from tests.places import ROOT
from topicx.cli import COMMANDS, cli

pytest.importorskip("sphinx")
pytest.importorskip("furo")
pytest.importorskip("numpydoc")
pytest.importorskip("sklearn")


class Seen(HTMLParser):
    """What a page of the site refers to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.unnamed: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.anchors.add(str(found["id"]))
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        elif tag in ("script", "img") and found.get("src"):
            self.loaded.append(str(found["src"]))
        elif tag == "link" and found.get("rel") in ("stylesheet", "preload", "icon", "prefetch"):
            self.loaded.append(str(found["href"]))
        if tag == "img" and not (found.get("alt") or "").strip():
            self.unnamed.append(str(found.get("src")))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-n", "-W", "--keep-going", "-q", "-b", "html",
         "-d", folder / "doctrees", ROOT / "docs", folder / "html"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def seen(site: Path) -> dict[str, Seen]:
    """Every page of the site by its name, but for the report, which has tests of its own."""
    return {
        page.relative_to(site).as_posix(): Seen(page) for page in sorted(site.rglob("*.html"))
        if page.parent.name != "reports"
    }  # fmt: skip


def target_of(page: str, link: str) -> tuple[str, str]:
    """The page and the anchor that a link of a page leads to."""
    path, anchor = urldefrag(link)
    place = (Path("/") / page).parent / unquote(path) if path else Path("/") / page
    return Path("/", *[part for part in resolved(place) if part != "/"]).relative_to("/").as_posix(), unquote(anchor)


def resolved(place: Path) -> list[str]:
    """The parts of a path without `..`."""
    parts: list[str] = []
    for part in place.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return parts


def is_outside(link: str) -> bool:
    return re.match(r"[a-z]+:", link) is not None


def test_every_link_within_the_site_leads_somewhere(site: Path, seen: dict[str, Seen]) -> None:
    wrong = []
    for page, found in seen.items():
        for link in found.links:
            if is_outside(link) or link == "#":
                continue
            target, anchor = target_of(page, link)
            if not (site / target).exists():
                wrong.append(f"{page}: {link}")
            elif anchor and target in seen and anchor not in seen[target].anchors:
                wrong.append(f"{page}: {link} (no such anchor)")
    assert not wrong


def test_the_site_asks_no_network(site: Path, seen: dict[str, Seen]) -> None:
    loaded = [(page, one) for page, found in seen.items() for one in found.loaded]
    assert len(loaded) > 100
    assert not [(page, one) for page, one in loaded if is_outside(one) or one.startswith("//")]
    styles = "".join(sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css"))
    assert not re.findall(r"url\(['\"]?(?:https?:)?//|@import ['\"]http", styles)


def test_every_picture_has_a_text(seen: dict[str, Seen]) -> None:
    assert not {page: found.unnamed for page, found in seen.items() if found.unnamed}


def test_every_page_is_reached_in_two_clicks(site: Path, seen: dict[str, Seen]) -> None:
    reached = {"index.html"}
    for _ in range(2):
        for page in list(reached):
            links = [target_of(page, link)[0] for link in seen[page].links if not is_outside(link)]
            reached |= {target for target in links if target in seen}
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert len(pages) > 50
    assert not pages - reached


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_page_has_every_option(name: str, seen: dict[str, Seen]) -> None:
    command = cli.get_command(None, name)  # type: ignore[arg-type]
    anchors = seen[f"reference/commands/{name}.html"].anchors
    parts = getattr(command, "commands", {}) or {"": command}
    for sub, each in parts.items():
        for option in each.params:
            if option.param_type_name == "option" and not option.hidden:
                spelt = "-".join([name, *([sub] if sub else []), option.name.strip("_").replace("_", "-")])
                assert spelt in anchors, f"{name}: {option.name}"


def test_places_of_before_lead_on(site: Path) -> None:
    lines = (ROOT / "docs" / "redirects.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line.startswith("#"):
            continue
        old, new = line.split()
        target, _, anchor = new.partition("#")
        assert (site / f"{target}.html").exists(), line
        if anchor:
            assert anchor in Seen(site / f"{target}.html").anchors, line
        if "#" not in old and old != "search":
            assert f'"{target}.html' in (site / f"{old}.html").read_text(encoding="utf-8"), line
    search = (site / "search.html").read_text(encoding="utf-8")
    assert "searchtools.js" in search, "the page of search results is the site's own"


def test_the_report_of_the_demo_is_there(site: Path) -> None:
    assert (site / "reports" / "embedded.html").stat().st_size > 100_000


# -- in a browser ------------------------------------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
AXE = next(
    (path for folder in (os.environ.get("TOPICX_AXE", ""), ROOT / "build/npm/node_modules/axe-core")
     if folder and (path := Path(folder) / "axe.min.js").exists()), None,
)  # fmt: skip
LOOKED_AT = (
    "index.html", "tutorials/first-topics.html", "reference/commands/train.html", "genindex.html", "search.html",
    "reference/python/topicx-classes.html", "explanation/performance.html", "how-to/from-mallet.html",
)  # fmt: skip
SHORT = (
    "index.html",
    "tutorials/first-topics.html",
    "reference/commands/demo.html",
    "how-to/from-mallet.html",
    "search.html",
)
"""Pages of every kind that axe needs little time for."""
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (pip install playwright)"
    )
    if CHROMIUM is None:
        pytest.skip("there is no Chromium (apt-get install chromium)")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.mark.skipif(AXE is None, reason="axe-core is not there (npm install --prefix build/npm axe-core)")
@pytest.mark.parametrize(("mode", "width"), [("light", 1280), ("dark", 375)])
def test_axe_finds_nothing(browser: Any, site: Path, mode: str, width: int) -> None:
    context = browser.new_context(
        offline=True, bypass_csp=True, color_scheme=mode, viewport={"width": width, "height": 900}
    )
    page, found = context.new_page(), []
    for name in SHORT:
        page.goto((site / name).as_uri())
        page.add_script_tag(path=str(AXE))
        told = page.evaluate("rules => axe.run(document, rules)", RULES)
        found += axe_lines(name, told)
    context.close()
    assert not found, "\n".join(found)


def test_no_page_is_wider_than_a_phone(browser: Any, site: Path) -> None:
    context = browser.new_context(offline=True, viewport={"width": 375, "height": 800})
    page, wide = context.new_page(), []
    for name in LOOKED_AT:
        page.goto((site / name).as_uri())
        wide += [name] if page.evaluate("document.documentElement.scrollWidth > innerWidth") else []
    context.close()
    assert not wide


def test_the_search_finds_pages_from_a_folder(browser: Any, site: Path) -> None:
    context = browser.new_context(offline=True)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((site / "index.html").as_uri())
    page.fill("input[name=q]", "perplexity")
    page.press("input[name=q]", "Enter")
    page.wait_for_selector("#search-results li a")
    found = [link.get_attribute("href") for link in page.locator("#search-results li a").all()]
    context.close()
    assert any("evaluate.html" in str(link) for link in found), found
    assert not wrong
