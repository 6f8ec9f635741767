"""One cheap row of several tables of docs/project/results.md, made anew with one run, beside what stands there.

    python benchmarks/papers/one_row.py --data DIR [--only classes,labels,topics]

Each row is one call of the table's own script, and the page's figure is read from the page. One run scatters about a
mean of several: a figure further away than the row's allowance is a difference, not yet an error; the
exit status is 1 then.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "project" / "results.md"


@dataclass
class Row:
    """A row of a table: the call that makes it, where its line begins, and which cells are compared with what."""

    call: str
    key: str
    """The finished cell in the script's lines."""
    line: str
    cells: Mapping[int, Callable[[Any], float]]
    allowance: float
    """How far one run may be from the page, as a share of its figure."""


ROWS = {
    "classes": Row(
        "medlda.py --part binary --samplers dense --topics 10 --seeds 1", "binary auto dense 10 seed 1",
        "| two classifiers, `dense` |", {1: lambda found: found["accuracy"]}, 0.03,
    ),
    "labels": Row(
        "labeled.py --part tables --corpora medical --configurations 1x1 --runs 1", "tables/medical/1x1/1",
        "| φ+θ^p | words | .5905", {2: lambda found: found["φ+θp"]["words"]["meta"]["micro_f1"]}, 0.05,
    ),
    "topics": Row(
        "comparison.py --part topics --corpora kos --topics 20 --runs 1", "topics kos K=20 run=1 sweeps=200",
        "| kos, 20, 3 | 1910.8", {1: lambda found: found["CGS"], 2: lambda found: found["CGSp"]}, 0.03,
    ),
}  # fmt: skip


def page_figures(line: str, cells: Mapping[int, Any]) -> list[float]:
    """The first number of each cell of the page's row that begins so."""
    (found,) = [text for text in PAGE.read_text(encoding="utf-8").splitlines() if text.startswith(line)]
    parts = [part.strip() for part in found.strip("|").split("|")]
    return [float(re.match(r"[\d.]+", parts[at])[0]) for at in cells]  # type: ignore[index]


def finished_cell(row: Row, data: Path) -> Any:
    """What the script found, from its lines."""
    script, *options = row.call.split()
    with tempfile.TemporaryDirectory() as out:
        call = [sys.executable, str(HERE / script), "--data", str(data), "--out", out, *options]
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
        lines = [line for path in Path(out).glob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    return {one["key"]: one["value"] for one in map(json.loads, lines)}[row.key]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of corpora")
    parser.add_argument("--only", default=",".join(ROWS), help="of " + ", ".join(ROWS))
    args = parser.parse_args()
    differs = False
    for name in args.only.split(","):
        row = ROWS[name]
        began = os.times()
        found = finished_cell(row, args.data)
        used = sum(os.times()[2:4]) - sum(began[2:4])
        print(f"{name:<8} {used:.1f} s of the processor", flush=True)
        for read, page in zip(row.cells.values(), page_figures(row.line, row.cells), strict=True):
            value = read(found)
            off = value / page - 1
            differs = differs or abs(off) > row.allowance
            print(f"{name:<8} page {page:g}, now {value:.4g}: {off:+.1%} (allowed {row.allowance:.0%})", flush=True)
    sys.exit(differs)


if __name__ == "__main__":
    main()
