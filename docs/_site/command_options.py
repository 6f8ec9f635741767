"""The directive `{command-options} NAME`: every option of a command, from its declaration, as its help has them."""

from __future__ import annotations

import re

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from topicx.cli import cli
from topicx.cli.declared import options_by_heading
from topicx.mallet.command_tables import COMMANDS as MALLET_COMMANDS


def title_paragraph(text: str, anchor: str) -> nodes.Element:
    """A heading below those of the page, which its table of contents leaves out."""
    return nodes.rubric("", text, ids=[anchor])


def option_entry(anchor: str, spelling: str, told: str) -> nodes.definition_list_item:
    """How an option is spelt, and what it does."""
    term = nodes.term("", "", nodes.literal("", spelling), ids=[anchor])
    return nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph("", told)))


def slug(*parts: str) -> str:
    return "-".join(re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in parts)


class CommandOptions(SphinxDirective):
    """The options of a command, or of each command of a group."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        top = click.Context(cli, info_name="topicx")
        command = cli.get_command(top, name)
        if command is None:
            raise self.error(f"there is no command {name}")
        found: list[nodes.Node] = []
        parts = {name: command} | {f"{name} {sub}": one for sub, one in getattr(command, "commands", {}).items()}
        for called, each in parts.items():
            ctx = click.Context(each, info_name=called, parent=top)
            pieces = " ".join([f"topicx {called}", *each.collect_usage_pieces(ctx)])
            found.append(nodes.literal_block("", pieces, language="text", classes=["usage"]))
            for heading, options in options_by_heading(each, ctx).items():
                entries = []
                for option in options:
                    record = option.get_help_record(ctx)
                    if record:
                        entries.append(option_entry(slug(called, option.name or ""), *record))
                if heading not in ("Options",) or len(parts) == 1:
                    found.append(title_paragraph(heading, slug(called, heading)))
                found.append(nodes.definition_list("", *entries, classes=["options"]))
        if name == "mallet":
            found += self.mallet_options()
        return found

    def mallet_options(self) -> list[nodes.Node]:
        """The options of MALLET's commands."""
        found: list[nodes.Node] = []
        for command in MALLET_COMMANDS.values():
            found.append(title_paragraph(f"topicx mallet {command.name}", slug("mallet", command.name)))
            entries = []
            for option in command.options:
                default = "" if option.default is None else f"  [default: {option.default}]"
                spelling = f"--{option.name} {option.kind}"
                entries.append(option_entry(slug("mallet", command.name, option.name), spelling, option.help + default))
            found.append(nodes.definition_list("", *entries, classes=["options"]))
        return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("command-options", CommandOptions)
    return {"parallel_read_safe": True}
