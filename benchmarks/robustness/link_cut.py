"""Three hosts in network namespaces: a link is cut for a while in mid-run, and the result is that of one machine.

    sudo python benchmarks/robustness/link_cut.py --out DIR [--seconds 60] [--iterations 300]

A scheduler and the run on one host, a worker on each of the two others. The hosts share a folder (this machine's disk).
The second worker's link goes down after a tenth of the sweeps and comes back after so many seconds. It needs root and
the command `ip`; what it makes it takes away.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from topicx.model import Model

NAME = f"tx{os.getpid() % 10000}"
PYTHON = sys.executable


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def make_hosts() -> None:
    """A bridge, and three namespaces on it: 10.77.0.1 to 10.77.0.3."""
    ip("link", "add", f"{NAME}b", "type", "bridge")
    ip("link", "set", f"{NAME}b", "up")
    for n in (1, 2, 3):
        host, here = f"{NAME}h{n}", f"{NAME}v{n}"
        ip("netns", "add", host)
        ip("link", "add", here, "type", "veth", "peer", "name", "eth0", "netns", host)
        ip("link", "set", here, "master", f"{NAME}b", "up")
        for command in (["addr", "add", f"10.77.0.{n}/24", "dev", "eth0"], ["link", "set", "eth0", "up"],
                        ["link", "set", "lo", "up"]):  # fmt: skip
            ip("-n", host, *command)


def drop_hosts() -> None:
    for n in (1, 2, 3):
        with contextlib.suppress(subprocess.CalledProcessError):
            ip("netns", "del", f"{NAME}h{n}")
    with contextlib.suppress(subprocess.CalledProcessError):
        ip("link", "del", f"{NAME}b")


def on(host: int, *command: str, **settings: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(["ip", "netns", "exec", f"{NAME}h{host}", *command], text=True, **settings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--iterations", type=int, default=300)
    given = parser.parse_args()
    out = given.out.resolve()
    topicx = [PYTHON, "-m", "topicx"]
    subprocess.run([*topicx, "datasets", "make", "zipf", "-o", out / "z.corpus", "--seed", "1"], check=True)
    train = ["train", str(out / "z.corpus"), "-k", "20", "--iterations", str(given.iterations), "--start", "random",
             "--partitions", "2x1"]  # fmt: skip
    begun: list[subprocess.Popen[str]] = []
    make_hosts()
    try:
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": out}
        # A worker that is silent for so long is given up, and its work is done again.
        quiet["env"] = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "20s"}
        begun.append(on(1, PYTHON, "-m", "distributed.cli.dask_scheduler", "--host", "10.77.0.1", "--port", "8786",
                        "--no-dashboard", **quiet))  # fmt: skip
        for n in (2, 3):
            begun.append(on(n, PYTHON, "-m", "distributed.cli.dask_worker", "tcp://10.77.0.1:8786", "--nthreads", "1",
                            "--no-dashboard", "--memory-limit", "0", "--host", f"10.77.0.{n}", **quiet))  # fmt: skip
        time.sleep(8)
        run = on(1, *topicx, *train, "-o", str(out / "spread.model"), "--cluster", "tcp://10.77.0.1:8786", "--log",
                 "json", stderr=subprocess.PIPE)  # fmt: skip
        begun.append(run)
        assert run.stderr is not None
        cut = 0.0
        for line in run.stderr:
            event = json.loads(line)
            if event["event"] in ("cluster", "error"):
                print(event, flush=True)
            if event["event"] == "sweep" and not cut and event["sweep"] >= given.iterations // 10:
                ip("link", "set", f"{NAME}v3", "down")
                cut = time.monotonic()
                print(f"cut after sweep {event['sweep']}", flush=True)
                subprocess.Popen(["sh", "-c", f"sleep {given.seconds}; ip link set {NAME}v3 up"])
        print(f"status {run.wait()}, {time.monotonic() - cut:.0f} s after the cut")
    finally:
        for one in reversed(begun):
            one.terminate()
        time.sleep(2)
        drop_hosts()
    subprocess.run([*topicx, *train, "-o", out / "alone.model", "-q"], check=True)
    same = Model.load(out / "spread.model") == Model.load(out / "alone.model")
    print("the same model" if same else "ANOTHER MODEL")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
