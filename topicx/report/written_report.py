"""A report as Python programs and notebooks have it."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topicx.engines.memory_limits import parse_size
from topicx.errors import InputError
from topicx.files.atomic_output import atomic_output
from topicx.model import Model
from topicx.report.report_making import ReportInputs, gathered_contents, render_report
from topicx.report.report_options import SHARES, SNIPPETS, ReportOptions

SHOWN = 2_000_000
"""The largest page that a notebook shows within itself."""
INPUTS = tuple(name for name in ReportInputs.__dataclass_fields__ if name != "shares")


@dataclass(frozen=True)
class WrittenReport:
    """A report: its bytes, and where it was written."""

    data: bytes
    path: str | None = None

    def save(self, path: str | os.PathLike[str]) -> WrittenReport:
        """Write it to a file."""
        with atomic_output(path) as out:
            out.write(self.data)
        return WrittenReport(self.data, os.fspath(path))

    def __repr__(self) -> str:
        return f"WrittenReport({len(self.data) / 1e6:.1f} MB{f', {self.path}' if self.path else ''})"

    def _repr_html_(self) -> str:
        if len(self.data) > SHOWN or not self.data.startswith(b"<!doctype html>"):
            told = html.escape(self.path, quote=True) if self.path else ""
            where = f'<a href="{told}">{told}</a>' if told else "report.save(path) writes it"
            return f"<p>A report of {len(self.data) / 1e6:.1f} MB: {where}</p>"
        page = html.escape(self.data.decode("utf-8"), quote=True)
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" width="100%" height="720"></iframe>'


def made_report(model: Model, path: str | os.PathLike[str] | None = None, **asked: Any) -> WrittenReport:
    """A report of a model; what may be asked for stands with `Model.report`."""
    inputs = {name: asked.pop(name) for name in INPUTS if name in asked}
    known = set(ReportOptions.__dataclass_fields__) - {"command"}
    wrong = sorted(set(asked) - known)
    if wrong:
        raise InputError(f"{wrong[0]}: is no option of a report; there are {', '.join([*INPUTS, *sorted(known)])}")
    if asked.get("snippets", "short") not in SNIPPETS:
        raise InputError(f"snippets: {asked['snippets']!r} is none of {', '.join(SNIPPETS)}")
    if asked.get("shares") not in (None, *SHARES):
        raise InputError(f"shares: {asked['shares']!r} is none of {', '.join(SHARES)}")
    by = asked.get("by", ())
    asked["by"] = (by,) if isinstance(by, str) else tuple(by)
    size = asked.get("max_size", ReportOptions.max_size)
    asked["max_size"] = parse_size(size) if isinstance(size, str) else int(size)
    options = ReportOptions(**{"title": "Topics", "command": "model.report(…)"} | asked)
    ending = "" if path is None else Path(os.fspath(path).removesuffix(".gz")).suffix.lower()
    data = render_report(
        {".md": "md", ".json": "json"}.get(ending, "html"), gathered_contents(model, options, ReportInputs(**inputs))
    )
    report = WrittenReport(data)
    return report if path is None else report.save(path)
