"""Options of the command line, from their declarations (topicx.declare)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from topicx.cli.common import Function, Number, option
from topicx.declare import Declared, declarations
from topicx.errors import InputError


class Grouped(click.Command):
    """A command whose help lists the options of each model under a heading of its own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        headings: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                headings.setdefault(getattr(parameter, "heading", "Options"), []).append(record)
        for heading, records in headings.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class Headed(click.Option):
    """An option that stands under a heading."""

    def __init__(self, *args: Any, heading: str = "Options", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.heading = heading


def click_type(declared: Declared) -> Any:
    """How a value is read from the command line."""
    if declared.choices:
        return click.Choice(declared.choices)
    if declared.kind is int:
        return click.IntRange(int(declared.low or 0), None if declared.high is None else int(declared.high))
    if declared.kind is float:
        low, high = declared.low, declared.high
        limits = {} if low is None else {"low": low}
        return Number(**limits | ({} if high is None else {"high": high}), above=declared.above)
    return str


def spelling(name: str, declared: Declared) -> tuple[str, ...]:
    return (*declared.flags, name) if declared.flags else ("--" + name.replace("_", "-"), name)


def one(name: str, declared: Declared, default: Any, **more: Any) -> Callable[[Function], Function]:
    """The click option of a declaration."""
    settings: dict[str, Any] = {"help": declared.help, "default": default, "metavar": declared.metavar} | more
    if declared.shown is not None:
        settings["show_default"] = declared.shown
    if declared.kind is bool:
        settings |= {"is_flag": True, "show_default": False}
    else:
        settings["type"] = click_type(declared)
    return option(*spelling(name, declared), cls=Headed, **settings)


def of(options: type) -> list[Callable[[Function], Function]]:
    """Click options for every declared field, in their order."""
    return [
        one(name, declared, default)
        for name, (declared, default) in declarations(options).items()
        if not declared.hidden
    ]  # fmt: skip


def of_models(owns: Mapping[str, type]) -> list[Callable[[Function], Function]]:
    """Click options for what models have of their own. Where several have one, it is one option; its value is None
    unless it was given, and its default is each model's."""
    takers: dict[str, list[str]] = {}
    for model, own in owns.items():
        for name in declarations(own):
            takers.setdefault(name, []).append(model)
    found = []
    for name, models in takers.items():
        declared, default = declarations(owns[models[0]])[name]
        shown = declared.shown or (False if default is None or declared.kind is bool else str(default))
        found.append(one(name, declared, None, show_default=shown, heading=f"Options of the model {', '.join(models)}"))
    return found


def own(owns: Mapping[str, type], settings: dict[str, Any], given: list[str]) -> dict[str, Any]:
    """Takes the options that models have of their own out of the settings; those of the model at hand that were given.
    Those of others are refused."""
    model = settings["model"]
    found: dict[str, Any] = {}
    for name in {name for other in owns.values() for name in declarations(other)}:
        value = settings.pop(name)
        if name not in given:
            continue
        if name not in declarations(owns[model]):
            takers = " or ".join(other for other in owns if name in declarations(owns[other]))
            raise InputError(f"--{name.replace('_', '-')} is for the model {takers}, not for {model}")
        found[name] = value
    return found
