"""topicx topics --over: topics slice by slice, and where a word stood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from topicx.cli import groups
from topicx.cli import show as lines
from topicx.cli.common import check_outputs, option, print_json, print_note, refuse_given, stack_options
from topicx.strings import one_line

if TYPE_CHECKING:
    from topicx.model import Model

options = stack_options(
    option("--over", is_flag=True, show_default=False,
           help="Of a model with slices: each topic's words slice by slice, what came (+) and went (-), and how far "
           "the topic moved. --plot and --table go with it."),
    option("--word", "word_names", multiple=True, metavar="WORD",
           help="Of a model with slices: the topics that a word belongs to, slice by slice (repeatable)."),
)  # fmt: skip


def show_if_asked(
    model: Model, path: str, over: bool, word_names: tuple[str, ...], words: int, chosen: tuple[int, ...],
    probabilities: bool, as_json: bool, by_options: dict[str, Any],
) -> bool:  # fmt: skip
    """Whether --over or --word was given, and if so what it asks for."""
    if word_names:
        others = [*groups.NAMES, "sort", "probabilities", "documents", "passages", "chosen", "compare", "over"]
        refuse_given(others, "does not go with --word")
        show_words(model, word_names, words, as_json)
    elif over:
        others = [name for name in groups.NAMES if name not in ("plot_file", "table")]
        refuse_given([*others, "sort", "documents", "passages", "compare"], "does not go with --over")
        asked = by_options["plot_file"], by_options["table"]
        show_slices(model, path, words, chosen, probabilities, as_json, *asked)
    return bool(word_names) or over


def show_slices(
    model: Model, path: str, words: int, chosen: tuple[int, ...], probabilities: bool, as_json: bool,
    plot_file: str | None, table: str | None,
) -> None:  # fmt: skip
    """The command with --over."""
    from topicx.tables.small_tables import check_table, write_table
    from topicx.views.picture_files import check_plot
    from topicx.views.slice_figures import plot_slices
    from topicx.views.slice_tables import describe_slices, slice_rows

    check_outputs([plot_file, table], [path])
    if plot_file:
        check_plot(plot_file)
    if table:
        check_table(table)
    rows = describe_slices(model, words, chosen)
    if plot_file:
        plot_slices(model, plot_file, chosen)
    if table:
        write_table(table, slice_rows(model, words, chosen))
    if as_json:
        print_json(rows)
        return
    for row in rows:
        _print_topic(row, probabilities)
    if rows and not any(part["moved"] for row in rows for part in row["slices"]):
        kept_none = "the run kept none (it needs more sweeps than --moves-burn-in)"
        print_note(f"no distances: {'topics were merged' if len(model.merged) else kept_none}")


def _print_topic(row: dict[str, Any], probabilities: bool) -> None:
    head = lines.told_topic(row, 1)
    lines.print_hanging(f"{head}  {row['weight']:.2%}  b {row['closeness']:,.0f}  ", " ".join(row["words"]))
    for name, title in (("rose", "rose"), ("fell", "fell")):
        if row[name]:
            lines.print_hanging(f"  {title}: ", " ".join(row[name]), colour=None)
    width = max(len(part["slice"]) for part in row["slices"])
    for part in row["slices"]:
        moved = ""
        if part["moved"]:
            one = part["moved"]
            moved = f"{one['mean']:4.0%} ({one['low']:.0%} to {one['high']:.0%})"
        words = [w["word"] + (f" ({w['probability']:.4f})" if probabilities else "") for w in part["words"]]
        fresh = set(part["new"])
        told = ["+" + text if w["word"] in fresh else text for text, w in zip(words, part["words"], strict=True)]
        gone = f"  - {' '.join(part['gone'])}" if part["gone"] else ""
        lines.print_hanging(
            f"  {part['slice']:<{width}}  {part['tokens']:>8,.0f}  {moved:<16}  ", " ".join(told) + gone, colour=None
        )


def show_words(model: Model, names: tuple[str, ...], beside: int, as_json: bool) -> None:
    """The command with --word."""
    from topicx.views.slice_tables import describe_word

    found = {name: describe_word(model, name, beside=min(beside, 8)) for name in names}
    if as_json:
        print_json([{"word": name, "slices": rows} for name, rows in found.items()])
        return
    for name, rows in found.items():
        click.echo(one_line(f"{name}: of 10,000 words, and the topics that it belongs to"))
        width = max(len(row["slice"]) for row in rows)
        for row in rows:
            rate = "     -" if row["rate"] is None else f"{row['rate']:6.1f}"
            told = (
                f"{one['share']:4.0%} {lines.told_topic(one, 1)} ({' '.join(one['words'])})" for one in row["topics"]
            )
            lines.print_hanging(f"  {row['slice']:<{width}}  {rate}  ", "; ".join(told), colour=None)
