"""Build the kernels with the address and the undefined-behaviour sanitizer in a copy of the tree.

python benchmarks/robustness/sanitized.py DIRECTORY

Then, with that build: python benchmarks/robustness/fuzz.py --sanitized DIRECTORY
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SANITIZE = "-fsanitize=address,undefined"
FLAGS = f"-O2 -g1 {SANITIZE} -fno-omit-frame-pointer"
"""With -O3 and -g and the checks of every access a kernel takes the compiler minutes; with these some ten seconds.
Not -O1: with the checks GCC 12 then makes code for AVX-512 that gives other topics (the twins of `sparse` find it at 64
topics); it is right at every other level, without the checks, and with each of them alone."""


def build(directory: Path) -> None:
    """A copy of the package whose kernels are checked while they run."""
    for folder in ("topicx", "cli", "datasets"):
        shutil.copytree(
            ROOT / folder, directory / folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.so", "__pycache__")
        )
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, directory / name)
    environment = os.environ | {"TOPICX_CFLAGS": FLAGS, "LDFLAGS": SANITIZE, "PYTHONPATH": str(directory)}
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(command, cwd=directory, env=environment, check=True)
    for package in ("cli", "datasets"):  # they stand beside the package, and belong into it
        link = directory / "topicx" / package
        if not link.exists():
            link.symlink_to(directory / package, target_is_directory=True)


def environment(directory: Path) -> dict[str, str]:
    """What a process needs to run that build."""
    found = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    return {
        "LD_PRELOAD": " ".join(found),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=0:abort_on_error=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONPATH": str(directory),
    }


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve())
