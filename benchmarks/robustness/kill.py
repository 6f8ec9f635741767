"""Kills at random moments: python benchmarks/robustness/kill.py --kills 1000

import, train, infer and estimate are started over and over, and killed (SIGKILL, SIGTERM, SIGHUP, SIGINT) at a random
moment of their time. After each kill an output is whole or what it was before; what has been trained is resumed, and
gives the same model; after the next run that ends, the folder holds its outputs and nothing else, nor does the folder
for temporary files. What is not so is printed and counted.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from topicx import files
from topicx.kinds import KINDS

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
TRAIN = "-k 20 --iterations 60 --seed 4 --checkpoint-interval 5 --threads 1"
COMMANDS = {
    "import": "import docs.txt --format lines -o out.corpus -q",
    "train": f"train good.corpus {TRAIN} -o out.model --state out.state -q",
    "infer": "infer good.model good.corpus -o out.tsv --state out.state --threads 1 -q",
    "estimate": "estimate good.state -o out.model --doc-topics out.npz --threads 1 -q",
}
RESUME = "train --resume out.model.checkpoint -o out.model --state out.state --checkpoint-interval 5 --threads 1 -q"
OUTPUTS = ("out.corpus", "out.model", "out.state", "out.tsv", "out.npz")


def heard() -> None:
    """A background job may have been told to ignore some signals; what it starts shall not."""
    for number in SIGNALS[1:]:
        signal.signal(number, signal.SIG_DFL)


def names(place: Path) -> set[str]:
    return {path.name for path in place.iterdir()}


class Folder:
    """A folder with inputs, what each command makes of them, and how long that takes."""

    def __init__(self, place: Path) -> None:
        self.place, self.temporary = place, place / "tmp"
        self.temporary.mkdir()
        self.environment = os.environ | {
            "SOURCE_DATE_EPOCH": "0", "TMPDIR": str(self.temporary), "OPENBLAS_NUM_THREADS": "1",
        }  # fmt: skip
        rng = random.Random(1)
        words = [f"w{i}" for i in range(400)]
        with (place / "docs.txt").open("w") as out:
            for i in range(1500):
                out.write(f"d{i}\tx\t{' '.join(rng.choices(words, k=40))}\n")
        for line in (COMMANDS["import"], COMMANDS["train"].replace("good", "out")):
            self.run(line)
        for end in ("corpus", "model", "state"):
            (place / f"out.{end}").rename(place / f"good.{end}")
        self.inputs = names(place)
        self.seconds: dict[str, float] = {}
        self.wanted: dict[str, dict[str, bytes]] = {}
        for name, line in COMMANDS.items():
            began = time.monotonic()
            self.run(line)
            self.seconds[name] = time.monotonic() - began
            self.wanted[name] = self.outputs()
            self.clear()

    def start(self, line: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "topicx", *line.split()]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            command, cwd=self.place, env=self.environment, stdout=quiet, stderr=quiet, preexec_fn=heard
        )

    def run(self, line: str) -> int:
        return self.start(line).wait()

    def outputs(self) -> dict[str, bytes]:
        """The outputs, but for the traces' seconds, which no two runs share."""
        return {name: (self.place / name).read_bytes() for name in OUTPUTS if (self.place / name).exists()}

    def clear(self) -> None:
        for name in names(self.place) - self.inputs:
            (self.place / name).unlink()

    def strange(self) -> list[str]:
        """Names that nobody asked for."""
        known = self.inputs | set(OUTPUTS) | {"out.model.checkpoint"}
        return sorted(names(self.place) - known) + sorted(names(self.temporary))

    def half(self) -> list[str]:
        """Files that are not whole."""
        broken = []
        for name in [*OUTPUTS, "out.model.checkpoint"]:
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
                    files.open_file(path, KINDS).close()
                    good = True
                except files.InputError:
                    good = False
            if not good:
                broken.append(name)
        return broken


def once(folder: Folder, rng: random.Random, found: Counter[str]) -> None:
    """One kill, and what comes after it."""
    name = rng.choice(list(COMMANDS))
    number = rng.choice(SIGNALS)
    process = folder.start(COMMANDS[name])
    time.sleep(rng.uniform(0, folder.seconds[name] * 1.05))
    process.send_signal(number)
    try:
        status = process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        found["hang"] += 1
        print(f"{name}: goes on after {number.name}", flush=True)
        return
    found[f"{name} {number.name} {'ended before' if status == 0 else 'killed'}"] += 1
    left = folder.strange()
    found["leftovers after the kill"] += len(left)
    if broken := folder.half():
        found["half files"] += len(broken)
        print(f"{name} {number.name}: half {broken}", flush=True)
    resumed = name == "train" and (folder.place / "out.model.checkpoint").exists()
    if status != 0:
        status = folder.run(RESUME if resumed else COMMANDS[name])
    if status != 0 or folder.outputs() != folder.wanted[name]:
        found["differing resumes" if resumed else "differing runs"] += 1
        print(f"{name} {number.name}: status {status}, other outputs (resumed: {resumed})", flush=True)
    found["resumed"] += resumed
    if left := folder.strange():
        found["leftovers after the next run"] += len(left)
        print(f"{name} {number.name}: left {left}", flush=True)
    folder.clear()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time")
    arguments = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="topicx-kill-"))
    try:
        folder = Folder(place)
        rng, found, began = random.Random(arguments.seed), Counter[str](), time.monotonic()
        kills = 0
        while kills < arguments.kills and time.monotonic() - began < arguments.seconds:
            once(folder, rng, found)
            kills += 1
        print(f"{kills} kills in {time.monotonic() - began:.0f} s")
        for what, count in sorted(found.items()):
            print(f"{count:6} {what}")
        bad = ("hang", "half files", "differing resumes", "differing runs", "leftovers after the next run")
        return 1 if any(found[what] for what in bad) else 0
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
