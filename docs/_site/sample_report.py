"""The report that `topicx demo` writes, among the site's files; the gallery has a link to it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sphinx.application import Sphinx

MARK = "<!-- the report of the demo -->"
LINK = '<p><a href="../reports/embedded.html">Open this report</a>: one file, made when this site was built.</p>'


def put_link(app: Sphinx, page: str, source: list[str]) -> None:
    """Give the mark in a page the link, which leads nowhere but in the site."""
    source[0] = source[0].replace(MARK, LINK)


def write_report(app: Sphinx, error: Exception | None) -> None:
    """Run the demo, and keep its report."""
    if error or app.builder.name != "html":
        return
    place = Path(app.outdir) / "reports" / "embedded.html"
    place.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "topicx", "demo", "-o", folder, "-q"], check=True, capture_output=True)
        shutil.copy(Path(folder) / "texts.html", place)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", put_link)
    app.connect("build-finished", write_report)
    return {"parallel_read_safe": True}
