"""topicx report: a model as one file to read."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from topicx.cli.common import Size, check_outputs, force_output, option, print_note, quiet, seed, threads
from topicx.cli.declared import Grouped
from topicx.report.report_options import FORMATS, SNIPPETS
from topicx.views.time_bins import UNITS

HEADINGS = {
    "Options": ("output", "form", "title", "about", "quiet"),
    "Documents": ("state", "corpus", "doc_topics", "by", "bins", "titles", "unit", "snippets", "language"),
    "More to show": ("edits",),
}


@click.command(cls=Grouped, headings=HEADINGS)
@click.argument("model")
@force_output
@option("--format", "form", type=click.Choice(FORMATS), default=None, show_default="by the output's name, else html",
        help="One page of HTML, Markdown, or the numbers as JSON.")  # fmt: skip
@option("--title", default=None, show_default="the model's file name", help="The report's title.")
@option("--about", default=None, metavar="FILE", show_default=False,
        help="A text file of yours that the page on how it was made shows.")  # fmt: skip
@option("--state", default=None, metavar="FILE", show_default=False,
        help="The state of the run: its documents, the topic of every word, phrases, diagnostics.")  # fmt: skip
@option("--corpus", default=None, metavar="FILE", show_default=False,
        help="Other documents; their topics are inferred, as infer does.")  # fmt: skip
@option("--doc-topics", default=None, metavar="FILE", show_default=False,
        help="A table of topics that infer, or train --doc-topics, wrote.")  # fmt: skip
@option("--by", multiple=True, metavar="COLUMN", show_default="time; collection and label of few values",
        help="Topics by time or by a column of the documents (repeatable).")  # fmt: skip
@option("--bins", type=click.Choice(list(UNITS)), default=None, show_default="as narrow as gives 40 at most",
        help="--by time, or a column of times or numbers: spans of the calendar.")  # fmt: skip
@option("--titles", default=None, metavar="COLUMN", show_default="title, if there is one",
        help="The column that holds the documents' titles.")  # fmt: skip
@option("--unit", default="text", metavar="WORD",
        help="What one document is called (paragraph, letter; story,stories where the plural has no s).")  # fmt: skip
@option("--snippets", type=click.Choice(SNIPPETS), default="short",
        help="Texts in the report: none; the beginning of typical documents; or as much of every text as import kept "
        "(import --snippet N), with the topic of each word.")  # fmt: skip
@option("--language", default="en", metavar="CODE", help="Language of the texts, for fonts and for screen readers.")
@option("--max-size", type=Size(), default="10M", metavar="SIZE",
        help="The most that a page may weigh: what is too large is left out step by step, which it says.")  # fmt: skip
@option("--edits", default=None, metavar="FILE", show_default=False,
        help="Names, notes and hidden topics that a report has saved (names.json).")  # fmt: skip
@seed
@threads
@quiet
def command(
    model: str, output: str, form: str | None, title: str | None, about: str | None, state: str | None,
    corpus: str | None, doc_topics: str | None, edits: str | None, max_size: int, threads: int, quiet: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Write a report of MODEL: one file that opens in any browser, asks no network, and shows its topics, words and
    documents.

    \b
      topicx report news.model -o news.html
      topicx report news.model --state news.state -o news.html
      topicx report news.model --state news.state --by time --bins decade --snippets full -o news.html
      topicx report news.model -o news.md
    """
    from topicx.model import Model
    from topicx.report.report_making import gathered_contents, with_title, write_report
    from topicx.report.report_options import ReportOptions

    check_outputs([output], [model, state, corpus, doc_topics, edits, about])
    asked = ReportOptions(
        title=title or "", max_size=int(max_size), command=_called(), about=_text(about),
        **{**options, "by": tuple(options["by"])},
    )  # fmt: skip
    loaded = Model.load(model)
    contents = gathered_contents(
        loaded,
        with_title(asked, model),
        state=state,
        corpus=corpus,
        doc_topics=doc_topics,
        edits=edits,
        threads=threads,
    )
    chosen = form or _form(output)
    size = write_report(output, chosen, contents)
    if output != "-":
        print_note(
            f"wrote {output}: {size / 1e6:.1f} MB; open it in a browser" if form != "md" else f"wrote {output}",
            quiet=quiet,
        )


def _form(output: str) -> str:
    """The format by the output's name."""
    ending = Path(output.removesuffix(".gz")).suffix.lower()
    return {".md": "md", ".json": "json"}.get(ending, "html")


def _text(path: str | None) -> str:
    from topicx.errors import InputError

    if path is None:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text: {getattr(error, 'strerror', None) or error}") from None


def _called() -> str:
    """The command line, without the folders that files stand in: they are nobody's business."""
    words = [word if word.startswith("-") else Path(word).name or word for word in sys.argv[1:]]
    return shlex.join(["topicx", *words])
