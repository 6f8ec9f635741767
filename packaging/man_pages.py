"""Manual pages of topicx and of each of its commands, made of their declarations.

python packaging/man_pages.py -o build/man
man build/man/topicx-train.1
"""

from __future__ import annotations

import argparse
import inspect
import re
from pathlib import Path

import click

import topicx
from topicx.cli import COMMANDS, cli
from topicx.cli.declared import options_by_heading

WIDEST = 10_000


def escaped(text: str) -> str:
    """Text for troff: backslashes, hyphens that are meant, and lines that would begin with a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def told_paragraphs(text: str) -> list[str]:
    """A help text: paragraphs are filled, except those behind \\b, which stay as they are."""
    found = []
    for part in text.split("\n\n"):
        kept = "\b" in part
        body = escaped(part.replace("\b", "").strip("\n"))
        found += [".PP", *([".nf", body, ".fi"] if kept else [" ".join(body.split())])]
    return found


def manual_page(name: str, command: click.Command, ctx: click.Context) -> str:
    """The page of a command, as troff with the macros of man(7)."""
    title = name.replace(" ", "-")
    help_text = inspect.cleandoc(command.help or "")
    summary = " ".join(help_text.split("\n\n")[0].split()).rstrip(".")
    lines = [
        f'.TH "{title.upper()}" "1" "" "topicx {topicx.__version__}" "topicx manual"',
        ".SH NAME", f"{escaped(title)} \\- {escaped(summary)}",
        ".SH SYNOPSIS", f".B {escaped(name)}", escaped(" ".join(command.collect_usage_pieces(ctx))),
        ".SH DESCRIPTION", *told_paragraphs(help_text),
    ]  # fmt: skip
    for heading, options in options_by_heading(command, ctx).items():
        lines.append(f'.SH "{heading.upper()}"')
        for option in options:
            record = option.get_help_record(ctx)
            if record:
                lines += [".TP", f"\\fB{escaped(record[0])}\\fR", escaped(" ".join(record[1].split()))]
    subs = getattr(command, "commands", None) or (COMMANDS if command is cli else {})
    if subs:
        lines.append(".SH COMMANDS")
        for sub, about in subs.items():
            text = about[1] if isinstance(about, tuple) else about.get_short_help_str(WIDEST)
            lines += [".TP", f"\\fB{escaped(title)}\\-{escaped(sub)}\\fR(1)", escaped(text)]
    lines += [
        '.SH "EXIT STATUS"', "0 done, 1 a failure while running, 2 wrong usage or bad input, 130 interrupted.",
    ]  # fmt: skip
    if command is not cli:
        lines += ['.SH "SEE ALSO"', "\\fBtopicx\\fR(1)"]
    return "\n".join(lines) + "\n"


def all_pages() -> dict[str, str]:
    """Names of files and their pages."""
    top = click.Context(cli, info_name="topicx")
    found = {"topicx.1": manual_page("topicx", cli, top)}
    for name in COMMANDS:
        command = cli.get_command(top, name)
        assert command is not None
        for sub, each in {"": command, **getattr(command, "commands", {})}.items():
            called = f"topicx {name} {sub}".strip()
            ctx = click.Context(each, info_name=called, parent=None)
            found[called.replace(" ", "-") + ".1"] = manual_page(called, each, ctx)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the manual pages.")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/man"), metavar="DIR")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    pages = all_pages()
    for name, page in pages.items():
        (folder / name).write_text(page, encoding="utf-8")
    print(f"{folder}: {len(pages)} manual pages")


if __name__ == "__main__":
    main()
