"""topicx report: a model as one file to read."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import Size, check_outputs, force_output, option, print_note, quiet, seed, threads
from topicx.cli.declared import Grouped
from topicx.corpus.slices import UNITS
from topicx.report.report_options import FORMATS, SHARES, SNIPPETS

if TYPE_CHECKING:
    from topicx.model import Model

HEADINGS = {
    "Options": ("output", "form", "title", "about", "quiet"),
    "Documents": ("state", "corpus", "doc_topics", "by", "bins", "shares", "titles", "unit", "snippets", "language"),
    "More to show": ("edits", "effects", "again", "search"),
    "Topics of any program": ("theta", "words"),
}


@click.command(cls=Grouped, headings=HEADINGS)
@click.argument("model", required=False)
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
@option("--shares", type=click.Choice(SHARES), default=None, show_default="effects, unless that takes long",
        help="--by: topics drawn anew under a prior that knows the groups, as topics --by does; or the shares that "
        "documents have anyway, which makes groups more alike than they are.")  # fmt: skip
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
@option("--effects", multiple=True, metavar="TABLE", show_default=False,
        help="What `topicx effects` wrote: coefficients (--output), which stand beside the shares; or shares that it "
        "predicts for groups (--predictions), which stand instead of them (repeatable).")  # fmt: skip
@option("--again", multiple=True, metavar="FILE", show_default=False,
        help="Another run on the same documents, a model or a state: which topics come again "
        "(repeatable).")  # fmt: skip
@option("--search", default=None, metavar="FILE", show_default=False,
        help="What a search for a number of topics measured (search --cells).")  # fmt: skip
@option("--theta", default=None, metavar="TABLE", show_default=False,
        help="Instead of MODEL: shares of documents, a column a topic (tsv, csv, jsonl).")  # fmt: skip
@option("--words", default=None, metavar="TABLE", show_default=False,
        help="With --theta: the topics' words, with columns topic, word and weight.")  # fmt: skip
@seed
@threads
@quiet
def command(
    model: str | None, output: str, form: str | None, title: str | None, about: str | None, state: str | None,
    corpus: str | None, doc_topics: str | None, edits: str | None, effects: tuple[str, ...], again: tuple[str, ...],
    search: str | None, theta: str | None, words: str | None, max_size: int, threads: int, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Write a report of MODEL: one file that opens in any browser, asks no network, and shows its topics, words and
    documents. MODEL may be a state that another program wrote (MALLET, tomotopy and others that `estimate` reads).

    \b
      topicx report news.model -o news.html
      topicx report news.model --state news.state -o news.html
      topicx report news.model --state news.state --by time --bins decade --snippets full -o news.html
      topicx report mallet-state.gz -o mallet.html
      topicx report --theta shares.csv --words words.csv -o others.html
    """
    from topicx.report.report_making import ReportInputs, gathered_contents, with_title, write_report
    from topicx.report.report_options import ReportOptions

    check_outputs([output], [model, state, corpus, doc_topics, edits, *effects, *again, search, theta, words, about])
    asked = ReportOptions(
        title=title or "", max_size=int(max_size), command=_command_line(), about=_read_text(about),
        **{**options, "by": tuple(options["by"])},
    )  # fmt: skip
    loaded, documents = _loaded(model, theta, words, threads, state or corpus or doc_topics)
    given = {"state": state, "corpus": corpus, "doc_topics": doc_topics} | documents
    inputs = ReportInputs(**given, edits=edits, effects=effects, search=search, again=again, threads=threads)
    contents = gathered_contents(loaded, with_title(asked, model or str(theta)), inputs)
    chosen = form or _form_of_output(output)
    size = write_report(output, chosen, contents)
    if output != "-":
        hint = "; open it in a browser" if chosen == "html" else ""
        print_note(f"wrote {output}: {size / 1e6:.1f} MB{hint}", quiet=quiet)


def _loaded(
    model: str | None, theta: str | None, words: str | None, threads: int, others: str | None
) -> tuple[Model, dict[str, Any]]:  # fmt: skip
    """The model, and the documents that come with it where another program made it."""
    from topicx.errors import InputError
    from topicx.files import container
    from topicx.model import Model
    from topicx.report.report_making import foreign_inputs, table_inputs

    if (theta is None) != (words is None):
        raise InputError("--theta, --words: go together: the shares of documents, and the words of topics")
    if (model is None) == (theta is None):
        raise InputError("give a model, or --theta and --words" + (", not both" if model else ""))
    if theta is not None or model is None:
        if others:
            raise InputError("--theta: has the documents; --state, --corpus and --doc-topics go with a model")
        found, shares = table_inputs(str(theta), str(words))
        return found, {"shares": shares}
    if model == "-" or (container.is_topicx(model) and container.kind_of(model) == "model"):
        return Model.load(model), {}
    if others:
        raise InputError(
            f"{model}: is a state, which has its documents; --state, --corpus, --doc-topics are for a model"
        )
    found, state = foreign_inputs(model, threads)
    return found, {"state": state}


def _form_of_output(output: str) -> str:
    """The format by the output's name."""
    ending = Path(output.removesuffix(".gz")).suffix.lower()
    return {".md": "md", ".json": "json"}.get(ending, "html")


def _read_text(path: str | None) -> str:
    from topicx.errors import InputError

    if path is None:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text: {getattr(error, 'strerror', None) or error}") from None


def _command_line() -> str:
    """The command line, without the folders that files stand in: they are nobody's business."""
    words = [word if word.startswith("-") else Path(word).name or word for word in sys.argv[1:]]
    return shlex.join(["topicx", *words])
