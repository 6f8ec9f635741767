"""The code of the page: scripts and styles as they are written, one thing each, put together in their order."""

from __future__ import annotations

from pathlib import Path

SCRIPTS = (
    "decode", "figures", "elements", "topics_known", "colours", "axes", "line_chart", "interval_chart", "scatter",
    "dot_row", "family_tree", "downloads", "view_topics", "view_topic", "view_documents", "view_document", "view_word",
    "view_time", "view_groups", "view_families", "view_quality", "view_about", "edits", "find", "keyboard", "router",
)  # fmt: skip
STYLES = ("tokens", "text", "layout", "tables", "charts", "views", "print")


def page_script() -> str:
    """All scripts as one function, which leaves nothing behind."""
    return '(()=>{"use strict";\n' + "\n".join(_read_part(f"{name}.js") for name in SCRIPTS) + "\n})();"


def page_style() -> str:
    """All styles."""
    return "\n".join(_read_part(f"{name}.css") for name in STYLES)


def _read_part(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()
