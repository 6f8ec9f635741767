"""A release: one version everywhere, and notes that are the changelog's section."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import topicx
from tests.places import ROOT

PROGRAM = ROOT / "packaging" / "make_release.py"
FILES = (
    "topicx/__init__.py",
    "CITATION.cff",
    "packaging/conda/recipe.yaml",
    "packaging/homebrew/topicx.rb",
    "CHANGELOG.md",
)


def make_release(*arguments: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, PROGRAM, *arguments, "--root", root]
    return subprocess.run(list(map(str, command)), text=True, capture_output=True, timeout=60, check=False)


def test_every_place_has_the_same_version() -> None:
    done = make_release("--check")
    assert (done.stdout.strip(), done.returncode) == (topicx.__version__, 0), done.stderr


def test_a_release_is_written_in_every_place(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name)
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(
        "# Changelog\n\n## 7.1.0, not released yet\n\n- A thing.\n\n## 7.0.0 (2030-01-02)\n\n- First.\n"
    )
    assert make_release("7.1.1", "--date", "2031-03-04", root=tmp_path).returncode == 0
    assert make_release("--check", "--tag", "v7.1.1", root=tmp_path).stdout.strip() == "7.1.1"
    assert make_release("--notes", root=tmp_path).stdout == "- A thing.\n"
    assert "## 7.1.1 (2031-03-04)" in changelog.read_text()
    assert "version: 7.1.1\ndate-released: 2031-03-04\n" in (tmp_path / "CITATION.cff").read_text()
    wrong = make_release("--check", "--tag", "v7.2.0", root=tmp_path)
    assert (wrong.returncode, wrong.stderr) == (1, "the tag is v7.2.0, the version 7.1.1\n")
    again = make_release("7.2.0", root=tmp_path)
    assert (again.returncode, again.stderr) == (1, "CHANGELOG.md: no section is 'not released yet'\n")


def test_a_place_with_another_version_is_named(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name)
    citation = tmp_path / "CITATION.cff"
    citation.write_text(citation.read_text().replace(f"version: {topicx.__version__}", "version: 9.9.9"))
    done = make_release("--check", root=tmp_path)
    assert done.stderr == f"CITATION.cff: its version is 9.9.9, that of topicx/__init__.py is {topicx.__version__}\n"
