"""topicx topics --by: topics by time, label, collection or any column of the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from topicx.cli import show as lines
from topicx.cli.common import (
    Number,
    check_outputs,
    check_state,
    option,
    print_json,
    print_note,
    refuse_given,
    seed,
    stack_options,
    threads,
)
from topicx.corpus.slices import UNITS
from topicx.strings import one_line

if TYPE_CHECKING:
    from topicx.model import Model
    from topicx.views.group_mixtures import Mixtures


def _one_column(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> str | None:
    """The column of --by; two of them are a mistake, of which no one may win."""
    from topicx.errors import InputError

    if len(values) > 1:
        raise InputError(f"--by {' --by '.join(values)}: topics are shown by one column at a time")
    return values[0] if values else None


options = stack_options(
    option(
        "--by", default=None, metavar="COLUMN", show_default=False, multiple=True, callback=_one_column,
        help="The topics of each label, collection, time, or value of a further column of the documents, which "
        "--corpus, --doc-topics or --state gives; compound models know their own collections (collection, or time: in "
        "that order).",
    ),
    option("--corpus", default=None, metavar="FILE", show_default=False,
           help="--by: the documents; their topics are inferred, as infer does."),
    option("--state", default=None, metavar="FILE", show_default=False,
           help="--by: the training's own documents and topics."),
    option("--doc-topics", default=None, metavar="FILE", show_default=False,
           help="--by: a table of topics that infer, or train --doc-topics, wrote: nothing is inferred again."),
    option("--bins", type=click.Choice(list(UNITS)), default=None, show_default="as narrow as gives 40 bins at most",
           help="--by time, or a column of times: bins of the calendar; those without documents are shown, too."),
    option("--every", type=click.IntRange(1), default=None, show_default="1",
           help="--by: bins of so many of these (years, if --bins is not given; or units, of numbers)."),
    option("--periods", default=None, metavar="FIRST-LAST,…", show_default=False,
           help="--by time, or a column of times: these spans alone, and each one's difference to the one before it "
           "(1800-1849,1900-1949; months or days: 1990-05/1992-12,…)."),
    option("--top", type=click.IntRange(1), default=5, help="--by: topics of a group; rising and falling topics."),
    option("--plot", "plot_file", default=None, metavar="FILE", show_default=False,
           help="--by, --over: draw it (png, svg or pdf)."),
    option("--table", default=None, metavar="FILE", show_default=False,
           help="--by: write all groups × topics: shares, intervals, counts (tsv, csv, jsonl, parquet by name); "
           "--over: all slices × topics × words."),
    option("--contrast", default=None, metavar="STATE", show_default=False,
           help="--by: words that a topic has in one collection more than in the others, from the run's state."),
    option("--level", type=Number(above=0, high=0.9999), default=0.9, help="--by: confidence of the intervals."),
    option("--shares", type=click.Choice(["effects", "plug-in"]), default="effects",
           help="--by: topic proportions drawn under a prior that knows the groups; or as infer gives them, which "
           "makes groups more alike than they are."),
    seed,
    threads,
)  # fmt: skip
NAMES = (
    "corpus", "state", "doc_topics", "bins", "every", "periods", "top", "plot_file", "table", "contrast", "level",
    "shares", "seed", "threads",
)  # fmt: skip
"""The options that are for --by alone."""


def show_groups(
    model: Model, path: str, by: str, words: int, chosen: tuple[int, ...], as_json: bool, *, corpus: str | None,
    state: str | None, doc_topics: str | None, bins: str | None, every: int | None, periods: str | None, top: int,
    plot_file: str | None, table: str | None, contrast: str | None, level: float, shares: str,
    seed: int, threads: int,
) -> None:  # fmt: skip
    """The command with --by."""
    from topicx.corpus.periods import parse_periods
    from topicx.errors import InputError
    from topicx.tables.small_tables import check_table, write_table
    from topicx.views import group_mixtures
    from topicx.views.picture_files import check_plot

    check_outputs([plot_file, table], [path, corpus, state, doc_topics, contrast])
    if plot_file:
        check_plot(plot_file)
    if table:
        check_table(table)
    given = {"corpus": corpus, "state": state, "theta": doc_topics}
    if sum(map(bool, given.values())) > 1:
        raise InputError("--by: the documents are those of --corpus, of --doc-topics or of --state, not of several")
    if not corpus and (shares == "plug-in" or not state):
        refuse_given(("seed",), "is for --by with --corpus or --state, whose documents' topics are drawn")
    if doc_topics:
        refuse_given(("shares",), "is for --by with --corpus or --state: a table's topic proportions are as they are")
    if any(given.values()):
        found, ordered, unit = _of_documents(
            model, by, bins, every, seed=seed, threads=threads, share=level,
            periods=parse_periods(periods) if periods is not None else (),
            method="plug-in" if doc_topics else shares, **given,
        )  # fmt: skip
    else:
        refuse_given(
            ("bins", "every", "periods", "shares", "threads"), "is for --by with --corpus, --doc-topics or --state"
        )
        if by not in ("collection", "time") or "pi" not in model.side:
            raise InputError(
                "--by: give the documents: --corpus FILE (any), --doc-topics FILE (that infer "
                "or train wrote), or --state FILE (those of the training)"
            )
        found, ordered, unit = group_mixtures.mixtures_of_model(model, by, level), by == "time", "unit of time"
    result: dict[str, Any] = {"groups": group_mixtures.describe_mixtures(model, found, top, words, chosen)}
    if ordered and len(found.names) > 1:
        result["trends"] = group_mixtures.describe_trends(model, found, True, top, words, chosen)
    if periods:
        result["differences"] = group_mixtures.describe_differences(model, found, top, words, chosen)
    if contrast:
        result["contrasts"] = _contrasts(model, contrast, words, chosen)
    if plot_file:
        group_mixtures.plot_mixtures(model, found, plot_file, ordered, top, chosen)
    if table:
        write_table(table, group_mixtures.rows_of(model, found, by))
    if as_json:
        print_json(result)
    else:
        _print_groups(result, unit, bool(chosen))
        if not (len(found.draws) or len(found.errors)):
            print_note(
                "no intervals: the run kept no draws of the proportions (it needs more sweeps than --pi-burn-in)"
            )


def _contrasts(model: Model, path: str, words: int, chosen: tuple[int, ...]) -> list[dict[str, Any]]:
    """The words that each topic has in one collection more than in the others, by the run's state."""
    from topicx.errors import InputError
    from topicx.estimate.topic_edits import follow_model_edits
    from topicx.state import State
    from topicx.views.group_mixtures import contrast_words

    of_run = State.load(path)
    check_state(model, of_run, path)
    if len(of_run.alpha) != len(model.alpha):
        raise InputError(f"{path}: is not a state of this model: it has {len(of_run.alpha)} collections")
    names = list(model.group_names)
    return [
        {"topic": k, **model.named(k), "collection": names[j] if names else str(j),
         "words": [{"word": w, "z": z} for w, z in row]}
        for k, rows in enumerate(contrast_words(model, follow_model_edits(of_run, model), words))
        if not chosen or k in chosen for j, row in enumerate(rows)
    ]  # fmt: skip


def _of_documents(
    model: Model, by: str, bins: str | None, every: int | None, **source: Any
) -> tuple[Mixtures, bool, str]:  # fmt: skip
    """Shares by the documents of a corpus, a table or a state; whether groups have an order; and what a trend is by."""
    from topicx.views.topics_by_column import by_documents

    found, groups, empty = by_documents(model, by, unit=bins, every=every, **source)
    if source["method"] == "plug-in":
        alpha, documents = float(model.alpha.sum(axis=1).mean()), max(int(found.documents.sum()), 1)
        tokens = float(found.tokens.sum()) / documents
        print_note(
            f"note: these topic proportions know nothing of the groups: differences shrink to about "
            f"{tokens / (tokens + alpha) if tokens else 0:.2f} of what they are (N / (N + Σα), N = {tokens:.0f} "
            f"tokens, Σα = {alpha:.1f})"
        )
    if empty:
        print_note(f"note: {empty:,} documents without a word that the model knows are left out")
    if not groups.whole:
        print_note("note: the table has the largest shares of each document alone: the others count as nothing")
    return found, groups.ordered, "year" if groups.dates else f"unit of {by}"


def _print_groups(result: dict[str, Any], unit: str, chosen: bool) -> None:
    groups = result["groups"]
    if chosen:  # a table a topic
        for place, topic in enumerate(groups[0]["topics"]):
            lines.print_hanging(f"topic {lines.told_topic(topic, 1)}  ", " ".join(topic["words"]))
            width = max(len(row["group"]) for row in groups)
            for row in groups:
                each = row["topics"][place]
                counts = f"{row['documents']:>7,} documents"
                click.echo(one_line(f"  {row['group']:<{width}}  {counts}  {_format_share(each)}"))
    else:
        for row in groups:
            tokens = f", {row['tokens']:,} tokens" if "tokens" in row else ""
            click.echo(one_line(f"{row['group']}  ({row['documents']:,} documents{tokens})"))
            for topic in row["topics"] if row["documents"] or "tokens" not in row else ():
                lines.print_hanging(f"  {_format_share(topic)}  {lines.told_topic(topic)}  ", " ".join(topic["words"]))
    if result.get("trends"):
        click.echo(f"rising and falling, percentage points a {unit}:")
    for row in result.get("trends", ()):
        share = f"{100 * row['slope']:+7.3f}{_format_interval(row['low'], row['high'], sign=True)}"
        lines.print_hanging(f"  {share}  {row['trend'] or '-':>5}  {lines.told_topic(row)}  ", " ".join(row["words"]))
    told = None
    for row in result.get("differences", ()):
        if told != (told := (row["of"], row["less"])):
            click.echo(one_line(f"{told[0]} less {told[1]}, percentage points:"))
        each = f"{100 * row['difference']:+7.2f}{_format_interval(row['low'], row['high'], sign=True, digits=2)}"
        lines.print_hanging(f"  {each}  {lines.told_topic(row)}  ", " ".join(row["words"]))
    if "contrasts" in result:
        click.echo("words of a topic that one collection has more than the others:")
    for row in result.get("contrasts", ()):
        if row["words"]:
            lines.print_hanging(
                f"  {lines.told_topic(row)}  {row['collection']}: ", " ".join(word["word"] for word in row["words"])
            )


def _format_share(topic: dict[str, Any]) -> str:
    if topic["share"] is None:
        return "     -"
    return f"{topic['share']:6.2%}{_format_interval(topic['low'], topic['high'])}"


def _format_interval(low: float | None, high: float | None, sign: bool = False, digits: int = 3) -> str:
    """An interval, as lines show it."""
    if low is None or high is None:
        return ""
    return f" ({100 * low:+.{digits}f} to {100 * high:+.{digits}f})" if sign else f" ({low:.2%} to {high:.2%})"
