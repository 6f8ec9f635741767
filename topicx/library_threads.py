"""Threads of linear algebra libraries. They read how many they may take where they are loaded, and begin with one for
each core: processor time that no command of ours asked for. The command line lets them have one."""

from __future__ import annotations

import os

VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS")
_BOUND: list[str] = []


def bind_threads() -> None:
    """One thread for each library, unless its own variable says another number."""
    for name in VARIABLES:
        if name not in os.environ:
            os.environ[name] = "1"
            _BOUND.append(name)


def outer_environment() -> dict[str, str]:
    """The environment as it was found: for programs of users that we run."""
    return {name: value for name, value in os.environ.items() if name not in _BOUND}
