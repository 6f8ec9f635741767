"""What a worker process of `--cluster local:N` does first (Dask loads it by name)."""

from __future__ import annotations

import contextlib
import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C to the run: a terminal sends it to its workers, too, which it still needs for a checkpoint."""
    with contextlib.suppress(ValueError):  # not the main thread: a worker inside another program
        signal.signal(signal.SIGINT, signal.SIG_IGN)
