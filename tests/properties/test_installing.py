"""What an installation meets: no compiler, and a folder that is called as the package is."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.places import ROOT


@pytest.mark.skipif(
    sys.platform == "win32" or not find_spec("Cython"), reason="the build has Cython and a compiler by name"
)
def test_without_a_compiler_setup_says_so_in_a_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "dist_info", "-o", str(tmp_path)],
        cwd=ROOT, env=os.environ | {"CC": "/nowhere/cc -O2"}, text=True, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert (
        done.stderr.strip()
        .splitlines()[-1]
        .startswith("topicx: cannot build the kernels: there is no C compiler (/nowhere/cc)")
    )


def test_a_clone_beside_which_python_runs_is_not_taken_for_the_package(tmp_path: Path) -> None:
    """An installation of the checkout is found before a folder of the same name, which has no package in it."""
    (tmp_path / "topicx" / "docs").mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-c", "import topicx, topicx.cli, topicx.datasets; print(topicx.LDA.__name__)"],
        cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout == "LDA\n", done.stderr
