"""Kills at random moments: python benchmarks/robustness/kill.py --kills 1000

Commands that write are started over and over, and killed (SIGKILL, SIGTERM, SIGHUP, SIGINT) at a random moment of their
time: import, train (every model, several chains, several paths), infer, estimate, hmm train. After each kill an output
is whole or what it was before; what has been trained is resumed, and gives the same files; after the next run that ends
the folder has its outputs and nothing else, nor has the folder for temporary files. What is not so is printed and
counted. Every run is a process of its own, forked from one that has everything imported.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from topicx.files import container
from topicx.files.file_kinds import KINDS

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
SAVED = "--checkpoint-interval 4 --threads 1 -q"
TRAIN = "--seed 4 -o out.model --state out.state " + SAVED
COMMANDS = {
    "import": "import docs.json --format jsonl --label-field topic --collection-field place -o out.corpus -q",
    "train": f"train good.corpus -k 20 --iterations 60 {TRAIN}",
    "chains": f"train good.corpus -k 20 --iterations 20 --chains 3 --samples 2 --lag 3 {TRAIN}",
    "paths": f"train good.corpus -k 20 --iterations 20 --paths 3 {TRAIN}",
    "cvb0": f"train good.corpus -k 20 --sampler cvb0 --iterations 20 {TRAIN}",
    "medlda": f"train good.corpus --model medlda -k 10 --iterations 20 {TRAIN}",
    "labeled": f"train good.corpus --model labeled --iterations 40 --chains 2 {TRAIN}",
    "dependency": f"train good.corpus --model dependency --label-topics 2 --label-sweeps 20 --iterations 20 {TRAIN}",
    "compound": f"train good.corpus --model compound -k 10 --iterations 30 --pi-burn-in 5 {TRAIN}",
    "hdp": f"train good.corpus --model hdp -k 10 --iterations 20 {TRAIN}",
    "infer": "infer good.model good.corpus -o out.tsv --state out.state --threads 1 -q",
    "estimate": "estimate good.state -o out.model --doc-topics out.npz --threads 1 -q",
    "hmm": f"hmm train good.corpus -k 3 --restarts 2 --iterations 40 -o out.hmm {SAVED}",
    "baum-welch": f"hmm train good.corpus -k 3 --sampler baum-welch --tolerance 0 --iterations 20 -o out.hmm {SAVED}",
}
RESUME = {
    "out.model.checkpoint": f"train --resume out.model.checkpoint -o out.model --state out.state {SAVED}",
    "out.hmm.checkpoint": f"hmm train --resume out.hmm.checkpoint -o out.hmm {SAVED}",
}
OUTPUTS = ("out.corpus", "out.model", "out.state", "out.tsv", "out.npz", "out.hmm")


class Process:
    """A run of the command line, forked."""

    def __init__(self, line: str, folder: Folder) -> None:
        self.number = os.fork()
        if self.number == 0:
            code = 1
            try:
                code = self._do(line, folder)
            except BaseException:  # what is reported is the status
                code = 1
            finally:
                os._exit(code)

    @staticmethod
    def _do(line: str, folder: Folder) -> int:
        from topicx.cli import main

        for number in SIGNALS[1:]:  # a background job may have been told to ignore some
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder.temporary)
        os.chdir(folder.place)
        try:
            main(line.split())
        except SystemExit as end:
            return int(end.code or 0)
        return 0

    def wait(self, seconds: float) -> int | None:
        """Its status (negative: the signal), or None, if it goes on."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            process, status = os.waitpid(self.number, os.WNOHANG)
            if process:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.001)
        return None

    def kill(self, number: int) -> None:
        os.kill(self.number, number)


def names(place: Path) -> set[str]:
    return {path.name for path in place.iterdir()}


class Folder:
    """A folder with inputs, what each command makes of them, and how long that takes."""

    def __init__(self, place: Path) -> None:
        self.place, self.temporary = place, place / "tmp"
        self.temporary.mkdir()
        rng = random.Random(1)
        words = [f"w{i}" for i in range(200)]
        with (place / "docs.json").open("w") as out:
            for i in range(400):
                row = {"id": f"d{i}", "text": " ".join(rng.choices(words[i % 3 * 30 :], k=30))}
                out.write(json.dumps(row | {"topic": f"t{i % 3}", "place": f"p{i % 4}"}) + "\n")
        for line in (COMMANDS["import"], COMMANDS["train"].replace("good", "out")):
            self.run(line)
        for end in ("corpus", "model", "state"):
            (place / f"out.{end}").rename(place / f"good.{end}")
        self.inputs = names(place) - set(RESUME)
        self.clear()
        self.seconds: dict[str, float] = {}
        self.wanted: dict[str, dict[str, bytes]] = {}
        for name, line in COMMANDS.items():
            began = time.monotonic()
            if self.run(line):
                sys.exit(f"{name}: cannot be run: {line}")
            self.seconds[name] = time.monotonic() - began
            self.wanted[name] = self.outputs()
            self.clear()

    def run(self, line: str) -> int:
        status = Process(line, self).wait(600)
        return 1 if status is None else status

    def outputs(self) -> dict[str, bytes]:
        """The outputs, but for the traces' seconds, which no two runs share."""
        return {name: (self.place / name).read_bytes() for name in OUTPUTS if (self.place / name).exists()}

    def clear(self) -> None:
        for name in names(self.place) - self.inputs:
            (self.place / name).unlink()

    def strange(self) -> list[str]:
        """Names that nobody asked for."""
        known = self.inputs | set(OUTPUTS) | set(RESUME)
        return sorted(names(self.place) - known) + sorted(names(self.temporary))

    def half(self) -> list[str]:
        """Files that are not whole."""
        broken = []
        for name in [*OUTPUTS, *RESUME]:
            path = self.place / name
            if not path.exists():
                continue
            data = path.read_bytes()
            if name == "out.tsv":
                good = data == self.wanted["infer"][name]
            elif name == "out.npz":
                good = data == self.wanted["estimate"][name]
            else:
                try:
                    container.open_file(path, KINDS).close()
                    good = True
                except container.InputError:
                    good = False
            if not good:
                broken.append(name)
        return broken


def once(folder: Folder, rng: random.Random, found: Counter[str]) -> None:
    """One kill, and what comes after it."""
    name = rng.choice(list(COMMANDS))
    number = rng.choice(SIGNALS)
    process = Process(COMMANDS[name], folder)
    time.sleep(rng.uniform(0, folder.seconds[name] * 1.05))
    process.kill(number)
    status = process.wait(120)
    if status is None:
        process.kill(signal.SIGKILL)
        process.wait(60)
        found["hang"] += 1
        print(f"{name}: goes on after {number.name}", flush=True)
        folder.clear()
        return
    found[f"{name} {number.name} {'ended before' if status == 0 else 'killed'}"] += 1
    found["killed"] += status != 0
    found["leftovers after the kill"] += len(folder.strange())
    if broken := folder.half():
        found["half files"] += len(broken)
        print(f"{name} {number.name}: half {broken}", flush=True)
    saved = next((line for file, line in RESUME.items() if (folder.place / file).exists()), None)
    if status != 0:
        status = folder.run(saved or COMMANDS[name])
    if status != 0 or folder.outputs() != folder.wanted[name]:
        found["differing resumes" if saved else "differing runs"] += 1
        print(f"{name} {number.name}: status {status}, other outputs (resumed: {bool(saved)})", flush=True)
    found["resumed"] += bool(saved)
    if left := folder.strange():
        found["leftovers after the next run"] += len(left)
        print(f"{name} {number.name}: left {left}", flush=True)
    folder.clear()


def _warm() -> None:
    """Import what commands import, before the forks."""
    import pkgutil
    from importlib import import_module

    os.environ |= {"SOURCE_DATE_EPOCH": "0", "OPENBLAS_NUM_THREADS": "1"}
    for package in ("topicx", "topicx.cli"):
        for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if "__main__" not in module.name:
                with contextlib.suppress(ImportError):
                    import_module(module.name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time")
    arguments = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="topicx-kill-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        _warm()
        folder = Folder(place)
        rng, found, began = random.Random(arguments.seed), Counter[str](), time.monotonic()
        while found["killed"] < arguments.kills and time.monotonic() - began < arguments.seconds:
            once(folder, rng, found)
        print(f"{found['killed']} kills in {time.monotonic() - began:.0f} s")
        for what, count in sorted(found.items()):
            print(f"{count:6} {what}")
        bad = ("hang", "half files", "differing resumes", "differing runs", "leftovers after the next run")
        return 1 if any(found[what] for what in bad) else 0
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
