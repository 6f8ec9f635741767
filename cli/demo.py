"""topicx demo: a first look, in seconds."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import click

from topicx.cli.common import option, print_note, quiet, threads

STEPS = (
    ("Write the embedded texts as a table: id, label, collection, year, text.", "datasets texts -o texts.tsv"),
    (
        "Text becomes a corpus: tokens, without common words and words met once.",
        "import texts.tsv --time-field year --min-count 2 -o texts.corpus",
    ),
    (
        "A corpus becomes a model: ten topics.",
        "train texts.corpus -k 10 --alpha 0.5 --beta 0.1 --iterations 2000 -o texts.model --state texts.state "
        "--doc-topics texts.topics.tsv",
    ),
    ("Read it: each topic's share, words, and most typical texts.", "topics texts.model -n 12 -d 2"),
    (
        "Show it to others: one page that opens in any browser.",
        "report texts.model --state texts.state --by time --by collection --bins year --snippets full "
        "--title Demo -o texts.html",
    ),
)
"""What happens, and the command that does it; the commands run in the demo's folder."""


@click.command()
@option("--output", "-o", default="topicx-demo", metavar="FOLDER", help="Where the files to play with go.")
@threads
@quiet
def command(output: str, threads: int, quiet: bool) -> None:
    """Import the embedded corpus, train a model with progress, print its topics, and leave the files to play with.

    The corpus holds several hundred short texts on eight fields of life, from 1990 to 2019, written for topicx. Each
    step is shown as the command that you would type for texts of your own.
    """
    from topicx.cli import cli
    from topicx.errors import InputError

    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{output}: cannot be made a folder: {error.strerror}") from None
    for what, line in STEPS:
        print_note(f"\n# {what}\n$ topicx {line}", quiet=quiet)
        cli.main(step_arguments(line, folder, threads, quiet), prog_name="topicx", standalone_mode=False)
    called = "topicx" if shutil.which("topicx") else sys.argv[0]  # .venv/bin/topicx, after `make demo`
    print_note(
        f"\nThe report: open {output}/texts.html in a browser (double-click it, or: "
        f"{'open' if sys.platform == 'darwin' else 'xdg-open'} {output}/texts.html).\n"
        f"The files are in {output}/. Go on with, for example:\n"
        f"  {called} topics {output}/texts.model --by time --corpus {output}/texts.corpus\n"
        f"  {called} evaluate {output}/texts.model {output}/texts.corpus --method coherence\n"
        f"  {called} estimate {output}/texts.state -o {output}/better.model\n"
        f"  {called} info {output}/texts.model\n"
        "and with texts of your own: docs/tutorials/folder-to-figure.md.",
        quiet=quiet,
    )


def step_arguments(line: str, folder: Path, threads: int, quiet: bool) -> list[str]:
    """A step's command line as it is run: its files in the folder, with these threads."""
    words = [str(folder / word) if word.startswith("texts.") else word for word in shlex.split(line)]
    if words[0] == "train":
        words += ["--threads", str(threads)]
    return words + (["--quiet"] if quiet and words[0] != "topics" else [])
