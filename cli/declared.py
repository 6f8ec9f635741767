"""Options of the command line, from their declarations (topicx.declare)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import click

from topicx import model_registry
from topicx.cli.common import Function, Number, WholeOrAuto, option, stack_options
from topicx.declare import Declared, declared_options
from topicx.errors import InputError


class Grouped(click.Command):
    """A command whose help has headings: `headings` says which options stand under each, in their order (a newcomer's
    first); the others follow, and then those of each model."""

    def __init__(self, *args: Any, headings: Mapping[str, Sequence[str]] | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.headings = dict(headings or {})

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, listed in options_by_heading(self, ctx).items():
            with formatter.section(heading):
                formatter.write_dl([record for record in (one.get_help_record(ctx) for one in listed) if record])


def options_by_heading(command: click.Command, ctx: click.Context) -> dict[str, list[click.Option]]:
    """The options of a command under the headings of its help, in their order."""
    options = {one.name: one for one in command.get_params(ctx) if isinstance(one, click.Option)}
    headings: Mapping[str, Sequence[str]] = getattr(command, "headings", {})
    groups = {heading: [options.pop(name) for name in names] for heading, names in headings.items()}
    rest = REST[bool(groups)]
    for one in options.values():
        heading = next(iter(groups), rest) if "--help" in one.opts else getattr(one, "heading", None) or rest
        groups.setdefault(heading, []).append(one)
    return groups


REST = ("Options", "Other options")
"""The heading of options that none names: alone, and after others."""


class ModelName(click.Choice[str]):
    """The name of a model: one of ours, or that of another package."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in self.choices:
            return super().convert(value, param, ctx)
        return click.Choice([*self.choices, *model_registry.outside_models()]).convert(value, param, ctx)


def told_summary(name: str) -> str:
    """A line on a model, or why there is none."""
    try:
        return model_registry.find_definition(name).summary
    except InputError as error:
        return str(error)


def values_given(option: str, arguments: Sequence[str]) -> list[str]:
    """The values that an option of one value has on a command line, before anything is checked."""
    pairs = zip(arguments, [*arguments[1:], ""])
    after = [following for word, following in pairs if word == option]
    return after + [word.partition("=")[2] for word in arguments if word.startswith(f"{option}=")]


def own_parameters(owns: Mapping[str, type], known: Collection[str | None]) -> list[click.Parameter]:
    """The options that models have of their own, but for those that are known already."""

    def nothing() -> None:
        pass

    stack_options(*of_models(owns))(nothing)
    found: list[click.Parameter] = list(reversed(getattr(nothing, "__click_params__", [])))
    return [one for one in found if one.name not in known]


class Headed(click.Option):
    """An option that stands under a heading."""

    def __init__(self, *args: Any, heading: str | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.heading = heading


class ParsedText(click.ParamType):
    """A value that a function reads from its text."""

    name = "text"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self.parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.parse(value) if isinstance(value, str) else value
        except InputError as error:
            self.fail(str(error), param, ctx)


def click_type(declared: Declared) -> Any:
    """How a value is read from the command line."""
    if declared.parse is not None:
        return ParsedText(declared.parse)
    if declared.choices:
        return click.Choice(declared.choices)
    if declared.auto:
        return WholeOrAuto(int(declared.low or 0), None if declared.high is None else int(declared.high))
    if declared.kind is int:
        return click.IntRange(int(declared.low or 0), None if declared.high is None else int(declared.high))
    if declared.kind is float:
        low, high = declared.low, declared.high
        limits = {} if low is None else {"low": low}
        return Number(**limits | ({} if high is None else {"high": high}), above=declared.above)
    return str


def option_spelling(name: str, declared: Declared) -> tuple[str, ...]:
    return (*declared.flags, name) if declared.flags else ("--" + name.replace("_", "-"), name)


def click_option(name: str, declared: Declared, default: Any, **more: Any) -> Callable[[Function], Function]:
    """The click option of a declaration."""
    settings: dict[str, Any] = {"help": declared.help, "default": default, "metavar": declared.metavar} | more
    if declared.shown is not None:
        settings["show_default"] = declared.shown
    if declared.kind is bool:
        settings |= {"is_flag": True, "show_default": declared.shown or False}
    else:
        settings["type"] = click_type(declared)
    return option(*option_spelling(name, declared), cls=Headed, **settings)


def click_options(options: type) -> list[Callable[[Function], Function]]:
    """Click options for every declared field, in their order."""
    return [
        click_option(name, declared, default)
        for name, (declared, default) in declared_options(options).items()
        if not declared.hidden
    ]  # fmt: skip


def of_models(owns: Mapping[str, type]) -> list[Callable[[Function], Function]]:
    """Click options for what models have of their own. Where several have one, it is one option; its value is None
    unless it was given, and its default is each model's."""
    takers: dict[str, list[str]] = {}
    for model, own in owns.items():
        for name in declared_options(own):
            takers.setdefault(name, []).append(model)
    found = []
    for name, models in takers.items():
        declared, default = declared_options(owns[models[0]])[name]
        shown = declared.shown or (False if default is None or declared.kind is bool else str(default))
        found.append(
            click_option(name, declared, None, show_default=shown, heading=f"Options of the model {', '.join(models)}")
        )
    return found


def take_own_options(owns: Mapping[str, type], settings: dict[str, Any], given: list[str]) -> dict[str, Any]:
    """Takes the options that models have of their own out of the settings; those of the model at hand that were given.
    Those of others are refused."""
    model = settings["model"]
    found: dict[str, Any] = {}
    for name in {name for other in owns.values() for name in declared_options(other)}:
        value = settings.pop(name)
        if name not in given:
            continue
        if name not in declared_options(owns[model]):
            takers = " or ".join(other for other in owns if name in declared_options(owns[other]))
            raise InputError(f"--{name.replace('_', '-')} is for the model {takers}, not for {model}")
        found[name] = value
    return found
