"""Sections of a Markdown report on topics over time and by group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topicx.report.figures import as_percent, format_count, of_bin, plural_unit
from topicx.report.group_sentences import largest_groups
from topicx.report.markdown_texts import escape_markdown, spark_blocks
from topicx.report.report_contents import ColumnView, ReportContents

GROUPS = 6
"""Groups that stand beside one another in a table."""
ROWS = 60
"""Topics of a table."""


def group_sections(contents: ReportContents) -> list[str]:
    """A section for each column."""
    return [line for view in contents.columns for line in _section(contents, view)]


def _section(contents: ReportContents, view: ColumnView) -> list[str]:
    over = view.ordered and view.spans is not None and len(view.spans.known) > 1
    lines = [f"## {'Over' if over else 'By'} {escape_markdown(view.label)}", ""]
    if view.headline:
        lines += [f"{escape_markdown(contents.told(view.headline))}.", ""]
    lines += [escape_markdown(shares_note(contents, view)), ""]
    return [*lines, *(_table_of_spans(contents, view) if over else _table_of_groups(contents, view)), ""]


def shares_note(contents: ReportContents, view: ColumnView) -> str:
    """What the shares are, and how they were found."""
    if view.shares.predicted:
        return (
            f"What the regression predicts for each {view.label}, with all else that it knows held as it is, with its "
            "intervals."
        )
    unit = plural_unit(contents.options.unit)
    told = f"Mean share of the {unit} of each, with {view.shares.found.share:.0%} intervals."
    if view.partial:
        told += f" The last span is not complete: {view.partial}."
    return f"{told} {view.shares.note}" if view.shares.note else told


def _with_interval(mean: float, low: float, high: float) -> str:
    if not np.isfinite(mean):
        return "–"
    if not np.isfinite(low):
        return as_percent(mean)
    return f"{as_percent(mean)} ({as_percent(low).rstrip('%')} to {as_percent(high).rstrip('%')})"


def _table_of_spans(contents: ReportContents, view: ColumnView) -> list[str]:
    """A row a topic: first span, highest, last."""
    mean = view.shares.mean
    low, high = view.shares.intervals()
    known = np.flatnonzero(np.isfinite(view.shares.found.times))
    some = known[np.isfinite(mean[known, 0])]
    if not len(some):
        return ["No span has documents with words."]
    first, last = int(some[0]), int(some[-1])
    lines = [
        f"| No. | Topic | {escape_markdown(view.names[first])} | Highest | {escape_markdown(view.names[last])} | |",
        "|---|---|---|---|---|---|",
    ]
    rows = [k for k in view.order if contents.model.shown[k]]
    for k in rows[:ROWS]:
        ends = (_with_interval(mean[j, k], low[j, k], high[j, k]) for j in (first, last))
        peak = some[int(np.argmax(mean[some, k]))]
        highest = f"{as_percent(mean[peak, k])} in {escape_markdown(of_bin(view.names[peak]))}"
        cells = [
            str(k),
            escape_markdown(contents.called(k)),
            next(ends),
            highest,
            next(ends),
            spark_blocks(mean[known, k]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines + _rest(len(rows))


def _table_of_groups(contents: ReportContents, view: ColumnView) -> list[str]:
    """A row a topic, those whose shares differ most first; a column a group."""
    mean = view.shares.mean
    low, high = view.shares.intervals()
    order = largest_groups(view.shares.found.documents)
    some = sorted(order[:GROUPS])
    if not some:
        return ["No group has documents with words."]
    unit = plural_unit(contents.options.unit)
    heads = [
        f"{escape_markdown(view.names[g])}, {format_count(int(view.shares.found.documents[g]))} {unit}" for g in some
    ]
    lines = [f"| No. | Topic | {' | '.join(heads)} |", "|---|---|" + "---|" * len(some)]
    rows = _by_difference(mean[some], contents.model.shown)
    for k in rows[:ROWS]:
        cells = [_with_interval(mean[g, k], low[g, k], high[g, k]) for g in some]
        lines.append(f"| {k} | {escape_markdown(contents.called(k))} | {' | '.join(cells)} |")
    left = len(order) - len(some)
    more = [f"{left} more groups, with fewer {unit}, are in the report as HTML or JSON."] if left > 0 else []
    return lines + _rest(len(rows)) + (["", *more] if more else [])


def _by_difference(mean: NDArray[np.float64], shown: NDArray[np.bool_]) -> list[int]:
    known = np.isfinite(mean[:, 0])
    spread = np.ptp(mean[known], axis=0) if known.any() else np.zeros(mean.shape[1])
    return [int(k) for k in np.lexsort((np.arange(len(spread)), -spread)) if shown[k]]


def _rest(rows: int) -> list[str]:
    return ["", f"{rows - ROWS} more topics are in the report as HTML or JSON."] if rows > ROWS else []
