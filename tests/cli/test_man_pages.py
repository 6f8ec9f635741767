"""Every command has a manual page with every option, which man's own reader takes without a word."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT
from topicx.cli import COMMANDS

SCRIPT = ROOT / "packaging" / "man_pages.py"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all manual pages."""
    if not SCRIPT.exists():
        pytest.skip("an installed package has no packaging/")
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([sys.executable, SCRIPT, "-o", folder], check=True, capture_output=True)
    return folder


def test_every_command_has_a_page(pages: Path) -> None:
    assert {f"topicx-{name}.1" for name in COMMANDS} <= {page.name for page in pages.iterdir()}
    train = (pages / "topicx-train.1").read_text(encoding="utf-8")
    assert "\\-\\-optimize\\-interval" in train and '.SH "MODEL AND PRIORS"' in train
    assert (pages / "topicx-hmm-train.1").exists()


def test_groff_takes_the_pages(pages: Path) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("no groff")
    for page in sorted(pages.iterdir()):
        done = subprocess.run(
            [groff, "-man", "-Tutf8", "-K", "utf8", "-ww", page], capture_output=True, text=True, check=False
        )
        told = [line for line in done.stderr.splitlines() if "cannot" not in line and "break" not in line]
        assert done.returncode == 0 and not told, f"{page.name}: {told}"
