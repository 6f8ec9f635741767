"""Compare topicx with other programs: speed, quality, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicx.lazy_names import import_on_first_use

if TYPE_CHECKING:
    from topicx.bench.bench_runs import compare_programs as compare_programs
    from topicx.bench.comparison import Comparison as Comparison
    from topicx.bench.comparison import Settings as Settings

_HOMES = {
    "Comparison": "topicx.bench.comparison",
    "Settings": "topicx.bench.comparison",
    "compare_programs": "topicx.bench.bench_runs",
}

__all__ = ["Comparison", "Settings", "compare_programs"]

__getattr__ = import_on_first_use(__name__, _HOMES)
