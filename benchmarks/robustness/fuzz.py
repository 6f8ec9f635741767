"""A fuzzing campaign: every kind of our files, every reader, every command that opens them; and other programs' files.

python benchmarks/robustness/fuzz.py --cases 100000            on the installed build
python benchmarks/robustness/fuzz.py --sanitized DIRECTORY     on the build that sanitized.py made
python benchmarks/robustness/fuzz.py --case 4711 --traceback   one case again

A case is its number: the file, the lie and the command follow from it. A server process has everything imported and
forks workers with limits on memory and time; a worker does case after case and notes which, so that a signal or a hang
belongs to a case. Found is: a signal, a hang of more than ten seconds, an error that the command line would call
unexpected, a report of a sanitizer, and a file that was accepted though its numbers are out of range by a check of its
own (`plainly_wrong`, which knows nothing of the schemas). What is found is printed, and counted at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import io
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
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

HANG = 10.0
MEMORY = 3 << 30
BATCH = 500
SAMPLERS = ("sparse", "dense", "light", "alias", "tree", "partial", "warp", "cvb0", "cvb", "vb", "scvb0")
QUICK = "-q --threads 1"

CORPUS = [
    *(f"train {{f}} -k 3 --iterations 2 --sampler {sampler} -o o {QUICK}" for sampler in SAMPLERS),
    f"train {{f}} -k 3 --iterations 2 --sampler scvb0 --stream -o o {QUICK}",
    f"infer good.model {{f}} -o o --burn-in 1 --samples 1 {QUICK}",
    *(f"export {{f}} --format {format} -o o -q" for format in ("lines", "jsonl", "uci", "ldac", "svmlight")),
    *(f"evaluate good.model {{f}} -m {method} {QUICK} --samples 2 --burn-in 1"
      for method in ("completion", "chib", "likelihood")),
    f"evaluate good.model {{f}} -m left-to-right --particles 2 {QUICK}",
    f"evaluate good.model {{f}} -m coherence {QUICK}",
    f"evaluate good.model {{f}} -m diagnostics --samples 2 --burn-in 1 {QUICK}",
    "prune {f} --min-count 2 --drop-empty -o o -q", "split {f} -o o -q", "info {f}", "info {f} --json --arrays",
    "import text.txt --format lines --like {f} -o o -q",
]  # fmt: skip
MODEL = [
    "topics {f} -d 3 -p", "topics {f} --json", "topics {f} --compare good.model", "info {f}",
    f"infer {{f}} good.corpus -o o --burn-in 1 --samples 1 {QUICK}",
    f"infer {{f}} text.txt --input-format lines -o o --state o2 --burn-in 1 --samples 1 {QUICK}",
    *(f"export {{f}} --format {format} -o o -q"
      for format in ("mallet-topic-keys", "mallet-topic-word-weights", "mallet-word-topic-counts")),
    "export {f} --state good.state --format mallet-diagnostics -o o -q",
    "export {f} --state good.state --format pyldavis -o o -q",
    *(f"evaluate {{f}} good.corpus -m {method} {QUICK} --samples 2 --burn-in 1" for method in ("completion", "chib")),
    f"evaluate {{f}} good.corpus -m left-to-right --particles 2 {QUICK}",
    f"evaluate {{f}} good.corpus -m coherence {QUICK}",
    "import text.txt --format lines --like {f} -o o -q",
]  # fmt: skip
STATE = [
    f"estimate {{f}} -o o --doc-topics o2 {QUICK}", f"estimate {{f}} -o o --estimator cgs {QUICK}",
    f"estimate {{f}} good.state --align -o o {QUICK}", "info {f}",
    *(f"export {{f}} --format {format} -o o {QUICK}"
      for format in ("mallet-state", "mallet-doc-topics", "warplda", "pyldavis", "mallet-topic-keys")),
    *(f"train --init-state {{f}} --iterations 2 --sampler {sampler} -o o {QUICK}" for sampler in SAMPLERS),
    f"evaluate good.model {{f}} -m likelihood {QUICK}", f"evaluate good.model {{f}} -m diagnostics {QUICK}",
]  # fmt: skip
CHECKPOINT = [
    *[f"train --resume {{f}} -o o --state o2 {QUICK}"] * 4,
    f"train --resume {{f}} --iterations 9 -o o {QUICK}",
    "info {f}",
]
FOREIGN = {
    "mallet.txt": [f"estimate {{f}} -o o {QUICK}", f"train --init-state {{f}} --iterations 2 -o o {QUICK}"],
    "warp.z.estimate": [f"estimate {{f}} --input-format warplda -o o {QUICK}"],
    "warp.model": [f"estimate warp2.z.estimate --input-format warplda -o o {QUICK}"],
    **{f"docs.{format}": [f"import {{f}} --format {format} -o o -q"]
       for format in ("lines", "jsonl", "uci", "ldac", "svmlight")},
    "text.csv": ["import {f} --format csv -o o -q"],
}  # fmt: skip


# -- what the cases begin with -----------------------------------------------------------------------------------------


def run(line: str) -> None:
    from topicx.cli import cli

    cli.main(shlex.split(line), prog_name="topicx", standalone_mode=False)


def prepare() -> None:
    """Small files of every kind, in the present folder."""
    import json

    import numpy as np

    from topicx.corpus.corpus import Corpus
    from topicx.engines.threads import Threads
    from topicx.run import Run
    from topicx.sampling.chain import Checkpoints, Interrupted
    from topicx.sampling.options import Options
    from topicx.state import State
    from topicx.strings import Strings

    rng = random.Random(3)
    pools = ["moon", "star", "orbit", "comet", "planet"], ["bread", "flour", "oven", "yeast", "dough"]
    with open("docs.json", "w") as out:  # noqa: PTH123
        for i in range(24):
            text = " ".join(rng.choice([*pools[i % 2], "day"]) for _ in range(8)) if i != 5 else ""
            row = {
                "id": f"d{i}",
                "text": text,
                "topic": "sky" if i % 2 else "oven",
                "place": f"p{i % 3}",
                "year": 1990 + i,
            }
            out.write(json.dumps(row | {"score": i / 2, "note": f"né {i}"}) + "\n")
    fields = "--label-field topic --collection-field place --time-field year --column score --column note"
    run(f"import docs.json --format jsonl {fields} -o good.corpus -q")
    run("datasets make bars --documents 8 --tokens 6 --seed 2 -o truth.corpus -q")
    Path("text.txt").write_text("one\t-\tmoon bread day\ntwo\tsky\tstar star comet\n")
    Path("text.csv").write_text('id,text,label\na,moon bread,x\nb,"star, day",y\n')
    Path("seeds.txt").write_text("0 moon\n1 bread\n")
    train = f"train good.corpus -k 3 --iterations 6 --seed 3 {QUICK}"
    run(f"{train} -o good.model --state good.state --seed-words seeds.txt --seed-weight 2")
    run(f"{train} -o cgs.model --state plain.state --estimator cgs --sampler light")
    run(f"estimate good.state -o kept.model --phi-entries 20 {QUICK}")
    state = State.load("good.state")
    n = state.n_documents
    state.alpha, state.groups = np.vstack([state.alpha] * 2), (np.arange(n) % 2).astype(np.uint32)
    state.group_names, state.side = Strings.of(["a", "b"]), {"eta": np.ones(3)}
    state.allowed = np.arange(n + 1, dtype=np.int64) * 3, np.tile(np.arange(3, dtype=np.uint16), n)
    state.save("rich.state")
    corpus = Corpus.load("good.corpus")
    for sampler in SAMPLERS:
        more: dict[str, Any] = {"samples": 2, "lag": 2} if sampler in SAMPLERS[:7] else {}
        options = Options(
            topics=3, iterations=8, seed=3, sampler=sampler, optimize_interval=2, optimize_burn_in=1, **more
        )
        with Threads(1) as engine, contextlib.suppress(Interrupted):
            asked = iter(range(100))
            one = Run.start(corpus, options, engine)
            one.chain.notes = {"theta": "cgsp", "phi": "auto", "series": {"chains": 1, "keep": "best", "scores": []}}
            one.train((), Checkpoints(f"{sampler}.checkpoint"), lambda asked=asked: next(asked) == 6)
    run("export plain.state --format mallet-state -o mallet.txt -q")
    run("export plain.state --format warplda -o warp -q")
    for name in ("z.estimate", "model", "vocab"):
        shutil.copy(f"warp.{name}", f"warp2.{name}")
    for format in ("lines", "jsonl", "uci", "ldac", "svmlight"):
        run(f"export good.corpus --format {format} -o docs.{format} -q")


# -- one case ----------------------------------------------------------------------------------------------------------


class Cases:
    """Case number → file and command."""

    def __init__(self, share_foreign: float) -> None:
        from topicx import files

        self.share_foreign = share_foreign
        self.commands = {"corpus": CORPUS, "model": MODEL, "state": STATE, "checkpoint": CHECKPOINT}
        names = [
            path for path in sorted(Path().iterdir()) if path.suffix[1:] in self.commands and files.is_topicx(path)
        ]
        self.sources: dict[str, list[Any]] = {kind: [] for kind in self.commands}
        for name in names:
            file = files.read(name)
            self.sources[file.kind].append(file)
        self.foreign = {name: Path(name).read_bytes() for name in FOREIGN}

    def make(self, number: int) -> tuple[str, bytes, str]:
        """The name of the file, its bytes and the command."""
        import mutate

        rng = random.Random(number)
        if rng.random() < self.share_foreign:
            name = rng.choice(sorted(self.foreign))
            target = {"warp.z.estimate": "warp.z.estimate", "warp.model": "warp2.model"}.get(name, f"x.{name}")
            return target, mutate.mutated_text(self.foreign[name], rng), rng.choice(FOREIGN[name]).format(f=target)
        kind = rng.choice(("corpus", "model", "state", "checkpoint", "checkpoint"))
        source = rng.choice(self.sources[kind])
        return "x.topicx", mutate.mutated(source, rng), rng.choice(self.commands[kind]).format(f="x.topicx")


def plainly_wrong(path: str) -> str:
    """What is out of range in a file that was accepted; '' if nothing is. Plain comparisons, apart from the schemas."""
    import numpy as np

    from topicx import files

    file = files.read(path)
    a = file.arrays
    wrong = []

    def need(holds: Any, what: str) -> None:
        if not bool(holds):
            wrong.append(what)

    def offsets(name: str, end: int) -> None:
        o = a[name]
        need(o.ndim == 1 and len(o) and o[0] == 0 and (np.diff(o.astype(object)) >= 0).all() and o[-1] == end, name)

    if "vocabulary.offsets" in a:
        words = len(a["vocabulary.offsets"]) - 1
        offsets("vocabulary.offsets", len(a["vocabulary.bytes"]))
    if "words" in a:
        offsets("offsets", len(a["words"]))
        need((a["words"] < words).all(), "words")
        need(len(a["ids.offsets"]) == len(a["offsets"]), "ids")
    if file.kind != "corpus":
        topics = a["alpha"].shape[1]
        for name in ("alpha", "beta"):
            need(np.isfinite(a[name]).all() and (a[name] > 1e-31).all() and (a[name] < 1e31).all(), name)
        need(len(a["beta"]) == words and 0 < topics < 65536, "beta")
    if "z" in a:
        need(((a["z"] < topics) | (a["z"] == 65535)).all(), "z")
        need(len(a["seed_counts"]) == len(a["seed_words"]) == len(a["seed_topics"]), "seeds")
        need(
            (a["seed_words"] < words).all() and (a["seed_topics"] < topics).all() and (a["seed_counts"] > 0).all(),
            "seeds",
        )
        need((a["groups"] < len(a["alpha"])).all(), "groups")
    if file.kind == "model":
        offsets("indptr", len(a["topics"]))
        need((a["topics"] < topics).all() and len(a["topics"]) == len(a["values"]), "topics")
        need(np.isfinite(a["values"]).all() and (a["values"] >= 0).all(), "values")
        need(np.isfinite(a["remainder"]).all() and (a["remainder"] >= 0).all(), "remainder")
    if file.kind == "corpus":
        need(
            (a["collection"] < len(a["collection_names.offsets"]) - 1).all() and (a["collection"] >= -1).all(),
            "collection",
        )
        need((a["label_ids"] < len(a["label_names.offsets"]) - 1).all(), "labels")
        need((a["word_frequencies"] >= 0).all(), "frequencies")
        need(not np.isinf(a["time"]).any(), "time")
    if file.kind == "checkpoint":
        for name, array in a.items():
            if name.startswith("method.") and array.dtype.kind == "f":
                need(np.isfinite(array).all(), name)
    return ", ".join(wrong)


def outcome(name: str, data: bytes, line: str) -> str:
    """Do it, as the command line does: `refused`, `accepted`, or what is wrong."""
    import click

    from topicx.errors import TopicxError

    with open(name, "wb") as out:  # noqa: PTH123
        out.write(data)
    try:
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
            run(line)
    except (TopicxError, click.ClickException) as error:
        text = str(error) if isinstance(error, TopicxError) else error.format_message()
        return "refused" if text.strip() else "unexpected: no message"
    except (click.exceptions.Exit, click.Abort, SystemExit):
        return "refused"
    except MemoryError:
        return "refused"
    except OSError as error:
        return "refused" if error.strerror else f"unexpected {error!r}"
    except Exception as error:
        if os.environ.get("TOPICX_TRACEBACK"):
            traceback.print_exc()
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"unexpected {type(error).__name__}: {str(error)[:150]} ({Path(place.filename).name}:{place.lineno})"
    if name == "x.topicx" and (wrong := plainly_wrong(name)):
        return f"accepted with {wrong} out of range"
    return "accepted"


# -- the server --------------------------------------------------------------------------------------------------------


class Board:
    """What a worker notes: the number of its case, and when it began."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, 32)

    def note(self, number: int) -> None:
        self.memory[:16] = struct.pack("qd", number, time.monotonic())

    def read(self) -> tuple[int, float]:
        number, began = struct.unpack("qd", self.memory[:16])
        return int(number), float(began)


def worker(cases: Cases, numbers: range, board: Board, tell: Callable[[str], None], limit: int) -> None:
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    counted: Counter[str] = Counter()
    for number in numbers:
        board.note(number)
        try:
            found = outcome(*(case := cases.make(number)))
        except Exception as error:
            case, found = ("", b"", ""), f"harness {type(error).__name__} {error} {traceback.format_exc()[-300:]!r}"
        line = case[2]
        counted[found.split(" ")[0].rstrip(":")] += 1
        if found not in ("accepted", "refused"):
            tell(f"case {number}: {found}\n    {line}")
    tell("\t".join(f"{name}={count}" for name, count in counted.items()))


def serve(cases: Cases, first: int, last: int, limit: int, seconds: float, share: tuple[int, int]) -> Counter[str]:
    """All cases, batch after batch; returns how many ended how."""
    counted: Counter[str] = Counter()
    began = shown = time.monotonic()
    board = Board()
    at = first
    while at < last and time.monotonic() - began < seconds:
        batch = range(at, min(at + BATCH, last))
        told = tempfile.TemporaryFile("w+")  # noqa: SIM115
        errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        board.note(at)
        child = os.fork()
        if child == 0:
            os.dup2(errors.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

            def tell(text: str, told: Any = told) -> None:
                told.write(text + "\n")
                told.flush()

            try:
                worker(cases, batch, board, tell, limit)
            finally:
                os._exit(0)
        at, ended = batch.stop, None
        while ended is None:
            pid, status = os.waitpid(child, os.WNOHANG)
            number, since = board.read()
            if pid:
                ended = status
                if os.WIFSIGNALED(status):
                    counted["signal"] += 1
                    print(f"case {number}: signal {os.WTERMSIG(status)}\n    {cases.make(number)[2]}", flush=True)
                    at = number + 1
            elif time.monotonic() - since > HANG:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                counted["hang"] += 1
                print(f"case {number}: more than {HANG:g} s\n    {cases.make(number)[2]}", flush=True)
                at, ended = number + 1, 0
            else:
                time.sleep(0.002)
        told.seek(0)
        for text in told:
            if text.startswith(("case", "    ")):
                print(text, end="", flush=True)
            else:
                counted.update({k: int(v) for k, v in (part.split("=") for part in text.split() if "=" in part)})
        errors.seek(0)
        said = [text for text in errors if "runtime error:" in text or "AddressSanitizer" in text]
        if said:
            counted["sanitizer"] += len(said)
            print(f"cases {batch.start} to {batch.stop}: {said[0].strip()} ({len(said)} reports)", flush=True)
        told.close()
        errors.close()
        for path in Path().iterdir():  # what the commands have written
            if path.name in ("o", "o2") or path.name.startswith(("o.", "x.", "docs.parts")):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        if time.monotonic() - shown > 30:
            shown = time.monotonic()
            rate = (at - first) / (shown - began)
            print(f"{at - first:,} cases, {rate:.0f} a second: {dict(counted)}", file=sys.stderr, flush=True)
    counted["cases"] = at - first
    return counted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--foreign", type=float, default=0.15, help="share of other programs' files")
    parser.add_argument("--case", type=int, help="this case alone, in this process")
    parser.add_argument("--keep", help="with --case: keep its file under this name")
    parser.add_argument("--traceback", action="store_true")
    parser.add_argument("--sanitized", type=Path, help="a folder that sanitized.py made")
    arguments = parser.parse_args()
    here = str(Path(__file__).resolve().parent)
    if arguments.sanitized and "LD_PRELOAD" not in os.environ:
        import sanitized

        command = [sys.executable, *sys.argv]
        return subprocess.run(command, env=os.environ | sanitized.environment(arguments.sanitized.resolve())).returncode
    sys.path.insert(0, here)
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    folder = tempfile.mkdtemp(prefix="topicx-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    os.chdir(folder)
    try:
        # What is imported now, workers have.
        child = os.fork()
        if child == 0:
            prepare()
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            print("the files to begin with could not be made")
            return 1
        _warm()
        cases = Cases(arguments.foreign)
        if arguments.case is not None:
            if arguments.traceback:
                os.environ["TOPICX_TRACEBACK"] = "1"
            name, data, line = cases.make(arguments.case)
            if arguments.keep:
                Path(arguments.keep).write_bytes(data)
            print(line)
            print(outcome(name, data, line))
            return 0
        limit = 0 if arguments.sanitized else MEMORY
        last = arguments.first + arguments.cases
        began = time.monotonic()
        counted = serve(cases, arguments.first, last, limit, arguments.seconds, (0, 1))
        print(f"{dict(counted)} in {time.monotonic() - began:.0f} s")
        bad = {"signal", "hang", "unexpected", "sanitizer", "accepted with"} & set(counted)
        return 1 if bad else 0
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


def _warm() -> None:
    """Import what commands import, without threads (a fork would lose them)."""
    import pkgutil
    from importlib import import_module

    import mutate
    import numpy.linalg
    import scipy.sparse

    import topicx

    for package in ("topicx", "topicx.cli"):
        for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if "__main__" not in module.name:
                with contextlib.suppress(ImportError):
                    import_module(module.name)
    assert mutate and topicx and numpy.linalg and scipy.sparse


if __name__ == "__main__":
    sys.exit(main())
