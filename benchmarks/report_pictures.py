"""The pictures of reports in the README and in the gallery: the embedded texts, the State of the Union by decade,
20 Newsgroups. The last two need their texts (DIR/sotu, DIR/20news-bydate) and are left as they are without them.

    python benchmarks/report_pictures.py [--data DIR] [--only embedded,sotu,news]

Chromium draws them (Debian's package chromium, and playwright from PyPI).
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
VIEWS = {
    "embedded": {"topics": ("#/", 820), "group": ("#/over/collection", 900)},
    "sotu": {
        "topics": ("#/", 900), "topic": ("#/topic/{navy}", 1000), "time": ("#/over/time", 900),
        "document": ("#/document/1898-McKinley-1.048", 860),
    },
    "news": {"topics": ("#/", 860), "families": ("#/families", 900)},
}  # fmt: skip


def topicx(folder: Path, line: str) -> None:
    """Run a command in the folder."""
    subprocess.run([sys.executable, "-m", "topicx", *line.split("|")], cwd=folder, check=True)


def address_rows(data: Path) -> Iterator[dict[str, object]]:
    """The paragraphs of the addresses, with year, party and title."""
    with gzip.open(data / "sotu" / "meta.tsv.gz", "rt", encoding="utf-8") as lines:
        meta = {row[0]: row for row in (line.rstrip("\n").split("\t") for line in lines)}
    with gzip.open(data / "sotu" / "paragraphs.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            name, year, text = line.rstrip("\n").split("\t")
            row = meta[name.rsplit(".", 1)[0]]
            yield {"id": name, "text": text, "year": int(year), "party": row[4], "title": f"{row[3]}, {year}"}


def posting_rows(data: Path) -> Iterator[dict[str, object]]:
    """The postings with their newsgroup."""
    with gzip.open(data / "20news-bydate" / "docs.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            name, label, text = line.rstrip("\n").split("\t")
            yield {"id": name, "label": label, "text": text}


def make_embedded(folder: Path, data: Path | None) -> None:
    """A report of the embedded texts."""
    topicx(folder, "demo|-o|.|-q")
    shutil.move(folder / "texts.html", folder / "embedded.html")


def make_sotu(folder: Path, data: Path) -> None:
    """A report of the addresses by decade."""
    rows = (json.dumps(row, ensure_ascii=False) + "\n" for row in address_rows(data))
    (folder / "sotu.jsonl").write_text("".join(rows), encoding="utf-8")
    topicx(folder, "import|sotu.jsonl|-o|sotu.corpus|--time-field|year|--column|party|--column|title"
           "|--remove-stopwords|--min-count|5|--snippet|6000|-q")  # fmt: skip
    topicx(
        folder, "train|sotu.corpus|-k|40|--iterations|300|--optimize-interval|10|-o|sotu.model|--state|sotu.state|-q"
    )
    topicx(folder, "report|sotu.model|--state|sotu.state|--by|time|--by|party|--bins|decade|--unit|paragraph"
           "|--snippets|full|--title|State of the Union|-o|sotu.html|-q")  # fmt: skip


def make_news(folder: Path, data: Path) -> None:
    """A report of the postings."""
    (folder / "news.jsonl").write_text("".join(json.dumps(row) + "\n" for row in posting_rows(data)), encoding="utf-8")
    topicx(folder, "import|news.jsonl|-o|news.corpus|--remove-stopwords|--min-count|10|--snippet|400|-q")
    topicx(
        folder, "train|news.corpus|-k|50|--iterations|200|--optimize-interval|10|-o|news.model|--state|news.state|-q"
    )
    topicx(folder, "report|news.model|--state|news.state|--unit|posting|--title|20 Newsgroups|-o|news.html|-q")


MAKERS = {"embedded": make_embedded, "sotu": make_sotu, "news": make_news}


def take_pictures(name: str, file: Path) -> None:
    """The pictures of one report's views."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for view, (place, height) in VIEWS[name].items():
            page = browser.new_context(offline=True, viewport={"width": 1280, "height": height}).new_page()
            page.goto(file.as_uri())
            page.wait_for_selector("html[data-ready]")
            if "{navy}" in place:  # the topic of that word, whatever its number
                page.goto(file.as_uri() + "#/word/navy")
                page.wait_for_selector("#view tbody td a, #view tbody th")
                place = place.format(navy=page.locator("#view tbody th").first.inner_text())
            page.goto(file.as_uri() + place)
            page.wait_for_timeout(800)
            page.screenshot(path=str(FIGURES / f"report-{name}-{view}.png"))
            print(f"report-{name}-{view}.png: {page.locator('h1:visible').first.get_attribute('class') or ''}"
                  f"{page.locator('h1:visible').first.inner_text()}")  # fmt: skip
        browser.close()


def main() -> None:
    """Make the reports and their pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--only", default="embedded,sotu,news")
    chosen = parser.parse_args()
    for name in chosen.only.split(","):
        if name != "embedded" and chosen.data is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            MAKERS[name](Path(folder), chosen.data)
            take_pictures(name, Path(folder) / f"{name}.html")


if __name__ == "__main__":
    main()
