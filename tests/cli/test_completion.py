"""Shells complete commands, options, values and files."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
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


def installed(shell: str, folder: Path) -> tuple[str, Path]:
    """The program of a shell, and a folder with the command `topicx` and what `topicx completion SHELL` prints."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell}")
    (folder / "script").write_text(run_topicx("completion", shell).stdout, encoding="utf-8")
    (folder / "bin").mkdir()
    command = folder / "bin" / "topicx"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m topicx "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return program, folder


def run_in(shell: str, folder: Path, commands: str, *options: str) -> list[str]:
    """What a shell prints that has the command and its completion, word by word."""
    given = os.environ | {"HOME": str(folder), "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    done = subprocess.run([shell, *options, "-c", commands], env=given, capture_output=True, text=True, check=False)
    return done.stdout.split()


def test_bash_takes_the_script(tmp_path: Path) -> None:
    bash, folder = installed("bash", tmp_path)
    asked = 'COMP_WORDS=(topicx train --samp); COMP_CWORD=2; _topicx_completion topicx; echo "${COMPREPLY[@]}"'
    assert run_in(bash, folder, f'. "{folder}/script"; {asked}') == ["--sampler", "--samples"]


def test_fish_takes_the_script(tmp_path: Path) -> None:
    fish, folder = installed("fish", tmp_path)
    for typed, offered in (
        ("topicx tr", "train"),
        ("topicx train --samp", "--sampler"),
        ("topicx train --keep b", "best"),
    ):
        assert offered in run_in(fish, folder, f'source "{folder}/script"; complete -C "{typed}"', "--no-config"), typed


def test_zsh_completes_what_is_typed(tmp_path: Path) -> None:
    """A zsh on a terminal of its own: the word is typed, then the tabulator."""
    zsh, folder = installed("zsh", tmp_path)
    pty = pytest.importorskip("pty")
    given = os.environ | {"HOME": str(folder), "PATH": f"{folder}/bin:{os.environ['PATH']}", "TERM": "dumb"}
    leader, follower = pty.openpty()
    program = subprocess.Popen(
        [zsh, "-f", "-i"], env=given, cwd=folder, stdin=follower, stdout=follower, stderr=follower
    )
    os.close(follower)
    try:
        os.write(leader, f'PS1=; autoload -U compinit; compinit -u -D; . "{folder}/script"; echo rea""dy\n'.encode())
        assert "ready" in read_until(leader, "ready")
        os.write(leader, b"topicx tr\t")
        assert "topicx train" in read_until(leader, "topicx train")
    finally:
        program.kill()
        program.wait()
        os.close(leader)


def read_until(leader: int, text: str) -> str:
    """What a terminal shows until a text is there, a minute at most."""
    seen, end = "", time.monotonic() + 60
    while text not in seen and time.monotonic() < end:
        if select.select([leader], [], [], 0.5)[0]:
            seen += os.read(leader, 65536).decode(errors="replace")
    return seen


@pytest.mark.parametrize(("shell", "word"), [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete --no-")])
def test_each_shell_has_its_script(shell: str, word: str) -> None:
    assert word in run_topicx("completion", shell).stdout


def test_an_unknown_shell_is_asked_for() -> None:
    done = run_topicx("completion", env=os.environ | {"SHELL": "/bin/tcsh"})
    assert done.returncode == 2 and "name one of bash, zsh, fish" in done.stderr.lower()
