"""topicx completion"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

SHELLS = {
    "bash": '~/.bashrc: eval "$(topicx completion bash)"',
    "zsh": '~/.zshrc, after compinit: eval "$(topicx completion zsh)"',
    "fish": "~/.config/fish/completions/topicx.fish: topicx completion fish | source",
}
"""The file of each shell, and the line to put there."""


class FilesToo(ShellComplete):
    """Where nothing else is known, names of files are offered: most values are files."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        found = super().get_completions(args, incomplete)
        if found or not args or incomplete.startswith("-"):
            return found
        return [CompletionItem(incomplete, type="file")]


class BashFiles(FilesToo, BashComplete):
    """Completion for bash."""

    @staticmethod
    def _check_version() -> None:
        """Nothing: bash is asked for its version by nobody but a person who meets a problem."""


class ZshFiles(FilesToo, ZshComplete):
    """Completion for zsh."""


class FishFiles(FilesToo, FishComplete):
    """Completion for fish."""


KINDS = {"bash": BashFiles, "zsh": ZshFiles, "fish": FishFiles}
for name, kind in KINDS.items():
    add_completion_class(kind, name)


@click.command("completion")
@click.argument("shell", type=click.Choice(tuple(SHELLS)), required=False)
def command(shell: str | None) -> None:
    """Print what makes SHELL complete topicx's commands, options and their values. Without SHELL: for yours ($SHELL).

    \b
    Put this line into the file before it:
      ~/.bashrc                               eval "$(topicx completion bash)"
      ~/.zshrc, after compinit                eval "$(topicx completion zsh)"
      ~/.config/fish/completions/topicx.fish  topicx completion fish | source

    A shell that runs already knows it after the same line. Bash has to be 4.4 or later.
    """
    from topicx.cli import cli
    from topicx.errors import InputError

    found = shell or Path(os.environ.get("SHELL", "")).name
    if found not in SHELLS:
        raise InputError(f"completion: which shell? Name one of {', '.join(SHELLS)}")
    click.echo(KINDS[found](cli, {}, "topicx", "_TOPICX_COMPLETE").source())
    if sys.stdout.isatty():
        click.echo(f"topicx: to have it always, put this line into {SHELLS[found]}", err=True)
