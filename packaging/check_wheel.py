"""Install a wheel in an empty environment, away from the checkout, and see that it works.

    python packaging/check_wheel.py dist/topicx-….whl --python /usr/bin/python3.13 [--quick]

It imports every kernel, runs `topicx demo`, and compares the pinned fingerprints of small runs
(tests/fingerprints.json): a wheel that gives other bits than the one it was pinned on is refused. `--quick` leaves the
fingerprints out. A folder in the place of a wheel: pip chooses the one that fits this machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from run_program import run_or_exit

ROOT = Path(__file__).resolve().parents[1]
IMPORT = (
    "import importlib, pathlib, platform, topicx, topicx._kernels as k\n"
    "root = pathlib.Path(k.__path__[0])\n"
    "found = [p for p in root.rglob('*') if p.suffix in ('.so', '.pyd')]\n"
    "for p in found: importlib.import_module('topicx._kernels.' + p.parent.name + '.' + p.name.split('.')[0])\n"
    "print(len(found), 'kernels,', platform.python_implementation(), platform.python_version(), platform.machine())"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable, help="the interpreter to install it for")
    parser.add_argument("--quick", action="store_true", help="without the fingerprints")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="topicx-check-") as name:
        place = Path(name)
        run_or_exit(given.python, "-m", "venv", place / "env", cwd=place)
        folder = place / "env" / ("Scripts" if os.name == "nt" else "bin")
        pip = (folder / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
        begun = time.monotonic()
        found = given.wheel.resolve()
        run_or_exit(
            *pip,
            *(["--find-links", found, "--only-binary", "topicx", "topicx"] if found.is_dir() else [found]),
            cwd=place,
        )
        print(f"installed with what it needs in {time.monotonic() - begun:.0f} s")
        print(run_or_exit(folder / "python", "-c", IMPORT, cwd=place).strip())
        begun = time.monotonic()
        run_or_exit(folder / "topicx", "demo", "-o", place / "demo", "--quiet", cwd=place)
        print(f"demo: {time.monotonic() - begun:.1f} s")
        if not given.quick:
            run_or_exit(*pip, "pytest", "hypothesis", cwd=place)
            shutil.copytree(ROOT / "tests", place / "tests", ignore=shutil.ignore_patterns("__pycache__"))
            tests = ("tests/properties/test_fingerprints.py", "-p", "no:cacheprovider")
            print(
                "fingerprints:", run_or_exit(folder / "python", "-m", "pytest", "-q", *tests, cwd=place).strip()[-60:]
            )


if __name__ == "__main__":
    main()
