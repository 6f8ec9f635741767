"""Shells complete commands, options, values and files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import run_topicx


def completed(words: str, shell: str = "bash") -> list[str]:
    """What topicx offers for the last of these words."""
    given = {"_TOPICX_COMPLETE": f"{shell}_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "topicx"], env=os.environ | given, capture_output=True, text=True, check=False
    )
    assert not done.stderr
    return done.stdout.splitlines()


def test_commands_options_values_and_files_are_completed() -> None:
    assert completed("topicx tr") == ["plain,train"]
    assert "plain,--sampler" in completed("topicx train --sam")
    assert "plain,sparse" in completed("topicx train --sampler sp")
    assert completed("topicx train news.co") == ["file,news.co"]
    assert completed("topicx train c -o ") == ["file,"]


def test_bash_takes_the_script(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    script = tmp_path / "script"
    script.write_text(run_topicx("completion", "bash").stdout, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "topicx"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m topicx "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    done = subprocess.run(
        [bash, "-c", f'export PATH="{tmp_path}/bin:$PATH"; . "{script}"; COMP_WORDS=(topicx train --samp); '
         'COMP_CWORD=2; _topicx_completion topicx; echo "${COMPREPLY[@]}"'],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["--sampler", "--samples"]


@pytest.mark.parametrize(("shell", "word"), [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete --no-")])
def test_each_shell_has_its_script(shell: str, word: str) -> None:
    assert word in run_topicx("completion", shell).stdout


def test_an_unknown_shell_is_asked_for() -> None:
    done = run_topicx("completion", env=os.environ | {"SHELL": "/bin/tcsh"})
    assert done.returncode == 2 and "name one of bash, zsh, fish" in done.stderr.lower()
