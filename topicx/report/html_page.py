"""A report as one HTML file: a front page that reads as it stands, the data, and the page's own code.

The page asks nothing of a network, and its policy forbids that.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from topicx.errors import InputError
from topicx.report.figures import format_count, format_size, plural_unit
from topicx.report.front_table import front_page, text_of
from topicx.report.packed_arrays import PackedPart
from topicx.report.page import page_script, page_style
from topicx.report.page_parts import KeptDocuments, about_part, core_part, documents_part, kept_documents, text_parts
from topicx.report.report_contents import ReportContents
from topicx.report.report_options import SizeLimits, smaller_limits

POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def hash_of(text: str) -> str:
    """The hash of a script or a style as a policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def html_report(contents: ReportContents) -> bytes:
    """The page, within the size that the options allow."""
    made: dict[tuple[Any, ...], list[PackedPart]] = {}
    page = b""
    for limits in smaller_limits(contents.options.snippets == "full"):
        page = _make_page(contents, limits, made)
        if len(page) <= contents.options.max_size:
            return page
    most = contents.options.max_size
    raise InputError(f"--max-size: the smallest page of these inputs has {len(page):,} bytes, more than {most:,}")


def _make_page(contents: ReportContents, limits: SizeLimits, made: dict[tuple[Any, ...], list[PackedPart]]) -> bytes:
    """The page under these limits. What they leave as it was is not made again."""
    documents = contents.documents
    kept = kept_documents(documents, contents.typical, limits.documents) if documents else None

    def once(name: str, make: Callable[[], list[PackedPart]], *uses: float) -> list[PackedPart]:
        key = (name, limits.documents, *uses)
        if key not in made:
            for other in [other for other in made if other[0] == name]:
                del made[other]  # limits only fall: what was made under larger ones is not asked for again
            made[key] = make()
        return made[key]

    parts = [about_part(contents, _left_out(contents, limits, kept))]
    parts += once("core", lambda: [core_part(contents, limits, kept)], limits.passages, limits.passage)
    if documents and kept is not None:
        parts += once("docs", lambda: [documents_part(contents, limits, kept)], limits.title, limits.share)
        if contents.options.snippets == "full" and limits.text:
            parts += once("texts", lambda: text_parts(contents, limits, kept), limits.text)
    return _assemble_page(contents, parts, kept)


def _left_out(contents: ReportContents, limits: SizeLimits, kept: KeptDocuments | None) -> str:
    number = len(contents.documents) if contents.documents else 0
    here = number if kept is None else len(kept.rows)
    options = contents.options
    told = limits.left_out(here, number, plural_unit(options.unit), options.snippets == "full")
    return f"{'; '.join(told)}, to stay below {format_size(options.max_size)}" if told else _nothing_left_out(contents)


def _nothing_left_out(contents: ReportContents) -> str:
    left = contents.words.left_out
    words = f" {format_count(left)} rarer words have no page of their own." if left else ""
    return f"Nothing: all topics and all documents are in this file.{words}"


def _assemble_page(contents: ReportContents, parts: Sequence[PackedPart], kept: KeptDocuments | None) -> bytes:
    options = contents.options
    style, script = page_style(), page_script()
    head = {
        "parts": {part.name: part.directory for part in parts},
        "blocks": sum(part.name.startswith("texts") for part in parts),
        "documents": 0 if kept is None else len(kept.rows),
    }
    policy = POLICY.format(script=hash_of(script), style=hash_of(style))
    title = text_of(options.title)
    data = "".join(
        f'<script type="text/plain" id="part-{part.name}">{part.packed().decode()}</script>\n' for part in parts
    )
    told = json.dumps(head, separators=(",", ":")).replace("<", "\\u003c")
    lines = [
        "<!doctype html>",
        f'<html lang="en" data-texts="{text_of(options.language)}">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="generator" content="topicx report">',
        f"<title>{title}</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        '<a class="skip" href="#content">Skip to content</a>',
        f'<header id="top"><a class="brand" href="#/" dir="auto">{title}</a><nav id="views" aria-label="Views"></nav>'
        '<div id="find"></div></header>',
        '<noscript><p class="without">Without JavaScript this page shows the table of topics. '
        "The other views need it; nothing is loaded from anywhere.</p></noscript>",
        f'<main id="content" tabindex="-1"><section id="front-view">{front_page(contents)}</section>'
        '<section id="view" hidden></section></main>',
        '<div id="status" role="status" aria-live="polite" class="hidden"></div>',
        '<footer id="foot"></footer>',
        f'<script type="application/json" id="head">{told}</script>',
        data + f"<script>{script}</script>",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines).encode("utf-8", "replace")


__all__ = ["hash_of", "html_report"]
