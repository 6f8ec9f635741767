"""Names, characters, numbers, patterns and limits that a kind world would not have: each ends in what was asked for, or
in one line that says what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.dom import minidom

import pytest

from tests.conftest import Run, lda_corpus
from topicx.classes.lda_class import LDA
from topicx.cli import main
from topicx.corpus.corpus import Corpus
from topicx.corpus.text.tokenizer import Tokenizer
from topicx.errors import InputError


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main([*arguments])
    return int(stop.value.code or 0)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_names_of_inputs_are_kept_without_folders_and_as_text(here: Path) -> None:
    (here / "in").mkdir()
    for name in (b"in/\xff.csv", b"in/a.csv"):
        Path(os.fsdecode(name)).write_text("id,text\n1,some words\n")
    for name in (os.fsdecode(b"in/\xff.csv"), str(here / "in" / "a.csv")):
        assert call("import", name, "-o", "c.corpus", "-q") == 0
        found = Corpus.load("c.corpus").meta["inputs"]
        assert found in (["�.csv"], ["a.csv"]) and str(here) not in json.dumps(Corpus.load("c.corpus").meta)


def test_output_in_an_encoding_that_lacks_the_words(topicx: Run, tmp_path: Path) -> None:
    LDA(2, iterations=3, seed=1, verbose=False).fit(["größe der dinge", "größe zwei"], min_count=1).model.save(
        tmp_path / "m"
    )
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    plain = topicx("topics", "m", env=ascii_only)
    assert plain.returncode == 0 and "gr\\xf6\\xdfe" in plain.stdout, plain.stderr
    told = topicx("topics", "m", "--json", env=ascii_only)
    assert "größe" in str(json.loads(told.stdout))


def test_control_characters_in_words_leave_xml_whole(here: Path) -> None:
    texts = ["wo\x01rd <st> one wo\x01rd", "wo\x01rd two & more"]
    corpus = Corpus.from_documents([text.split() for text in texts])
    lda = LDA(2, iterations=3, seed=1, verbose=False).fit(corpus)
    lda.model.save("m")
    lda.state.save("s")
    for name in ("mallet-diagnostics", "mallet-topic-report", "mallet-topic-phrase-report"):
        state = [] if name == "mallet-topic-report" else ["--state", "s"]
        assert call("export", "m", *state, "--format", name, "-o", "out.xml", "-q") == 0
        minidom.parse("out.xml")


def test_control_characters_in_pictures(here: Path) -> None:
    figures = pytest.importorskip("matplotlib.figure")
    from topicx.views.picture_files import write_picture

    figure = figures.Figure()
    figure.subplots().set_title("wo\x01rd\x0b of\na topic")
    write_picture(figure, "a.svg")
    minidom.parse("a.svg")


def test_a_row_of_a_search_that_was_cut_off_is_made_again(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lda_corpus(documents=30).save("c.corpus")
    search = ("search", "c.corpus", "-k", "2,3", "--chains", "1", "--iterations", "3", "--cells", "cells.jsonl", "-q")
    assert call(*search) == 0
    whole = Path("cells.jsonl").read_bytes()
    for cut, rows in ((len(whole) - 30, 1), (len(whole) - 1, 2)):  # in the last row; its end alone
        Path("cells.jsonl").write_bytes(whole[:cut])
        assert call(*search) == 0
        assert Path("cells.jsonl").read_bytes().count(b"\n") == 2
        assert [json.loads(line)["topics"] for line in Path("cells.jsonl").read_text().splitlines()] == [2, 3]
        assert ("was cut off" in capfd.readouterr().err) == (rows == 1)


def test_formulas_in_tables(here: Path) -> None:
    LDA(2, iterations=3, seed=1, verbose=False).fit(lda_corpus()).model.save("m")
    rows = [
        {"id": "=cmd|'/C calc'!A0", "text": "w001", "note": "@SUM(1)"},
        {"id": "plain", "text": "w002", "note": "-"},
    ]
    Path("n.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for ending, mark in (("csv", ","), ("tsv", "\t")):
        assert call("infer", "m", "n.jsonl", "--column", "note", "-o", f"o.{ending}", "--escape-formulas", "-q") == 0
        cells = [line.split(mark) for line in Path(f"o.{ending}").read_text().splitlines()]
        assert cells[1][0] == "'=cmd|'/C calc'!A0" and cells[1][3] == "'@SUM(1)" and cells[2][0] == "plain"
    assert call("infer", "m", "n.jsonl", "-o", "o.csv", "-q") == 0
    assert Path("o.csv").read_text().splitlines()[1].startswith("=cmd")
    assert call("infer", "m", "n.jsonl", "-o", "o.npz", "--escape-formulas", "-q") == 2


def test_patterns_that_no_timeout_ends_are_refused() -> None:
    for pattern in (r"(?:a*){100000000}", r"(?:a*){3,70000}", r"(?:a?){ 99999999999 }"):
        with pytest.raises(InputError, match=r"token pattern .* repeats [0-9]+ times, of 65,535 at most"):
            Tokenizer(pattern)
    assert Tokenizer(r"[a-z]{2,20}|70000").tokenize("abc 70000") == ["abc", "70000"]


def test_whole_numbers_of_any_length_in_json(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("n.jsonl").write_text('{"text": "a word", "n": ' + "9" * 5000 + "}\n")
    assert call("import", "n.jsonl", "-o", "n.corpus", "-q") == 0
    assert call("import", "n.jsonl", "-o", "n.corpus", "--column", "n", "-q") == 0
    column: Any = Corpus.load("n.corpus").columns["n"]
    assert column[0] == "9" * 5000


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device")
def test_options_from_a_file_without_an_end(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call("mallet", "train-topics", "--config", "/dev/zero") == 2
    assert "/dev/zero: is longer than 1,048,576 bytes" in capfd.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
@pytest.mark.parametrize("limit, said", [("-n 20", "32 open files"), ("-v 250000", "300 MB of address space")])
def test_limits_too_low_for_anything(limit: str, said: str, tmp_path: Path) -> None:
    line = f"ulimit {limit}; exec {sys.executable} -m topicx topics x"
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, text=True, capture_output=True, check=False, timeout=60
    )  # fmt: skip
    assert done.returncode == 1 and done.stderr == f"topicx: at least {said} (ulimit {limit[:2]}) are needed\n"


def test_an_interrupt_while_modules_load_says_nothing(tmp_path: Path) -> None:
    program = (
        "import signal, sys, importlib.abc, os\n"
        "class Stop(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'topicx.cli.train': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Stop())\n"
        "sys.argv = ['topicx', 'train', 'x', '-o', 'y']\n"
        "from topicx.__main__ import main; main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.returncode == -2 and done.stderr == ""


def test_options_of_reading_that_do_not_fit_are_refused_before_the_first_row(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    LDA(2, iterations=3, seed=1, verbose=False).fit(lda_corpus()).model.save("m")
    Path("one.txt").write_text("w001 w002\nw003\n")
    assert call("infer", "m", "one.txt", "--skip-header") == 2
    told = capfd.readouterr()
    assert told.out == "" and "--skip-header: is for inputs read as dir, files" in told.err
