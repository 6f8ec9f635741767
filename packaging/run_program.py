"""Run a program and end with what it said, for the checks of this folder and of `tests/installed_wheel.py`. It needs
nothing but Python, since it is copied into systems that have no more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_or_exit(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a program, without this one's variables for Python; what it prints, or the end of this one with what it
    said."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, text=True, capture_output=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))[:300]} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout
