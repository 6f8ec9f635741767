"""Build the kernels with bounds checks in a copy of the tree and run the kernel tests on that build.

python tests/debug_build.py DIRECTORY
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("topicx", "cli", "datasets", "tests")
TESTS = (
    "tests/kernels/test_kernels.py",
    "tests/sampling/test_chain.py",
    "tests/sampling/test_samplers.py",
    "tests/sampling/test_restricted.py",
    "tests/hmm/test_hmm.py",
)


def main(directory: Path) -> int:
    directory.mkdir(parents=True, exist_ok=True)
    for folder in FOLDERS:
        target = directory / folder
        # Compiled files of the ordinary build stay behind; those of an earlier debug build are kept to save time.
        for source in (ROOT / folder).rglob("*"):
            if source.is_file() and source.suffix not in (".so", ".pyc", ".c"):
                copy = target / source.relative_to(ROOT / folder)
                if not copy.exists() or copy.read_bytes() != source.read_bytes():
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(source, copy)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, directory / name)
    (directory / "topicx" / "cli").unlink(missing_ok=True)
    environment = dict(os.environ, TOPICX_DEBUG="1", PYTHONPATH=str(directory), PYTHONDONTWRITEBYTECODE="1")
    build = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", "--parallel", str(os.cpu_count() or 1)]
    subprocess.run(build, cwd=directory, env=environment, check=True)
    # The debug copy shadows the installed package; cli and datasets come by links, where package-dir maps them.
    for package in ("cli", "datasets"):
        link = directory / "topicx" / package
        if not link.exists():
            link.symlink_to(directory / package, target_is_directory=True)
    tests = [test for test in TESTS if (directory / test).exists()]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=directory, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
