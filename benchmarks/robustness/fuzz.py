"""A fuzzing campaign: every kind of our files, every reader, every command that opens them; and other programs' files.

python benchmarks/robustness/fuzz.py --cases 1000000           on the installed build
python benchmarks/robustness/fuzz.py --sanitized DIRECTORY     on the build that sanitized.py made
python benchmarks/robustness/fuzz.py --case 4711 --traceback   one case again

A case is its number: the file, the lie and the command follow from it. A server process has everything imported and
forks workers with limits on memory and time; a worker does case after case and notes which, so that a signal or a hang
belongs to a case. Found is: a signal; a hang (more than ten seconds of the processor); an error that the command line
would call unexpected; memory beyond the limit; a report of a sanitizer; an output of ours that we then refuse; and a
file that was accepted though its numbers are out of range by a check of its own (`plainly_wrong`, which knows nothing
of the schemas). What is found is printed; a table says what became of how many files of each kind.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import mmap
import os
import random
import resource
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HANG, STANDSTILL = 10.0, 300.0
"""Seconds of the processor, and by the clock."""
MEMORY = 2 << 30
BATCH = 500
FOREIGN_SHARE, OPTION_SHARE = 0.22, 0.1
KINDS = ("corpus", "model", "model", "state", "state", "checkpoint", "checkpoint", "hmm", "hmm-checkpoint")
OURS = "x.topicx"


# -- one case ----------------------------------------------------------------------------------------------------------


class Cases:
    """Case number → kind, file and command."""

    def __init__(self) -> None:
        import sources

        from topicx.files import container

        paths = [path for path in sorted(Path().iterdir()) if path.is_file() and container.is_topicx(path)]
        self.sources: dict[str, list[Any]] = {kind: [] for kind in sources.COMMANDS}
        for path in paths:
            file = container.read(path)
            self.sources[file.kind].append(file)
        self.foreign = {name: Path(name).read_bytes() for name in sorted(sources.FOREIGN) if Path(name).exists()}
        missing = set(sources.FOREIGN) - set(self.foreign) - sources.OPTIONAL
        assert not missing, missing
        self.placed = {name: data for name, data in self.foreign.items() if "/" in name or name in sources.PLACED}
        self.kept = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
        self.stamps: dict[Path, tuple[int, int]] = {}
        self.lines = dict(_in_child(lambda: list(self._accepted())))
        self.restore()

    def restore(self) -> None:
        """The files to begin with as they were: options that lie name some of them as outputs."""
        for path, data in self.kept.items():
            found = path.stat() if path.is_file() else None
            if found is None or self.stamps.get(path) != (found.st_mtime_ns, found.st_size):
                if path.is_dir():
                    shutil.rmtree(path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                found = path.stat()
                self.stamps[path] = (found.st_mtime_ns, found.st_size)

    def _accepted(self) -> Iterator[tuple[str, list[str]]]:
        """Of each file the commands that take it as it is: what they refuse anyhow shows nothing."""
        import sources

        for kind, found in self.sources.items():
            for file in found:
                data = Path(file.path).read_bytes()
                lines = [line.format(f=OURS) for line in sources.COMMANDS[kind]]
                yield file.path, [line for line in lines if outcome(OURS, data, line) == "accepted"]
        for name, data in self.foreign.items():
            lines = [line.format(f=self._target(name)) for line in sources.FOREIGN[name]]
            yield name, [line for line in lines if self._whole(name, data, line)] or lines

    def _whole(self, name: str, data: bytes, line: str) -> bool:
        found = outcome(self._target(name), data, line)
        return found == "accepted" or "input-state" in line or "server_0" in line or "doc_topic" in line

    def _target(self, name: str) -> str:
        return name if name in self.placed else f"x.{name}"

    def make(self, number: int) -> tuple[str, str, bytes, str]:
        """The kind, the name of the file, its bytes and the command. (`ways` says how far to go with it.)"""
        import mutate

        rng = random.Random(number)
        if rng.random() < FOREIGN_SHARE:
            name = rng.choice(list(self.foreign))
            line = rng.choice(self.lines[name])
            return "others", self._target(name), mutate.mutated_text(self.foreign[name], rng), line
        lies = rng.random() < OPTION_SHARE
        kind = rng.choice(KINDS)
        source = rng.choice(self.sources[kind])
        line = rng.choice(self.lines[source.path])
        if not lies or line.startswith("mallet "):
            return kind, OURS, mutate.mutated(source, rng), line
        words = shlex.split(line.split(" && ")[0])
        lying = shlex.join([*words, *mutate.lying_options(_command(words), rng)])
        return "options", OURS, Path(source.path).read_bytes(), lying


def _command(words: list[str]) -> Any:
    """The click command that a line calls."""
    import click

    from topicx.cli import cli

    found: Any = cli
    for word in words:
        if not isinstance(found, click.Group):
            break
        found = found.get_command(click.Context(found), word)
    return found


def ways(number: int) -> tuple[bool, bool]:
    """Whether to use what was written, and to have refusals told: some cases each, of all kinds alike."""
    rng = random.Random(f"ways {number}")
    return rng.random() < 0.3, rng.random() < 0.15


def outcome(name: str, data: bytes, line: str, further: bool = True, told: bool = True) -> str:
    """Do it, as the command line does: `refused`, `accepted`, or what is wrong. `further`: and use what it has written.
    Not `told`: what the reader of our files refuses need not be told on the command line, which takes its time."""
    with open(name, "wb") as out:  # noqa: PTH123
        out.write(data)
    if not told and name == OURS and _step("", _read) == "refused":
        return "refused"
    steps = line.split(" && ") if further else [line.split(" && ", 1)[0]]
    for at, step in enumerate(steps):
        found = _step(step)
        if found == "refused":
            return "accepted" if at else "refused"
        if found.startswith("refused "):
            if at and any(f" {word} " in f" {step} " for word in ("o", "o2", "o3", "o.model", "o.train.corpus")):
                return f"contradiction: {found} by {step}"
            return "accepted" if at else "refused"
        if found != "accepted":
            return found
    if name == OURS and (wrong := plainly_wrong(name)):
        return f"out of range: {wrong}"
    return "accepted"


def _read(_: str) -> None:
    """What every command does first."""
    from topicx.files import container
    from topicx.files.file_kinds import KINDS

    container.read(OURS, KINDS)


def _step(line: str, do: Callable[[str], None] | None = None) -> str:
    import click
    import sources

    from topicx.errors import TopicxError

    try:
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
            (do or sources.run)(line)
    except (TopicxError, click.ClickException) as error:
        text = str(error) if isinstance(error, TopicxError) else error.format_message()
        damaged = "not consistent" in text or "damaged" in text or "not written" in text
        return (
            "unexpected: no message" if not text.strip() else f"refused ({text})" if damaged and not do else "refused"
        )
    except click.exceptions.Exit as error:
        return "refused" if error.exit_code else "accepted"
    except (click.Abort, SystemExit):
        return "refused"
    except MemoryError:
        if os.environ.get("TOPICX_TRACEBACK"):
            traceback.print_exc()
        return "memory"
    except OSError as error:
        return "refused" if error.strerror else f"unexpected: {error!r}"
    except Exception as error:
        if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
            return "refused"  # as the command line says it: a worker's memory is limited
        if os.environ.get("TOPICX_TRACEBACK"):
            traceback.print_exc()
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"unexpected: {type(error).__name__} {str(error)[:150]} ({Path(place.filename).name}:{place.lineno})"
    return "accepted"


class _Wrong(list[str]):
    def need(self, holds: Any, what: str) -> None:
        if not bool(holds):
            self.append(what)


def plainly_wrong(path: str) -> str:
    """What is out of range in a file that was accepted; '' if nothing is. Plain comparisons, apart from the schemas."""
    import numpy as np

    from topicx.files import container

    file = container.read(path)
    a, wrong = file.arrays, _Wrong()

    def offsets(name: str, end: int) -> None:
        o = a[name].astype(object)
        wrong.need(o.ndim == 1 and len(o) and o[0] == 0 and (np.diff(o) >= 0).all() and o[-1] == end, name)

    def positive(*names: str) -> None:
        for name in names:
            wrong.need(np.isfinite(a[name]).all() and (a[name] > 1e-31).all() and (a[name] < 1e31).all(), name)

    for name in a:
        if name.endswith(".bytes") and not name.startswith(("side.", "method.", "truth.")):
            offsets(f"{name.removesuffix('bytes')}offsets", len(a[name]))
    words = len(a["vocabulary.offsets"]) - 1
    if "words" in a:
        offsets("offsets", len(a["words"]))
        wrong.need((a["words"] < words).all(), "words")
    if file.kind in ("state", "model", "checkpoint"):
        topics = a["alpha"].shape[1]
        positive("alpha", "beta")
        wrong.need(len(a["beta"]) == words and 0 < topics < 65536, "beta")
    if file.kind in ("state", "checkpoint"):
        _wrong_state(a, words, topics, wrong)
    if file.kind == "model":
        offsets("indptr", len(a["topics"]))
        wrong.need((a["topics"] < topics).all() and len(a["topics"]) == len(a["values"]), "topics")
        for name in ("values", "remainder", "remainder_share", "example_weights"):
            wrong.need(name not in a or (np.isfinite(a[name]).all() and (a[name] >= 0).all()), name)
    if file.kind == "corpus":
        _wrong_corpus(a, wrong)
    if file.kind == "hmm":
        for name in ("startprob", "transmat", "emissionprob"):
            wrong.need((a[name] >= 0).all() and (a[name] <= 1.001).all(), name)
            wrong.need(np.allclose(a[name].sum(axis=-1), 1, atol=0.01), f"sums of {name}")
    ours = {"hmm-checkpoint": ("restart.",), "checkpoint": ("method.", "sample.")}.get(file.kind, ())
    for name, array in a.items():  # others are kept unread
        if name.startswith(ours) and array.dtype.kind == "f":
            wrong.need(np.isfinite(array).all() or name.endswith(".last"), name)
    return ", ".join(wrong)


def _wrong_state(a: dict[str, Any], words: int, topics: int, wrong: _Wrong) -> None:
    wrong.need(((a["z"] < topics) | (a["z"] == 65535)).all() and len(a["z"]) % max(len(a["words"]), 1) == 0, "z")
    wrong.need(len(a["seed_counts"]) == len(a["seed_words"]) == len(a["seed_topics"]), "seeds")
    wrong.need((a["seed_words"] < words).all() and (a["seed_topics"] < topics).all(), "seeds")
    wrong.need((a["seed_counts"] > 0).all(), "seed counts")
    wrong.need((a["groups"] < len(a["alpha"])).all() and len(a["groups"]) in (0, len(a["offsets"]) - 1), "groups")
    if "allowed.topics" in a:
        wrong.need((a["allowed.topics"] < topics).all(), "allowed")


def _wrong_corpus(a: dict[str, Any], wrong: _Wrong) -> None:
    import numpy as np

    collections, labels = len(a["collection_names.offsets"]) - 1, len(a["label_names.offsets"]) - 1
    wrong.need((a["collection"] < collections).all() and (a["collection"] >= -1).all(), "collection")
    wrong.need((a["label_ids"] < labels).all(), "labels")
    wrong.need((a["word_frequencies"] >= 0).all() and (a["document_frequencies"] >= 0).all(), "frequencies")
    wrong.need(a["word_frequencies"].sum() == len(a["words"]), "sum of frequencies")
    wrong.need(not np.isinf(a["time"]).any(), "time")


# -- the server --------------------------------------------------------------------------------------------------------


class Board:
    """What a worker notes: the number of its case, and when it began, by the clock and by the processor."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, 32)

    def note(self, number: int, used: float) -> None:
        self.memory[:24] = struct.pack("qdd", number, time.monotonic(), used)

    def read(self) -> tuple[int, float, float]:
        number, began, used = struct.unpack("qdd", self.memory[:24])
        return int(number), float(began), float(used)


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def worker(cases: Cases, numbers: range, board: Board, tell: Callable[[str], None], limit: int) -> None:
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("error", RuntimeWarning)  # lines on the terminal that nobody understands
    cases.restore()
    counted: Counter[str] = Counter()
    for number in numbers:
        board.note(number, time.process_time())
        kind = name = line = ""
        try:
            kind, name, data, line = cases.make(number)
            found = outcome(name, data, line, *ways(number))
            if name in cases.placed or kind == "options":
                cases.restore()
        except Exception as error:
            found = f"harness: {type(error).__name__} {error} {traceback.format_exc()[-300:]!r}"
        counted[f"{kind} {found.split(':')[0]}"] += 1
        if found not in ("accepted", "refused"):
            tell(f"case {number}: {found}\n    {line}")
    tell(json.dumps(counted))


class Batch:
    """A child that does some cases; `ended` says whether it is done, and how."""

    def __init__(self, cases: Cases, numbers: range, limit: int) -> None:
        self.cases, self.numbers = cases, numbers
        self.told, self.errors = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.board = Board()
        self.next, self.found = numbers.stop, Counter[str]()
        self.board.note(numbers.start, 0.0)
        self.child = os.fork()
        if self.child == 0:
            os.dup2(self.errors.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            try:
                worker(cases, numbers, self.board, self._tell, limit)
            finally:
                os._exit(0)

    def _tell(self, text: str) -> None:
        self.told.write(text + "\n")
        self.told.flush()

    def wait(self) -> None:
        while True:
            pid, status = os.waitpid(self.child, os.WNOHANG)
            number, since, used = self.board.read()
            if pid:
                if os.WIFSIGNALED(status):
                    self._died(number, "signal", f"signal {os.WTERMSIG(status)}")
                return None
            late = time.monotonic() - since
            if late > STANDSTILL or (late > HANG and _processor_seconds(self.child) - used > HANG):
                os.kill(self.child, signal.SIGKILL)
                os.waitpid(self.child, 0)
                return self._died(number, "hang", f"more than {HANG:g} s")
            time.sleep(0.002)

    def _died(self, number: int, what: str, said: str) -> None:
        kind, _, _, line = self.cases.make(number)
        self.next = number + 1
        self.found[f"{kind} {what}"] += 1
        print(f"case {number}: {said}\n    {line}", flush=True)

    def report(self) -> Counter[str]:
        self.told.seek(0)
        for text in self.told:
            if text.startswith("{"):
                self.found.update(json.loads(text))
            else:
                print(text, end="", flush=True)
        self.errors.seek(0)
        said = [text for text in self.errors if "runtime error:" in text or "AddressSanitizer" in text]
        if said:
            self.found["all sanitizer"] += len(said)
            print(f"cases {self.numbers.start} to {self.next}: {said[0].strip()} ({len(said)} reports)", flush=True)
        self.told.close()
        self.errors.close()
        return self.found


def serve(cases: Cases, first: int, last: int, limit: int, seconds: float) -> Counter[str]:
    """All cases, batch after batch; returns how many files of each kind ended how."""
    counted: Counter[str] = Counter()
    began = shown = time.monotonic()
    known = {path.parts[0] for path in cases.kept}
    at = first
    while at < last and time.monotonic() - began < seconds:
        batch = Batch(cases, range(at, min(at + BATCH, last)), limit)
        batch.wait()
        counted += batch.report()
        at = batch.next
        for path in Path().iterdir():  # what the commands have written
            if path.name not in known:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        if time.monotonic() - shown > 30:
            shown = time.monotonic()
            bad = {
                name: count for name, count in counted.items() if name.split(" ", 1)[1] not in ("accepted", "refused")
            }
            print(
                f"{at - first:,} cases, {(at - first) / (shown - began):.0f} a second: {bad}",
                file=sys.stderr,
                flush=True,
            )
    print(f"{at - first:,} cases ({first:,} to {at - 1:,})")
    return counted


def table(counted: Counter[str]) -> bool:
    """Print it; whether there is nothing but acceptance and refusal."""
    ways = sorted({name.split(" ", 1)[1] for name in counted})
    print("\t".join(["kind", *ways]))
    for kind in sorted({name.split(" ", 1)[0] for name in counted}):
        print("\t".join([kind, *(str(counted[f"{kind} {way}"]) for way in ways)]))
    return set(ways) <= {"accepted", "refused"}


# -- the program -------------------------------------------------------------------------------------------------------


def _in_child(work: Callable[[], Any]) -> Any:
    """What it returns, done in a process of its own: threads that it starts would be lost in a fork."""
    with tempfile.TemporaryFile("w+") as told:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                json.dump(work(), told)
                told.flush()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        if os.waitpid(child, 0)[1]:
            sys.exit("the files to begin with could not be made")
        told.seek(0)
        return json.load(told)


def _warm() -> None:
    """Import what commands import, without threads; and let click make each command's parser once."""
    import pkgutil
    from importlib import import_module

    import click
    import mutate
    import numpy.linalg
    import scipy.sparse.linalg

    for package in ("topicx", "topicx.cli"):
        for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if "__main__" not in module.name:
                with contextlib.suppress(ImportError):
                    import_module(module.name)
    assert mutate and numpy.linalg and scipy.sparse.linalg
    made: dict[int, Any] = {}
    make = click.Command.make_parser

    def kept(command: click.Command, context: click.Context) -> Any:
        if id(command) not in made:
            made[id(command)] = make(command, context)
        made[id(command)].ctx = context
        return made[id(command)]

    click.Command.make_parser = kept  # type: ignore[method-assign]


def campaign(arguments: argparse.Namespace) -> int:
    import sources

    _in_child(sources.prepare)
    _warm()
    cases = Cases()
    if arguments.case is not None:
        if arguments.traceback:
            os.environ["TOPICX_TRACEBACK"] = "1"
        for number in arguments.case:
            _, name, data, line = cases.make(number)
            if arguments.keep:
                Path(f"{arguments.keep}{number}").write_bytes(data)
            print(f"case {number}: {line}", flush=True)
            print(outcome(name, data, line, *ways(number)), flush=True)
        return 0
    limit = 0 if arguments.sanitized else MEMORY
    began = time.monotonic()
    counted = serve(cases, arguments.first, arguments.first + arguments.cases, limit, arguments.seconds)
    good = table(counted)
    print(f"in {time.monotonic() - began:.0f} s, {sum(os.times()[:4]):.0f} s of the processor")
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--case", type=int, nargs="+", help="these cases alone, in this process")
    parser.add_argument("--keep", help="with --case: keep their files under this name and the number")
    parser.add_argument("--traceback", action="store_true")
    parser.add_argument("--sanitized", type=Path, help="a folder that sanitized.py made")
    arguments = parser.parse_args()
    if arguments.sanitized and "LD_PRELOAD" not in os.environ:
        import sanitized

        command = [sys.executable, *sys.argv]
        return subprocess.run(command, env=os.environ | sanitized.environment(arguments.sanitized.resolve())).returncode
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = (
        "system"  # its own reserves a gigabyte of addresses, which are limited here
    )
    folder = tempfile.mkdtemp(prefix="topicx-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    os.chdir(folder)
    try:
        return campaign(arguments)
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
