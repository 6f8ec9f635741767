"""A run on a cluster whose parts hang, come late, are slow, are full or go away; and what is left of it afterwards.

    sudo python benchmarks/robustness/cluster_faults.py --out DIR [--case hung --case late …]

Each case trains a small corpus, lets something go wrong in mid-run, and compares the model with that of one machine. A
run that cannot go on has to end with one line that says what to do. After each case no process of the run may be left.
`full` mounts a small file system in memory, and needs root.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from topicx.model import Model

PYTHON, LIMIT = sys.executable, 150.0
TOPICX = [PYTHON, "-m", "topicx"]
SOON = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "5s"}
"""A worker that is silent for so long is begun again (30 s by default)."""


class Bench:
    """A folder with a corpus, the model of one machine, and the processes of the case at hand."""

    def __init__(self, out: Path, iterations: int) -> None:
        self.out, self.begun = out, list[subprocess.Popen[Any]]()
        self.train = ["train", str(out / "z.corpus"), "-k", "20", "--iterations", str(iterations), "--start", "random",
                      "--partitions", "2x1"]  # fmt: skip
        self.iterations = iterations
        make = [*TOPICX, "datasets", "make", "zipf", "-o", str(out / "z.corpus"), "--seed", "1", "-q"]
        for command in (make, [*TOPICX, *self.train, "-o", str(out / "alone.model"), "-q"]):
            subprocess.run(command, check=True)

    def start(self, *command: str, **settings: Any) -> subprocess.Popen[Any]:
        settings["env"] = os.environ | SOON | settings.get("env", {})
        self.begun.append(subprocess.Popen(command, cwd=self.out, start_new_session=True, text=True, **settings))
        return self.begun[-1]

    def run(self, *more: str, at: int = 10, act: Callable[[int], object] = lambda pid: None) -> tuple[int, str]:
        """Train with these options; at a sweep something is done to the run (its process id). Status, and all that was
        told."""
        run = self.start(*TOPICX, *self.train, "--log", "json", *more, stderr=subprocess.PIPE)
        timer = threading.Timer(LIMIT, run.kill)
        timer.start()
        told, done = [], False
        assert run.stderr is not None
        for line in run.stderr:
            told.append(line)
            event = json.loads(line) if line.startswith("{") else {}
            if not done and event.get("event") == "sweep" and event["sweep"] >= at:
                act(run.pid)
                done = True
        status = run.wait()
        timer.cancel()
        return status, "".join(told)

    def scheduler(self) -> tuple[subprocess.Popen[Any], str]:
        file = self.out / f"scheduler.{time.monotonic_ns()}.json"
        found = self.start(PYTHON, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
                           "--no-dashboard", "--scheduler-file", str(file), stderr=subprocess.DEVNULL)  # fmt: skip
        while not file.exists():
            time.sleep(0.1)
        return found, str(file)

    def worker(self, file: str, *more: str) -> subprocess.Popen[Any]:
        return self.start(PYTHON, "-m", "distributed.cli.dask_worker", "--scheduler-file", file, "--nthreads", "1",
                          "--no-dashboard", "--memory-limit", "0", "--death-timeout", "20", *more,
                          stderr=subprocess.DEVNULL)  # fmt: skip

    def same(self, name: str) -> bool:
        return bool(Model.load(self.out / name) == Model.load(self.out / "alone.model"))

    def end(self) -> list[str]:
        """End what the case has begun; the processes that the runs left behind."""
        for one in reversed(self.begun):
            if one.poll() is None:
                one.terminate()
                try:
                    one.wait(20)
                except subprocess.TimeoutExpired:
                    one.kill()
        until = time.monotonic() + 20
        while (left := living({one.pid for one in self.begun})) and time.monotonic() < until:
            time.sleep(0.3)
        self.begun.clear()
        return left


def processes() -> list[tuple[int, int, int, str, str]]:
    """Number, parent, session, state and command of every process."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                stat = (folder / "stat").read_text().rsplit(")", 1)[1].split()
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            found.append((int(folder.name), int(stat[1]), int(stat[3]), stat[0], command))
    return found


def living(sessions: set[int]) -> list[str]:
    """The processes of these sessions that have not ended."""
    return [f"{pid} {state} {command[:90]}" for pid, _, session, state, command in processes()
            if session in sessions and state != "Z"]  # fmt: skip


def workers_of(pid: int) -> list[int]:
    """The worker processes of a run by `local:N`."""
    return sorted(one for one, parent, _, _, command in processes() if parent == pid and "spawn_main" in command)


def told_error(told: str) -> str:
    errors = [json.loads(line).get("text", "") for line in told.splitlines() if '"event": "error"' in line]
    return errors[-1] if errors else ""


# -- the cases ---------------------------------------------------------------------------------------------------------


def hung(bench: Bench) -> str:
    """One of two workers is stopped for good."""
    status, told = bench.run("-o", "hung.model", "--cluster", "local:2",
                             act=lambda pid: os.kill(workers_of(pid)[0], signal.SIGSTOP))  # fmt: skip
    return "same model" if status == 0 and bench.same("hung.model") else f"status {status}: {told[-500:]}"


def slow(bench: Bench) -> str:
    """One of two workers gets a tenth of the time for a while."""

    def slow_down(pid: int) -> None:
        one = workers_of(pid)[0]

        def turns() -> None:
            for _ in range(30):
                for number, seconds in ((signal.SIGSTOP, 0.18), (signal.SIGCONT, 0.02)):
                    try:
                        os.kill(one, number)
                    except ProcessLookupError:
                        return
                    time.sleep(seconds)

        threading.Thread(target=turns).start()

    status, told = bench.run("-o", "slow.model", "--cluster", "local:2", act=slow_down)
    return "same model" if status == 0 and bench.same("slow.model") else f"status {status}: {told[-500:]}"


def late(bench: Bench) -> str:
    """No worker is there when the run begins; one comes after three seconds, another in mid-run."""
    _, file = bench.scheduler()
    timer = threading.Timer(3, bench.worker, (file,))
    timer.start()
    status, told = bench.run("-o", "late.model", "--cluster", file, act=lambda pid: bench.worker(file))
    return "same model" if status == 0 and bench.same("late.model") else f"status {status}: {told[-500:]}"


def full(bench: Bench) -> str:
    """A worker's own folder is full: it goes on. The shared folder is: it ends. The checkpoint's is: it is told."""
    place = bench.out / "small"
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "none", str(place)], check=True)
    try:
        _, file = bench.scheduler()
        bench.worker(file, "--local-directory", str(place))
        bench.worker(file)
        time.sleep(4)
        try:
            while True:
                with (place / "filling").open("ab") as out:
                    out.write(bytes(4096))
        except OSError:
            pass
        status, told = bench.run("-o", "full.model", "--cluster", file)
        if status or not bench.same("full.model"):
            return f"own folder: status {status}: {told[-500:]}"
        (place / "filling").unlink()
        status, told = bench.run("-o", "full2.model", "--cluster", file, "--shared", str(place))
        if status != 1 or "No space left" not in told_error(told):
            return f"shared folder: status {status}: {told[-500:]}"
        first = told_error(told)
        (place / "filling").write_bytes(bytes(150_000))
        status, told = bench.run("-o", "full3.model", "--cluster", file, "--checkpoint", str(place / "c"),
                                 "--checkpoint-interval", "20")  # fmt: skip
        if status or not bench.same("full3.model") or "No space left" not in told:
            return f"checkpoint: status {status}: {told[-500:]}"
        return f"same model twice; the shared folder: {first!r}"
    finally:
        left = bench.end()
        subprocess.run(["umount", "-l", str(place)], check=True)
        if left:
            print("left:", left)


def scheduler(bench: Bench) -> str:
    """The scheduler is killed; the run is then finished without a cluster."""
    process, file = bench.scheduler()
    for _ in range(2):
        bench.worker(file)
    status, told = bench.run(
        "-o", "gone.model", "--cluster", file, "--checkpoint-interval", "10", at=bench.iterations // 2,
        act=lambda pid: process.kill(),
    )  # fmt: skip
    message = told_error(told)
    if status != 1 or "--resume" not in told:
        return f"status {status}: {told[-500:]}"
    again = [*TOPICX, "train", "--resume", "gone.model.checkpoint", "-o", "gone.model", "-q"]
    subprocess.run(again, cwd=bench.out, check=True)
    return f"same model; {message!r}" if bench.same("gone.model") else "another model"


def ended(number: signal.Signals, group: bool) -> Callable[[Bench], str]:
    def case(bench: Bench) -> str:
        send = (lambda pid: os.killpg(pid, number)) if group else (lambda pid: os.kill(pid, number))
        name = f"{number.name}.model"
        more = "-o", name, "--cluster", "local:2", "--iterations", "100000"
        status, told = bench.run(*more, act=send)
        until = time.monotonic() + 20
        while (left := living({one.pid for one in bench.begun})) and time.monotonic() < until:
            time.sleep(0.3)
        if left:
            return f"left after 20 s: {left}"
        wanted = -number if number == signal.SIGKILL else 130
        return f"status {status}, nothing left" if status == wanted else f"status {status}: {told[-500:]}"

    return case


CASES: dict[str, Callable[[Bench], str]] = {
    "hung": hung, "slow": slow, "late": late, "full": full, "scheduler": scheduler,
    "interrupt": ended(signal.SIGINT, True), "terminate": ended(signal.SIGTERM, False),
    "kill": ended(signal.SIGKILL, False),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--iterations", type=int, default=120)
    given = parser.parse_args()
    bench = Bench(given.out.resolve(), given.iterations)
    failed = 0
    for name in given.case or CASES:
        began = time.monotonic()
        result = CASES[name](bench)
        left = bench.end()
        good = not left and ("same model" in result or "nothing left" in result)
        failed += not good
        print(
            f"{name}: {result}; {time.monotonic() - began:.0f} s{'' if good else f'  FAILED {shlex.join(left)}'}",
            flush=True,
        )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
