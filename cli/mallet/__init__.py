"""topicx mallet: MALLET's command line, for scripts and programs that call it. What it does is in topicx.mallet.

Formats, defaults and meanings are MALLET 2.1's; the random numbers are topicx's own.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from topicx.errors import InputError

if TYPE_CHECKING:
    from topicx.mallet.option_language import Parsed

# name -> (module, function, the one-line help), in MALLET's order; the options stand in topicx.mallet.command_tables.
COMMANDS = {
    "import-dir": ("importing", "import_dir", "read the files of directories, a document each"),
    "import-file": ("importing", "import_file", "read a file of documents, one a line"),
    "import-svmlight": ("importing", "import_svmlight", "read vectors in SVMlight's format"),
    "info": ("using", "info", "print what an instance list holds"),
    "train-topics": ("training", "train_topics", "find topics in an instance list, and write what is asked"),
    "infer-topics": ("using", "infer_topics", "find the topics of new documents"),
    "evaluate-topics": ("using", "evaluate_topics", "estimate the probability of new documents"),
    "prune": ("using", "prune_or_split", "drop words by their frequency or by what they say of labels"),
    "split": ("using", "prune_or_split", "part documents into training, test and validation lists"),
    "bulk-load": ("importing", "bulk_load", "read a large file of documents, one a line, as sequences"),
}
REFUSED = ("train-classifier", "classify-dir", "classify-file", "classify-svmlight")


def run_command(parsed: Parsed) -> None:
    """Do what a parsed call of one of the COMMANDS asks for."""
    module, function, _ = COMMANDS[parsed.command.name]
    getattr(import_module(f"topicx.cli.mallet.{module}"), function)(parsed)


def overview_text() -> str:
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:{width}}{text}" for name, (_, _, text) in COMMANDS.items()]
    lines.append(f"  {'run':{width}}run one of MALLET's classes by its name")
    return "\n".join(["MALLET's commands:", "", *lines, "", "Include --help with any command for its options."])


class _Mallet(click.Command):
    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        formatter.write_paragraph()
        for line in overview_text().splitlines():
            formatter.write(f"  {line}\n" if line else "\n")


@click.command(
    "mallet", cls=_Mallet,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)  # fmt: skip
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="COMMAND OPTIONS...")
@click.option("--install", metavar="DIR", default=None, help="Write DIR/bin/mallet (and mallet.bat), which run this.")
def command(arguments: tuple[str, ...], install: str | None) -> None:
    """MALLET's command line: its commands, options, defaults and files.

    \b
      topicx mallet import-dir --input texts --output texts.mallet --keep-sequence --remove-stopwords
      topicx mallet train-topics --input texts.mallet --num-topics 20 --output-topic-keys keys.txt
      topicx mallet --install ~/mallet        a MALLET home for programs that want one
    """
    if install is not None:
        if arguments:
            raise InputError("--install DIR: stands alone, without a command")
        write_scripts(install)
        return
    dispatch_command(arguments)


def dispatch_command(arguments: Sequence[str]) -> None:
    """Run a command of MALLET's."""
    from topicx.mallet import command_tables
    from topicx.mallet.option_language import parse_arguments

    if not arguments:
        raise InputError(f"mallet: give a command: {', '.join(COMMANDS)} or run")
    name, *rest = arguments
    if name in REFUSED:
        raise InputError(f"mallet {name}: is about classifiers, and topicx has none; it has MALLET's topic models")
    if name == "run":
        from topicx.cli.mallet.classes import run_class

        run_class(rest, run_command)
        return
    if name not in COMMANDS:
        from difflib import get_close_matches

        close = get_close_matches(name, COMMANDS, n=1)
        hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(COMMANDS)} and run"
        raise InputError(f"mallet: Unrecognized command: {name}{hint}")
    found = command_tables.COMMANDS[name]
    if not rest:
        raise InputError(f"mallet {name}: no options are given; --help lists them")
    parsed = parse_arguments(found, rest)
    if parsed["help"]:
        click.echo(found.usage())
        return
    run_command(parsed)


OURS = b"-m topicx mallet"
"""What stands in the scripts that --install writes."""


def write_scripts(folder: str) -> None:
    """DIR/bin/mallet and mallet.bat: a MALLET home whose commands are topicx's."""
    from topicx.cli.common import print_note
    from topicx.files.container import atomic_output

    place = Path(folder) / "bin"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{place}: cannot be made: {error.strerror or error}") from None
    scripts = {
        "mallet": f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m topicx mallet "$@"\n',
        "mallet.bat": f'@"{sys.executable}" -m topicx mallet %*\r\n',
    }
    for name in scripts:
        path = place / name
        if path.exists() and OURS not in path.read_bytes():
            raise InputError(f"{path}: is another program's (a real MALLET's?), and stays: choose another folder")
    for name, text in scripts.items():
        path = place / name
        with atomic_output(path) as stream:
            stream.write(text.encode())
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        print_note(f"wrote {os.fspath(path)}")
