"""Every figure of docs/explanation/performance.md by one command; what is measured already is not measured again."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import common
import growth
import memory
import quality
import threads
import time_to_perplexity
import tokens_per_second


def main(arguments: Sequence[str] | None = None) -> list[common.Figure]:
    given = common.start(__doc__ or "", arguments)
    figures: list[common.Figure] = []
    for script in (time_to_perplexity, tokens_per_second, threads, memory, growth, quality):
        print(f"\n== {script.__name__}", flush=True)
        figures += script.main(arguments)
    (given.out / "figures.md").write_text(
        "| figure | target | measured | command |\n|---|---|---|---|\n" + "".join(f"{figure}\n" for figure in figures)
    )
    return figures


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    common.show(main())
