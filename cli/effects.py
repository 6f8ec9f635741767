"""topicx effects: how topics depend on what documents have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from topicx.cli import show
from topicx.cli.common import (
    Number,
    check_outputs,
    json_output,
    option,
    print_json,
    print_note,
    quiet,
    seed,
    threads,
)
from topicx.strings import one_line

if TYPE_CHECKING:
    from topicx.model import Model
    from topicx.regression.arrangement import Bag
    from topicx.regression.results import Effects

MOST = 5
"""Topics of a term that the terminal shows."""


@click.command("effects")
@click.argument("files", nargs=-1, required=True, metavar="MODEL CORPUS | STATE…")
@option("--formula", "-f", required=True, metavar="FORMULA",
        help="What topics are to depend on: columns of the documents, such as '~ party + s(year, df=4)'.")  # fmt: skip
@option("--topics", "chosen", default=None, metavar="NUMBERS", show_default="all",
        help="The topics of the tables: 3,7,12.")  # fmt: skip
@option("--family", type=click.Choice(["linear", "logit"]), default="linear",
        help="Differences of shares, or of their logits (fractional logit).")  # fmt: skip
@option("--se", default="robust", metavar="KIND", show_default="robust, or cluster:document of chunks",
        help="Standard errors: robust (HC1), classical, or cluster:COLUMN (CR1).")  # fmt: skip
@option("--weights", default="documents", metavar="KIND",
        help="What a document weighs: documents (all alike), tokens, or a column.")  # fmt: skip
@option("--uncertainty", type=click.Choice(["local", "global", "none"]), default=None,
        show_default="local; of several models or states: global",
        help="local: of the words' topics, the model's held; global: of the model's, too, from several models or "
        "states; none: the plug-in, which is biased toward no effect.")  # fmt: skip
@option("--draws", type=click.IntRange(2), default=20, help="Draws of the words' topics (of each model).")
@option("--lag", type=click.IntRange(1), default=8, help="Iterations between draws.")
@option("--burn-in", type=click.IntRange(1), default=80, help="Iterations before the first draw.")
@option("--level", type=Number(above=0, high=0.9999), default=0.95, help="Confidence of intervals.")
@option("--adjust", type=click.Choice(["holm", "bh", "none"]), default="holm",
        help="Adjust p-values for the number of tests: Holm; Benjamini and Hochberg; or not.")  # fmt: skip
@option("--at", multiple=True, metavar="COLUMN=VALUES", show_default="each level of each factor",
        help="Predict shares where all documents have these values: party=A,B (repeatable).")  # fmt: skip
@option("--curve", multiple=True, metavar="COLUMN",
        help="Predict shares along a column of numbers (repeatable).")  # fmt: skip
@option("--difference", multiple=True, metavar="COLUMN=A,B", help="The share at A less that at B (repeatable).")
@option("--missing", type=click.Choice(["drop", "refuse"]), default="drop",
        help="Documents that lack a value: leave them out, and say how many; or stop.")  # fmt: skip
@option("--groups-max", type=click.IntRange(2), default=20_000,
        help="Distinct rows of the design that have a prior each; of more, neighbours share one.")  # fmt: skip
@option("--output", "-o", default=None, metavar="FILE", show_default=False,
        help="Write the coefficients (tsv, csv, jsonl, parquet by name).")  # fmt: skip
@option("--predictions", default=None, metavar="FILE", show_default=False, help="Write the predicted shares.")
@option("--tests", "tests_file", default=None, metavar="FILE", show_default=False,
        help="Write a Wald test of each term and topic.")  # fmt: skip
@option("--correlations", "correlations_file", default=None, metavar="FILE", show_default=False,
        help="Write correlations of topics: of shares over documents, and of what the columns say.")  # fmt: skip
@option("--plot", "plot_file", default=None, metavar="FILE", show_default=False,
        help="Draw coefficients with intervals; with --at or --curve the predictions (png, svg, pdf).")  # fmt: skip
@seed
@threads
@json_output
@quiet
def command(
    files: tuple[str, ...], formula: str, at: tuple[str, ...], curve: tuple[str, ...], difference: tuple[str, ...],
    output: str | None, predictions: str | None, tests_file: str | None, correlations_file: str | None,
    plot_file: str | None, as_json: bool,
    quiet: bool, **chosen: Any,
) -> None:  # fmt: skip
    """Estimate how topics' shares depend on what the documents have, with intervals.

    The model's topics are held; the documents' words are given topics under a prior that knows the formula's columns.

    \b
      topicx effects news.model news.corpus --formula "~ party + s(year, df=4)" -o effects.tsv
      topicx effects news.model news.corpus --formula "~ party" --difference party=A,B --se cluster:author
      topicx effects news.model news.corpus --formula "~ s(year)" --curve year --plot curves.png
      topicx effects one.state two.state --formula "~ party"
    """
    from topicx.tables.small_tables import check_table, write_table
    from topicx.views.picture_files import check_plot

    check_outputs([output, predictions, tests_file, correlations_file, plot_file], files)
    for table in filter(None, (output, predictions, tests_file, correlations_file)):
        check_table(table)
    if plot_file:
        check_plot(plot_file)
    models, bag = _models_and_documents(files, chosen["threads"])
    _check_points(formula, bag, at, curve, difference)
    found = _estimated(models, bag, formula, quiet, correlations=bool(correlations_file), **chosen)
    predicted = _predictions(found, at, curve)
    differences = [row for one in difference for row in _difference(found, one)]
    rows, tests = found.rows(), found.tests()
    if output:
        write_table(output, rows)
    if predictions:
        write_table(predictions, predicted)
    if tests_file:
        write_table(tests_file, tests)
    if correlations_file:
        write_table(correlations_file, found.correlations())
    if plot_file:
        _plot(found, plot_file, at, curve)
    if as_json:
        print_json({"coefficients": rows, "tests": tests, "predictions": predicted, "differences": differences,
                    "notes": found.footer()})  # fmt: skip
    elif "-" not in (output, predictions, tests_file, correlations_file):
        _print(found, rows, tests, differences)


def _models_and_documents(files: tuple[str, ...], threads: int) -> tuple[list[Model], Bag]:
    """The models, and the documents: of a corpus, or of the first state."""
    from topicx.corpus.corpus import Corpus
    from topicx.errors import InputError
    from topicx.estimate import estimate
    from topicx.files import container
    from topicx.model import Model
    from topicx.state import State

    kinds: dict[str, list[str]] = {"corpus": [], "model": [], "state": []}
    for name in files:
        kind = container.kind_of(name)
        if kind not in kinds:
            raise InputError(f"{name}: is a {kind} file; effects takes models and a corpus, or states")
        kinds[kind].append(name)
    if len(kinds["corpus"]) > 1 or not (kinds["model"] or kinds["state"]):
        raise InputError("effects takes a MODEL (or several) and one CORPUS, or STATEs")
    if not kinds["corpus"] and not kinds["state"]:
        raise InputError(f"{files[0]}: give the documents, too: a corpus, or the state of the training")
    states = [State.load(name) for name in kinds["state"]]
    models = [Model.load(name) for name in kinds["model"]]
    if kinds["corpus"] or not models:
        models += [estimate(state, threads=threads, examples=0) for state in states]
    return models, Corpus.load(kinds["corpus"][0]) if kinds["corpus"] else states[0]


def _estimated(
    models: list[Model], bag: Bag, formula: str, quiet: bool, *, chosen: str | None, se: str, threads: int,
    level: float, adjust: str, uncertainty: str | None, **options: Any,
) -> Effects:  # fmt: skip
    from topicx.errors import InputError
    from topicx.regression.estimation import EffectSettings, draw_effects
    from topicx.regression.results import Effects

    topics: tuple[int, ...] = ()
    if chosen is not None:
        if not re.fullmatch(r"\d+(,\d+)*", chosen):
            raise InputError(f"--topics: {chosen!r} is not a list of numbers such as 3,7")
        topics = tuple(dict.fromkeys(map(int, chosen.split(","))))
    given = click.get_current_context().get_parameter_source("se")
    if given is click.core.ParameterSource.DEFAULT and {"document", "chunk"} <= set(bag.table):
        se = "cluster:document"
        print_note("chunks of one text are a cluster (--se cluster:document)", quiet=quiet)
    settings = EffectSettings(se=se, uncertainty=uncertainty or ("global" if len(models) > 1 else "local"), **options)
    Effects.check(models[0], level, adjust, topics)
    draws = draw_effects(models, bag, formula, settings, threads)
    return Effects(models[0], draws, settings, bag.table, level, adjust, topics)


def _assignment(option_name: str, text: str) -> tuple[str, list[str]]:
    from topicx.errors import InputError

    name, sign, values = text.partition("=")
    if not sign or not name or not values:
        raise InputError(f"--{option_name} {text}: it is to be COLUMN=VALUE, or COLUMN=VALUE,VALUE")
    return name.strip(), [value.strip() for value in values.split(",")]


def _check_points(
    formula: str, bag: Bag, at: tuple[str, ...], curve: tuple[str, ...], difference: tuple[str, ...]
) -> None:
    """Refuse before any work what could not be predicted after it."""
    from topicx.design.design import Design
    from topicx.errors import InputError
    from topicx.regression.predictions import check_values

    design = Design.fit(formula, bag.table)
    for name in curve:
        check_values(design, name, ())
    for one in at:
        check_values(design, *_assignment("at", one))
    for one in difference:
        name, values = _assignment("difference", one)
        if len(values) != 2:
            raise InputError(f"--difference {one}: it is to be COLUMN=A,B")
        check_values(design, name, values)


def _predictions(found: Effects, at: tuple[str, ...], curve: tuple[str, ...]) -> list[dict[str, Any]]:
    """Predictions for values that are asked for; if none are, for each level of each factor."""
    rows = [row for name in curve for row in found.curve(name).rows]
    if at:
        rows += found.predict(**dict(_assignment("at", one) for one in at)).rows
    if not at and not curve:
        rows = [row for name in found.draws.arranged.design.levels for row in found.curve(name).rows]
    return rows


def _difference(found: Effects, text: str) -> list[dict[str, Any]]:
    name, values = _assignment("difference", text)
    return found.difference(**{name: values})


def _plot(found: Effects, path: str, at: tuple[str, ...], curve: tuple[str, ...]) -> None:
    if curve:
        found.curve(curve[0]).plot(path)
    elif at:
        found.predict(**dict(_assignment("at", one) for one in at)).plot(path)
    else:
        found.plot(path)


def _print(
    found: Effects, rows: list[dict[str, Any]], tests: list[dict[str, Any]], differences: list[dict[str, Any]]
) -> None:
    """The topics with the largest statistics of each coefficient; differences; what was used."""
    from topicx.regression.results import told_estimate

    model, words = found.model, [" ".join(word for word, _ in row) for row in found.model.top_words(8)]
    told = [show.told_topic({"topic": k, **model.named(k)}) for k in range(model.n_topics)]
    for name in found.columns:
        mine = [row for row in rows if row["term"] == name and row["statistic"] is not None]
        if name == "Intercept" and len(found.columns) > 1:
            continue
        click.echo(one_line(name))
        for row in sorted(mine, key=lambda row: -abs(row["statistic"]))[:MOST]:
            show.print_hanging(f"  {told[row['topic']]}  {told_estimate(row)}  ", words[row["topic"]])
    several = [row for row in tests if row["df"] > 1]
    for term in dict.fromkeys(row["term"] for row in several):
        click.echo(one_line(f"{term}, all of it: F, p"))
        mine = [row for row in several if row["term"] == term]
        for row in sorted(mine, key=lambda row: -row["statistic"])[:MOST]:
            p = row["p_adjusted"] if row["p_adjusted"] is not None else row["p_value"]
            show.print_hanging(f"  {told[row['topic']]}  {row['statistic']:8.2f}  p {p:.3g}  ", words[row["topic"]])
    for which in dict.fromkeys(row["difference"] for row in differences):
        click.echo(one_line(which))
        mine = [row for row in differences if row["difference"] == which]
        for row in sorted(mine, key=lambda row: -abs(row["estimate"] / (row["std_error"] or 1)))[:MOST]:
            show.print_hanging(f"  {told[row['topic']]}  {told_estimate(row)}  ", words[row["topic"]])
    for line in found.footer():
        click.echo(one_line(line))
