"""Pages and anchors of before: `redirects.txt` says where they are, and the site leads there, from file:// as well."""

from __future__ import annotations

import json
import os
from html import escape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>This page has moved</title>
<script>
var places = {places};
location.replace(places[location.hash] || "{target}" + location.hash);
</script>
<noscript><meta http-equiv="refresh" content="0; url={target}"></noscript></head>
<body><p>This page has moved: <a href="{target}">{target}</a></p></body></html>
"""
TAKEN = ("search", "genindex")
"""Names of pages that the site itself has."""
SCRIPT = "<script>(function () {{ var to = {places}[location.hash]; if (to) location.replace(to); }})();</script>"


def read_moves(source: Path) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Where each page of before stands; and for pages, where each of their anchors is that has left them."""
    pages: dict[str, str] = {}
    anchors: dict[str, dict[str, str]] = {}
    for line in (source / "redirects.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            old, new = line.split()
            page, sharp, anchor = old.partition("#")
            if sharp:
                anchors.setdefault(page, {})["#" + anchor] = new
            else:
                pages[page] = new
    return pages, anchors


def address(target: str, page: str) -> str:
    """The relative address of a page (with an anchor) as seen from another."""
    place, sharp, anchor = target.partition("#")
    return os.path.relpath(f"{place}.html", Path(page).parent).replace(os.sep, "/") + sharp + anchor


def write_redirects(app: Sphinx, error: Exception | None) -> None:
    """A page at each place of before."""
    if error or app.builder.name != "html":
        return
    pages, anchors = read_moves(Path(app.srcdir))
    for old, new in pages.items():
        moved = {anchor: address(to, old) for anchor, to in anchors.get(new, {}).items()}
        place = Path(app.outdir) / f"{old}.html"
        if old in TAKEN:
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(PAGE.format(places=json.dumps(moved), target=escape(address(new, old))), encoding="utf-8")


def lead_on(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Give a page that lost anchors a line that leads from them to where they are."""
    moved = read_moves(Path(app.srcdir))[1].get(page)
    if moved:
        places = json.dumps({anchor: address(to, page) for anchor, to in moved.items()})
        context["body"] = SCRIPT.format(places=places) + context["body"]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("build-finished", write_redirects)
    app.connect("html-page-context", lead_on)
    return {"parallel_read_safe": True}
