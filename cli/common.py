"""Options that several commands share, each with one help text; and what commands do alike."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from topicx.declare import AUTO

if TYPE_CHECKING:
    from topicx.model import Model
    from topicx.state import State

Function = TypeVar("Function", bound=Callable[..., Any])


def option(*names: str, **settings: Any) -> Callable[[Function], Function]:
    """A click option whose help shows its default."""
    settings.setdefault("show_default", True)
    kind = settings.get("type")
    if isinstance(kind, click.IntRange) and kind.max is None:
        settings["type"] = Whole(kind.min)
    return click.option(*names, **settings)


class Whole(click.IntRange):
    """A whole number without a limit of its own: what a machine's whole numbers hold."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if found >= 1 << 62:
            self.fail(f"{value} is too large", param, ctx)
        return found


class Number(click.ParamType):
    """A finite number in a range; `nan`, infinities and words are refused with the option's name."""

    name = "number"

    def __init__(self, low: float = -math.inf, high: float = math.inf, *, above: float | None = None) -> None:
        self.low, self.high, self.above = low, high, above

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            self.fail(f"{value!r} is not a number", param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        if self.above is not None and not number > self.above:
            self.fail(f"{value} must be greater than {self.above:g}", param, ctx)
        if not self.low <= number <= self.high:
            limits = f"at least {self.low:g}" if self.high == math.inf else f"from {self.low:g} to {self.high:g}"
            limits = f"at most {self.high:g}" if self.low == -math.inf else limits
            self.fail(f"{value} must be {limits}", param, ctx)
        return number


class WholeOrAuto(click.IntRange):
    """A whole number in a range, or the word auto."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == AUTO:
            return value
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message.rstrip('.')}; {AUTO} is the other choice.", param, ctx)


class Size(click.ParamType):
    """Bytes, with a unit."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from topicx.engines.memory_limits import parse_size
        from topicx.errors import InputError

        try:
            return value if isinstance(value, int) else parse_size(value)
        except InputError as error:
            self.fail(str(error).removeprefix("memory: "), param, ctx)


def above_zero() -> Number:
    return Number(above=0)


def stack_options(*decorators: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Several option decorators as one, in the order in which the help lists them."""

    def decorate(function: Function) -> Function:
        return functools.reduce(lambda inner, outer: outer(inner), reversed(decorators), function)

    return decorate


quiet = option("--quiet", "-q", is_flag=True, help="No progress and no messages.", show_default=False)
verbose = option("--verbose", "-v", is_flag=True, help="A message for every record of the trace.", show_default=False)
log_option = option(
    "--log", "log_form", type=click.Choice(["text", "json"]), default="text",
    help="What is said while it runs: lines for people, or a JSON object a line for programs.",
)  # fmt: skip
json_output = option("--json", "as_json", is_flag=True, help="Print JSON for programs.", show_default=False)
seed = option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, help="Seed of every random choice.")
threads = option(
    "--threads", type=click.IntRange(0), default=0,
    help="Threads to use (0: all cores). The result never depends on it.", show_default="all cores",
)  # fmt: skip
memory = option(
    "--memory", type=Size(), default=None, metavar="SIZE", show_default="what is free",
    help="The most memory that training may take, such as 800M or 12G: what would take more is refused before it "
    "begins. What it will take, with the estimates at its end, is said first.",
)  # fmt: skip
cluster_options = stack_options(
    option("--cluster", default=None, metavar="WHERE", show_default=False,
           help="Work on a Dask cluster: local:N (processes of this machine), a scheduler's address "
           "(tcp://host:8786) or the file that it wrote, slurm (all tasks of one srun); '' takes "
           "DASK_SCHEDULER_ADDRESS. The result does not depend on it."),
    option("--shared", default=None, metavar="DIR", show_default="beside the output",
           help="With --cluster: a folder that all machines see, for scratch files."),
)  # fmt: skip


def open_places(cluster: str | None, shared: str | None, output: str, log: Callable[[str], object]) -> Any:
    """The workers that --cluster names, or None."""
    from topicx.errors import InputError

    if cluster is None:
        refuse_given(("shared",), "is for --cluster")
        return None
    try:
        from topicx.engines.dask_cluster import cluster_named, connect
    except ImportError:
        raise InputError("--cluster: needs the package 'distributed': pip install 'topicx[cluster]'") from None
    named = cluster_named(cluster)
    if named is None:
        raise InputError("--cluster: nothing is named, and DASK_SCHEDULER_ADDRESS is not set")
    folder = Path(shared) if shared else (Path.cwd() if output == "-" else Path(output).resolve().parent)
    if not folder.is_dir():
        raise InputError(f"--shared: the folder {folder} does not exist")
    return connect(named, folder, log=log)


def open_engine(
    cluster: str | None, shared: str | None, output: str, threads: int, memory: int | None,
    log: Callable[[str], object],
) -> Any:  # fmt: skip
    """Threads of this process and, where they are asked for, the workers of a cluster."""
    from topicx.engines.places import Spread
    from topicx.engines.threads import Threads

    places = open_places(cluster, shared, output, log)
    return Threads(threads, memory) if places is None else Spread(places, threads, memory)


@contextlib.contextmanager
def engine_meanwhile(cluster: str | None, *how: Any) -> Iterator[Callable[[], Any]]:
    """A function that gives the engine (`open_engine` has the arguments). Workers of this machine start while something
    else is done; the engine is closed at the end."""
    with contextlib.ExitStack() as opened:
        if cluster is None or not cluster.startswith("local:"):
            yield lambda: opened.enter_context(open_engine(cluster, *how))
            return
        from concurrent.futures import ThreadPoolExecutor

        coming = opened.enter_context(ThreadPoolExecutor(1)).submit(open_engine, cluster, *how)
        try:
            yield coming.result
        finally:
            if coming.exception() is None:
                coming.result().close()


force_output = option("--output", "-o", required=True, metavar="FILE", help="The file to write; - is standard output.")


metadata = option(
    "--metadata", default="all", metavar="NAMES",
    help="What documents carry beside their words, and stands beside their topics: all (label, collection, time, and "
    "the columns that import has kept), none, or names with commas between (`snippet` too).",
)  # fmt: skip


any_state = option(
    "--any-state", is_flag=True, show_default=False,
    help="Take a state though it is not the one that MODEL was made with.",
)  # fmt: skip


def check_state(model: Model, state: State, name: str, anyway: bool | None = None) -> None:
    """Refuse a state that is not of this model's run: its figures would be of neither."""
    from topicx.errors import InputError

    why = model.unlike(state)
    if why and not anyway:
        hint = "" if anyway is None else " (--any-state takes it all the same)"
        raise InputError(f"{name}: is not a state of this model: {why}{hint}")


def check_outputs(outputs: Sequence[str | None], inputs: Sequence[str | None] = ()) -> None:
    """Refuse before hours of work what could not be written after them, or would destroy something."""
    from topicx.errors import InputError
    from topicx.files.atomic_output import resolve_links

    seen: set[str] = set()
    for path in outputs:
        if path is None:
            continue
        if not path:
            raise InputError("an output without a name: give a file's name, or - for standard output")
        place = path if path == "-" else str(resolve_links(path))
        if place in seen:
            where = "standard output" if path == "-" else "the same file"
            raise InputError(f"{path}: two outputs cannot both be {where}")
        seen.add(place)
        if path == "-":
            continue
        folder = Path(place).parent
        refuse_overwriting(path, inputs)
        if not folder.is_dir():
            raise InputError(f"{path}: the folder {folder} does not exist")
        if Path(place).is_dir():
            raise InputError(f"{path}: is a directory, not a file to write")
        if not os.access(folder, os.W_OK):
            raise InputError(f"{path}: the folder {folder} cannot be written to")


def refuse_overwriting(output: str, inputs: Sequence[str | None]) -> None:
    """InputError if writing this output would destroy what is read."""
    from topicx.errors import InputError
    from topicx.files.atomic_output import resolve_links

    place = resolve_links(output)
    for name in inputs:
        if not name or name == "-" or not Path(name).exists():
            continue
        read = resolve_links(name)
        if read == place:
            raise InputError(f"{output}: is an input, too: it would be overwritten")
        if read.is_dir() and place.is_file() and place.is_relative_to(read):
            raise InputError(f"{output}: lies in {name}, which is read: it would be overwritten (write it elsewhere)")


def on_command_line(context: click.Context) -> list[str]:
    """The options that stand on the command line."""
    return [
        name for name in context.params
        if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE
    ]  # fmt: skip


def refuse_given(names: Sequence[str], why: str) -> None:
    """InputError if one of these parameters stands on the command line, where it would be ignored."""
    from topicx.errors import InputError

    context = click.get_current_context()
    spellings = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name in on_command_line(context):
        if name in names:
            raise InputError(f"{spellings[name]}: {why}")


def check_fit(context: click.Context, uses: Mapping[str, Sequence[str]], option: str, chosen: Sequence[str]) -> None:
    """Refuse an option that would be ignored: `uses` says with which values of `option` it does something."""
    from topicx.errors import InputError

    spellings = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name in on_command_line(context):
        if name in uses and not set(uses[name]) & set(chosen):
            raise InputError(f"{spellings[name]}: is for {option} {', '.join(uses[name])}; not for {', '.join(chosen)}")


def print_note(text: str, *, quiet: bool = False) -> None:
    """A message to the person at the terminal (standard error)."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    wide = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("_", "-") in ("utf-8", "utf8")
    click.echo(json.dumps(value, ensure_ascii=not wide, indent=2, allow_nan=False))
