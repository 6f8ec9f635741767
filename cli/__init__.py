"""The command line. Each command is a module of this package with a click command named `command`; it is imported
only when it is called, so that `topicx --help` answers at once.
"""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import stat
import sys
from importlib import import_module
from typing import Any

import click

from topicx import __version__

# name -> (module, the one-line help), in the order of the flow.
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "Train on the embedded corpus and show its topics: a first look, in seconds."),
    "import": ("import_", "Read text in many formats and write a corpus file."),
    "split": ("split", "Split a corpus into parts (training and test, say)."),
    "prune": ("prune", "Drop words that are too rare or too common from a corpus."),
    "train": ("train", "Learn a topic model from a corpus."),
    "search": ("search", "How many topics? Train several numbers of them, and measure what speaks for each."),
    "topics": ("topics", "Show a model's topics: words, weights, typical documents."),
    "report": ("report", "Write a model as one page to read: topics, words, documents, over time."),
    "infer": ("infer", "Topic proportions of new documents under a trained model."),
    "effects": ("effects", "How topics depend on what documents have: effects with intervals."),
    "evaluate": ("evaluate", "Measure a model: held-out likelihood, coherence, diagnostics."),
    "hmm": ("hmm", "Hidden Markov models: train, decode, evaluate."),
    "estimate": ("estimate", "Make a better model from a sampler's state: ours, MALLET's, WarpLDA's and others'."),
    "export": ("export", "Write a corpus, model or state in another program's format."),
    "mallet": ("mallet", "MALLET's command line: its commands, options, defaults and files."),
    "info": ("info", "Say what a file is, what it holds, and where it came from."),
    "datasets": ("datasets", "List and make synthetic corpora with known topics."),
    "bench": ("bench", "Compare samplers, and other libraries, on your own corpus."),
    "completion": ("completion", "Let bash, zsh or fish complete commands and options."),
}


ELSEWHERE = {
    "import": "load read corpus tokenize preprocess", "train": "fit learn build run lda",
    "infer": "predict transform apply classify", "topics": "show view list print words keys",
    "evaluate": "score perplexity coherence test", "info": "stats inspect describe", "report": "visualize plot html",
}  # fmt: skip
"""What others call the commands."""


class _ReaderLeft(Exception):
    """Whoever read standard output has closed it: `topicx topics MODEL | head` is no mistake."""


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        found: click.Command = import_module(f"topicx.cli.{COMMANDS[name][0]}").command
        if ctx is not None and ctx.obj is INTERRUPTIBLE:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would make a failure of it
            raise _ReaderLeft from None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            from difflib import get_close_matches

            from topicx.cli.mallet import COMMANDS as MALLETS

            name = args[0]
            first = "import" if name == "bulk-load" else name.split("-")[0]
            elsewhere = [ours for ours, theirs in ELSEWHERE.items() if name in theirs.split()]
            close = [first] if name in MALLETS else elsewhere or get_close_matches(name, COMMANDS, n=1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            if name in MALLETS:
                hint = f", which is MALLET's: '{first}' does it here, 'mallet {name}' takes MALLET's options"
            raise click.UsageError(f"there is no command '{name}'{hint}", ctx) from None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True,
    callback=lambda ctx, _, asked: _version(ctx, asked),
    help="Show the version, the kernels in use and the platform, and exit.",
)  # fmt: skip
def cli() -> None:
    """Topic models from text: fast, exact, and the same answer every time.

    \b
    A first session:
      topicx demo                                     see what it does
      topicx datasets texts -o texts.tsv              some texts (or your own: a folder, a table, lines)
      topicx import texts.tsv -o texts.corpus         text becomes a corpus
      topicx train texts.corpus -k 10 -o texts.model  a corpus becomes a model
      topicx topics texts.model                       read it
      topicx infer texts.model new.txt                the topics of new documents

    Results go to standard output, progress and messages to standard error. `-` is standard input or output, and names
    ending in .gz are compressed. Exit status: 0 done, 1 a failure while running, 2 wrong usage or bad input, 130
    interrupted.
    """


def _version(ctx: click.Context, asked: bool) -> None:
    """Print what a report of a defect should say first."""
    if not asked:
        return
    import platform

    from topicx._kernels.base.processor import instruction_set

    where = f"{platform.system()} {platform.machine()}; {platform.python_implementation()} {platform.python_version()}"
    click.echo(f"topicx {__version__} (kernels: {instruction_set()}; {where})")
    ctx.exit()


INTERRUPTIBLE = object()
"""Context setting: until the command is loaded, interrupts end the process without a word."""


def main(arguments: list[str] | None = None, interruptible: bool = False) -> None:
    """Run the command line: every expected mistake is one line on standard error, never a traceback. `interruptible`:
    the process has the system's own way with interrupts, until its command is loaded."""
    from topicx.errors import TopicxError
    from topicx.files.mapping_hook import MappingHook

    _open_standard_streams()
    _check_limits()
    MappingHook.hear = staticmethod(_line_for_bus_errors)
    if "_TOPICX_COMPLETE" in os.environ:
        import_module("topicx.cli.completion")
    try:
        status = cli.main(
            arguments, prog_name="topicx", standalone_mode=False, obj=INTERRUPTIBLE if interruptible else None
        )
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.exit(status if isinstance(status, int) else 0)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        sys.exit(2)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "topicx"
        said = None
        if isinstance(error, click.NoSuchOption):
            from topicx.cli.other_programs import hint_for_option

            said = hint_for_option(command.split()[-1], error.option_name)
        _exit_with_message(f"{said or error.format_message()} (see '{command} --help')", 2)
    except click.ClickException as error:
        _exit_with_message(error.format_message(), 2)
    except (click.Abort, KeyboardInterrupt):
        _exit_with_message("interrupted", 130)
    except TopicxError as error:
        _exit_with_message(spell_options(str(error)), error.exit_status)
    except (BrokenPipeError, _ReaderLeft):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(128 + getattr(signal, "SIGPIPE", 13))
    except MemoryError as error:
        _exit_with_message(f"out of memory: {error}" if str(error) else "out of memory", 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        if not where and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            where = "standard output: "  # all other outputs name themselves
        _exit_with_message(f"{where}{error.strerror or error}", 1)
    except Exception as error:
        if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
            _exit_with_message("the system gives no more threads (ulimit -u, -v): --threads 1 needs the fewest", 1)
        if os.environ.get("TOPICX_TRACEBACK"):
            raise
        kind = type(error).__name__
        _exit_with_message(f"unexpected {kind}: {error} (a defect of topicx: TOPICX_TRACEBACK=1 shows where)", 1)


LEAST_FILES, LEAST_SPACE = 32, 300_000_000
"""Open files, and bytes of address space, below which libraries that are loaded fail in ways of their own."""


def _check_limits() -> None:
    """Say at once that the system gives too little for anything (`ulimit -n`, `ulimit -v`)."""
    try:
        import resource
    except ImportError:  # not a system with such limits
        return
    for kind, least, what in (
        (resource.RLIMIT_NOFILE, LEAST_FILES, f"{LEAST_FILES} open files (ulimit -n)"),
        (resource.RLIMIT_AS, LEAST_SPACE, f"{LEAST_SPACE // 1_000_000} MB of address space (ulimit -v)"),
    ):
        given = resource.getrlimit(kind)[0]
        if given != resource.RLIM_INFINITY and given < least:
            _exit_with_message(f"at least {what} are needed", 1)


def _line_for_bus_errors(name: str) -> None:
    """A file is mapped: if another program cuts it short, the system ends this one, with this line."""
    from topicx._kernels.base.bus_errors import tell_bus_errors
    from topicx.strings import one_line

    tell_bus_errors(f"topicx: {one_line(name)}: was cut short by another program while it was in use\n".encode())


class _Closed(io.RawIOBase):
    """Standard output that the caller has closed (`>&-`)."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        raise OSError(errno.EBADF, "cannot be written: it is closed", "standard output")


class _Messages(io.FileIO):
    """Standard error into a pipe: when nobody reads it any more (`train … 2>&1 | head`), work goes on without. There is
    no buffer between, whose lock a signal's handler with a message of its own would meet."""

    def write(self, data: Any) -> int:
        left = memoryview(data)
        try:
            while left:
                left = left[super().write(left) or 0 :]
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
        return len(data)


def _open_standard_streams() -> None:
    """Something stands where a standard stream is closed, so that no file of ours gets its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed(), 1), "utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    elif sys.stderr is sys.__stderr__ and stat.S_ISFIFO(os.fstat(2).st_mode):
        form = str(sys.stderr.encoding), sys.stderr.errors  # type: ignore[union-attr]
        sys.stderr = io.TextIOWrapper(_Messages(2, "w", closefd=False), *form, line_buffering=True)
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # what its encoding does not have is spelt, and ends nothing


def spell_options(message: str) -> str:
    """Python's names of training options as the command line spells them."""
    from topicx.declare import declared_options
    from topicx.sampling.run_options import Options

    known = "|".join(declared_options(Options))
    message = re.sub(rf"^({known})(?=: | must be | is for | has no )", lambda m: "--" + m[0].replace("_", "-"), message)
    names = [name for name in declared_options(Options) if "_" in name]
    return re.sub(rf"(?<![\w./-])({'|'.join(names)})(?![\w./=])", lambda m: "--" + m[0].replace("_", "-"), message)


def _exit_with_message(message: str, status: int) -> None:
    if sys.stderr is not None:
        from topicx.strings import one_line

        print("topicx: " + one_line(" ".join(message.split())), file=sys.stderr)
    sys.exit(status)
