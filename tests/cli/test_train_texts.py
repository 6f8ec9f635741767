"""topicx train on texts: what import and train would have made, bit for bit; what is told, kept and left."""

from __future__ import annotations

import io
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from topicx.cli import cli
from topicx.corpus.corpus import Corpus
from topicx.model import Model
from topicx.state import State

ANIMALS, MACHINES = "cat dog horse bird whale mouse", "motor wheel piston lever gear valve"


def topicx(line: str) -> None:
    cli.main(args=shlex.split(line), prog_name="topicx", standalone_mode=False)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice((ANIMALS, MACHINES)[i % 2].split(), 12)) + " and the 42 of it" for i in range(60)]
    (tmp_path / "texts.tsv").write_text("".join(f"d{i}\t{'ab'[i % 2]}\t{text}\n" for i, text in enumerate(texts)))
    rows = [{"id": f"d{i}", "body": text, "label": "ab"[i % 2]} for i, text in enumerate(texts)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for i, text in enumerate(texts):
        folder = tmp_path / "letters" / "ab"[i % 2]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i:02}.txt").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    return tmp_path


@pytest.mark.parametrize(
    ("inputs", "options", "format_option"),
    [
        ("texts.tsv", "", ""),
        ("texts.tsv", "--min-count 2 --keep-stopwords --bigrams --bigram-min-count 2", ""),
        ("docs.jsonl", "--text-field body --chunk 6", ""),
        ("letters", "--remove-stopwords en --keep-numbers", ""),
        ("letters/a letters/b", "--max-doc-freq 0.9", ""),
        ("texts.tsv", "", "lines"),
    ],
)
def test_it_is_import_and_train(inputs: str, options: str, format_option: str, place: Path) -> None:
    form, other = (f"--format {format_option}", f"--input-format {format_option}") if format_option else ("", "")
    topicx(f"import {inputs} {options} {form} -o c.corpus -q")
    topicx("train c.corpus -k 3 -o two.model --state two.state -q")
    before = sorted(place.iterdir())
    topicx(f"train {inputs} {options} {other} -k 3 -o one.model --state one.state -q")
    assert sorted(place.iterdir()) == sorted([*before, place / "one.model", place / "one.state"])  # the corpus is gone
    assert Path("one.model").read_bytes() == Path("two.model").read_bytes()
    assert Path("one.state").read_bytes() == Path("two.state").read_bytes()


def test_the_corpus_can_be_kept(place: Path) -> None:
    topicx("import texts.tsv -o c.corpus -q")
    topicx("train texts.tsv -k 2 -o m.model --corpus kept.corpus -q")
    assert Path("kept.corpus").read_bytes() == Path("c.corpus").read_bytes()
    assert Model.load("m.model").parents["corpus"] == Corpus.load("c.corpus").digest


def test_standard_input_is_text_where_its_format_is_said(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Input:
        buffer = io.BytesIO(Path("texts.tsv").read_bytes())

    monkeypatch.setattr("sys.stdin", Input())
    topicx("train - --input-format lines -k 2 -o m.model --state m.state")
    assert State.load("m.state").ids[3] == "d3"
    told = capfd.readouterr().err
    assert "read -: 60 documents" in told and "the corpus is not kept (--corpus FILE keeps it)" in told
    assert "settled after" in told and "sweeps until it has settled" in told


def test_json_lines_are_all_that_is_said(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    topicx("train texts.tsv -k 2 -o m.model --log json")
    events = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert events[0]["event"] == "imported" and events[0]["documents"] == 60
    assert next(event for event in events if event["event"] == "settled")["settled"] is True


@pytest.mark.parametrize(
    "call", ["--stream --sampler scvb0 --iterations 2", "--iterations 5 --chains 2", "--model hdp --iterations 3"]
)
def test_other_runs_take_texts_too(call: str, place: Path) -> None:
    topicx(f"train texts.tsv -k 2 -o m.model -q {call}")
    assert Model.load("m.model").n_words == 16


def test_a_run_on_texts_goes_on_without_them(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topicx("train texts.tsv -k 2 -o m.model --iterations 5 --checkpoint c --checkpoint-interval 5 -q")
    Path("texts.tsv").unlink()
    topicx("train --resume c --iterations 9 -o m.model -q")
    assert Model.load("m.model").meta["iterations"] == 9


def test_nothing_is_left_where_texts_cannot_be_read(place: Path) -> None:
    Path("bad.jsonl").write_text('{"text": "a good one"}\n{"text": \n')
    before = sorted(place.iterdir())
    with pytest.raises(Exception, match=r"bad.jsonl:2"):
        topicx("train bad.jsonl -k 2 -o m.model -q")
    assert sorted(place.iterdir()) == before
