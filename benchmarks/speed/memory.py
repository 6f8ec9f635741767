"""Peak memory of `topicx train`, above an interpreter that has imported it, by token; tomotopy's beside it.

Twice: the whole command (what the operating system counted), and training alone (the benchmark's own figure).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import common

from topicx.bench import bench_runs, comparison

CORPUS, TOPICS = "imdb", 1000
IMPORTS = "import topicx.cli.train, topicx.models.lda, topicx.sampling.samplers.gibbs, topicx.estimate, scipy.special"


_WATCH = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def peak(command: list[str]) -> int:
    """The most memory that a command ever had, in bytes. A child's peak begins with its parent's (Linux counts from the
    fork), so a small process of its own starts the command."""
    watched = subprocess.run(
        [sys.executable, "-S", "-c", _WATCH, *command], capture_output=True, text=True, check=False
    )
    if watched.returncode:
        sys.exit(f"{' '.join(command)}: {watched.stderr}")
    return int(watched.stdout)


def main(arguments: Sequence[str] | None = None) -> list[common.Figure]:
    given = common.start(__doc__ or "", arguments)
    store = given.store("memory")
    corpus = given.corpus(CORPUS)
    topics, sweeps = (20, 3) if given.quick else (TOPICS, 20)
    path = given.out / f"{CORPUS}{'-quick' if given.quick else ''}.corpus"
    if not path.exists():
        corpus.save(path)

    def whole() -> Any:
        base = peak([sys.executable, "-c", IMPORTS])
        command = [sys.executable, "-m", "topicx", "train", str(path), "-k", str(topics), "--iterations", str(sweeps)]
        command += ["--threads", "1", "--quiet", "-o", str(given.out / "memory.model")]
        return {"base": base, "peak": peak(command)}

    def training() -> Any:
        settings = comparison.Settings(topics=topics, iterations=sweeps, limit=1e9, evaluate=False, held_out=0.001)
        if given.quick:
            settings = comparison.Settings(topics=topics, iterations=sweeps, evaluate=False)
        return bench_runs.compare_programs(corpus, ["auto", "sparse", "tomotopy"], settings).to_json()

    command = "python benchmarks/speed/memory.py --data DIR"
    found = store.get("train", whole)
    above = found["peak"] - found["base"]
    name = f"bytes a token above the interpreter, {CORPUS}, K={topics}"
    measured = f"{above / corpus.n_tokens:.1f} ({above / 1e6:.0f} MB; the interpreter {found['base'] / 1e6:.0f} MB)"
    figures = [common.Figure(f"{name}, the whole of topicx train", "40", measured, command)]
    result = comparison.load_result(store.get("training", training))
    for run in result.runs:
        measured = f"{run.memory / result.corpus['tokens']:.1f} ({run.memory / 1e6:.0f} MB)"
        figures.append(common.Figure(f"{name}, training alone, {run.name}", "reported", measured, command))
    return figures


if __name__ == "__main__":
    common.show(main())
