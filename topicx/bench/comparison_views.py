"""A comparison of programs as a table and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicx.bench.comparison import Comparison, Trial
from topicx.bench.peer_programs import PEERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def comparison_table(result: Comparison) -> str:
    """The comparison as text."""
    compared = {line["program"]: line for line in result.comparison()}
    head = ["program", "M tokens/s", "", "seconds", "perplexity", "likelihood", "memory"]
    under = ["", "early", "late", "", "held out", "joint, per token", "MB (bytes/token)"]
    if compared:
        head += [f"to {result.reference}'s", "perplexity", f"to {result.reference}'s", "likelihood"]
        under += ["seconds", "times faster", "seconds", "times faster"]
    lines = [head, under]
    notes = []
    for run in result.runs:
        last = run.measured[-1] if run.measured else run.rows[-1] if run.rows else None
        tokens = result.corpus["tokens"]
        cells = [
            _trial_label(run),
            _format_figure(run.early, 1e-6, 1),
            _format_figure(run.late, 1e-6, 1),
            _format_figure(last.seconds if last else None, 1, 2),
            _format_figure(last.perplexity if last else None, 1, 1),
            _format_figure(last.likelihood if last else None, 1, 4),
            f"{run.memory / 1e6:.0f} ({run.memory / tokens:.0f})" if run.memory else "-",
        ]
        line = compared.get(run.name)
        if line:
            for what in ("perplexity", "likelihood"):
                cells += [_format_figure(line[what]["seconds"], 1, 2), _format_figure(line[what]["ratio"], 1, 2)]
        lines.append(cells)
        if run.problem:
            notes.append(f"{run.name}: {run.problem}" + (f", at sweep {run.rows[-1].sweep}" if run.rows else ""))
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = [
        "  ".join(cell.rjust(width) if column else cell.ljust(width)
                  for column, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip()
        for line in lines
    ]  # fmt: skip
    text.insert(2, "  ".join("-" * width for width in widths))
    facts, settings = result.corpus, result.settings
    title = (
        f"{facts['documents']:,} documents, {facts['tokens']:,} tokens, {facts['words']:,} words; held out "
        f"{facts['held_out_documents']:,} documents\nK={settings.topics}, α={settings.alpha:g}, β={settings.beta:g}, "
        f"{settings.iterations} sweeps, {settings.threads} thread{'s' if settings.threads > 1 else ''}, "
        f"seed {settings.seed}, {result.machine['processor']}"
        + (", seconds of processor time" if settings.clock == "cpu" else "")
    )
    if result.missing:
        notes.append(f"not installed: {', '.join(result.missing)}")
    return "\n".join([title, "", *text, *([""] if notes else []), *notes])


def _trial_label(run: Trial) -> str:
    sampler, start = run.about.get("sampler"), run.about.get("start")
    said = [sampler if sampler and run.name.split(":")[0] == "auto" else "", f"{start} start" if start else ""]
    said += [f"φ {run.about['phi']}" if "phi" in run.about else ""]
    said += [run.about.get("version", "")] if run.name in PEERS else []
    inside = ", ".join(word for word in said if word)
    return f"{run.name} ({inside})" if inside else run.name


def _format_figure(value: float | None, scale: float, digits: int) -> str:
    return "-" if value is None else f"{value * scale:,.{digits}f}"


def draw_comparison(result: Comparison) -> Figure:
    """Perplexity and likelihood against seconds of training."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    panels = figure.subplots(1, 2)
    for panel, what, title in zip(
        panels,
        ("perplexity", "likelihood"),
        ("completion perplexity of held-out documents", "joint log-likelihood per token"),
        strict=True,
    ):
        values: list[float] = []
        for number, run in enumerate(result.runs):
            rows = [row for row in run.rows if getattr(row, what) is not None and row.seconds > 0]
            if not rows:
                continue
            heights = [getattr(row, what) for row in rows]
            style = "--" if run.name in PEERS else "-"
            panel.plot(
                [row.seconds for row in rows], heights, style, color=f"C{number}", marker=".", label=_trial_label(run)
            )
            values += heights
        panel.set_xscale("log")
        panel.set_xlabel("seconds of training")
        panel.set_title(title, fontsize=10)
        panel.grid(alpha=0.3)
        if values and what == "perplexity":
            panel.set_yscale("log")
            panel.set_ylim(min(values) * 0.97, min(max(values), min(values) * 2.2))
        if values:
            panel.legend(fontsize=8)
    settings = result.settings
    title = f"{result.corpus['tokens']:,} tokens, K={settings.topics}, {settings.threads} thread(s)"
    figure.suptitle(title, fontsize=11)
    return figure
