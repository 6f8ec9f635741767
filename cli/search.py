"""topicx search: how many topics?"""

from __future__ import annotations

import contextlib
import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicx import model_registry as models
from topicx.cli import declared, priors
from topicx.cli.common import (
    Number,
    check_outputs,
    cluster_options,
    json_output,
    on_command_line,
    open_engine,
    option,
    print_json,
    print_note,
    quiet,
    stack_options,
    threads,
)  # fmt: skip
from topicx.cli.folds import parse_list
from topicx.declare import declared_options
from topicx.errors import InputError, TopicxError
from topicx.sampling.run_options import Options

if TYPE_CHECKING:
    from topicx.evaluate.search import Search

APART = ("topics", "chain", "paths")
COLUMNS = {
    "perplexity": ("perplexity", 1, True, 15), "coherence": ("coherence", 3, True, 14),
    "exclusivity": ("exclusive", 3, True, 13), "stability": ("stability", 3, False, 9), "umass": ("umass", 1, False, 7),
    "cao_juan": ("cao-juan", 4, False, 8), "arun": ("arun", 3, False, 7), "seconds": ("seconds", 1, False, 7),
}  # fmt: skip
"""How each measure is shown: title, digits, whether with the spread over chains, width."""
OWN = {
    name: models.find_definition(name).Own
    for name in models.model_names()
    if not models.find_definition(name).elsewhere
}
"""The options of their own that the models have which are searched."""
training = stack_options(
    option("--model", type=click.Choice(models.model_names()), default="lda",
           help=f"What is learnt ({', '.join(OWN)}; of others, a message says how their number of topics is found)."),
    *(declared.click_option(name, one, default) for name, (one, default) in declared_options(Options).items()
      if name not in APART and not one.hidden)
)  # fmt: skip


@click.command("search", cls=declared.Grouped)
@click.argument("corpus")
@option("--topics", "-k", default="10,20,40,80", metavar="K,K,…", help="Numbers of topics to try.")
@option("--chains", type=click.IntRange(1, 1000), default=3, help="Models of each number, from independent chains.")
@option("--held-out", type=Number(0.001, 0.9), default=0.1, help="Share of the documents that no model is trained on.")
@option("--words", "-n", type=click.IntRange(2), default=10, help="Top words a topic, for coherence and exclusivity.")
@option("--cells", default=None, metavar="FILE", show_default=False,
        help="Keep finished rows in this file (JSON lines), and take from it those of the same search.")  # fmt: skip
@option("--plot", "plot_file", default=None, metavar="FILE", show_default=False, help="Draw it (png, svg or pdf).")
@training
@stack_options(*declared.of_models(OWN))
@json_output
@cluster_options
@threads
@quiet
@click.pass_context
def command(
    context: click.Context, corpus: str, topics: str, chains: int, held_out: float, words: int, cells: str | None,
    plot_file: str | None, as_json: bool, cluster: str | None, shared: str | None, threads: int, quiet: bool,
    **settings: Any,
) -> None:  # fmt: skip
    """Train models with several numbers of topics on CORPUS, and measure what speaks for each.

    \b
      topicx search news.corpus -k 10,20,40,80 --chains 3
      topicx search news.corpus -k 20,40,60 --iterations 500 --plot search.png --cells search.jsonl

    For each number: perplexity of held-out documents (less is better), coherence (NPMI), exclusivity and stability
    over chains (more is better), the figures of Mimno 2011, Cao & Juan 2009 and Arun 2010, and the seconds of training.
    Ctrl-C keeps the rows that are finished.
    """
    from topicx.cli.log import Log
    from topicx.corpus.corpus import Corpus
    from topicx.evaluate.search import CLOSING, check_model, check_numbers, search
    from topicx.run import check_fit
    from topicx.sampling import sampler_registry
    from topicx.stop_signals import Stopper
    from topicx.views.picture_files import check_plot

    check_outputs([plot_file, cells], [corpus])
    check_model(settings["model"])
    if plot_file:
        check_plot(plot_file)
    numbers = check_numbers(parse_list("topics", topics, int))
    settings["alpha"] = priors.parse_alpha(settings["alpha"], numbers[0])
    if not isinstance(settings["alpha"], float | int | None):
        raise InputError("--alpha: a number a topic does not go with several numbers of topics; give one number")
    given = [name for name in on_command_line(context) if name in settings]
    settings["own"] = declared.take_own_options(OWN, settings, given)
    options = Options(topics=numbers[0], **settings)
    check_fit(models.definition_of(options), options)
    if settings["sampler"] != "auto":
        options.check_sampler(sampler_registry.find_sampler(settings["sampler"]), given)
    loaded = Corpus.load(corpus)
    about = {"corpus": loaded.digest, "chains": chains, "held_out": held_out, "words": words, **settings}
    known = _finished_rows(cells, about)
    if not as_json:
        click.echo(" ".join(["topics", *(f"{title:>{width}}" for title, _, _, width in COLUMNS.values())]))

    def told(row: dict[str, Any]) -> None:
        if not as_json:
            click.echo(_format_row(row))

    def keep(row: dict[str, Any]) -> None:
        if cells:
            _append_row(cells, {"search": about, **row})
        told(row)

    for row in known:
        if row["topics"] in numbers:
            told(row)
    seed, log = settings.pop("seed"), partial(print_note, quiet=quiet)
    with (
        open_engine(cluster, shared, cells or "-", threads, None, log) as engine,
        Stopper(told=Log(quiet).tell_finishing) as stopper,
    ):
        found = search(
            loaded, numbers, chains=chains, held_out=held_out, words=words, seed=seed, threads=engine, known=known,
            each=keep, stop=lambda: stopper.asked, **settings,
        )  # fmt: skip
    if as_json:
        print_json({"table": found.table(), "rows": found.rows})
    if plot_file and found.rows:
        _draw_figure(found, plot_file)
    if found.stopped:
        rest = f"; to go on: the same command (--cells {cells})" if cells else " (--cells FILE keeps them)"
        print_note(f"stopped after {len(found.rows)} of {len(numbers)} numbers of topics{rest}")
        raise click.exceptions.Exit(130)
    print_note(CLOSING, quiet=quiet)


def _draw_figure(found: Search, path: str) -> None:
    from matplotlib.figure import Figure

    from topicx.views.picture_files import write_picture

    figure = Figure(figsize=(10, 6), layout="constrained")
    found.plot(figure)
    write_picture(figure, path)


def _format_row(row: dict[str, Any]) -> str:
    import numpy as np

    cells = [f"{row['topics']:>6}"]
    for name, (_, digits, spread, width) in COLUMNS.items():
        values = row[name]
        cell = f"{np.mean(values):.{digits}f}" if values else "-"
        cell += f" ± {np.std(values, ddof=1):.{digits}f}" if spread and len(values) > 1 else ""
        cells.append(f"{cell:>{width}}")
    return " ".join(cells)


def _append_row(path: str, row: dict[str, Any]) -> None:
    """Add a row to the file: all of it, or nothing."""
    before = Path(path).stat().st_size if Path(path).is_file() else 0
    try:
        with Path(path).open("ab", buffering=0) as out:
            line = (json.dumps(row) + "\n").encode()
            while line:
                line = line[out.write(line) :]
    except OSError as error:
        with contextlib.suppress(OSError):
            os.truncate(path, before)
        raise TopicxError(f"{path}: writing failed: {error.strerror}") from None


def _mend_last_line(path: str) -> None:
    """End a last line that has no end; one that is a row cut off (the machine went down) goes."""
    data = Path(path).read_bytes()
    last = data[data.rfind(b"\n") + 1 :]
    if not last.startswith(b'{"search"'):
        return
    try:
        json.loads(last)
        with Path(path).open("ab") as out:
            out.write(b"\n")
    except ValueError:
        print_note(f"{path}: its last row was cut off, and is made again")
        os.truncate(path, len(data) - len(last))


def _finished_rows(path: str | None, about: dict[str, Any]) -> list[dict[str, Any]]:
    """The finished rows of this very search. A device has none, and reading some of them never ends."""
    if not path or not Path(path).is_file():
        return []
    from topicx.evaluate.search import is_row
    from topicx.files.schema import require_consistent

    _mend_last_line(path)
    rows = []
    same = json.loads(json.dumps(about))
    for number, line in enumerate(Path(path).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            row = json.loads(line)
            if row["search"] == same:
                require_consistent(is_row(row), "a row of something else")
                rows.append({name: value for name, value in row.items() if name != "search"})
        except (ValueError, KeyError, TypeError, InputError):
            raise InputError(f"{path}:{number}: is not a row of topicx search (--cells)") from None
    return rows
