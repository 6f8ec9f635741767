"""Nobody's file is lost or opened to others: inputs, permissions, neighbours, another program's scripts."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.conftest import Run
from topicx.files.atomic_output import SUFFIX, atomic_output

TEXT = "words of an input\n"


@pytest.mark.parametrize(
    "call",
    [
        "import texts -o texts/a.txt",
        "import texts/a.txt texts/b.txt -o texts/b.txt",
        "import texts/a.txt --stoplist-file texts/b.txt -o texts/b.txt",
        "import texts/a.txt --extra-stopwords texts/b.txt -o texts/b.txt",
        "mallet import-dir --input texts --output texts/a.txt",
        "mallet import-file --input texts/a.txt --output texts/a.txt",
        "mallet bulk-load --input texts/a.txt --output texts/a.txt",
    ],
)
def test_an_input_is_not_overwritten(call: str, topicx: Run, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "texts" / name).write_text(TEXT)
    done = topicx(*call.split())
    assert done.returncode == 2 and "it would be overwritten" in done.stderr, done.stderr
    assert [path.read_text() for path in sorted((tmp_path / "texts").iterdir())] == [TEXT, TEXT]


def test_a_new_file_may_lie_in_the_folder_that_is_read(topicx: Run, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text(TEXT)
    assert topicx("import", "texts", "-o", "texts/all.corpus").returncode == 0


@pytest.mark.parametrize("unnamed", [True, False])
def test_what_replaces_a_file_has_its_permissions(
    unnamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not unnamed:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = tmp_path / "private"
    path.write_bytes(b"before")
    path.chmod(0o600)
    with atomic_output(path) as out:
        out.write(b"after")
    assert path.read_bytes() == b"after" and stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("unnamed", [True, False])
def test_only_what_writers_have_left_is_cleared(unnamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not unnamed:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    of_users = [tmp_path / ".out.draft.tmp", tmp_path / ".out.abcdefgh.tmp", tmp_path / "out.tmp"]
    left = tmp_path / f".out.abcdefgh{SUFFIX}"
    for path in (*of_users, left):
        path.write_bytes(b"x")
    with atomic_output(tmp_path / "out") as out:
        out.write(b"y")
    assert all(path.read_bytes() == b"x" for path in of_users)
    assert {path.name for path in tmp_path.iterdir()} == {"out", *(path.name for path in of_users)}


def test_a_launcher_of_another_program_stays(topicx: Run, tmp_path: Path) -> None:
    place = tmp_path / "home" / "bin"
    place.mkdir(parents=True)
    (place / "mallet").write_text("#!/bin/bash\njava cc.mallet\n")
    done = topicx("mallet", "--install", "home")
    assert done.returncode == 2 and "is another program's" in done.stderr
    assert {path.name for path in place.iterdir()} == {"mallet"} and "java" in (place / "mallet").read_text()
    assert topicx("mallet", "--install", "other").returncode == 0
    assert topicx("mallet", "--install", "other").returncode == 0  # one's own is written again
